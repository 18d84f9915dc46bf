-- test/lib/test_support.sql: SQL functions of test builds: fault points and the driven clock.
CREATE FUNCTION stream_engine.test_fault_set(name text, action text, after int DEFAULT 0, times int DEFAULT -1)
    RETURNS void LANGUAGE c STRICT AS '$libdir/stream_engine', 'stream_engine_test_fault_set';
CREATE FUNCTION stream_engine.test_fault_clear(name text DEFAULT NULL)
    RETURNS void LANGUAGE c AS '$libdir/stream_engine', 'stream_engine_test_fault_clear';
CREATE FUNCTION stream_engine.test_fault_reached(name text)
    RETURNS int LANGUAGE c STRICT AS '$libdir/stream_engine', 'stream_engine_test_fault_reached';
CREATE FUNCTION stream_engine.test_clock_set(ts timestamptz)
    RETURNS void LANGUAGE c AS '$libdir/stream_engine', 'stream_engine_test_clock_set';

-- The driven clock stands at a time, and the tick mark that says so stands in the log: a view that needs ticks must be there.
CREATE FUNCTION stream_engine.test_tick_wait()
    RETURNS void LANGUAGE c AS '$libdir/stream_engine', 'stream_engine_test_tick_wait';
CREATE FUNCTION stream_engine.test_tick(ts timestamptz) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM stream_engine.test_clock_set(ts), stream_engine.test_tick_wait();
END $$;

-- The ways to wait (test/README.md). Each ends with an error, when its time is over, that says what it waited for and what was there.
-- Until a fault point that is set was passed so often; NULL: all that are set, together.
CREATE FUNCTION stream_engine.test_fault_wait(name text, passes int DEFAULT 1, timeout interval DEFAULT '2 min')
    RETURNS void LANGUAGE c AS '$libdir/stream_engine', 'stream_engine_test_fault_wait';
-- Until the first column of a query's row is true; the others are shown if it never is.
CREATE FUNCTION stream_engine.test_until(query text, timeout interval DEFAULT '2 min') RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    until timestamptz := clock_timestamp() + timeout;
    seen record;
BEGIN
    LOOP
        PERFORM pg_stat_clear_snapshot();
        EXECUTE query INTO seen;
        EXIT WHEN seen::text ~ '^\(t[,)]';
        IF clock_timestamp() >= until THEN
            RAISE 'timeout while waiting until this is true: %', query
                USING ERRCODE = 'query_canceled', DETAIL = format('Last seen: %s.', coalesce(nullif(seen::text, '()'), 'no row'));
        END IF;
        PERFORM pg_sleep(0.01);
    END LOOP;
END $$;
-- Until a session whose query begins so waits as a session that waits for a job does.
CREATE FUNCTION stream_engine.test_waits(query_begins text, type text DEFAULT 'Extension') RETURNS void LANGUAGE sql AS $$
    SELECT stream_engine.test_until(format('
        SELECT bool_or(starts_with(query, %1$L) AND state = ''active'' AND wait_event_type = %2$L),
               array_agg(format(''%%s, %%s, %%s: %%s'', pid, state, wait_event_type, query))
        FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()', query_begins, type));
$$;

-- What a job would get from a stream (source/source_probe.c): rows with their stamps, by batch.
CREATE FUNCTION stream_engine.test_start_mark(stream regclass)
    RETURNS bytea LANGUAGE c STRICT AS '$libdir/stream_engine', 'stream_engine_test_start_mark';
CREATE FUNCTION stream_engine.test_start_at(lsn pg_lsn)
    RETURNS bytea LANGUAGE c STRICT AS '$libdir/stream_engine', 'stream_engine_test_start_at';
CREATE FUNCTION stream_engine.test_source(stream regclass, "position" bytea, capacity int, reopen bool DEFAULT false,
    OUT batch int, OUT place text, OUT event_time timestamptz, OUT wm timestamptz, OUT "row" text)
    RETURNS SETOF record LANGUAGE c STRICT AS '$libdir/stream_engine', 'stream_engine_test_source';
CREATE FUNCTION stream_engine.test_source_end(stream regclass, "position" bytea,
    OUT end_position bytea, OUT restart_lsn pg_lsn, OUT commit_lsn pg_lsn)
    LANGUAGE c STRICT AS '$libdir/stream_engine', 'stream_engine_test_source_end';
