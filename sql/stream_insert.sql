-- Whatever way an INSERT takes, the stream holds the rows an ordinary table would, in the order they came.
\set VERBOSITY terse
CREATE FOREIGN TABLE s (
  a int NOT NULL CHECK (a > 0), t text DEFAULT 'x' || 'y', ts timestamptz OPTIONS (event_time 'true') DEFAULT '2020-01-01',
  doubled int GENERATED ALWAYS AS (a * 2) STORED) SERVER stream_engine;
CREATE TABLE twin (a int, t text, ts timestamptz, doubled int);
CREATE FUNCTION differences(OUT missing bigint, OUT extra bigint) LANGUAGE sql AS $$
  SELECT (SELECT count(*) FROM (SELECT * FROM twin EXCEPT ALL SELECT * FROM s) m),
         (SELECT count(*) FROM (SELECT * FROM s EXCEPT ALL SELECT * FROM twin) e) $$;

-- values, several rows, defaults, RETURNING
INSERT INTO s (a) VALUES (1) RETURNING *, tableoid::regclass;
INSERT INTO s (t, a) VALUES ('a', 2), (NULL, 3), ('', 4) RETURNING a, t, doubled;
INSERT INTO s VALUES (5, 'five', '2020-01-02 00:00:00+00', DEFAULT);
INSERT INTO twin VALUES (1, 'xy', '2020-01-01', 2), (2, 'a', '2020-01-01', 4), (3, NULL, '2020-01-01', 6),
  (4, '', '2020-01-01', 8), (5, 'five', '2020-01-02', 10);
SELECT * FROM differences();
SELECT a FROM s;

-- nothing else is generated than what core generates
INSERT INTO s (a, doubled) VALUES (1, 1);

-- many rows: several messages
INSERT INTO s (a, t) SELECT i, repeat('q', i % 50) FROM generate_series(1, 20000) i;
INSERT INTO twin SELECT i, repeat('q', i % 50), '2020-01-01', i * 2 FROM generate_series(1, 20000) i;
SELECT * FROM differences();
SELECT count(*) FILTER (WHERE a <> want) AS out_of_order
  FROM (SELECT a, row_number() OVER () - 5 AS want FROM s) x WHERE want > 0;

-- a row larger than a message, between small ones
INSERT INTO s (a, t) VALUES (30001, 'before'), (30002, repeat('big', 100000)), (30003, 'after');
INSERT INTO twin VALUES (30001, 'before', '2020-01-01', 60002), (30002, repeat('big', 100000), '2020-01-01', 60004),
  (30003, 'after', '2020-01-01', 60006);
SELECT * FROM differences();
SELECT a, length(t) FROM s WHERE a > 30000;

-- a statement that fails leaves nothing, whatever it wrote before
INSERT INTO s (a, t) SELECT 40000 - i, repeat('z', 100) FROM generate_series(0, 40000) i;
SELECT * FROM differences();

-- data-modifying CTE, and a stream read and written by one statement
WITH w AS (INSERT INTO s (a, t) VALUES (50001, 'cte') RETURNING a, doubled) SELECT * FROM w;
INSERT INTO s (a, t) SELECT a + 10, t FROM s WHERE a BETWEEN 50001 AND 50005;
INSERT INTO twin VALUES (50001, 'cte', '2020-01-01', 100002), (50011, 'cte', '2020-01-01', 100022);
SELECT * FROM differences();

-- EXPLAIN plans, and writes nothing; with ANALYZE it writes
EXPLAIN (costs off) INSERT INTO s (a) VALUES (60001);
SELECT count(*) FROM s WHERE a = 60001;
\o /dev/null
EXPLAIN ANALYZE INSERT INTO s (a, t) VALUES (60002, 'explained');
\o
SELECT a, t FROM s WHERE a > 60000;
