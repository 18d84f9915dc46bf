-- Views without windows equal their query, for every shape the planner makes.
CREATE SCHEMA twin;
CREATE FOREIGN TABLE s (k int, gone int, v bigint, t text, n numeric, f float8, b bool,
    ts timestamptz(3) OPTIONS (event_time 'true'), d date, a int[])
    SERVER stream_engine OPTIONS (watermark 'ts - interval ''5 s''');
ALTER FOREIGN TABLE s DROP COLUMN gone;
CREATE TABLE twin.s (k int, v bigint, t text, n numeric, f float8, b bool, ts timestamptz(3), d date, a int[]);
CREATE AGGREGATE own_merged(double precision) (SFUNC = float8mul, STYPE = double precision, INITCOND = '1', COMBINEFUNC = float8mul);
CREATE TABLE queries (id int GENERATED ALWAYS AS IDENTITY, query text);
INSERT INTO queries (query) VALUES
    ('SELECT * FROM s'),
    ('SELECT k, v*2 AS v2, upper(t) AS u FROM s WHERE k > 3 AND t IS NOT NULL'),
    ('SELECT s AS row FROM s'),
    ('SELECT to_json(s) AS j, s IS NULL AS isn, s IS NOT NULL AS nn FROM s'),
    ('SELECT k, window_start, window_end FROM s, hop(ts, ''7 s'', ''20 s'') WHERE window_start < ts - INTERVAL ''1 s'''),
    ('SELECT k, w.window_end, row_to_json(w)::text AS j FROM s, cumulate(ts, ''5 s'', ''20 s'') w'),
    ('SELECT count(*) AS c FROM s'),
    ('SELECT count(*) c, sum(v) s, avg(v) a, min(t) mi, max(n) ma, sum(n) sn, avg(n) an, sum(k) sk, avg(k) ak, max(ts) mt, min(d) md FROM s'),
    ('SELECT k, count(*) c, count(t) ct, count(DISTINCT t) cd, sum(DISTINCT v) sd FROM s GROUP BY k'),
    ('SELECT k % 3 AS m, t, bool_and(b) ba, stddev(k) sd, array_agg(k ORDER BY ts, k) ag, string_agg(t, '','' ORDER BY t, k) sa FROM s GROUP BY 1, 2'),
    ('SELECT t, array_agg(DISTINCT k) ad, cardinality(array_agg(k)) ak FROM s GROUP BY t'),
    ('SELECT b, percentile_disc(0.5) WITHIN GROUP (ORDER BY v) p, mode() WITHIN GROUP (ORDER BY t) mo, rank(3) WITHIN GROUP (ORDER BY k) r FROM s GROUP BY b'),
    ('SELECT DISTINCT k, b FROM s'),
    ('SELECT DISTINCT t FROM s WHERE k > 2'),
    ('SELECT t, sum(v) FILTER (WHERE k > 3) f1, count(*) FILTER (WHERE b) f2, sum(v) FILTER (WHERE k > 3) * 2 f3 FROM s GROUP BY t HAVING count(*) > 5 AND sum(v) FILTER (WHERE k > 3) > 10'),
    ('SELECT n, count(*) c, max(n::text) m FROM s GROUP BY n'),
    ('SELECT f, count(*) c FROM s GROUP BY f'),
    ('SELECT a, count(*) c FROM s GROUP BY a'),
    ('SELECT date_trunc(''minute'', window_end) m, count(*) c, max(window_end - ts) g FROM s, hop(ts, ''5 s'', ''30 s'') GROUP BY 1'),
    ('SELECT k, count(*) c FROM s, hop(ts, ''5 s'', ''30 s'') GROUP BY k'),
    ('SELECT coalesce(t, ''none'') || k AS key, count(*) c FROM s GROUP BY coalesce(t, ''none'') || k'),
    ('SELECT k, max(v) - min(v) AS spread, CASE WHEN count(*) > 3 THEN ''many'' ELSE ''few'' END AS size FROM s GROUP BY k'),
    ('SELECT count(*) c, sum(v) s FROM s HAVING count(*) > 1000000'),
    ('SELECT 1 AS one FROM s HAVING count(*) > 3'),
    ('SELECT t COLLATE "C" AS t, min(t COLLATE "C") mi, max(t) ma FROM s GROUP BY t COLLATE "C"'),
    ('SELECT k::smallint AS k, sum(k::smallint) s2, avg(k::smallint) a2, sum(k::real) sr, avg(k::real) ar, max(k::real) mr FROM s GROUP BY 1'),
    ('SELECT d, count(*) c, count(DISTINCT (k, t)) cd, json_agg(k ORDER BY k) j FROM s GROUP BY d'),
    ('SELECT k, own_merged(1.5 ORDER BY ts) m, own_merged(DISTINCT k) md FROM s GROUP BY k'),
    ('SELECT k, sum(v ORDER BY t) s, max(DISTINCT v) m, count(DISTINCT k) one FROM s WHERE v BETWEEN 10 AND 500 GROUP BY k'),
    ('SELECT k, count(1) c, count(NULL) n, count(1) FILTER (WHERE b) cf FROM s GROUP BY k'),
    ('SELECT k AS a, k AS b, k + 1 AS c, count(*) n FROM s GROUP BY k'),
    ('SELECT ts::date AS day, extract(epoch FROM max(ts)) e FROM s GROUP BY 1');
DO $$
DECLARE q queries;
BEGIN
    FOR q IN SELECT * FROM queries ORDER BY id LOOP
        EXECUTE format('CREATE MATERIALIZED VIEW v%s WITH (stream_engine.continuous) AS %s', q.id, q.query);
    END LOOP;
END $$;

-- 400 rows in the order of their times, some alike, some NULL
INSERT INTO twin.s
SELECT nullif(i * 7919 % 8, 7), i * 104729 % 1000, (ARRAY['a', 'b', 'c', 'A', NULL, 'a '])[1 + i * 31 % 6],
       (ARRAY['1.0', '1.00', '2', '2.50', NULL, '-3'])[1 + i * 37 % 6]::numeric,
       (ARRAY[0, -0.0, 1.5, 'NaN', NULL, 2.25])[1 + i * 41 % 6], i * 43 % 3 = 1,
       timestamptz '2020-01-01 UTC' + i * interval '450 ms', date '2020-01-01' + i * 47 % 4, ARRAY[i * 53 % 3, 1]
FROM generate_series(1, 400) i;
INSERT INTO s SELECT * FROM twin.s WHERE ts < '2020-01-01 00:01:00 UTC' ORDER BY ts;
INSERT INTO s SELECT * FROM twin.s WHERE ts >= '2020-01-01 00:01:00 UTC' ORDER BY ts;
SELECT stream_engine.emit_watermark('s', 'infinity');

-- rows that only the view or only the query has, and whether there are any at all
CREATE FUNCTION compare(q queries) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    different bigint;
    rows bigint;
BEGIN
    EXECUTE format('REFRESH MATERIALIZED VIEW v%s', q.id);
    SET LOCAL search_path = twin, public;
    EXECUTE format('WITH v AS (SELECT x::text FROM public.v%s x), q AS (SELECT x::text FROM (%s) x)
        SELECT count(*) FROM ((TABLE v EXCEPT ALL TABLE q) UNION ALL (TABLE q EXCEPT ALL TABLE v)) d', q.id, q.query) INTO different;
    EXECUTE format('SELECT count(*) FROM public.v%s', q.id) INTO rows;
    SET LOCAL search_path = public;
    RETURN CASE WHEN different > 0 THEN different || ' rows differ' WHEN rows = 0 THEN 'empty' ELSE 'equal' END;
END $$;
\pset format unaligned
SELECT compare(q), query FROM queries q ORDER BY id;
