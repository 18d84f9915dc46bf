-- ALTER COLUMN … TYPE: older rows read as the new type, through every type the column had, as if they had been rewritten.
\set VERBOSITY terse
CREATE FOREIGN TABLE s (id int, n int, f float8, t text, ts timestamptz) SERVER stream_engine;
CREATE TABLE twin (id int, n int, f float8, t text, ts timestamptz);
CREATE FUNCTION on_both(sql text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE replace(replace(sql, 'TABLE t', 'FOREIGN TABLE s'), 'INTO t', 'INTO s');
  EXECUTE replace(replace(sql, 'TABLE t', 'TABLE twin'), 'INTO t', 'INTO twin');
END $$;
CREATE FUNCTION compare() RETURNS TABLE (row_of text, content text) LANGUAGE sql AS $$
  (SELECT 'stream', s::text FROM s EXCEPT ALL SELECT 'stream', twin::text FROM twin) UNION ALL
  (SELECT 'twin', twin::text FROM twin EXCEPT ALL SELECT 'twin', s::text FROM s) $$;

SELECT on_both('INSERT INTO t VALUES (1, 10, 1.75, ''abc'', ''2024-01-01''), (2, NULL, NULL, NULL, NULL)');
-- by value to by reference and back to another by value; rounded on the way
SELECT on_both('ALTER TABLE t ALTER n TYPE bigint, ALTER f TYPE numeric(5,1), ALTER t TYPE varchar(5)');
SELECT on_both('INSERT INTO t VALUES (3, 30000000000, 3.33, ''defgh'', ''2024-01-01'')');
SELECT on_both('ALTER TABLE t ALTER f TYPE int');
SELECT on_both('INSERT INTO t VALUES (4, 4, 4, ''ijk'', ''2024-01-01'')');
SELECT on_both('ALTER TABLE t ALTER f TYPE text, ALTER n TYPE numeric');
SELECT on_both('INSERT INTO t VALUES (5, 5.5, ''five'', ''lmn'', ''2024-01-01'')');
SELECT * FROM s;
SELECT * FROM compare();

-- what a column was added with
SELECT on_both('ALTER TABLE t ADD d int DEFAULT 4');
SELECT on_both('INSERT INTO t (id) VALUES (6)');
SELECT on_both('ALTER TABLE t ALTER d DROP DEFAULT');
SELECT on_both('ALTER TABLE t ALTER d TYPE text');
SELECT on_both('INSERT INTO t (id, d) VALUES (7, ''seven'')');
SELECT id, d FROM s;
SELECT * FROM compare();

-- refused: values that do not fit, no cast, a cast that depends on settings or calls a function of a user
SELECT on_both('ALTER TABLE t ALTER n TYPE smallint');
ALTER FOREIGN TABLE s ALTER n TYPE smallint;
ALTER FOREIGN TABLE s ALTER t TYPE varchar(3);
ALTER FOREIGN TABLE s ALTER d TYPE int;
\set VERBOSITY default
ALTER FOREIGN TABLE s ALTER t TYPE int;
ALTER FOREIGN TABLE s ALTER ts TYPE text;
CREATE TYPE color AS ENUM ('red');
CREATE FUNCTION to_color(int) RETURNS color LANGUAGE sql IMMUTABLE AS $$ SELECT 'red'::color $$;
CREATE CAST (int AS color) WITH FUNCTION to_color(int) AS ASSIGNMENT;
ALTER FOREIGN TABLE s ALTER id TYPE color;
\set VERBOSITY terse
-- not in a stream without rows
CREATE FOREIGN TABLE empty (a text, b timestamptz) SERVER stream_engine;
ALTER FOREIGN TABLE empty ALTER a TYPE int, ALTER b TYPE text;
INSERT INTO empty VALUES (1, 'one');
SELECT * FROM empty;

-- a domain's checks run once, at the ALTER
CREATE DOMAIN small AS int CHECK (VALUE < 5);
CREATE DOMAIN large AS int CHECK (VALUE < 50);
ALTER FOREIGN TABLE s ALTER id TYPE small;
ALTER FOREIGN TABLE s ALTER id TYPE large;
INSERT INTO s (id) VALUES (51);
SELECT count(*), max(id) FROM s;
-- arrays
CREATE FOREIGN TABLE arrays (a int[]) SERVER stream_engine;
INSERT INTO arrays VALUES ('{1,2}'), ('{}'), (NULL), ('{3,NULL}');
ALTER FOREIGN TABLE arrays ALTER a TYPE bigint[];
INSERT INTO arrays VALUES ('{4}');
SELECT * FROM arrays;

-- a view of all that is there, in batches of many rows
INSERT INTO arrays SELECT ARRAY[g] FROM generate_series(1, 1000) g;
ALTER FOREIGN TABLE arrays ALTER a TYPE numeric[];
CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous, stream_engine.start = 'earliest') AS SELECT a, a[1]::text AS first FROM arrays;
REFRESH MATERIALIZED VIEW v;
(SELECT a, a[1]::text FROM arrays EXCEPT ALL SELECT a, first FROM v) UNION ALL (SELECT a, first FROM v EXCEPT ALL SELECT a, a[1]::text FROM arrays);
SELECT count(*), sum(a[1]) FROM v;
-- refused while a view uses the column
ALTER FOREIGN TABLE arrays ALTER a TYPE text[];

-- rolled back, and together with rows of the same transaction
BEGIN;
ALTER FOREIGN TABLE empty ALTER a TYPE bigint;
ROLLBACK;
BEGIN;
ALTER FOREIGN TABLE empty ALTER a TYPE numeric;
INSERT INTO empty VALUES (2.5, 'two and a half');
COMMIT;
BEGIN;
INSERT INTO empty VALUES (3, 'own');
ALTER FOREIGN TABLE empty ALTER a TYPE text;
ROLLBACK;
SELECT * FROM empty;
