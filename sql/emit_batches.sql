-- What is shown at any place of the log does not depend on how many rows go through a dataflow together.
CREATE FOREIGN TABLE s (id int, k int, v int, note text, ts timestamptz OPTIONS (event_time 'true'))
    SERVER stream_engine OPTIONS (watermark 'ts - interval ''2 seconds''');
-- tick marks are written because of it
SELECT stream_engine.test_clock_set('2024-05-01 12:00+00');
CREATE MATERIALIZED VIEW ticker WITH (stream_engine.continuous, stream_engine.emit = 'early 1 s processing') AS
    SELECT k, count(*) FROM s GROUP BY k;
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
SELECT stream_engine.test_tick('2024-05-01 12:00:03+00');
CALL part(301, 1000, 13);
SELECT stream_engine.test_tick('2024-05-01 12:00:04+00');
SELECT stream_engine.emit_watermark('s', '2024-01-01 00:01:42');
CALL part(1001, 4000, 3000);
SELECT stream_engine.test_tick('2024-05-01 12:00:07+00');
CALL part(4001, 4123, 50);

CREATE TABLE kinds (kind text, options text, query text);
INSERT INTO kinds SELECT format('%s%s', name, n), format('stream_engine.emit = %L, stream_engine.allowed_lateness = %L', emit, lateness), query
FROM (VALUES (1, 'on_update', '0'), (2, 'early 700 ms, every 3 rows', '5 s'), (3, 'early 2 s processing', '12 s'),
             (4, 'on_update, late 3 s', '20 s')) m(n, emit, lateness),
     (VALUES ('tumbled', 'SELECT window_end, k, count(*) AS c, sum(v) AS s, count(DISTINCT v) AS d, array_agg(id) AS ids FROM s, tumble(ts, ''5 seconds'') GROUP BY window_end, k'),
             ('hopped', 'SELECT window_start, window_end, count(*) AS c, max(note) AS m FROM s, hop(ts, ''3 seconds'', ''10 seconds'') GROUP BY window_start, window_end HAVING count(*) % 2 = 0'),
             ('cumulated', 'SELECT window_start, k, max(note) AS m, avg(v) AS a FROM s, cumulate(ts, ''2 seconds'', ''8 seconds'') GROUP BY window_start, k')) q(name, query);
INSERT INTO kinds SELECT 'grouped' || n, format('stream_engine.emit = %L', emit), 'SELECT k, v % 10 AS w, count(*) AS c, sum(v) AS s, max(note) AS m, array_agg(id) AS ids FROM s GROUP BY k, v % 10'
FROM (VALUES (1, 'early 10 s'), (2, 'every 7 rows'), (3, 'early 2 s processing'), (4, 'every 50 rows, early 7 s')) m(n, emit);
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

\t on
\a
-- a worker takes the setting that is in force when it starts; a few views at a time
SELECT format('ALTER SYSTEM SET stream_engine.batch_rows = %s', rows) AS setting, 'SELECT pg_reload_conf()' AS reload,
    (SELECT string_agg(format('CREATE MATERIALIZED VIEW %s_%s WITH (stream_engine.continuous, stream_engine.start = earliest, %s) AS %s;', kind, rows, options, query), ' ' ORDER BY kind)
     FROM kinds WHERE kind LIKE part || '%') AS made,
    (SELECT string_agg(format('REFRESH MATERIALIZED VIEW %s_%s;', kind, rows), ' ' ORDER BY kind) FROM kinds WHERE kind LIKE part || '%') AS refreshed,
    format('SELECT bool_and(stream_engine.stop((kind || ''_%s'')::regclass) IS NULL) FROM kinds WHERE kind LIKE ''%s%%''', rows, part) AS stopping,
    format('SELECT bool_and(stream_engine.wait_state((kind || ''_%s'')::regclass, ''stopped'') IS NULL) FROM kinds WHERE kind LIKE ''%s%%''', rows, part) AS stopped
FROM unnest('{grouped,tumbled,hopped,cumulated}'::text[]) WITH ORDINALITY p(part, n), unnest('{1,7,1000}'::int[]) r(rows) ORDER BY n, rows
\gexec
ALTER SYSTEM RESET stream_engine.batch_rows;
SELECT pg_reload_conf();
\a
\t off

SELECT kind, has_some(kind || '_1') AS some,
    differences(kind || '_1', kind || '_7') AS of_7, differences(kind || '_1', kind || '_1000') AS of_1000 FROM kinds ORDER BY kind;
SELECT count(*), count(DISTINCT (late_rows, late_pairs)) AS counters, min(late_pairs) > 0 AS some_late FROM stream_engine.job_positions
    WHERE job::text ~ '^(tumbled|hopped|cumulated)' GROUP BY split_part(job::text, '_', 1) ORDER BY split_part(job::text, '_', 1);
