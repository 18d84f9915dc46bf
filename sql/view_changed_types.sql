-- Domains, enums and composite types that a running view uses are altered.
CREATE FOREIGN TABLE s (k int, t text) SERVER stream_engine;
CREATE DOMAIN base AS int;
CREATE DOMAIN small AS base;
CREATE FUNCTION as_small(int) RETURNS small LANGUAGE sql IMMUTABLE AS 'SELECT $1::small';

-- a domain gets a constraint, by itself or through the domain it is made of; the rows that follow are checked
CREATE MATERIALIZED VIEW direct WITH (stream_engine.continuous) AS SELECT k::small AS k FROM s;
CREATE MATERIALIZED VIEW inlined WITH (stream_engine.continuous) AS SELECT as_small(k) AS k FROM s;
CREATE MATERIALIZED VIEW counted WITH (stream_engine.continuous) AS SELECT sum(k::small) AS k FROM s;
INSERT INTO s VALUES (50);
REFRESH MATERIALIZED VIEW direct;
REFRESH MATERIALIZED VIEW inlined;
REFRESH MATERIALIZED VIEW counted;
ALTER DOMAIN base ADD CONSTRAINT below CHECK (VALUE < 100);
INSERT INTO s VALUES (500);
SELECT stream_engine.wait_state('direct', 'failed'), stream_engine.wait_state('inlined', 'failed'), stream_engine.wait_state('counted', 'failed');
SELECT view, sqlstate, message, "row" FROM stream_engine.errors ORDER BY view::text;
TABLE direct;
REFRESH MATERIALIZED VIEW direct;
-- a changed, and a dropped one
ALTER DOMAIN base DROP CONSTRAINT below;
SELECT stream_engine.start('direct'), stream_engine.start('inlined'), stream_engine.start('counted');
REFRESH MATERIALIZED VIEW direct;
REFRESH MATERIALIZED VIEW counted;
TABLE direct ORDER BY k;
TABLE counted;
DROP MATERIALIZED VIEW direct, inlined;
ALTER DOMAIN small SET NOT NULL;
INSERT INTO s VALUES (NULL);
SELECT stream_engine.wait_state('counted', 'failed');
SELECT message FROM stream_engine.errors ORDER BY seq DESC LIMIT 1;
DROP MATERIALIZED VIEW counted;

-- an enum gets values at any place, and other names for them
CREATE TYPE mood AS ENUM ('a', 'c');
CREATE FOREIGN TABLE e (m mood, t text) SERVER stream_engine;
CREATE MATERIALIZED VIEW extremes WITH (stream_engine.continuous) AS SELECT max(m), min(m), array_agg(m ORDER BY m) AS all FROM e;
CREATE MATERIALIZED VIEW moods WITH (stream_engine.continuous) AS SELECT t::mood AS m, count(*) FROM e GROUP BY 1;
INSERT INTO e VALUES ('a', 'a'), ('c', 'c');
REFRESH MATERIALIZED VIEW extremes;
REFRESH MATERIALIZED VIEW moods;
ALTER TYPE mood ADD VALUE 'b' BEFORE 'c';
ALTER TYPE mood ADD VALUE 'Z' BEFORE 'a';
ALTER TYPE mood RENAME VALUE 'a' TO 'A';
INSERT INTO e VALUES ('b', 'b'), ('Z', 'Z'), ('A', 'A');
REFRESH MATERIALIZED VIEW extremes;
REFRESH MATERIALIZED VIEW moods;
TABLE extremes;
TABLE moods ORDER BY m;

-- a composite type gets attributes, and loses such as the query does not name
CREATE TYPE pair AS (a int, b text);
CREATE FOREIGN TABLE c (k int, p pair) SERVER stream_engine;
CREATE MATERIALIZED VIEW pairs WITH (stream_engine.continuous) AS SELECT k, p, (p).a AS a, ROW(k, 'x')::pair AS made FROM c;
CREATE MATERIALIZED VIEW groups WITH (stream_engine.continuous) AS SELECT p, count(*) FROM c GROUP BY p;
INSERT INTO c VALUES (1, (1, 'one'));
REFRESH MATERIALIZED VIEW pairs;
REFRESH MATERIALIZED VIEW groups;
ALTER TYPE pair ADD ATTRIBUTE d int;
INSERT INTO c VALUES (2, (2, 'two', 3)), (3, (1, 'one', NULL));
REFRESH MATERIALIZED VIEW pairs;
REFRESH MATERIALIZED VIEW groups;
TABLE pairs ORDER BY k;
TABLE groups ORDER BY p;
-- by a column of stream or view, whichever is met first
\set VERBOSITY sqlstate
ALTER TYPE pair ALTER ATTRIBUTE a TYPE bigint;
\set VERBOSITY default
ALTER TYPE pair DROP ATTRIBUTE a;
ALTER TYPE pair DROP ATTRIBUTE b;
INSERT INTO c VALUES (4, (3, 4));
REFRESH MATERIALIZED VIEW pairs;
TABLE pairs ORDER BY k;

-- columns of the stream keep their types
ALTER FOREIGN TABLE c ALTER COLUMN k TYPE bigint;
ALTER FOREIGN TABLE s ALTER COLUMN t TYPE varchar;

-- a type that is dropped takes the views with it, or is not dropped
DROP TYPE pair;
\set VERBOSITY terse
DROP TYPE pair CASCADE;
SELECT to_regclass('pairs'), to_regclass('groups');
SELECT count(*) FROM stream_engine.errors WHERE view::text IN ('pairs', 'groups', 'moods', 'extremes');
