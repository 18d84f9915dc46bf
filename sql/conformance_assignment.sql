-- Published cases of other engines: which windows a time is in, and parameters that make no window (WIN-…), in continuous views.
CREATE FUNCTION ms(t bigint) RETURNS timestamp LANGUAGE sql IMMUTABLE AS $$SELECT '1970-01-01'::timestamp + t * interval '1 ms'$$;
CREATE FUNCTION ms(t timestamp) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$SELECT (extract(epoch FROM t) * 1000)::bigint$$;
CREATE FOREIGN TABLE s (id text, ts timestamp OPTIONS (event_time 'true')) SERVER stream_engine;

-- WIN-004: days of UTC+8; WIN-006: a shift that is no part of the size; WIN-008, WIN-010: hop; WIN-016: cumulate
CREATE MATERIALIZED VIEW win_004 WITH (stream_engine.continuous) AS SELECT id, ms(window_start) AS b, ms(window_end) AS e FROM s, tumble(ts, '1 day', '-8 hours') WHERE id = '004';
CREATE MATERIALIZED VIEW win_006 WITH (stream_engine.continuous) AS SELECT id, ms(ts) AS t, ms(window_start) AS b, ms(window_end) AS e FROM s, tumble(ts, '5 s', '100 ms') WHERE id = '006';
CREATE MATERIALIZED VIEW win_008 WITH (stream_engine.continuous) AS SELECT id, ms(window_start) AS b, ms(window_end) AS e FROM s, hop(ts, '1 s', '5 s') WHERE id = '008';
CREATE MATERIALIZED VIEW win_010 WITH (stream_engine.continuous) AS SELECT id, ms(window_start) AS b, ms(window_end) AS e FROM s, hop(ts, '1 s', '5 s', '100 ms') WHERE id = '010';
CREATE MATERIALIZED VIEW win_010_back WITH (stream_engine.continuous) AS SELECT id, ms(window_start) AS b, ms(window_end) AS e FROM s, hop(ts, '1 s', '5 s', '-100 ms') WHERE id = '008';
CREATE MATERIALIZED VIEW win_016 WITH (stream_engine.continuous) AS SELECT id, ms(ts) AS t, ms(window_start) AS b, ms(window_end) AS e FROM s, cumulate(ts, '1 s', '5 s') WHERE id = '016';
-- WIN-012, WIN-014: size no multiple of the slide; half the size with a shift
CREATE MATERIALIZED VIEW win_012 WITH (stream_engine.continuous) AS
    SELECT ms(window_start) AS b, ms(window_end) AS e, string_agg(ms(ts)::text, ',' ORDER BY ts) AS t FROM s, hop(ts, '5 ms', '7 ms') WHERE id = '012' GROUP BY window_start, window_end;
CREATE MATERIALIZED VIEW win_014 WITH (stream_engine.continuous) AS
    SELECT ms(window_start) AS b, ms(window_end) AS e, string_agg(ms(ts)::text, ',' ORDER BY ts) AS t FROM s, hop(ts, '5 ms', '10 ms', '2 ms') WHERE id = '012' GROUP BY window_start, window_end;
-- WIN-018: windows of wall-clock times, over a change of daylight saving
CREATE MATERIALIZED VIEW win_018 WITH (stream_engine.continuous) AS
    SELECT ts, min(window_start) AS first FROM s, hop(ts, '1 hour', '4 hours') WHERE id = '018' GROUP BY ts;
-- WIN-002: a shift larger than what is left, times before 1970
CREATE MATERIALIZED VIEW win_002 WITH (stream_engine.continuous) AS SELECT ms(ts) AS t, ms(window_start) AS b FROM s, tumble(ts, '7 ms', '3 ms') WHERE id = '002';

INSERT INTO s VALUES ('004', ms(1470902048450)), ('006', ms(100)), ('006', ms(5099)), ('006', ms(5100)), ('008', ms(0)), ('010', ms(100)), ('016', ms(4999)), ('016', ms(5000));
INSERT INTO s SELECT '012', ms(t) FROM unnest(ARRAY[1, 2, 5, 9, 10, 11]) t;
INSERT INTO s SELECT '002', ms(t) FROM unnest(ARRAY[-10, -9, -3, -2, -1, 1, 2, 3, 9, 10]) t;
INSERT INTO s VALUES ('018', '2021-03-14 00:00'), ('018', '2021-03-14 01:00'), ('018', '2021-03-14 03:00'), ('018', '2021-03-14 04:00');
SELECT stream_engine.emit_watermark('s', 'infinity');
SELECT format('REFRESH MATERIALIZED VIEW %s', v) FROM unnest('{win_002,win_004,win_006,win_008,win_010,win_010_back,win_012,win_014,win_016,win_018}'::text[]) v
\gexec
SELECT b, e, b = 1470844800000 AS expected FROM win_004;
SELECT * FROM win_006 ORDER BY t;
SELECT * FROM win_008 ORDER BY b;
SELECT * FROM win_010 ORDER BY b;
SELECT * FROM win_010_back ORDER BY b;
SELECT * FROM win_012 ORDER BY b;
SELECT * FROM win_014 ORDER BY b;
SELECT * FROM win_016 ORDER BY b, e;
SELECT * FROM win_018 ORDER BY ts;
SELECT * FROM win_002 ORDER BY t;

-- WIN-018 as it was published: instants, and windows on the local clock of a zone
CREATE FOREIGN TABLE z (ts timestamptz OPTIONS (event_time 'true')) SERVER stream_engine;
CREATE MATERIALIZED VIEW win_018_zone WITH (stream_engine.continuous) AS SELECT ts, window_start, window_end FROM z, hop(ts, '1 hour', '4 hours', timezone => 'America/Los_Angeles');
INSERT INTO z VALUES ('2021-03-14 00:00-08'), ('2021-03-14 01:00-08'), ('2021-03-14 03:00-07'), ('2021-03-14 04:00-07');
REFRESH MATERIALIZED VIEW win_018_zone;
SET timezone = 'America/Los_Angeles';
SELECT DISTINCT ON (ts) ts, window_start, window_end FROM win_018_zone ORDER BY ts, window_start;
RESET timezone;

-- WIN-020, WIN-022, WIN-024: refused at CREATE
CREATE MATERIALIZED VIEW x WITH (stream_engine.continuous) AS SELECT count(*) FROM s, hop(ts, '1 s', '-2 s') GROUP BY window_start, window_end;
CREATE MATERIALIZED VIEW x WITH (stream_engine.continuous) AS SELECT count(*) FROM s, hop(ts, '-1 s', '10 s') GROUP BY window_start, window_end;
CREATE MATERIALIZED VIEW x WITH (stream_engine.continuous) AS SELECT count(*) FROM s, hop(ts, '10 s', '-20 s') GROUP BY window_start, window_end;
CREATE MATERIALIZED VIEW x WITH (stream_engine.continuous) AS SELECT count(*) FROM s, cumulate(ts, '2 s', '5 s') GROUP BY window_start, window_end;
CREATE MATERIALIZED VIEW x WITH (stream_engine.continuous) AS SELECT count(*) FROM s, hop(ts, interval '0', '5 s') GROUP BY window_start, window_end;
CREATE MATERIALIZED VIEW x WITH (stream_engine.continuous) AS SELECT count(*) FROM s, tumble(ts, '0 s') GROUP BY window_start, window_end;

-- WIN-050, WIN-056: windows of rows without a GROUP BY come at once, whatever the watermark
CREATE FOREIGN TABLE b (ts timestamp OPTIONS (event_time 'true'), price numeric(10, 2), item text) SERVER stream_engine OPTIONS (watermark 'ts - interval ''1 s''');
CREATE MATERIALIZED VIEW win_050 WITH (stream_engine.continuous) AS SELECT * FROM b, tumble(ts, '10 s');
CREATE MATERIALIZED VIEW win_056 WITH (stream_engine.continuous) AS SELECT to_char(ts, 'SS') AS t, to_char(window_start, 'SS') AS b, to_char(window_end, 'SS') AS e FROM b, cumulate(ts, '5 s', '10 s') WHERE item = 'C';
INSERT INTO b SELECT '2020-04-15 08:00:00'::timestamp + n * interval '1 s', p, i FROM (VALUES (5, 4.00, 'C'), (7, 2.00, 'A'), (9, 5.00, 'D'), (11, 3.00, 'B'),
    (13, 1.00, 'E'), (17, 6.00, 'F'), (21, 4.00, 'A'), (27, 5.00, 'C')) x(n, p, i);
REFRESH MATERIALIZED VIEW win_050;
REFRESH MATERIALIZED VIEW win_056;
SELECT to_char(window_start, 'SS') AS b, to_char(window_end, 'SS') AS e, string_agg(item, ',' ORDER BY ts) AS items, sum(price),
    bool_and(window_time = window_end - interval '1 microsecond') AS time FROM win_050 GROUP BY window_start, window_end ORDER BY 1;
SELECT * FROM win_056 ORDER BY t, e;
