-- What a query over sessions cannot be: code, place, what to do instead.
CREATE FOREIGN TABLE s (u int, v int, g interval, ts timestamptz OPTIONS (event_time 'true')) SERVER stream_engine OPTIONS (watermark 'ts');
CREATE FUNCTION refused(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE state text; message text; hint text;
BEGIN
    EXECUTE 'CREATE MATERIALIZED VIEW r WITH (stream_engine.continuous) AS ' || query;
    RETURN 'accepted';
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT, hint = PG_EXCEPTION_HINT;
    RETURN format('%s %s (%s)', state, message, hint);
END $$;
\pset format unaligned
\pset tuples_only on
SELECT refused($$SELECT u, window_start FROM s, session(ts, g)$$);
SELECT refused($$SELECT u, count(*) FROM s, session(ts, g) GROUP BY u$$);
SELECT refused($$SELECT count(*) FROM s, session(ts, g)$$);
SELECT refused($$SELECT window_start, max(window_end - ts) FROM s, session(ts, g) GROUP BY window_start$$);
SELECT refused($$SELECT window_start, count(*) FROM s, session(ts, g) WHERE window_end > ts GROUP BY window_start$$);
SELECT refused($$SELECT window_start, window_end - ts AS k, count(*) FROM s, session(ts, g) GROUP BY window_start, window_end - ts$$);
SELECT refused($$SELECT window_start, count(*) FROM s, session(ts, '1 month') GROUP BY window_start$$);
SELECT refused($$SELECT window_start, count(*) FROM s, session(ts, '-1 s') GROUP BY window_start$$);
SELECT refused($$SELECT window_start, count(*) FROM s, session(ts, NULL) GROUP BY window_start$$);
SELECT refused($$SELECT window_start, count(*) FROM s, session(ts, random() * interval '1 s') GROUP BY window_start$$);
SELECT refused($$SELECT window_start, count(*) FROM s, session(ts, now() - ts) GROUP BY window_start$$);
SELECT refused($$SELECT window_start, count(*) FROM s, session(ts, (SELECT interval '1 s')) GROUP BY window_start$$);
SELECT refused($$SELECT window_start, count(*) FROM s, session(ts, CASE WHEN EXISTS (SELECT 1 FROM pg_class WHERE relpages > u) THEN g END) GROUP BY window_start$$);
SELECT refused($$SELECT window_start, count(*) FROM s, session(ts + g, g) GROUP BY window_start$$);
SELECT refused($$SELECT window_start, count(*) FROM s LEFT JOIN session(ts, g) ON true GROUP BY window_start$$);
SELECT refused($$SELECT a.window_start, count(*) FROM s, session(ts, g) a, tumble(ts, '1 s') b GROUP BY a.window_start$$);
\pset tuples_only off
-- outside of a continuous view there is no answer
SELECT * FROM session('2024-01-01'::timestamptz, '1 s');
CREATE MATERIALIZED VIEW r WITH (stream_engine.continuous) AS SELECT u, window_start FROM s, session(ts, g);
