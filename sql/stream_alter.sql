-- Rows written before an ALTER stay readable: added, dropped and changed columns.
\set VERBOSITY terse
CREATE FOREIGN TABLE s (id int, a text, b int) SERVER stream_engine;
CREATE TABLE twin (id int, a text, b int);
CREATE FUNCTION on_both(sql text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE replace(replace(sql, 'TABLE t', 'FOREIGN TABLE s'), 'INTO t', 'INTO s');
  EXECUTE replace(replace(sql, 'TABLE t', 'TABLE twin'), 'INTO t', 'INTO twin');
END $$;
CREATE FUNCTION compare() RETURNS TABLE (row_of text, content text) LANGUAGE sql AS $$
  (SELECT 'stream', s::text FROM s EXCEPT ALL SELECT 'stream', twin::text FROM twin) UNION ALL
  (SELECT 'twin', twin::text FROM twin EXCEPT ALL SELECT 'twin', s::text FROM s) $$;

SELECT on_both('INSERT INTO t VALUES (1, ''one'', 1), (2, NULL, NULL)');
-- added with and without default: a constant, a value larger than a page, by value, by reference, of a domain
SELECT on_both('ALTER TABLE t ADD c int, ADD d int DEFAULT 4, ADD e text DEFAULT ''five''');
SELECT on_both('INSERT INTO t VALUES (3, ''three'', 3, 3, 3, ''three'')');
SELECT on_both('ALTER TABLE t ADD f text DEFAULT repeat(''long'', 5000), ADD g numeric NOT NULL DEFAULT 6.50, ADD h int[] DEFAULT ''{1,2}''');
SELECT on_both('INSERT INTO t (id) VALUES (4)');
SELECT id, a, b, c, d, e, length(f), g, h FROM s;
SELECT * FROM compare();

-- a new default is for new rows
SELECT on_both('ALTER TABLE t ALTER d SET DEFAULT 40');
SELECT on_both('INSERT INTO t (id) VALUES (5)');
-- dropped, and a column of its name again
SELECT on_both('ALTER TABLE t DROP b');
SELECT on_both('INSERT INTO t (id, a) VALUES (6, ''six'')');
SELECT on_both('ALTER TABLE t ADD b text DEFAULT ''new b''');
SELECT on_both('INSERT INTO t (id, a) VALUES (7, ''seven'')');
SELECT * FROM compare();
SELECT id, b, d FROM s;
SELECT id FROM stream_engine.stream_layouts WHERE stream = 's'::regclass ORDER BY id;

-- what is not the bytes' business makes no layout
ALTER FOREIGN TABLE s ALTER id SET NOT NULL, ADD CHECK (id > 0), ALTER e SET DEFAULT 'other';
ALTER FOREIGN TABLE s RENAME a TO aa;
ALTER FOREIGN TABLE s RENAME aa TO a;
SELECT count(*) FROM stream_engine.stream_layouts WHERE stream = 's'::regclass;

-- a wider typmod, another type: stream_alter_types has more of it
CREATE FOREIGN TABLE v (id int, x varchar(3), y int) SERVER stream_engine;
INSERT INTO v VALUES (1, 'abc', 1);
ALTER FOREIGN TABLE v ALTER x TYPE varchar(6);
INSERT INTO v VALUES (2, 'abcdef', 2);
SELECT * FROM v;
ALTER FOREIGN TABLE v ALTER y TYPE bigint;
INSERT INTO v VALUES (3, 'abc', 30000000000);
SELECT * FROM v;

-- DDL and rows in one transaction, and in a subtransaction that is rolled back
BEGIN;
INSERT INTO v VALUES (4, 'x', 4);
ALTER FOREIGN TABLE v ADD z int DEFAULT 9;
INSERT INTO v VALUES (5, 'x', 5, 5);
SAVEPOINT a;
ALTER FOREIGN TABLE v ADD lost int DEFAULT 1;
INSERT INTO v VALUES (6, 'x', 6, 6, 6);
ROLLBACK TO a;
INSERT INTO v VALUES (7, 'x', 7, 7);
ALTER FOREIGN TABLE v ADD kept int DEFAULT 10;
INSERT INTO v VALUES (8, 'x', 8, 8, 8);
COMMIT;
SELECT id, x, z, kept FROM v;

-- created and filled in one transaction; created, filled, dropped and created again
BEGIN;
CREATE FOREIGN TABLE w (i int, t text DEFAULT 'w') SERVER stream_engine;
INSERT INTO w VALUES (1);
COMMIT;
INSERT INTO w VALUES (2);
SELECT * FROM w;
DROP FOREIGN TABLE w;
CREATE FOREIGN TABLE w (t text) SERVER stream_engine;
INSERT INTO w VALUES ('again');
SELECT * FROM w;

-- a default is evaluated once, as the owner of the stream, who cannot escape from it
CREATE SEQUENCE calls;
ALTER FOREIGN TABLE w ADD n bigint DEFAULT nextval('calls');
SELECT * FROM w;
INSERT INTO w VALUES ('next');
SELECT * FROM w;
CREATE ROLE se_alter_owner;
GRANT CREATE ON SCHEMA public TO se_alter_owner;
ALTER FOREIGN TABLE w OWNER TO se_alter_owner;
CREATE FUNCTION who() RETURNS text LANGUAGE sql VOLATILE AS 'SELECT current_user::text';
ALTER FOREIGN TABLE w ADD added_by text DEFAULT who();
SELECT DISTINCT added_by FROM w;
REASSIGN OWNED BY se_alter_owner TO CURRENT_USER;
DROP OWNED BY se_alter_owner;
DROP ROLE se_alter_owner;
