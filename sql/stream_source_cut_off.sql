-- A transaction that wrote to the stream before reading begins is left out whole, never delivered in part.
CREATE FOREIGN TABLE s (a int) SERVER stream_engine;
CREATE FOREIGN TABLE other (a int) SERVER stream_engine;

BEGIN;
-- the end of a subtransaction writes its rows
SAVEPOINT written;
INSERT INTO s VALUES (1);
RELEASE written;
SELECT stream_engine.test_start_at(pg_current_wal_insert_lsn()) AS p \gset
INSERT INTO s VALUES (2);
SAVEPOINT x;
INSERT INTO s VALUES (3);
RELEASE x;
COMMIT;
INSERT INTO s VALUES (4);
SELECT "row" FROM stream_engine.test_source('s', :'p', 256);
-- Beginning anew from stored positions changes nothing.
SELECT "row" FROM stream_engine.test_source('s', :'p', 1, true);

-- What it wrote before to another stream, or rolled back, does not make it one.
BEGIN;
SAVEPOINT x;
INSERT INTO other VALUES (10);
RELEASE x;
SAVEPOINT x;
SAVEPOINT y;
INSERT INTO s VALUES (11);
RELEASE y;
ROLLBACK TO x;
SELECT stream_engine.test_start_at(pg_current_wal_insert_lsn()) AS p \gset
INSERT INTO s VALUES (12);
INSERT INTO other VALUES (13);
COMMIT;
SELECT "row" FROM stream_engine.test_source('s', :'p', 256);
SELECT "row" FROM stream_engine.test_source('other', :'p', 256);

-- A SELECT reads everything that is there.
SELECT a FROM s;
