-- An error while rows are written leaves nothing of its subtransaction, and the session goes on.
CREATE FOREIGN TABLE s (n int, t text) SERVER stream_engine;
-- before a message is written: the first one of a statement, the third, at the end of a subtransaction, at commit
SELECT stream_engine.test_fault_set('log-append-flush', 'error');
INSERT INTO s VALUES (1, 'not written');
SELECT stream_engine.test_fault_set('log-append-flush', 'error', 2);
INSERT INTO s SELECT i, repeat('x', 1000) FROM generate_series(1, 1000) i;
SELECT stream_engine.test_fault_clear('log-append-flush');
SELECT count(*) FROM s;
BEGIN;
INSERT INTO s VALUES (2, 'top');
SAVEPOINT a;
SELECT stream_engine.test_fault_set('log-append-flush', 'error');
INSERT INTO s SELECT 3, repeat('not written', 10000) FROM generate_series(1, 2);
ROLLBACK TO a;
SELECT stream_engine.test_fault_clear('log-append-flush');
INSERT INTO s VALUES (4, 'top');
COMMIT;
-- behind the write: the message is in the log and does not count
SELECT stream_engine.test_fault_set('log-message-written', 'error');
INSERT INTO s VALUES (5, 'in the log, rolled back');
SELECT stream_engine.test_fault_reached('log-message-written');
BEGIN;
SAVEPOINT a;
INSERT INTO s SELECT 6, repeat('in the log, rolled back', 10000) FROM generate_series(1, 2);
ROLLBACK TO a;
SELECT stream_engine.test_fault_clear('log-message-written');
INSERT INTO s VALUES (7, 'first that counts');
COMMIT;
SELECT * FROM s;
