-- Windows over proctime() hold the rows whose transactions committed within them, and close at tick marks.
CREATE FOREIGN TABLE s (a int, ts timestamptz OPTIONS (event_time 'true'))
  SERVER stream_engine OPTIONS (watermark 'ts');
CREATE TABLE twin (a int, at timestamptz);
CREATE FUNCTION put(a int, at timestamptz) RETURNS void LANGUAGE sql AS $$
  SELECT stream_engine.test_tick(at);
  INSERT INTO s VALUES (a, '2000-01-01 00:00');
  INSERT INTO twin VALUES (a, at);
$$;
SELECT stream_engine.test_clock_set('2024-05-01 12:00');
CREATE MATERIALIZED VIEW tumbled WITH (stream_engine.continuous) AS
  SELECT window_start, window_end, a % 2 AS k, count(*) AS n, sum(a) AS sum
  FROM s, tumble(proctime(), interval '10 seconds') GROUP BY 1, 2, 3;
CREATE MATERIALIZED VIEW hopped WITH (stream_engine.continuous) AS
  SELECT window_start, window_end, window_time, count(*) AS n, sum(a) AS sum
  FROM s, hop(proctime(), interval '5 seconds', interval '15 seconds') GROUP BY 1, 2, 3;
CREATE MATERIALIZED VIEW cumulated WITH (stream_engine.continuous) AS
  SELECT window_start, window_end, count(*) AS n, max(a) AS max
  FROM s, cumulate(proctime(), interval '5 seconds', interval '20 seconds') GROUP BY 1, 2;
CREATE MATERIALIZED VIEW sessions WITH (stream_engine.continuous) AS
  SELECT window_start, window_end, a % 2 AS k, count(*) AS n, sum(a) AS sum
  FROM s, session(proctime(), interval '4 seconds') GROUP BY 1, 2, 3;
CREATE MATERIALIZED VIEW rows WITH (stream_engine.continuous) AS
  SELECT a, window_start, proctime() AS at FROM s, tumble(proctime(), interval '10 seconds');
SELECT stream_engine.explain('SELECT window_start, count(*) FROM s, tumble(proctime(), ''10 s'') GROUP BY 1');

SELECT put(1, '2024-05-01 12:00:01');
SELECT put(2, '2024-05-01 12:00:04');
SELECT put(3, '2024-05-01 12:00:09.999999');
REFRESH MATERIALIZED VIEW tumbled;
SELECT * FROM tumbled;

-- The tick at the end of the window closes it, without a row; one before does not.
SELECT stream_engine.test_tick('2024-05-01 12:00:10');
REFRESH MATERIALIZED VIEW tumbled;
SELECT * FROM tumbled ORDER BY k;

-- A commit closes windows too. There are no late rows, also when the clock goes back.
SELECT put(4, '2024-05-01 12:00:12');
SELECT put(5, '2024-05-01 12:00:33');
SELECT stream_engine.test_clock_set('2024-05-01 12:00:05');
INSERT INTO s VALUES (6, '2030-01-01 00:00');
INSERT INTO twin VALUES (6, '2024-05-01 12:00:33');
-- Many rows in one transaction: all at one time.
SELECT stream_engine.test_clock_set('2024-05-01 12:00:41');
INSERT INTO s SELECT g, '2000-01-01' FROM generate_series(1, 2000) g;
INSERT INTO twin SELECT g, '2024-05-01 12:00:41' FROM generate_series(1, 2000) g;
SELECT stream_engine.test_tick('2024-05-01 12:02');
REFRESH MATERIALIZED VIEW tumbled;
REFRESH MATERIALIZED VIEW hopped;
REFRESH MATERIALIZED VIEW cumulated;
REFRESH MATERIALIZED VIEW sessions;
REFRESH MATERIALIZED VIEW rows;
SELECT * FROM tumbled ORDER BY 1, 3;
SELECT * FROM sessions ORDER BY 1, 3;

-- Each equals its query over the times of commit, and over the stream itself.
CREATE VIEW tumbled_q AS SELECT window_start, window_end, a % 2 AS k, count(*) AS n, sum(a) AS sum
  FROM twin, tumble(at, interval '10 seconds') GROUP BY 1, 2, 3;
CREATE VIEW hopped_q AS SELECT window_start, window_end, window_time, count(*) AS n, sum(a) AS sum
  FROM twin, hop(at, interval '5 seconds', interval '15 seconds') GROUP BY 1, 2, 3;
CREATE VIEW cumulated_q AS SELECT window_start, window_end, count(*) AS n, max(a) AS max
  FROM twin, cumulate(at, interval '5 seconds', interval '20 seconds') GROUP BY 1, 2;
CREATE VIEW sessions_q AS
  SELECT min(at) AS window_start, max(at) + interval '4 seconds' AS window_end, k, count(*) AS n, sum(a) AS sum
  FROM (SELECT a, at, a % 2 AS k, count(*) FILTER (WHERE first) OVER (PARTITION BY a % 2 ORDER BY at, a) AS no
        FROM (SELECT *, at - lag(at) OVER (PARTITION BY a % 2 ORDER BY at, a) > interval '4 seconds' AS first FROM twin) t) t
  GROUP BY k, no;
CREATE VIEW rows_q AS SELECT a, window_start, at FROM twin, tumble(at, interval '10 seconds');
CREATE FUNCTION differences(view text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE n bigint;
BEGIN
  EXECUTE format('SELECT count(*) FROM ((TABLE %1$I EXCEPT ALL TABLE %1$I_q) UNION ALL (TABLE %1$I_q EXCEPT ALL TABLE %1$I)) d',
                 view) INTO n;
  RETURN n;
END $$;
SELECT v, differences(v) FROM unnest('{tumbled,hopped,cumulated,sessions,rows}'::text[]) v;
SELECT count(*) FROM (SELECT a, proctime() FROM s EXCEPT ALL SELECT a, at FROM rows) d;
SELECT view, late_rows, late_pairs FROM stream_engine.jobs WHERE late_rows + late_pairs > 0;

-- The time may come from a plain view, be filtered by and be shown; its results may change before the clock makes them final.
CREATE VIEW arrived AS SELECT a, proctime() AS at FROM s WHERE a > 1;
CREATE MATERIALIZED VIEW by_view WITH (stream_engine.continuous) AS
  SELECT window_end, count(*) AS n, max(at) AS last FROM arrived, tumble(at, interval '1 minute') WHERE at > '2024-05-01 12:02:10' GROUP BY 1;
CREATE MATERIALIZED VIEW open WITH (stream_engine.continuous, stream_engine.emit = 'on_update') AS
  SELECT window_end, count(*) AS n FROM s, hop(proctime(), interval '30 seconds', interval '1 minute') GROUP BY 1;
SELECT put(1, '2024-05-01 12:02:05');
SELECT put(2, '2024-05-01 12:02:08');
SELECT put(3, '2024-05-01 12:02:20');
REFRESH MATERIALIZED VIEW open;
SELECT window_end, n, stream_engine.is_final('open', window_end) FROM open ORDER BY 1;
SELECT stream_engine.test_tick('2024-05-01 12:02:30');
REFRESH MATERIALIZED VIEW open;
SELECT window_end, n, stream_engine.is_final('open', window_end) FROM open ORDER BY 1;
SELECT put(4, '2024-05-01 12:02:40');
SELECT stream_engine.test_tick('2024-05-01 12:03:30');
REFRESH MATERIALIZED VIEW open;
REFRESH MATERIALIZED VIEW by_view;
SELECT window_end, n, stream_engine.is_final('open', window_end) FROM open ORDER BY 1;
TABLE by_view;

-- A stream without event time will do, also with a watermark in the hands of its writers; that is not these windows'.
CREATE FOREIGN TABLE plain (a int) SERVER stream_engine;
CREATE MATERIALIZED VIEW minutes WITH (stream_engine.continuous) AS
  SELECT window_start, count(*) AS n FROM plain, tumble(proctime(), interval '1 minute', timezone => 'UTC') GROUP BY window_start, window_end;
INSERT INTO plain VALUES (1), (2);
SELECT stream_engine.emit_watermark('plain', 'infinity');
INSERT INTO plain VALUES (3);
REFRESH MATERIALIZED VIEW minutes;
SELECT * FROM minutes;
SELECT stream_engine.test_tick('2024-05-01 12:05');
REFRESH MATERIALIZED VIEW minutes;
SELECT * FROM minutes;

-- What a worker that begins anew makes of ticks before and behind its position is the same.
INSERT INTO plain VALUES (4);
SELECT stream_engine.stop('minutes');
SELECT stream_engine.test_tick('2024-05-01 12:05:30');
INSERT INTO plain VALUES (5);
SELECT stream_engine.test_tick('2024-05-01 12:06:30');
INSERT INTO plain VALUES (6);
SELECT stream_engine.start('minutes');
REFRESH MATERIALIZED VIEW minutes;
SELECT * FROM minutes ORDER BY 1;
SELECT stream_engine.test_clock_set(NULL);

-- No row is late, so options about late ones have nothing to do.
CREATE MATERIALIZED VIEW w WITH (stream_engine.continuous, stream_engine.allowed_lateness = '1 minute') AS
  SELECT window_end, count(*) AS n FROM plain, tumble(proctime(), interval '1 minute') GROUP BY window_end;
CREATE MATERIALIZED VIEW w WITH (stream_engine.continuous, stream_engine.late_output = 'late_plain') AS
  SELECT window_end, count(*) AS n FROM plain, tumble(proctime(), interval '1 minute') GROUP BY window_end;
