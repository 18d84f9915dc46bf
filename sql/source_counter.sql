-- A position is its source's own: with a source that counts rows, in the place of a stream, a view commits, fails,
-- restores and goes on by numbers, and keeps no WAL.
ALTER SYSTEM SET stream_engine.restart_delay_min = 1;
ALTER SYSTEM SET stream_engine.restart_delay_max = 10;
SELECT pg_reload_conf();
CREATE FOREIGN TABLE s (n int, big bigint, t text, ts timestamptz OPTIONS (event_time 'true')) SERVER stream_engine;
SELECT stream_engine.test_fault_set('counter-source', 'skip');
CREATE MATERIALIZED VIEW each_row WITH (stream_engine.continuous, stream_engine.checkpoint_interval = '1ms') AS
    SELECT n, 100 / (n - 777) AS q FROM s;
CREATE MATERIALIZED VIEW by_key WITH (stream_engine.continuous, stream_engine.checkpoint_interval = '1ms') AS
    SELECT n % 7 AS k, count(*) AS c, sum(big) AS total FROM s GROUP BY 1;
CREATE MATERIALIZED VIEW by_second WITH (stream_engine.continuous, stream_engine.checkpoint_interval = '1ms') AS
    SELECT window_start, count(*) AS c, min(n) AS first FROM s, tumble(ts, '1 second') GROUP BY window_start;

-- row 777 cannot be computed; it is named, and skipped
SELECT stream_engine.wait_state('each_row', 'failed');
SELECT sqlstate, "position" FROM stream_engine.job_errors WHERE job = 'each_row'::regclass;
SELECT stream_engine.start('each_row', skip => (SELECT "position" FROM stream_engine.job_errors WHERE job = 'each_row'::regclass));

REFRESH MATERIALIZED VIEW each_row;
REFRESH MATERIALIZED VIEW by_key;
REFRESH MATERIALIZED VIEW by_second;
SELECT count(*), min(n), max(n), sum(n), count(DISTINCT n) FROM each_row;
SELECT * FROM by_key ORDER BY k;
SELECT count(*), sum(c), max(c), min(first), max(window_start) FROM by_second;
SELECT view, "position" FROM stream_engine.sources ORDER BY view::text;

-- once more, with processes that end where a commit is begun and where it is nearly done
CREATE MATERIALIZED VIEW again WITH (stream_engine.continuous, stream_engine.checkpoint_interval = '1ms') AS
    SELECT n % 7 AS k, count(*) AS c, sum(big) AS total FROM s GROUP BY 1 WITH NO DATA;
CREATE MATERIALIZED VIEW rows_again WITH (stream_engine.continuous, stream_engine.checkpoint_interval = '1ms') AS
    SELECT n FROM s WITH NO DATA;
SELECT stream_engine.test_fault_set('counter-poll', 'fatal', after => 20, times => 1);
SELECT stream_engine.test_fault_set('commit-after-results', 'fatal', after => 0, times => 2);
SELECT stream_engine.test_fault_set('commit-begin', 'fatal', after => 1, times => 1);
SELECT stream_engine.start('again');
SELECT stream_engine.start('rows_again');
-- Whether a REFRESH is told of the failures depends on when it looks.
SET client_min_messages = error;
-- who waits may be told of the failures, or come too late for that
SET client_min_messages = error;
REFRESH MATERIALIZED VIEW again;
REFRESH MATERIALIZED VIEW rows_again;
SELECT stream_engine.test_fault_reached('counter-poll') > 20 AS polled,
    stream_engine.test_fault_reached('commit-after-results') > 2 AS wrote, stream_engine.test_fault_reached('commit-begin') > 2 AS began;
SELECT count(*) AS differences FROM ((SELECT * FROM by_key EXCEPT SELECT * FROM again) UNION ALL (SELECT * FROM again EXCEPT SELECT * FROM by_key)) d;
SELECT count(*), sum(n), count(DISTINCT n) FROM rows_again;

-- the log's source does not take such a position for its own
SELECT stream_engine.test_fault_clear();
SELECT stream_engine.stop('rows_again');
SELECT stream_engine.wait_state('rows_again', 'stopped');
SELECT stream_engine.start('rows_again');
SELECT stream_engine.wait_state('rows_again', 'failed');
SELECT sqlstate, message FROM stream_engine.job_errors WHERE job = 'rows_again'::regclass ORDER BY seq DESC LIMIT 1;
ALTER SYSTEM RESET stream_engine.restart_delay_min;
ALTER SYSTEM RESET stream_engine.restart_delay_max;
SELECT pg_reload_conf();
