-- Clauses that a continuous view cannot have, and what the refusals say.
CREATE FOREIGN TABLE bid (auction bigint, price bigint, tags text[],
    date_time timestamptz OPTIONS (event_time 'true'))
    SERVER stream_engine OPTIONS (watermark 'date_time');
CREATE TABLE side (key bigint, value text);

SELECT stream_engine.explain('INSERT INTO side SELECT auction FROM bid');
SELECT stream_engine.explain('SELECT auction FROM bid UNION ALL SELECT price FROM bid');
SELECT stream_engine.explain('SELECT auction FROM bid INTERSECT SELECT price FROM bid');
SELECT stream_engine.explain('SELECT auction FROM bid EXCEPT SELECT price FROM bid');
SELECT stream_engine.explain('WITH b AS (SELECT * FROM bid) SELECT auction FROM b');
SELECT stream_engine.explain('WITH RECURSIVE r (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 3) SELECT auction FROM bid');
SELECT stream_engine.explain('SELECT auction FROM bid LIMIT 10');
SELECT stream_engine.explain('SELECT auction FROM bid OFFSET 10');
SELECT stream_engine.explain('SELECT auction FROM bid ORDER BY price FETCH FIRST 3 ROWS WITH TIES');
SELECT stream_engine.explain('SELECT auction FROM bid ORDER BY price DESC');
SELECT stream_engine.explain('SELECT DISTINCT ON (auction) auction, price FROM bid');
SELECT stream_engine.explain('SELECT DISTINCT count(*) FROM bid GROUP BY auction');
SELECT stream_engine.explain('SELECT auction, count(*) FROM bid GROUP BY GROUPING SETS ((auction), ())');
SELECT stream_engine.explain('SELECT auction, count(*) FROM bid GROUP BY ROLLUP (auction)');
SELECT stream_engine.explain('SELECT auction, price, count(*) FROM bid GROUP BY CUBE (auction, price)');
SELECT stream_engine.explain('SELECT auction, GROUPING(auction) FROM bid GROUP BY auction');
SELECT stream_engine.explain('SELECT auction FROM bid FOR UPDATE');
SELECT stream_engine.explain('SELECT FROM bid');
SELECT stream_engine.explain('SELECT auction, rank() OVER (PARTITION BY auction ORDER BY price) FROM bid');
SELECT stream_engine.explain('SELECT auction, sum(count(*)) OVER () FROM bid GROUP BY auction');
-- subqueries in expressions
SELECT stream_engine.explain('SELECT auction, (SELECT max(key) FROM side) AS m FROM bid');
SELECT stream_engine.explain('SELECT auction FROM bid WHERE EXISTS (SELECT FROM side WHERE key = auction)');
SELECT stream_engine.explain('SELECT auction FROM bid WHERE auction IN (SELECT key FROM side)');
SELECT stream_engine.explain('SELECT auction FROM bid WHERE auction > ALL (SELECT key FROM side)');
SELECT stream_engine.explain('SELECT auction FROM bid WHERE auction = ANY (SELECT key FROM side)');
SELECT stream_engine.explain('SELECT ARRAY(SELECT key FROM side) AS a FROM bid');
SELECT stream_engine.explain('SELECT auction, count(*) FROM bid GROUP BY auction HAVING count(*) > (SELECT max(key) FROM side)');
-- what explain takes
SELECT stream_engine.explain('side');
SELECT stream_engine.explain('no_such_view');
SELECT stream_engine.explain('SELECT 1; SELECT 2');
SELECT stream_engine.explain('SELECT auction FROM');
