-- The inner aggregate of Nexmark q7: the highest price per 10 seconds.
CREATE MATERIALIZED VIEW nexmark_q7_inner WITH (stream_engine.continuous) AS
SELECT max(price) AS maxprice, window_end
FROM bid, tumble(date_time, '10 seconds')
GROUP BY window_start, window_end;
