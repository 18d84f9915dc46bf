-- State fits the graph that the definition view gives, also after renames: a started view goes on counting.
CREATE FOREIGN TABLE bid (auction bigint, gone text, price bigint, date_time timestamptz OPTIONS (event_time 'true'))
    SERVER stream_engine OPTIONS (watermark 'date_time');
ALTER FOREIGN TABLE bid DROP COLUMN gone;
CREATE FUNCTION cents(bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT $1 * 100';
CREATE MATERIALIZED VIEW sums (a, s, n) WITH (stream_engine.continuous) AS
    SELECT auction % 2 AS parity, sum(cents(b.price)) FILTER (WHERE price IN (1, 2, 3)), count(*)
    FROM bid AS b WHERE b IS NOT NULL GROUP BY 1 HAVING count(*) > 0;
SELECT stream_engine.wait_state('sums', 'running', '60 s');
INSERT INTO bid SELECT i, i, '2020-01-01' FROM generate_series(1, 4) i;
REFRESH MATERIALIZED VIEW sums;
TABLE sums ORDER BY a;
SELECT stream_engine.stop('sums');
SELECT stream_engine.wait_state('sums', 'stopped', '60 s');
ALTER FOREIGN TABLE bid RENAME COLUMN price TO amount;
ALTER FOREIGN TABLE bid RENAME TO offer;
ALTER FUNCTION cents(bigint) RENAME TO in_cents;
-- a replaced function is the user's decision: it counts from here on
CREATE OR REPLACE FUNCTION in_cents(bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT $1 * 1000';
INSERT INTO offer SELECT i, i, '2020-01-01' FROM generate_series(1, 4) i;
SELECT stream_engine.start('sums');
SELECT stream_engine.wait_state('sums', 'running', '60 s');
REFRESH MATERIALIZED VIEW sums;
TABLE sums ORDER BY a;
