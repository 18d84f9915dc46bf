-- The page docs/continuous-views.md does what it says.
CREATE FOREIGN TABLE bid (
    auction   bigint NOT NULL,
    price     bigint CHECK (price > 0),
    channel   text DEFAULT 'web',
    date_time timestamptz OPTIONS (event_time 'true')
) SERVER stream_engine OPTIONS (watermark 'date_time - interval ''4 seconds''');

CREATE MATERIALIZED VIEW price_per_minute WITH (stream_engine.continuous) AS
  SELECT window_start, window_end, auction, count(*) AS bids, max(price) AS top
  FROM bid, tumble(date_time, interval '1 minute')
  GROUP BY window_start, window_end, auction;
CREATE MATERIALIZED VIEW last_hundred WITH (stream_engine.continuous) AS
  SELECT auction, window_id, count(*) AS bids, avg(price) AS mean, max(price) AS top
  FROM bid, count_window(100, 10)
  GROUP BY auction, window_id;
CREATE VIEW expensive AS SELECT auction, price * 100 AS cents, date_time FROM bid WHERE price > 1000;
CREATE MATERIALIZED VIEW expensive_per_auction WITH (stream_engine.continuous) AS
  SELECT auction, count(*) FROM expensive GROUP BY auction;
CREATE FOREIGN TABLE visit (page text) SERVER stream_engine;
CREATE MATERIALIZED VIEW visits_per_minute WITH (stream_engine.continuous) AS
  SELECT window_start, page, count(*) AS visits
  FROM visit, tumble(proctime(), interval '1 minute') GROUP BY window_start, window_end, page;
CREATE MATERIALIZED VIEW price_per_hour WITH (stream_engine.continuous,
    stream_engine.emit = 'early 1 minute, every 1000 rows', stream_engine.allowed_lateness = '10 minutes') AS
  SELECT window_start, window_end, auction, count(*) AS bids, max(price) AS top
  FROM bid, tumble(date_time, interval '1 hour')
  GROUP BY window_start, window_end, auction;
CREATE MATERIALIZED VIEW bids_per_minute WITH (stream_engine.continuous, stream_engine.late_output = 'public.late_bids') AS
  SELECT window_start, window_end, auction, count(*) AS bids
  FROM bid, tumble(date_time, interval '1 minute') GROUP BY window_start, window_end, auction;

INSERT INTO bid SELECT 1, i, 'web', '2024-01-01 12:00' FROM generate_series(1, 110) i;
INSERT INTO bid VALUES (2, 1100, 'web', '2024-01-01 12:01:30'), (3, 5, 'app', '2024-01-01 12:00:10');
REFRESH MATERIALIZED VIEW price_per_minute;   -- returns when all that is committed is in it
SELECT * FROM price_per_minute;               -- an ordinary table
REFRESH MATERIALIZED VIEW last_hundred;
SELECT * FROM last_hundred ORDER BY window_id;
SET enable_hashagg = off;
CREATE TABLE rows AS SELECT auction AS k, price AS x, price AS arrival, 100 AS size, 10 AS slide FROM bid WHERE auction = 1;
SELECT k, window_id, count(*), sum(x)                      -- count_window(size, slide)
FROM (SELECT *, row_number() OVER (PARTITION BY k ORDER BY arrival) AS n, count(*) OVER (PARTITION BY k) AS total FROM rows) r,
     generate_series(0, (total - 1) / slide) AS window_id
WHERE n > window_id * slide AND n <= window_id * slide + size AND total >= window_id * slide + size
GROUP BY k, window_id;
REFRESH MATERIALIZED VIEW expensive_per_auction;
SELECT * FROM expensive_per_auction;
REFRESH MATERIALIZED VIEW bids_per_minute;
SELECT auction, price, date_time, late_watermark FROM late_bids WHERE late_view = 'public.bids_per_minute';

-- When results come: early ones, then the last, which a late row changes once more, and then none.
REFRESH MATERIALIZED VIEW price_per_hour;
SELECT * FROM price_per_hour WHERE stream_engine.is_final('price_per_hour', window_end);
SELECT *, stream_engine.is_final('price_per_hour', window_end) FROM price_per_hour ORDER BY auction;
INSERT INTO bid VALUES (4, 7, 'web', '2024-01-01 13:05');
INSERT INTO bid VALUES (2, 1200, 'web', '2024-01-01 12:59');
REFRESH MATERIALIZED VIEW price_per_hour;
SELECT *, stream_engine.is_final('price_per_hour', window_end) FROM price_per_hour ORDER BY window_end, auction;
INSERT INTO bid VALUES (4, 8, 'web', '2024-01-01 13:10:04');
INSERT INTO bid VALUES (2, 1300, 'web', '2024-01-01 12:59');
REFRESH MATERIALIZED VIEW price_per_hour;
SELECT * FROM price_per_hour WHERE stream_engine.is_final('price_per_hour', window_end) ORDER BY auction;

-- Groups that are forgotten, and old rows.
CREATE FOREIGN TABLE order_event (order_id bigint, what text, ts timestamptz OPTIONS (event_time 'true'))
  SERVER stream_engine OPTIONS (watermark 'ts - interval ''1 minute''');
CREATE MATERIALIZED VIEW orders WITH (stream_engine.continuous, stream_engine.state_ttl = '1 day on ts', stream_engine.ttl_delete) AS
  SELECT order_id, count(*) AS events, max(ts) AS last FROM order_event GROUP BY order_id;
CREATE MATERIALIZED VIEW per_minute WITH (stream_engine.continuous, stream_engine.retention = '7 days') AS
  SELECT window_end, count(*) AS n FROM order_event, tumble(ts, interval '1 minute') GROUP BY window_end;
INSERT INTO order_event VALUES (1, 'made', '2024-01-01 12:00'), (1, 'paid', '2024-01-01 12:01'), (2, 'made', '2024-01-01 18:00'),
  (3, 'made', '2024-01-02 12:30');
REFRESH MATERIALIZED VIEW orders;
SELECT * FROM orders ORDER BY order_id;
INSERT INTO order_event VALUES (4, 'made', '2024-01-08 12:02');
REFRESH MATERIALIZED VIEW per_minute;
SELECT stream_engine.test_until($$SELECT rows_retired > 0 FROM stream_engine.jobs WHERE view = 'per_minute'::regclass$$);
SELECT rows_retired FROM stream_engine.jobs WHERE view = 'per_minute'::regclass;
SELECT min(window_end) + interval '7 days' > watermark AS caught_up
FROM per_minute, stream_engine.jobs WHERE view = 'per_minute'::regclass GROUP BY watermark;
SELECT * FROM per_minute ORDER BY 1;

-- Windows in a time zone.
\pset format unaligned
\pset tuples_only on
SELECT stream_engine.explain('SELECT window_end, count(*) ' || piece || ' GROUP BY window_end') FROM unnest(ARRAY[
  $$FROM bid, tumble(date_time, interval '1 day', timezone => 'Europe/Berlin')$$,
  $$FROM bid, tumble(date_time, interval '7 days', timezone => 'Europe/Berlin')$$,
  $$FROM bid, tumble(date_time, interval '3 months', timezone => 'Europe/Berlin')$$,
  $$FROM bid, tumble(date_time, interval '1 year', '3 months 5 days', timezone => 'Europe/London')$$,
  $$FROM bid, hop(date_time, interval '1 month', interval '12 months', timezone => 'Asia/Kolkata')$$,
  $$FROM bid, cumulate(date_time, interval '1 day', interval '1 month', timezone => 'Asia/Tokyo')$$]) AS piece;
\pset tuples_only off
\pset format aligned

-- Stopping and starting; rows that raise errors.
SELECT stream_engine.stop('price_per_minute');
SELECT stream_engine.wait_state('price_per_minute', 'stopped');
SELECT stream_engine.start('price_per_minute');
SELECT position, message, "row" FROM stream_engine.errors WHERE view = 'price_per_minute'::regclass ORDER BY seq DESC LIMIT 1;
SELECT stream_engine.stop('price_per_minute');      -- the failed view of the page does not run
SELECT stream_engine.wait_state('price_per_minute', 'stopped');
SELECT stream_engine.start('price_per_minute', skip => '0/1A2B3C4 +12');      -- that position
ALTER MATERIALIZED VIEW price_per_minute SET (stream_engine.on_error = dead_letter);
SELECT sqlstate, message, "row" FROM stream_engine.dead_letters WHERE view = 'price_per_minute'::regclass;
INSERT INTO bid SELECT (jsonb_populate_record(NULL::bid, "row" || '{"price": 1}')).* FROM stream_engine.dead_letters WHERE view = 'price_per_minute'::regclass;
SELECT stream_engine.delete_dead_letters('price_per_minute');
SET client_min_messages = warning;
DROP FOREIGN TABLE bid, visit, order_event CASCADE;
