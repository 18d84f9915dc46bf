-- proctime() of a row is when its transaction committed, as the driven clock has it, and never goes back.
CREATE FOREIGN TABLE s (a int) SERVER stream_engine;
SELECT stream_engine.test_clock_set('2024-05-01 12:00');
INSERT INTO s VALUES (1), (2);
SELECT stream_engine.test_clock_set('2024-05-01 13:00');
INSERT INTO s VALUES (3);
SELECT stream_engine.test_clock_set('2024-05-01 11:00');
INSERT INTO s VALUES (4);
SELECT a, proctime() FROM s;
SELECT a FROM (SELECT a, proctime() AS p FROM s OFFSET 0) x WHERE p > '2024-05-01 12:30';
-- Without a stream, the present.
SELECT proctime();
SELECT stream_engine.test_clock_set(NULL);
INSERT INTO s VALUES (5);
SELECT a, proctime() BETWEEN now() - interval '10 minutes' AND clock_timestamp() AS recent FROM s WHERE a > 4;
