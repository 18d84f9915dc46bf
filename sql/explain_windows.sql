-- Plans of windowed views: sliced where a row belongs to its slice of time only, expanded where not.
CREATE FOREIGN TABLE bid (auction bigint, bidder bigint, price bigint, channel text, url text,
    date_time timestamptz OPTIONS (event_time 'true'), extra text)
    SERVER stream_engine OPTIONS (watermark 'date_time - interval ''4 seconds''');
\pset format unaligned
\pset tuples_only on

SELECT stream_engine.explain('SELECT window_start, window_end, auction, count(*) AS bids, max(price) AS top FROM bid, tumble(date_time, interval ''10 seconds'') GROUP BY window_start, window_end, auction');
-- by one end of the window only, window_time, no keys, ordinals
SELECT stream_engine.explain('SELECT window_start, count(*) FROM bid, tumble(date_time, ''1 hour'', ''15 minutes'') GROUP BY window_start');
SELECT stream_engine.explain('SELECT window_end, count(*) FROM bid, hop(date_time, ''2 s'', ''10 s'') GROUP BY 1');
SELECT stream_engine.explain('SELECT window_time, sum(price) FROM bid, cumulate(date_time, ''1 hour'', ''1 day'') GROUP BY window_time');
-- the keys need not be selected
SELECT stream_engine.explain('SELECT count(*) FROM bid, tumble(date_time, ''1 s'') GROUP BY window_end, auction');
-- DISTINCT windows, no aggregate
SELECT stream_engine.explain('SELECT DISTINCT window_start, auction FROM bid, tumble(date_time, ''1 s'')');
-- conditions on rows below, on windows and on groups above
SELECT stream_engine.explain('SELECT window_start, window_end, count(*) FROM bid, hop(date_time, ''5 s'', ''1 minute'') WHERE price > 10 AND window_start >= ''2020-01-01'' GROUP BY window_start, window_end HAVING count(*) > 1 AND extract(hour FROM window_start) < 8');
-- a key that the window decides is no key
SELECT stream_engine.explain('SELECT window_start, date_trunc(''day'', window_end, ''UTC'') AS day, count(*) FROM bid, hop(date_time, ''5 s'', ''1 minute'') GROUP BY window_start, date_trunc(''day'', window_end, ''UTC'')');
-- rows that look at their window: expanded
SELECT stream_engine.explain('SELECT window_end, max(window_end - date_time) AS age FROM bid, tumble(date_time, ''1 s'') GROUP BY window_end');
SELECT stream_engine.explain('SELECT window_end, count(*) FROM bid, hop(date_time, ''5 s'', ''10 s'') WHERE date_time < window_start + interval ''1 s'' GROUP BY window_end');
-- not mergeable: sliced for tumble, expanded for hop and cumulate
SELECT stream_engine.explain('SELECT window_end, count(DISTINCT bidder) FROM bid, tumble(date_time, ''10 s'') GROUP BY window_end');
SELECT stream_engine.explain('SELECT window_end, count(DISTINCT bidder) FROM bid, hop(date_time, ''5 s'', ''10 s'') GROUP BY window_end');
SELECT stream_engine.explain('SELECT window_end, array_agg(price) FROM bid, cumulate(date_time, ''5 s'', ''10 s'') GROUP BY window_end');
-- timestamp without time zone
CREATE FOREIGN TABLE wall (ts timestamp OPTIONS (event_time 'true'), v int) SERVER stream_engine OPTIONS (watermark 'ts');
SELECT stream_engine.explain('SELECT window_start, window_end, sum(v) FROM wall, tumble(ts, ''1 day'') GROUP BY 1, 2');
-- no watermark: a NOTICE, but it works
CREATE FOREIGN TABLE silent (ts timestamptz OPTIONS (event_time 'true'), v int) SERVER stream_engine;
SELECT stream_engine.explain('SELECT window_start, sum(v) FROM silent, tumble(ts, ''1 day'') GROUP BY 1');
SELECT stream_engine.explain('SELECT v, count(*) FROM silent GROUP BY 1');
