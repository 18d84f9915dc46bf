-- The bids of all auctions per hopping window of Nexmark q5, and how many auctions had any: its second aggregate is over groups of this one.
CREATE MATERIALIZED VIEW nexmark_q5_all WITH (stream_engine.continuous) AS
SELECT window_start, window_end, count(*) AS num, count(DISTINCT auction) AS auctions
FROM bid, hop(date_time, '2 seconds', '10 seconds')
GROUP BY window_start, window_end;
