-- Nobody but the owner makes a job run his code: triggers, rules, the definition view, default privileges.
CREATE ROLE regress_owner;
CREATE ROLE regress_stranger;
CREATE SCHEMA mine AUTHORIZATION regress_owner;
CREATE SCHEMA theirs AUTHORIZATION regress_stranger;
GRANT USAGE ON SCHEMA mine, theirs TO PUBLIC;
CREATE FUNCTION theirs.become() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN ALTER ROLE regress_stranger SUPERUSER; RETURN NEW; END $$;

-- TRIGGER, as GRANT ALL gives it, on a superuser's view
CREATE FOREIGN TABLE s (k int, v text) SERVER stream_engine;
CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous) AS SELECT k, v FROM s;
GRANT ALL ON v TO regress_stranger;
SET ROLE regress_stranger;
CREATE TRIGGER become BEFORE INSERT ON v FOR EACH ROW EXECUTE FUNCTION theirs.become();
CREATE CONSTRAINT TRIGGER become AFTER INSERT ON v FOR EACH ROW EXECUTE FUNCTION theirs.become();
RESET ROLE;
INSERT INTO s VALUES (1, 'a');
REFRESH MATERIALIZED VIEW v;
SELECT rolsuper FROM pg_roles WHERE rolname = 'regress_stranger';
CREATE TRIGGER ours BEFORE INSERT ON v FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger();
DROP TRIGGER ours ON v;

-- likewise on the table of its late rows
CREATE FOREIGN TABLE timed (ts timestamptz OPTIONS (event_time 'true')) SERVER stream_engine OPTIONS (watermark 'ts');
CREATE MATERIALIZED VIEW late WITH (stream_engine.continuous, stream_engine.late_output = latecomers) AS SELECT window_end, count(*) FROM timed, tumble(ts, '1 s') GROUP BY 1;
GRANT ALL ON latecomers TO regress_stranger;
SET ROLE regress_stranger;
CREATE TRIGGER become BEFORE INSERT ON latecomers FOR EACH ROW EXECUTE FUNCTION theirs.become();
RESET ROLE;
INSERT INTO timed VALUES ('2024-01-02'), ('2024-01-01');
REFRESH MATERIALIZED VIEW late;
SELECT rolsuper FROM pg_roles WHERE rolname = 'regress_stranger';
CREATE TRIGGER ours BEFORE INSERT ON latecomers FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger();
DROP FOREIGN TABLE timed CASCADE;
DROP TABLE latecomers;

-- what ALTER DEFAULT PRIVILEGES gives away is the result, not the stream behind it
GRANT SELECT, INSERT ON s TO regress_owner;
SET ROLE regress_owner;
ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO regress_stranger;
CREATE MATERIALIZED VIEW mine.w WITH (stream_engine.continuous) AS SELECT k, v FROM s;
SELECT has_table_privilege('regress_stranger', 'mine.w', 'SELECT') AS result,
       has_table_privilege('regress_stranger', 'stream_engine_definitions."mine.w"', 'SELECT, INSERT') AS definition;
SET ROLE regress_stranger;
SELECT * FROM mine.w;
SELECT * FROM stream_engine_definitions."mine.w";
INSERT INTO stream_engine_definitions."mine.w" VALUES (2, 'forged');
SELECT * FROM s;
RESET ROLE;
SELECT count(*) AS kept_for_definition FROM pg_shdepend
WHERE deptype = 'a' AND objid = 'stream_engine_definitions."mine.w"'::regclass;

-- rules: the job would not see them, or find no table any more
SET ROLE regress_owner;
CREATE RULE r AS ON INSERT TO mine.w DO INSTEAD NOTHING;
CREATE RULE "_RETURN" AS ON SELECT TO mine.w DO INSTEAD SELECT 1 AS k, 'x'::text AS v;
-- the definition view, to its owner too
CREATE OR REPLACE RULE "_RETURN" AS ON SELECT TO stream_engine_definitions."mine.w" DO INSTEAD SELECT k + 1 AS k, v FROM s;
ALTER VIEW stream_engine_definitions."mine.w" SET SCHEMA mine;
ALTER VIEW stream_engine_definitions."mine.w" ALTER COLUMN k SET DEFAULT 1;
ALTER VIEW stream_engine_definitions."mine.w" OWNER TO regress_owner;
ALTER VIEW stream_engine_definitions."mine.w" RENAME COLUMN k TO l;
DROP VIEW stream_engine_definitions."mine.w";
RESET ROLE;
CREATE OR REPLACE VIEW stream_engine_definitions."mine.w" AS SELECT 1 AS k, 'x'::text AS v;
INSERT INTO s VALUES (3, 'c');
REFRESH MATERIALIZED VIEW mine.w;
SELECT * FROM mine.w;

\set VERBOSITY terse
DROP FOREIGN TABLE s CASCADE;
DROP OWNED BY regress_owner CASCADE;
DROP OWNED BY regress_stranger CASCADE;
DROP ROLE regress_owner, regress_stranger;
