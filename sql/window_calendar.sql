-- Windows of a time zone as ordinary functions: days and more equal date_trunc() with that zone, less follows the local clock.
SET timezone = 'UTC';
CREATE TABLE zones (zone text, t timestamptz);
-- every quarter of an hour around changes of the clock, ends of months and years, 1969 and 1970
INSERT INTO zones SELECT zone, t FROM (VALUES
    ('Europe/Berlin', '2024-03-31'::timestamptz), ('Europe/Berlin', '2024-10-27'), ('Europe/Berlin', '2024-02-29'), ('Europe/Berlin', '1970-01-01'), ('Europe/Berlin', '1945-05-24'),
    ('America/Sao_Paulo', '2018-11-04'), ('America/Sao_Paulo', '2018-02-18'), ('America/Sao_Paulo', '1969-12-31'), ('America/Sao_Paulo', '1968-03-01'),
    ('Asia/Kathmandu', '1986-01-01'), ('Asia/Kathmandu', '2000-02-29'), ('Asia/Kathmandu', '1969-12-31'),
    ('Pacific/Apia', '2011-12-30'), ('Pacific/Apia', '2011-09-24'), ('Pacific/Apia', '1970-01-01'),
    ('Australia/Lord_Howe', '2024-10-06'), ('Australia/Lord_Howe', '2024-04-07'), ('UTC', '1900-03-01'), ('UTC', '0001-01-01 BC'), ('UTC', '2100-02-28')) z(zone, d),
    generate_series(d - interval '36 hours', d + interval '36 hours', interval '15 minutes') t;
-- and a few times of all years
INSERT INTO zones SELECT zone, t + i * interval '1 minute' FROM (VALUES ('Europe/Berlin'), ('America/Sao_Paulo'), ('Asia/Kathmandu'), ('Pacific/Apia')) z(zone),
    generate_series('1895-01-01'::timestamptz, '2050-01-01', interval '23 days 5 hours') WITH ORDINALITY s(t, i);
SELECT count(*) FROM zones;

-- The first time the clock of a zone shows x: AT TIME ZONE takes the second of two. In a gap that x does not begin: NULL.
CREATE FUNCTION first_at(x timestamp, zone text) RETURNS timestamptz LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN r AT TIME ZONE zone = x THEN CASE WHEN (r - interval '1 hour') AT TIME ZONE zone = x THEN r - interval '1 hour' ELSE r END
        WHEN (r - interval '1 us') AT TIME ZONE zone = x - interval '1 us' THEN r END FROM (SELECT x AT TIME ZONE zone AS r) r $$;
-- tumble: the units of date_trunc()
SELECT unit, zone, count(*), count(*) FILTER (WHERE window_start <> first_at(date_trunc(unit, local), zone)) AS other_start,
    count(*) FILTER (WHERE window_end <> first_at(date_trunc(unit, local) + size, zone)) AS other_end,
    count(*) FILTER (WHERE window_time <> window_end - interval '1 us') AS other_time,
    count(*) FILTER (WHERE window_start <> date_trunc(unit, t, zone) AND (window_start + interval '1 hour') AT TIME ZONE zone <> window_start AT TIME ZONE zone) AS not_date_trunc
FROM zones, CAST(t AT TIME ZONE zone AS timestamp) local, (VALUES ('day', '1 day'::interval), ('week', '7 days'), ('month', '1 month'), ('quarter', '3 months'), ('year', '1 year')) u(unit, size),
    tumble(t, size, timezone => zone) GROUP BY unit, zone ORDER BY unit, zone;
-- other numbers of months, by their number since 1970
SELECT n, count(*), count(*) FILTER (WHERE window_start <> first_at(timestamp '0070-01-01' + m / n * n * interval '1 month', zone)) AS other_start,
    count(*) FILTER (WHERE window_end <> first_at(timestamp '0070-01-01' + (m / n + 1) * n * interval '1 month', zone)) AS other_end
FROM zones, CAST(t AT TIME ZONE zone AS timestamp) local, CAST((extract(year FROM local) - 70) * 12 + extract(month FROM local) - 1 AS int) m,
    unnest('{2,4,6,24}'::int[]) n, tumble(t, n * interval '1 month', timezone => zone) WHERE t > '1800-01-01' GROUP BY n ORDER BY n;
-- days by date arithmetic; weeks on Mondays; shifts
SELECT n, s, count(*), count(*) FILTER (WHERE window_start <> first_at(d - mod(d - o + n * 1000000, n) + s, zone)) AS other_start,
    count(*) FILTER (WHERE window_end <> first_at(d - mod(d - o + n * 1000000, n) + n + s, zone)) AS other_end
FROM zones, (VALUES (1, date '1970-01-01', interval '6 hours'), (3, '1970-01-01', '0'), (10, '1970-01-01', '-36 hours'), (14, '1970-01-05', '0'), (14, '1970-01-05', '1 day 4 hours')) v(n, o, s),
    CAST(t AT TIME ZONE zone - s AS date) d, tumble(t, n * interval '1 day', s, zone) GROUP BY n, s ORDER BY n, s;
-- a fiscal year from 6 April
SELECT count(*), count(*) FILTER (WHERE window_start <> first_at(make_date(y, 4, 6)::timestamp, zone) OR window_end <> first_at(make_date(y + 1, 4, 6)::timestamp, zone)) AS other
FROM zones, CAST(extract(year FROM t AT TIME ZONE zone - interval '5 days' - interval '3 months') AS int) y, tumble(t, '1 year', '3 months 5 days', zone) WHERE t > '1800-01-01';
-- hop and cumulate: windows that are not expected, and the number of those expected and missing
CREATE FUNCTION expected_hop(t timestamptz, zone text) RETURNS TABLE (s timestamptz, e timestamptz) LANGUAGE sql AS $$
    SELECT first_at(m - i * interval '1 month', zone), first_at(m + (3 - i) * interval '1 month', zone) FROM date_trunc('month', t AT TIME ZONE zone) m, generate_series(0, 2) i $$;
CREATE FUNCTION expected_cumulate(t timestamptz, zone text) RETURNS TABLE (s timestamptz, e timestamptz) LANGUAGE sql AS $$
    SELECT DISTINCT first_at(m, zone), first_at(d, zone) FROM date_trunc('month', t AT TIME ZONE zone) m,
        generate_series(date_trunc('day', t AT TIME ZONE zone) + interval '1 day', m + interval '1 month', interval '1 day') d $$;
CREATE TEMP VIEW few AS SELECT DISTINCT zone, t FROM zones WHERE t > '1800-01-01' AND extract(minute FROM t) < 15 AND extract(hour FROM t) IN (0, 3, 10, 18, 21, 22, 23);
SELECT count(*) AS hops, count(*) FILTER (WHERE s IS NULL) AS unexpected, count(*) FILTER (WHERE window_start IS NULL) AS missing
FROM (SELECT zone, t, window_start, window_end FROM few, hop(t, '1 month', '3 months', timezone => zone)) v
FULL JOIN (SELECT zone, t, s, e FROM few, expected_hop(t, zone)) x ON (v.zone, v.t, window_start, window_end) = (x.zone, x.t, s, e);
SELECT count(*) AS cumulated, count(*) FILTER (WHERE s IS NULL) AS unexpected, count(*) FILTER (WHERE window_start IS NULL) AS missing
FROM (SELECT zone, t, window_start, window_end FROM few, cumulate(t, '1 day', '1 month', timezone => zone)) v
FULL JOIN (SELECT zone, t, s, e FROM few, expected_cumulate(t, zone)) x ON (v.zone, v.t, window_start, window_end) = (x.zone, x.t, s, e);

-- days of 23 and 25 hours; a day that was left out; a month of February
SET timezone = 'Europe/Berlin';
SELECT DISTINCT window_start, window_end, window_end - window_start AS length FROM zones, tumble(t, '1 day', timezone => zone)
    WHERE zone = 'Europe/Berlin' AND window_end - window_start <> interval '24 hours' AND t BETWEEN '2024-01-01' AND '2024-12-31' ORDER BY 1;
SET timezone = 'Pacific/Apia';
SELECT DISTINCT window_start, window_end FROM zones, tumble(t, '1 day', timezone => zone) WHERE zone = 'Pacific/Apia' AND t BETWEEN '2011-12-28' AND '2012-01-02' ORDER BY 1;
SELECT window_start, window_end FROM hop('2011-12-29 12:00', '1 day', '3 days', timezone => 'Pacific/Apia');
SET timezone = 'America/Sao_Paulo';
SELECT DISTINCT window_start, window_end FROM zones, tumble(t, '1 day', timezone => zone) WHERE zone = 'America/Sao_Paulo' AND t BETWEEN '2018-11-03' AND '2018-11-05 12:00' ORDER BY 1;
SELECT window_start, window_end FROM tumble('2024-02-29 12:00', '1 month', timezone => 'America/Sao_Paulo');

-- sizes below a day follow the local clock (WIN-018): the first window, and all of one time
SET timezone = 'America/Los_Angeles';
SELECT t, window_start, window_end FROM unnest('{2021-03-14 00:00,2021-03-14 01:00,2021-03-14 03:00,2021-03-14 04:00}'::timestamptz[]) t,
    LATERAL (SELECT * FROM hop(t, '1 hour', '4 hours', timezone => 'America/Los_Angeles') ORDER BY window_start LIMIT 1) w;
SELECT window_start, window_end FROM hop('2021-03-14 03:00', '1 hour', '4 hours', timezone => 'America/Los_Angeles');
SELECT window_start, window_end FROM cumulate('2021-03-14 00:30', '1 hour', '4 hours', timezone => 'America/Los_Angeles');
-- put back, the clock stands still: the repeated hour belongs to the window it had reached
SELECT t, window_start, window_end FROM generate_series('2021-11-07 00:30'::timestamptz, '2021-11-07 02:30', interval '1 hour') t, tumble(t, '1 hour', timezone => 'America/Los_Angeles');
SELECT t, window_start, window_end FROM generate_series('2021-11-07 01:00 PDT'::timestamptz, '2021-11-07 02:00 PST', interval '30 minutes') t, tumble(t, '20 minutes', timezone => 'America/Los_Angeles');
SELECT count(*) AS windows, max(window_end) AS last FROM cumulate('2021-11-07 00:00', '1 hour', '1 day', timezone => 'America/Los_Angeles');
-- hours with a zone whose clock was not put back equal date_trunc(), also 15 minutes off
SELECT zone, count(*) FILTER (WHERE window_start <> date_trunc('hour', t, zone)) AS other_start FROM zones, tumble(t, '1 hour', timezone => zone)
    WHERE zone IN ('Asia/Kathmandu', 'UTC') AND t > '1987-01-01' GROUP BY zone ORDER BY zone;

-- the name in any case, POSIX rules; NULL is no zone
SELECT window_end - window_start AS length FROM tumble('2024-03-31 12:00', '1 day', timezone => 'europe/berlin');
SELECT window_start FROM tumble('2024-03-31 12:00', '1 day', timezone => '<+03>-3');
SELECT window_start AT TIME ZONE 'UTC' FROM tumble('2024-03-31 12:00', '1 day', timezone => NULL);
-- refused
SELECT * FROM tumble('2024-01-01'::timestamptz, '1 day', timezone => 'Europe/Nowhere');
SELECT * FROM tumble('2024-01-01'::timestamptz, '1 day', timezone => '');
SELECT * FROM tumble('2024-01-01'::timestamp, '1 day', timezone => 'Europe/Berlin');
SELECT * FROM tumble('2024-01-01'::timestamptz, '1 month 1 day', timezone => 'UTC');
SELECT * FROM tumble('2024-01-01'::timestamptz, '0 months', timezone => 'UTC');
SELECT * FROM tumble('2024-01-01'::timestamptz, '7 days', '1 month', 'UTC');
SELECT * FROM hop('2024-01-01'::timestamptz, '1 month', '60 days', timezone => 'UTC');
SELECT * FROM cumulate('2024-01-01'::timestamptz, '5 hours', '1 month', timezone => 'UTC');
SELECT * FROM cumulate('2024-01-01'::timestamptz, '5 months', '1 year', timezone => 'UTC');
SELECT * FROM tumble('infinity'::timestamptz, '1 month', timezone => 'UTC');
SELECT * FROM tumble('294276-12-31 12:00'::timestamptz, '1 month', timezone => 'Europe/Berlin');
SELECT * FROM tumble('4714-11-25 BC'::timestamptz, '1 year', timezone => 'Europe/Berlin');
SELECT provolatile, proargtypes[0]::regtype FROM pg_proc WHERE proname = 'tumble' ORDER BY 2;
