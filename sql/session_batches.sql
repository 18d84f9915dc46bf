-- Sessions, also those whose results change, do not depend on how many rows go through a dataflow together.
CREATE FOREIGN TABLE s (id int, k int, v int, ts timestamptz OPTIONS (event_time 'true'))
    SERVER stream_engine OPTIONS (watermark 'ts - interval ''2 seconds''');
-- mostly forward, some far back; in transactions of one row, of some, and of many; with marks between
CREATE PROCEDURE part(a int, b int, step int) LANGUAGE plpgsql AS $$
BEGIN
    FOR i IN a .. b BY step LOOP
        INSERT INTO s SELECT g, nullif(g % 23, 6), g % 100,
            timestamptz '2024-01-01' + g * interval '100 ms' - CASE WHEN g % 11 = 0 THEN g % 40 * interval '1 s' ELSE g % 13 * interval '0.1 s' END
            FROM generate_series(i, least(i + step - 1, b)) g;
        COMMIT;
    END LOOP;
END $$;
CALL part(1, 200, 1);
CALL part(201, 900, 13);
SELECT stream_engine.emit_watermark('s', '2024-01-01 00:01:32');
CALL part(901, 3500, 2600);

CREATE TABLE modes (mode text, options text);
INSERT INTO modes VALUES
    ('closed', ''),
    ('refired', ', stream_engine.allowed_lateness = ''8 s'''),
    ('updated', ', stream_engine.emit = on_update'),
    ('updated_late', ', stream_engine.emit = on_update, stream_engine.allowed_lateness = ''8 s'''),
    ('early', ', stream_engine.emit = ''early 3 s'', stream_engine.allowed_lateness = ''8 s'''),
    ('every', ', stream_engine.emit = ''every 3 rows'''),
    ('collected', ', stream_engine.emit = ''every 2 rows, late 3 s'', stream_engine.allowed_lateness = ''20 s''');
\set ECHO errors
\t on
\a
-- a worker takes the setting that is in force when it starts
SELECT format('ALTER SYSTEM SET stream_engine.batch_rows = %s', rows) AS setting, 'SELECT pg_reload_conf()' AS reload,
    (SELECT string_agg(format('CREATE MATERIALIZED VIEW %s_%s WITH (stream_engine.continuous, stream_engine.start = earliest%s) AS '
        'SELECT k, window_start, window_end, count(*) AS c, sum(v) AS s, array_agg(id) AS ids, count(DISTINCT v) AS d FROM s, session(ts, CASE WHEN k < 12 THEN interval ''2.2 s'' ELSE interval ''2 s'' END) '
        'GROUP BY k, window_start, window_end;', mode, rows, options), ' ' ORDER BY mode) FROM modes) AS made,
    (SELECT string_agg(format('REFRESH MATERIALIZED VIEW %s_%s;', mode, rows), ' ' ORDER BY mode) FROM modes) AS refreshed
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
-- while the input goes on, where each commit shows everything or what is over
SELECT mode, has_some(mode || '_1') AS some, differences(mode || '_1', mode || '_7') AS of_7, differences(mode || '_1', mode || '_1000') AS of_1000
FROM modes WHERE mode IN ('closed', 'refired', 'updated', 'updated_late') ORDER BY mode;
SELECT differences('updated_1', 'closed_1') > 0 AS open, differences('refired_1', 'closed_1') > 0 AS late;
-- and when it has ended
SELECT stream_engine.emit_watermark('s', 'infinity');
\set ECHO errors
\t on
\a
SELECT format('REFRESH MATERIALIZED VIEW %s_%s', mode, rows) FROM modes, unnest('{1,7,1000}'::int[]) rows ORDER BY mode, rows
\gexec
\a
\t off
\set ECHO all
SELECT mode, has_some(mode || '_1') AS some, differences(mode || '_1', mode || '_7') AS of_7, differences(mode || '_1', mode || '_1000') AS of_1000 FROM modes ORDER BY mode;
SELECT differences('updated_1', 'closed_1') AS updated, differences('every_1', 'closed_1') AS every,
    differences('early_1', 'refired_1') AS early, differences('updated_late_1', 'refired_1') AS updated_late;
SELECT regexp_replace(job::text, '_[0-9]+$', '') AS mode, count(*) AS jobs, count(DISTINCT (late_rows, late_pairs)) AS counters, min(late_pairs) > 5 AS some_late
    FROM stream_engine.job_positions GROUP BY 1 ORDER BY 1;
