-- DROP of a continuous view, and of what it stands on, leaves nothing.
CREATE FOREIGN TABLE s (k int) SERVER stream_engine;
CREATE FUNCTION left_over() RETURNS TABLE (what text, n bigint) LANGUAGE sql AS $$
    SELECT 'jobs', count(*) FROM stream_engine.job_catalog UNION ALL
    SELECT 'positions', count(*) FROM stream_engine.job_positions UNION ALL
    SELECT 'chunks', count(*) FROM stream_engine.state_chunks UNION ALL
    SELECT 'definitions', count(*) FROM pg_class WHERE relnamespace = 'stream_engine_definitions'::regnamespace
$$;
CREATE MATERIALIZED VIEW a WITH (stream_engine.continuous) AS SELECT k, count(*) FROM s GROUP BY k;
CREATE MATERIALIZED VIEW b WITH (stream_engine.continuous) AS SELECT k FROM s;
CREATE MATERIALIZED VIEW "of postgres" AS SELECT k FROM a;
INSERT INTO s VALUES (1), (2);
REFRESH MATERIALIZED VIEW a;

-- what needs it is named
DROP MATERIALIZED VIEW a;
DROP FOREIGN TABLE s;
DROP VIEW stream_engine_definitions."public.a";
DROP INDEX a_key;

-- rolled back, it goes on
BEGIN;
DROP MATERIALIZED VIEW a CASCADE;
SELECT * FROM left_over();
ROLLBACK;
INSERT INTO s VALUES (2);
REFRESH MATERIALIZED VIEW a;
SELECT * FROM a ORDER BY k;

-- mixed with PostgreSQL's own; missing names
DROP MATERIALIZED VIEW a, missing;
DROP MATERIALIZED VIEW IF EXISTS missing, a, "of postgres";
SELECT * FROM left_over();
DROP TABLE b;
SELECT * FROM left_over();

-- the name is free at once
CREATE MATERIALIZED VIEW a WITH (stream_engine.continuous) AS SELECT k, count(*) FROM s GROUP BY k;
DROP FOREIGN TABLE s CASCADE;
SELECT * FROM left_over();

-- with its schema, with its owner's things
CREATE ROLE view_drop_owner;
CREATE SCHEMA other AUTHORIZATION view_drop_owner;
CREATE FOREIGN TABLE s (k int) SERVER stream_engine;
GRANT SELECT ON s TO view_drop_owner;
CREATE MATERIALIZED VIEW other.a WITH (stream_engine.continuous) AS SELECT k FROM s;
\set VERBOSITY terse
DROP SCHEMA other CASCADE;
SELECT * FROM left_over();
CREATE SCHEMA other AUTHORIZATION view_drop_owner;
SET ROLE view_drop_owner;
CREATE MATERIALIZED VIEW other.a WITH (stream_engine.continuous) AS SELECT k FROM s;
RESET ROLE;
DROP ROLE view_drop_owner;
DROP OWNED BY view_drop_owner CASCADE;
SELECT * FROM left_over();
DROP ROLE view_drop_owner;

-- and the extension with everything
CREATE MATERIALIZED VIEW a WITH (stream_engine.continuous) AS SELECT k FROM s;
DROP EXTENSION stream_engine;
SET client_min_messages = warning;
DROP EXTENSION stream_engine CASCADE;
SELECT to_regclass('a'), to_regclass('s'), to_regnamespace('stream_engine'), to_regnamespace('stream_engine_definitions');
\set VERBOSITY default
CREATE MATERIALIZED VIEW a WITH (stream_engine.continuous) AS SELECT 1 AS one;
CREATE EXTENSION stream_engine;
