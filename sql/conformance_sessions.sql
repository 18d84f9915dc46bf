-- Published cases of other engines: sessions (SES-…), and rows late for them (LATE-10). Ours always shows the whole session,
-- also where theirs forgets what it has shown (purging triggers, SES-014 and SES-016).
-- Their watermark W (last time that may still come is W) is our watermark W + 1 ms; a session fires when ours is above its end.
CREATE FUNCTION ms(t bigint) RETURNS timestamp LANGUAGE sql IMMUTABLE AS $$SELECT '1970-01-01'::timestamp + t * interval '1 ms'$$;
CREATE FUNCTION ms(t timestamp) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$SELECT (extract(epoch FROM t) * 1000)::bigint$$;
CREATE PROCEDURE wm(stream regclass, t bigint) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM stream_engine.emit_watermark(stream, (ms(t + 1) AT TIME ZONE 'UTC'));
END $$;

-- SES-004: rows out of order join three sessions
CREATE FOREIGN TABLE a (ts timestamp OPTIONS (event_time 'true')) SERVER stream_engine;
CREATE MATERIALIZED VIEW a_v WITH (stream_engine.continuous) AS
    SELECT ms(window_start) AS b, ms(window_end) AS e, array_agg(ms(ts) ORDER BY ts) AS rows FROM a, session(ts, '10 ms') GROUP BY window_start, window_end;
INSERT INTO a SELECT ms(t) FROM unnest(ARRAY[1, 15, 30, 100, 101, 95, 22, 10]) t;
SELECT stream_engine.emit_watermark('a', 'infinity');
REFRESH MATERIALIZED VIEW a_v;
SELECT * FROM a_v ORDER BY b;

-- SES-002, SES-006: touching windows merge, and a row that covers one
CREATE FOREIGN TABLE b (k text, gap interval, ts timestamp OPTIONS (event_time 'true')) SERVER stream_engine;
CREATE MATERIALIZED VIEW b_v WITH (stream_engine.continuous) AS
    SELECT k, ms(window_start) AS b, ms(window_end) AS e FROM b, session(ts, gap) GROUP BY k, window_start, window_end;
INSERT INTO b VALUES ('touch', '10 ms', ms(10)), ('touch', '10 ms', ms(20)), ('apart', '10 ms', ms(10)), ('apart', '10 ms', ms(21)),
    ('consecutive', '1 ms', ms(0)), ('consecutive', '1 ms', ms(2)), ('consecutive', '1 ms', ms(4)), ('consecutive', '1 ms', ms(7)),
    ('covering', '3 ms', ms(1)), ('covering', '2 ms', ms(5)), ('covering', '1 ms', ms(9));
INSERT INTO b VALUES ('consecutive', '1 ms', ms(1)), ('covering', '3 ms', ms(3));
SELECT stream_engine.emit_watermark('b', 'infinity');
REFRESH MATERIALIZED VIEW b_v;
SELECT * FROM b_v ORDER BY k, b;

-- SES-010, with a restore where they take a checkpoint
CREATE FOREIGN TABLE c (key text, v int, ts timestamp OPTIONS (event_time 'true')) SERVER stream_engine;
CREATE MATERIALIZED VIEW c_v WITH (stream_engine.continuous) AS
    SELECT key, sum(v) AS s, ms(window_start) AS b, ms(window_end) AS e FROM c, session(ts, '3 s') GROUP BY key, window_start, window_end;
INSERT INTO c VALUES ('key2', 1, ms(0)), ('key2', 2, ms(1000)), ('key2', 3, ms(2500)), ('key1', 1, ms(10)), ('key1', 2, ms(1000));
REFRESH MATERIALIZED VIEW c_v;
SELECT stream_engine.stop('c_v');
SELECT stream_engine.wait_state('c_v', 'stopped');
SELECT stream_engine.start('c_v');
INSERT INTO c VALUES ('key1', 3, ms(2500)), ('key2', 4, ms(5501)), ('key2', 5, ms(6000)), ('key2', 5, ms(6000)), ('key2', 6, ms(6050));
CALL wm('c', 12000);
REFRESH MATERIALIZED VIEW c_v;
SELECT * FROM c_v ORDER BY e, key;
INSERT INTO c VALUES ('key2', 10, ms(15000)), ('key2', 20, ms(15000));
CALL wm('c', 17999);
REFRESH MATERIALIZED VIEW c_v;
-- its end is 18000: a row at 18000 would still belong to it
SELECT count(*) FROM c_v WHERE e = 18000;
CALL wm('c', 18000);
REFRESH MATERIALIZED VIEW c_v;
SELECT * FROM c_v WHERE e = 18000;

-- SES-012 and LATE-10
CREATE FOREIGN TABLE d (key text, ts timestamp OPTIONS (event_time 'true')) SERVER stream_engine;
CREATE MATERIALIZED VIEW d_v WITH (stream_engine.continuous, stream_engine.late_output = 'd_out') AS
    SELECT key, count(*) AS s, ms(window_start) AS b, ms(window_end) AS e FROM d, session(ts, '3 s') GROUP BY key, window_start, window_end;
INSERT INTO d VALUES ('key2', ms(1000));
CALL wm('d', 1999);
INSERT INTO d VALUES ('key2', ms(2000));
CALL wm('d', 4998);
INSERT INTO d VALUES ('key2', ms(4500)), ('key2', ms(8500));
CALL wm('d', 7400);
INSERT INTO d VALUES ('key2', ms(7000));
CALL wm('d', 11501);
REFRESH MATERIALIZED VIEW d_v;
SELECT * FROM d_v;
INSERT INTO d VALUES ('key2', ms(11600));
CALL wm('d', 14600);
INSERT INTO d VALUES ('key2', ms(10000)), ('key2', ms(10100)), ('key2', ms(14500));
CALL wm('d', 20000);
REFRESH MATERIALIZED VIEW d_v;
SELECT * FROM d_v ORDER BY b;
SELECT late_rows, late_pairs FROM stream_engine.jobs WHERE view = 'd_v'::regclass;
SELECT key, ts, late_watermark FROM d_out ORDER BY ts;

-- SES-020: a gap of nothing
CREATE FOREIGN TABLE p (key text, v int, ts timestamp OPTIONS (event_time 'true')) SERVER stream_engine;
CREATE MATERIALIZED VIEW p_v WITH (stream_engine.continuous) AS
    SELECT key, sum(v) AS s, ms(window_start) AS b, ms(window_end) AS e
    FROM p, session(ts, CASE v WHEN 33 THEN interval '0' ELSE '3 s' END) GROUP BY key, window_start, window_end;
INSERT INTO p VALUES ('key2', 1, ms(0)), ('key2', 33, ms(1000)), ('key2', 33, ms(2500)), ('key1', 1, ms(10)), ('key1', 2, ms(1000)), ('key1', 33, ms(2500));
CALL wm('p', 12000);
REFRESH MATERIALIZED VIEW p_v;
SELECT * FROM p_v ORDER BY key;

-- SES-022: not late, because a session of the key is open
CREATE FOREIGN TABLE w (v int, name text, ts timestamp OPTIONS (event_time 'true')) SERVER stream_engine OPTIONS (watermark 'ts - interval ''1 second''');
CREATE MATERIALIZED VIEW w_v WITH (stream_engine.continuous) AS
    SELECT name, ms(window_start) / 1000 AS b, ms(window_end) / 1000 AS e, count(*) AS c, sum(v) AS s FROM w, session(ts, '5 s') GROUP BY name, window_start, window_end;
INSERT INTO w VALUES (1, 'a', ms(1000)), (2, 'a', ms(2000)), (3, 'a', ms(3000)), (4, 'a', ms(8000)), (5, 'a', ms(4000)), (6, 'b', ms(7000)), (7, 'b', ms(6000));
SELECT stream_engine.emit_watermark('w', 'infinity');
REFRESH MATERIALIZED VIEW w_v;
SELECT * FROM w_v ORDER BY name;

-- SES-014, SES-016: a session takes rows 10 ms, and 10 s, after it is over
CREATE FOREIGN TABLE l (key text, ts timestamp OPTIONS (event_time 'true')) SERVER stream_engine;
CREATE MATERIALIZED VIEW l_v WITH (stream_engine.continuous, stream_engine.allowed_lateness = '10 ms') AS
    SELECT key, count(*) AS s, window_start AS b, window_end AS e FROM l, session(ts, '3 s') GROUP BY key, window_start, window_end;
CREATE MATERIALIZED VIEW h_v WITH (stream_engine.continuous, stream_engine.allowed_lateness = '10 s') AS
    SELECT key, count(*) AS s, window_start AS b, window_end AS e FROM l, session(ts, '3 s') GROUP BY key, window_start, window_end;
INSERT INTO l VALUES ('key2', ms(1000));
CALL wm('l', 1999);
INSERT INTO l VALUES ('key2', ms(2000));
CALL wm('l', 4998);
INSERT INTO l VALUES ('key2', ms(4500)), ('key2', ms(8500));
CALL wm('l', 7400);
INSERT INTO l VALUES ('key2', ms(7000));
CALL wm('l', 11501);
INSERT INTO l VALUES ('key2', ms(11600));
CALL wm('l', 14600);
REFRESH MATERIALIZED VIEW l_v;
REFRESH MATERIALIZED VIEW h_v;
SELECT v, key, s, ms(b), ms(e) FROM (SELECT 'l' AS v, * FROM l_v UNION ALL SELECT 'h', * FROM h_v) x ORDER BY v, b;
INSERT INTO l VALUES ('key2', ms(10000));
REFRESH MATERIALIZED VIEW l_v;
REFRESH MATERIALIZED VIEW h_v;
SELECT v, key, s, ms(b), ms(e) FROM (SELECT 'l' AS v, * FROM l_v UNION ALL SELECT 'h', * FROM h_v) x ORDER BY v, b;
INSERT INTO l VALUES ('key2', ms(14500));
CALL wm('l', 20000);
CALL wm('l', 100000);
REFRESH MATERIALIZED VIEW l_v;
REFRESH MATERIALIZED VIEW h_v;
SELECT v, key, s, ms(b), ms(e) FROM (SELECT 'l' AS v, * FROM l_v UNION ALL SELECT 'h', * FROM h_v) x ORDER BY v, b;

-- SES-018: every 2 s of event time
CREATE FOREIGN TABLE t (key text, v int, ts timestamp OPTIONS (event_time 'true')) SERVER stream_engine;
CREATE MATERIALIZED VIEW t_v WITH (stream_engine.continuous, stream_engine.emit = 'early 2 s') AS
    SELECT key, sum(v) AS s, window_start AS b, window_end AS e FROM t, session(ts, '3 s') GROUP BY key, window_start, window_end;
INSERT INTO t VALUES ('key1', 1, ms(1500)), ('key2', 1, ms(0)), ('key2', 3, ms(2500)), ('key2', 2, ms(1000));
CALL wm('t', 2500);
REFRESH MATERIALIZED VIEW t_v;
SELECT key, s, ms(b), ms(e) FROM t_v ORDER BY key;
INSERT INTO t VALUES ('key2', 5, ms(4000));
CALL wm('t', 3000);
REFRESH MATERIALIZED VIEW t_v;
SELECT key, s, ms(b), ms(e) FROM t_v ORDER BY key;
SELECT stream_engine.stop('t_v');
SELECT stream_engine.wait_state('t_v', 'stopped');
SELECT stream_engine.start('t_v');
INSERT INTO t VALUES ('key1', 2, ms(4000)), ('key2', 4, ms(3500));
CALL wm('t', 4000);
REFRESH MATERIALIZED VIEW t_v;
SELECT key, s, ms(b), ms(e) FROM t_v ORDER BY key;
