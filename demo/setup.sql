-- demo/setup.sql: what tools/demo shows: a stream, three continuous views, and the heap twin that is the judge.
CREATE EXTENSION stream_engine;

CREATE FOREIGN TABLE bid (
    auction bigint, bidder bigint, price bigint, channel text, url text,
    date_time timestamp OPTIONS (event_time 'true'), extra text
) SERVER stream_engine OPTIONS (watermark 'date_time - interval ''1 second''');

CREATE MATERIALIZED VIEW price_per_window WITH (stream_engine.continuous) AS
  SELECT window_start, window_end, count(*) AS bids, max(price) AS top, round(avg(price)) AS mean
  FROM bid, tumble(date_time, interval '2 seconds')
  GROUP BY window_start, window_end;

CREATE MATERIALIZED VIEW bids_per_channel WITH (stream_engine.continuous) AS
  SELECT channel, count(*) AS bids, sum(price) AS volume FROM bid GROUP BY channel;

-- When a bid was committed, for one bid in fifty: beside the time its result row was committed, the latency.
CREATE MATERIALIZED VIEW probe WITH (stream_engine.continuous) AS
  SELECT proctime() AS committed FROM bid WHERE price % 50 = 1;

CREATE TABLE bid_twin (LIKE bid);
-- Which pieces of the input are in: written with them, so that the feeder knows after a crash.
CREATE TABLE fed (piece int PRIMARY KEY, bids int, at timestamptz DEFAULT clock_timestamp());
