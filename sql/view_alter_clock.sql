-- Results by the clock whose interval is altered, to a longer and to a shorter one, come at the multiples of the new one; of sessions also at the next tick.
SELECT stream_engine.test_clock_set('2024-05-01 12:00');
CREATE FOREIGN TABLE s (k int, ts timestamptz OPTIONS (event_time 'true')) SERVER stream_engine OPTIONS (watermark 'ts');
CREATE MATERIALIZED VIEW w WITH (stream_engine.continuous, stream_engine.emit = 'early 1 second processing') AS
    SELECT window_end, count(*) AS n FROM s, tumble(ts, interval '1 day') GROUP BY window_end;
CREATE MATERIALIZED VIEW g WITH (stream_engine.continuous, stream_engine.emit = 'early 1 second processing') AS
    SELECT k, count(*) AS n FROM s GROUP BY k;
CREATE MATERIALIZED VIEW o WITH (stream_engine.continuous, stream_engine.emit = 'early 1 second processing') AS
    SELECT window_end, count(*) AS n FROM s, session(ts, interval '1 day') GROUP BY window_end;
CREATE VIEW shown AS SELECT (SELECT n FROM w) AS windows, (SELECT n FROM g) AS groups, (SELECT n FROM o) AS sessions;
CREATE PROCEDURE row_and_tick(at timestamptz) LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO s VALUES (1, '2024-01-01');
    COMMIT;
    PERFORM stream_engine.test_tick(at);
    REFRESH MATERIALIZED VIEW w; REFRESH MATERIALIZED VIEW g; REFRESH MATERIALIZED VIEW o;
END $$;
CREATE PROCEDURE alter_all(emit text) LANGUAGE plpgsql AS $$ DECLARE v text; BEGIN
    FOREACH v IN ARRAY ARRAY['w', 'g', 'o'] LOOP
        EXECUTE format('ALTER MATERIALIZED VIEW %I SET (stream_engine.emit = %L)', v, emit);
    END LOOP;
END $$;
CALL row_and_tick('2024-05-01 12:00:05');
TABLE shown;
CALL alter_all('early 7 minutes processing');
CALL row_and_tick('2024-05-01 12:00:30');
CALL row_and_tick('2024-05-01 12:05:59.999999');
TABLE shown;
-- since 1970
CALL row_and_tick('2024-05-01 12:06');
TABLE shown;
CALL row_and_tick('2024-05-01 12:06:01');
TABLE shown;
CALL alter_all('early 2 seconds processing');
CALL row_and_tick('2024-05-01 12:06:02');
TABLE shown;
SELECT stream_engine.test_clock_set(NULL);
