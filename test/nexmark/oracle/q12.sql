-- Batch oracle of q12: windows are aligned to the epoch, and none overlaps another, so each bid of a bidder counts once.
SELECT bidder, count(*) AS bid_count, starttime, starttime + interval '10 seconds' AS endtime
FROM (SELECT bidder, date_bin('10 seconds', proctime, timestamptz '1970-01-01 00:00+00') AS starttime FROM bid) b
GROUP BY bidder, starttime
