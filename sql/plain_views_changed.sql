-- A plain view that a continuous view reads is renamed, replaced, dropped.
CREATE FOREIGN TABLE s (k int, n int) SERVER stream_engine;
CREATE VIEW inner_view AS SELECT k, n FROM s WHERE n < 10;
CREATE VIEW outer_view AS SELECT k, n * 2 AS twice FROM inner_view;
CREATE MATERIALIZED VIEW appended WITH (stream_engine.continuous) AS SELECT k, twice FROM outer_view;
CREATE MATERIALIZED VIEW grouped WITH (stream_engine.continuous) AS SELECT k, sum(twice) FROM outer_view GROUP BY k;
INSERT INTO s VALUES (1, 1), (1, 20);
REFRESH MATERIALIZED VIEW appended;
REFRESH MATERIALIZED VIEW grouped;
TABLE appended;
TABLE grouped;

-- what leaves the query as it is: names, owners, further columns, the same again
ALTER VIEW inner_view RENAME TO renamed;
ALTER VIEW renamed RENAME COLUMN n TO number;
CREATE SCHEMA other;
ALTER VIEW renamed SET SCHEMA other;
CREATE OR REPLACE VIEW other.renamed AS SELECT k, n AS number, 'more' AS further FROM s WHERE n < 10;
ALTER FOREIGN TABLE s RENAME COLUMN n TO amount;
INSERT INTO s VALUES (1, 2), (1, 20);
REFRESH MATERIALIZED VIEW appended;
REFRESH MATERIALIZED VIEW grouped;
TABLE appended ORDER BY twice;
TABLE grouped;

-- what makes another query of it stops the views, whether they have state or not; nothing is computed by it
CREATE OR REPLACE VIEW other.renamed AS SELECT k, amount AS number, 'more' AS further FROM s WHERE amount < 5;
INSERT INTO s VALUES (1, 7);
SELECT stream_engine.wait_state('appended', 'failed'), stream_engine.wait_state('grouped', 'failed');
SELECT view, sqlstate, message, detail FROM stream_engine.errors ORDER BY view::text;
REFRESH MATERIALIZED VIEW appended;
TABLE appended ORDER BY twice;

-- also at a start; the former query lets it go on
SELECT stream_engine.start('appended');
SELECT stream_engine.wait_state('appended', 'failed');
CREATE OR REPLACE VIEW other.renamed AS SELECT k, amount AS number, 'more' AS further FROM s WHERE amount < 10;
SELECT stream_engine.start('appended'), stream_engine.start('grouped');
REFRESH MATERIALIZED VIEW appended;
REFRESH MATERIALIZED VIEW grouped;
TABLE appended ORDER BY twice;
TABLE grouped;

-- what cannot be read any more stops it as well
CREATE OR REPLACE VIEW outer_view AS SELECT k, max(number) * 2 AS twice FROM other.renamed GROUP BY k;
INSERT INTO s VALUES (1, 8);
SELECT stream_engine.wait_state('appended', 'failed');
SELECT message FROM stream_engine.errors WHERE view = 'appended'::regclass ORDER BY seq DESC LIMIT 1;
CREATE OR REPLACE VIEW outer_view AS SELECT k, number * 2 AS twice FROM other.renamed;
SELECT stream_engine.start('appended'), stream_engine.start('grouped');

-- a function of the plain view is replaced
CREATE FUNCTION tax(int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT $1 + 1';
CREATE VIEW taxed AS SELECT k, tax(amount) AS t FROM s;
CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous) AS SELECT k, t FROM taxed;
INSERT INTO s VALUES (5, 1);
REFRESH MATERIALIZED VIEW v;
CREATE OR REPLACE FUNCTION tax(int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT $1 + 100';
INSERT INTO s VALUES (5, 1);
REFRESH MATERIALIZED VIEW v;
TABLE v;

-- dropped with it, or not at all
DROP FUNCTION tax;
DROP VIEW taxed;
DROP VIEW other.renamed;
\set VERBOSITY terse
DROP VIEW taxed CASCADE;
DROP FOREIGN TABLE s CASCADE;
SELECT count(*) FROM stream_engine.job_catalog;

-- a view that comes to read itself
CREATE FOREIGN TABLE s (k int) SERVER stream_engine;
CREATE VIEW one AS SELECT k FROM s;
CREATE VIEW two AS SELECT k FROM one;
CREATE OR REPLACE VIEW one AS SELECT k FROM two;
SELECT stream_engine.explain('SELECT k FROM one');
