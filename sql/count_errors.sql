-- Count windows and rows that raise errors: a row that is left out has no number; what fails for a window as a whole stops the view.
CREATE FOREIGN TABLE s (id int, k int, x float8) SERVER stream_engine;
CREATE TABLE twin (LIKE s);
CREATE FUNCTION add_small(state int, x float8) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    IF x > 1000 THEN RAISE numeric_value_out_of_range USING MESSAGE = 'too large: ' || x; END IF;
    RETURN coalesce(state, 0) + 1;
END $$;
CREATE AGGREGATE small_ones(float8) (SFUNC = add_small, STYPE = int, COMBINEFUNC = int4pl);
CREATE FUNCTION not_seven(state int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    IF state = 7 THEN RAISE numeric_value_out_of_range USING MESSAGE = 'seven'; END IF;
    RETURN state;
END $$;
CREATE AGGREGATE sum_not_seven(int) (SFUNC = int4pl, STYPE = int, INITCOND = 0, COMBINEFUNC = int4pl, FINALFUNC = not_seven);

-- before anything is stored, and in a transition function
CREATE MATERIALIZED VIEW inverse WITH (stream_engine.continuous, stream_engine.on_error = skip) AS
    SELECT k, window_id, count(*) AS c, array_agg(1 / (id % 10)) AS inverse, min(id) AS first FROM s, count_window(5, 2) GROUP BY k, window_id;
CREATE MATERIALIZED VIEW small WITH (stream_engine.continuous, stream_engine.on_error = dead_letter) AS
    SELECT k, window_id, small_ones(x), array_agg(id) AS ids FROM s, count_window(7, 3) GROUP BY k, window_id;
CREATE MATERIALIZED VIEW small_tumbling WITH (stream_engine.continuous, stream_engine.on_error = dead_letter) AS
    SELECT k, window_id, small_ones(x), count(DISTINCT x) AS d, array_agg(id) AS ids FROM s, count_window(7) GROUP BY k, window_id;
-- in the final function: no row is to blame
CREATE MATERIALIZED VIEW no_seven WITH (stream_engine.continuous, stream_engine.on_error = skip) AS
    SELECT window_id, sum_not_seven(id), count(*) AS c FROM s, count_window(2, 1) GROUP BY window_id;
INSERT INTO twin SELECT i, i % 3, CASE WHEN i % 100 = 99 THEN 900 + i ELSE 1 END FROM generate_series(1, 1000) i;
INSERT INTO s TABLE twin;
REFRESH MATERIALIZED VIEW inverse;
REFRESH MATERIALIZED VIEW small;
REFRESH MATERIALIZED VIEW small_tumbling;
SELECT stream_engine.wait_state('no_seven', 'failed');

CREATE FUNCTION full_windows(good text, size int, slide int) RETURNS TABLE (k int, window_id bigint, ids int[]) LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY EXECUTE format('SELECT k, window_id, array_agg(id ORDER BY id)
        FROM (SELECT *, row_number() OVER (PARTITION BY k ORDER BY id) AS n, count(*) OVER (PARTITION BY k) AS total FROM twin WHERE %1$s) r, generate_series(0, (total - 1) / %3$s) window_id
        WHERE n > window_id * %3$s AND n <= window_id * %3$s + %2$s AND total >= window_id * %3$s + %2$s GROUP BY k, window_id', good, size, slide);
END $$;
CREATE VIEW oracle AS SELECT k, window_id, 5::bigint, (SELECT array_agg(1 / (id % 10) ORDER BY id) FROM unnest(ids) id), ids[1] FROM full_windows('id % 10 <> 0', 5, 2);
(TABLE inverse EXCEPT ALL TABLE oracle) UNION ALL (TABLE oracle EXCEPT ALL TABLE inverse);
CREATE VIEW oracle_small AS SELECT k, window_id, 7, ids FROM full_windows('x < 1000', 7, 3);
(TABLE small EXCEPT ALL TABLE oracle_small) UNION ALL (TABLE oracle_small EXCEPT ALL TABLE small);
CREATE VIEW oracle_tumbling AS SELECT k, window_id, 7, (SELECT count(DISTINCT x) FROM twin t WHERE t.id = ANY (ids)), ids FROM full_windows('x < 1000', 7, 7);
(TABLE small_tumbling EXCEPT ALL TABLE oracle_tumbling) UNION ALL (TABLE oracle_tumbling EXCEPT ALL TABLE small_tumbling);
SELECT (SELECT count(*) FROM oracle) AS inverse, (SELECT count(*) FROM oracle_small) AS small, (SELECT count(*) FROM oracle_tumbling) AS tumbling;
SELECT view, state, error, error_rows FROM stream_engine.jobs ORDER BY view::text;
SELECT count(*) FROM no_seven;
