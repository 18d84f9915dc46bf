-- tumble, hop and cumulate as ordinary functions: assignment, parameters, borders.
\set b 'SELECT to_char(window_start, ''MM-DD HH24:MI:SS.MS'') AS window_start, to_char(window_end, ''MM-DD HH24:MI:SS.MS'') AS window_end FROM'
SET timezone = 'UTC';
-- all columns; the type follows the argument
SELECT *, pg_typeof(window_start) FROM tumble('2024-01-01 00:00:04+00'::timestamptz, '10 s');
SELECT *, pg_typeof(window_start) FROM tumble('2024-01-01 00:00:04'::timestamp, '10 s');
-- left closed, right open
:b tumble('1970-01-01 00:00:09.999999'::timestamp, '10 s');
:b tumble('1970-01-01 00:00:10'::timestamp, '10 s');
-- shifts, also negative and larger than the size; times before 1970 (WIN-002, in seconds)
:b tumble('2024-01-01 00:00:04'::timestamp, '10 min', '-16 min');
:b tumble('2024-01-01 00:00:04'::timestamp, '10 min', '-6 min');
:b tumble('2024-01-01 00:00:04'::timestamp, '10 min', '4 min');
:b tumble('2024-01-01 00:00:04'::timestamp, '10 min', '-4 min');
SELECT t, extract(epoch FROM window_start)::int FROM unnest(ARRAY[-10, -9, -3, -2, -1, 1, 2, 3, 9, 10]) t,
    tumble('1970-01-01'::timestamp + t * interval '1 s', '7 s', '3 s');
:b tumble('2016-08-11 08:00:48.450'::timestamp, '1 day', '-8 hours');
:b tumble('1901-12-13 20:45:52'::timestamp, '1 day');
-- hop: in order of the end (WIN-008, WIN-010), size not a multiple of the slide (WIN-012), with shift (WIN-014)
:b hop('1970-01-01'::timestamp, '1 s', '5 s');
:b hop('1970-01-01 00:00:00.1'::timestamp, '1 s', '5 s', '0.1 s');
:b hop('1970-01-01'::timestamp, '1 s', '5 s', '-0.1 s');
SELECT extract(epoch FROM window_start)::int AS s, extract(epoch FROM window_end)::int AS e, array_agg(t ORDER BY t) FROM unnest(ARRAY[1, 2, 5, 9, 10, 11]) t,
    hop('1970-01-01'::timestamp + t * interval '1 s', '5 s', '7 s') GROUP BY 1, 2 ORDER BY 1;
SELECT extract(epoch FROM window_start)::int AS s, extract(epoch FROM window_end)::int AS e, array_agg(t ORDER BY t) FROM unnest(ARRAY[1, 2, 5, 9, 10, 11]) t,
    hop('1970-01-01'::timestamp + t * interval '1 s', '5 s', '10 s', '2 s') GROUP BY 1, 2 ORDER BY 1;
-- gaps: slide larger than size
SELECT t, window_start FROM generate_series(0, 12) t LEFT JOIN LATERAL hop('1970-01-01'::timestamp + t * interval '1 s', '6 s', '2 s', '1 s') ON true ORDER BY t;
-- cumulate (WIN-016, in seconds)
:b cumulate('1970-01-01 00:00:04.999'::timestamp, '1 s', '5 s');
:b cumulate('1970-01-01 00:00:05'::timestamp, '1 s', '5 s');
:b cumulate('1969-12-31 23:59:58'::timestamp, '5 s', '15 s', '1 s');
-- day of the type's own clock: no daylight saving
SET timezone = 'America/Los_Angeles';
SELECT window_end - window_start FROM tumble('2021-03-14 12:00'::timestamptz, '1 day');
SET timezone = 'UTC';
-- NULL gives no rows
SELECT count(*) FROM tumble(NULL::timestamptz, '1 s');
SELECT count(*) FROM tumble('2024-01-01'::timestamptz, NULL);
SELECT count(*) FROM hop('2024-01-01'::timestamptz, '1 s', '2 s', NULL);
-- refused
SELECT * FROM tumble('2024-01-01'::timestamptz, '0 s');
SELECT * FROM tumble('2024-01-01'::timestamptz, '-2 s');
SELECT * FROM hop('2024-01-01'::timestamptz, '-1 s', '5 s');
SELECT * FROM hop('2024-01-01'::timestamptz, '0', '5 s');
SELECT * FROM hop('2024-01-01'::timestamptz, '5 s', '-20 s');
SELECT * FROM cumulate('2024-01-01'::timestamptz, '2 s', '5 s');
SELECT * FROM tumble('2024-01-01'::timestamptz, '1 month');
SELECT * FROM tumble('2024-01-01'::timestamptz, '1 day', '1 year');
SELECT * FROM tumble('2024-01-01'::timestamptz, '2000000000 days');
SELECT * FROM hop('2024-01-01'::timestamptz, '1 us', '1 day');
SELECT * FROM tumble('infinity'::timestamptz, '1 day');
SELECT * FROM tumble('-infinity'::timestamp, '1 day');
SELECT * FROM tumble('294276-12-31 23:59:59'::timestamp, '1000 days');
SELECT * FROM tumble('4713-01-01 BC'::timestamp, '1 day');
SELECT * FROM tumble('4714-11-24 BC'::timestamp, '7 days');
SELECT * FROM session('2024-01-01'::timestamptz, '1 s');
