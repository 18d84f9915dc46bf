-- Operators, operator classes, casts, aggregates and text search configurations that a running view uses are changed.
SET client_min_messages = warning;
CREATE TYPE own;
CREATE FUNCTION own_in(cstring) RETURNS own LANGUAGE internal IMMUTABLE STRICT AS 'int4in';
CREATE FUNCTION own_out(own) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'int4out';
CREATE TYPE own (INPUT = own_in, OUTPUT = own_out, LIKE = int4);
CREATE FUNCTION own_eq(own, own) RETURNS bool LANGUAGE internal IMMUTABLE STRICT AS 'int4eq';
CREATE FUNCTION own_lt(own, own) RETURNS bool LANGUAGE internal IMMUTABLE STRICT AS 'int4lt';
CREATE FUNCTION own_gt(own, own) RETURNS bool LANGUAGE internal IMMUTABLE STRICT AS 'int4gt';
CREATE FUNCTION own_le(own, own) RETURNS bool LANGUAGE internal IMMUTABLE STRICT AS 'int4le';
CREATE FUNCTION own_ge(own, own) RETURNS bool LANGUAGE internal IMMUTABLE STRICT AS 'int4ge';
CREATE FUNCTION own_cmp(own, own) RETURNS int LANGUAGE internal IMMUTABLE STRICT AS 'btint4cmp';
CREATE FUNCTION own_hash(own) RETURNS int LANGUAGE internal IMMUTABLE STRICT AS 'hashint4';
CREATE OPERATOR = (LEFTARG = own, RIGHTARG = own, FUNCTION = own_eq, COMMUTATOR = =, HASHES);
CREATE OPERATOR < (LEFTARG = own, RIGHTARG = own, FUNCTION = own_lt, COMMUTATOR = >);
CREATE OPERATOR > (LEFTARG = own, RIGHTARG = own, FUNCTION = own_gt, COMMUTATOR = <);
CREATE OPERATOR <= (LEFTARG = own, RIGHTARG = own, FUNCTION = own_le);
CREATE OPERATOR >= (LEFTARG = own, RIGHTARG = own, FUNCTION = own_ge);
CREATE OPERATOR CLASS own_ops DEFAULT FOR TYPE own USING btree AS
    OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >, FUNCTION 1 own_cmp(own, own);
CREATE CAST (text AS own) WITH INOUT;
CREATE FOREIGN TABLE o (k own, t text) SERVER stream_engine;
RESET client_min_messages;

-- the operator says it can be hashed, but nothing says how
SELECT stream_engine.explain('SELECT k, count(*) FROM o GROUP BY k');
CREATE OPERATOR CLASS own_hash_ops DEFAULT FOR TYPE own USING hash AS OPERATOR 1 =, FUNCTION 1 own_hash(own);
CREATE MATERIALIZED VIEW grouped WITH (stream_engine.continuous) AS SELECT k, count(*) FROM o GROUP BY k;
CREATE MATERIALIZED VIEW counted WITH (stream_engine.continuous) AS SELECT count(DISTINCT k) AS n, count(*) AS rows FROM o;
CREATE MATERIALIZED VIEW sorted WITH (stream_engine.continuous) AS SELECT array_agg(t ORDER BY k, t) AS ts FROM o;
CREATE MATERIALIZED VIEW cast_ones WITH (stream_engine.continuous) AS SELECT t::own AS k, t::own < '2' AS small FROM o;
INSERT INTO o VALUES ('1', '1'), ('2', '2'), ('1', '3');
REFRESH MATERIALIZED VIEW grouped;
REFRESH MATERIALIZED VIEW counted;
REFRESH MATERIALIZED VIEW cast_ones;

-- a cast has done its part when the query was analysed
DROP CAST (text AS own);
INSERT INTO o VALUES ('1', '1');
REFRESH MATERIALIZED VIEW cast_ones;
TABLE cast_ones ORDER BY k, small;

-- without the operator class running views go on; they cannot start without it, and say so
DROP OPERATOR CLASS own_hash_ops USING hash;
INSERT INTO o VALUES ('1', '1');
REFRESH MATERIALIZED VIEW grouped;
REFRESH MATERIALIZED VIEW counted;
TABLE grouped ORDER BY k;
TABLE counted;
SELECT stream_engine.stop('grouped'), stream_engine.stop('counted');
SELECT stream_engine.wait_state('grouped', 'stopped'), stream_engine.wait_state('counted', 'stopped');
INSERT INTO o VALUES ('1', '1');
SELECT stream_engine.start('grouped'), stream_engine.start('counted');
SELECT stream_engine.wait_state('grouped', 'failed'), stream_engine.wait_state('counted', 'failed');
SELECT view, sqlstate, message, detail FROM stream_engine.errors ORDER BY view::text;
CREATE OPERATOR CLASS own_hash_ops DEFAULT FOR TYPE own USING hash AS OPERATOR 1 =, FUNCTION 1 own_hash(own);
SELECT stream_engine.start('grouped'), stream_engine.start('counted');
REFRESH MATERIALIZED VIEW grouped;
REFRESH MATERIALIZED VIEW counted;
TABLE grouped ORDER BY k;
TABLE counted;

-- what the result's index or the query uses is not dropped, or takes the view with it
DROP OPERATOR CLASS own_ops USING btree;
DROP OPERATOR < (own, own);
DROP FUNCTION own_eq;
\set VERBOSITY terse
-- the index alone goes with its operator class: the view stops, and goes on when both are there again
DROP OPERATOR CLASS own_ops USING btree CASCADE;
INSERT INTO o VALUES ('1', '1');
SELECT stream_engine.wait_state('grouped', 'failed');
-- and so does one whose aggregate sorts by it, when it starts again
SELECT stream_engine.stop('sorted');
SELECT stream_engine.wait_state('sorted', 'stopped');
SELECT stream_engine.start('sorted');
SELECT stream_engine.wait_state('sorted', 'failed');
SELECT sqlstate, message FROM stream_engine.errors WHERE view = 'sorted'::regclass;
SELECT sqlstate, message FROM stream_engine.errors WHERE view = 'grouped'::regclass ORDER BY seq DESC LIMIT 1;
CREATE OPERATOR CLASS own_ops DEFAULT FOR TYPE own USING btree AS
    OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >, FUNCTION 1 own_cmp(own, own);
CREATE UNIQUE INDEX ON grouped (k) NULLS NOT DISTINCT;
SELECT stream_engine.start('grouped'), stream_engine.start('sorted');
REFRESH MATERIALIZED VIEW grouped;
TABLE grouped ORDER BY k;
REFRESH MATERIALIZED VIEW sorted;
TABLE sorted;
DROP OPERATOR < (own, own) CASCADE;
SELECT to_regclass('grouped'), to_regclass('counted'), to_regclass('cast_ones');
\set VERBOSITY default

-- an aggregate is replaced: by functions over the same state it goes on, over another one it stops
CREATE FOREIGN TABLE s (x int, t text) SERVER stream_engine;
CREATE AGGREGATE total(int) (SFUNC = int4pl, STYPE = int, INITCOND = 0);
CREATE MATERIALIZED VIEW totals WITH (stream_engine.continuous) AS SELECT total(x) FROM s;
INSERT INTO s VALUES (7);
REFRESH MATERIALIZED VIEW totals;
CREATE OR REPLACE AGGREGATE total(int) (SFUNC = int4mi, STYPE = int, INITCOND = 0);
INSERT INTO s VALUES (2);
REFRESH MATERIALIZED VIEW totals;
TABLE totals;
CREATE FUNCTION add(bigint, int) RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT $1 + $2';
CREATE FUNCTION as_int(bigint) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT $1::int';
CREATE OR REPLACE AGGREGATE total(int) (SFUNC = add, STYPE = bigint, FINALFUNC = as_int, INITCOND = 0);
INSERT INTO s VALUES (1);
SELECT stream_engine.wait_state('totals', 'failed');
SELECT sqlstate, message FROM stream_engine.errors WHERE view = 'totals'::regclass;
TABLE totals;

-- a text search configuration: rows and the query's constants are read by the same one
CREATE TEXT SEARCH CONFIGURATION conf (COPY = simple);
CREATE MATERIALIZED VIEW found WITH (stream_engine.continuous) AS SELECT x, t FROM s WHERE to_tsvector('conf', t) @@ to_tsquery('conf', 'running');
INSERT INTO s VALUES (1, 'running'), (1, 'runs');
REFRESH MATERIALIZED VIEW found;
TABLE found;
ALTER TEXT SEARCH CONFIGURATION conf ALTER MAPPING FOR asciiword WITH english_stem;
INSERT INTO s VALUES (2, 'running'), (2, 'runs');
REFRESH MATERIALIZED VIEW found;
TABLE found;
DROP TEXT SEARCH CONFIGURATION conf;
