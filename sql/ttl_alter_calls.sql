-- State goes over whole when a view gets a state_ttl, another clock, or loses it: accumulators of every kind, DISTINCT sets, kept arguments.
SET client_min_messages = warning;
CREATE TYPE size AS ENUM ('small', 'large', 'huge');
CREATE FUNCTION keep_first(state text, x text) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT coalesce(state, x) $$;
CREATE AGGREGATE first_text(text) (SFUNC = keep_first, STYPE = text);
CREATE TABLE twin (id int, g text, i int, n numeric, x text, e size, ts timestamptz);
CREATE FOREIGN TABLE s (id int, g text, i int, n numeric, x text, e size, ts timestamptz OPTIONS (event_time 'true'))
    SERVER stream_engine OPTIONS (watermark 'ts - interval ''5 seconds''');
CREATE FUNCTION q(source text) RETURNS text LANGUAGE sql AS $$
    SELECT format('SELECT g, e, count(*) AS c, sum(i) AS s, sum(id::bigint) AS sb, avg(n) AS a, sum(n) AS n, sum(n * 1e30) AS big, avg(i::float8) AS af, min(x) AS lx, max(x) AS hx, min(n) AS ln, min(e) AS le, max(ts) AS lt,
        count(DISTINCT i) AS d, sum(DISTINCT i) FILTER (WHERE i > 3) AS df, count(DISTINCT x) AS dx, sum(DISTINCT n) AS dn, avg(DISTINCT nullif(i, 4)) AS da, count(DISTINCT e) AS de, sum(DISTINCT i::float8) AS dr, max(DISTINCT i) AS dm,
        stddev(i) AS sd, variance(n) AS vn, corr(i, id) AS co, bool_and(i > 0) AS b, max(ARRAY[i, id]) AS m, bit_xor(id) AS xo, first_text(x) AS fx, first_text(x ORDER BY n DESC, id) AS fo,
        string_agg(x, '','' ORDER BY i, x, id) AS sa, array_agg(id) AS aa, array_agg(DISTINCT i) AS ad, array_agg(e ORDER BY id DESC) AS ae, json_agg(i) FILTER (WHERE i < 3) AS j,
        percentile_disc(0.5) WITHIN GROUP (ORDER BY i) AS p, mode() WITHIN GROUP (ORDER BY x) AS mo, rank(length(g)) WITHIN GROUP (ORDER BY i) AS r
        FROM %1$s GROUP BY g, e', source)
$$;
CREATE PROCEDURE part(rows int) LANGUAGE plpgsql AS $$
DECLARE
    a int = coalesce((SELECT max(id) FROM twin), 0) + 1;
    b int = a + rows - 1;
BEGIN
    FOR f IN a .. b BY 17 LOOP
        WITH new AS (INSERT INTO twin SELECT i, CASE WHEN i % 4 > 0 THEN 'g' || i % 4 END, i % 9, (i % 50)::numeric / 8, nullif(chr(97 + i * i % 26), 'q') || repeat('y', i % 3 * 50),
            (enum_range(NULL::size))[1 + i % 5], '2024-01-01'::timestamptz + i * interval '1 second' + i % 3 * interval '1 ms' FROM generate_series(f, least(f + 16, b)) i RETURNING *)
        INSERT INTO s SELECT * FROM new ORDER BY id;
        COMMIT;
    END LOOP;
END $$;
-- from 16 on the planner may sort the rows of all aggregates for the ORDER BY of one; here they shall come as they came
SELECT set_config(name, 'off', false) FROM pg_settings WHERE name = 'enable_presorted_aggregate' \g /dev/null
CREATE FUNCTION differences() RETURNS TABLE (what text, r text) LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY EXECUTE format('SELECT ''missing'', r FROM (SELECT x::text AS r FROM (%1$s) x EXCEPT ALL SELECT x::text FROM v x) d UNION ALL
        SELECT ''too much'', r FROM (SELECT x::text AS r FROM v x EXCEPT ALL SELECT x::text FROM (%1$s) x) d ORDER BY 2', q('(SELECT * FROM twin ORDER BY g, e, id) t'));
END $$;
-- Rows before and after each change, and a worker that begins anew from what the change has left.
CREATE PROCEDURE go(VARIADIC changes text[]) LANGUAGE plpgsql AS $$
DECLARE
    change text;
    found int;
BEGIN
    FOREACH change IN ARRAY changes LOOP
        CALL part(30);
        EXECUTE 'ALTER MATERIALIZED VIEW v ' || change;
        COMMIT;
        IF change ~ 'ttl' THEN
            REFRESH MATERIALIZED VIEW v;
            PERFORM stream_engine.stop('v');
            COMMIT;
            PERFORM stream_engine.wait_state('v', 'stopped');
            PERFORM stream_engine.start('v');
            COMMIT;
        END IF;
        CALL part(40);
        COMMIT;
        CONTINUE WHEN change ~ 'every';
        REFRESH MATERIALIZED VIEW v;
        SELECT count(*) INTO found FROM differences();
        RAISE NOTICE '%: % differences', change, found;
    END LOOP;
END $$;
CREATE PROCEDURE all_changes() LANGUAGE plpgsql AS $$
BEGIN
    CALL go('SET (stream_engine.state_ttl = ''1000 days on ts'')', 'RESET (stream_engine.state_ttl)', 'SET (stream_engine.state_ttl = ''1000 days'')',
        'SET (stream_engine.state_ttl = ''2000 days on ts'')', 'SET (stream_engine.state_ttl = ''1000 days'')', 'RESET (stream_engine.state_ttl), SET (stream_engine.emit = ''every 50 rows'')',
        'SET (stream_engine.emit = on_update, stream_engine.state_ttl = ''1000 days'')', 'RESET (stream_engine.state_ttl)');
END $$;
SELECT format('CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous) AS %s;', q('s')) AS view
\gset
SET client_min_messages = notice;
-- a worker takes the setting that is in force when it starts, which it does at each change
:view
ALTER SYSTEM SET stream_engine.batch_rows = 1;
SELECT pg_reload_conf();
CALL all_changes();
ALTER SYSTEM SET stream_engine.batch_rows = 7;
SELECT pg_reload_conf();
CALL all_changes();
ALTER SYSTEM RESET stream_engine.batch_rows;
SELECT pg_reload_conf();
CALL all_changes();
SELECT * FROM differences();
SELECT count(*), sum(c), (SELECT count(*) FROM twin), (SELECT late_rows FROM stream_engine.jobs) FROM v;
