-- Windowed views equal their query, sliced and expanded, for every way to use the window's columns.
CREATE SCHEMA twin;
CREATE FOREIGN TABLE s (k int, gone int, v bigint, t text, n numeric, f float8, b bool,
    ts timestamptz(3) OPTIONS (event_time 'true'), d date, a int[])
    SERVER stream_engine OPTIONS (watermark 'ts - interval ''5 s''');
ALTER FOREIGN TABLE s DROP COLUMN gone;
CREATE TABLE twin.s (k int, v bigint, t text, n numeric, f float8, b bool, ts timestamptz(3), d date, a int[]);
CREATE AGGREGATE own_merged(double precision) (SFUNC = float8mul, STYPE = double precision, INITCOND = '1', COMBINEFUNC = float8mul);
CREATE TABLE queries (id int GENERATED ALWAYS AS IDENTITY, query text);
INSERT INTO queries (query) VALUES
    ('SELECT window_start, window_end, k, count(*) c, max(v) m FROM s, tumble(ts, ''10 s'') GROUP BY 1,2,3'),
    ('SELECT window_start, count(*) c FROM s, tumble(ts, ''10 s'', ''3 s'') WHERE window_start > ''2020-01-01 00:00:30'' GROUP BY window_start'),
    ('SELECT window_end, date_trunc(''minute'', window_end) m, count(*) c FROM s, hop(ts, ''5 s'', ''20 s'') WHERE window_end < ''2020-01-01 00:02:30'' AND k > 2 GROUP BY window_end, date_trunc(''minute'', window_end) HAVING count(*) > 2'),
    ('SELECT DISTINCT window_start, t FROM s, hop(ts, ''7 s'', ''20 s'')'),
    ('SELECT window_time, k, sum(v) s, avg(n) a FROM s, cumulate(ts, ''10 s'', ''60 s'') GROUP BY window_time, k'),
    ('SELECT count(*) c FROM s, hop(ts, ''10 s'', ''60 s'') GROUP BY window_end, b'),
    ('SELECT window_end, max(window_end - ts) a, min(ts - window_start) i FROM s, hop(ts, ''10 s'', ''60 s'') GROUP BY window_end'),
    ('SELECT window_end, count(*) c FROM s, hop(ts, ''10 s'', ''60 s'') WHERE ts < window_start + INTERVAL ''15 s'' GROUP BY window_end'),
    ('SELECT window_end, count(DISTINCT t) c, sum(DISTINCT k) s FROM s, hop(ts, ''10 s'', ''30 s'') GROUP BY window_end'),
    ('SELECT window_end, array_agg(k ORDER BY ts, k, v) a, string_agg(t, '','' ORDER BY ts, t, v) st FROM s, cumulate(ts, ''10 s'', ''30 s'') GROUP BY window_end'),
    ('SELECT window_end, w.window_start, t, stddev(k) sd, bool_or(b) bo, max(t) m FROM s, hop(ts, ''10 s'', ''30 s'') w GROUP BY window_end, window_start, t'),
    ('SELECT window_end, n, count(*) c FROM s, tumble(ts, ''30 s'') WHERE n::text like ''1%'' AND n + extract(second FROM window_end) > 0 GROUP BY window_end, n'),
    ('SELECT extract(minute FROM window_start) m, window_end, k % 2 AS p, percentile_cont(0.5) WITHIN GROUP (ORDER BY f) pc, count(*) FILTER (WHERE b) fb FROM s, hop(ts, ''20 s'', ''30 s'') GROUP BY window_end, window_start, k % 2'),
    ('SELECT window_start, window_end - window_start AS len, own_merged(2) m FROM s, hop(ts, ''15 s'', ''60 s'') GROUP BY window_start, window_end'),
    ('SELECT window_end, 1 AS one FROM s, hop(ts, ''40 s'', ''10 s'') GROUP BY window_end, f'),
    ('SELECT window_end, count(*) c FROM s, tumble(ts, ''1 min'') GROUP BY window_end HAVING max(v) > 100 AND window_end > ''2020-01-01'''),
    ('SELECT count(*) c FROM s, tumble(ts, ''1 min'') w WHERE w.window_time > ''2020-01-01 00:01'''),
    -- in any order, one alone, cumulate by its start, expressions
    ('SELECT window_end, count(*) c, window_start FROM s, cumulate(ts, ''10 s'', ''30 s'') GROUP BY window_end, window_start'),
    ('SELECT sum(v) s, window_start FROM s, cumulate(ts, ''10 s'', ''30 s'') GROUP BY window_start'),
    ('SELECT window_start, k, count(*) c, max(window_end) e, min(window_end - ts) m FROM s, cumulate(ts, ''10 s'', ''30 s'') WHERE window_end - ts < ''15 s'' AND window_start > ''2020-01-01 00:00:30'' GROUP BY k, window_start HAVING count(*) > 1'),
    ('SELECT window_start, window_end - window_start len, count(*) c FROM s, cumulate(ts, ''10 s'', ''30 s'') GROUP BY window_end - window_start, window_start'),
    ('SELECT window_start, window_time::date AS day, window_start + interval ''1 h'' AS later, count(DISTINCT k) c FROM s, cumulate(ts, ''10 s'', ''30 s'', ''5 s'') GROUP BY 1, 2, 3'),
    ('SELECT DISTINCT window_start FROM s, cumulate(ts, ''10 s'', ''30 s'')'),
    ('SELECT DISTINCT window_end - window_start AS len, window_start, k FROM s, cumulate(ts, ''10 s'', ''30 s'')'),
    ('SELECT DISTINCT window_time, b FROM s, tumble(ts, ''10 s'')'),
    ('SELECT window_time, window_end - window_time AS u, count(*) c FROM s, hop(ts, ''10 s'', ''30 s'') GROUP BY window_time, window_end HAVING max(v) > 500 AND window_time > ''2020-01-01 00:01'''),
    ('SELECT window_start, count(*) c FROM s, hop(ts, ''1 h'', ''3 h'', timezone => ''Europe/Berlin'') GROUP BY window_start'),
    ('SELECT window_end, count(*) c FROM s, cumulate(ts, ''20 s'', ''1 min'', timezone => ''Asia/Kathmandu'') GROUP BY window_end'),
    ('SELECT window_end, ts FROM s, cumulate(ts, ''1 day'', ''1 month'', timezone => ''Asia/Kathmandu'') WHERE window_start < ts AND k = 1');
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
