-- demo/screen.sql: one look at everything, as lines of text.
WITH f AS (
    SELECT coalesce(sum(bids), 0) AS total,
           coalesce(sum(bids) FILTER (WHERE at > clock_timestamp() - interval '2 seconds'), 0) / 2 AS per_second
    FROM fed
), l AS (
    SELECT percentile_disc(ARRAY[0.5, 0.99]) WITHIN GROUP (ORDER BY pg_xact_commit_timestamp(xmin) - committed) AS p
    FROM probe WHERE committed > clock_timestamp() - interval '3 seconds'
), w AS (
    SELECT (SELECT to_jsonb(s) ->> 'watermark' FROM stream_engine.sources s
            WHERE to_jsonb(s)::text LIKE '%price_per_window%' LIMIT 1)::timestamp AS watermark
)
SELECT line FROM (
    SELECT 1 AS o, format('  bids in             %s   (%s a second)', to_char(total, 'FM999,999,999'), to_char(per_second, 'FM999,999,999')) AS line FROM f
    UNION ALL
    SELECT 2, format('  watermark           %s', coalesce(to_char(watermark, 'HH24:MI:SS.MS'), 'not yet')) FROM w
    UNION ALL
    SELECT 3, format('  commit -> result    p50 %s ms, p99 %s ms', coalesce(round(extract(epoch FROM p[1]) * 1000)::text, '-'),
                     coalesce(round(extract(epoch FROM p[2]) * 1000)::text, '-')) FROM l
    UNION ALL
    SELECT 4, ''
    UNION ALL
    SELECT 5, format('  %-21s %10s %12s %12s', 'window', 'bids', 'top price', 'mean price')
    UNION ALL
    SELECT 6 + n, format('  %s - %s   %10s %12s %12s', to_char(window_start, 'HH24:MI:SS'), to_char(window_end, 'HH24:MI:SS'),
                         to_char(bids, 'FM999,999,999'), to_char(top, 'FM999,999,999'), to_char(mean, 'FM999,999,999'))
    FROM (SELECT *, row_number() OVER (ORDER BY window_start) AS n
          FROM (SELECT * FROM price_per_window ORDER BY window_start DESC LIMIT 6) newest) x
    UNION ALL
    SELECT 20, ''
    UNION ALL
    SELECT 21 + n, format('  %-21s %10s', channel, to_char(bids, 'FM999,999,999'))
    FROM (SELECT *, row_number() OVER (ORDER BY bids DESC) AS n FROM bids_per_channel ORDER BY bids DESC LIMIT 4) x
) screen ORDER BY o;
