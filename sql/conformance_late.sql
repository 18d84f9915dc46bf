-- Published cases of other engines: late rows within the lateness that is allowed, early results (LATE-…, WIN-…).
-- Their watermark W (last time that may still come is W) is our watermark W + 1 ms.
CREATE FUNCTION ms(t bigint) RETURNS timestamp LANGUAGE sql IMMUTABLE AS $$SELECT '1970-01-01'::timestamp + t * interval '1 ms'$$;
CREATE FUNCTION ms(t timestamp) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$SELECT (extract(epoch FROM t) * 1000)::bigint$$;
CREATE PROCEDURE wm(stream regclass, t bigint) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM stream_engine.emit_watermark(stream, (ms(t + 1) AT TIME ZONE 'UTC'));
END $$;
SET client_min_messages = warning;

-- LATE-06: tumble 3 s, lateness 3 s, early results by the clock every second, late ones at once; input as of WIN-032
SELECT stream_engine.test_clock_set('2024-01-01 00:00+00');
CREATE FOREIGN TABLE k (key text, v int, ts timestamp OPTIONS (event_time 'true')) SERVER stream_engine;
CREATE MATERIALIZED VIEW late6 WITH (stream_engine.continuous, stream_engine.emit = 'early 1 s processing, late 0', stream_engine.allowed_lateness = '3 s') AS
    SELECT key, sum(v) AS s, count(*) AS c, ms(window_start) AS b, ms(window_end) AS e, window_end FROM k, tumble(ts, '3 s') GROUP BY key, window_start, window_end;
SELECT stream_engine.test_tick('2024-01-01 00:00+00');
CREATE VIEW shown AS SELECT key, s, c, b, e FROM late6 ORDER BY e, key;
INSERT INTO k VALUES ('key2', 1, ms(3999)), ('key2', 1, ms(3000)), ('key1', 1, ms(20)), ('key1', 1, ms(0)), ('key1', 1, ms(999)),
    ('key2', 1, ms(1998)), ('key2', 1, ms(1999)), ('key2', 1, ms(1000));
REFRESH MATERIALIZED VIEW late6;
SELECT * FROM shown;
-- the clock shows what is open
SELECT stream_engine.test_tick('2024-01-01 00:00:01+00');
REFRESH MATERIALIZED VIEW late6;
SELECT * FROM shown;
CALL wm('k', 3999);
REFRESH MATERIALIZED VIEW late6;
SELECT * FROM shown;
-- late by a second: at once
INSERT INTO k VALUES ('key2', 1, ms(2001));
REFRESH MATERIALIZED VIEW late6;
SELECT * FROM shown;
INSERT INTO k VALUES ('key1', 1, ms(2030));
REFRESH MATERIALIZED VIEW late6;
SELECT * FROM shown;
-- in the open window: at its close
INSERT INTO k VALUES ('key2', 1, ms(5100));
REFRESH MATERIALIZED VIEW late6;
SELECT * FROM shown;
CALL wm('k', 5999);
REFRESH MATERIALIZED VIEW late6;
SELECT * FROM shown;
-- 3000 + 3000 <= 8000: too late
CALL wm('k', 7999);
INSERT INTO k VALUES ('key2', 1, ms(2877)), ('key1', 1, ms(2899));
REFRESH MATERIALIZED VIEW late6;
SELECT * FROM shown;
SELECT late_rows, late_pairs FROM stream_engine.jobs WHERE view = 'late6'::regclass;
SELECT e, stream_engine.is_final('late6', window_end) FROM late6 ORDER BY 1, key;

-- LATE-02: tumble 2 s, lateness 500 ms. Its rows are purged as they are emitted; ours show all of the window
CREATE FOREIGN TABLE t (key text, ts timestamp OPTIONS (event_time 'true')) SERVER stream_engine;
CREATE MATERIALIZED VIEW late2 WITH (stream_engine.continuous, stream_engine.allowed_lateness = '500 ms') AS
    SELECT key, ms(window_end) AS e, window_end, count(*) AS c FROM t, tumble(ts, '2 s') GROUP BY key, window_end;
INSERT INTO t VALUES ('key2', ms(500));
CALL wm('t', 1500);
INSERT INTO t VALUES ('key2', ms(1300));
CALL wm('t', 2300);
REFRESH MATERIALIZED VIEW late2;
SELECT key, e, c FROM late2;
INSERT INTO t VALUES ('key2', ms(1997));
REFRESH MATERIALIZED VIEW late2;
SELECT key, e, c FROM late2;
CALL wm('t', 6000);
INSERT INTO t VALUES ('key2', ms(1998));
CALL wm('t', 7000);
REFRESH MATERIALIZED VIEW late2;
SELECT key, e, c FROM late2;
SELECT late_rows FROM stream_engine.jobs WHERE view = 'late2'::regclass;

-- WIN-036, LATE-08: the end of a window and its lateness go beyond the last time there is
CREATE FOREIGN TABLE o (v int, ts timestamp OPTIONS (event_time 'true')) SERVER stream_engine;
CREATE MATERIALIZED VIEW overflow WITH (stream_engine.continuous, stream_engine.allowed_lateness = '36500 days') AS
    SELECT window_end, sum(v) AS s FROM o, tumble(ts, '1 s') GROUP BY window_end;
INSERT INTO o VALUES (1, '294276-12-31 23:59:58.25');
SELECT stream_engine.emit_watermark('o', '294276-12-31 23:59:58.5+00');
REFRESH MATERIALIZED VIEW overflow;
SELECT * FROM overflow;
SELECT stream_engine.emit_watermark('o', '294276-12-31 23:59:59+00');
INSERT INTO o VALUES (2, '294276-12-31 23:59:58');
REFRESH MATERIALIZED VIEW overflow;
SELECT *, stream_engine.is_final('overflow', window_end) FROM overflow;
SELECT stream_engine.emit_watermark('o', 'infinity');
INSERT INTO o VALUES (4, '294276-12-31 23:59:58');
REFRESH MATERIALIZED VIEW overflow;
SELECT *, stream_engine.is_final('overflow', window_end) FROM overflow;
