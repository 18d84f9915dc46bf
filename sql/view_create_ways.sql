-- Continuous views made by functions, procedures, blocks and as somebody else; in tablespaces.
CREATE FOREIGN TABLE s (k int, n int) SERVER stream_engine;
CREATE ROLE view_ways_owner;
GRANT SELECT ON s TO view_ways_owner;
CREATE SCHEMA mine AUTHORIZATION view_ways_owner;

-- functions in SQL and PL/pgSQL, a procedure that commits in between, a block; a name that is made up
CREATE FUNCTION by_sql() RETURNS void LANGUAGE sql AS
    'CREATE MATERIALIZED VIEW by_sql WITH (stream_engine.continuous) AS SELECT k FROM s';
SELECT by_sql();
CREATE FUNCTION by_name(name text, above int) RETURNS regclass LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('CREATE MATERIALIZED VIEW IF NOT EXISTS %I WITH (stream_engine.continuous) AS SELECT k FROM s WHERE n > %L', name, above);
    RETURN format('%I', name)::regclass;
END $$;
SELECT by_name('above one', 1), by_name('above one', 1), by_name('above two', 2);
CREATE PROCEDURE by_steps() LANGUAGE plpgsql AS $$
BEGIN
    CREATE MATERIALIZED VIEW by_steps WITH (stream_engine.continuous) AS SELECT k, count(*) FROM s GROUP BY k;
    COMMIT;
    INSERT INTO s VALUES (1, 2);
    COMMIT;
    REFRESH MATERIALIZED VIEW by_steps;
    DROP MATERIALIZED VIEW IF EXISTS missing;
    CREATE MATERIALIZED VIEW undone WITH (stream_engine.continuous) AS SELECT k FROM s;
    ROLLBACK;
END $$;
CALL by_steps();
TABLE by_steps;
DO $$
BEGIN
    CREATE MATERIALIZED VIEW by_block WITH (stream_engine.continuous) AS SELECT k FROM s;
    BEGIN
        CREATE MATERIALIZED VIEW by_block WITH (stream_engine.continuous) AS SELECT n FROM s;
    EXCEPTION WHEN duplicate_table THEN
        RAISE NOTICE '%', SQLERRM;
    END;
END $$;
-- a value of the block is no part of a query that outlives it
DO $$ DECLARE above int := 1; BEGIN
    CREATE MATERIALIZED VIEW with_parameter WITH (stream_engine.continuous) AS SELECT k FROM s WHERE n > above;
END $$;
SELECT job FROM stream_engine.job_catalog ORDER BY job::text COLLATE "C";

-- who owns what a SECURITY DEFINER function makes
SET ROLE view_ways_owner;
CREATE FUNCTION mine.make() RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = mine, public AS
    'CREATE MATERIALIZED VIEW of_definer WITH (stream_engine.continuous) AS SELECT k, current_user AS who FROM s';
RESET ROLE;
SELECT mine.make();
SELECT oid::regclass, relowner::regrole FROM pg_class WHERE relname = 'of_definer';
INSERT INTO s VALUES (5, 2);
REFRESH MATERIALIZED VIEW mine.of_definer;
TABLE mine.of_definer;

-- tablespaces: by name, by default_tablespace, moved while the view runs
SET allow_in_place_tablespaces = true;
SET client_min_messages = error;
CREATE TABLESPACE view_ways LOCATION '';
RESET client_min_messages;
CREATE MATERIALIZED VIEW elsewhere WITH (stream_engine.continuous) TABLESPACE view_ways AS SELECT k, count(*) FROM s GROUP BY k;
SET default_tablespace = view_ways;
CREATE MATERIALIZED VIEW by_default WITH (stream_engine.continuous) AS SELECT k, count(*) FROM s GROUP BY k;
RESET default_tablespace;
SELECT c.relname, t.spcname FROM pg_class c LEFT JOIN pg_tablespace t ON t.oid = c.reltablespace
 WHERE c.relname IN ('elsewhere', 'elsewhere_key', 'by_default', 'by_default_key') ORDER BY 1;
INSERT INTO s VALUES (1, 1);
REFRESH MATERIALIZED VIEW elsewhere;
ALTER MATERIALIZED VIEW elsewhere SET TABLESPACE pg_default;
ALTER MATERIALIZED VIEW ALL IN TABLESPACE view_ways SET TABLESPACE pg_default;
ALTER TABLE ALL IN TABLESPACE view_ways SET TABLESPACE pg_default;
ALTER INDEX ALL IN TABLESPACE view_ways SET TABLESPACE pg_default;
INSERT INTO s VALUES (1, 1);
REFRESH MATERIALIZED VIEW elsewhere;
REFRESH MATERIALIZED VIEW by_default;
TABLE elsewhere;
TABLE by_default;
DROP TABLESPACE view_ways;

\set VERBOSITY terse
DROP OWNED BY view_ways_owner CASCADE;
DROP ROLE view_ways_owner;
