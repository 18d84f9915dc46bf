-- What a query calls is asked for when the view is created or explained, and again when it starts.
CREATE ROLE regress_owner;
CREATE SCHEMA mine AUTHORIZATION regress_owner;
CREATE FOREIGN TABLE s (k int, secret text) SERVER stream_engine;
GRANT SELECT (k) ON s TO regress_owner;
CREATE FUNCTION closed(int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN $1; END';
CREATE FUNCTION inlined(int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT $1';
CREATE FUNCTION step(int, int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT $1 + $2';
CREATE AGGREGATE closed_sum(int) (sfunc = int4pl, stype = int, initcond = '0');
CREATE OPERATOR ### (procedure = step, leftarg = int, rightarg = int);
REVOKE EXECUTE ON FUNCTION closed(int), inlined(int), closed_sum(int), step(int, int) FROM PUBLIC;

SET ROLE regress_owner;
CREATE MATERIALIZED VIEW mine.v WITH (stream_engine.continuous) AS SELECT closed(k) FROM s;
CREATE MATERIALIZED VIEW mine.v WITH (stream_engine.continuous) AS SELECT inlined(k) FROM s;
CREATE MATERIALIZED VIEW mine.v WITH (stream_engine.continuous) AS SELECT k ### 1 AS x FROM s;
CREATE MATERIALIZED VIEW mine.v WITH (stream_engine.continuous) AS SELECT k FROM s WHERE closed(k) > 0;
CREATE MATERIALIZED VIEW mine.v WITH (stream_engine.continuous) AS SELECT k, closed_sum(k) FROM s GROUP BY k;
CREATE MATERIALIZED VIEW mine.v WITH (stream_engine.continuous) AS SELECT k, sum(closed(k)) FROM s GROUP BY k;
CREATE MATERIALIZED VIEW mine.v WITH (stream_engine.continuous) AS SELECT k, count(*) FROM s GROUP BY k HAVING closed(k) > 0;
EXPLAIN CREATE MATERIALIZED VIEW mine.v WITH (stream_engine.continuous) AS SELECT closed(k) FROM s;
SELECT stream_engine.explain('SELECT closed(k) FROM s');
SELECT stream_engine.explain('SELECT secret FROM s');
SELECT stream_engine.explain('SELECT k FROM s');

-- an aggregate's owner is asked for its parts
CREATE FUNCTION mine.plus(int, int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT $1 + $2';
CREATE AGGREGATE mine.total(int) (sfunc = mine.plus, stype = int, initcond = '0');
CREATE MATERIALIZED VIEW mine.t WITH (stream_engine.continuous) AS SELECT mine.total(k) FROM s;
RESET ROLE;
INSERT INTO s VALUES (1), (2);
REFRESH MATERIALIZED VIEW mine.t;
SELECT * FROM mine.t;
ALTER FUNCTION mine.plus(int, int) OWNER TO CURRENT_USER;
REVOKE EXECUTE ON FUNCTION mine.plus(int, int) FROM PUBLIC, regress_owner;
INSERT INTO s VALUES (3);
SELECT stream_engine.wait_state('mine.t', 'failed');
SELECT view, sqlstate, message FROM stream_engine.errors;
GRANT EXECUTE ON FUNCTION mine.plus(int, int) TO regress_owner;
SELECT stream_engine.start('mine.t');
SELECT stream_engine.wait_state('mine.t', 'running');
REFRESH MATERIALIZED VIEW mine.t;
SELECT * FROM mine.t;

\set VERBOSITY terse
DROP FOREIGN TABLE s CASCADE;
DROP FUNCTION mine.plus(int, int) CASCADE;
DROP OWNED BY regress_owner CASCADE;
DROP ROLE regress_owner;
