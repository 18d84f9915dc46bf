-- Catalog tables that another build of the extension made, with other columns than the library works with.
\set VERBOSITY terse
CREATE FOREIGN TABLE s (k int) SERVER stream_engine;
CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous) AS SELECT k, count(*) FROM s GROUP BY k;
CREATE TABLE plain (k int);
INSERT INTO s VALUES (1);
REFRESH MATERIALIZED VIEW v;

-- a worker that finds them tries again, and goes on when they are right
ALTER TABLE stream_engine.state_chunks RENAME COLUMN data TO bytes;
INSERT INTO s VALUES (1);
SELECT stream_engine.wait_state('v', 'restarting');
SELECT view, sqlstate, message FROM stream_engine.errors WHERE seq = 1;
ALTER TABLE stream_engine.state_chunks RENAME COLUMN bytes TO data;
REFRESH MATERIALIZED VIEW v;
SELECT * FROM v;

-- a column too many, or of another name
ALTER TABLE stream_engine.job_catalog ADD COLUMN more int;
\set VERBOSITY default
REFRESH MATERIALIZED VIEW v;
\set VERBOSITY terse
CREATE MATERIALIZED VIEW w WITH (stream_engine.continuous) AS SELECT k FROM s;
ALTER MATERIALIZED VIEW v SET (stream_engine.checkpoint_interval = '1s');
ALTER TABLE stream_engine.stream_layouts RENAME COLUMN layout TO bytes;
CREATE FOREIGN TABLE t (k int) SERVER stream_engine;

-- everything else goes on: tables, dropping, and the extension can be installed again
INSERT INTO plain VALUES (1);
SELECT * FROM plain;
DROP TABLE plain;
DROP MATERIALIZED VIEW v;
SELECT count(*) FROM pg_class WHERE relname IN ('v', 'public.v');
SET client_min_messages = warning;
DROP EXTENSION stream_engine CASCADE;
RESET client_min_messages;
CREATE EXTENSION stream_engine;
CREATE FOREIGN TABLE s (k int) SERVER stream_engine;
CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous) AS SELECT k, count(*) FROM s GROUP BY k;
INSERT INTO s VALUES (1);
REFRESH MATERIALIZED VIEW v;
SELECT * FROM v;
