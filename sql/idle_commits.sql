-- A view that nothing but the clock moves commits less and less; what the clock makes final follows, and rows are not kept waiting.
SELECT stream_engine.test_clock_set('2024-05-01 12:00+00');
CREATE FOREIGN TABLE s (k int, ts timestamptz OPTIONS (event_time 'true')) SERVER stream_engine
  OPTIONS (watermark 'ts', max_delay '1 second');
CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous) AS
  SELECT window_end, k, count(*) FROM s, tumble(ts, '1 minute') GROUP BY window_end, k;
INSERT INTO s VALUES (1, '2024-05-01 12:00+00');
REFRESH MATERIALIZED VIEW v;
-- The clock goes on in steps, and the worker sees each.
CREATE PROCEDURE pass(start timestamptz, steps int, step interval) LANGUAGE plpgsql AS $$
BEGIN
    FOR i IN 1 .. steps LOOP
        PERFORM stream_engine.test_tick(start + i * step);
        PERFORM stream_engine.test_until(format('SELECT watermark >= %L::timestamptz - interval ''1 s'' FROM stream_engine.jobs', start + i * step));
        COMMIT;
    END LOOP;
END $$;
CALL pass('2024-05-01 12:00+00', 100, '1 second');
SELECT stream_engine.test_until('SELECT count(*) = 1 FROM v');
SELECT commits FROM stream_engine.checkpoints \gset before_
CALL pass('2024-05-01 12:02+00', 360, '10 seconds');
SELECT commits - :before_commits BETWEEN 5 AND 12 AS some FROM stream_engine.checkpoints;
SELECT stream_engine.is_final('v', '2024-05-01 12:30+00');
REFRESH MATERIALIZED VIEW v;
SELECT stream_engine.is_final('v', '2024-05-01 13:01+00');
-- a window with rows is there when it closes, and from then on it is as at first
INSERT INTO s VALUES (2, '2024-05-01 13:02+00');
CALL pass('2024-05-01 13:02+00', 7, '10 seconds');
SELECT stream_engine.test_until('SELECT count(*) = 2 FROM v');
CALL pass('2024-05-01 13:03:10+00', 30, '10 seconds');
SELECT stream_engine.test_until($$SELECT stream_engine.is_final('v', '2024-05-01 13:04+00')$$);
SELECT stream_engine.test_clock_set(NULL);
