-- When results of windows come: each mode step by step, what late rows change, and final contents equal to the query.
CREATE FOREIGN TABLE s (id int, k int, v int, ts timestamptz OPTIONS (event_time 'true')) SERVER stream_engine
  OPTIONS (watermark 'ts');
CREATE TABLE twin (id int, k int, v int, ts timestamptz, wm timestamptz);
-- one row at a time, with the watermark before it; then everything is up to date
CREATE PROCEDURE put(k int, v int, second numeric) LANGUAGE plpgsql AS $$
DECLARE
  at timestamptz := timestamptz '2024-01-01 00:00+00' + second * interval '1 s';
  n int := (SELECT count(*) + 1 FROM twin);
BEGIN
  INSERT INTO twin SELECT n, put.k, put.v, at, max(twin.ts) FROM twin;
  INSERT INTO s VALUES (n, put.k, put.v, at);
  COMMIT;
  CALL refresh();
END $$;
CREATE PROCEDURE refresh() LANGUAGE plpgsql AS $$
DECLARE
  view text;
BEGIN
  FOR view IN SELECT job::text FROM stream_engine.job_catalog ORDER BY job LOOP
    EXECUTE format('REFRESH MATERIALIZED VIEW %s', view);
  END LOOP;
END $$;
CREATE FUNCTION shown() RETURNS TABLE (view text, rows text) LANGUAGE plpgsql AS $$
BEGIN
  FOR view IN SELECT job::text FROM stream_engine.job_catalog ORDER BY job LOOP
    EXECUTE format('SELECT string_agg(format(''%%s..%%s k%%s n%%s'', extract(epoch FROM window_start - ''2024-01-01 00:00+00'')::int,
      extract(epoch FROM window_end - ''2024-01-01 00:00+00'')::int, k, n), '', '' ORDER BY window_end, window_start, k) FROM %s', view) INTO rows;
    RETURN NEXT;
  END LOOP;
END $$;
CREATE PROCEDURE make(name text, options text, source text DEFAULT 'tumble(ts, ''10 s'')') LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('CREATE MATERIALIZED VIEW %s WITH (stream_engine.continuous, %s) AS
    SELECT window_start, window_end, k, count(*) AS n, sum(v) AS v FROM s, %s GROUP BY window_start, window_end, k', name, options, source);
END $$;
CALL make('a_close', 'stream_engine.emit = on_close');
CALL make('b_update', 'stream_engine.emit = on_update');
CALL make('c_early', 'stream_engine.emit = ''early 3 s''');
CALL make('d_every', 'stream_engine.emit = ''every 2 rows''');
CALL make('e_both', 'stream_engine.emit = ''early 4 s, every 3 rows''');
CALL make('f_lateness', 'stream_engine.allowed_lateness = ''15 s''');
CALL make('g_late', 'stream_engine.emit = ''on_close, late 6 s'', stream_engine.allowed_lateness = ''15 s''');
CALL make('h_update_late', 'stream_engine.emit = ''on_update, late 6 s'', stream_engine.allowed_lateness = ''15 s''');

CALL put(1, 1, 1);
SELECT * FROM shown();
CALL put(1, 2, 2);
SELECT * FROM shown();
-- the watermark is 3 when the next row comes
CALL put(1, 4, 3);
SELECT * FROM shown();
CALL put(2, 8, 7.5);
SELECT * FROM shown();
-- the window closes
CALL put(1, 16, 11);
SELECT * FROM shown();
-- a row that is late by one second: 0..10 has closed
CALL put(1, 32, 9);
SELECT * FROM shown();
SELECT view, late_rows, late_pairs FROM stream_engine.jobs ORDER BY 1;
-- 6 seconds after the end; the row itself closes 10..20 for the others
CALL put(2, 64, 16);
CALL put(3, 128, 5);
SELECT * FROM shown();
CALL put(2, 256, 22);
SELECT * FROM shown();
-- 15 seconds after the end: nothing of 0..10 changes any more
CALL put(2, 512, 25);
CALL put(1, 1024, 4);
SELECT * FROM shown();
SELECT view, late_rows, late_pairs FROM stream_engine.jobs ORDER BY 1;
SELECT stream_engine.emit_watermark('s', 'infinity');
CALL refresh();
SELECT * FROM shown();

-- all equal the query over the rows that count
CREATE FUNCTION oracle(lateness interval) RETURNS TABLE (ws timestamptz, we timestamptz, k int, n bigint, v bigint) LANGUAGE sql AS $$
  SELECT window_start, window_end, k, count(*), sum(v) FROM twin, tumble(ts, '10 s')
  WHERE wm IS NULL OR window_end + lateness > wm GROUP BY 1, 2, 3 $$;
CREATE FUNCTION differences(view text, lateness interval) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  n bigint;
BEGIN
  EXECUTE format('SELECT count(*) FROM ((SELECT * FROM oracle(%1$L) EXCEPT ALL TABLE %2$s) UNION ALL (TABLE %2$s EXCEPT ALL SELECT * FROM oracle(%1$L))) d',
    lateness, view) INTO n;
  RETURN n;
END $$;
SELECT job::text AS view, differences(job::text, CASE WHEN options::text ~ 'lateness' THEN interval '15 s' ELSE '0' END)
  FROM stream_engine.job_catalog ORDER BY 1;

-- HAVING: a group whose condition turns false goes, and may come again
DROP MATERIALIZED VIEW a_close, b_update, c_early, d_every, e_both, f_lateness, g_late, h_update_late;
CREATE FOREIGN TABLE t (k int, ts timestamptz OPTIONS (event_time 'true')) SERVER stream_engine OPTIONS (watermark 'ts');
CREATE MATERIALIZED VIEW odd WITH (stream_engine.continuous, stream_engine.emit = on_update) AS
  SELECT k, window_start, window_end, count(*) AS n FROM t, hop(ts, '5 s', '10 s') GROUP BY k, window_end, window_start HAVING count(*) % 2 = 1;
INSERT INTO t VALUES (1, '2024-01-01 00:01:41+00');
CALL refresh();
SELECT * FROM shown();
INSERT INTO t VALUES (1, '2024-01-01 00:01:42+00');
CALL refresh();
SELECT * FROM shown();
INSERT INTO t VALUES (1, '2024-01-01 00:01:46+00');
CALL refresh();
SELECT * FROM shown();
SELECT stream_engine.emit_watermark('t', 'infinity');
CALL refresh();
SELECT * FROM shown();

-- what the result must have
CREATE MATERIALIZED VIEW w WITH (stream_engine.continuous, stream_engine.emit = on_update) AS
  SELECT k, count(*) FROM s, tumble(ts, '10 s') GROUP BY k, window_end;
CREATE MATERIALIZED VIEW w WITH (stream_engine.continuous, stream_engine.emit = on_update) AS
  SELECT window_end, count(*) FROM s, tumble(ts, '10 s') GROUP BY k, window_end;
CREATE MATERIALIZED VIEW w WITH (stream_engine.continuous, stream_engine.emit = on_update) AS
  SELECT window_start, count(*) FROM s, cumulate(ts, '5 s', '10 s') GROUP BY window_start, window_end;
SELECT stream_engine.explain('CREATE MATERIALIZED VIEW w WITH (stream_engine.continuous, stream_engine.emit = ''early 1 min, on_close'')
  AS SELECT window_time, count(*) FROM s, cumulate(ts, ''5 s'', ''10 s'') GROUP BY window_start, window_end, window_time');
SELECT stream_engine.explain('CREATE MATERIALIZED VIEW w WITH (stream_engine.continuous, stream_engine.allowed_lateness = ''1 min'')
  AS SELECT window_start, count(*) FROM s, cumulate(ts, ''5 s'', ''10 s'') GROUP BY window_start');
