-- Published cases of other engines: firing by watermark, late rows, window functions in queries (WIN-…, LATE-…).
-- Their watermark W (last time that may still come is W) is our watermark W + 1 ms.
CREATE FUNCTION ms(t bigint) RETURNS timestamp LANGUAGE sql IMMUTABLE AS $$SELECT '1970-01-01'::timestamp + t * interval '1 ms'$$;
CREATE FUNCTION ms(t timestamp) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$SELECT (extract(epoch FROM t) * 1000)::bigint$$;
CREATE PROCEDURE wm(stream regclass, t bigint) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM stream_engine.emit_watermark(stream, (ms(t + 1) AT TIME ZONE 'UTC'));
END $$;
-- what a view shows that was not shown before
CREATE TABLE shown (v text, r text);
CREATE FUNCTION fresh(view text, order_by text) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY EXECUTE format('WITH n AS (SELECT r FROM (SELECT v::text AS r, row_number() OVER (ORDER BY %2$s) AS o FROM %1$s v) a
        WHERE NOT EXISTS (SELECT FROM shown s WHERE s.v = %1$L AND s.r = a.r) ORDER BY o),
        i AS (INSERT INTO shown SELECT %1$L, r FROM n) SELECT r FROM n', view, order_by);
END $$;

-- WIN-032, WIN-034: hop 1 s / 3 s and tumble 3 s over input K, with rows that come late
CREATE FOREIGN TABLE k (key text, v int, ts timestamp OPTIONS (event_time 'true')) SERVER stream_engine;
CREATE MATERIALIZED VIEW hop_k WITH (stream_engine.continuous) AS
    SELECT key, sum(v) AS s, count(*) AS c, ms(window_start) AS b, ms(window_end) AS e FROM k, hop(ts, '1 s', '3 s') GROUP BY key, window_start, window_end;
CREATE MATERIALIZED VIEW tumble_k WITH (stream_engine.continuous) AS
    SELECT key, sum(v) AS s, count(*) AS c, ms(window_start) AS b, ms(window_end) AS e FROM k, tumble(ts, '3 s') GROUP BY key, window_start, window_end;
INSERT INTO k VALUES ('key2', 1, ms(3999)), ('key2', 1, ms(3000)), ('key1', 1, ms(20)), ('key1', 1, ms(0)), ('key1', 1, ms(999)),
    ('key2', 1, ms(1998)), ('key2', 1, ms(1999)), ('key2', 1, ms(1000));
CALL wm('k', 999);
REFRESH MATERIALIZED VIEW hop_k;
REFRESH MATERIALIZED VIEW tumble_k;
SELECT fresh('hop_k', 'e, key');
SELECT fresh('tumble_k', 'e, key');
CALL wm('k', 1999);
REFRESH MATERIALIZED VIEW hop_k;
SELECT fresh('hop_k', 'e, key');
CALL wm('k', 2999);
REFRESH MATERIALIZED VIEW hop_k;
REFRESH MATERIALIZED VIEW tumble_k;
SELECT fresh('hop_k', 'e, key');
SELECT fresh('tumble_k', 'e, key');
-- stop and start: a checkpoint and a restore
SELECT stream_engine.stop('hop_k');
SELECT stream_engine.wait_state('hop_k', 'stopped');
SELECT stream_engine.start('hop_k');
CALL wm('k', 3999);
REFRESH MATERIALIZED VIEW hop_k;
SELECT fresh('hop_k', 'e, key');
INSERT INTO k VALUES ('key2', 1, ms(3500));
CALL wm('k', 4999);
REFRESH MATERIALIZED VIEW hop_k;
SELECT fresh('hop_k', 'e, key');
INSERT INTO k VALUES ('key1', 1, ms(2999));
CALL wm('k', 5999);
REFRESH MATERIALIZED VIEW hop_k;
REFRESH MATERIALIZED VIEW tumble_k;
SELECT fresh('hop_k', 'e, key');
SELECT fresh('tumble_k', 'e, key');
CALL wm('k', 7999);
REFRESH MATERIALIZED VIEW hop_k;
REFRESH MATERIALIZED VIEW tumble_k;
SELECT fresh('hop_k', 'e, key');
SELECT fresh('tumble_k', 'e, key');
SELECT job, late_rows, late_pairs FROM stream_engine.job_positions WHERE job IN ('hop_k'::regclass, 'tumble_k'::regclass) ORDER BY job::text;

-- LATE-04: hop 1 s / 3 s; rows late for one window count in the wider ones
CREATE FOREIGN TABLE l (key text, ts timestamp OPTIONS (event_time 'true')) SERVER stream_engine;
CREATE MATERIALIZED VIEW late_04 WITH (stream_engine.continuous, stream_engine.late_output = 'late_04_out') AS
    SELECT key, count(*) AS c, ms(window_end) AS e FROM l, hop(ts, '1 s', '3 s') GROUP BY key, window_end;
INSERT INTO l VALUES ('key2', ms(1000));
CALL wm('l', 1999);
INSERT INTO l VALUES ('key2', ms(2000));
CALL wm('l', 3000);
INSERT INTO l VALUES ('key1', ms(3001)), ('key2', ms(2400)), ('key2', ms(2400)), ('key1', ms(3001)), ('key2', ms(3900));
CALL wm('l', 6000);
INSERT INTO l VALUES ('key1', ms(3001));
CALL wm('l', 25000);
REFRESH MATERIALIZED VIEW late_04;
SELECT * FROM late_04 ORDER BY e, key;
SELECT late_rows, late_pairs FROM stream_engine.job_positions WHERE job = 'late_04'::regclass;
SELECT key, ts, late_watermark FROM late_04_out;

-- WIN-052, WIN-054, WIN-060, WIN-062, WIN-064: input B and input W, watermark = time - 1 s
CREATE FOREIGN TABLE b (ts timestamp OPTIONS (event_time 'true'), price numeric(10, 2), item text)
    SERVER stream_engine OPTIONS (watermark 'ts - interval ''1 s''');
CREATE MATERIALIZED VIEW win_052 WITH (stream_engine.continuous) AS
    SELECT item, to_char(ts, 'SS') AS at, to_char(window_start, 'SS') AS b, to_char(window_end, 'SS') AS e FROM b, tumble(ts, '10 s', '-6 s');
CREATE MATERIALIZED VIEW win_054 WITH (stream_engine.continuous) AS
    SELECT to_char(window_start, 'SS') AS b, to_char(window_end, 'SS') AS e, sum(price) AS s FROM b, hop(ts, '5 s', '10 s') GROUP BY window_start, window_end;
INSERT INTO b SELECT '2020-04-15 08:00:00'::timestamp + s * interval '1 s', p, i FROM (VALUES (5, 4.00, 'C'), (7, 2.00, 'A'), (9, 5.00, 'D'), (11, 3.00, 'B'),
    (13, 1.00, 'E'), (17, 6.00, 'F'), (21, 4.00, 'A'), (27, 5.00, 'C')) x(s, p, i);
SELECT stream_engine.emit_watermark('b', 'infinity');
REFRESH MATERIALIZED VIEW win_052;
REFRESH MATERIALIZED VIEW win_054;
SELECT b, e, string_agg(item, ',' ORDER BY at) FROM win_052 GROUP BY b, e ORDER BY b;
SELECT * FROM win_054 ORDER BY b;

CREATE FOREIGN TABLE w (ts timestamp OPTIONS (event_time 'true'), a_int int, comment text, name text)
    SERVER stream_engine OPTIONS (watermark 'ts - interval ''1 s''');
CREATE FUNCTION sec(t timestamp) RETURNS int LANGUAGE sql IMMUTABLE AS $$SELECT extract(epoch FROM t)::int$$;
CREATE MATERIALIZED VIEW win_060 WITH (stream_engine.continuous) AS
    SELECT name, sec(window_start) AS b, sec(window_end) AS e, count(*) AS c, sum(a_int) AS s, count(DISTINCT comment) AS d FROM w, tumble(ts, '5 s') GROUP BY name, window_start, window_end;
CREATE MATERIALIZED VIEW win_062 WITH (stream_engine.continuous) AS
    SELECT name, sec(window_start) AS b, sec(window_end) AS e, count(*) AS c, sum(a_int) AS s, count(DISTINCT comment) AS d FROM w, hop(ts, '5 s', '10 s') GROUP BY name, window_start, window_end;
CREATE MATERIALIZED VIEW win_064 WITH (stream_engine.continuous) AS
    SELECT name, sec(window_start) AS b, sec(window_end) AS e, count(*) AS c, sum(a_int) AS s, count(DISTINCT comment) AS d FROM w, cumulate(ts, '5 s', '15 s') GROUP BY name, window_start, window_end;
INSERT INTO w SELECT '1970-01-01'::timestamp + s * interval '1 s', a, c, n FROM (VALUES (1, 1, 'Hi', 'a'), (2, 2, 'C1', 'a'), (3, 2, 'C1', 'a'), (4, 5, NULL, 'a'), (7, 3, 'Hello', 'b'),
    (6, 6, 'Hi', 'b'), (8, 3, 'C2', 'a'), (4, 5, 'Hi', 'a'), (16, 4, 'Hi', 'b'), (32, 7, NULL, NULL), (34, 1, 'C3', 'b')) x(s, a, c, n);
REFRESH MATERIALIZED VIEW win_062;
INSERT INTO w SELECT '1970-01-01'::timestamp + s * interval '1 s', a, c, n FROM (VALUES (40, 10, 'C4', 'a'), (42, 11, 'C5', 'd'), (43, 12, 'C6', 'c'), (44, 13, 'C7', 'd')) x(s, a, c, n);
SELECT stream_engine.emit_watermark('w', 'infinity');
REFRESH MATERIALIZED VIEW win_060;
REFRESH MATERIALIZED VIEW win_062;
REFRESH MATERIALIZED VIEW win_064;
SELECT e, string_agg(format('%s[%s,%s)%s,%s,%s', coalesce(name, 'null'), b, e, c, s, d), ' ' ORDER BY name) FROM win_060 GROUP BY e ORDER BY e;
SELECT e, string_agg(format('%s[%s,%s)%s,%s,%s', coalesce(name, 'null'), b, e, c, s, d), ' ' ORDER BY name) FROM win_062 GROUP BY e ORDER BY e;
SELECT e, string_agg(format('%s[%s,%s)%s,%s,%s', coalesce(name, 'null'), b, e, c, s, d), ' ' ORDER BY name) FROM win_064 GROUP BY e ORDER BY e;

-- WIN-038: three rows of a key, whatever their times; what is not full never fires
CREATE FOREIGN TABLE c (key text, v int, ts timestamp OPTIONS (event_time 'true')) SERVER stream_engine OPTIONS (watermark 'ts');
CREATE MATERIALIZED VIEW win_038 WITH (stream_engine.continuous) AS SELECT key, sum(v) AS s, count(*) AS c, window_id FROM c, count_window(3) GROUP BY key, window_id;
INSERT INTO c VALUES ('key2', 1, ms(3999)), ('key2', 2, ms(3000)), ('key2', 3, ms(20)), ('key1', 1, ms(20)), ('key1', 2, ms(999));
REFRESH MATERIALIZED VIEW win_038;
SELECT * FROM win_038 ORDER BY window_id, key;
SELECT stream_engine.stop('win_038');
SELECT stream_engine.wait_state('win_038', 'stopped');
SELECT stream_engine.start('win_038');
INSERT INTO c VALUES ('key1', 2, ms(998));
REFRESH MATERIALIZED VIEW win_038;
SELECT * FROM win_038 ORDER BY window_id, key;
INSERT INTO c VALUES ('key2', 4, ms(1)), ('key2', 5, ms(2)), ('key2', 5, ms(3)), ('key2', 6, ms(4)), ('key1', 3, ms(5)), ('key2', 10, ms(6)), ('key2', 20, ms(7)),
    ('key1', 2, ms(8)), ('key1', 2, ms(9));
SELECT stream_engine.emit_watermark('c', 'infinity');
REFRESH MATERIALIZED VIEW win_038;
SELECT * FROM win_038 ORDER BY window_id, key;

-- WIN-040: an hour's greatest value, once its hour is over
CREATE FOREIGN TABLE f (ts timestamp OPTIONS (event_time 'true'), foo int) SERVER stream_engine OPTIONS (watermark 'ts - interval ''5 minutes''');
CREATE MATERIALIZED VIEW win_040 WITH (stream_engine.continuous) AS SELECT window_start, max(foo) AS m FROM f, tumble(ts, '1 hour') GROUP BY window_start;
INSERT INTO f VALUES ('2023-05-06 16:51', 1), ('2023-05-06 16:56', 8), ('2023-05-06 17:30', 3), ('2023-05-06 17:59', 4), ('2023-05-06 18:01', 6);
REFRESH MATERIALIZED VIEW win_040;
SELECT * FROM win_040 ORDER BY 1;
INSERT INTO f VALUES ('2023-05-06 18:10', 7);
REFRESH MATERIALIZED VIEW win_040;
SELECT * FROM win_040 ORDER BY 1;

-- WIN-070, WIN-072: plain SELECT over a table
CREATE TABLE t (row_id int, uid int, v int, ts timestamp);
INSERT INTO t VALUES (1, 1, 4, '2022-01-01 10:00'), (2, 3, 3, '2022-01-01 10:05'), (3, 2, 2, '2022-01-01 10:14'), (4, 1, 1, '2022-01-01 10:22'),
    (5, 3, 5, '2022-01-01 10:33'), (6, 2, 7, '2022-01-01 10:42'), (7, 1, 6, '2022-01-01 10:51'), (8, 3, 8, '2022-01-01 11:02');
SELECT to_char(window_start, 'HH24:MI') AS start, sum(v) FROM t, tumble(ts, '30 minutes') GROUP BY window_start ORDER BY window_start;
SELECT to_char(window_start, 'HH24:MI') AS start, string_agg(uid || ':' || s, ' ' ORDER BY uid) FROM
    (SELECT window_start, uid, sum(v) AS s FROM t, hop(ts, '15 minutes', '30 minutes') GROUP BY window_start, uid) x GROUP BY window_start ORDER BY x.window_start;
