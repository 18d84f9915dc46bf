-- Dropping what a continuous view is made of: types, functions, schemas, owners; REASSIGN OWNED; several at once.
CREATE ROLE view_cascade_a;
CREATE ROLE view_cascade_b;
CREATE FUNCTION left_over() RETURNS TABLE (what text, n bigint) LANGUAGE sql AS $$
    SELECT 'jobs', count(*) FROM stream_engine.job_catalog UNION ALL
    SELECT 'positions', count(*) FROM stream_engine.job_positions UNION ALL
    SELECT 'chunks', count(*) FROM stream_engine.state_chunks UNION ALL
    SELECT 'definitions', count(*) FROM pg_class WHERE relnamespace = 'stream_engine_definitions'::regnamespace
$$;
\set VERBOSITY terse

-- a type that is a column's of the result, its key, and only part of an expression
CREATE TYPE mood AS ENUM ('sad', 'glad');
CREATE FOREIGN TABLE s (k int, m mood, t text) SERVER stream_engine;
CREATE MATERIALIZED VIEW by_key WITH (stream_engine.continuous) AS SELECT m, count(*) FROM s GROUP BY m;
CREATE MATERIALIZED VIEW by_column WITH (stream_engine.continuous) AS SELECT k, m FROM s;
CREATE MATERIALIZED VIEW by_expression WITH (stream_engine.continuous) AS SELECT k FROM s WHERE t::mood = 'sad';
CREATE MATERIALIZED VIEW by_cast WITH (stream_engine.continuous) AS SELECT t::mood AS m, count(*) FROM s GROUP BY 1;
CREATE MATERIALIZED VIEW untouched WITH (stream_engine.continuous) AS SELECT k FROM s;
INSERT INTO s VALUES (1, 'sad', 'glad');
REFRESH MATERIALIZED VIEW by_key;
DROP TYPE mood;
DROP INDEX by_key_key;
BEGIN;
DROP TYPE mood CASCADE;
SELECT view FROM stream_engine.jobs;
ROLLBACK;
INSERT INTO s VALUES (1, 'sad', 'glad');
REFRESH MATERIALIZED VIEW by_key;
TABLE by_key;
DROP TYPE mood CASCADE;
SELECT view FROM stream_engine.jobs;
INSERT INTO s VALUES (2, 'x');
REFRESH MATERIALIZED VIEW untouched;
TABLE untouched ORDER BY k;
DROP MATERIALIZED VIEW untouched;
SELECT * FROM left_over();

-- a schema with everything in it
CREATE SCHEMA app;
SET search_path = app, public;
CREATE DOMAIN label AS text;
CREATE FUNCTION twice(int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT 2 * $1';
CREATE FOREIGN TABLE s2 (k int, n label) SERVER stream_engine;
CREATE VIEW plain AS SELECT n, twice(k) AS k FROM s2;
CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous) AS SELECT n, sum(k) FROM plain GROUP BY n;
CREATE MATERIALIZED VIEW w WITH (stream_engine.continuous) AS SELECT n, k FROM plain;
RESET search_path;
DROP SCHEMA app;
DROP SCHEMA app CASCADE;
SELECT * FROM left_over();

-- several, of both kinds, in one command; all or none
CREATE MATERIALIZED VIEW a WITH (stream_engine.continuous) AS SELECT k FROM s;
CREATE MATERIALIZED VIEW b WITH (stream_engine.continuous) AS SELECT k, count(*) FROM s GROUP BY k;
CREATE MATERIALIZED VIEW c AS SELECT k FROM b;
CREATE VIEW d AS SELECT k FROM a;
DROP MATERIALIZED VIEW a, b, c;
DROP TABLE a, b;
SELECT view FROM stream_engine.jobs ORDER BY view::text;
DROP MATERIALIZED VIEW c, b, a CASCADE;
SELECT * FROM left_over();

-- all that a role has is given to another one, or dropped; the job goes on with the new owner's rights
GRANT CREATE ON SCHEMA public TO view_cascade_a, view_cascade_b;
CREATE FOREIGN TABLE given (k int) SERVER stream_engine;
GRANT SELECT ON given TO view_cascade_a, view_cascade_b;
SET ROLE view_cascade_a;
CREATE VIEW plain AS SELECT k, current_user AS who FROM given;
CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous) AS SELECT k, who FROM plain;
CREATE MATERIALIZED VIEW n WITH (stream_engine.continuous) AS SELECT k, count(*) FROM given GROUP BY k;
RESET ROLE;
INSERT INTO given VALUES (1);
REFRESH MATERIALIZED VIEW v;
REASSIGN OWNED BY view_cascade_a TO view_cascade_b;
SELECT r.oid::regclass, r.relowner::regrole FROM pg_class r, stream_engine.job_catalog j WHERE r.oid IN (j.job, j.definition) ORDER BY r.oid::regclass::text COLLATE "C";
INSERT INTO given VALUES (2);
REFRESH MATERIALIZED VIEW v;
REFRESH MATERIALIZED VIEW n;
TABLE v ORDER BY k;
TABLE n ORDER BY k;
DROP ROLE view_cascade_a;
DROP OWNED BY view_cascade_a;
SELECT view FROM stream_engine.jobs ORDER BY view::text;
DROP OWNED BY view_cascade_b CASCADE;
SELECT * FROM left_over();
DROP ROLE view_cascade_a, view_cascade_b;
