-- on_error where the row was already taken in: the view is restored and leaves it out. What no row is to blame for still stops the view.
CREATE FOREIGN TABLE s (id int, k int, x float8, d int, ts timestamptz OPTIONS (event_time 'true'))
    SERVER stream_engine OPTIONS (watermark 'ts - make_interval(secs => 1 / d)');
CREATE TABLE twin (LIKE s);
CREATE FUNCTION add_small(state int, x float8) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    IF x > 1000 THEN RAISE numeric_value_out_of_range USING MESSAGE = 'too large: ' || x, DETAIL = 'More than 1000.'; END IF;
    RETURN coalesce(state, 0) + 1;
END $$;
CREATE AGGREGATE small_ones(float8) (SFUNC = add_small, STYPE = int, COMBINEFUNC = int4pl);

-- a transition function; of groups, of windows, of sessions
CREATE MATERIALIZED VIEW groups WITH (stream_engine.continuous, stream_engine.on_error = dead_letter) AS
    SELECT k, small_ones(x), count(*), min(id), max(id) FROM s GROUP BY k;
CREATE MATERIALIZED VIEW windows WITH (stream_engine.continuous, stream_engine.on_error = dead_letter) AS
    SELECT window_end, k, small_ones(x), count(*) FROM s, hop(ts, '10 s', '20 s') GROUP BY window_end, k;
CREATE MATERIALIZED VIEW sessions WITH (stream_engine.continuous, stream_engine.on_error = dead_letter) AS
    SELECT window_start, window_end, k, small_ones(x), count(*) FROM s, session(ts, '3 s') GROUP BY window_start, window_end, k;
-- a constraint of the result
CREATE MATERIALIZED VIEW once WITH (stream_engine.continuous, stream_engine.on_error = dead_letter) AS SELECT id, x FROM s;
CREATE UNIQUE INDEX ON once (id);
ALTER TABLE once ADD CHECK (x < 2000);

-- every 100th row is too large, every 250th has no watermark
INSERT INTO twin SELECT i, i % 3, CASE WHEN i % 100 = 99 THEN 900 + i ELSE 1 END, CASE WHEN i % 250 = 0 THEN 0 ELSE 1 END,
    timestamptz '2024-01-01' + i * interval '0.5 s' FROM generate_series(1, 2000) i;
INSERT INTO s TABLE twin;
INSERT INTO s SELECT * FROM twin WHERE id % 500 = 1;
INSERT INTO s VALUES (0, 0, 1, 1, '2025-01-01');
REFRESH MATERIALIZED VIEW groups;
REFRESH MATERIALIZED VIEW windows;
REFRESH MATERIALIZED VIEW sessions;
REFRESH MATERIALIZED VIEW once;

-- rows without a watermark are in none
CREATE TABLE good AS SELECT * FROM twin WHERE x < 1000 AND d <> 0;
SELECT count(*) FROM good;
INSERT INTO good VALUES (0, 0, 1, 1, '2025-01-01');
INSERT INTO twin SELECT * FROM twin WHERE id % 500 = 1;
(TABLE windows EXCEPT ALL SELECT window_end, k, count(*), count(*) FROM good, hop(ts, '10 s', '20 s') WHERE id > 0 GROUP BY 1, 2)
UNION ALL (SELECT window_end, k, count(*), count(*) FROM good, hop(ts, '10 s', '20 s') WHERE id > 0 GROUP BY 1, 2 EXCEPT ALL TABLE windows);
INSERT INTO good SELECT * FROM good WHERE id % 500 = 1;
-- they were long enough open for the repeated rows
SELECT count(*), sum(small_ones) = sum(count), sum(count) = (SELECT count(*) FROM good WHERE id > 0) FROM sessions;
(TABLE groups EXCEPT ALL SELECT k, count(*), count(*), min(id), max(id) FROM good GROUP BY 1)
UNION ALL (SELECT k, count(*), count(*), min(id), max(id) FROM good GROUP BY 1 EXCEPT ALL TABLE groups);
SELECT count(*), count(DISTINCT id), min(id), max(id), max(x) FROM once;
SELECT view, state, failures, error, rows_in, error_rows FROM stream_engine.jobs ORDER BY view::text;
SELECT view, sqlstate, count(*), min(message), min(detail), bool_and("row" IS NOT NULL) FROM stream_engine.dead_letters GROUP BY 1, 2 ORDER BY view::text, 2;

-- no row is to blame: a final function, the SELECT list above an aggregate, a function that raises what it likes
CREATE FUNCTION finish(state int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT 10 / (state - 2)';
CREATE AGGREGATE badly(float8) (SFUNC = add_small, STYPE = int, FINALFUNC = finish);
CREATE MATERIALIZED VIEW final WITH (stream_engine.continuous, stream_engine.on_error = dead_letter) AS
    SELECT window_end, badly(x) FROM s, hop(ts, '10 s', '20 s') WHERE k = 7 GROUP BY window_end;
CREATE MATERIALIZED VIEW above WITH (stream_engine.continuous, stream_engine.on_error = dead_letter) AS
    SELECT window_end, 1 / (count(*) - 2) FROM s, cumulate(ts, '10 s', '20 s') WHERE k = 7 GROUP BY window_end HAVING count(*) > 0;
CREATE FUNCTION picky(int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RAISE 'not for me'; END $$;
CREATE MATERIALIZED VIEW raises WITH (stream_engine.continuous, stream_engine.on_error = skip) AS SELECT picky(k) FROM s WHERE k = 7;
INSERT INTO s SELECT i, 7, 1, 1, timestamptz '2026-01-01' + i * interval '4 s' FROM generate_series(1, 20) i;
SELECT stream_engine.wait_state('final', 'failed');
SELECT stream_engine.wait_state('above', 'failed');
SELECT stream_engine.wait_state('raises', 'failed');
SELECT view, sqlstate, message, "position" IS NOT NULL AS a_row FROM stream_engine.errors ORDER BY view::text;
SELECT view, error_rows FROM stream_engine.jobs WHERE state = 'failed' ORDER BY view::text;

-- refused values
CREATE MATERIALIZED VIEW x WITH (stream_engine.continuous, stream_engine.on_error = ignore) AS SELECT id FROM s;
