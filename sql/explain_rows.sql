-- Plans of views without aggregates: filter, project, expand.
CREATE FOREIGN TABLE bid (auction bigint, bidder bigint, price bigint, channel text, url text,
    date_time timestamptz OPTIONS (event_time 'true'), extra text)
    SERVER stream_engine OPTIONS (watermark 'date_time - interval ''4 seconds''');
\pset format unaligned
\pset tuples_only on

-- all columns: nothing to compute
SELECT stream_engine.explain('SELECT * FROM bid');
-- some columns, in the stream's order and in another one
SELECT stream_engine.explain('SELECT auction, price FROM bid');
SELECT stream_engine.explain('SELECT price, auction, price AS again FROM bid');
-- filter and expressions; constants are folded
SELECT stream_engine.explain('SELECT auction, 0.908 * price AS price, upper(channel) FROM bid b WHERE price % 123 = 0 AND auction < 2 + 3');
-- a filter that is always true, and one that never is
SELECT stream_engine.explain('SELECT auction FROM bid WHERE 1 = 1');
SELECT stream_engine.explain('SELECT auction FROM bid WHERE 1 = 0');
-- columns that only the filter needs
SELECT stream_engine.explain('SELECT 1 AS one FROM bid WHERE channel LIKE ''a%''');
-- column aliases in FROM
SELECT stream_engine.explain('SELECT p FROM bid AS b (a, x, p) WHERE a > 3');
-- processing time, the whole row, functions whose value changes
SELECT stream_engine.explain('SELECT auction, proctime() AS seen FROM bid WHERE proctime() > date_time');
SELECT stream_engine.explain('SELECT to_json(b) AS row FROM bid b');
SELECT stream_engine.explain('SELECT auction, random() AS r, now() AS computed FROM bid');
-- each row once per window
SELECT stream_engine.explain('SELECT auction, window_start, window_end FROM bid, tumble(date_time, interval ''10 seconds'') WHERE price > 5');
SELECT stream_engine.explain('SELECT auction, w.window_end FROM bid CROSS JOIN LATERAL hop(date_time, ''5 seconds'', ''1 minute'') AS w WHERE w.window_start > ''2020-01-01''');
SELECT stream_engine.explain('SELECT auction, s, e FROM bid JOIN LATERAL cumulate(date_time, size => ''1 day'', step => ''6 hours'', shift => ''1 hour'') AS w (s, e) ON price > 7');
SELECT stream_engine.explain('SELECT auction FROM bid, tumble(date_time, ''1 s'')');
SELECT stream_engine.explain('SELECT auction FROM bid, hop(date_time, ''1 s'', ''3 s'')');
-- joined under an alias
SELECT stream_engine.explain('SELECT j.auction, j.window_time FROM (bid CROSS JOIN tumble(date_time, ''1 s'')) AS j');
-- the text of a whole command
SELECT stream_engine.explain('CREATE MATERIALIZED VIEW v (a, b) WITH (stream_engine.continuous) AS SELECT auction, auction + 1 FROM bid');
