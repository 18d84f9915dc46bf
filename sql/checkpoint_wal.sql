-- A commit writes what changed, not what there is: with many groups and few of them
-- changed, a few kilobytes of WAL (rows of the stream, state, result and position).
CREATE FOREIGN TABLE s (k int, v bigint) SERVER stream_engine;
CREATE MATERIALIZED VIEW m WITH (stream_engine.continuous) AS SELECT k, count(*) AS n, sum(v) AS total FROM s GROUP BY k;
INSERT INTO s SELECT k, k FROM generate_series(1, 50000) k;
REFRESH MATERIALIZED VIEW m;

CREATE TEMP TABLE marks (n int GENERATED ALWAYS AS IDENTITY, lsn pg_lsn);
SELECT 'INSERT INTO marks (lsn) SELECT pg_current_wal_insert_lsn()',
       'INSERT INTO s SELECT k * 4000, 1 FROM generate_series(1, 10) k',
       'REFRESH MATERIALIZED VIEW m'
FROM generate_series(1, 8)
\gexec
-- The least of them: a page that is written for the first time after a checkpoint is logged whole.
SELECT min(bytes) > 0 AS some, min(bytes) < 16 * 1024 AS few
FROM (SELECT pg_wal_lsn_diff(lead(lsn) OVER (ORDER BY n), lsn) AS bytes FROM marks) d;
SELECT n, count(*) FROM m GROUP BY n ORDER BY n;
