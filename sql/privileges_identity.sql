-- A view's expressions, triggers and defaults run as its owner, who is the session's user too, in a restricted operation.
CREATE ROLE regress_owner;
CREATE ROLE regress_stream;
CREATE SCHEMA mine AUTHORIZATION regress_owner;
CREATE SCHEMA river AUTHORIZATION regress_stream;
GRANT USAGE ON SCHEMA mine, river TO PUBLIC;
CREATE FUNCTION whoami() RETURNS text LANGUAGE plpgsql STABLE AS $$
    BEGIN RETURN format('%s, session %s, superuser %s', current_user, session_user, current_setting('is_superuser')); END $$;

-- a function that an administrator lets everybody call, and that judges its caller by session_user
CREATE FUNCTION admin_only(text) RETURNS text LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
    IF session_user IN (SELECT rolname FROM pg_roles WHERE rolsuper) OR current_setting('is_superuser') = 'on' THEN
        RETURN 'done';
    END IF;
    RETURN 'refused';
END $$;

-- the expressions of a stream are its owner's
SET ROLE regress_stream;
CREATE FUNCTION river.become() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    BEGIN
        SET ROLE regress_owner;
        RAISE 'watermark became somebody';
    EXCEPTION WHEN insufficient_privilege THEN END;
    PERFORM set_config('search_path', 'evil', false);
END $$;
CREATE FUNCTION river.watermark(t timestamptz) RETURNS timestamptz LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    IF (current_user, session_user, current_setting('is_superuser')) <> ('regress_stream', 'regress_owner', 'off') THEN
        RAISE 'watermark as %', whoami();
    END IF;
    PERFORM river.become();
    RETURN t;
END $$;
CREATE FOREIGN TABLE river.s (k int, t timestamptz OPTIONS (event_time 'true'))
    SERVER stream_engine OPTIONS (watermark 'river.watermark(t)');
GRANT SELECT, INSERT ON river.s TO regress_owner;

-- those of the view, of its triggers, defaults, generated columns and constraints are the view's owner's
SET ROLE regress_owner;
CREATE FUNCTION mine.iam(int) RETURNS text LANGUAGE sql IMMUTABLE AS 'SELECT whoami()';
CREATE FUNCTION mine.is_me(int) RETURNS boolean LANGUAGE sql IMMUTABLE AS
    $$SELECT whoami() LIKE 'regress_owner, session regress_owner, superuser off'$$;
CREATE FUNCTION mine.report() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN NEW.by_trigger := whoami(); RETURN NEW; END $$;
CREATE MATERIALIZED VIEW mine.v WITH (stream_engine.continuous) AS
    SELECT k, whoami() AS by_view, admin_only('x'), current_setting('search_path') AS path FROM river.s;
ALTER TABLE mine.v ADD COLUMN by_default text DEFAULT whoami(), ADD COLUMN by_trigger text,
    ADD COLUMN generated text GENERATED ALWAYS AS (mine.iam(k)) STORED;
ALTER TABLE mine.v ADD CHECK (mine.is_me(k));
CREATE TRIGGER report BEFORE INSERT ON mine.v FOR EACH ROW EXECUTE FUNCTION mine.report();
CREATE MATERIALIZED VIEW mine.windowed WITH (stream_engine.continuous) AS
    SELECT window_end, count(*), max(whoami()) AS by_view FROM river.s, tumble(t, interval '1 minute') GROUP BY window_end;
RESET ROLE;
INSERT INTO river.s VALUES (1, '2024-01-01 00:00:10'), (2, '2024-01-01 00:01:10');
REFRESH MATERIALIZED VIEW mine.v;
REFRESH MATERIALIZED VIEW mine.windowed;
\x
SELECT * FROM mine.v WHERE k = 1;
SELECT * FROM mine.windowed;
\x

-- nothing leads out of it: in a round, which is read-only, and in the commit
SET ROLE regress_owner;
CREATE FUNCTION mine.attempt(commands text[]) RETURNS text LANGUAGE plpgsql AS $$
DECLARE command text; report text := '';
BEGIN
    FOREACH command IN ARRAY commands LOOP
        BEGIN
            EXECUTE command;
            report := report || E'\n' || command || ': done';
        EXCEPTION WHEN OTHERS THEN report := report || E'\n' || command || ': ' || SQLSTATE; END;
    END LOOP;
    RETURN report;
END $$;
CREATE FUNCTION mine.ways() RETURNS text[] LANGUAGE sql AS $$
    SELECT ARRAY['SET ROLE regress_stream', 'SET SESSION AUTHORIZATION regress_stream', 'RESET ROLE', 'RESET SESSION AUTHORIZATION',
        'SELECT set_config(''role'', ''none'', false)', 'SELECT set_config(''session_authorization'', ''regress_stream'', true)',
        'ALTER ROLE regress_owner SUPERUSER', 'SET session_replication_role = replica', 'COPY (SELECT 1) TO PROGRAM ''true''',
        'CREATE TEMP TABLE t (x int)', 'LISTEN x', 'PREPARE p AS SELECT 1', 'DISCARD ALL',
        'DECLARE c CURSOR WITH HOLD FOR SELECT 1', 'SELECT pg_terminate_backend(pg_backend_pid())',
        'INSERT INTO mine.made VALUES (1)', 'DELETE FROM mine.log', 'REFRESH MATERIALIZED VIEW mine.log',
        'DELETE FROM stream_engine.job_catalog'] $$;
CREATE TABLE mine.parent (id int PRIMARY KEY);
CREATE TABLE mine.made (id int REFERENCES mine.parent DEFERRABLE INITIALLY DEFERRED);
CREATE FUNCTION mine.attempt_it() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN NEW.by_trigger := mine.attempt(mine.ways()); RETURN NEW; END $$;
CREATE MATERIALIZED VIEW mine.log WITH (stream_engine.continuous) AS SELECT mine.attempt(mine.ways()) AS by_view FROM river.s;
ALTER TABLE mine.log ADD COLUMN by_trigger text;
CREATE TRIGGER attempt BEFORE INSERT ON mine.log FOR EACH ROW EXECUTE FUNCTION mine.attempt_it();
INSERT INTO river.s VALUES (3, '2024-01-01 00:01:11');
REFRESH MATERIALIZED VIEW mine.log;
SELECT regexp_split_to_table(by_view, E'\n') AS by_view FROM mine.log;
SELECT regexp_split_to_table(by_trigger, E'\n') AS by_trigger FROM mine.log;
RESET ROLE;

-- and nothing is written in a round
SET ROLE regress_owner;
CREATE FUNCTION mine.write(int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN RESET transaction_read_only; INSERT INTO mine.parent VALUES ($1); RETURN $1; END $$;
CREATE MATERIALIZED VIEW mine.writes WITH (stream_engine.continuous) AS SELECT mine.write(k) FROM river.s;
INSERT INTO river.s VALUES (3, '2024-01-01 00:01:11');
SELECT stream_engine.wait_state('mine.writes', 'failed');
SELECT * FROM mine.writes;
SELECT * FROM mine.parent;
RESET ROLE;

-- row level security of the tables that functions read is the owner's
CREATE TABLE rates (k int, rate int, who text);
INSERT INTO rates VALUES (4, 40, 'regress_owner'), (4, 400, 'somebody');
ALTER TABLE rates ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON rates USING (who = current_user AND who = session_user);
GRANT SELECT ON rates TO regress_owner;
SET ROLE regress_owner;
CREATE FUNCTION mine.rate(int) RETURNS bigint LANGUAGE sql AS 'SELECT sum(rate) FROM rates WHERE k = $1';
CREATE MATERIALIZED VIEW mine.rated WITH (stream_engine.continuous) AS SELECT mine.rate(k) FROM river.s;
INSERT INTO river.s VALUES (4, '2024-01-01 00:01:12');
REFRESH MATERIALIZED VIEW mine.rated;
SELECT * FROM mine.rated;
RESET ROLE;

-- a view made by a SECURITY DEFINER function is its owner's
CREATE FUNCTION mine.make() RETURNS void LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN CREATE MATERIALIZED VIEW mine.made_for WITH (stream_engine.continuous) AS SELECT whoami() AS who FROM river.s; END $$;
ALTER FUNCTION mine.make() OWNER TO regress_owner;
GRANT regress_owner TO regress_stream;
SET ROLE regress_stream;
SELECT mine.make();
RESET ROLE;
SELECT owner FROM stream_engine.jobs WHERE view = 'mine.made_for'::regclass;
INSERT INTO river.s VALUES (5, '2024-01-01 00:01:13');
REFRESH MATERIALIZED VIEW mine.made_for;
SELECT * FROM mine.made_for;

\set VERBOSITY terse
\set QUIET
SET client_min_messages = warning;
DROP OWNED BY regress_owner CASCADE;
DROP OWNED BY regress_stream CASCADE;
DROP ROLE regress_owner, regress_stream;
