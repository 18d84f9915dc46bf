-- proctime() of a row is when its transaction committed, as the driven clock has it, and never goes back.
CREATE FOREIGN TABLE s (a int) SERVER stream_engine;
CREATE TABLE t (a int, b text);
INSERT INTO t SELECT g, 'b' || g FROM generate_series(1, 5) g;
SELECT stream_engine.test_clock_set('2024-05-01 12:00');
INSERT INTO s VALUES (1), (2);
SELECT stream_engine.test_clock_set('2024-05-01 13:00');
INSERT INTO s VALUES (3);
SELECT stream_engine.test_clock_set('2024-05-01 11:00');
INSERT INTO s VALUES (4);
SELECT a, proctime() FROM s;

-- It is the row's wherever it is asked for: in WHERE, above a sort, a join, a group; in windows.
SELECT a FROM s WHERE proctime() > '2024-05-01 12:30';
SELECT a, proctime() FROM s ORDER BY a DESC;
SELECT a, b, proctime() FROM t JOIN s USING (a) ORDER BY a DESC;
SELECT proctime(), count(*), min(a) FROM s GROUP BY 1 ORDER BY 1;
SELECT max(proctime()) FROM s;
SELECT window_start, count(*) FROM s, tumble(proctime(), interval '1 hour') GROUP BY 1 ORDER BY 1;
SELECT window_start, count(*) FROM (SELECT *, proctime() AS p FROM s) s, tumble(p, interval '1 hour') GROUP BY 1 ORDER BY 1;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_material = off;
SELECT b, proctime() FROM t, s WHERE t.a = s.a ORDER BY b DESC;
RESET ALL;
EXPLAIN (COSTS OFF, VERBOSE) SELECT a, proctime() FROM s WHERE proctime() > '2024-05-01 12:30';
SELECT ctid FROM s;

-- Without a stream, the present.
SELECT proctime();
SELECT stream_engine.test_clock_set(NULL);
INSERT INTO s VALUES (5);
SELECT a, proctime() BETWEEN now() - interval '10 minutes' AND clock_timestamp() AS recent FROM s WHERE a > 4;
