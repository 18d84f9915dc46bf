-- A view outlives what happens to its owner: a new name, no login, another owner; its role cannot be dropped.
CREATE ROLE regress_owner LOGIN;
CREATE ROLE regress_heir;
CREATE SCHEMA mine AUTHORIZATION regress_owner;
GRANT ALL ON SCHEMA mine TO regress_heir;
CREATE FOREIGN TABLE s (k int) SERVER stream_engine;
GRANT SELECT ON s TO regress_owner;
CREATE FUNCTION whoami() RETURNS text LANGUAGE plpgsql STABLE AS
    $$BEGIN RETURN format('%s, session %s', current_user, session_user); END$$;
SET ROLE regress_owner;
CREATE MATERIALIZED VIEW mine.v WITH (stream_engine.continuous) AS SELECT k, whoami() FROM s;
RESET ROLE;

INSERT INTO s VALUES (1);
REFRESH MATERIALIZED VIEW mine.v;
-- renamed, while it runs and at its next start
ALTER ROLE regress_owner RENAME TO regress_renamed;
INSERT INTO s VALUES (2);
REFRESH MATERIALIZED VIEW mine.v;
SELECT stream_engine.stop('mine.v');
SELECT stream_engine.wait_state('mine.v', 'stopped');
SELECT stream_engine.start('mine.v');
INSERT INTO s VALUES (3);
SELECT stream_engine.wait_state('mine.v', 'running');
REFRESH MATERIALIZED VIEW mine.v;
-- no login, no connections, a password that is over
ALTER ROLE regress_renamed NOLOGIN CONNECTION LIMIT 0 VALID UNTIL '2000-01-01';
INSERT INTO s VALUES (4);
REFRESH MATERIALIZED VIEW mine.v;
SELECT stream_engine.stop('mine.v');
SELECT stream_engine.wait_state('mine.v', 'stopped');
SELECT stream_engine.start('mine.v');
SELECT stream_engine.wait_state('mine.v', 'running');
INSERT INTO s VALUES (5);
REFRESH MATERIALIZED VIEW mine.v;
-- settings of the role and of sessions are not the view's
ALTER ROLE regress_renamed SET search_path = nowhere;
ALTER ROLE regress_renamed SET default_transaction_read_only = on;
SELECT stream_engine.stop('mine.v');
SELECT stream_engine.wait_state('mine.v', 'stopped');
SELECT stream_engine.start('mine.v');
SELECT stream_engine.wait_state('mine.v', 'running');
INSERT INTO s VALUES (6);
REFRESH MATERIALIZED VIEW mine.v;
SELECT * FROM mine.v ORDER BY k;
SELECT view, owner, state FROM stream_engine.jobs;

-- the role cannot be dropped
DROP ROLE regress_renamed;
-- what it owns goes to another, who may not read the stream
REASSIGN OWNED BY regress_renamed TO regress_heir;
SELECT relname, relowner::regrole FROM pg_class WHERE relname IN ('v', 'mine.v');
INSERT INTO s VALUES (7);
SELECT stream_engine.wait_state('mine.v', 'failed');
SELECT sqlstate, message FROM stream_engine.errors WHERE view = 'mine.v'::regclass ORDER BY seq;
GRANT SELECT ON s TO regress_heir;
SELECT stream_engine.start('mine.v');
SELECT stream_engine.wait_state('mine.v', 'running');
REFRESH MATERIALIZED VIEW mine.v;
SELECT * FROM mine.v WHERE k > 5 ORDER BY k;
DROP OWNED BY regress_renamed;
DROP ROLE regress_renamed;
DROP ROLE regress_heir;

-- what is taken away from a running view counts at its next start
REVOKE SELECT ON s FROM regress_heir;
INSERT INTO s VALUES (8);
REFRESH MATERIALIZED VIEW mine.v;
SELECT stream_engine.stop('mine.v');
SELECT stream_engine.wait_state('mine.v', 'stopped');
SELECT stream_engine.start('mine.v');
SELECT stream_engine.wait_state('mine.v', 'failed');
REFRESH MATERIALIZED VIEW mine.v;
-- by membership in pg_read_all_data it may again
GRANT pg_read_all_data TO regress_heir;
SELECT stream_engine.start('mine.v');
SELECT stream_engine.wait_state('mine.v', 'running');
INSERT INTO s VALUES (9);
REFRESH MATERIALIZED VIEW mine.v;
SELECT * FROM mine.v WHERE k > 7 ORDER BY k;

-- a role that owns a stream others read
\set VERBOSITY terse
GRANT CREATE ON SCHEMA public TO regress_heir;
ALTER FOREIGN TABLE s OWNER TO regress_heir;
INSERT INTO s VALUES (10);
REFRESH MATERIALIZED VIEW mine.v;
SELECT max(k) FROM mine.v;
DROP OWNED BY regress_heir;
DROP OWNED BY regress_heir CASCADE;
SELECT count(*) FROM stream_engine.jobs;
DROP ROLE regress_heir;
