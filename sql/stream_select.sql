-- SELECT on a stream returns the rows of committed transactions, in delivery order, like a table.
CREATE FOREIGN TABLE s (a int, b text, ts timestamptz OPTIONS (event_time 'true')) SERVER stream_engine;
SELECT count(*) FROM s;

-- Own rows come with the commit; what was rolled back never comes.
BEGIN;
INSERT INTO s VALUES (1, 'one', '2024-01-01');
SAVEPOINT p;
INSERT INTO s VALUES (2, 'rolled back', '2024-01-01');
ROLLBACK TO p;
INSERT INTO s VALUES (3, NULL, '2024-01-03');
SELECT count(*) AS own_rows FROM s;
COMMIT;
BEGIN;
INSERT INTO s VALUES (4, 'rolled back', '2024-01-04');
ROLLBACK;
SELECT * FROM s;

-- A prepared transaction counts when it is committed, at that place.
BEGIN;
INSERT INTO s VALUES (5, 'prepared first', '2024-01-05');
PREPARE TRANSACTION 'stream_select';
INSERT INTO s VALUES (6, 'committed first', '2024-01-06');
SELECT a, b FROM s WHERE a >= 5;
COMMIT PREPARED 'stream_select';
SELECT a, b FROM s WHERE a >= 5;

-- Columns: some, none, the whole row; no system column but tableoid.
SELECT b FROM s LIMIT 1;
SELECT count(*) FROM s;
SELECT s FROM s WHERE a = 1;
SELECT tableoid::regclass, a FROM s WHERE ts >= '2024-01-05' ORDER BY a DESC;
SELECT xmin FROM s;
SELECT ctid FROM s;

-- A scan can begin anew: inner side of a nested loop, lateral, cursor.
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_material = off;
SELECT x.a, y.a FROM s x JOIN s y ON x.a + 2 = y.a ORDER BY 1;
RESET enable_hashjoin;
RESET enable_mergejoin;
RESET enable_material;
SELECT g, (SELECT count(*) FROM s WHERE a <= g) FROM generate_series(0, 6, 3) g;
BEGIN;
DECLARE c CURSOR FOR SELECT a FROM s;
FETCH 2 FROM c;
INSERT INTO s VALUES (7, 'behind the cursor', '2024-01-07');
FETCH ALL FROM c;
COMMIT;

-- With tables, as any relation.
CREATE TABLE names (a int, name text);
INSERT INTO names VALUES (1, 'first'), (7, 'last');
SELECT name, b FROM s JOIN names USING (a) ORDER BY a;
SELECT FROM s FOR UPDATE LIMIT 1;

EXPLAIN (COSTS OFF) SELECT a FROM s WHERE b = 'one';
ANALYZE s;

-- Rows of a stream of the same name that was dropped do not come back.
DROP FOREIGN TABLE s;
CREATE FOREIGN TABLE s (a int) SERVER stream_engine;
SELECT count(*) FROM s;
