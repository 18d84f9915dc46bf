-- The page README.md does what it says.

CREATE FOREIGN TABLE bid (auction bigint, price bigint, channel text,
                          date_time timestamptz OPTIONS (event_time 'true'))
  SERVER stream_engine OPTIONS (watermark 'date_time - interval ''4 seconds''');

CREATE MATERIALIZED VIEW price_per_window WITH (stream_engine.continuous) AS
  SELECT window_start, auction, count(*) AS bids, max(price) AS top
  FROM bid, tumble(date_time, interval '10 seconds')
  GROUP BY window_start, window_end, auction;

INSERT INTO bid VALUES (1, 100, 'web', '2024-01-01 12:00:01'), (1, 130, 'app', '2024-01-01 12:00:07'),
                       (2, 900, 'web', '2024-01-01 12:00:09'), (1, 120, 'web', '2024-01-01 12:00:21');
REFRESH MATERIALIZED VIEW price_per_window;   -- returns when all that was committed before is in the result
SELECT * FROM price_per_window ORDER BY auction;
