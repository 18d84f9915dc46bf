-- What a key of count windows holds does not grow with the windows that are past, whatever the values.
CREATE FOREIGN TABLE s (id int, k text, x int, n numeric, t text) SERVER stream_engine;
CREATE MATERIALIZED VIEW a WITH (stream_engine.continuous) AS
    SELECT window_id, k, sum(n) AS s, max(t) AS hi, min(n) AS lo, count(DISTINCT x) AS d, md5(string_agg(t, ',' ORDER BY x)) AS ts, max(ARRAY[x]) AS ma, stddev(x) AS sd
    FROM s, count_window(100) GROUP BY k, window_id;
CREATE MATERIALIZED VIEW b WITH (stream_engine.continuous) AS
    SELECT window_id, k, sum(n) AS s, max(t) AS hi, min(n) AS lo, count(DISTINCT x) AS d, md5(string_agg(t, ',' ORDER BY x)) AS ts, max(ARRAY[x]) AS ma, stddev(x) AS sd
    FROM s, count_window(100, 7) GROUP BY k, window_id;
CREATE MATERIALIZED VIEW c WITH (stream_engine.continuous, stream_engine.emit_partial) AS SELECT window_id, n, max(t), count(*) FROM s, count_window(20, 3) GROUP BY n, window_id;
CREATE VIEW plain AS SELECT x, t, window_id FROM s, count_window(10, 5) WHERE x > 3;
CREATE MATERIALIZED VIEW d WITH (stream_engine.continuous) AS SELECT window_id, x % 3 AS k, count(*), max(t) FROM plain GROUP BY 1, 2;
-- texts of up to 100 bytes, now and then up to 100,000; equal numerics of many looks
CREATE PROCEDURE write_rows(a int, b int) LANGUAGE sql AS $$
    INSERT INTO s SELECT i, 'key' || i % 20, hashint4(i) % 1000, (i % 37)::numeric * ('1e' || i % 30)::numeric + ('0.' || repeat('0', i % 5 + 1))::numeric,
        repeat(chr(97 + i % 26), abs(hashint4(i)) % (CASE WHEN i % 1000 = 0 THEN 100000 ELSE 100 END)) FROM generate_series(a, b) i
$$;
CREATE PROCEDURE refresh() LANGUAGE plpgsql AS $$
BEGIN
    REFRESH MATERIALIZED VIEW a;
    REFRESH MATERIALIZED VIEW b;
    REFRESH MATERIALIZED VIEW c;
    REFRESH MATERIALIZED VIEW d;
END $$;
CALL write_rows(-40000, 40000);
CALL refresh();
CREATE TABLE before AS SELECT view, state_entries, state_bytes FROM stream_engine.operators WHERE kind = 'count aggregate';
CALL write_rows(40001, 80000);
CALL write_rows(80001, 120000);
CALL write_rows(120001, 160000);
CALL refresh();
SELECT view, o.state_entries = b.state_entries AS same_entries, o.state_bytes < 2 * b.state_bytes AS stays
    FROM before b JOIN stream_engine.operators o USING (view) WHERE kind = 'count aggregate' ORDER BY view::text;
SELECT (SELECT count(*) FROM a) AS a, (SELECT count(*) FROM b) AS b, (SELECT sum(count) > 0 FROM c) AS c, (SELECT count(*) > 1000 FROM d) AS d;
SELECT view, state FROM stream_engine.jobs ORDER BY view::text;
