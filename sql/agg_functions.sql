-- Aggregates computed by PostgreSQL's own functions: plain, internal, ordered, ordered-set, user-defined.
CREATE TABLE twin (g int, i int, f float8, n numeric, x text, j jsonb, b bool, ts timestamptz);
CREATE FOREIGN TABLE s (g int, i int, f float8, n numeric, x text, j jsonb, b bool, ts timestamptz OPTIONS (event_time 'true'))
    SERVER stream_engine OPTIONS (watermark 'ts');

-- user-defined: no initial value and strict; an array that grows; a combine function; a final function that wants the arguments
CREATE FUNCTION first_arg(anyelement, anyelement) RETURNS anyelement LANGUAGE sql IMMUTABLE STRICT AS 'SELECT $1';
CREATE AGGREGATE first_of(anyelement) (sfunc = first_arg, stype = anyelement);
CREATE AGGREGATE collect(anycompatible) (sfunc = array_append, stype = anycompatiblearray, initcond = '{}');
CREATE AGGREGATE product(int8) (sfunc = int8mul, stype = int8, initcond = '1', combinefunc = int8mul);
CREATE FUNCTION spread_final(int, int) RETURNS text LANGUAGE sql AS $$SELECT coalesce($1::text, 'none') || '/' || ($2 IS NULL)$$;
CREATE AGGREGATE biggest(int) (sfunc = int4larger, stype = int4, finalfunc = spread_final, finalfunc_extra);
CREATE FUNCTION null_on_seven(int, int) RETURNS int LANGUAGE sql AS $$SELECT CASE WHEN $2 = 7 THEN NULL ELSE coalesce($1, 100) + coalesce($2, 1000) END$$;
CREATE AGGREGATE forgetful(int) (sfunc = null_on_seven, stype = int);

CREATE FUNCTION q(source text, extra text) RETURNS text LANGUAGE sql AS $$
    SELECT format('SELECT %2$s g,
        stddev(i) AS i1, variance(n) AS i2, stddev_pop(f) AS f1, var_samp(f) AS f2, corr(f, i::float8) AS f3, regr_slope(f, i::float8) AS f4,
        bool_and(b) AS b1, bool_or(b) AS b2, every(b) AS b3, bit_and(i) AS b4, bit_or(i) AS b5, sum(ts - ''2024-01-01 00:00+00'') AS t1, avg(ts - ''2024-01-01 00:00+00'') AS t2,
        max(ARRAY[i, g]) AS m1, min(b::text::varchar) AS m2, max(x COLLATE "C") AS m3,
        array_agg(i) AS r1, array_agg(x ORDER BY x DESC NULLS LAST, i) AS r2, string_agg(x, ''-'' ORDER BY i, ts) AS r3, array_agg(DISTINCT x) AS r4,
        string_agg(DISTINCT x, '','') AS r5, jsonb_agg(j ORDER BY i, ts) AS r6, jsonb_object_agg(coalesce(i, -1), g ORDER BY i) AS r7, json_agg(n) AS r8, array_agg(ARRAY[i, i + 1]) AS r9,
        percentile_cont(0.5) WITHIN GROUP (ORDER BY f) AS o1, percentile_disc(ARRAY[0.25, 0.75]) WITHIN GROUP (ORDER BY n) AS o2, mode() WITHIN GROUP (ORDER BY b) AS o3,
        rank(10) WITHIN GROUP (ORDER BY i) AS o4, percent_rank(5, ''m'') WITHIN GROUP (ORDER BY i, x) AS o5, percentile_cont(g / 1000.0::float8) WITHIN GROUP (ORDER BY f) AS o6,
        first_of(x) AS u1, collect(i) AS u2, product(i %% 3 + 1) AS u3, biggest(i) AS u4, forgetful(i) AS u5, collect(DISTINCT i %% 5) AS u6, product(DISTINCT i %% 4 + 1) AS u7,
        array_agg(i ORDER BY i) FILTER (WHERE i %% 2 = 0) AS w1, rank(3) WITHIN GROUP (ORDER BY i) FILTER (WHERE i < 0) AS w2, stddev(i) FILTER (WHERE b) AS w3
        FROM %1$s GROUP BY %2$s g', source, extra)
$$;
SELECT q('s', '') AS g, q('s, tumble(ts, ''1 minute'')', 'window_end,') AS w,
       q('s, hop(ts, ''20 seconds'', ''50 seconds'')', 'window_end,') AS h \gset
CREATE MATERIALIZED VIEW vg WITH (stream_engine.continuous) AS :g;
CREATE MATERIALIZED VIEW vw WITH (stream_engine.continuous) AS :w;
CREATE MATERIALIZED VIEW vh WITH (stream_engine.continuous) AS :h;
-- only mergeable ones: slices
CREATE MATERIALIZED VIEW vs WITH (stream_engine.continuous) AS
    SELECT window_end, g, stddev(i) AS i1, variance(n) AS i2, bool_and(b) AS b1, bit_or(i) AS b5, product(i % 3 + 1) AS u3, max(ARRAY[i, g]) AS m1
    FROM s, hop(ts, '20 seconds', '50 seconds') GROUP BY window_end, g;

INSERT INTO twin SELECT i % 3, CASE WHEN i % 11 > 0 THEN i % 37 END, (i % 64) / 4.0, (i % 20)::numeric / 4,
    CASE WHEN i % 5 > 0 THEN chr(97 + i % 17) END, jsonb_build_object('k', i % 4), i % 13 <> 0,
    '2024-01-01 00:00+00'::timestamptz + i * interval '1 second'
FROM generate_series(1, 200) i;
INSERT INTO twin VALUES (77, NULL, NULL, NULL, NULL, NULL, NULL, '2024-01-01 00:03:30+00');
INSERT INTO s SELECT * FROM twin;
SELECT stream_engine.emit_watermark('s', 'infinity');
REFRESH MATERIALIZED VIEW vg;
REFRESH MATERIALIZED VIEW vw;
REFRESH MATERIALIZED VIEW vh;
REFRESH MATERIALIZED VIEW vs;

CREATE FUNCTION differences(view text, query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY EXECUTE format('(SELECT ''only in the view: '' || v::text FROM (SELECT v::text FROM %1$s v EXCEPT ALL SELECT q::text FROM (%2$s) q) v)
        UNION ALL (SELECT ''only in the query: '' || q::text FROM (SELECT q::text FROM (%2$s) q EXCEPT ALL SELECT v::text FROM %1$s v) q)', view, query);
END $$;
-- from 16 on the planner may sort the rows of all aggregates for the ORDER BY of one; here they shall come as they came
SELECT set_config(name, 'off', false) FROM pg_settings WHERE name = 'enable_presorted_aggregate' \g /dev/null
SELECT (SELECT count(*) FROM vg) AS g, (SELECT count(*) FROM vw) AS w, (SELECT count(*) FROM vh) AS h, (SELECT count(*) FROM vs) AS s;
-- the query gets its rows in the order in which they came, so that array_agg without ORDER BY can be compared
SELECT differences('vg', q('(SELECT * FROM twin ORDER BY g, ts) t', ''));
SELECT differences('vw', q('(SELECT * FROM twin, tumble(ts, ''1 minute'') ORDER BY window_end, g, ts) t', 'window_end,'));
SELECT differences('vh', q('(SELECT * FROM twin, hop(ts, ''20 seconds'', ''50 seconds'') ORDER BY window_end, g, ts) t', 'window_end,'));
SELECT differences('vs', 'SELECT window_end, g, stddev(i) AS i1, variance(n) AS i2, bool_and(b) AS b1, bit_or(i) AS b5, product(i % 3 + 1) AS u3, max(ARRAY[i, g]) AS m1
    FROM twin, hop(ts, ''20 seconds'', ''50 seconds'') GROUP BY window_end, g');
