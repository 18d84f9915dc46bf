-- demo/verdict.sql: after the end of the input: each view against its query over the heap twin, row for row.
SELECT view || ': ' || rows || ' rows, ' || CASE WHEN different = 0 THEN 'equal to the batch query'
                                                 ELSE different || ' DIFFERENT from the batch query' END
FROM (
    SELECT 'price_per_window' AS view, (SELECT count(*) FROM price_per_window) AS rows, (
        WITH q AS (SELECT s AS window_start, s + interval '2 seconds', count(*), max(price), round(avg(price))
                   FROM bid_twin, date_bin('2 seconds', date_time, timestamp '1970-01-01') s GROUP BY s)
        SELECT count(*) FROM ((SELECT * FROM price_per_window EXCEPT ALL SELECT * FROM q)
                              UNION ALL (SELECT * FROM q EXCEPT ALL SELECT * FROM price_per_window)) d) AS different
    UNION ALL
    SELECT 'bids_per_channel', (SELECT count(*) FROM bids_per_channel), (
        WITH q AS (SELECT channel, count(*), sum(price) FROM bid_twin GROUP BY channel)
        SELECT count(*) FROM ((SELECT * FROM bids_per_channel EXCEPT ALL SELECT * FROM q)
                              UNION ALL (SELECT * FROM q EXCEPT ALL SELECT * FROM bids_per_channel)) d)
    UNION ALL
    SELECT 'probe', (SELECT count(*) FROM probe),
           abs((SELECT count(*) FROM probe) - (SELECT count(*) FROM bid_twin WHERE price % 50 = 1))
) v;
