-- The page docs/getting-started.md does what it says.

CREATE FOREIGN TABLE bid (
    auction   bigint NOT NULL,
    price     bigint CHECK (price > 0),
    channel   text DEFAULT 'web',
    date_time timestamptz OPTIONS (event_time 'true')
) SERVER stream_engine OPTIONS (watermark 'date_time - interval ''4 seconds''');

-- Updated with every commit: one row per channel.
CREATE MATERIALIZED VIEW per_channel WITH (stream_engine.continuous) AS
  SELECT channel, count(*) AS bids, max(price) AS top FROM bid GROUP BY channel;

-- One row per window and auction, written once, when the watermark passes the window's end.
CREATE MATERIALIZED VIEW per_window WITH (stream_engine.continuous) AS
  SELECT window_start, window_end, auction, count(*) AS bids, avg(price) AS mean
  FROM bid, tumble(date_time, interval '10 seconds')
  GROUP BY window_start, window_end, auction;

INSERT INTO bid VALUES (1, 100, 'web', '2024-01-01 12:00:01+00'),
                       (1, 130, 'app', '2024-01-01 12:00:07+00'),
                       (2, 900, 'web', '2024-01-01 12:00:09+00');
REFRESH MATERIALIZED VIEW per_channel;
SELECT * FROM per_channel ORDER BY channel;

INSERT INTO bid VALUES (2, 950, 'web', '2024-01-01 12:00:15+00');
REFRESH MATERIALIZED VIEW per_window;
SELECT window_start, auction, bids, round(mean) AS mean FROM per_window ORDER BY auction;

INSERT INTO bid VALUES (1, 10, 'web', '2024-01-01 12:00:03+00');
REFRESH MATERIALIZED VIEW per_window;
SELECT view, late_rows FROM stream_engine.jobs ORDER BY view;

SELECT stream_engine.emit_watermark('bid', 'infinity');

REFRESH MATERIALIZED VIEW per_window;
SELECT window_start, auction, bids FROM per_window ORDER BY window_start, auction;

CREATE TEMP VIEW jobs AS
SELECT view, state, rows_in, rows_out, watermark FROM stream_engine.jobs;
CREATE TEMP VIEW explained AS
SELECT * FROM stream_engine.explain('per_window');
CREATE TEMP VIEW sources AS
SELECT view, lag_bytes, retained_bytes FROM stream_engine.sources;
CREATE TEMP VIEW errors AS
SELECT * FROM stream_engine.errors;
REFRESH MATERIALIZED VIEW per_channel;
SELECT view, state, rows_in, rows_out > 0 AS rows_out, watermark FROM jobs ORDER BY view::text;
SELECT count(*) > 0 AS explained FROM explained;
SELECT view, lag_bytes >= 0 AS lag, retained_bytes >= lag_bytes AS retained FROM sources ORDER BY view::text;
SELECT * FROM errors;
