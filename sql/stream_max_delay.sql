-- Option max_delay: the watermark is never further behind the clock than that, as tick marks have it.
SELECT stream_engine.test_clock_set('2024-05-01 12:00');
CREATE FOREIGN TABLE s (a int, ts timestamptz OPTIONS (event_time 'true'))
  SERVER stream_engine OPTIONS (watermark 'ts - interval ''1 minute''', max_delay '20 seconds');
CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous) AS
  SELECT window_start, count(*) AS n, sum(a) AS sum FROM s, tumble(ts, interval '10 seconds') GROUP BY window_start, window_end;
CREATE VIEW stands AS SELECT watermark, late_rows, idle FROM stream_engine.sources WHERE view = 'v'::regclass;

INSERT INTO s VALUES (1, '2024-05-01 12:00:01'), (2, '2024-05-01 12:00:11'), (3, '2024-05-01 12:00:21');
SELECT stream_engine.test_tick('2024-05-01 12:00:20');
REFRESH MATERIALIZED VIEW v;
TABLE v;
TABLE stands;
-- The first window closes exactly when the clock is 20 s behind its end.
SELECT stream_engine.test_tick('2024-05-01 12:00:29.999999');
REFRESH MATERIALIZED VIEW v;
TABLE v;
SELECT stream_engine.test_tick('2024-05-01 12:00:30');
REFRESH MATERIALIZED VIEW v;
TABLE v;
-- A row behind it is late and counted; rows themselves can do better than the clock.
INSERT INTO s VALUES (4, '2024-05-01 12:00:09'), (5, '2024-05-01 12:00:12'), (6, '2024-05-01 12:02');
REFRESH MATERIALIZED VIEW v;
SELECT * FROM v ORDER BY 1;
TABLE stands;
-- The clock is behind that, and goes back: nothing happens.
SELECT stream_engine.test_tick('2024-05-01 12:01');
SELECT stream_engine.test_tick('2024-05-01 11:00');
REFRESH MATERIALIZED VIEW v;
TABLE stands;
SELECT stream_engine.test_tick('2024-05-01 12:02:30');
REFRESH MATERIALIZED VIEW v;
SELECT * FROM v ORDER BY 1;
TABLE stands;

-- The log says it: a source that begins anew at any place comes to the same stamps.
CREATE FOREIGN TABLE p (a int, ts timestamptz OPTIONS (event_time 'true'))
  SERVER stream_engine OPTIONS (watermark 'ts', max_delay '10 seconds');
SELECT stream_engine.test_tick('2024-05-01 12:10');
SELECT stream_engine.test_start_mark('p') AS start \gset
INSERT INTO p VALUES (1, '2024-05-01 12:09:45');
SELECT stream_engine.test_tick('2024-05-01 12:10:01');
INSERT INTO p VALUES (2, '2024-05-01 12:09:50'), (3, '2024-05-01 12:10:00');
SELECT stream_engine.test_tick('2024-05-01 12:10:02');
SELECT stream_engine.test_tick('2024-05-01 12:10:12');
SELECT event_time, wm, "row" FROM stream_engine.test_source('p', :'start', 100);
SELECT event_time, wm, "row" FROM stream_engine.test_source('p', :'start', 1, true);

-- An event time without time zone meets the clock in the stream's.
CREATE FOREIGN TABLE z (a int, ts timestamp OPTIONS (event_time 'true'))
  SERVER stream_engine OPTIONS (max_delay '1 hour', timezone 'Europe/Berlin');
CREATE MATERIALIZED VIEW zv WITH (stream_engine.continuous) AS
  SELECT window_start, count(*) AS n FROM z, tumble(ts, interval '1 hour') GROUP BY window_start, window_end;
INSERT INTO z VALUES (1, '2024-05-01 13:30');
SELECT stream_engine.test_tick('2024-05-01 12:59:59');
REFRESH MATERIALIZED VIEW zv;
TABLE zv;
SELECT stream_engine.test_tick('2024-05-01 13:00');
REFRESH MATERIALIZED VIEW zv;
TABLE zv;

-- ALTER holds for the ticks that are met after it.
ALTER FOREIGN TABLE z OPTIONS (SET max_delay '30 minutes');
INSERT INTO z VALUES (2, '2024-05-01 14:30');
SELECT stream_engine.test_tick('2024-05-01 13:30');
REFRESH MATERIALIZED VIEW zv;
SELECT * FROM zv ORDER BY 1;
ALTER FOREIGN TABLE z OPTIONS (DROP max_delay);
INSERT INTO z VALUES (3, '2024-05-01 15:30');
SELECT stream_engine.test_tick('2024-05-01 18:00');
REFRESH MATERIALIZED VIEW zv;
SELECT * FROM zv ORDER BY 1;

-- What is no length.
CREATE FOREIGN TABLE w (ts timestamptz OPTIONS (event_time 'true')) SERVER stream_engine OPTIONS (max_delay 'soon');
CREATE FOREIGN TABLE w (ts timestamptz OPTIONS (event_time 'true')) SERVER stream_engine OPTIONS (max_delay '-1 s');
SELECT stream_engine.test_clock_set(NULL);
