-- Published cases of state that expires, through SQL. Times are milliseconds of the driven clock, or as the cases say.
CREATE FOREIGN TABLE s (k text, v int, note text) SERVER stream_engine;
CREATE FUNCTION at(ms int, k text DEFAULT NULL, v int DEFAULT NULL, note text DEFAULT NULL) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM stream_engine.test_tick('2024-01-01'::timestamptz + ms * interval '1 ms');
  IF k IS NOT NULL THEN
    INSERT INTO s VALUES (k, v, note);
  END IF;
END $$;
\pset tuples_only on
SELECT stream_engine.test_clock_set('2024-01-01');

-- TTL-02, TTL-06: a value written at 4000 with a ttl of 4000 is there at 7999 and gone at exactly 8000; a look at it is no write
CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous, stream_engine.state_ttl = '4 s') AS
  SELECT k, count(*) AS n FROM s GROUP BY k;
SELECT at(1, 'k1');
SELECT at(1, 'k2');
SELECT at(4000, 'k2');
SELECT at(7999, 'k2');
REFRESH MATERIALIZED VIEW v;
SELECT * FROM v ORDER BY k;
SELECT at(7999, 'k3');
SELECT at(11998, 'k3');
SELECT at(11999, 'k2');
SELECT at(11999, 'k1');
REFRESH MATERIALIZED VIEW v;
SELECT * FROM v ORDER BY k;
SELECT at(15998);
SELECT at(15998, 'k3');
REFRESH MATERIALIZED VIEW v;
SELECT * FROM v ORDER BY k;
DROP MATERIALIZED VIEW v;

-- TTL-04: a ttl beyond any time there is never ends (the longest that is allowed; test_group_ttl has the longest there is)
CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous, stream_engine.state_ttl = '36600 days') AS
  SELECT k, count(*) AS n FROM s GROUP BY k;
SELECT at(20000, 'k');
SELECT stream_engine.test_tick('2124-03-01');
INSERT INTO s VALUES ('k');
REFRESH MATERIALIZED VIEW v;
SELECT * FROM v;
DROP MATERIALIZED VIEW v;

-- TTL-10: a forgotten group begins afresh: +aaa 4 gives (aaa, 4), whatever it was; then +aaa 5 gives 9
CREATE FOREIGN TABLE s10 (k text, v int) SERVER stream_engine;
SELECT stream_engine.test_clock_set('2125-01-01');
CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous, stream_engine.state_ttl = '2 s') AS
  SELECT k, sum(v) AS sum FROM s10 GROUP BY k;
SELECT stream_engine.test_tick('2125-01-01 00:00:01');
INSERT INTO s10 VALUES ('aaa', 1), ('bbb', 1), ('ccc', 1), ('aaa', 2);
SELECT stream_engine.test_tick('2125-01-01 00:00:03.002');
INSERT INTO s10 VALUES ('aaa', 4), ('bbb', 2);
REFRESH MATERIALIZED VIEW v;
SELECT * FROM v ORDER BY k;
INSERT INTO s10 VALUES ('aaa', 5);
REFRESH MATERIALIZED VIEW v;
SELECT * FROM v ORDER BY k;

-- TTL-14: what was forgotten after a commit that had it is not brought to life again by a restart
SELECT stream_engine.stop('v');
SELECT stream_engine.wait_state('v', 'stopped', '1 min');
SELECT stream_engine.test_clock_set('2125-01-01 00:00:05.002');
INSERT INTO s10 VALUES ('aaa', 10);
SELECT stream_engine.start('v');
REFRESH MATERIALIZED VIEW v;
SELECT * FROM v ORDER BY k;
DROP FOREIGN TABLE s, s10 CASCADE;

-- TTL-16, as far as it is about keys and not about rows that are changed: with a watermark 10 behind, what is below it is ignored,
-- and what it has passed is forgotten (here a minute stands for 1)
CREATE FOREIGN TABLE s (k int, ts timestamp OPTIONS (event_time 'true'), v text) SERVER stream_engine
  OPTIONS (watermark 'ts - interval ''10 minutes''');
CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous, stream_engine.state_ttl = '1 us on ts', stream_engine.ttl_delete) AS
  SELECT k, max(ts) AS ts, max(v) AS v FROM s GROUP BY k;
CREATE FUNCTION put(k int, t int, v text) RETURNS void LANGUAGE sql AS
  $$ INSERT INTO s VALUES (k, timestamp '2024-01-01' + t * interval '1 minute', v) $$;
SELECT put(1, 5, 'a'), put(2, 20, 'b');
REFRESH MATERIALIZED VIEW v;
SELECT * FROM v ORDER BY k;
SELECT put(3, 15, 'c'), put(4, 5, 'd'), put(3, 15, 'cc'), put(1, 5, 'aa'), put(3, 16, 'cc'), put(1, 6, 'a'), put(1, 18, 'aa');
REFRESH MATERIALIZED VIEW v;
SELECT * FROM v ORDER BY k;
SELECT put(4, 30, 'd');
REFRESH MATERIALIZED VIEW v;
SELECT * FROM v ORDER BY k;
SELECT late_rows FROM stream_engine.jobs;
SELECT stream_engine.test_clock_set(NULL);
DROP FOREIGN TABLE s CASCADE;
