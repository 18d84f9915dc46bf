-- A watermark's expression that fails for a row stops the views of the stream at that row; left out,
-- the row asserts nothing either. One that leaves the calendar asserts nothing.
CREATE FOREIGN TABLE s (id int, ts timestamptz OPTIONS (event_time 'true'), x int) SERVER stream_engine
    OPTIONS (watermark 'ts - make_interval(secs => 10 / x)');
CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous) AS
    SELECT window_end, count(*), min(id), max(id) FROM s, tumble(ts, '1 minute') GROUP BY window_end;
INSERT INTO s VALUES (1, '2024-01-01 00:00:10+00', 1), (2, '2024-01-01 00:00:20+00', 1),
    (3, '2024-01-01 00:09:30+00', 0), (4, '2024-01-01 00:00:40+00', 1), (5, '2024-01-01 00:02:00+00', 1);
SELECT stream_engine.wait_state('v', 'failed');
SELECT sqlstate, message, "row", "position" IS NOT NULL AS has_position FROM stream_engine.errors;
SELECT stream_engine.start('v', skip => (SELECT "position" FROM stream_engine.errors));
REFRESH MATERIALIZED VIEW v;
SELECT * FROM v;
SELECT late_rows FROM stream_engine.jobs;
INSERT INTO s VALUES (6, '2024-01-01 00:04:00+00', 1);
REFRESH MATERIALIZED VIEW v;
SELECT * FROM v ORDER BY 1;

CREATE FOREIGN TABLE old (id int, ts timestamptz OPTIONS (event_time 'true')) SERVER stream_engine
    OPTIONS (watermark 'ts - interval ''1 minute''');
CREATE MATERIALIZED VIEW o WITH (stream_engine.continuous) AS SELECT id FROM old;
INSERT INTO old VALUES (1, '4714-11-24 00:00:00+00 BC'), (2, '2024-01-01');
REFRESH MATERIALIZED VIEW o;
SELECT * FROM o ORDER BY id;
SELECT watermark = '2023-12-31 23:59:00+00' AS watermark FROM stream_engine.jobs WHERE view = 'o'::regclass;
