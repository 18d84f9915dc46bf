-- current_watermark(stream): in a view the watermark before the row, elsewhere that of the end of the log.
CREATE FOREIGN TABLE s (a int, ts timestamptz OPTIONS (event_time 'true')) SERVER stream_engine
    OPTIONS (watermark 'ts - interval ''5 seconds''', null_time 'pass');
CREATE TABLE twin (n int GENERATED ALWAYS AS IDENTITY, a int, ts timestamptz);
SELECT current_watermark('s');
SELECT current_watermark(NULL);
SELECT current_watermark('twin');

-- nobody reads the stream: what the log has
INSERT INTO twin (a, ts) SELECT i, '2024-01-01'::timestamptz + i * interval '1 s' - CASE WHEN i % 7 = 5 THEN interval '20 s' ELSE '0' END FROM generate_series(1, 60) i;
INSERT INTO s SELECT a, ts FROM twin ORDER BY n;
SELECT current_watermark('s');

-- in views: the running maximum before the row, whatever is done with it
CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous, stream_engine.start = 'earliest') AS
    SELECT a, ts, current_watermark('s') AS h FROM s;
CREATE MATERIALIZED VIEW late WITH (stream_engine.continuous, stream_engine.start = 'earliest') AS
    SELECT count(*) AS n, max(current_watermark('s') - ts) AS latest FROM s WHERE ts < current_watermark('s');
CREATE MATERIALIZED VIEW windows WITH (stream_engine.continuous, stream_engine.start = 'earliest') AS
    SELECT window_start, count(*) AS n, max(current_watermark('s')) AS h FROM s, tumble(ts, '10 s') GROUP BY window_start;
CREATE VIEW plain AS SELECT a, current_watermark('s') AS h FROM s;
CREATE MATERIALIZED VIEW through WITH (stream_engine.continuous, stream_engine.start = 'earliest') AS SELECT count(h), max(h) FROM plain WHERE a % 2 = 0;
INSERT INTO twin (a, ts) SELECT i, '2024-01-01'::timestamptz + i * interval '1 s' - CASE WHEN i % 7 = 5 THEN interval '20 s' ELSE '0' END FROM generate_series(61, 100) i;
INSERT INTO s SELECT a, ts FROM twin WHERE a > 60 ORDER BY n;
REFRESH MATERIALIZED VIEW v;
REFRESH MATERIALIZED VIEW late;
REFRESH MATERIALIZED VIEW windows;
REFRESH MATERIALIZED VIEW through;
CREATE VIEW expected AS
    SELECT a, ts, max(ts) OVER (ORDER BY n ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) - interval '5 s' AS h FROM twin;
SELECT count(*) AS differences FROM (SELECT * FROM v EXCEPT ALL SELECT * FROM expected) x;
SELECT count(*) AS differences FROM (SELECT * FROM expected EXCEPT ALL SELECT * FROM v) x;
SELECT * FROM late EXCEPT ALL SELECT count(*), max(h - ts) FROM expected WHERE ts < h;
SELECT * FROM through EXCEPT ALL SELECT count(h), max(h) FROM expected WHERE a % 2 = 0;
SELECT w.* FROM windows w EXCEPT ALL
    SELECT window_start, count(*), max(h) FROM expected, tumble(ts, '10 s') WHERE h IS NULL OR window_end > h GROUP BY window_start;
SELECT count(*) FROM windows;
SELECT current_watermark('s');

-- it needs no view to have come there: one is stopped, one was made anew, one is at other things
SELECT stream_engine.stop(v) FROM unnest('{v,late,windows}'::regclass[]) v;
SELECT stream_engine.wait_state(v, 'stopped') FROM unnest('{v,late,windows}'::regclass[]) v;
INSERT INTO s VALUES (101, '2024-01-01 01:00');
SELECT current_watermark('s');
CREATE MATERIALIZED VIEW anew WITH (stream_engine.continuous) AS SELECT a FROM s;
CREATE MATERIALIZED VIEW other WITH (stream_engine.continuous) AS SELECT window_start, count(*) FROM s, tumble(proctime(), '1 day') GROUP BY window_start;
REFRESH MATERIALIZED VIEW anew;
REFRESH MATERIALIZED VIEW other;
SELECT current_watermark('s');
-- own rows are not in the log yet; those of others are seen as any
BEGIN ISOLATION LEVEL REPEATABLE READ;
INSERT INTO s VALUES (102, '2024-01-01 02:00');
SELECT current_watermark('s');
COMMIT;
SELECT current_watermark('s');
-- a passed row has a stamp, and makes none
INSERT INTO s VALUES (103, NULL), (104, '2024-01-01 01:30');
SELECT current_watermark('s');
REFRESH MATERIALIZED VIEW through;
SELECT * FROM through;
-- marks; and once per statement, not once per row
SELECT stream_engine.emit_watermark('s', '2024-01-01 03:00');
SELECT current_watermark('s');
SELECT count(*) FROM generate_series(1, 3000) i WHERE current_watermark('s') > '2024-01-01'::timestamptz + i * interval '1 s';
SELECT current_watermark('s') - ts AS behind FROM s WHERE ts >= '2024-01-01 01:00';
DO $$
BEGIN
    FOR i IN 1 .. 2 LOOP
        INSERT INTO s VALUES (i, '2024-01-01 04:00'::timestamptz + i * interval '1 hour');
        RAISE NOTICE '%', current_watermark('s');
        COMMIT;
        RAISE NOTICE '%', current_watermark('s');
    END LOOP;
END $$;
SELECT stream_engine.emit_watermark('s', 'infinity');
SELECT current_watermark('s');
SELECT stream_engine.start(v) FROM unnest('{v,late,windows}'::regclass[]) v;
REFRESH MATERIALIZED VIEW v;
SELECT a, h FROM v WHERE a > 100 ORDER BY h, a;

-- the clock moves it, too, as ticks in the log say; before a view has read them
SELECT stream_engine.test_tick('2024-05-01 12:00');    -- a view by proctime() needs them already
CREATE FOREIGN TABLE delayed (a int, ts timestamptz OPTIONS (event_time 'true')) SERVER stream_engine
    OPTIONS (watermark 'ts - interval ''1 hour''', max_delay '20 seconds');
CREATE MATERIALIZED VIEW ticks WITH (stream_engine.continuous) AS SELECT a, current_watermark('delayed') AS h FROM delayed;
INSERT INTO delayed VALUES (1, '2024-05-01 12:00');
SELECT stream_engine.test_tick('2024-05-01 12:00:30');
INSERT INTO delayed VALUES (2, '2024-05-01 12:00');
REFRESH MATERIALIZED VIEW ticks;
SELECT * FROM ticks ORDER BY a;
SELECT current_watermark('delayed');
SELECT stream_engine.test_fault_set('round-begin', 'wait');
SELECT stream_engine.test_tick('2024-05-01 12:01');
SELECT current_watermark('delayed');
SELECT stream_engine.test_fault_clear('round-begin');
REFRESH MATERIALIZED VIEW ticks;
SELECT watermark FROM stream_engine.watermarks WHERE reader = 'ticks'::regclass;

-- the moment, also where the event time is on a local clock
CREATE FOREIGN TABLE berlin (a int, ts timestamp OPTIONS (event_time 'true')) SERVER stream_engine OPTIONS (watermark 'ts', timezone 'Europe/Berlin');
CREATE MATERIALIZED VIEW b WITH (stream_engine.continuous) AS SELECT ts, current_watermark('berlin') AS h FROM berlin;
INSERT INTO berlin VALUES (1, '2024-07-01 14:00'), (2, '2024-12-01 14:00'), (3, '2025-01-01');
REFRESH MATERIALIZED VIEW b;
SELECT * FROM b;
SELECT current_watermark('berlin');
SELECT stream_engine.emit_watermark('berlin', current_watermark('berlin') + interval '1 hour');
SELECT current_watermark('berlin');

-- what it cannot do
CREATE MATERIALIZED VIEW no WITH (stream_engine.continuous) AS SELECT a, current_watermark('berlin') FROM s;
CREATE MATERIALIZED VIEW no WITH (stream_engine.continuous) AS SELECT a, current_watermark(to_regclass('s')) FROM s;
CREATE MATERIALIZED VIEW no WITH (stream_engine.continuous) AS SELECT window_start, current_watermark('s') FROM s, tumble(proctime(), '1 hour');
CREATE MATERIALIZED VIEW no WITH (stream_engine.continuous) AS SELECT a, current_watermark('s'), count(*) FROM s GROUP BY a;
CREATE MATERIALIZED VIEW no WITH (stream_engine.continuous) AS SELECT a, count(*) FROM s GROUP BY a HAVING proctime() > '2024-01-01';
CREATE ROLE se_nobody;
SET ROLE se_nobody;
SELECT current_watermark('s');
SELECT * FROM stream_engine.lateness('s');
RESET ROLE;
DROP ROLE se_nobody;
