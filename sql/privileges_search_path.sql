-- Names in a view's query and in a watermark are looked up once: what is created later in a schema that all may write to
-- changes nothing. Bodies of functions are looked up when they run, and need a path of their own.
CREATE ROLE regress_owner;
CREATE ROLE regress_stranger;
CREATE SCHEMA mine AUTHORIZATION regress_owner;
CREATE SCHEMA shared;
GRANT USAGE ON SCHEMA mine TO PUBLIC;
GRANT ALL ON SCHEMA shared TO PUBLIC;
SET ROLE regress_owner;
SET search_path = shared, pg_catalog, mine;
CREATE TYPE mine.level AS ENUM ('low', 'high');
CREATE FUNCTION mine.level_of(int) RETURNS mine.level LANGUAGE sql IMMUTABLE SET search_path = mine AS
    $$SELECT CASE WHEN $1 > 1 THEN 'high'::mine.level ELSE 'low'::mine.level END$$;
CREATE FOREIGN TABLE mine.s (k int, name varchar, t timestamptz OPTIONS (event_time 'true'))
    SERVER stream_engine OPTIONS (watermark 't - least(interval ''1 second'', pg_catalog.make_interval(secs => abs(k)))');
CREATE MATERIALIZED VIEW mine.v WITH (stream_engine.continuous) AS
    SELECT k % 2 AS odd, lower(name) AS name, mine.level_of(k) AS level, k::text AS text FROM s WHERE k = 1 OR k > 1;
CREATE MATERIALIZED VIEW mine.w WITH (stream_engine.continuous) AS
    SELECT window_end, max(name) AS name, sum(k) AS k FROM s, public.tumble(t, interval '1 minute') GROUP BY window_end;
INSERT INTO s VALUES (1, 'A', '2024-01-01 00:00:10'), (2, 'B', '2024-01-01 00:01:10');
REFRESH MATERIALIZED VIEW mine.v;
REFRESH MATERIALIZED VIEW mine.w;

-- better matches, and the same ones earlier in the path
SET ROLE regress_stranger;
CREATE FUNCTION shared.caught(int, int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$BEGIN RAISE 'caught %', current_user; END$$;
CREATE FUNCTION shared.caught(timestamptz, interval) RETURNS timestamptz LANGUAGE plpgsql IMMUTABLE AS $$BEGIN RAISE 'caught %', current_user; END$$;
CREATE FUNCTION shared.caught_bool(int, int) RETURNS bool LANGUAGE plpgsql IMMUTABLE AS $$BEGIN RAISE 'caught %', current_user; END$$;
CREATE FUNCTION shared.lower(varchar) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$BEGIN RAISE 'caught %', current_user; END$$;
CREATE FUNCTION shared.lower(text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$BEGIN RAISE 'caught %', current_user; END$$;
CREATE FUNCTION shared.abs(int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$BEGIN RAISE 'caught %', current_user; END$$;
CREATE FUNCTION shared.level_of(int) RETURNS mine.level LANGUAGE plpgsql IMMUTABLE AS $$BEGIN RAISE 'caught %', current_user; END$$;
CREATE AGGREGATE shared.sum(int) (sfunc = shared.caught, stype = int, initcond = '0');
CREATE OPERATOR shared.% (procedure = shared.caught, leftarg = int, rightarg = int);
CREATE OPERATOR shared.> (procedure = shared.caught_bool, leftarg = int, rightarg = int);
CREATE OPERATOR shared.= (procedure = shared.caught_bool, leftarg = int, rightarg = int);
CREATE OPERATOR shared.- (procedure = shared.caught, leftarg = timestamptz, rightarg = interval);
CREATE TYPE shared.level AS ENUM ('caught');
CREATE TABLE shared.s (k int);

-- while they run, at their next start, and when the watermark is written anew
SET ROLE regress_owner;
INSERT INTO mine.s VALUES (3, 'C', '2024-01-01 00:02:10');
REFRESH MATERIALIZED VIEW mine.v;
SELECT stream_engine.stop('mine.v'), stream_engine.stop('mine.w');
SELECT stream_engine.wait_state('mine.v', 'stopped'), stream_engine.wait_state('mine.w', 'stopped');
ALTER FOREIGN TABLE mine.s RENAME COLUMN k TO key;
SELECT stream_engine.check_stream('mine.s');
SELECT stream_engine.start('mine.v'), stream_engine.start('mine.w');
INSERT INTO mine.s VALUES (4, 'D', '2024-01-01 00:03:10');
SELECT stream_engine.wait_state('mine.v', 'running');
SELECT stream_engine.wait_state('mine.w', 'running');
REFRESH MATERIALIZED VIEW mine.v;
REFRESH MATERIALIZED VIEW mine.w;
SELECT odd, name, level::pg_catalog.text, text FROM mine.v ORDER BY text;
SELECT * FROM mine.w ORDER BY window_end;
SELECT ftoptions FROM pg_foreign_table WHERE ftrelid = 'mine.s'::regclass;
RESET search_path;
RESET ROLE;

\set VERBOSITY terse
SET client_min_messages = warning;
DROP OWNED BY regress_owner CASCADE;
DROP OWNED BY regress_stranger CASCADE;
DROP ROLE regress_owner, regress_stranger;
