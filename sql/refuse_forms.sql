-- Statements about a continuous view, its parts and its options that are refused, and what the refusals say.
CREATE FOREIGN TABLE s (k int, n int) SERVER stream_engine;
CREATE TABLE plain (k int, n bigint);
CREATE MATERIALIZED VIEW postgres_own AS SELECT 1 AS k;
CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous) AS SELECT k, count(*) AS n FROM s GROUP BY k;
CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';

-- another query
CREATE OR REPLACE VIEW v AS SELECT k, n FROM s;
\echo :SQLSTATE
CREATE OR REPLACE VIEW stream_engine_definitions."public.v" AS SELECT k, count(*) + 1 AS n FROM s GROUP BY k;
\echo :SQLSTATE
ALTER VIEW stream_engine_definitions."public.v" RENAME TO other;
\echo :SQLSTATE
ALTER VIEW stream_engine_definitions."public.v" RENAME COLUMN n TO m;
\echo :SQLSTATE
ALTER VIEW stream_engine_definitions."public.v" SET SCHEMA public;
\echo :SQLSTATE
ALTER VIEW stream_engine_definitions."public.v" SET (security_barrier);
\echo :SQLSTATE
ALTER TABLE stream_engine_definitions."public.v" ALTER n SET DEFAULT 7;
\echo :SQLSTATE
CREATE RULE r AS ON INSERT TO stream_engine_definitions."public.v" DO INSTEAD NOTHING;
\echo :SQLSTATE
DROP VIEW stream_engine_definitions."public.v";
\echo :SQLSTATE
ALTER MATERIALIZED VIEW v DROP COLUMN n;
\echo :SQLSTATE
ALTER TABLE v DROP COLUMN n CASCADE;
\echo :SQLSTATE
ALTER TABLE v ALTER COLUMN n TYPE int;
\echo :SQLSTATE

-- options where they mean nothing
CREATE TABLE t (k int) WITH (stream_engine.continuous);
\echo :SQLSTATE
CREATE TABLE t WITH (stream_engine.continuous) AS SELECT k FROM s;
\echo :SQLSTATE
CREATE VIEW t WITH (stream_engine.continuous) AS SELECT k FROM s;
\echo :SQLSTATE
ALTER TABLE plain SET (stream_engine.restart = none);
\echo :SQLSTATE
ALTER MATERIALIZED VIEW postgres_own SET (stream_engine.restart = none);
\echo :SQLSTATE
ALTER MATERIALIZED VIEW postgres_own RESET (stream_engine.restart);
\echo :SQLSTATE
ALTER MATERIALIZED VIEW missing SET (stream_engine.restart = none);
\echo :SQLSTATE
ALTER MATERIALIZED VIEW v SET (stream_engine.continuous = false);
\echo :SQLSTATE
ALTER MATERIALIZED VIEW v SET (stream_engine.start = earliest);
\echo :SQLSTATE
ALTER MATERIALIZED VIEW v RESET (stream_engine.continuous);
\echo :SQLSTATE
ALTER MATERIALIZED VIEW v SET (stream_engine.paralelism = 1);
\echo :SQLSTATE
ALTER MATERIALIZED VIEW v SET (stream_engine.parallelism = 2);
\echo :SQLSTATE
ALTER MATERIALIZED VIEW v SET (stream_engine.state_memory = '1kB');
\echo :SQLSTATE
ALTER MATERIALIZED VIEW v SET (stream_engine.checkpoint_interval);
\echo :SQLSTATE
CREATE MATERIALIZED VIEW w WITH (stream_engine.continuous = false) AS SELECT k FROM s;
\echo :SQLSTATE
CREATE MATERIALIZED VIEW w WITH (stream_engine.start = now) AS SELECT k FROM s;
\echo :SQLSTATE
CREATE MATERIALIZED VIEW w WITH (stream_engine.continuous, bogus = 1) AS SELECT k FROM s;
\echo :SQLSTATE

-- what a result cannot be or have
CREATE UNLOGGED MATERIALIZED VIEW w WITH (stream_engine.continuous) AS SELECT k FROM s;
\echo :SQLSTATE
CREATE MATERIALIZED VIEW pg_temp.w WITH (stream_engine.continuous) AS SELECT k FROM s;
\echo :SQLSTATE
CREATE MATERIALIZED VIEW w (a, b) WITH (stream_engine.continuous) AS SELECT k FROM s;
\echo :SQLSTATE
CREATE MATERIALIZED VIEW w USING nothing WITH (stream_engine.continuous) AS SELECT k FROM s;
\echo :SQLSTATE
CREATE MATERIALIZED VIEW w WITH (stream_engine.continuous) TABLESPACE nowhere AS SELECT k FROM s;
\echo :SQLSTATE
CREATE MATERIALIZED VIEW nowhere.w WITH (stream_engine.continuous) AS SELECT k FROM s;
\echo :SQLSTATE
CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous) AS SELECT k FROM s;
\echo :SQLSTATE
ALTER TABLE v SET UNLOGGED;
\echo :SQLSTATE
ALTER TABLE v INHERIT plain;
\echo :SQLSTATE
ALTER TABLE plain INHERIT v;
\echo :SQLSTATE
CREATE TABLE t () INHERITS (v);
\echo :SQLSTATE
CREATE FOREIGN TABLE t () INHERITS (v) SERVER stream_engine;
\echo :SQLSTATE
CREATE RULE r AS ON INSERT TO v DO INSTEAD NOTHING;
\echo :SQLSTATE
CREATE RULE "_RETURN" AS ON SELECT TO v DO INSTEAD SELECT 1 AS k, 2::bigint AS n;
\echo :SQLSTATE
ALTER TABLE v ADD UNIQUE (n) DEFERRABLE INITIALLY DEFERRED;
\echo :SQLSTATE
CREATE TABLE target (k int PRIMARY KEY);
ALTER TABLE v ADD FOREIGN KEY (k) REFERENCES target ON DELETE CASCADE;
\echo :SQLSTATE
CREATE CONSTRAINT TRIGGER t AFTER INSERT ON v DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION nothing();
\echo :SQLSTATE
CREATE TRIGGER t AFTER INSERT ON v REFERENCING NEW TABLE AS rows FOR EACH STATEMENT EXECUTE FUNCTION nothing();
\echo :SQLSTATE
DROP INDEX v_key;
\echo :SQLSTATE
ALTER VIEW v RENAME TO w;
\echo :SQLSTATE
ALTER FOREIGN TABLE v RENAME TO w;
\echo :SQLSTATE
DROP VIEW v;
\echo :SQLSTATE
DROP FOREIGN TABLE v;
\echo :SQLSTATE

-- rows of the result
INSERT INTO v VALUES (1, 1);
\echo :SQLSTATE
UPDATE v SET n = 1;
\echo :SQLSTATE
DELETE FROM v;
\echo :SQLSTATE
MERGE INTO v USING plain p ON v.k = p.k WHEN MATCHED THEN DELETE;
\echo :SQLSTATE
TRUNCATE v;
\echo :SQLSTATE
COPY v FROM '/dev/null';
\echo :SQLSTATE
WITH w AS (DELETE FROM v RETURNING *) SELECT * FROM w;
\echo :SQLSTATE

-- statements around it
EXPLAIN ANALYZE CREATE MATERIALIZED VIEW w WITH (stream_engine.continuous) AS SELECT k FROM s;
\echo :SQLSTATE
EXPLAIN (FORMAT json) CREATE MATERIALIZED VIEW w WITH (stream_engine.continuous) AS SELECT k FROM s;
\echo :SQLSTATE
CREATE SCHEMA with_view CREATE MATERIALIZED VIEW w WITH (stream_engine.continuous) AS SELECT k FROM s;
\echo :SQLSTATE
BEGIN READ ONLY;
CREATE MATERIALIZED VIEW w WITH (stream_engine.continuous) AS SELECT k FROM s;
\echo :SQLSTATE
ROLLBACK;
BEGIN READ ONLY;
ALTER MATERIALIZED VIEW v SET (stream_engine.on_error = skip);
\echo :SQLSTATE
ROLLBACK;
BEGIN;
CREATE MATERIALIZED VIEW w WITH (stream_engine.continuous) AS SELECT k FROM s;
REFRESH MATERIALIZED VIEW w;
\echo :SQLSTATE
ROLLBACK;
BEGIN;
CREATE MATERIALIZED VIEW w WITH (stream_engine.continuous) AS SELECT k FROM s;
PREPARE TRANSACTION 'w';
\echo :SQLSTATE
REFRESH MATERIALIZED VIEW v WITH NO DATA;
\echo :SQLSTATE
REFRESH MATERIALIZED VIEW missing;
\echo :SQLSTATE
REFRESH MATERIALIZED VIEW plain;
\echo :SQLSTATE
SELECT stream_engine.start('plain');
\echo :SQLSTATE
SELECT stream_engine.stop('postgres_own');
\echo :SQLSTATE
SELECT stream_engine.wait_state('v', 'running', '-1 s');
\echo :SQLSTATE
SELECT stream_engine.wait_state('v', 'walking');
\echo :SQLSTATE
SELECT stream_engine.start('v', skip => 'here');
\echo :SQLSTATE
SELECT job, definition FROM stream_engine.job_catalog;
