-- State comes back after a stop at any point: accumulators, DISTINCT sets, kept arguments, slices, the watermark.
CREATE TABLE twin (g text, i int, n numeric, x text, ts timestamptz);
CREATE FOREIGN TABLE s (g text, i int, n numeric, x text, ts timestamptz OPTIONS (event_time 'true'))
    SERVER stream_engine OPTIONS (watermark 'ts - interval ''5 seconds''');
CREATE FUNCTION q(source text, extra text) RETURNS text LANGUAGE sql AS $$
    SELECT format('SELECT %2$s g, count(*) AS c, sum(i) AS s, avg(n) AS a, sum(n) AS n, min(x) AS lx, max(x) AS hx, min(n) AS ln,
        count(DISTINCT i) AS d, sum(DISTINCT i) FILTER (WHERE i > 3) AS df, stddev(i) AS sd, variance(n) AS vn, bool_and(i > 0) AS b, max(ARRAY[i]) AS m,
        string_agg(x, '','' ORDER BY i, x) AS sa, array_agg(i) AS aa, percentile_disc(0.5) WITHIN GROUP (ORDER BY i) AS p
        FROM %1$s GROUP BY %2$s g', source, extra)
$$;
SELECT q('s', '') AS g, q('s, tumble(ts, ''1 minute'')', 'window_end,') AS w,
       q('s, hop(ts, ''7 seconds'', ''1 minute'')', 'window_end,') AS h \gset
CREATE MATERIALIZED VIEW vg WITH (stream_engine.continuous) AS :g;
CREATE MATERIALIZED VIEW vw WITH (stream_engine.continuous) AS :w;
CREATE MATERIALIZED VIEW vh WITH (stream_engine.continuous) AS :h;
CREATE MATERIALIZED VIEW vs WITH (stream_engine.continuous) AS
    SELECT window_end, g, count(*) AS c, sum(n) AS n, max(x) AS hx, variance(n) AS vn FROM s, hop(ts, '7 seconds', '1 minute') GROUP BY window_end, g;
CREATE MATERIALIZED VIEW vc WITH (stream_engine.continuous) AS
    SELECT window_end, g, count(*) AS c, sum(n) AS n, max(x) AS hx, variance(n) AS vn FROM s, cumulate(ts, '10 seconds', '1 minute') GROUP BY window_end, g;

CREATE PROCEDURE part(a int, b int) LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO twin SELECT CASE WHEN i % 4 > 0 THEN 'g' || i % 4 END, i % 9, (i % 50)::numeric / 8, chr(97 + i % 26),
        '2024-01-01 00:00+00'::timestamptz + i * interval '1 second' + i % 3 * interval '1 ms' FROM generate_series(a, b) i;
    INSERT INTO s SELECT * FROM twin WHERE ts >= '2024-01-01 00:00+00'::timestamptz + a * interval '1 second';
END $$;
CREATE PROCEDURE restart() LANGUAGE plpgsql AS $$
DECLARE
    v text;
BEGIN
    FOREACH v IN ARRAY ARRAY['vg', 'vw', 'vh', 'vs', 'vc'] LOOP
        PERFORM stream_engine.stop(v);
        COMMIT;
        PERFORM stream_engine.wait_state(v, 'stopped');
        PERFORM stream_engine.start(v);
        COMMIT;
        PERFORM stream_engine.wait_state(v, 'running');
    END LOOP;
END $$;
CREATE PROCEDURE refresh() LANGUAGE plpgsql AS $$
BEGIN
    REFRESH MATERIALIZED VIEW vg;
    REFRESH MATERIALIZED VIEW vw;
    REFRESH MATERIALIZED VIEW vh;
    REFRESH MATERIALIZED VIEW vs;
    REFRESH MATERIALIZED VIEW vc;
END $$;
CALL part(1, 40);
CALL refresh();
CALL restart();
CALL part(41, 130);
CALL refresh();
CALL part(131, 150);
CALL restart();
CALL restart();
CALL part(151, 152);
CALL part(153, 260);
CALL refresh();
CALL restart();
SELECT stream_engine.emit_watermark('s', 'infinity');
CALL refresh();

CREATE FUNCTION differences(view text, query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY EXECUTE format('(SELECT ''only in the view: '' || v::text FROM (SELECT v::text FROM %1$s v EXCEPT ALL SELECT q::text FROM (%2$s) q) v)
        UNION ALL (SELECT ''only in the query: '' || q::text FROM (SELECT q::text FROM (%2$s) q EXCEPT ALL SELECT v::text FROM %1$s v) q)', view, query);
END $$;
-- from 16 on the planner may sort the rows of all aggregates for the ORDER BY of one; here they shall come as they came
SELECT set_config(name, 'off', false) FROM pg_settings WHERE name = 'enable_presorted_aggregate' \g /dev/null
SELECT (SELECT count(*) FROM vg) AS g, (SELECT count(*) FROM vw) AS w, (SELECT count(*) FROM vh) AS h,
       (SELECT count(*) FROM vs) AS s, (SELECT count(*) FROM vc) AS c;
SELECT differences('vg', q('(SELECT * FROM twin ORDER BY g, ts) t', ''));
SELECT differences('vw', q('(SELECT * FROM twin, tumble(ts, ''1 minute'') ORDER BY window_end, g, ts) t', 'window_end,'));
SELECT differences('vh', q('(SELECT * FROM twin, hop(ts, ''7 seconds'', ''1 minute'') ORDER BY window_end, g, ts) t', 'window_end,'));
SELECT differences('vs', 'SELECT window_end, g, count(*) AS c, sum(n) AS n, max(x) AS hx, variance(n) AS vn FROM twin, hop(ts, ''7 seconds'', ''1 minute'') GROUP BY window_end, g');
SELECT differences('vc', 'SELECT window_end, g, count(*) AS c, sum(n) AS n, max(x) AS hx, variance(n) AS vn FROM twin, cumulate(ts, ''10 seconds'', ''1 minute'') GROUP BY window_end, g');
