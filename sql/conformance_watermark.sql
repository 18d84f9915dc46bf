-- Published cases of other engines: what a row or a mark makes the watermark, and what fires at which (WIN-…, WM-…).
-- Their watermark W (last time that may still come is W) is our watermark W + 1 ms.
CREATE FUNCTION ms(t bigint) RETURNS timestamp LANGUAGE sql IMMUTABLE AS $$SELECT '1970-01-01'::timestamp + t * interval '1 ms'$$;
CREATE FUNCTION ms(t timestamp) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$SELECT (extract(epoch FROM t) * 1000)::bigint$$;
CREATE PROCEDURE wm(stream regclass, t bigint) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM stream_engine.emit_watermark(stream, (ms(t + 1) AT TIME ZONE 'UTC'));
END $$;
-- their watermark of a view's stream
CREATE FUNCTION theirs(view text) RETURNS bigint LANGUAGE sql AS $$
    SELECT ms(watermark AT TIME ZONE 'UTC') - 1 FROM stream_engine.sources WHERE sources.view = theirs.view::regclass $$;

-- WM-02: rows 10 ms out of order; WM-04: ascending
CREATE FOREIGN TABLE bounded (ts timestamp OPTIONS (event_time 'true')) SERVER stream_engine OPTIONS (watermark 'ts - interval ''10 ms''');
CREATE FOREIGN TABLE ascending (ts timestamp OPTIONS (event_time 'true')) SERVER stream_engine OPTIONS (watermark 'ts');
CREATE MATERIALIZED VIEW wm_02 WITH (stream_engine.continuous) AS SELECT ms(ts) AS t FROM bounded;
CREATE MATERIALIZED VIEW wm_04 WITH (stream_engine.continuous) AS SELECT ms(ts) AS t FROM ascending;
INSERT INTO bounded VALUES (ms(1337));
INSERT INTO ascending VALUES (ms(1337));
REFRESH MATERIALIZED VIEW wm_02;
REFRESH MATERIALIZED VIEW wm_04;
SELECT theirs('wm_02') AS wm_02, theirs('wm_04') AS wm_04;
INSERT INTO ascending VALUES (ms(12345)), (ms(12340));
REFRESH MATERIALIZED VIEW wm_04;
SELECT theirs('wm_04') AS wm_04;

-- WM-10: marks never lead back
CREATE FOREIGN TABLE marks (ts timestamp OPTIONS (event_time 'true')) SERVER stream_engine;
CREATE MATERIALIZED VIEW wm_10 WITH (stream_engine.continuous) AS SELECT ms(ts) AS t FROM marks;
CALL wm('marks', 25);
REFRESH MATERIALIZED VIEW wm_10;
SELECT theirs('wm_10') AS wm_10;
CALL wm('marks', 18);
REFRESH MATERIALIZED VIEW wm_10;
SELECT theirs('wm_10') AS wm_10;
CALL wm('marks', 42);
REFRESH MATERIALIZED VIEW wm_10;
SELECT theirs('wm_10') AS wm_10;

-- WM-28: a watermark of another type
CREATE FOREIGN TABLE other (v int, ts timestamp OPTIONS (event_time 'true')) SERVER stream_engine OPTIONS (watermark 'v + 1');
CREATE FOREIGN TABLE other (v int, ts timestamp OPTIONS (event_time 'true')) SERVER stream_engine OPTIONS (watermark 'ts - v');

-- WIN-030: tumble 3 s over input K fires each window once
CREATE FOREIGN TABLE k (key text, v int, ts timestamp OPTIONS (event_time 'true')) SERVER stream_engine;
CREATE MATERIALIZED VIEW win_030 WITH (stream_engine.continuous) AS
    SELECT key, sum(v) AS s, ms(window_start) AS b FROM k, tumble(ts, '3 s') GROUP BY key, window_start;
CREATE PROCEDURE step(t bigint) LANGUAGE plpgsql AS $$
DECLARE shown text;
BEGIN
    EXECUTE 'REFRESH MATERIALIZED VIEW win_030';
    SELECT string_agg(key || ' ' || s || ' [' || b || ')', ', ' ORDER BY b, key) INTO shown FROM win_030;
    RAISE NOTICE 'WM%: %', t, shown;
END $$;
INSERT INTO k VALUES ('key2', 1, ms(3999)), ('key2', 1, ms(3000)), ('key1', 1, ms(20)), ('key1', 1, ms(0)), ('key1', 1, ms(999)),
    ('key2', 1, ms(1998)), ('key2', 1, ms(1999)), ('key2', 1, ms(1000));
CALL wm('k', 999);
CALL step(999);
CALL wm('k', 1999);
CALL step(1999);
SELECT stream_engine.stop('win_030');
SELECT stream_engine.wait_state('win_030', 'stopped');
SELECT stream_engine.start('win_030');
CALL wm('k', 2999);
CALL step(2999);
CALL wm('k', 3999);
CALL wm('k', 4999);
CALL step(4999);
CALL wm('k', 5999);
CALL step(5999);
CALL wm('k', 6999);
CALL wm('k', 7999);
CALL step(7999);

-- WIN-036, LATE-08: near the end of time nothing wraps: a row is not late there, and its window fires
CREATE FOREIGN TABLE far (v int, ts timestamp OPTIONS (event_time 'true')) SERVER stream_engine;
CREATE MATERIALIZED VIEW win_036 WITH (stream_engine.continuous) AS SELECT window_start, sum(v) AS s FROM far, tumble(ts, '1 s') GROUP BY window_start;
CREATE MATERIALIZED VIEW win_036_hop WITH (stream_engine.continuous) AS SELECT window_start, sum(v) AS s FROM far, hop(ts, '100 ms', '1 s') GROUP BY window_start;
SELECT stream_engine.emit_watermark('far', '294276-12-31 23:59:57.4+00');
INSERT INTO far VALUES (1, '294276-12-31 23:59:57.25');
REFRESH MATERIALIZED VIEW win_036;
REFRESH MATERIALIZED VIEW win_036_hop;
SELECT * FROM win_036;
SELECT late_rows, late_pairs FROM stream_engine.job_positions WHERE job IN ('win_036'::regclass, 'win_036_hop'::regclass) ORDER BY job::text;
SELECT stream_engine.emit_watermark('far', '294276-12-31 23:59:58+00');
REFRESH MATERIALIZED VIEW win_036;
REFRESH MATERIALIZED VIEW win_036_hop;
SELECT * FROM win_036;
SELECT count(*), min(window_start), max(window_start) FROM win_036_hop;

-- WIN-066: however an aggregate is put together, the result is the same: slices, or every window by itself
CREATE AGGREGATE plain_sum(int) (sfunc = int4_sum, stype = bigint);
CREATE FOREIGN TABLE w (ts timestamp OPTIONS (event_time 'true'), a_int int, name text) SERVER stream_engine OPTIONS (watermark 'ts - interval ''1 s''');
CREATE MATERIALIZED VIEW win_066_a WITH (stream_engine.continuous) AS
    SELECT name, window_start, window_end, count(*) AS c, sum(a_int) AS s FROM w, cumulate(ts, '5 s', '15 s') GROUP BY name, window_start, window_end;
CREATE MATERIALIZED VIEW win_066_b WITH (stream_engine.continuous) AS
    SELECT name, window_start, window_end, count(*) AS c, plain_sum(a_int) AS s FROM w, cumulate(ts, '5 s', '15 s') GROUP BY name, window_start, window_end;
INSERT INTO w SELECT '1970-01-01'::timestamp + s * interval '1 s', a, n FROM (VALUES (1, 1, 'a'), (2, 2, 'a'), (3, 2, 'a'), (4, 5, 'a'), (7, 3, 'b'),
    (6, 6, 'b'), (8, 3, 'a'), (4, 5, 'a'), (16, 4, 'b'), (32, 7, NULL), (34, 1, 'b'), (40, 10, 'a'), (42, 11, 'd'), (43, 12, 'c'), (44, 13, 'd')) x(s, a, n);
SELECT stream_engine.emit_watermark('w', 'infinity');
REFRESH MATERIALIZED VIEW win_066_a;
REFRESH MATERIALIZED VIEW win_066_b;
SELECT count(*), sum(c), sum(s) FROM win_066_a;
SELECT count(*) AS differences FROM (SELECT * FROM win_066_a EXCEPT ALL SELECT * FROM win_066_b) d;
SELECT count(*) AS differences FROM (SELECT * FROM win_066_b EXCEPT ALL SELECT * FROM win_066_a) d;
