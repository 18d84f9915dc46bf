-- Watermarks across changes of the clock, leap days and 1970, for moments and for local times.
CREATE PROCEDURE make(name text, zone text, expr text, event_type text) LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format($f$CREATE FOREIGN TABLE %I (n int, ts %s OPTIONS (event_time 'true')) SERVER stream_engine OPTIONS (timezone %L, watermark %L)$f$, name, event_type, zone, expr);
    EXECUTE format($f$CREATE MATERIALIZED VIEW %I WITH (stream_engine.continuous) AS SELECT n, ts, current_watermark(%L) AS h FROM %I$f$, name || '_stamps', name, name);
    EXECUTE format($f$CREATE MATERIALIZED VIEW %I WITH (stream_engine.continuous) AS SELECT window_start, window_end, count(*) AS c, sum(n) AS s FROM %I, tumble(ts, '1 hour') GROUP BY window_start, window_end$f$, name || '_hours', name);
    EXECUTE format($f$CREATE MATERIALIZED VIEW %I WITH (stream_engine.continuous) AS SELECT window_start, window_end, count(*) AS c, sum(n) AS s FROM %I, tumble(ts, '1 day'%s) GROUP BY window_start, window_end$f$,
                   name || '_days', name, CASE event_type WHEN 'timestamptz' THEN format(', timezone => %L', zone) ELSE '' END);
    COMMIT;
END $$;

-- rows of a twin into the stream, and every view against the query over the twin, read on the stream's own clock
CREATE PROCEDURE compare(name text, zone text, expr text, event_type text, twin text) LANGUAGE plpgsql AS $$
DECLARE
    days text := CASE event_type WHEN 'timestamptz' THEN format('''1 day'', timezone => %L', zone) ELSE '''1 day''' END;
    moment text := CASE event_type WHEN 'timestamptz' THEN 'h' ELSE format('h AT TIME ZONE %L', zone) END;
    part record;
    nrows bigint;
    differences bigint;
    counted bigint;
    late bigint;
    expected_late bigint;
    report text := '';
BEGIN
    EXECUTE format('INSERT INTO %I SELECT n, ts FROM %I ORDER BY n', name, twin);
    COMMIT;
    EXECUTE format('REFRESH MATERIALIZED VIEW %I', name || '_stamps');
    EXECUTE format('REFRESH MATERIALIZED VIEW %I', name || '_hours');
    EXECUTE format('REFRESH MATERIALIZED VIEW %I', name || '_days');
    PERFORM set_config('TimeZone', zone, false);
    EXECUTE format($f$CREATE TEMP TABLE said AS SELECT n, ts, max(%s) OVER (ORDER BY n ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS h FROM %I$f$, expr, twin);
    EXECUTE format($f$CREATE TEMP TABLE finish AS SELECT max(%s) AS h FROM %I$f$, expr, twin);
    EXECUTE format($f$SELECT count(*) FROM ((SELECT n, ts, h FROM %I EXCEPT ALL SELECT n, ts, %s FROM said) UNION ALL (SELECT n, ts, %s FROM said EXCEPT ALL SELECT n, ts, h FROM %I)) x$f$,
                   name || '_stamps', moment, moment, name || '_stamps') INTO differences;
    SELECT count(*) INTO nrows FROM said;
    report := format('%s rows, stamps %s', nrows, differences);
    FOR part IN SELECT * FROM (VALUES ('hours', '''1 hour'''), ('days', days)) p(what, arguments) LOOP
        EXECUTE format($f$CREATE TEMP VIEW expected AS SELECT window_start, window_end, count(*) AS c, sum(n) AS s FROM said, tumble(ts, %s)
            WHERE (h IS NULL OR window_end > h) GROUP BY window_start, window_end HAVING window_end <= (SELECT h FROM finish)$f$, part.arguments);
        EXECUTE format($f$SELECT count(*) FROM ((TABLE %1$I EXCEPT ALL TABLE expected) UNION ALL (TABLE expected EXCEPT ALL TABLE %1$I)) x$f$, name || '_' || part.what) INTO differences;
        EXECUTE format('SELECT count(*) FROM %I', name || '_' || part.what) INTO counted;
        EXECUTE format('SELECT count(*) FROM said, tumble(ts, %s) WHERE window_end <= h', part.arguments) INTO expected_late;
        SELECT late_rows - expected_late INTO late FROM stream_engine.jobs WHERE view = (name || '_' || part.what)::regclass;
        report := report || format(', %s %s windows %s (late rows %s %s)', part.what, counted, differences, expected_late, late);
        DROP VIEW expected;
    END LOOP;
    RAISE NOTICE '% %: %', name, zone, report;
    DROP TABLE said, finish;
    PERFORM set_config('TimeZone', 'UTC', false);
END $$;

-- every ten minutes around a moment, out of order by up to three hours
CREATE FUNCTION around(moment timestamptz, hours int) RETURNS TABLE (i int, ts timestamptz) LANGUAGE sql AS $$
    SELECT i, moment + (i - hours * 3) * interval '10 minutes' - (i * 7919 % 19) * interval '9 minutes 59.999999 s' FROM generate_series(0, hours * 6) i $$;
CREATE TABLE berlin AS SELECT row_number() OVER (ORDER BY m, i)::int AS n, ts FROM unnest('{1969-12-31 23:00+00,2024-02-29 12:00+00,2024-03-31 01:00+00,2024-10-27 01:00+00}'::timestamptz[]) m, around(m, 60);
CREATE TABLE sao_paulo AS SELECT row_number() OVER (ORDER BY m, i)::int AS n, ts FROM unnest('{1970-01-01 03:00+00,2018-02-18 02:00+00,2018-11-04 03:00+00,2020-02-29 12:00+00}'::timestamptz[]) m, around(m, 60);
CREATE TABLE kathmandu AS SELECT row_number() OVER (ORDER BY m, i)::int AS n, ts FROM unnest('{1969-06-30 18:30+00,1985-12-31 18:30+00,2024-02-29 00:00+00}'::timestamptz[]) m, around(m, 60);
CREATE TABLE apia AS SELECT row_number() OVER (ORDER BY m, i)::int AS n, ts FROM unnest('{1969-12-31 11:00+00,2010-09-26 11:00+00,2011-12-30 10:00+00,2012-02-29 00:00+00}'::timestamptz[]) m, around(m, 96);
CREATE TABLE berlin_local AS SELECT n, ts AT TIME ZONE 'Europe/Berlin' AS ts FROM berlin;
CREATE TABLE sao_paulo_local AS SELECT n, ts AT TIME ZONE 'America/Sao_Paulo' AS ts FROM sao_paulo;
CREATE TABLE kathmandu_local AS SELECT n, ts AT TIME ZONE 'Asia/Kathmandu' AS ts FROM kathmandu;
CREATE TABLE apia_local AS SELECT n, ts AT TIME ZONE 'Pacific/Apia' AS ts FROM apia;

-- moments: a day may have 23, 24, 25 hours or none, an hour begins at a quarter past
SET TimeZone = 'America/Los_Angeles';   -- the creating session's zone is none of theirs
SELECT format('CALL make(%L, %L, %L, %L)', m.name || '_' || e.tag, m.zone, e.expr, 'timestamptz'),
       format('CALL compare(%L, %L, %L, %L, %L)', m.name || '_' || e.tag, m.zone, e.expr, 'timestamptz', m.name)
FROM (VALUES ('berlin', 'Europe/Berlin'), ('sao_paulo', 'America/Sao_Paulo'), ('kathmandu', 'Asia/Kathmandu'), ('apia', 'Pacific/Apia')) m(name, zone),
     (VALUES ('day', 'ts - interval ''1 day'''), ('trunc', 'date_trunc(''hour'', ts) - interval ''1 hour''')) e(tag, expr)
ORDER BY 1 \gexec
RESET TimeZone;

-- local times: what the watermark is as a moment depends on the zone, what it closes does not
SELECT format('CALL make(%L, %L, %L, %L)', m.name || '_local_s', m.zone, e.expr, 'timestamp'),
       format('CALL compare(%L, %L, %L, %L, %L)', m.name || '_local_s', m.zone, e.expr, 'timestamp', m.name || '_local')
FROM (VALUES ('berlin', 'Europe/Berlin'), ('sao_paulo', 'America/Sao_Paulo'), ('kathmandu', 'Asia/Kathmandu'), ('apia', 'Pacific/Apia')) m(name, zone),
     (VALUES ('ts - interval ''1 hour''')) e(expr)
ORDER BY 1 \gexec

-- a mark is a moment, and comes back as one; in the hour that is there twice as the second of them
CREATE FOREIGN TABLE marks (ts timestamp OPTIONS (event_time 'true')) SERVER stream_engine OPTIONS (timezone 'Europe/Berlin');
SELECT stream_engine.emit_watermark('marks', '1969-12-31 22:59:59.999999+00');
SELECT current_watermark('marks');
SELECT stream_engine.emit_watermark('marks', '2024-02-29 23:00+00');
SELECT current_watermark('marks');
SELECT stream_engine.emit_watermark('marks', '2024-10-27 00:30+00');
SELECT current_watermark('marks');
SELECT stream_engine.emit_watermark('marks', '2024-10-27 01:30+00');
SELECT current_watermark('marks');

-- what is too far in the future goes by the stream's clock, also on the day that has 23 hours
CREATE FOREIGN TABLE spring (n int, ts timestamp OPTIONS (event_time 'true')) SERVER stream_engine OPTIONS (timezone 'Europe/Berlin', max_future '1 hour', future_time 'drop');
SELECT stream_engine.test_clock_set('2024-03-31 00:30+00');
SET client_min_messages = error;
INSERT INTO spring VALUES (1, '2024-03-31 01:30'), (2, '2024-03-31 03:30'), (3, '2024-03-31 03:30:00.000001');
SELECT n FROM spring;

-- ingestion time: a row's time is that of its insertion
CREATE FOREIGN TABLE hit (path text, at timestamptz OPTIONS (event_time 'true') DEFAULT now()) SERVER stream_engine OPTIONS (watermark 'at');
CREATE MATERIALIZED VIEW hits WITH (stream_engine.continuous) AS SELECT window_end, count(*) AS n FROM hit, tumble(at, '1 us') GROUP BY window_end;
CREATE MATERIALIZED VIEW stamps WITH (stream_engine.continuous) AS SELECT path, at, current_watermark('hit') AS h FROM hit;
INSERT INTO hit VALUES ('/'), ('/a');
INSERT INTO hit VALUES ('/b');
COPY hit (path) FROM stdin;
/c
\.
INSERT INTO hit VALUES ('/d');
REFRESH MATERIALIZED VIEW hits;
REFRESH MATERIALIZED VIEW stamps;
SELECT sum(n) AS counted, count(*) AS windows FROM hits;
SELECT path, at <= clock_timestamp() AS past, h <= at AS behind, h = at AS equal FROM stamps ORDER BY path;
SELECT count(*) FROM hits h JOIN (SELECT window_end, count(*) AS n FROM hit, tumble(at, '1 us') GROUP BY window_end) e USING (window_end, n);
SELECT late_rows FROM stream_engine.jobs WHERE view = 'hits'::regclass;
