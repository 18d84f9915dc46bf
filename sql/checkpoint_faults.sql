-- A worker that fails while it writes state or results starts again from the commit
-- before: nothing is lost, nothing is there twice.
-- Whether a REFRESH is told of the failures depends on when it looks.
SET client_min_messages = error;
ALTER SYSTEM SET stream_engine.restart_delay_min = 1;
ALTER SYSTEM SET stream_engine.restart_delay_max = 10;
SELECT pg_reload_conf();
CREATE TABLE twin (k int, v bigint);
CREATE FOREIGN TABLE s (k int, v bigint) SERVER stream_engine;
CREATE MATERIALIZED VIEW g WITH (stream_engine.continuous) AS SELECT k, count(*) AS n, sum(v) AS total FROM s GROUP BY k;
CREATE MATERIALIZED VIEW f WITH (stream_engine.continuous) AS SELECT k, v FROM s WHERE v % 7 = 0;

CREATE FUNCTION differences() RETURNS bigint LANGUAGE sql AS $$
    SELECT count(*) FROM (
        (TABLE g EXCEPT ALL SELECT k, count(*), sum(v) FROM twin GROUP BY k)
        UNION ALL (SELECT k, count(*), sum(v) FROM twin GROUP BY k EXCEPT ALL TABLE g)
        UNION ALL SELECT d.*, 0 FROM ((TABLE f EXCEPT ALL SELECT k, v FROM twin WHERE v % 7 = 0)
        UNION ALL (SELECT k, v FROM twin WHERE v % 7 = 0 EXCEPT ALL TABLE f)) d) d
$$;

-- Each step: a fault, enough changes to meet it (reclaim needs many commits), and a look.
CREATE FUNCTION steps() RETURNS SETOF text LANGUAGE sql AS $$
    SELECT step FROM unnest(ARRAY['store-chunk-written', 'sink-before-insert', 'sink-insert']) WITH ORDINALITY p (point, a),
                     unnest(ARRAY['error', 'fatal']) WITH ORDINALITY q (action, b),
                     LATERAL (VALUES (1, format('SELECT stream_engine.test_fault_set(%L, %L, 0, 1)', point, action)),
                                     (2, format('INSERT INTO twin SELECT i %% 400, i * %s FROM generate_series(1, 2000) i', a * 10 + b)),
                                     (3, format('INSERT INTO s SELECT i %% 400, i * %s FROM generate_series(1, 2000) i', a * 10 + b)),
                                     (4, 'REFRESH MATERIALIZED VIEW g'), (5, 'REFRESH MATERIALIZED VIEW f'),
                                     (6, format('SELECT %L AS point, %L AS action, stream_engine.test_fault_reached(%L) > 0 AS reached, differences()', point, action, point)),
                                     (7, 'SELECT stream_engine.test_fault_clear()')) s (c, step)
    ORDER BY a, b, c
$$;
SELECT steps()
\gexec

-- The same while old chunks are reclaimed.
SELECT stream_engine.test_fault_set('store-reclaim', 'error', 20, 2);
SELECT 'INSERT INTO twin SELECT i % 300, i FROM generate_series(1, 300) i',
       'INSERT INTO s SELECT i % 300, i FROM generate_series(1, 300) i',
       'REFRESH MATERIALIZED VIEW g'
FROM generate_series(1, 100)
\gexec
REFRESH MATERIALIZED VIEW f;
SELECT stream_engine.test_fault_reached('store-reclaim') > 22 AS reached, differences();
SELECT stream_engine.test_fault_clear();
SELECT count(*) > 0 AS errors, count(*) FILTER (WHERE sqlstate <> 'XX000') AS others FROM stream_engine.errors;
ALTER SYSTEM RESET stream_engine.restart_delay_min;
ALTER SYSTEM RESET stream_engine.restart_delay_max;
SELECT pg_reload_conf();
