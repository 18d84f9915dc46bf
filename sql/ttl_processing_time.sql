-- state_ttl by processing time: a group is forgotten when a row, or a tick, comes so long after its last row.
CREATE FOREIGN TABLE s (seq int, k int, v int) SERVER stream_engine;
CREATE TABLE twin (seq int, k int, v int, at timestamptz);
CREATE FUNCTION put(at timestamptz, VARIADIC keys int[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM stream_engine.test_tick(at);
  WITH new AS (INSERT INTO twin SELECT (SELECT count(*) FROM twin) + o, k, o, at
    FROM unnest(keys) WITH ORDINALITY AS u (k, o) RETURNING *)
  INSERT INTO s SELECT seq, k, v FROM new ORDER BY seq;
END $$;
SELECT stream_engine.test_clock_set('2024-05-01 12:00');
CREATE MATERIALIZED VIEW kept WITH (stream_engine.continuous, stream_engine.state_ttl = '10 minutes') AS
  SELECT k, count(*) AS n, sum(v) AS sum FROM s GROUP BY k;
CREATE MATERIALIZED VIEW deleted WITH (stream_engine.continuous, stream_engine.state_ttl = '10 minutes',
  stream_engine.ttl_delete) AS SELECT k, count(*) AS n, sum(v) AS sum FROM s GROUP BY k;
CREATE MATERIALIZED VIEW seen WITH (stream_engine.continuous, stream_engine.state_ttl = '10 minutes',
  stream_engine.ttl_delete) AS SELECT DISTINCT k FROM s;
-- The definition: a group is its rows since the last pause of ten minutes.
CREATE VIEW lives AS SELECT *, sum(begins::int) OVER (PARTITION BY k ORDER BY seq) AS life FROM (
  SELECT *, coalesce(at - lag(at) OVER (PARTITION BY k ORDER BY seq) >= interval '10 minutes', true) AS begins FROM twin) t;
CREATE VIEW defined AS SELECT k, count(*) AS n, sum(v) AS sum, max(at) AS last FROM lives l
  WHERE life = (SELECT max(life) FROM lives o WHERE o.k = l.k) GROUP BY k;
CREATE FUNCTION differences(clock timestamptz) RETURNS TABLE (kept bigint, deleted bigint, seen bigint) LANGUAGE sql AS $$
  SELECT (SELECT count(*) FROM (SELECT k, n, sum FROM defined) d FULL JOIN kept USING (k, n, sum)
      WHERE d.* IS NULL OR kept.* IS NULL),
    (SELECT count(*) FROM (SELECT k, n, sum FROM defined WHERE last + interval '10 minutes' > clock) d
      FULL JOIN deleted USING (k, n, sum) WHERE d.* IS NULL OR deleted.* IS NULL),
    (SELECT count(*) FROM (SELECT k FROM defined WHERE last + interval '10 minutes' > clock) d
      FULL JOIN seen USING (k) WHERE d.* IS NULL OR seen.* IS NULL)
$$;

SELECT put('2024-05-01 12:00', 1, 2, 3);
SELECT put('2024-05-01 12:05', 1);
SELECT put('2024-05-01 12:09:59.999999', 2);
REFRESH MATERIALIZED VIEW kept;
REFRESH MATERIALIZED VIEW deleted;
REFRESH MATERIALIZED VIEW seen;
SELECT * FROM differences('2024-05-01 12:09:59.999999');
-- exactly at its time key 3 is forgotten: a tick says so, and then a row begins anew
SELECT stream_engine.test_tick('2024-05-01 12:10');
REFRESH MATERIALIZED VIEW kept;
REFRESH MATERIALIZED VIEW deleted;
REFRESH MATERIALIZED VIEW seen;
SELECT * FROM kept ORDER BY k;
SELECT * FROM deleted ORDER BY k;
SELECT * FROM seen ORDER BY k;
SELECT put('2024-05-01 12:11', 3, 3, 1);
REFRESH MATERIALIZED VIEW kept;
REFRESH MATERIALIZED VIEW deleted;
REFRESH MATERIALIZED VIEW seen;
SELECT * FROM kept ORDER BY k;
SELECT * FROM differences('2024-05-01 12:11');

-- many keys, pauses of all lengths; and workers that begin anew between two of them
SELECT setseed(0.7);
CREATE PROCEDURE go_on(first int, steps int) LANGUAGE plpgsql AS $$
BEGIN
  FOR i IN first .. first + steps - 1 LOOP
    PERFORM put('2024-05-01 13:00'::timestamptz + i * interval '100 seconds' - (i % 3) * interval '1 second',
      VARIADIC (SELECT array_agg((random() * random() * 60)::int) FROM generate_series(1, 10)));
    COMMIT;
  END LOOP;
END $$;
CALL go_on(1, 40);
REFRESH MATERIALIZED VIEW kept;
REFRESH MATERIALIZED VIEW deleted;
REFRESH MATERIALIZED VIEW seen;
SELECT * FROM differences((SELECT max(at) FROM twin));
SELECT stream_engine.stop('kept'), stream_engine.stop('deleted');
SELECT stream_engine.wait_state('kept', 'stopped', '1 min'), stream_engine.wait_state('deleted', 'stopped', '1 min');
CALL go_on(41, 10);
SELECT stream_engine.start('kept'), stream_engine.start('deleted');
REFRESH MATERIALIZED VIEW kept;
REFRESH MATERIALIZED VIEW deleted;
REFRESH MATERIALIZED VIEW seen;
SELECT * FROM differences((SELECT max(at) FROM twin));
SELECT count(*) > 20 AS began_anew FROM lives WHERE begins AND life > 1;
-- a clock that goes back is no time that passes
SELECT stream_engine.test_clock_set('2024-05-01 10:00');
INSERT INTO s VALUES (10000, 1000, 1);
SELECT stream_engine.test_tick('2024-05-01 14:30');
REFRESH MATERIALIZED VIEW deleted;
SELECT n, sum FROM deleted WHERE k = 1000;
SELECT stream_engine.test_tick('2024-05-01 14:50');
REFRESH MATERIALIZED VIEW kept;
REFRESH MATERIALIZED VIEW deleted;
REFRESH MATERIALIZED VIEW seen;
SELECT * FROM deleted;
SELECT view, state_entries, late_rows FROM stream_engine.jobs ORDER BY view::text;
EXPLAIN (COSTS OFF) CREATE MATERIALIZED VIEW x WITH (stream_engine.continuous, stream_engine.state_ttl = '10 minutes') AS
  SELECT k, count(*) AS n, sum(v) AS sum FROM s GROUP BY k;
SELECT stream_engine.test_clock_set(NULL);
DROP FOREIGN TABLE s CASCADE;
