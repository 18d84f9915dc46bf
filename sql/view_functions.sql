-- Functions that a view's query uses may be replaced: rows that come after it meet the new ones,
-- whether the body of the old one was put in its place, called, or is part of an aggregate.
CREATE FOREIGN TABLE s (k int, x int) SERVER stream_engine;
CREATE FUNCTION twice(int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT $1 * 2';
CREATE FUNCTION label(int) RETURNS text LANGUAGE sql IMMUTABLE SET work_mem = '1MB' AS 'SELECT ''old '' || $1';
CREATE FUNCTION step(state int, x int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT state + x';
CREATE AGGREGATE total(int) (SFUNC = step, STYPE = int, INITCOND = 0);
CREATE FUNCTION show(state int) RETURNS text LANGUAGE sql IMMUTABLE AS 'SELECT ''sum '' || state';
CREATE AGGREGATE shown(int) (SFUNC = int4pl, STYPE = int, INITCOND = 0, FINALFUNC = show);
CREATE MATERIALIZED VIEW inlined WITH (stream_engine.continuous) AS SELECT k, twice(x) AS x FROM s;
CREATE MATERIALIZED VIEW called WITH (stream_engine.continuous) AS SELECT k, label(x) AS x FROM s;
CREATE MATERIALIZED VIEW transition WITH (stream_engine.continuous) AS SELECT total(x) FROM s;
CREATE MATERIALIZED VIEW final WITH (stream_engine.continuous) AS SELECT shown(x) FROM s;
INSERT INTO s VALUES (1, 10);
REFRESH MATERIALIZED VIEW inlined;
REFRESH MATERIALIZED VIEW called;
REFRESH MATERIALIZED VIEW transition;
REFRESH MATERIALIZED VIEW final;

CREATE OR REPLACE FUNCTION twice(int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT $1 * 2000';
CREATE OR REPLACE FUNCTION label(int) RETURNS text LANGUAGE sql IMMUTABLE SET work_mem = '1MB' AS 'SELECT ''new '' || $1';
CREATE OR REPLACE FUNCTION step(state int, x int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT state + 1000 * x';
CREATE OR REPLACE FUNCTION show(state int) RETURNS text LANGUAGE sql IMMUTABLE AS 'SELECT ''total '' || state';
INSERT INTO s VALUES (2, 10);
REFRESH MATERIALIZED VIEW inlined;
REFRESH MATERIALIZED VIEW called;
REFRESH MATERIALIZED VIEW transition;
REFRESH MATERIALIZED VIEW final;
SELECT * FROM inlined ORDER BY k;
SELECT * FROM called ORDER BY k;
SELECT * FROM transition;
SELECT * FROM final;
SELECT count(*) FROM stream_engine.errors;

-- a function that is no more what the query may use, or that the owner may not call, stops the view
CREATE ROLE view_functions_owner;
CREATE FUNCTION kept(int) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN true; END';
CREATE MATERIALIZED VIEW filtered WITH (stream_engine.continuous) AS SELECT k FROM s WHERE kept(x);
GRANT SELECT ON s TO view_functions_owner;
ALTER MATERIALIZED VIEW filtered OWNER TO view_functions_owner;
INSERT INTO s VALUES (3, 1);
REFRESH MATERIALIZED VIEW filtered;
ALTER FUNCTION kept VOLATILE;
INSERT INTO s VALUES (4, 1);
SELECT stream_engine.wait_state('filtered', 'failed');
ALTER FUNCTION kept IMMUTABLE;
SELECT stream_engine.start('filtered');
REFRESH MATERIALIZED VIEW filtered;
REVOKE EXECUTE ON FUNCTION kept FROM PUBLIC;
INSERT INTO s VALUES (5, 1);
SELECT stream_engine.wait_state('filtered', 'failed');
SELECT sqlstate, message FROM stream_engine.errors WHERE view = 'filtered'::regclass ORDER BY seq;
GRANT EXECUTE ON FUNCTION kept TO view_functions_owner;
SELECT stream_engine.start('filtered');
REFRESH MATERIALIZED VIEW filtered;
TABLE filtered;

-- dropped with its views, or not at all; moved and renamed as anybody likes
CREATE SCHEMA elsewhere;
ALTER FUNCTION kept SET SCHEMA elsewhere;
ALTER FUNCTION elsewhere.kept RENAME TO held;
GRANT USAGE ON SCHEMA elsewhere TO view_functions_owner;
INSERT INTO s VALUES (6, 1);
REFRESH MATERIALIZED VIEW filtered;
SELECT count(*) FROM filtered;
DROP FUNCTION elsewhere.held;
DROP FUNCTION elsewhere.held CASCADE;
DROP AGGREGATE total(int);
DROP FUNCTION step CASCADE;
SELECT view FROM stream_engine.jobs ORDER BY view::text;
DROP OWNED BY view_functions_owner;
DROP ROLE view_functions_owner;
