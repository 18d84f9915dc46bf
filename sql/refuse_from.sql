-- What FROM of a continuous view may not be, and what the refusals say.
CREATE FOREIGN TABLE bid (auction bigint, price bigint, tags text[], doc text,
    date_time timestamptz OPTIONS (event_time 'true'), seen timestamptz)
    SERVER stream_engine OPTIONS (watermark 'date_time');
CREATE FOREIGN TABLE ask (auction bigint, date_time timestamptz OPTIONS (event_time 'true')) SERVER stream_engine;
CREATE FOREIGN TABLE parent (auction bigint) SERVER stream_engine;
CREATE FOREIGN TABLE child () INHERITS (parent) SERVER stream_engine;
CREATE FOREIGN DATA WRAPPER foreigner;
CREATE SERVER elsewhere FOREIGN DATA WRAPPER foreigner;
CREATE FOREIGN TABLE distant (v int) SERVER elsewhere;
CREATE TABLE side (key bigint, value text);
CREATE TABLE parts (key bigint) PARTITION BY LIST (key);
CREATE MATERIALIZED VIEW old AS SELECT 1 AS v;
CREATE MATERIALIZED VIEW cont WITH (stream_engine.continuous) AS SELECT auction FROM bid WITH NO DATA;

-- no stream
SELECT stream_engine.explain('SELECT 1 AS one');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT * FROM (VALUES (1), (2)) AS v (x)');
\echo :SQLSTATE
SELECT stream_engine.explain('VALUES (1), (2)');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT window_start FROM tumble(timestamptz ''2020-01-01'', ''1 s'')');
\echo :SQLSTATE
-- something else that is not a stream
SELECT stream_engine.explain('SELECT * FROM side');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT * FROM parts');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT * FROM old');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT * FROM cont');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT * FROM distant');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT relname FROM pg_class');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT * FROM (SELECT auction FROM bid) AS s');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT * FROM generate_series(1, 3) AS g (x)');
\echo :SQLSTATE
-- more than one
SELECT stream_engine.explain('SELECT b.price FROM bid b, ask a WHERE a.auction = b.auction');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT b.price FROM bid b JOIN ask a USING (auction)');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT b.price FROM bid b LEFT JOIN ask a ON a.auction = b.auction');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT a.price FROM bid a, bid b WHERE a.auction = b.auction');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT b.price, s.value FROM bid b JOIN side s ON s.key = b.auction');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT b.price, s.value FROM side s NATURAL JOIN bid b');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT price, x FROM bid, (VALUES (1), (2)) AS v (x)');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT price, m FROM bid, LATERAL (SELECT max(value) AS m FROM side WHERE key = auction) s');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT auction FROM parent');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT auction FROM ONLY parent');
-- functions that make rows
SELECT stream_engine.explain('SELECT auction, name FROM bid, stream_engine.settings()');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT auction, tag FROM bid, unnest(tags) AS tag');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT auction, x FROM bid, ROWS FROM (generate_series(1, 2), generate_series(1, 3)) AS g (x, y)');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT auction, x.id FROM bid, XMLTABLE(''/a'' PASSING (doc::xml) COLUMNS id int) AS x');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT auction, n FROM bid, tumble(date_time, ''1 s'') WITH ORDINALITY AS w (s, e, t, n)');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT auction FROM bid, tumble(date_time, ''1 s'') AS a, hop(date_time, ''1 s'', ''2 s'') AS b');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT auction, window_end FROM bid LEFT JOIN LATERAL hop(date_time, ''2 s'', ''1 s'') ON true');
\echo :SQLSTATE
-- a stream that is not complete yet
CREATE FOREIGN TABLE incomplete (a int, t timestamptz) SERVER stream_engine OPTIONS (watermark 't');
SELECT stream_engine.explain('SELECT a FROM incomplete');
\echo :SQLSTATE
CREATE MATERIALIZED VIEW too_soon WITH (stream_engine.continuous) AS SELECT a FROM incomplete;
\echo :SQLSTATE
