-- Results and late counters do not depend on how many rows go through a dataflow together.
CREATE FOREIGN TABLE s (id int, k int, v int, note text, ts timestamptz OPTIONS (event_time 'true'))
    SERVER stream_engine OPTIONS (watermark 'ts - interval ''2 seconds''');
-- mostly forward, some far back; in transactions of one row, of some, and of many; with marks between
CREATE PROCEDURE part(a int, b int, step int) LANGUAGE plpgsql AS $$
BEGIN
    FOR i IN a .. b BY step LOOP
        INSERT INTO s SELECT g, nullif(g % 7, 6), g % 100, repeat(chr(97 + g % 26), g % 40),
            timestamptz '2024-01-01' + g * interval '100 ms' - CASE WHEN g % 11 = 0 THEN g % 40 * interval '1 s' ELSE g % 13 * interval '0.1 s' END
            FROM generate_series(i, least(i + step - 1, b)) g;
        COMMIT;
    END LOOP;
END $$;
CALL part(1, 300, 1);
CALL part(301, 1000, 13);
SELECT stream_engine.emit_watermark('s', '2024-01-01 00:01:42');
CALL part(1001, 4000, 3000);

CREATE TABLE kinds (kind text, query text);
INSERT INTO kinds VALUES
    ('filtered', 'SELECT id, upper(note) AS n FROM s WHERE v > 10'),
    ('grouped', 'SELECT k, count(*) AS c, sum(v) AS s, array_agg(id) AS ids, max(note) AS m FROM s GROUP BY k'),
    ('tumbled', 'SELECT window_start, k, count(*) AS c, sum(v) AS s, count(DISTINCT v) AS d FROM s, tumble(ts, ''5 seconds'') GROUP BY window_start, k'),
    ('hopped', 'SELECT window_start, window_end, count(*) AS c, string_agg(id::text, '','') AS ids FROM s, hop(ts, ''3 seconds'', ''10 seconds'') GROUP BY window_start, window_end'),
    ('cumulated', 'SELECT window_start, window_end, k, max(note) AS m, avg(v) AS a FROM s, cumulate(ts, ''2 seconds'', ''8 seconds'') GROUP BY window_start, window_end, k'),
    ('counted', 'SELECT k, window_id, count(*) AS c, sum(v) AS s, string_agg(id::text, '','') AS ids FROM s, count_window(40, 7) GROUP BY k, window_id'),
    ('full', 'SELECT window_id, max(note) AS m, avg(v) AS a FROM s, count_window(9) GROUP BY window_id'),
    ('expanded', 'SELECT id, window_start FROM s, hop(ts, ''1 second'', ''3 seconds'')');
\set ECHO errors
\t on
\a
-- a worker takes the setting that is in force when it starts
SELECT format('ALTER SYSTEM SET stream_engine.batch_rows = %s', rows) AS setting, 'SELECT pg_reload_conf()' AS reload,
    (SELECT string_agg(format('CREATE MATERIALIZED VIEW %s_%s WITH (stream_engine.continuous, stream_engine.start = earliest) AS %s;', kind, rows, query), ' ' ORDER BY kind) FROM kinds) AS made,
    (SELECT string_agg(format('REFRESH MATERIALIZED VIEW %s_%s;', kind, rows), ' ' ORDER BY kind) FROM kinds) AS refreshed
FROM unnest('{1,7,1000}'::int[]) WITH ORDINALITY r(rows, o) ORDER BY o
\gexec
ALTER SYSTEM RESET stream_engine.batch_rows;
SELECT pg_reload_conf();
\a
\t off
\set ECHO all
CREATE FUNCTION differences(a text, b text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE n bigint;
BEGIN
    EXECUTE format('SELECT count(*) FROM ((TABLE %1$s EXCEPT ALL TABLE %2$s) UNION ALL (TABLE %2$s EXCEPT ALL TABLE %1$s)) d', a, b) INTO n;
    RETURN n;
END $$;
CREATE FUNCTION has_some(a text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE some boolean;
BEGIN
    EXECUTE format('SELECT count(*) > 5 FROM %s', a) INTO some;
    RETURN some;
END $$;
SELECT kind, has_some(kind || '_1') AS some,
    differences(kind || '_1', kind || '_7') AS of_7, differences(kind || '_1', kind || '_1000') AS of_1000 FROM kinds ORDER BY kind;
SELECT count(*), count(DISTINCT (late_rows, late_pairs)) AS counters, min(late_pairs) > 50 AS some_late FROM stream_engine.job_positions
    WHERE job::text ~ '^(tumbled|hopped|cumulated)_' GROUP BY split_part(job::text, '_', 1) ORDER BY 1;
