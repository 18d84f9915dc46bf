-- The other side of Nexmark q8: who opened an auction in each 10 seconds.
CREATE MATERIALIZED VIEW nexmark_q8_auction WITH (stream_engine.continuous) AS
SELECT seller, window_start, window_end
FROM auction, tumble(date_time, '10 seconds')
GROUP BY seller, window_start, window_end;
