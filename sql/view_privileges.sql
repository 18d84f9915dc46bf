-- Who may create, read, wait for and control a continuous view.
CREATE ROLE view_owner;
CREATE ROLE view_reader;
CREATE ROLE view_stranger;
CREATE SCHEMA mine AUTHORIZATION view_owner;
GRANT USAGE ON SCHEMA mine TO PUBLIC;
CREATE FOREIGN TABLE s (k int, secret text) SERVER stream_engine;

-- SELECT on the stream, by column
SET ROLE view_owner;
CREATE MATERIALIZED VIEW mine.v WITH (stream_engine.continuous) AS SELECT k FROM s;
EXPLAIN CREATE MATERIALIZED VIEW mine.v WITH (stream_engine.continuous) AS SELECT k FROM s;
RESET ROLE;
GRANT SELECT (k) ON s TO view_owner;
SET ROLE view_owner;
CREATE MATERIALIZED VIEW mine.v WITH (stream_engine.continuous) AS SELECT k, secret FROM s;
CREATE MATERIALIZED VIEW mine.v WITH (stream_engine.continuous) AS SELECT k FROM s;
-- CREATE on the schema
RESET ROLE;
CREATE SCHEMA theirs;
SET ROLE view_owner;
CREATE MATERIALIZED VIEW theirs.v WITH (stream_engine.continuous) AS SELECT k FROM s;
GRANT SELECT ON mine.v TO view_reader;

-- the owner
INSERT INTO s VALUES (1);
RESET ROLE;
INSERT INTO s VALUES (1);
SET ROLE view_owner;
REFRESH MATERIALIZED VIEW mine.v;
SELECT * FROM mine.v;
SELECT stream_engine.stop('mine.v');
SELECT stream_engine.start('mine.v');
SELECT stream_engine.wait_state('mine.v', 'running');

-- what is taken away stops the view at its next start, with a message
RESET ROLE;
CREATE FOREIGN TABLE hidden (k int) SERVER stream_engine;
GRANT SELECT ON hidden TO view_owner;
CREATE AGGREGATE public.total(int) (sfunc = int4pl, stype = int, initcond = '0');
SET ROLE view_owner;
CREATE MATERIALIZED VIEW mine.n WITH (stream_engine.continuous) AS SELECT count(*) FROM hidden;
CREATE MATERIALIZED VIEW mine.t WITH (stream_engine.continuous) AS SELECT total(k) FROM hidden;
SELECT stream_engine.stop('mine.n'), stream_engine.stop('mine.t');
SELECT stream_engine.wait_state('mine.n', 'stopped'), stream_engine.wait_state('mine.t', 'stopped');
RESET ROLE;
REVOKE EXECUTE ON FUNCTION total(int) FROM PUBLIC;
SELECT stream_engine.start('mine.t');
SELECT stream_engine.wait_state('mine.t', 'failed');
REVOKE SELECT ON hidden FROM view_owner;
SELECT stream_engine.start('mine.n');
SELECT stream_engine.wait_state('mine.n', 'failed');
SELECT view, sqlstate, message FROM stream_engine.errors ORDER BY view::text;
GRANT SELECT ON hidden TO view_owner;
SELECT stream_engine.start('mine.n');
SELECT stream_engine.wait_state('mine.n', 'running');

-- a reader
SET ROLE view_reader;
SELECT * FROM mine.v;
SELECT stream_engine.wait_for('mine.v', '0/1');
REFRESH MATERIALIZED VIEW mine.v;
SELECT stream_engine.stop('mine.v');
SELECT stream_engine.start('mine.v');
DROP MATERIALIZED VIEW mine.v;
COMMENT ON MATERIALIZED VIEW mine.v IS 'x';
ALTER MATERIALIZED VIEW mine.v SET (stream_engine.checkpoint_interval = '1s');
ALTER MATERIALIZED VIEW mine.v RENAME TO x;

-- a stranger
SET ROLE view_stranger;
SELECT * FROM mine.v;
SELECT stream_engine.wait_for('mine.v', '0/1');
SELECT * FROM stream_engine.job_catalog;
CREATE VIEW stream_engine_definitions.x AS SELECT 1;
INSERT INTO stream_engine.job_positions DEFAULT VALUES;

RESET ROLE;
\set VERBOSITY terse
DROP OWNED BY view_owner, view_reader, view_stranger CASCADE;
DROP ROLE view_owner, view_reader, view_stranger;
