-- Expressions, keys and columns that a continuous view cannot have, and what the refusals say.
CREATE FOREIGN TABLE bid (auction bigint, price bigint, tags text[], c text COLLATE "C", p text COLLATE "POSIX", bits bit(8), x xid,
    date_time timestamptz OPTIONS (event_time 'true'))
    SERVER stream_engine OPTIONS (watermark 'date_time');
CREATE SEQUENCE counter;
CREATE FUNCTION own_volatile(bigint) RETURNS bigint LANGUAGE sql VOLATILE AS 'SELECT $1';

-- functions whose value changes
SELECT stream_engine.explain('SELECT auction FROM bid WHERE random() < 0.1');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT auction FROM bid WHERE own_volatile(price) > 1');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT sum(own_volatile(price)) FROM bid');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT DISTINCT gen_random_uuid() AS u FROM bid');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT auction FROM bid WHERE date_time > now() - interval ''1 hour''');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT auction FROM bid WHERE date_time > clock_timestamp()');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT auction FROM bid WHERE date_time::date = CURRENT_DATE');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT count(*), CURRENT_TIMESTAMP AS at FROM bid');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT count(*) FILTER (WHERE date_time > LOCALTIMESTAMP) FROM bid');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT max(age(date_time)) FROM bid');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT auction, count(*) FROM bid GROUP BY auction HAVING count(*) > random()');
\echo :SQLSTATE
-- functions about somebody else, or that write
SELECT stream_engine.explain('SELECT auction, session_user AS who FROM bid');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT auction, pg_backend_pid() AS pid FROM bid');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT auction, inet_client_addr() AS a FROM bid');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT auction, nextval(''counter'') AS n FROM bid');
\echo :SQLSTATE
-- columns
SELECT stream_engine.explain('SELECT auction, price AS auction FROM bid');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT ctid FROM bid');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT auction FROM bid WHERE tableoid = 1');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT ROW(auction, price) AS r FROM bid');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT unnest(tags) AS tag FROM bid');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT c || p AS both FROM bid');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT $1::int AS p FROM bid');
\echo :SQLSTATE
-- keys
SELECT stream_engine.explain('SELECT count(*) FROM bid GROUP BY auction');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT auction, count(*) FROM bid GROUP BY auction, price % 10');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT auction + 1 AS a, count(*) FROM bid GROUP BY auction');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT bits, count(*) FROM bid GROUP BY bits');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT x, count(*) FROM bid GROUP BY x');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT count(*) FROM bid GROUP BY c || p');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT count(DISTINCT c || p) FROM bid');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT max(c || p) COLLATE "C" AS m FROM bid');
\echo :SQLSTATE
