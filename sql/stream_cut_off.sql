-- A transaction that began before the place where reading begins is left out whole, never delivered in half.
CREATE FOREIGN TABLE s (n int, t text) SERVER stream_engine;
BEGIN;
-- the end of a subtransaction writes its rows
SAVEPOINT written;
INSERT INTO s VALUES (1, 'before');
RELEASE written;
ALTER FOREIGN TABLE s ADD c int;
INSERT INTO s VALUES (2, 'after, of the same transaction');
COMMIT;
BEGIN;
INSERT INTO s VALUES (3, 'whole');
INSERT INTO s VALUES (4, 'whole');
COMMIT;
SELECT * FROM s;
-- a reader begins where the oldest layout was stored: forget the first one
DELETE FROM stream_engine.stream_layouts WHERE stream = 's'::regclass AND id = 1;
SELECT * FROM s;
