-- on_error = skip and dead_letter: a row that raises an error is left out, wherever in the query; the view equals its query over the others.
CREATE FOREIGN TABLE s (id int, k int, x int, t text, note text, ts timestamptz OPTIONS (event_time 'true'))
    SERVER stream_engine OPTIONS (watermark 'ts - interval ''1 second''');
CREATE TABLE twin (LIKE s);
-- what the query would do with the row, or why it cannot
CREATE FUNCTION good(sql text, r s) RETURNS bool LANGUAGE plpgsql AS $$
BEGIN EXECUTE 'SELECT ' || sql || ' FROM (SELECT $1.*) s' USING r; RETURN true;
EXCEPTION WHEN data_exception OR integrity_constraint_violation THEN RETURN false; END $$;
CREATE DOMAIN small AS int CHECK (value < 90);

CREATE MATERIALIZED VIEW plain WITH (stream_engine.continuous, stream_engine.on_error = dead_letter) AS
    SELECT id, 100 / x AS q, x::small AS s FROM s WHERE t::int >= 0;
CREATE MATERIALIZED VIEW argument WITH (stream_engine.continuous, stream_engine.on_error = skip) AS
    SELECT window_start, sum(100 / x) AS q, count(*) FILTER (WHERE t::int > 10) AS n FROM s, tumble(ts, '10 s') GROUP BY window_start;
CREATE MATERIALIZED VIEW key WITH (stream_engine.continuous, stream_engine.on_error = dead_letter) AS
    SELECT t::int % 7 AS k, count(*), max(id) FROM s GROUP BY 1;
CREATE MATERIALIZED VIEW hopping WITH (stream_engine.continuous, stream_engine.on_error = dead_letter) AS
    SELECT id, window_end, 100 / x AS q FROM s, hop(ts, '2 s', '10 s');
-- only one of the row's windows makes it fail: it is left out of all
CREATE MATERIALIZED VIEW copies WITH (stream_engine.continuous, stream_engine.on_error = skip) AS
    SELECT window_end, count(*), sum(1 / (x <> 0 OR extract(second FROM window_end) <> 30)::int) AS one FROM s, hop(ts, '2 s', '10 s') GROUP BY window_end;
CREATE MATERIALIZED VIEW visits WITH (stream_engine.continuous, stream_engine.on_error = dead_letter) AS
    SELECT k, window_start, window_end, sum(100 / x) AS q FROM s, session(ts, (t || ' s')::interval) GROUP BY k, window_start, window_end;
-- the default stops
CREATE MATERIALIZED VIEW stops WITH (stream_engine.continuous) AS SELECT id, 100 / x AS q FROM s;

-- every 50th row is bad for one of the reasons
CREATE FUNCTION fill(a int, b int) RETURNS void LANGUAGE sql AS $$
    INSERT INTO twin SELECT i, i % 5, CASE WHEN i % 50 = 7 THEN 0 WHEN i % 150 = 3 THEN 95 ELSE i % 60 + 1 END,
        CASE WHEN i % 100 = 31 THEN 'x' || i ELSE (i % 20 + 1)::text END, repeat('n', i % 9), timestamptz '2024-01-01' + i * interval '0.2 s'
    FROM generate_series(a, b) i;
    INSERT INTO s SELECT * FROM twin WHERE id BETWEEN a AND b ORDER BY id;
$$;
SELECT fill(1, 3000);
SELECT fill(3001, 3001), fill(3002, 6000);
REFRESH MATERIALIZED VIEW plain;
REFRESH MATERIALIZED VIEW key;
REFRESH MATERIALIZED VIEW hopping;
SELECT stream_engine.emit_watermark('s', 'infinity');
REFRESH MATERIALIZED VIEW argument;
REFRESH MATERIALIZED VIEW copies;
REFRESH MATERIALIZED VIEW visits;

-- PostgreSQL's own answer over the good rows
CREATE TABLE good_plain AS SELECT * FROM twin r WHERE good('100 / x, x::small, 1 / (t::int >= 0)::int', r::text::s);
CREATE TABLE good_argument AS SELECT * FROM twin r WHERE good('100 / x, t::int > 10', r::text::s);
CREATE TABLE good_key AS SELECT * FROM twin r WHERE good('t::int', r::text::s);
CREATE TABLE good_hopping AS SELECT * FROM twin r WHERE good('100 / x', r::text::s);
CREATE TABLE good_visits AS SELECT * FROM twin r WHERE good('100 / x, (t || '' s'')::interval', r::text::s);
CREATE TABLE good_copies AS SELECT * FROM twin WHERE NOT EXISTS
    (SELECT FROM hop(ts, '2 s', '10 s') WHERE x = 0 AND extract(second FROM window_end) = 30);
SELECT count(*) AS rows, (SELECT count(*) FROM good_plain) AS good, (SELECT count(*) FROM good_argument) AS good_argument,
    (SELECT count(*) FROM good_key) AS good_key, (SELECT count(*) FROM good_hopping) AS good_hopping FROM twin;

SELECT count(*) FROM plain;
(TABLE plain EXCEPT ALL SELECT id, 100 / x, x::small FROM good_plain WHERE t::int >= 0)
UNION ALL (SELECT id, 100 / x, x::small FROM good_plain WHERE t::int >= 0 EXCEPT ALL TABLE plain);
(TABLE argument EXCEPT ALL SELECT window_start, sum(100 / x), count(*) FILTER (WHERE t::int > 10) FROM good_argument, tumble(ts, '10 s') GROUP BY 1)
UNION ALL (SELECT window_start, sum(100 / x), count(*) FILTER (WHERE t::int > 10) FROM good_argument, tumble(ts, '10 s') GROUP BY 1 EXCEPT ALL TABLE argument);
(TABLE key EXCEPT ALL SELECT t::int % 7, count(*), max(id) FROM good_key GROUP BY 1)
UNION ALL (SELECT t::int % 7, count(*), max(id) FROM good_key GROUP BY 1 EXCEPT ALL TABLE key);
(TABLE hopping EXCEPT ALL SELECT id, window_end, 100 / x FROM good_hopping, hop(ts, '2 s', '10 s'))
UNION ALL (SELECT id, window_end, 100 / x FROM good_hopping, hop(ts, '2 s', '10 s') EXCEPT ALL TABLE hopping);
SELECT count(*) FROM good_copies;
(TABLE copies EXCEPT ALL SELECT window_end, count(*), count(*) FROM good_copies, hop(ts, '2 s', '10 s') GROUP BY 1)
UNION ALL (SELECT window_end, count(*), count(*) FROM good_copies, hop(ts, '2 s', '10 s') GROUP BY 1 EXCEPT ALL TABLE copies);
SELECT sum(q) = (SELECT sum(100 / x) FROM good_visits) AS same_sum FROM visits;

-- counted, and kept whole
SELECT view, state, rows_in, error_rows FROM stream_engine.jobs WHERE view::text NOT IN ('stops') ORDER BY view::text;
SELECT view, error_rows FROM stream_engine.sources WHERE view::text NOT IN ('stops') ORDER BY view::text;
SELECT view, sqlstate, count(*), count(DISTINCT "position") = count(*) AS own_places FROM stream_engine.dead_letters GROUP BY 1, 2 ORDER BY view::text, 2;
SELECT view, stream, ordinal, reason, sqlstate, message, "row" FROM stream_engine.dead_letters WHERE view = 'plain'::regclass ORDER BY id LIMIT 3;
SELECT count(*) FROM stream_engine.dead_letters d JOIN twin ON twin.id = (d."row" ->> 'id')::int
WHERE view = 'plain'::regclass AND jsonb_populate_record(NULL::twin, d."row") = twin;
SELECT "position" ~ '^[0-9A-F]+/[0-9A-F]+ \+\d+$' AS place, arrived BETWEEN now() - interval '1 hour' AND now() AS arrived
FROM stream_engine.dead_letters GROUP BY 1, 2;

SELECT stream_engine.wait_state('stops', 'failed');
SELECT sqlstate, message FROM stream_engine.errors WHERE view = 'stops'::regclass;

-- they can be repaired and written again, and deleted
INSERT INTO s SELECT (jsonb_populate_record(NULL::s, "row" || '{"x": 1, "t": "1"}')).* FROM stream_engine.dead_letters WHERE view = 'plain'::regclass;
REFRESH MATERIALIZED VIEW plain;
SELECT count(*) FROM plain;
SELECT stream_engine.delete_dead_letters('plain', (SELECT min(id) FROM stream_engine.dead_letters WHERE view = 'plain'::regclass));
SELECT stream_engine.delete_dead_letters('plain') > 100 AS deleted;
SELECT stream_engine.delete_dead_letters('plain'), stream_engine.delete_dead_letters(NULL), stream_engine.delete_dead_letters('s');
SELECT stream_engine.delete_dead_letters(0);
SELECT stream_engine.delete_dead_letters('pg_class');
DROP MATERIALIZED VIEW key;
SELECT DISTINCT view FROM stream_engine.dead_letters ORDER BY 1;

-- ALTER: from now on
ALTER MATERIALIZED VIEW plain SET (stream_engine.on_error = skip);
INSERT INTO s VALUES (-1, 0, 0, '1', '', '2025-01-01'), (-2, 0, 1, '1', '', '2025-01-01');
REFRESH MATERIALIZED VIEW plain;
SELECT id FROM plain WHERE id < 0;
SELECT count(*) FROM stream_engine.dead_letters WHERE view = 'plain'::regclass;
