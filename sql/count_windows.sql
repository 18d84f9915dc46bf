-- Windows of so many rows of a key: against row numbers over a heap twin, for every kind of aggregate, over restarts.
CREATE FOREIGN TABLE s (id int, k text, i int, n numeric, x text, f float8) SERVER stream_engine;
CREATE TABLE twin (id int, k text, i int, n numeric, x text, f float8);

-- The windows of the row with number rn of total ones, from 1. A window that is emitted in part has a row that the one before has not.
CREATE FUNCTION windows(rn bigint, total bigint, size int, slide int, partial boolean, OUT window_id bigint) RETURNS SETOF bigint LANGUAGE sql AS $$
    SELECT w FROM generate_series(0, (total - 1) / slide) w
    WHERE CASE WHEN partial THEN rn > (w + 1) * slide - size AND rn <= (w + 1) * slide
               ELSE rn > w * slide AND rn <= w * slide + size AND w * slide + size <= total END
$$;
CREATE TABLE shapes (name text, size int, slide int, partial boolean);
INSERT INTO shapes VALUES ('tumbling', 10, 10, false), ('single', 1, 1, false), ('sliding', 10, 3, false), ('halves', 12, 4, false), ('each', 5, 1, false),
    ('gaps', 3, 8, false), ('long', 70, 20, false),
    ('tumbling_part', 10, 10, true), ('sliding_part', 10, 3, true), ('halves_part', 12, 4, true), ('each_part', 5, 1, true), ('gaps_part', 3, 8, true);
CREATE FUNCTION calls(ordered boolean) RETURNS text LANGUAGE sql AS $$
    SELECT format('count(*) AS c, sum(i) AS s, avg(n) AS a, sum(n) AS sn, min(x) AS lx, max(x) AS hx, min(n) AS ln, max(i) AS m,
        count(DISTINCT i) AS d, sum(DISTINCT i) FILTER (WHERE i > 3) AS df, stddev(i) AS sd, variance(n) AS vn, bool_and(i > 0) AS b, max(ARRAY[i]) AS ma,
        var_pop(f)::numeric(12, 6) AS vf, regr_count(f, i) AS rc, string_agg(x, '','' ORDER BY i, x) AS sa, percentile_disc(0.5) WITHIN GROUP (ORDER BY i) AS p,
        array_agg(id%s) AS ids, count(*) FILTER (WHERE i = 4) AS fours', CASE WHEN ordered THEN ' ORDER BY id' END)
$$;
\set ECHO errors
SELECT format('CREATE MATERIALIZED VIEW %s WITH (stream_engine.continuous, stream_engine.emit_partial = %s) AS SELECT window_id, k, %s FROM s, count_window(%s%s) GROUP BY window_id, k',
    name, partial::text, calls(false), size, CASE WHEN slide <> size THEN ', ' || slide END) FROM shapes \gexec
-- without a key; with two; under HAVING, WHERE and expressions
SELECT format('CREATE MATERIALIZED VIEW %s WITH (stream_engine.continuous, stream_engine.emit_partial = %s) AS SELECT window_id, sum(i) AS s, min(id) AS first, count(*) AS c FROM s, count_window(slide => %s, size => %s) GROUP BY window_id',
    'all_' || name, partial::text, slide, size) FROM shapes WHERE name ~ 'sliding|tumbling' \gexec
\set ECHO all
CREATE MATERIALIZED VIEW chosen WITH (stream_engine.continuous) AS
    SELECT 2 * w.window_id AS twice, upper(k) AS k, i % 2 AS odd, max(id) - min(id) AS span
    FROM s CROSS JOIN LATERAL count_window(6, 2) w
    WHERE i <> 5 AND w.window_id > 3 GROUP BY upper(k), i % 2, w.window_id HAVING sum(i) > 20;
CREATE MATERIALIZED VIEW only_windows WITH (stream_engine.continuous) AS SELECT DISTINCT k, window_id FROM s, count_window(7) ;

CREATE PROCEDURE part(a int, b int) LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO twin SELECT g, CASE WHEN g % 5 > 0 THEN 'k' || g * g % 7 END, g * 7 % 11, nullif(g % 50, 3)::numeric / 8, nullif(chr(97 + g * 5 % 26), 'c'), g / 7.0
        FROM generate_series(a, b) g;
    INSERT INTO s SELECT * FROM twin WHERE id BETWEEN a AND b ORDER BY id;
END $$;
CREATE PROCEDURE restart() LANGUAGE plpgsql AS $$
DECLARE
    v text;
BEGIN
    FOR v IN SELECT view FROM stream_engine.jobs LOOP
        PERFORM stream_engine.stop(v);
    END LOOP;
    COMMIT;
    FOR v IN SELECT view FROM stream_engine.jobs LOOP
        PERFORM stream_engine.wait_state(v, 'stopped');
        PERFORM stream_engine.start(v);
        COMMIT;
    END LOOP;
END $$;
CREATE FUNCTION refresh() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v text;
BEGIN
    FOR v IN SELECT view FROM stream_engine.jobs LOOP
        EXECUTE 'REFRESH MATERIALIZED VIEW ' || v;
    END LOOP;
END $$;
CALL part(1, 40);
SELECT refresh();
CALL restart();
CALL part(41, 333);
CALL part(334, 340);
CALL restart();
CALL restart();
CALL part(341, 1000);
SELECT refresh();
CALL restart();
CALL part(1001, 1203);
SELECT stream_engine.emit_watermark('s', 'infinity');
SELECT refresh();

CREATE VIEW numbered AS SELECT *, row_number() OVER (PARTITION BY k ORDER BY id) AS rn, count(*) OVER (PARTITION BY k) AS total,
    row_number() OVER (ORDER BY id) AS rn_all, count(*) OVER () AS total_all FROM twin;
CREATE FUNCTION differences(shape shapes, OUT n bigint, OUT windows bigint, OUT same_alone boolean) LANGUAGE plpgsql AS $$
DECLARE
    oracle text := format('SELECT window_id, k, %s FROM numbered, windows(rn, total, %s, %s, %L) GROUP BY window_id, k', calls(true), shape.size, shape.slide, shape.partial);
    alone text := format('SELECT window_id, sum(i) AS s, min(id) AS first, count(*) AS c FROM numbered, windows(rn_all, total_all, %s, %s, %L) GROUP BY window_id', shape.size, shape.slide, shape.partial);
BEGIN
    EXECUTE format('SELECT count(*) FROM ((TABLE %1$s EXCEPT ALL (%2$s)) UNION ALL ((%2$s) EXCEPT ALL TABLE %1$s)) d', shape.name, oracle) INTO n;
    EXECUTE 'SELECT count(*) FROM ' || shape.name INTO windows;
    IF shape.name ~ 'sliding|tumbling' THEN
        EXECUTE format('SELECT count(*) = 0 FROM ((TABLE all_%1$s EXCEPT ALL (%2$s)) UNION ALL ((%2$s) EXCEPT ALL TABLE all_%1$s)) d', shape.name, alone) INTO same_alone;
    END IF;
END $$;
SELECT name, size, slide, partial, d.* FROM shapes, differences(shapes) d ORDER BY partial, name;
CREATE VIEW chosen_oracle AS SELECT 2 * window_id AS twice, upper(k) AS k, i % 2 AS odd, max(id) - min(id) AS span
    FROM (SELECT *, row_number() OVER w AS r, count(*) OVER (PARTITION BY upper(k), i % 2) AS t FROM twin WHERE i <> 5
          WINDOW w AS (PARTITION BY upper(k), i % 2 ORDER BY id)) x, windows(r, t, 6, 2, false)
    WHERE window_id > 3 GROUP BY upper(k), i % 2, window_id HAVING sum(i) > 20;
SELECT count(*) > 20 AS many FROM chosen;
(TABLE chosen EXCEPT ALL TABLE chosen_oracle) UNION ALL (TABLE chosen_oracle EXCEPT ALL TABLE chosen);
SELECT count(*) > 20 AS many FROM only_windows;
(TABLE only_windows EXCEPT ALL SELECT DISTINCT k, window_id FROM numbered, windows(rn, total, 7, 7, false)) UNION ALL
    (SELECT DISTINCT k, window_id FROM numbered, windows(rn, total, 7, 7, false) EXCEPT ALL TABLE only_windows);

-- Behind the end of the input rows count where only full windows come; the others have given their rest.
INSERT INTO s SELECT 2000 + g, 'k1', 1, 1, 'x', 1 FROM generate_series(1, 25) g;
SELECT refresh();
SELECT view, late_rows FROM stream_engine.jobs WHERE view::text IN ('tumbling', 'tumbling_part', 'sliding', 'sliding_part') ORDER BY 1;
SELECT count(*) FROM tumbling WHERE k = 'k1' AND ids && ARRAY[2001, 2010];
SELECT count(*) FROM tumbling_part WHERE ids && ARRAY[2001, 2010];

-- Late rows count as rows: neither the event time nor the watermark has a say.
CREATE FOREIGN TABLE timed (id int, ts timestamptz OPTIONS (event_time 'true')) SERVER stream_engine OPTIONS (watermark 'ts');
CREATE MATERIALIZED VIEW threes WITH (stream_engine.continuous) AS SELECT window_id, array_agg(id) AS ids, max(ts) AS last FROM timed, count_window(3) GROUP BY window_id;
INSERT INTO timed VALUES (1, '2024-01-02'), (2, '2024-01-01'), (3, '2023-01-01'), (4, '2025-01-01'), (5, '1970-01-01');
REFRESH MATERIALIZED VIEW threes;
TABLE threes;
INSERT INTO timed VALUES (6, '2024-01-01');
REFRESH MATERIALIZED VIEW threes;
SELECT * FROM threes ORDER BY window_id;

-- keys that are equal and look different: a window shows that of its own first row
CREATE FOREIGN TABLE alike (id int, n numeric) SERVER stream_engine;
CREATE MATERIALIZED VIEW per_number WITH (stream_engine.continuous) AS SELECT n, window_id, array_agg(id) AS ids FROM alike, count_window(2) GROUP BY n, window_id;
CREATE MATERIALIZED VIEW sliding_number WITH (stream_engine.continuous) AS SELECT n, window_id, array_agg(id) AS ids FROM alike, count_window(3, 1) GROUP BY n, window_id;
CREATE MATERIALIZED VIEW part_number WITH (stream_engine.continuous, stream_engine.emit_partial) AS SELECT n, window_id, array_agg(id) AS ids FROM alike, count_window(2, 3) GROUP BY n, window_id;
INSERT INTO alike VALUES (1, 1.0), (2, 1.00), (3, 1.000), (4, 1.0000);
REFRESH MATERIALIZED VIEW per_number;
SELECT stream_engine.stop('per_number');
SELECT stream_engine.wait_state('per_number', 'stopped');
SELECT stream_engine.start('per_number');
INSERT INTO alike VALUES (5, 1.00000), (6, 1.000000), (7, 1);
SELECT stream_engine.emit_watermark('alike', 'infinity');
REFRESH MATERIALIZED VIEW per_number;
REFRESH MATERIALIZED VIEW sliding_number;
REFRESH MATERIALIZED VIEW part_number;
SELECT * FROM per_number ORDER BY window_id;
SELECT * FROM sliding_number ORDER BY window_id;
SELECT * FROM part_number ORDER BY window_id;
