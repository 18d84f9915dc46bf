-- Old state chunks are reclaimed while a view runs: the table stays near twice what is
-- live, and groups that were not touched since the first commit survive.
CREATE TABLE twin (k int, v bigint);
CREATE FOREIGN TABLE s (k int, v bigint) SERVER stream_engine;
CREATE MATERIALIZED VIEW m WITH (stream_engine.continuous) AS SELECT k, count(*) AS n, sum(v) AS total, max(v) AS top FROM s GROUP BY k;

INSERT INTO twin SELECT k, k FROM generate_series(1, 500) k;
INSERT INTO s SELECT k, k FROM generate_series(1, 500) k;
REFRESH MATERIALIZED VIEW m;

-- 150 commits, each of which changes 300 groups.
SELECT 'INSERT INTO twin SELECT 200 + k, k * ' || i || ' FROM generate_series(1, 300) k',
       'INSERT INTO s SELECT 200 + k, k * ' || i || ' FROM generate_series(1, 300) k',
       'REFRESH MATERIALIZED VIEW m'
FROM generate_series(1, 150) i
\gexec

SELECT last_chunk > 150 AS many_written, stored_bytes < 1500000 AS few_kept FROM stream_engine.checkpoints WHERE view = 'm'::regclass;
SELECT min(seq) > 1 AS old_ones_gone, max(seq) - min(seq) + 1 = count(*) AS without_gaps,
       sum(length(data)) BETWEEN (SELECT stored_bytes FROM stream_engine.checkpoints) * 0.9 AND (SELECT stored_bytes FROM stream_engine.checkpoints) AS counted
FROM stream_engine.state_chunks;

SELECT stream_engine.stop('m');
SELECT stream_engine.wait_state('m', 'stopped');
INSERT INTO twin SELECT k, -1 FROM generate_series(1, 510) k;
INSERT INTO s SELECT k, -1 FROM generate_series(1, 510) k;
SELECT stream_engine.start('m');
REFRESH MATERIALIZED VIEW m;
SELECT count(*), sum(n) FROM m;
(TABLE m EXCEPT ALL SELECT k, count(*), sum(v), max(v) FROM twin GROUP BY k)
UNION ALL (SELECT k, count(*), sum(v), max(v) FROM twin GROUP BY k EXCEPT ALL TABLE m);
