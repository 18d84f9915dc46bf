-- Published cases of other engines: when a source is idle (WM-…). Their watermark W is our watermark W + 1 ms.
CREATE FUNCTION ms(t bigint) RETURNS timestamp LANGUAGE sql IMMUTABLE AS $$SELECT '1970-01-01'::timestamp + t * interval '1 ms'$$;
CREATE FUNCTION clock(t bigint) RETURNS timestamptz LANGUAGE sql IMMUTABLE AS $$SELECT '2024-05-01 12:00+00'::timestamptz + t * interval '1 ms'$$;
CREATE VIEW theirs AS SELECT (extract(epoch FROM watermark AT TIME ZONE 'UTC') * 1000)::bigint - 1 AS w, idle FROM stream_engine.sources;
CREATE PROCEDURE pt(t bigint) LANGUAGE plpgsql AS $$ BEGIN PERFORM stream_engine.test_tick(clock(t)); END $$;

-- WM-06: delay 1, idle after a second
SELECT stream_engine.test_clock_set(clock(0));
CREATE FOREIGN TABLE s (ts timestamp OPTIONS (event_time 'true')) SERVER stream_engine OPTIONS (watermark 'ts', idle_timeout '1 s');
CREATE MATERIALIZED VIEW wm_06 WITH (stream_engine.continuous) AS SELECT ts FROM s;
CALL pt(1);
INSERT INTO s VALUES (ms(1)), (ms(2));
INSERT INTO s VALUES (ms(3)), (ms(4));
CALL pt(51);
REFRESH MATERIALIZED VIEW wm_06;
TABLE theirs;
CALL pt(1050);
REFRESH MATERIALIZED VIEW wm_06;
TABLE theirs;
INSERT INTO s VALUES (ms(4));
REFRESH MATERIALIZED VIEW wm_06;
TABLE theirs;
INSERT INTO s VALUES (ms(5)), (ms(6)), (ms(7)), (ms(8));
CALL pt(1101);
REFRESH MATERIALIZED VIEW wm_06;
TABLE theirs;

-- WM-08: a reader that does not get to its rows for twenty times as long: they came, so the stream was not idle
CALL pt(1200);
REFRESH MATERIALIZED VIEW wm_06;
SELECT stream_engine.test_fault_set('round-begin', 'wait');
SELECT stream_engine.test_clock_set(clock(20500));
INSERT INTO s VALUES (ms(9));
CALL pt(21200);
SELECT stream_engine.test_fault_clear('round-begin');
REFRESH MATERIALIZED VIEW wm_06;
TABLE theirs;
CALL pt(21500);
REFRESH MATERIALIZED VIEW wm_06;
TABLE theirs;
SELECT stream_engine.test_clock_set(NULL);
