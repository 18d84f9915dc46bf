-- Windows of a time zone in continuous views: days of 23 and 25 hours, a skipped day, months; late rows, counters and restarts as with any window.
SET timezone = 'UTC';
CREATE TABLE twin (ord int, g int, v int, ts timestamptz);
CREATE FOREIGN TABLE s (ord int, g int, v int, ts timestamptz OPTIONS (event_time 'true'))
    SERVER stream_engine OPTIONS (watermark 'ts - interval ''6 hours''');
CREATE TABLE views (name text, win text, what text DEFAULT 'count(*) AS c, sum(v) AS s, max(v) AS m', keys text DEFAULT 'window_start, window_end, g');
INSERT INTO views (name, win) VALUES
    ('day_berlin', 'tumble(ts, ''1 day'', timezone => ''Europe/Berlin'')'),
    ('day_sao_paulo', 'tumble(ts, ''1 day'', ''6 hours'', ''America/Sao_Paulo'')'),
    ('day_apia', 'tumble(ts, ''1 day'', timezone => ''Pacific/Apia'')'),
    ('day_kathmandu', 'tumble(ts, ''1 day'', timezone => ''Asia/Kathmandu'')'),
    ('week_berlin', 'tumble(ts, ''7 days'', timezone => ''Europe/Berlin'')'),
    ('month_apia', 'tumble(ts, ''1 month'', timezone => ''Pacific/Apia'')'),
    ('hop_days', 'hop(ts, ''1 day'', ''3 days'', timezone => ''Pacific/Apia'')'),
    ('hop_hours', 'hop(ts, ''2 hours'', ''7 hours'', timezone => ''Europe/Berlin'')'),
    ('hop_gap', 'hop(ts, ''1 day'', ''8 hours'', ''9 hours'', timezone => ''America/Sao_Paulo'')'),
    ('hop_months', 'hop(ts, ''1 month'', ''2 months'', ''-5 days'', timezone => ''Europe/Berlin'')'),
    ('month_to_date', 'cumulate(ts, ''1 day'', ''1 month'', timezone => ''Pacific/Apia'')'),
    ('day_to_date', 'cumulate(ts, ''1 hour'', ''1 day'', timezone => ''Europe/Berlin'')');
INSERT INTO views VALUES
    ('distincts', 'hop(ts, ''1 day'', ''3 days'', timezone => ''Pacific/Apia'')', 'count(DISTINCT v) AS c, array_agg(v ORDER BY ord) AS a', 'window_start, window_end, g'),
    ('by_start', 'hop(ts, ''1 day'', ''3 days'', timezone => ''Pacific/Apia'')', 'count(*) AS c, max(window_end) AS e', 'window_start'),
    ('by_end', 'hop(ts, ''2 hours'', ''7 hours'', timezone => ''Europe/Berlin'')', 'count(*) AS c, min(v) AS m', 'window_end, g');
SELECT format('CREATE MATERIALIZED VIEW %s WITH (stream_engine.continuous) AS SELECT %s, %s FROM s, %s GROUP BY %s', name, keys, what, win, keys) FROM views
\gexec

-- from September 2011 to January 2012, mostly forward, one in seven up to two days back
INSERT INTO twin SELECT i, i % 3, (i * 7919) % 1000, '2011-09-20 00:00+00'::timestamptz + i * interval '97 minutes'
    - CASE WHEN i % 7 = 0 THEN (i * 31) % 48 * interval '1 hour' ELSE (i * 17) % 300 * interval '1 minute' END
FROM generate_series(1, 2000) i;
CREATE PROCEDURE part(a int, b int) LANGUAGE plpgsql AS $$
DECLARE
    v text;
BEGIN
    INSERT INTO s SELECT * FROM twin WHERE ord BETWEEN a AND b ORDER BY ord;
    COMMIT;
    FOR v IN SELECT name FROM views LOOP
        EXECUTE format('REFRESH MATERIALIZED VIEW %I', v);
    END LOOP;
END $$;
CREATE PROCEDURE restart() LANGUAGE plpgsql AS $$
DECLARE
    v text;
BEGIN
    FOR v IN SELECT name FROM views LOOP
        PERFORM stream_engine.stop(v);
        COMMIT;
        PERFORM stream_engine.wait_state(v, 'stopped');
        PERFORM stream_engine.start(v);
        COMMIT;
    END LOOP;
END $$;
-- restarts while the days of the changes are open
CALL part(1, 392);
CALL restart();
CALL part(393, 600);
CALL restart();
CALL part(601, 1500);
CALL restart();
CALL part(1501, 2000);
SELECT stream_engine.emit_watermark('s', 'infinity');
CALL part(0, 0);

-- each view against its query over the rows and windows that are not late; both counters
CREATE VIEW stamped AS
    SELECT *, coalesce(max(ts - interval '6 hours') OVER (ORDER BY ord ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), '-infinity') AS wm FROM twin;
CREATE FUNCTION check_view(view views) RETURNS TABLE (view_rows int, only_view int, only_query int, late_rows bool, late_pairs bool, some_late bool) LANGUAGE plpgsql AS $$
DECLARE
    query text := format('SELECT %s, %s FROM stamped, %s WHERE window_end > wm GROUP BY %s', view.keys, view.what, view.win, view.keys);
BEGIN
    RETURN QUERY EXECUTE format($q$
        SELECT (SELECT count(*)::int FROM %1$s),
               (SELECT count(*)::int FROM (SELECT * FROM %1$s EXCEPT ALL %2$s) a),
               (SELECT count(*)::int FROM (%2$s EXCEPT ALL SELECT * FROM %1$s) a),
               (SELECT count(*) FROM (SELECT ord FROM stamped, %3$s GROUP BY ord HAVING bool_and(window_end <= wm)) a) = p.late_rows,
               (SELECT count(*) FROM stamped, %3$s WHERE window_end <= wm) = p.late_pairs, p.late_pairs > 0
        FROM stream_engine.job_positions p WHERE job = %1$L::regclass$q$, view.name, query, view.win);
END $$;
SELECT name, c.* FROM views v, check_view(v) c ORDER BY name;

-- windows around the changes
SELECT window_start, window_end - window_start AS length, sum(c) FROM day_berlin WHERE window_end - window_start <> interval '24 hours' GROUP BY 1, 2 ORDER BY 1;
SELECT window_start, window_end - window_start AS length FROM day_sao_paulo WHERE window_end - window_start <> interval '24 hours' GROUP BY 1, 2 ORDER BY 1;
SELECT window_start AT TIME ZONE 'Pacific/Apia' AS start, window_end AT TIME ZONE 'Pacific/Apia' AS end, sum(c) FROM day_apia WHERE window_start > '2011-12-27' AND window_end < '2012-01-02' GROUP BY window_start, window_end ORDER BY window_start;
SELECT window_start AT TIME ZONE 'Pacific/Apia' AS start, window_end AT TIME ZONE 'Pacific/Apia' AS end, sum(c) FROM month_apia GROUP BY window_start, window_end ORDER BY window_start;
-- in which zone the session is makes no difference
SET timezone = 'America/New_York';
CREATE MATERIALIZED VIEW other_session WITH (stream_engine.continuous, stream_engine.start = 'earliest') AS SELECT window_end, count(*) AS c FROM s, tumble(ts, '1 day', timezone => 'Europe/Berlin') GROUP BY window_end;
REFRESH MATERIALIZED VIEW other_session;
SELECT count(*) FROM (SELECT * FROM other_session EXCEPT SELECT window_end, sum(c) FROM day_berlin GROUP BY 1) d;
SELECT stream_engine.explain('SELECT window_start, count(*) FROM s, hop(ts, ''1 month'', ''3 months'', ''2 months 5 days'', ''europe/berlin'') GROUP BY window_start, window_end');
SELECT stream_engine.explain('SELECT window_start, count(*) FROM s, cumulate(ts, ''1 day'', ''7 days'', timezone => ''Asia/Kathmandu'') GROUP BY window_start');
