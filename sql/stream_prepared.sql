-- Rows and watermarks of prepared transactions: there when COMMIT PREPARED has run, never after ROLLBACK PREPARED.
CREATE FOREIGN TABLE s (n int, t text) SERVER stream_engine;
BEGIN;
INSERT INTO s VALUES (1, 'prepared');
SAVEPOINT a;
INSERT INTO s VALUES (2, 'released');
RELEASE a;
SAVEPOINT b;
INSERT INTO s VALUES (3, 'rolled back');
ROLLBACK TO b;
INSERT INTO s SELECT 4, repeat('many', 100) FROM generate_series(1, 1000);
PREPARE TRANSACTION 'se_stream_prepared_1';
BEGIN;
INSERT INTO s VALUES (5, 'never');
PREPARE TRANSACTION 'se_stream_prepared_2';
INSERT INTO s VALUES (6, 'between');
SELECT n, count(*) FROM s GROUP BY n ORDER BY n;
COMMIT PREPARED 'se_stream_prepared_1';
ROLLBACK PREPARED 'se_stream_prepared_2';
SELECT n, count(*) FROM s GROUP BY n ORDER BY n;

-- ordinals and first messages begin anew after a PREPARE
BEGIN;
INSERT INTO s VALUES (7, 'next transaction');
COMMIT;
SELECT * FROM s WHERE n >= 5;

-- prepared statements and their plans survive ALTER
PREPARE ins(int, text) AS INSERT INTO s VALUES ($1, $2) RETURNING n;
EXECUTE ins(8, 'a');
ALTER FOREIGN TABLE s ADD c int DEFAULT 3;
EXECUTE ins(9, 'b');
SELECT * FROM s WHERE n >= 8;
