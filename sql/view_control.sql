-- stop, start, wait_for, wait_state.
CREATE FOREIGN TABLE s (k int) SERVER stream_engine;
CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous) AS SELECT k FROM s WITH NO DATA;
SELECT stream_engine.wait_state('v', 'stopped');
SELECT stream_engine.start('v');
SELECT stream_engine.wait_state('v', 'running');
INSERT INTO s VALUES (1);
SELECT stream_engine.wait_for('v', pg_current_wal_insert_lsn());
SELECT * FROM v;

-- stopped: rows wait in the log
SELECT stream_engine.stop('v');
SELECT stream_engine.wait_state('v', 'stopped', '1 minute');
INSERT INTO s VALUES (2);
BEGIN;
SELECT stream_engine.start('v');
SAVEPOINT a;
REFRESH MATERIALIZED VIEW v;
ROLLBACK TO a;
SELECT stream_engine.wait_for('v', pg_current_wal_insert_lsn());
ROLLBACK;
SELECT stream_engine.start('v');
REFRESH MATERIALIZED VIEW v;
SELECT * FROM v ORDER BY k;

-- what is wanted is part of the transaction
BEGIN;
SELECT stream_engine.stop('v');
ROLLBACK;
SELECT goal FROM stream_engine.job_catalog;

-- so it cannot be waited for in there
BEGIN;
SELECT stream_engine.stop('v');
SELECT stream_engine.wait_state('v', 'stopped');
ROLLBACK;
BEGIN;
CREATE MATERIALIZED VIEW w WITH (stream_engine.continuous) AS SELECT k FROM s;
SAVEPOINT a;
SELECT stream_engine.wait_state('w', 'running');
ROLLBACK TO a;
SELECT stream_engine.wait_for('w', '0/0');
ROLLBACK;
SELECT stream_engine.wait_state('v', 'running');

-- a timeout is an error
\set VERBOSITY sqlstate
SELECT stream_engine.wait_state('v', 'stopped', '1 ms');
SELECT stream_engine.wait_for('v', '7FFFFFFF/0', '1 ms');
\set VERBOSITY terse
SELECT stream_engine.wait_state('v', 'stopped', '1 ms');
SELECT stream_engine.wait_for('v', '7FFFFFFF/0', '1 ms');
\set VERBOSITY default
SELECT stream_engine.wait_for('v', '0/0', '-1 ms');
SELECT stream_engine.wait_state('v', 'sleeping');
SELECT stream_engine.start('v', skip => 'the bad one');
SELECT stream_engine.start('v', skip => '0/1234 +1');
CREATE TABLE t ();
SELECT stream_engine.stop('t');
SELECT stream_engine.start('t');
SELECT stream_engine.wait_for('t', '0/0');
SELECT stream_engine.wait_state('t', 'running');
SELECT stream_engine.stop(0);
