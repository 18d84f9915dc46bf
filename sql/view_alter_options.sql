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
SELECT stream_engine.test_fault_clear();
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
SELECT stream_engine.test_fault_clear();
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
