-- Conditions and projections of a continuous view give what a plain SELECT gives, for
-- every comparison that is decided without the interpreter and for those that are not.
CREATE TABLE twin (id int, i2 int2, i4 int4, i8 int8, f4 float4, f8 float8, d date, ts timestamp, tz timestamptz, b bool, t text, v varchar(20), n numeric);
CREATE FOREIGN TABLE s (id int, i2 int2, i4 int4, i8 int8, f4 float4, f8 float8, d date, ts timestamp, tz timestamptz, b bool, t text, v varchar(20), n numeric)
    SERVER stream_engine;

CREATE TABLE conditions (k int GENERATED ALWAYS AS IDENTITY, condition text);
INSERT INTO conditions (condition) VALUES
    ('i2 < 0::int2 AND i4 >= -1'),
    ('i2 = 32767::int2 OR i2 < (-32767)::int2'),
    ('i8 > 9223372036854775806 OR false'),
    ('i8 > 9223372036854775807'),
    ('i8 < -9223372036854775807'),
    ('i4 <> 0 AND 5::bigint > i4 AND i8 <= 5::smallint'),
    ('f8 > ''-Infinity'' AND f8 < ''NaN'''),
    ('f8 = 0 AND f4 <= 1.5::float8'),
    ('f8 = ''NaN'' AND f4 <> 2'),
    ('f8 >= ''Infinity'''),
    ('d >= ''2024-01-01'' AND ts < ''2024-06-01'' AND tz <> ''2024-01-01'''),
    ('ts = ''infinity'' OR d = ''-infinity'''),
    ('d < ''infinity'' AND tz > ''-infinity'''),
    ('b AND t <> ''a'''),
    ('NOT b AND v = ''a'''),
    ('t = '''' AND v <> ''bb'''),
    ('b IS NULL AND t IS NOT NULL'),
    ('n > 0 AND t LIKE ''%b%'''),
    ('ts > d'),
    ('i4 IN (0, 5) AND coalesce(f8, 0) < 10 AND v IS NULL');

SELECT format('CREATE MATERIALIZED VIEW v%s WITH (stream_engine.continuous) AS SELECT id, n, v, t || ''!'' AS t, i4 / 2 AS i4, id + 1 AS next FROM s WHERE %s', k, condition)
FROM conditions ORDER BY k
\gexec

INSERT INTO twin
SELECT row_number() OVER (),
       (ARRAY[-32768, -1, 0, 5, 32767, NULL])[1 + x % 6], (ARRAY[-2147483648, -1, 0, 5, 2147483647, NULL])[1 + x / 2 % 6],
       (ARRAY[-9223372036854775808, -1, 0, 5, 9223372036854775807, NULL])[1 + x / 3 % 6],
       (ARRAY['-Infinity', '-0', '0', '1.5', 'NaN', NULL, '2'])[1 + x % 7]::float4,
       (ARRAY['-Infinity', '-0', '0', '1.5', 'Infinity', 'NaN', NULL])[1 + x / 5 % 7]::float8,
       (ARRAY['-infinity', '2023-12-31', '2024-01-01', 'infinity', NULL])[1 + x % 5]::date,
       (ARRAY['-infinity', '2023-12-31', '2024-01-01', 'infinity', NULL])[1 + x / 7 % 5]::timestamp,
       (ARRAY['-infinity', '2023-12-31', '2024-01-01', 'infinity', NULL])[1 + x / 11 % 5]::timestamptz,
       (ARRAY[true, false, NULL])[1 + x % 3], (ARRAY['', 'a', 'bb', NULL, repeat('abc', 3000)])[1 + x / 4 % 5],
       (ARRAY['', 'a', 'bb', NULL])[1 + x / 9 % 4], (ARRAY[-1.50, 0, 1.0, 1.00, NULL])[1 + x % 5]
FROM generate_series(0, 2000) x;
INSERT INTO s SELECT * FROM twin ORDER BY id;

SELECT format('REFRESH MATERIALIZED VIEW v%s', k) FROM conditions ORDER BY k
\gexec

-- Rows of each view, and how many of them are not the plain SELECT's (either way).
CREATE FUNCTION compare(k int, condition text, OUT matches bigint, OUT differences bigint) LANGUAGE plpgsql AS $$
DECLARE
    plain text := format('SELECT id, n, v, t || ''!'' AS t, i4 / 2 AS i4, id + 1 AS next FROM twin WHERE %s', condition);
BEGIN
    EXECUTE format('SELECT count(*) FROM v%s', k) INTO matches;
    EXECUTE format('SELECT count(*) FROM ((TABLE v%1$s EXCEPT ALL %2$s) UNION ALL (%2$s EXCEPT ALL TABLE v%1$s)) d', k, plain)
        INTO differences;
END $$;
SELECT k, condition, c.* FROM conditions, compare(k, condition) c ORDER BY k;
