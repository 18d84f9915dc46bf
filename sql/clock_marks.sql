-- The clock is written into the log while a view needs it, and not otherwise.
SELECT stream_engine.test_fault_set('tick-write', 'count');
SELECT stream_engine.test_fault_set('coordinator-loop', 'count');
-- The clock is moved; the coordinator has looked at it when it has come by twice.
CREATE PROCEDURE move_clock(ts timestamptz) LANGUAGE plpgsql AS $$
DECLARE passed int := stream_engine.test_fault_reached('coordinator-loop');
BEGIN
    PERFORM stream_engine.test_clock_set(ts), stream_engine.test_fault_wait('coordinator-loop', passed + 1);
    passed := stream_engine.test_fault_reached('coordinator-loop');
    PERFORM stream_engine.test_clock_set(ts), stream_engine.test_fault_wait('coordinator-loop', passed + 1);
END $$;
CREATE FUNCTION ticks() RETURNS text LANGUAGE plpgsql AS $$
DECLARE n int := coalesce(stream_engine.test_fault_reached('tick-write'), 0);
BEGIN
    PERFORM stream_engine.test_fault_clear('tick-write'), stream_engine.test_fault_set('tick-write', 'count');
    RETURN CASE WHEN n > 0 THEN 'written' ELSE 'none' END;
END $$;
SELECT stream_engine.test_clock_set('2024-05-01 12:00');
CREATE FOREIGN TABLE s (a int, ts timestamptz OPTIONS (event_time 'true')) SERVER stream_engine OPTIONS (watermark 'ts');
CREATE MATERIALIZED VIEW by_event_time WITH (stream_engine.continuous) AS
  SELECT window_start, count(*) FROM s, tumble(ts, interval '10 s') GROUP BY 1;
CREATE MATERIALIZED VIEW groups WITH (stream_engine.continuous) AS SELECT a, count(*) FROM s GROUP BY 1;
CREATE MATERIALIZED VIEW rows WITH (stream_engine.continuous) AS SELECT a, proctime() FROM s;
REFRESH MATERIALIZED VIEW by_event_time;
REFRESH MATERIALIZED VIEW groups;
REFRESH MATERIALIZED VIEW rows;
CALL move_clock('2024-05-01 12:00:10');
SELECT ticks();

CREATE MATERIALIZED VIEW by_proctime WITH (stream_engine.continuous) AS
  SELECT window_start, count(*) FROM s, tumble(proctime(), interval '10 s') GROUP BY 1;
REFRESH MATERIALIZED VIEW by_proctime;
CALL move_clock('2024-05-01 12:00:20');
SELECT ticks();
-- One that is stopped needs none, and one that goes on does.
SELECT stream_engine.stop('by_proctime');
SELECT stream_engine.wait_state('by_proctime', 'stopped');
SELECT ticks();
CALL move_clock('2024-05-01 12:00:30');
SELECT ticks();
SELECT stream_engine.start('by_proctime');
SELECT stream_engine.test_tick_wait();
SELECT ticks();
CALL move_clock('2024-05-01 12:00:40');
SELECT ticks();
SELECT stream_engine.stop('by_proctime');
SELECT stream_engine.wait_state('by_proctime', 'stopped');
DROP MATERIALIZED VIEW by_proctime;
CALL move_clock('2024-05-01 12:01');
SELECT ticks();

-- Options of the stream; the views that were there before begin to need them.
ALTER FOREIGN TABLE s OPTIONS (ADD max_delay '1 minute');
REFRESH MATERIALIZED VIEW by_event_time;
CALL move_clock('2024-05-01 12:01:10');
SELECT ticks();
ALTER FOREIGN TABLE s OPTIONS (DROP max_delay);
REFRESH MATERIALIZED VIEW by_event_time;
REFRESH MATERIALIZED VIEW groups;
REFRESH MATERIALIZED VIEW rows;
CALL move_clock('2024-05-01 12:01:20');
SELECT ticks();
ALTER FOREIGN TABLE s OPTIONS (ADD idle_timeout '1 minute');
REFRESH MATERIALIZED VIEW groups;
CALL move_clock('2024-05-01 12:01:40');
SELECT ticks();

-- While somebody keeps the coordinator out of our tables, too.
BEGIN;
LOCK TABLE stream_engine.job_catalog;
SET LOCAL statement_timeout = '20 s';
CALL move_clock('2024-05-01 12:02');
CALL move_clock('2024-05-01 12:02:10');
SELECT ticks();
COMMIT;
REFRESH MATERIALIZED VIEW groups;
SELECT stream_engine.test_clock_set(NULL);
