-- REFRESH MATERIALIZED VIEW returns when all that was committed before it is reflected.
CREATE FOREIGN TABLE s (k int) SERVER stream_engine;
CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous, stream_engine.checkpoint_interval = '1h') AS
    SELECT k, count(*) FROM s GROUP BY k;
INSERT INTO s VALUES (1), (2);
REFRESH MATERIALIZED VIEW v;
SELECT * FROM v ORDER BY k;
INSERT INTO s VALUES (2), (3);
REFRESH MATERIALIZED VIEW CONCURRENTLY v;
SELECT * FROM v ORDER BY k;

-- nothing to wait for
REFRESH MATERIALIZED VIEW v;

-- in a transaction: what others committed; the session's own rows are not committed yet
BEGIN;
INSERT INTO s VALUES (9);
REFRESH MATERIALIZED VIEW v;
SELECT * FROM v ORDER BY k;
COMMIT;
REFRESH MATERIALIZED VIEW v;
SELECT * FROM v ORDER BY k;

-- asynchronous commits count
SET synchronous_commit = off;
INSERT INTO s VALUES (10);
REFRESH MATERIALIZED VIEW v;
SELECT * FROM v WHERE k = 10;
RESET synchronous_commit;

-- a view that does not run yet, or no more
BEGIN;
CREATE MATERIALIZED VIEW w WITH (stream_engine.continuous) AS SELECT k FROM s;
REFRESH MATERIALIZED VIEW w;
ROLLBACK;
REFRESH MATERIALIZED VIEW v WITH NO DATA;
SELECT stream_engine.stop('v');
SELECT stream_engine.wait_state('v', 'stopped');
REFRESH MATERIALIZED VIEW v;

-- PostgreSQL's own materialized views and tables are PostgreSQL's
CREATE MATERIALIZED VIEW m AS SELECT 1 AS one;
REFRESH MATERIALIZED VIEW m;
CREATE TABLE t (k int);
REFRESH MATERIALIZED VIEW t;
