-- What a plain view may not be that a continuous view reads, and what the refusals say.
CREATE FOREIGN TABLE bid (auction bigint, price bigint, tags text[], c text COLLATE "C", p text COLLATE "POSIX",
    date_time timestamptz OPTIONS (event_time 'true'))
    SERVER stream_engine OPTIONS (watermark 'date_time');
CREATE FOREIGN TABLE ask (auction bigint) SERVER stream_engine;
CREATE TABLE side (key bigint, value text);
CREATE FUNCTION own_volatile(bigint) RETURNS bigint LANGUAGE sql VOLATILE AS 'SELECT $1';
CREATE VIEW cheap AS SELECT auction, price, date_time, c, p FROM bid WHERE price < 10;

-- what it does with the rows
CREATE VIEW grouped AS SELECT auction, count(*) FROM bid GROUP BY auction;
CREATE VIEW counted AS SELECT count(*) FROM cheap;
CREATE VIEW distinct_ones AS SELECT DISTINCT auction FROM bid;
CREATE VIEW over_sets AS SELECT auction, count(*) FROM bid GROUP BY ROLLUP (auction);
CREATE VIEW limited AS SELECT auction FROM bid LIMIT 3;
CREATE VIEW ordered AS SELECT auction FROM bid ORDER BY 1;
CREATE VIEW ranked AS SELECT auction, rank() OVER (ORDER BY price) FROM bid;
CREATE VIEW both_prices AS SELECT auction FROM bid UNION ALL SELECT price FROM bid;
CREATE VIEW with_with AS WITH b AS (SELECT * FROM bid) SELECT auction FROM b;
CREATE VIEW expanded AS SELECT unnest(tags) AS tag FROM bid;
CREATE VIEW exists_view AS SELECT auction FROM bid WHERE EXISTS (SELECT FROM side WHERE key = auction);
CREATE VIEW drawn AS SELECT auction FROM bid WHERE random() < 0.1;
CREATE VIEW recent AS SELECT auction FROM bid WHERE date_time > now();
CREATE VIEW volatile_column AS SELECT own_volatile(price) AS v, auction FROM bid;
CREATE VIEW whose AS SELECT session_user AS who, auction FROM bid;
CREATE VIEW system_column AS SELECT tableoid FROM bid;
SELECT stream_engine.explain('SELECT auction FROM grouped');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT count FROM counted');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT auction FROM distinct_ones');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT auction FROM over_sets');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT auction FROM limited');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT auction FROM ordered');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT auction FROM ranked');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT auction FROM both_prices');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT auction FROM with_with');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT tag FROM expanded');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT auction FROM exists_view');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT auction FROM drawn');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT auction FROM recent');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT v, v + 1 AS more FROM volatile_column');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT volatile_column, v FROM volatile_column');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT auction FROM volatile_column WHERE v > 1');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT sum(v) FROM volatile_column');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT who FROM whose');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT tableoid FROM system_column');
\echo :SQLSTATE

-- what it reads
CREATE VIEW of_nothing AS SELECT 1 AS one;
CREATE VIEW of_table AS SELECT key FROM side;
CREATE VIEW of_both AS SELECT value, price FROM bid JOIN side ON key = auction;
CREATE VIEW of_streams AS SELECT b.auction FROM bid b, ask a;
CREATE VIEW of_subquery AS SELECT auction FROM (SELECT auction FROM bid) AS s;
CREATE VIEW of_series AS SELECT auction, n FROM bid, generate_series(1, 3) AS n;
CREATE VIEW windowed AS SELECT window_end, auction, date_time FROM bid, tumble(date_time, '1 s');
CREATE VIEW wrong_window AS SELECT window_end FROM bid, tumble(date_time + interval '1 s', '1 s');
SELECT stream_engine.explain('SELECT one FROM of_nothing');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT key FROM of_table');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT price FROM of_both');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT auction FROM of_streams');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT auction FROM of_subquery');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT auction FROM of_series');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT window_end FROM wrong_window');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT w.auction FROM windowed w, hop(date_time, ''1 s'', ''2 s'') h');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT x.price FROM cheap x, cheap y');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT x.price FROM bid b, cheap x');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT value FROM cheap JOIN side ON key = auction');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT price FROM cheap TABLESAMPLE system (10)');
\echo :SQLSTATE

-- what is read of it
SELECT stream_engine.explain('SELECT count(*) FROM cheap GROUP BY auction');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT c || p AS both FROM cheap');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT ROW(auction, price) AS r FROM cheap');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT auction FROM cheap FOR UPDATE');
\echo :SQLSTATE

-- by CREATE, too; nested views are named from the inside out
CREATE VIEW around AS SELECT auction AS a FROM grouped;
CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous) AS
    SELECT a
      FROM around;
\echo :SQLSTATE
