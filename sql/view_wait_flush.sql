-- wait_for a place inside a record of which the WAL has only whole pages on disk: it is written out, or nobody could read up to there.
CREATE FOREIGN TABLE s (id int) SERVER stream_engine;
CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous) AS SELECT id FROM s;
INSERT INTO s VALUES (1);
REFRESH MATERIALIZED VIEW v;
BEGIN;
SELECT pg_current_wal_insert_lsn() AS before \gset
SELECT pg_logical_emit_message(false, 'of nobody', repeat('x', 40000)) > :'before' AS written;
SELECT stream_engine.test_until(format('SELECT pg_current_wal_flush_lsn() > %L::pg_lsn + 8192', :'before'));
SELECT pg_current_wal_flush_lsn() < pg_current_wal_insert_lsn() AS in_part;
SELECT stream_engine.wait_for('v', pg_current_wal_flush_lsn(), '20s');
COMMIT;
TABLE v;
