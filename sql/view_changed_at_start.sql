-- What is altered while a worker starts, after it has made its plan, counts for that view, too.
CREATE FOREIGN TABLE s (k int, at timestamptz OPTIONS (event_time 'true')) SERVER stream_engine OPTIONS (watermark 'at');
CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous) AS
  SELECT window_end, count(*) FROM s, tumble(at, interval '1 hour') GROUP BY window_end;
REFRESH MATERIALIZED VIEW v;
SELECT stream_engine.stop('v');
SELECT stream_engine.wait_state('v', 'stopped');

SELECT stream_engine.test_fault_set('worker-restored', 'wait');
SELECT stream_engine.start('v');
SELECT stream_engine.test_fault_wait('worker-restored');
BEGIN;
ALTER FOREIGN TABLE s OPTIONS (SET watermark 'at - interval ''1 day''');
SELECT stream_engine.test_fault_clear('worker-restored');
SELECT stream_engine.test_until($$SELECT bool_or(wait_event_type = 'Lock'), array_agg(wait_event) FROM pg_stat_activity
    WHERE datname = current_database() AND backend_type = 'stream_engine task'$$);
COMMIT;
INSERT INTO s VALUES (1, '2024-01-03 12:00+00');
REFRESH MATERIALIZED VIEW v;
SELECT watermark FROM stream_engine.jobs;
TABLE v;
