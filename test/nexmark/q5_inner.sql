-- The inner aggregate of Nexmark q5: bids per auction in hopping windows.
CREATE MATERIALIZED VIEW nexmark_q5_inner WITH (stream_engine.continuous) AS
SELECT auction, count(*) AS num, window_start, window_end
FROM bid, hop(date_time, '2 seconds', '10 seconds')
GROUP BY auction, window_start, window_end;
