-- Composite values in the log stay readable: attributes come and go, their types do not change under a stream.
CREATE TYPE inner_type AS (a int, b text);
CREATE TYPE outer_type AS (i inner_type, n numeric);
CREATE DOMAIN inner_array AS inner_type[];
CREATE TABLE as_type (x int, y int);
CREATE FOREIGN TABLE s (id int, o outer_type, d inner_array, t as_type) SERVER stream_engine;
INSERT INTO s VALUES (1, '("(1,one)",1.5)', ARRAY['(2,two)']::inner_type[], '(1,2)');
ALTER TYPE inner_type ADD ATTRIBUTE c int;
ALTER TYPE inner_type RENAME ATTRIBUTE a TO aa;
INSERT INTO s VALUES (2, '("(1,one,3)",1.5)', ARRAY['(2,two,3)']::inner_type[], '(1,2)');
ALTER TYPE inner_type DROP ATTRIBUTE b;
SELECT * FROM s;

\set VERBOSITY sqlstate
ALTER TYPE inner_type ALTER ATTRIBUTE aa TYPE text;
ALTER TYPE outer_type ALTER ATTRIBUTE n TYPE text;
ALTER TABLE as_type ALTER x TYPE text;
ALTER TYPE inner_type ALTER ATTRIBUTE aa TYPE bigint, ADD ATTRIBUTE e int;
\set VERBOSITY default
SELECT * FROM s;
ALTER FOREIGN TABLE s DROP o, DROP d;
ALTER TYPE inner_type ALTER ATTRIBUTE aa TYPE text;
ALTER TYPE outer_type ALTER ATTRIBUTE n TYPE text;
SELECT * FROM s;
