-- A worker that begins anew inside a firing commits before it has read the log again: its place is the one it had.
SET client_min_messages = error;
CREATE FOREIGN TABLE s (seq int, k int, at timestamptz OPTIONS (event_time 'true')) SERVER stream_engine OPTIONS (watermark 'at');
CREATE TABLE twin (LIKE s);
CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous, stream_engine.allowed_lateness = '1 minute') AS
    SELECT window_start, window_end, k, count(*) AS n, sum(seq) AS sum FROM s, tumble(at, interval '1 second') GROUP BY 1, 2, 3;
CREATE MATERIALIZED VIEW once WITH (stream_engine.continuous) AS
    SELECT window_start, window_end, k, count(*) AS n, sum(seq) AS sum FROM s, tumble(at, interval '1 second') GROUP BY 1, 2, 3;
CREATE VIEW q AS SELECT window_start, window_end, k, count(*) AS n, sum(seq) AS sum FROM twin, tumble(at, interval '1 second') GROUP BY 1, 2, 3;
CREATE PROCEDURE put(first int, last int) LANGUAGE sql AS $$
    INSERT INTO twin SELECT i, i % 100, '2024-05-01 12:00'::timestamptz + i * interval '5 ms' FROM generate_series(first, last) i;
    INSERT INTO s SELECT * FROM twin WHERE seq BETWEEN first AND last ORDER BY seq
$$;
SELECT stream_engine.test_fault_set('sink-always-full', 'skip');

-- Reading begins far before the place: a transaction is open, and others have committed since.
BEGIN;
INSERT INTO s VALUES (0, 0, '2024-05-01 12:01');
PREPARE TRANSACTION 'view_restart_firing';
CALL put(1, 150);
REFRESH MATERIALIZED VIEW v;
REFRESH MATERIALIZED VIEW once;
SELECT stream_engine.test_fault_set('commit-done', 'error', times => 6);
CALL put(151, 2000);
REFRESH MATERIALIZED VIEW v;
REFRESH MATERIALIZED VIEW once;
SELECT stream_engine.test_fault_reached('commit-done') > 6 AS ended_six_times;
ROLLBACK PREPARED 'view_restart_firing';
SELECT stream_engine.test_fault_clear();

SELECT stream_engine.emit_watermark('s', 'infinity');
REFRESH MATERIALIZED VIEW v;
REFRESH MATERIALIZED VIEW once;
SELECT job::regclass AS view, rows_in, late_rows FROM stream_engine.job_positions ORDER BY job;
SELECT count(*) AS differences FROM (TABLE v EXCEPT ALL TABLE q UNION ALL (TABLE q EXCEPT ALL TABLE v)) d;
SELECT count(*) AS differences FROM (TABLE once EXCEPT ALL TABLE q UNION ALL (TABLE q EXCEPT ALL TABLE once)) d;
