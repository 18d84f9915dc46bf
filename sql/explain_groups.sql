-- Plans of grouped views without windows: one row per group, kept up to date.
CREATE FOREIGN TABLE bid (auction bigint, bidder bigint, price bigint, channel text, url text,
    date_time timestamptz OPTIONS (event_time 'true'), extra text)
    SERVER stream_engine OPTIONS (watermark 'date_time - interval ''4 seconds''');
\pset format unaligned
\pset tuples_only on

-- one row
SELECT stream_engine.explain('SELECT count(*) FROM bid');
SELECT stream_engine.explain('SELECT count(1), sum(price) / count(*) AS mean FROM bid HAVING count(*) > 10');
-- keys: column, expression, ordinal, alias
SELECT stream_engine.explain('SELECT auction, count(*), max(price) AS top FROM bid GROUP BY auction');
SELECT stream_engine.explain('SELECT count(*) AS n, to_char(date_time, ''YYYY-MM-DD'') AS day FROM bid GROUP BY 2');
SELECT stream_engine.explain('SELECT channel, auction % 10 AS shard, auction % 10 + 1 AS next, min(extra) FROM bid GROUP BY channel, shard');
-- filters, equal calls, HAVING over a call that is not selected
SELECT stream_engine.explain('SELECT auction, count(*) FILTER (WHERE price < 10000) AS low, count(*) FILTER (WHERE price < 10000) * 2 AS twice, sum(price) FROM bid WHERE bidder > 0 GROUP BY auction HAVING avg(price) > 3');
-- DISTINCT without aggregates; HAVING without groups; GROUP BY without aggregates
SELECT stream_engine.explain('SELECT DISTINCT channel, price > 10 AS dear FROM bid');
SELECT stream_engine.explain('SELECT 1 AS one FROM bid HAVING true');
SELECT stream_engine.explain('SELECT channel FROM bid GROUP BY channel');
-- a window function whose windows nobody groups by
SELECT stream_engine.explain('SELECT auction, count(*) FROM bid, tumble(date_time, ''1 minute'') GROUP BY auction');
SELECT stream_engine.explain('SELECT auction, count(*) FROM bid, hop(date_time, ''10 s'', ''1 minute'') GROUP BY auction');
SELECT stream_engine.explain('SELECT date_trunc(''day'', window_start, ''UTC'') AS day, count(*) FROM bid, tumble(date_time, ''1 minute'') GROUP BY 1');
SELECT stream_engine.explain('SELECT count(DISTINCT window_start) FROM bid, tumble(date_time, ''1 minute'')');
