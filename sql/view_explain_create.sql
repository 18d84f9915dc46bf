-- EXPLAIN CREATE MATERIALIZED VIEW … continuous prints the dataflow and makes nothing.
CREATE FOREIGN TABLE s (k int, x text) SERVER stream_engine;
EXPLAIN CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous) AS SELECT k, count(*) FROM s WHERE x > 'a' GROUP BY k;
EXPLAIN ANALYZE CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous) AS SELECT k FROM s;
EXPLAIN (FORMAT json) CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous) AS SELECT k FROM s;
EXPLAIN CREATE MATERIALIZED VIEW v WITH (stream_engine.bogus) AS SELECT k FROM s;
SELECT to_regclass('v');
