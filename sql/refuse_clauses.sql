-- Clauses that a continuous view cannot have, and what the refusals say.
CREATE FOREIGN TABLE bid (auction bigint, price bigint, tags text[],
    date_time timestamptz OPTIONS (event_time 'true'))
    SERVER stream_engine OPTIONS (watermark 'date_time');
CREATE TABLE side (key bigint, value text);

SELECT stream_engine.explain('INSERT INTO side SELECT auction FROM bid');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT auction FROM bid UNION ALL SELECT price FROM bid');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT auction FROM bid INTERSECT SELECT price FROM bid');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT auction FROM bid EXCEPT SELECT price FROM bid');
\echo :SQLSTATE
SELECT stream_engine.explain('WITH b AS (SELECT * FROM bid) SELECT auction FROM b');
\echo :SQLSTATE
SELECT stream_engine.explain('WITH RECURSIVE r (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 3) SELECT auction FROM bid');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT auction FROM bid LIMIT 10');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT auction FROM bid OFFSET 10');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT auction FROM bid ORDER BY price FETCH FIRST 3 ROWS WITH TIES');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT auction FROM bid ORDER BY price DESC');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT DISTINCT ON (auction) auction, price FROM bid');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT DISTINCT count(*) FROM bid GROUP BY auction');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT auction, count(*) FROM bid GROUP BY GROUPING SETS ((auction), ())');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT auction, count(*) FROM bid GROUP BY ROLLUP (auction)');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT auction, price, count(*) FROM bid GROUP BY CUBE (auction, price)');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT auction, GROUPING(auction) FROM bid GROUP BY auction');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT auction FROM bid FOR UPDATE');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT FROM bid');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT auction, rank() OVER (PARTITION BY auction ORDER BY price) FROM bid');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT auction, sum(count(*)) OVER () FROM bid GROUP BY auction');
\echo :SQLSTATE
-- subqueries in expressions
SELECT stream_engine.explain('SELECT auction, (SELECT max(key) FROM side) AS m FROM bid');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT auction FROM bid WHERE EXISTS (SELECT FROM side WHERE key = auction)');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT auction FROM bid WHERE auction IN (SELECT key FROM side)');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT auction FROM bid WHERE auction > ALL (SELECT key FROM side)');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT auction FROM bid WHERE auction = ANY (SELECT key FROM side)');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT ARRAY(SELECT key FROM side) AS a FROM bid');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT auction, count(*) FROM bid GROUP BY auction HAVING count(*) > (SELECT max(key) FROM side)');
\echo :SQLSTATE
-- what explain takes
SELECT stream_engine.explain('side');
\echo :SQLSTATE
SELECT stream_engine.explain('no_such_view');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT 1; SELECT 2');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT auction FROM');
\echo :SQLSTATE
