-- What is in the schema of the query functions before CREATE EXTENSION does not get into the extension.
CREATE ROLE regress_stranger;
SET client_min_messages = warning;
DROP EXTENSION stream_engine CASCADE;
RESET client_min_messages;
CREATE SCHEMA shared;
GRANT ALL ON SCHEMA shared TO PUBLIC;
SET search_path = shared, public;
SET ROLE regress_stranger;

-- better matches than PostgreSQL's own for what the monitoring views compare and call
CREATE FUNCTION shared.same(oid, regclass) RETURNS boolean LANGUAGE plpgsql AS $$BEGIN RAISE 'caught %', current_user; END$$;
CREATE FUNCTION shared.same(regclass, oid) RETURNS boolean LANGUAGE plpgsql AS $$BEGIN RAISE 'caught %', current_user; END$$;
CREATE OPERATOR shared.= (procedure = shared.same, leftarg = oid, rightarg = regclass);
CREATE OPERATOR shared.= (procedure = shared.same, leftarg = regclass, rightarg = oid);
CREATE FUNCTION shared.pg_has_role(oid, text) RETURNS boolean LANGUAGE plpgsql AS $$BEGIN RAISE 'caught %', current_user; END$$;
CREATE TYPE shared.pg_lsn AS (x int);
RESET ROLE;

CREATE EXTENSION stream_engine;
SHOW search_path;
SELECT extnamespace::regnamespace FROM pg_extension WHERE extname = 'stream_engine';
SET search_path = public;
SELECT count(*) AS caught FROM pg_depend d JOIN pg_rewrite r ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid
    JOIN pg_class c ON c.oid = r.ev_class
WHERE c.relnamespace = 'stream_engine'::regnamespace
  AND ((d.refclassid = 'pg_operator'::regclass AND d.refobjid IN (SELECT oid FROM pg_operator WHERE oprnamespace = 'shared'::regnamespace))
    OR (d.refclassid = 'pg_proc'::regclass AND d.refobjid IN (SELECT oid FROM pg_proc WHERE pronamespace = 'shared'::regnamespace
                                                              AND proowner = 'regress_stranger'::regrole)));
CREATE FOREIGN TABLE s (k int) SERVER stream_engine;
CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous) AS SELECT k FROM s;
SELECT stream_engine.wait_state('v', 'running');
SELECT view, state FROM stream_engine.jobs;
SELECT view FROM stream_engine.sources;
SELECT view FROM stream_engine.checkpoints;
SELECT view, operator FROM stream_engine.operators;
SELECT view FROM stream_engine.errors;

-- only a superuser installs it, and nobody else's objects are in its schemas
SELECT superuser, trusted FROM pg_available_extension_versions WHERE name = 'stream_engine';
SET ROLE regress_stranger;
CREATE TABLE stream_engine.t (x int);
CREATE TABLE stream_engine_definitions.t (x int);
CREATE SERVER other FOREIGN DATA WRAPPER stream_engine;
RESET ROLE;

\set VERBOSITY terse
DROP FOREIGN TABLE s CASCADE;
DROP OWNED BY regress_stranger;
DROP ROLE regress_stranger;
