-- Options that decide results count from a place in the log on; jobs shows both what counts and what comes.
CREATE FOREIGN TABLE s (k int, at timestamptz OPTIONS (event_time 'true')) SERVER stream_engine OPTIONS (watermark 'at');
CREATE VIEW shown AS
  SELECT view, options, next_options, next_options_lsn <= pg_current_wal_lsn() AS lsn FROM stream_engine.jobs ORDER BY view::text;
CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous) AS SELECT k, count(*) AS n FROM s GROUP BY k;
INSERT INTO s VALUES (1, '2024-01-01');
REFRESH MATERIALIZED VIEW v;
SELECT * FROM shown;

-- The worker meets the mark when all before it is committed.
SELECT stream_engine.test_fault_set('options-met', 'wait', times => 1);
INSERT INTO s VALUES (1, '2024-01-02');
ALTER MATERIALIZED VIEW v SET (stream_engine.on_error = stop, stream_engine.checkpoint_interval = '1ms');
INSERT INTO s VALUES (1, '2024-01-03');
SELECT stream_engine.test_fault_wait('options-met');
SELECT * FROM shown;
SELECT stream_engine.test_fault_clear('options-met');
REFRESH MATERIALIZED VIEW v;
SELECT * FROM shown;
SELECT * FROM v;

-- Rolled back, wholly and in part; two in one transaction; among its rows.
BEGIN;
ALTER MATERIALIZED VIEW v RESET (stream_engine.on_error);
ROLLBACK;
BEGIN;
INSERT INTO s VALUES (1, '2024-01-04');
ALTER MATERIALIZED VIEW v RESET (stream_engine.on_error);
INSERT INTO s VALUES (1, '2024-01-04');
ALTER MATERIALIZED VIEW v SET (stream_engine.on_error = stop), RESET (stream_engine.checkpoint_interval);
SAVEPOINT a;
INSERT INTO s VALUES (1, '2024-01-04');
ALTER MATERIALIZED VIEW v RESET (stream_engine.on_error);
ROLLBACK TO a;
INSERT INTO s VALUES (1, '2024-01-04');
COMMIT;
REFRESH MATERIALIZED VIEW v;
SELECT * FROM shown;
SELECT * FROM v;
SELECT view, failures FROM stream_engine.jobs;
SELECT count(*) FROM stream_engine.errors;

-- Stopped, it has them where it stands, at once; a mark that it has not met before does not come back.
SELECT stream_engine.test_fault_set('round-begin', 'wait');
INSERT INTO s VALUES (1, '2024-01-05');
SELECT stream_engine.test_fault_wait('round-begin');
ALTER MATERIALIZED VIEW v RESET (stream_engine.on_error);
SELECT stream_engine.stop('v');
SELECT stream_engine.test_fault_clear('round-begin');
SELECT stream_engine.wait_state('v', 'stopped');
ALTER MATERIALIZED VIEW v SET (stream_engine.on_error = stop);
SELECT * FROM shown;
INSERT INTO s VALUES (1, '2024-01-05');
SELECT stream_engine.start('v');
REFRESH MATERIALIZED VIEW v;
SELECT * FROM shown;
SELECT * FROM v;

-- In the transaction that makes the view.
BEGIN;
CREATE MATERIALIZED VIEW w WITH (stream_engine.continuous) AS SELECT k FROM s;
INSERT INTO s VALUES (2, '2024-01-06');
ALTER MATERIALIZED VIEW w SET (stream_engine.on_error = stop);
INSERT INTO s VALUES (3, '2024-01-06');
SELECT * FROM shown;
COMMIT;
REFRESH MATERIALIZED VIEW w;
SELECT * FROM shown;
SELECT * FROM w ORDER BY k;

-- A worker that begins anew before the mark computes what comes before it under the old options: 14 is late, 18 no more.
CREATE MATERIALIZED VIEW late WITH (stream_engine.continuous) AS
  SELECT window_start, window_end, array_agg(k ORDER BY k) AS ks FROM s, tumble(at, interval '1 hour') GROUP BY window_start, window_end;
INSERT INTO s VALUES (10, '2024-02-01 12:10'), (11, '2024-02-01 13:10');
REFRESH MATERIALIZED VIEW late;
SELECT stream_engine.test_fault_set('source-poll', 'wait');
INSERT INTO s VALUES (12, '2024-02-01 12:30');
SELECT stream_engine.test_fault_wait('source-poll', 3);
BEGIN;
INSERT INTO s VALUES (13, '2024-02-01 14:10'), (14, '2024-02-01 13:30');
ALTER MATERIALIZED VIEW late SET (stream_engine.allowed_lateness = '1 hour');
INSERT INTO s VALUES (15, '2024-02-01 14:30'), (16, '2024-02-01 12:40');
COMMIT;
INSERT INTO s VALUES (17, '2024-02-01 15:10'), (18, '2024-02-01 14:30'), (19, '2024-02-01 13:30');
SELECT count(pg_terminate_backend(pid)) FROM stream_engine.jobs WHERE view = 'late'::regclass;
SELECT stream_engine.test_until($$SELECT failures > 0, * FROM stream_engine.jobs WHERE view = 'late'::regclass$$);
SELECT stream_engine.test_fault_clear('source-poll');
REFRESH MATERIALIZED VIEW late;
SELECT * FROM late ORDER BY 1;
SELECT late_rows, options, next_options FROM stream_engine.jobs WHERE view = 'late'::regclass;

-- What cannot be altered: the query cannot do it, or would be another query.
CREATE MATERIALIZED VIEW counts WITH (stream_engine.continuous) AS
  SELECT window_id, count(*) FROM s, count_window(2) GROUP BY window_id;
ALTER MATERIALIZED VIEW counts SET (stream_engine.emit_partial);
ALTER MATERIALIZED VIEW v SET (stream_engine.allowed_lateness = '1 hour');
CREATE MATERIALIZED VIEW ends WITH (stream_engine.continuous) AS
  SELECT count(*) FROM s, tumble(at, interval '1 hour') GROUP BY window_end;
ALTER MATERIALIZED VIEW ends SET (stream_engine.emit = on_update);
-- An index of the user that is unique over the key becomes the key.
CREATE MATERIALIZED VIEW own WITH (stream_engine.continuous) AS
  SELECT k, window_end, count(*) FROM s, tumble(at, interval '1 hour') GROUP BY k, window_end;
CREATE UNIQUE INDEX mine ON own (window_end, k) NULLS NOT DISTINCT;
ALTER MATERIALIZED VIEW own SET (stream_engine.emit = 'early 10 minutes');
DROP INDEX mine;
SELECT relname, relreplident FROM pg_class WHERE relname IN ('own', 'late') ORDER BY 1;
SELECT indexrelid::regclass FROM pg_index WHERE indrelid IN ('own'::regclass, 'late'::regclass) ORDER BY 1;

-- A view that begins to need the clock is told of it, from the ALTER on.
SELECT stream_engine.test_clock_set('2024-05-01 12:00');
CREATE MATERIALIZED VIEW clocked WITH (stream_engine.continuous) AS
  SELECT window_end, count(*) AS n FROM s, tumble(at, interval '1 hour') GROUP BY window_end;
INSERT INTO s VALUES (20, '2024-05-01 12:10');
REFRESH MATERIALIZED VIEW clocked;
SELECT * FROM clocked;
ALTER MATERIALIZED VIEW clocked SET (stream_engine.emit = 'early 10 seconds processing');
REFRESH MATERIALIZED VIEW clocked;
SELECT stream_engine.test_tick('2024-05-01 12:00:10');
REFRESH MATERIALIZED VIEW clocked;
SELECT * FROM clocked;
ALTER MATERIALIZED VIEW clocked RESET (stream_engine.emit);
INSERT INTO s VALUES (21, '2024-05-01 12:20');
REFRESH MATERIALIZED VIEW clocked;
SELECT * FROM clocked;
INSERT INTO s VALUES (22, '2024-05-01 13:20');
REFRESH MATERIALIZED VIEW clocked;
SELECT * FROM clocked;

-- A view that has failed at a row goes on with what is altered from there.
CREATE MATERIALIZED VIEW parts WITH (stream_engine.continuous) AS SELECT k, 100 / (k - 31) AS part FROM s;
INSERT INTO s VALUES (30, '2024-05-01 14:00'), (31, '2024-05-01 14:00'), (32, '2024-05-01 14:00');
SELECT stream_engine.wait_state('parts', 'failed');
ALTER MATERIALIZED VIEW parts SET (stream_engine.on_error = skip);
SELECT stream_engine.start('parts');
REFRESH MATERIALIZED VIEW parts;
SELECT * FROM parts ORDER BY k;
SELECT stream_engine.test_clock_set(NULL);
