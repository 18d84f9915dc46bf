-- An event time with DEFAULT now() is ingestion time: when the row's transaction began. The clock closes its windows.
CREATE FOREIGN TABLE hit (path text, at timestamptz OPTIONS (event_time 'true') DEFAULT now())
  SERVER stream_engine OPTIONS (watermark 'at - interval ''5 seconds''', max_delay '10 seconds');
CREATE TABLE twin (path text, at timestamptz DEFAULT now());
CREATE MATERIALIZED VIEW per_second WITH (stream_engine.continuous) AS
  SELECT window_start, path, count(*) AS n FROM hit, tumble(at, interval '1 second') GROUP BY 1, 2;
BEGIN;
INSERT INTO hit (path) VALUES ('/'), ('/a'), ('/');
INSERT INTO twin (path) VALUES ('/'), ('/a'), ('/');
COMMIT;
BEGIN;
INSERT INTO hit SELECT '/b' FROM generate_series(1, 3);
INSERT INTO hit VALUES ('/c', DEFAULT);
INSERT INTO twin SELECT '/b' FROM generate_series(1, 3);
INSERT INTO twin VALUES ('/c', DEFAULT);
COMMIT;
-- A row whose transaction began long ago is late.
INSERT INTO hit VALUES ('/late', now() - interval '1 hour');
REFRESH MATERIALIZED VIEW per_second;
SELECT stream_engine.test_tick(clock_timestamp() + interval '1 minute');
REFRESH MATERIALIZED VIEW per_second;
CREATE VIEW query AS SELECT window_start, path, count(*) AS n FROM twin, tumble(at, interval '1 second') GROUP BY 1, 2;
SELECT path, n FROM per_second ORDER BY 1;
SELECT count(*) AS differences FROM ((TABLE per_second EXCEPT ALL TABLE query) UNION ALL (TABLE query EXCEPT ALL TABLE per_second)) d;
SELECT late_rows FROM stream_engine.jobs;
SELECT stream_engine.test_clock_set(NULL);
