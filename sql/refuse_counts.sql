-- What a query over count windows cannot be: code, place, what to do instead.
CREATE FOREIGN TABLE s (u int, v bigint, ts timestamptz OPTIONS (event_time 'true')) SERVER stream_engine OPTIONS (watermark 'ts');
CREATE FUNCTION refused(query text, options text DEFAULT '') RETURNS text LANGUAGE plpgsql AS $$
DECLARE state text; message text; hint text;
BEGIN
    EXECUTE 'CREATE MATERIALIZED VIEW r WITH (stream_engine.continuous' || options || ') AS ' || query;
    RETURN 'accepted';
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT, hint = PG_EXCEPTION_HINT;
    RETURN format('%s %s (%s)', state, message, hint);
END $$;
\pset format unaligned
\pset tuples_only on
SELECT refused($$SELECT u, window_id FROM s, count_window(10)$$);
SELECT refused($$SELECT u FROM s, count_window(10)$$);
SELECT refused($$SELECT u, count(*) FROM s, count_window(10) GROUP BY u$$);
SELECT refused($$SELECT count(*) FROM s, count_window(10)$$);
SELECT refused($$SELECT window_id + 1 AS w, count(*) FROM s, count_window(10) GROUP BY window_id + 1$$);
SELECT refused($$SELECT window_id, window_start, count(*) FROM s, count_window(10) GROUP BY window_id, window_start$$);
SELECT refused($$SELECT window_id, sum(v + window_id) FROM s, count_window(10) GROUP BY window_id$$);
SELECT refused($$SELECT window_id, count(*) FROM s, count_window(10) WHERE window_id > u GROUP BY window_id$$);
SELECT refused($$SELECT window_id, window_id - v AS k, count(*) FROM s, count_window(10) GROUP BY window_id, window_id - v$$);
SELECT refused($$SELECT window_id, count(*) FILTER (WHERE window_id > 3) FROM s, count_window(10) GROUP BY window_id$$);
SELECT refused($$SELECT window_id, count(*) FROM s, count_window(v) GROUP BY window_id$$);
SELECT refused($$SELECT window_id, count(*) FROM s, count_window(10, u) GROUP BY window_id$$);
SELECT refused($$SELECT window_id, count(*) FROM s, count_window((random() * 10)::int) GROUP BY window_id$$);
SELECT refused($$SELECT window_id, count(*) FROM s, count_window(NULL) GROUP BY window_id$$);
SELECT refused($$SELECT window_id, count(*) FROM s, count_window(0) GROUP BY window_id$$);
SELECT refused($$SELECT window_id, count(*) FROM s, count_window(-3) GROUP BY window_id$$);
SELECT refused($$SELECT window_id, count(*) FROM s, count_window(10, 0) GROUP BY window_id$$);
SELECT refused($$SELECT window_id, count(*) FROM s, count_window(10, -1) GROUP BY window_id$$);
SELECT refused($$SELECT window_id, count(*) FROM s, count_window(2000000, 1) GROUP BY window_id$$);
SELECT refused($$SELECT window_id, count(*) FROM s LEFT JOIN count_window(10) ON true GROUP BY window_id$$);
SELECT refused($$SELECT a.window_id, count(*) FROM s, count_window(10) a, tumble(ts, '1 s') b GROUP BY a.window_id$$);
SELECT refused($$SELECT a.window_id, count(*) FROM s, count_window(10) a, count_window(20) b GROUP BY a.window_id$$);
SELECT refused($$SELECT window_id, count(*) FROM s, count_window(10) WITH ORDINALITY GROUP BY window_id$$);
SELECT refused($$SELECT count_window(10), count(*) FROM s GROUP BY 1$$);
-- options
SELECT refused($$SELECT window_id, count(*) FROM s, count_window(10) GROUP BY window_id$$, $$, stream_engine.emit = 'on_update'$$);
SELECT refused($$SELECT window_id, count(*) FROM s, count_window(10) GROUP BY window_id$$, $$, stream_engine.emit = 'every 3 rows'$$);
SELECT refused($$SELECT window_id, count(*) FROM s, count_window(10) GROUP BY window_id$$, $$, stream_engine.allowed_lateness = '1 s'$$);
SELECT refused($$SELECT window_end, count(*) FROM s, tumble(ts, '1 s') GROUP BY window_end$$, $$, stream_engine.emit_partial$$);
SELECT refused($$SELECT u, count(*) FROM s GROUP BY u$$, $$, stream_engine.emit_partial$$);
SELECT refused($$SELECT u FROM s$$, $$, stream_engine.emit_partial$$);
SELECT refused($$SELECT window_id, count(*) FROM s, count_window(10) GROUP BY window_id$$, $$, stream_engine.state_ttl = '1 hour'$$);
SELECT refused($$SELECT window_id, count(*) FROM s, count_window(10) GROUP BY window_id$$, $$, stream_engine.retention = '1 hour'$$);
SELECT refused($$SELECT window_id, count(*) FROM s, count_window(10) GROUP BY window_id$$, $$, stream_engine.late_output = 'late_rows'$$);
SELECT refused($$SELECT u FROM s$$, $$, stream_engine.emit_partial = false$$);
\pset tuples_only off
-- outside of a continuous view there is no answer
SELECT * FROM count_window(10);
SELECT u, window_id FROM s, count_window(10, 5);
-- places
CREATE MATERIALIZED VIEW r2 WITH (stream_engine.continuous) AS SELECT u, window_id FROM s, count_window(10);
CREATE MATERIALIZED VIEW r2 WITH (stream_engine.continuous) AS SELECT window_id, count(*) FROM s, count_window(10, 0) GROUP BY window_id;
CREATE MATERIALIZED VIEW r2 WITH (stream_engine.continuous) AS SELECT window_id, sum(v + window_id) FROM s, count_window(10) GROUP BY window_id;
-- the option is part of the view as it was created
CREATE MATERIALIZED VIEW r2 WITH (stream_engine.continuous, stream_engine.emit_partial = maybe) AS SELECT window_id, count(*) FROM s, count_window(10) GROUP BY window_id;
CREATE MATERIALIZED VIEW r2 WITH (stream_engine.continuous) AS SELECT window_id, count(*) FROM s, count_window(10) GROUP BY window_id;
ALTER MATERIALIZED VIEW r2 SET (stream_engine.emit_partial);
-- plans
SELECT stream_engine.explain($$SELECT u, window_id, count(*), sum(v), array_agg(v), count(DISTINCT v) AS d, stddev(v) FROM s, count_window(10, 3) WHERE v > 0 AND window_id > 2 GROUP BY u, window_id$$);
SELECT stream_engine.explain($$SELECT window_id, max(ARRAY[v]) FROM s, count_window(10) GROUP BY window_id$$);
EXPLAIN (COSTS OFF) CREATE MATERIALIZED VIEW r3 WITH (stream_engine.continuous, stream_engine.emit_partial) AS SELECT window_id, count(*) FROM s, count_window(10) GROUP BY window_id;
