-- One producer's broken clock never closes everybody's windows, whatever is done with its rows.
SELECT stream_engine.test_clock_set('2024-05-05 12:00+00');
CREATE PROCEDURE make(action text) LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format($f$CREATE FOREIGN TABLE %I (producer text, v int, ts timestamptz OPTIONS (event_time 'true')) SERVER stream_engine
        OPTIONS (watermark 'ts - interval ''10 seconds''', max_future '5 minutes', future_time %L)$f$, 's_' || action, action);
    EXECUTE format($f$CREATE MATERIALIZED VIEW %I WITH (stream_engine.continuous) AS
        SELECT window_start, count(*) AS n, sum(v) AS v FROM %I, tumble(ts, '1 minute') GROUP BY window_start$f$, 'v_' || action, 's_' || action);
    EXECUTE format($f$CREATE MATERIALIZED VIEW %I WITH (stream_engine.continuous) AS
        SELECT producer, window_start, window_end, count(*) AS n FROM %I, session(ts, '30 seconds') GROUP BY producer, window_start, window_end$f$, 'session_' || action, 's_' || action);
END $$;
CREATE PROCEDURE say(producer text, v int, ts timestamptz) LANGUAGE plpgsql AS $$
DECLARE action text;
BEGIN
    FOREACH action IN ARRAY '{error,drop,pass,dead_letter}'::text[] LOOP
        BEGIN
            EXECUTE format('INSERT INTO %I VALUES ($1, $2, $3)', 's_' || action) USING producer, v, ts;
        EXCEPTION WHEN datetime_field_overflow THEN
            RAISE NOTICE '% %: %', action, SQLSTATE, SQLERRM;
        END;
    END LOOP;
END $$;
CREATE PROCEDURE show() LANGUAGE plpgsql AS $$
DECLARE
    action text;
    windows text;
    sessions text;
    late bigint;
BEGIN
    FOREACH action IN ARRAY '{error,drop,pass,dead_letter}'::text[] LOOP
        EXECUTE format('REFRESH MATERIALIZED VIEW %I', 'v_' || action);
        EXECUTE format('REFRESH MATERIALIZED VIEW %I', 'session_' || action);
        EXECUTE format('SELECT string_agg(window_start::time || '' '' || n || '' '' || v, '', '' ORDER BY window_start) FROM %I', 'v_' || action) INTO windows;
        EXECUTE format('SELECT string_agg(producer || '' '' || window_start::time || '' '' || n, '', '' ORDER BY window_start, producer) FROM %I', 'session_' || action) INTO sessions;
        SELECT sum(late_rows) INTO late FROM stream_engine.jobs WHERE view::text LIKE '%\_' || action;
        RAISE NOTICE '%: windows %; sessions %; late %', action, windows, sessions, late;
    END LOOP;
END $$;
CALL make('error');
CALL make('drop');
CALL make('pass');
CALL make('dead_letter');
SET client_min_messages = notice;
CALL say('good', 1, '2024-05-05 11:59:50+00');
CALL say('broken', 1, '2100-01-01');
CALL say('good', 2, '2024-05-05 11:59:55+00');
CALL say('good', 3, '2024-05-05 12:00:05+00');
CALL show();
-- the good producer's clock is within what is allowed, and closes windows
CALL say('good', 4, '2024-05-05 12:01:15+00');
CALL say('broken', 2, '2100-01-01 00:00:01');
CALL say('good', 5, '2024-05-05 12:01:05+00');
CALL show();

-- restarted, a view sees the same: the row says that it was passed
SELECT stream_engine.stop('v_pass');
SELECT stream_engine.wait_state('v_pass', 'stopped');
ALTER FOREIGN TABLE s_pass OPTIONS (DROP max_future, DROP future_time);
CALL say('good', 6, '2024-05-05 12:01:06+00');
SELECT stream_engine.start('v_pass');
CALL show();
CREATE MATERIALIZED VIEW again WITH (stream_engine.continuous, stream_engine.start = 'earliest') AS
    SELECT window_start, count(*) AS n, sum(v) AS v FROM s_pass, tumble(ts, '1 minute') GROUP BY window_start;
REFRESH MATERIALIZED VIEW again;
SELECT * FROM again ORDER BY 1;

-- a passed row is in its window: at the end all views are what PostgreSQL says of the rows that are there
SELECT stream_engine.emit_watermark(stream, 'infinity') FROM unnest('{s_error,s_drop,s_pass,s_dead_letter}'::regclass[]) stream;
CALL show();
SELECT window_start, count(*) AS n, sum(v) AS v FROM s_pass, tumble(ts, '1 minute') GROUP BY window_start ORDER BY 1;
SELECT window_start, count(*) AS n, sum(v) AS v FROM s_drop, tumble(ts, '1 minute') GROUP BY window_start ORDER BY 1;
SELECT stream, reason, rows FROM stream_engine.dropped_rows;
SELECT stream, reason, row FROM stream_engine.dead_letters ORDER BY id;

-- rows without a time, and with an infinite one, are in no window, here and there; a view without windows has them
CREATE FOREIGN TABLE none (v int, ts timestamptz OPTIONS (event_time 'true')) SERVER stream_engine
    OPTIONS (watermark 'coalesce(ts, ''2100-01-01'')', null_time 'pass', infinite_time 'pass');
CREATE MATERIALIZED VIEW none_tumble WITH (stream_engine.continuous) AS
    SELECT window_start, count(*) AS n, sum(v) AS v FROM none, tumble(ts, '1 minute') GROUP BY window_start;
CREATE MATERIALIZED VIEW none_hop WITH (stream_engine.continuous) AS
    SELECT window_start, count(DISTINCT v) AS n FROM none, hop(ts, '1 minute', '2 minutes') GROUP BY window_start;
CREATE MATERIALIZED VIEW none_rows WITH (stream_engine.continuous) AS SELECT v, window_end FROM none, cumulate(ts, '1 minute', '2 minutes');
CREATE MATERIALIZED VIEW none_session WITH (stream_engine.continuous) AS
    SELECT window_start, window_end, count(*) AS n FROM none, session(ts, '30 seconds') GROUP BY window_start, window_end;
CREATE MATERIALIZED VIEW none_all WITH (stream_engine.continuous) AS SELECT count(*) AS n, count(ts) AS times, max(ts) AS latest FROM none;
INSERT INTO none VALUES (1, NULL), (2, 'infinity'), (3, '-infinity'), (4, '2024-05-05 12:00:10+00'), (5, NULL), (6, '2024-05-05 12:00:20+00');
INSERT INTO none VALUES (7, '2024-05-05 12:05+00'), (8, 'infinity');
REFRESH MATERIALIZED VIEW none_tumble;
REFRESH MATERIALIZED VIEW none_hop;
REFRESH MATERIALIZED VIEW none_rows;
REFRESH MATERIALIZED VIEW none_session;
REFRESH MATERIALIZED VIEW none_all;
SELECT * FROM none_tumble;
SELECT window_start, count(*) AS n, sum(v) AS v FROM none, tumble(ts, '1 minute') GROUP BY window_start ORDER BY 1;
SELECT * FROM none_hop ORDER BY 1;
SELECT * FROM none_rows EXCEPT ALL SELECT v, window_end FROM none, cumulate(ts, '1 minute', '2 minutes');
SELECT * FROM none_session;
SELECT * FROM none_all;
SELECT view, late_rows, late_pairs, watermark FROM stream_engine.jobs WHERE view::text LIKE 'none%' ORDER BY view::text;
