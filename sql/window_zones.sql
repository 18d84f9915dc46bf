-- Windows whose results change, and sessions, across changes of the clock, leap days and 1970: of moments, and of local times.
CREATE FUNCTION around(moment timestamptz, hours int) RETURNS TABLE (i int, ts timestamptz) LANGUAGE sql AS $$
    SELECT i, moment + (i - hours * 3) * interval '10 minutes' - (i * 7919 % 19) * interval '9 minutes 59.999999 s' FROM generate_series(0, hours * 6) i $$;
CREATE TABLE moments (zone text, moments timestamptz[]);
INSERT INTO moments VALUES
    ('Europe/Berlin', '{1969-12-31 23:00+00,2024-02-29 12:00+00,2024-03-31 01:00+00,2024-10-27 01:00+00}'),
    ('America/Sao_Paulo', '{1970-01-01 03:00+00,2018-02-18 02:00+00,2018-11-04 03:00+00,2020-02-29 12:00+00}'),
    ('Asia/Kathmandu', '{1969-06-30 18:30+00,1985-12-31 18:30+00,2024-02-29 00:00+00}'),
    ('Pacific/Apia', '{1969-12-31 11:00+00,2010-09-26 11:00+00,2011-12-30 10:00+00,2012-02-29 00:00+00}');

CREATE PROCEDURE in_zone(zone text, event_type text, emit text, INOUT report text DEFAULT '') LANGUAGE plpgsql AS $$
DECLARE
    zoned text := CASE event_type WHEN 'timestamptz' THEN format(', timezone => %L', zone) ELSE '' END;
    part record;
    nrows int;
    wrong int;
    late int;
BEGIN
    EXECUTE format('CREATE TEMP TABLE twin AS SELECT row_number() OVER (ORDER BY m, i)::int AS n, %s AS ts FROM moments p, unnest(moments) m, around(m, 48) WHERE p.zone = %L',
                   CASE event_type WHEN 'timestamptz' THEN 'ts' ELSE format('ts AT TIME ZONE %L', zone) END, zone);
    EXECUTE format($f$CREATE FOREIGN TABLE s (n int, ts %s OPTIONS (event_time 'true')) SERVER stream_engine OPTIONS (timezone %L, watermark 'ts - interval ''10 minutes''')$f$, event_type, zone);
    -- the same rows with a watermark that none is late for, for sessions
    EXECUTE format($f$CREATE FOREIGN TABLE patient (n int, ts %s OPTIONS (event_time 'true')) SERVER stream_engine OPTIONS (timezone %L, watermark 'ts - interval ''30 hours''')$f$, event_type, zone);
    CREATE TEMP TABLE parts AS
        SELECT 'days' AS what, format($f$tumble(ts, '1 day'%s)$f$, zoned) AS win
        UNION ALL SELECT 'hops', format($f$hop(ts, '6 hours', '1 day'%s)$f$, zoned)
        UNION ALL SELECT 'steps', format($f$cumulate(ts, '6 hours', '1 day'%s)$f$, zoned);
    FOR part IN TABLE parts LOOP
        EXECUTE format($f$CREATE MATERIALIZED VIEW %I WITH (stream_engine.continuous, stream_engine.allowed_lateness = '40 minutes', stream_engine.emit = %L) AS
            SELECT window_start, window_end, n %% 2 AS k, count(*) AS c, sum(n) AS s FROM s, %s GROUP BY window_start, window_end, n %% 2$f$, part.what, emit, part.win);
    END LOOP;
    EXECUTE format($f$CREATE MATERIALIZED VIEW sessions WITH (stream_engine.continuous, stream_engine.allowed_lateness = '1 hour', stream_engine.emit = %L) AS
        SELECT window_start, window_end, n %% 5 AS k, count(*) AS c, sum(n) AS s FROM patient, session(ts, '45 minutes') GROUP BY window_start, window_end, n %% 5$f$, emit);
    COMMIT;
    INSERT INTO s SELECT n, ts FROM twin WHERE n < 500 ORDER BY n;
    INSERT INTO patient SELECT n, ts FROM twin WHERE n < 500 ORDER BY n;
    COMMIT;
    PERFORM stream_engine.stop(v::regclass) FROM unnest('{days,hops,steps,sessions}'::text[]) v;
    COMMIT;
    PERFORM stream_engine.wait_state(v::regclass, 'stopped') FROM unnest('{days,hops,steps,sessions}'::text[]) v;
    PERFORM stream_engine.start(v::regclass) FROM unnest('{days,hops,steps,sessions}'::text[]) v;
    INSERT INTO s SELECT n, ts FROM twin WHERE n >= 500 ORDER BY n;
    INSERT INTO patient SELECT n, ts FROM twin WHERE n >= 500 ORDER BY n;
    PERFORM stream_engine.emit_watermark('s', 'infinity'), stream_engine.emit_watermark('patient', 'infinity');
    COMMIT;
    REFRESH MATERIALIZED VIEW days;
    REFRESH MATERIALIZED VIEW hops;
    REFRESH MATERIALIZED VIEW steps;
    REFRESH MATERIALIZED VIEW sessions;

    CREATE TEMP VIEW judged AS SELECT *, max(ts - interval '10 minutes') OVER (ORDER BY n ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) - interval '40 minutes' AS horizon FROM twin;
    FOR part IN TABLE parts LOOP
        EXECUTE format($f$CREATE TEMP VIEW expected AS SELECT window_start, window_end, n %% 2 AS k, count(*) AS c, sum(n) AS s FROM judged, %s
            WHERE horizon IS NULL OR window_end > horizon GROUP BY window_start, window_end, n %% 2$f$, part.win);
        EXECUTE format($f$SELECT (SELECT count(*) FROM %1$I), count(*) FROM ((TABLE %1$I EXCEPT ALL TABLE expected) UNION ALL (TABLE expected EXCEPT ALL TABLE %1$I)) x$f$, part.what) INTO nrows, wrong;
        EXECUTE format('SELECT count(*) FROM judged, %s WHERE window_end <= horizon', part.win) INTO late;
        report := report || format('%s %s wrong %s late %s ', part.what, nrows, wrong, late);
        SELECT late - late_pairs INTO late FROM stream_engine.jobs WHERE view = part.what::regclass;
        report := report || format('wrong %s, ', late);
        DROP VIEW expected;
    END LOOP;
    CREATE TEMP VIEW expected AS
        SELECT min(ts) AS window_start, max(ts) + interval '45 minutes' AS window_end, n % 5 AS k, count(*) AS c, sum(n) AS s
        FROM (SELECT n, ts, sum(is_new) OVER (PARTITION BY n % 5 ORDER BY ts, n) AS session
              FROM (SELECT n, ts, CASE WHEN ts - lag(ts) OVER (PARTITION BY n % 5 ORDER BY ts, n) <= interval '45 minutes' THEN 0 ELSE 1 END AS is_new FROM twin) a) b
        GROUP BY n % 5, session;
    SELECT (SELECT count(*) FROM sessions), count(*) INTO nrows, wrong FROM ((TABLE sessions EXCEPT ALL TABLE expected) UNION ALL (TABLE expected EXCEPT ALL TABLE sessions)) x;
    SELECT late_rows INTO late FROM stream_engine.jobs WHERE view = 'sessions'::regclass;
    report := report || format('sessions %s wrong %s late %s', nrows, wrong, late);
    SET LOCAL client_min_messages = warning;
    DROP TABLE twin CASCADE;
    DROP TABLE parts;
    DROP FOREIGN TABLE s CASCADE;
    DROP FOREIGN TABLE patient CASCADE;
    COMMIT;
END $$;

CALL in_zone('Europe/Berlin', 'timestamptz', 'early 3 hours');
CALL in_zone('Europe/Berlin', 'timestamp', 'on_update');
CALL in_zone('America/Sao_Paulo', 'timestamptz', 'on_update');
CALL in_zone('America/Sao_Paulo', 'timestamp', 'every 3 rows');
CALL in_zone('Asia/Kathmandu', 'timestamptz', 'on_close');
CALL in_zone('Asia/Kathmandu', 'timestamp', 'early 50 minutes');
CALL in_zone('Pacific/Apia', 'timestamptz', 'early 1 hour, late 30 minutes');
CALL in_zone('Pacific/Apia', 'timestamp', 'on_close, late 10 minutes');
