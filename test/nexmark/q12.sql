-- Nexmark q12, processing-time windows: bids of a bidder per 10 s of the clock.
-- Features: processing time, windows that ticks close.  Output: append.
-- Oracle: oracle/q12.sql, by the driven clock that the twin has noted.
CREATE MATERIALIZED VIEW nexmark_q12 WITH (stream_engine.continuous) AS
SELECT bidder, count(*) AS bid_count, window_start AS starttime, window_end AS endtime
FROM bid, tumble(proctime(), '10 seconds')
GROUP BY bidder, window_start, window_end;
