-- A late row that was kept while a firing was cut short has its values by the names of that time: none is lost if columns are renamed before it is written.
SELECT stream_engine.test_fault_set('sink-always-full', 'skip');
CREATE FOREIGN TABLE readings (id int, at timestamptz OPTIONS (event_time 'true'), v int)
    SERVER stream_engine OPTIONS (watermark 'at');
CREATE MATERIALIZED VIEW per_hour WITH (stream_engine.continuous, stream_engine.late_output = 'public.late') AS
    SELECT window_start, id, count(*) AS n FROM readings, tumble(at, interval '1 hour') GROUP BY window_start, window_end, id;
REFRESH MATERIALIZED VIEW per_hour;

-- a window of 3,000 groups, the row that closes it, and a late one that waits behind it
SELECT stream_engine.test_fault_set('commit-begin', 'wait');
BEGIN;
INSERT INTO readings SELECT i, '2024-01-01 10:00', i FROM generate_series(1, 3000) i;
INSERT INTO readings VALUES (1, '2024-01-01 12:00', 7), (2, '2024-01-01 10:00', 8);
COMMIT;
SELECT stream_engine.test_fault_wait('commit-begin');
ALTER FOREIGN TABLE readings RENAME COLUMN v TO w;
ALTER TABLE late RENAME COLUMN v TO w;
SELECT stream_engine.test_fault_clear();

SELECT stream_engine.wait_state('per_hour', 'failed', '60s');
SELECT sqlstate, message, detail FROM stream_engine.errors WHERE view = 'per_hour'::regclass;
ALTER TABLE late ADD COLUMN v int;
SELECT stream_engine.start('per_hour');
REFRESH MATERIALIZED VIEW per_hour;
SELECT id, v, w, late_reason FROM late;
SELECT count(*), sum(n) FROM per_hour;
