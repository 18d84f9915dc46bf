-- When rows of groups without a window come; and results that come by the clock, of both kinds.
CREATE FOREIGN TABLE s (k int, v int, ts timestamptz OPTIONS (event_time 'true')) SERVER stream_engine
  OPTIONS (watermark 'ts');
CREATE FOREIGN TABLE plain (k int) SERVER stream_engine;
CREATE TABLE twin (k int, v int, ts timestamptz);
CREATE PROCEDURE refresh() LANGUAGE plpgsql AS $$
DECLARE
  view text;
BEGIN
  FOR view IN SELECT job::text FROM stream_engine.job_catalog ORDER BY job LOOP
    EXECUTE format('REFRESH MATERIALIZED VIEW %s', view);
  END LOOP;
END $$;
CREATE PROCEDURE put(k int, v int, second numeric) LANGUAGE plpgsql AS $$
DECLARE
  at timestamptz := timestamptz '2024-01-01 00:00+00' + second * interval '1 s';
BEGIN
  INSERT INTO twin VALUES (k, v, at);
  INSERT INTO s VALUES (k, v, at);
  COMMIT;
  CALL refresh();
END $$;
CREATE FUNCTION shown() RETURNS TABLE (view text, rows text) LANGUAGE plpgsql AS $$
BEGIN
  FOR view IN SELECT job::text FROM stream_engine.job_catalog ORDER BY job LOOP
    EXECUTE format('SELECT string_agg(format(''k%%s n%%s'', k, n), '', '' ORDER BY k) FROM %s', view) INTO rows;
    RETURN NEXT;
  END LOOP;
END $$;
CREATE PROCEDURE make(name text, emit text, query text DEFAULT 'SELECT k, count(*) AS n, sum(v) AS v FROM s GROUP BY k') LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('CREATE MATERIALIZED VIEW %s WITH (stream_engine.continuous, stream_engine.emit = %L) AS %s', name, emit, query);
END $$;
SELECT stream_engine.test_clock_set('2024-05-01 12:00:07+00');
CALL make('a_update', 'on_update');
CALL make('b_early', 'early 10 s');
CALL make('c_every', 'every 3 rows');
CALL make('d_both', 'early 10 s, every 2 rows');
CALL make('e_clock', 'early 10 s processing');
CALL make('f_window', 'early 10 s processing', 'SELECT k, window_end, count(*) AS n, sum(v) AS v FROM s, tumble(ts, ''1 hour'') GROUP BY k, window_end');
CALL make('g_total', 'early 10 s', 'SELECT 0 AS k, count(*) AS n FROM s');

SELECT stream_engine.test_tick('2024-05-01 12:00:07+00');

-- only the total has its row from the beginning on; the first watermark passes all multiples before it
SELECT * FROM shown();
CALL put(1, 1, 1);
SELECT * FROM shown();
CALL put(1, 2, 4);
CALL put(2, 4, 9);
SELECT * FROM shown();
-- the watermark passes a multiple of ten seconds after this row, and not for a while after the next
CALL put(1, 8, 12);
SELECT * FROM shown();
CALL put(2, 16, 13);
SELECT * FROM shown();
-- the clock: 12:00:10 is the first that is reached, 12:00:19 is none
SELECT stream_engine.test_tick('2024-05-01 12:00:11+00');
CALL refresh();
SELECT * FROM shown();
CALL put(1, 32, 14);
SELECT stream_engine.test_tick('2024-05-01 12:00:19+00');
CALL refresh();
SELECT * FROM shown();
-- a worker that starts again knows what has been shown
SELECT pg_terminate_backend(pid) AS ended FROM stream_engine.jobs WHERE view IN ('b_early'::regclass, 'e_clock'::regclass);
CALL put(3, 64, 15);
SELECT * FROM shown();
SELECT stream_engine.test_tick('2024-05-01 12:00:20+00');
CALL refresh();
SELECT * FROM shown();
-- from the end of the input on everything is shown
CALL put(3, 128, 16);
SELECT stream_engine.emit_watermark('s', 'infinity');
CALL refresh();
SELECT * FROM shown();
CALL put(4, 256, 17);
SELECT * FROM shown();
CREATE FUNCTION differences(view regclass) RETURNS int LANGUAGE plpgsql AS $$
DECLARE n int;
BEGIN
    EXECUTE format('SELECT count(*) FROM (SELECT k, n, v FROM %s EXCEPT ALL SELECT k, count(*), sum(v) FROM twin GROUP BY k) d', view) INTO n;
    RETURN n;
END $$;
SELECT job::text AS view, differences(job::regclass) FROM stream_engine.job_catalog WHERE job::text ~ '^[a-e]' ORDER BY 1;

-- what is refused, beside what emit_options shows
CALL make('w', 'early 10 s', 'SELECT k, count(*) AS n FROM plain GROUP BY k');
CALL make('w', 'on_update', 'SELECT window_id, count(*) AS n FROM s, count_window(3) GROUP BY window_id');
CALL make('w', 'every 2 rows', 'SELECT window_id, count(*) AS n FROM s, count_window(3) GROUP BY window_id');
SELECT stream_engine.explain('CREATE MATERIALIZED VIEW w WITH (stream_engine.continuous, stream_engine.emit = ''every 2 row, early 90 s processing'')
  AS SELECT k, count(*) AS n FROM plain GROUP BY k');
