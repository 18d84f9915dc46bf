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

-- Until a fault point was passed so often; until a session whose query begins so waits as a session that waits for a job does.
CREATE FUNCTION stream_engine.test_fault_wait(name text, passes int DEFAULT 1) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    WHILE coalesce(stream_engine.test_fault_reached(name), 0) < passes LOOP
        PERFORM pg_sleep(0.01);
    END LOOP;
END $$;
CREATE FUNCTION stream_engine.test_waits(query_begins text, type text DEFAULT 'Extension') RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    WHILE NOT EXISTS (SELECT FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid() AND starts_with(query, query_begins)
              AND state = 'active' AND wait_event_type = type) LOOP
        PERFORM pg_sleep(0.01), pg_stat_clear_snapshot();
    END LOOP;
END $$;

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
