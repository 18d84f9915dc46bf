-- A transaction that wrote to one stream before another existed, or in a subtransaction that failed, is not cut off in the other.
CREATE FOREIGN TABLE s1 (n int) SERVER stream_engine;
BEGIN;
INSERT INTO s1 VALUES (1);
CREATE FOREIGN TABLE s2 (n int) SERVER stream_engine;
INSERT INTO s2 VALUES (2);
INSERT INTO s1 VALUES (3);
INSERT INTO s2 SELECT 4 FROM generate_series(1, 10);
COMMIT;
SELECT n, count(*) FROM s1 GROUP BY n ORDER BY n;
SELECT n, count(*) FROM s2 GROUP BY n ORDER BY n;

BEGIN;
INSERT INTO s1 VALUES (11);
SAVEPOINT a;
CREATE FOREIGN TABLE s3 (n int) SERVER stream_engine;
INSERT INTO s3 VALUES (12);
ROLLBACK TO a;
CREATE FOREIGN TABLE s3 (n int) SERVER stream_engine;
INSERT INTO s3 VALUES (13);
SAVEPOINT b;
INSERT INTO s3 VALUES (14);
RELEASE b;
INSERT INTO s3 VALUES (15);
COMMIT;
SELECT * FROM s3;
