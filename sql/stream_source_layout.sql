-- A view that begins in a transaction which brought its own layout before the mark can read the rows behind it.
CREATE FOREIGN TABLE s (n int, t text) SERVER stream_engine;
CREATE FOREIGN TABLE another (x numeric) SERVER stream_engine;
CREATE TABLE start_at (p bytea);
UPDATE stream_engine.stream_layouts SET layout = (SELECT layout FROM stream_engine.stream_layouts WHERE stream = 'another'::regclass)
  WHERE stream = 's'::regclass;
\c
BEGIN;
INSERT INTO s VALUES (1, 'before');
INSERT INTO start_at SELECT stream_engine.test_start_mark('s');
INSERT INTO s VALUES (2, 'behind');
SAVEPOINT x;
INSERT INTO s VALUES (3, 'rolled back');
ROLLBACK TO x;
INSERT INTO s VALUES (4, 'behind');
COMMIT;
INSERT INTO s VALUES (5, 'after');
SELECT "row" FROM stream_engine.test_source('s', (SELECT p FROM start_at), 256);
SELECT "row" FROM stream_engine.test_source('s', (SELECT p FROM start_at), 1, true);
SELECT * FROM s;
