-- What ALTER DATABASE says about sessions makes a view's worker nobody else, and its errors no ends.
CREATE ROLE regress_owner;
CREATE ROLE regress_other;
CREATE SCHEMA mine AUTHORIZATION regress_owner;
GRANT USAGE ON SCHEMA mine TO PUBLIC;
CREATE FUNCTION whoami() RETURNS text LANGUAGE plpgsql STABLE AS
    $$BEGIN RETURN format('%s, session %s, role %s', current_user, session_user, current_setting('role')); END$$;
CREATE FOREIGN TABLE s (k int) SERVER stream_engine;
GRANT SELECT, INSERT ON s TO regress_owner;
SET ROLE regress_owner;
CREATE MATERIALIZED VIEW mine.v WITH (stream_engine.continuous) AS SELECT k, whoami() FROM s;
CREATE MATERIALIZED VIEW mine.failing WITH (stream_engine.continuous) AS SELECT 10 / k AS x FROM s;
SELECT stream_engine.stop('mine.v'), stream_engine.stop('mine.failing');
SELECT stream_engine.wait_state('mine.v', 'stopped'), stream_engine.wait_state('mine.failing', 'stopped');
RESET ROLE;

ALTER DATABASE :"DBNAME" SET role = regress_other;
ALTER DATABASE :"DBNAME" SET session_authorization = regress_other;
ALTER DATABASE :"DBNAME" SET exit_on_error = on;
SET ROLE regress_owner;
SELECT stream_engine.start('mine.v'), stream_engine.start('mine.failing');
INSERT INTO s VALUES (1), (0);
SELECT stream_engine.wait_state('mine.failing', 'failed');
SELECT sqlstate, message, "row" FROM stream_engine.errors WHERE view = 'mine.failing'::regclass;
SELECT stream_engine.wait_state('mine.v', 'running');
REFRESH MATERIALIZED VIEW mine.v;
SELECT * FROM mine.v ORDER BY k;
-- the same for a role alone
RESET ROLE;
ALTER DATABASE :"DBNAME" RESET session_authorization;
SELECT stream_engine.stop('mine.v');
SELECT stream_engine.wait_state('mine.v', 'stopped');
SELECT stream_engine.start('mine.v');
INSERT INTO s VALUES (2);
SELECT stream_engine.wait_state('mine.v', 'running');
REFRESH MATERIALIZED VIEW mine.v;
SELECT * FROM mine.v WHERE k = 2;
ALTER DATABASE :"DBNAME" RESET ALL;

\set VERBOSITY terse
DROP FOREIGN TABLE s CASCADE;
DROP OWNED BY regress_owner, regress_other;
DROP ROLE regress_owner, regress_other;
