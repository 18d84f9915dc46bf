-- Aggregates with accumulators of our own give what PostgreSQL's give: types, NULLs, scale, overflow of none.
CREATE TABLE twin (g int, i2 int2, i4 int4, i8 int8, f4 float4, f8 float8, n numeric, d date,
                   ts timestamptz, tz timestamp, x text);
CREATE FOREIGN TABLE s (g int, i2 int2, i4 int4, i8 int8, f4 float4, f8 float8, n numeric, d date,
                        ts timestamptz OPTIONS (event_time 'true'), tz timestamp, x text)
    SERVER stream_engine OPTIONS (watermark 'ts');
CREATE FUNCTION q(source text, extra text) RETURNS text LANGUAGE sql AS $$
    SELECT format('SELECT %2$s g, count(*) AS a0, count(i4) AS a1, count(x) AS a2,
        sum(i2) AS s2, sum(i4) AS s4, sum(i8) AS s8, sum(f4) AS sf4, sum(f8) AS sf8, sum(n) AS sn,
        avg(i2) AS v2, avg(i4) AS v4, avg(i8) AS v8, avg(f4) AS vf4, avg(f8) AS vf8, avg(n) AS vn,
        min(i2) AS l2, min(i4) AS l4, min(i8) AS l8, min(f4) AS lf4, min(f8) AS lf8, min(n) AS ln,
        min(d) AS ld, min(ts) AS lts, min(tz) AS ltz, min(x) AS lx,
        max(i2) AS h2, max(i4) AS h4, max(i8) AS h8, max(f4) AS hf4, max(f8) AS hf8, max(n) AS hn,
        max(d) AS hd, max(ts) AS hts, max(tz) AS htz, max(x) AS hx,
        count(*) FILTER (WHERE i4 > 0) AS c1, sum(n) FILTER (WHERE x > ''m'') AS c2,
        count(DISTINCT i4) AS d1, sum(DISTINCT i8) AS d2, avg(DISTINCT i2) AS d3, count(DISTINCT x) FILTER (WHERE g <> 2) AS d4,
        sum(DISTINCT n) AS d5, sum(DISTINCT f8) AS d6
        FROM %1$s GROUP BY %2$s g', source, extra)
$$;
SELECT q('s', '') AS g, q('s, tumble(ts, ''1 minute'')', 'window_end,') AS w,
       q('s, hop(ts, ''20 seconds'', ''1 minute'')', 'window_end,') AS h \gset
CREATE MATERIALIZED VIEW vg WITH (stream_engine.continuous) AS :g;
CREATE MATERIALIZED VIEW vw WITH (stream_engine.continuous) AS :w;
CREATE MATERIALIZED VIEW vh WITH (stream_engine.continuous) AS :h;

-- small values, NULLs everywhere, a group that has only NULLs, values that are exactly summable
INSERT INTO twin SELECT i % 7,
    CASE WHEN i % 5 > 0 THEN i % 300 - 150 END, CASE WHEN i % 7 > 0 THEN (i * 7919) % 100000 - 50000 END,
    CASE WHEN i % 6 > 0 THEN (i::int8 * 1000003) % 1000000007 - 500000000 END,
    (i % 64) / 4.0, (i % 1024) / 16.0 - 20, (i % 1000)::numeric / 8 + 0.000, '2024-01-01'::date + i % 100,
    '2024-01-01 00:00+00'::timestamptz + i * interval '1 second', '2024-01-01'::timestamp - i * interval '1 minute',
    CASE WHEN i % 4 > 0 THEN chr(97 + i % 26) || repeat('x', i % 50) END
FROM generate_series(1, 600) i;
INSERT INTO twin SELECT 99, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '2024-01-01 00:10:30+00', NULL, NULL FROM generate_series(1, 3);
-- a NULL group; the borders of the types; sums beyond bigint
INSERT INTO twin VALUES
    (NULL, 32767, 2147483647, 9223372036854775807, '3e38', '1e300', 'NaN', 'infinity', '2024-01-01 00:11+00', 'infinity', ''),
    (NULL, -32768, -2147483648, 9223372036854775807, '1e37', '1e300', 1, '-infinity', '2024-01-01 00:11:01+00', '-infinity', 'é'),
    (100, 1, 2147483647, 9223372036854775807, '0', '0', 1.00, NULL, '2024-01-01 00:12+00', NULL, 'a'),
    (100, 1, 2147483647, 9223372036854775807, '0', '0', 1.00, NULL, '2024-01-01 00:12+00', NULL, 'B'),
    (101, NULL, NULL, -9223372036854775808, 'infinity', '-infinity', 'infinity', NULL, '2024-01-01 00:12+00', NULL, NULL),
    (101, NULL, NULL, -9223372036854775808, 'infinity', 'infinity', '-infinity', NULL, '2024-01-01 00:12+00', NULL, NULL),
    (102, NULL, NULL, -9223372036854775808, 'NaN', 'NaN', '-infinity', NULL, '2024-01-01 00:12+00', NULL, NULL),
    (102, NULL, NULL, 9223372036854775807, '1', '1', '12345678901234567890.123456789', NULL, '2024-01-01 00:12+00', NULL, NULL);
INSERT INTO s SELECT * FROM twin;
SELECT stream_engine.emit_watermark('s', 'infinity');
REFRESH MATERIALIZED VIEW vg;
REFRESH MATERIALIZED VIEW vw;
REFRESH MATERIALIZED VIEW vh;

CREATE FUNCTION differences(view text, query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY EXECUTE format('(SELECT ''only in the view: '' || v::text FROM (SELECT v::text FROM %1$s v EXCEPT ALL SELECT q::text FROM (%2$s) q) v)
        UNION ALL (SELECT ''only in the query: '' || q::text FROM (SELECT q::text FROM (%2$s) q EXCEPT ALL SELECT v::text FROM %1$s v) q)', view, query);
END $$;
SELECT count(*) FROM vg;
SELECT count(*) FROM vw;
SELECT count(*) FROM vh;
SELECT differences('vg', q('twin', ''));
SELECT differences('vw', q('twin, tumble(ts, ''1 minute'')', 'window_end,'));
SELECT differences('vh', q('twin, hop(ts, ''20 seconds'', ''1 minute'')', 'window_end,'));
SELECT attname, atttypid::regtype FROM pg_attribute WHERE attrelid = 'vg'::regclass AND attnum > 0
EXCEPT SELECT attname, atttypid::regtype FROM pg_attribute WHERE attrelid = 'vw'::regclass;
