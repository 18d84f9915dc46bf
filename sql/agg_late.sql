-- A row counts in the windows whose end its stamp has not reached, whatever the batches: views equal the oracle, and the counters are exact.
CREATE TABLE twin (ord int, g int, v int, ts timestamptz);
CREATE FOREIGN TABLE s (ord int, g int, v int, ts timestamptz OPTIONS (event_time 'true'))
    SERVER stream_engine OPTIONS (watermark 'ts - interval ''3 seconds''');
CREATE MATERIALIZED VIEW vt WITH (stream_engine.continuous) AS
    SELECT window_start, window_end, g, count(*) AS c, sum(v) AS s, max(v) AS m FROM s, tumble(ts, '10 seconds', '3 seconds') GROUP BY window_start, window_end, g;
CREATE MATERIALIZED VIEW vh WITH (stream_engine.continuous) AS
    SELECT window_start, window_end, g, count(*) AS c, sum(v) AS s, max(v) AS m FROM s, hop(ts, '4 seconds', '30 seconds') GROUP BY window_start, window_end, g;
CREATE MATERIALIZED VIEW vp WITH (stream_engine.continuous) AS
    SELECT window_start, window_end, g, count(*) AS c, sum(v) AS s, max(v) AS m FROM s, hop(ts, '10 seconds', '4 seconds', '1 second') GROUP BY window_start, window_end, g;
CREATE MATERIALIZED VIEW vc WITH (stream_engine.continuous) AS
    SELECT window_start, window_end, g, count(*) AS c, sum(v) AS s, max(v) AS m FROM s, cumulate(ts, '5 seconds', '20 seconds') GROUP BY window_start, window_end, g;
-- not sliced: DISTINCT has no combine function
CREATE MATERIALIZED VIEW vd WITH (stream_engine.continuous) AS
    SELECT window_start, window_end, g, count(DISTINCT v) AS c FROM s, hop(ts, '4 seconds', '30 seconds') GROUP BY window_start, window_end, g;

-- around 1970, mostly forward, one in seven far back
INSERT INTO twin SELECT i, i % 5, (i * 7919) % 1000,
    '1969-12-31 23:58:00+00'::timestamptz + i * interval '0.31 seconds'
    - CASE WHEN i % 7 = 0 THEN (i * 31) % 45 * interval '1 second' ELSE (i * 17) % 30 * interval '0.1 seconds' END
FROM generate_series(1, 1500) i;
INSERT INTO s SELECT * FROM twin WHERE ord <= 700 ORDER BY ord;
REFRESH MATERIALIZED VIEW vh;
INSERT INTO s SELECT * FROM twin WHERE ord > 700 ORDER BY ord;
SELECT stream_engine.emit_watermark('s', 'infinity');
REFRESH MATERIALIZED VIEW vt;
REFRESH MATERIALIZED VIEW vh;
REFRESH MATERIALIZED VIEW vp;
REFRESH MATERIALIZED VIEW vc;
REFRESH MATERIALIZED VIEW vd;

CREATE VIEW stamped AS
    SELECT *, coalesce(max(ts - interval '3 seconds') OVER (ORDER BY ord ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), '-infinity') AS wm FROM twin;
CREATE FUNCTION check_view(view text, win text, what text) RETURNS TABLE (view_rows int, only_view int, only_query int, late_rows bool, late_pairs bool) LANGUAGE plpgsql AS $$
DECLARE
    query text := format('SELECT window_start, window_end, g, %s FROM stamped, %s WHERE window_end > wm GROUP BY window_start, window_end, g', what, win);
BEGIN
    RETURN QUERY EXECUTE format($q$
        SELECT (SELECT count(*)::int FROM %1$s),
               (SELECT count(*)::int FROM (SELECT * FROM %1$s EXCEPT ALL %2$s) a),
               (SELECT count(*)::int FROM (%2$s EXCEPT ALL SELECT * FROM %1$s) a),
               (SELECT count(*) FROM (SELECT ord FROM stamped, %3$s GROUP BY ord HAVING bool_and(window_end <= wm)) a) = p.late_rows,
               (SELECT count(*) FROM stamped, %3$s WHERE window_end <= wm) = p.late_pairs
        FROM stream_engine.job_positions p WHERE job = %1$L::regclass$q$, view, query, win);
END $$;
SELECT * FROM check_view('vt', 'tumble(ts, ''10 seconds'', ''3 seconds'')', 'count(*), sum(v), max(v)');
SELECT * FROM check_view('vh', 'hop(ts, ''4 seconds'', ''30 seconds'')', 'count(*), sum(v), max(v)');
SELECT * FROM check_view('vp', 'hop(ts, ''10 seconds'', ''4 seconds'', ''1 second'')', 'count(*), sum(v), max(v)');
SELECT * FROM check_view('vc', 'cumulate(ts, ''5 seconds'', ''20 seconds'')', 'count(*), sum(v), max(v)');
SELECT * FROM check_view('vd', 'hop(ts, ''4 seconds'', ''30 seconds'')', 'count(DISTINCT v)');
SELECT count(*) > 50 AS some_late FROM stamped, tumble(ts, '10 seconds', '3 seconds') WHERE window_end <= wm;
-- after the end of the input every row is late
INSERT INTO s VALUES (9999, 1, 1, '2030-01-01');
REFRESH MATERIALIZED VIEW vt;
SELECT count(*) FROM vt WHERE window_end > '2000-01-01';
