-- The monitoring views: what they show of a running, a stopped and a failed view.
CREATE FOREIGN TABLE s (id int, x int, at timestamptz OPTIONS (event_time 'true')) SERVER stream_engine
    OPTIONS (watermark 'at - interval ''1 second''');
CREATE MATERIALIZED VIEW m WITH (stream_engine.continuous) AS SELECT id, 100 / x AS y FROM s WHERE id > 1;
SELECT stream_engine.wait_state('m', 'running');

INSERT INTO s SELECT i, i, '2024-01-01 00:00+00'::timestamptz + i * interval '1 second' FROM generate_series(1, 10) i;
REFRESH MATERIALIZED VIEW m;

SELECT view, state, owner = current_user::regrole AS own, pid IS NOT NULL AS has_worker, attempt, failures, error,
       rows_in, rows_out, rows_not_taken, late_rows, pending_rows, state_entries, watermark = '2024-01-01 00:00:09+00' AS watermark,
       latency > '0' AS latency, busy_time > '0' AS busy
FROM stream_engine.jobs \gx
SELECT view, operator, kind, rows_in, rows_out, watermark = '2024-01-01 00:00:09+00' AS watermark FROM stream_engine.operators;
SELECT view, unit, source, stream, "position" IS NOT NULL AS has_position, reflected_lsn <= read_lsn AS read, restart_lsn <= reflected_lsn AS restart,
       lag_bytes >= 0 AS lag_bytes, lag_time, retained_bytes >= lag_bytes AS retained, oldest_writer, rows_in, late_rows, late_pairs
FROM stream_engine.sources \gx
SELECT view, unit, attempt, commits > 0 AS commits, commit_time >= '0' AS commit_time, last_commit <= clock_timestamp() AS last_commit,
       last_commit_time >= '0' AS last_commit_time, stored_bytes
FROM stream_engine.checkpoints \gx
SELECT count(*) FROM stream_engine.errors;

-- Who keeps the WAL from being reused.
BEGIN;
INSERT INTO s VALUES (11, 11, '2024-01-01 00:00:11+00');
SELECT oldest_writer = pg_backend_pid() AS us, oldest_writer_since = now() AS since FROM stream_engine.sources;
ROLLBACK;

-- A stopped view keeps its counters.
SELECT stream_engine.stop('m');
SELECT stream_engine.wait_state('m', 'stopped');
SELECT view, state, pid, rows_in, rows_out FROM stream_engine.jobs;

-- A failed one shows why.
SELECT stream_engine.start('m');
INSERT INTO s VALUES (12, 0, '2024-01-01 00:00:12+00');
SELECT stream_engine.wait_state('m', 'failed');
SELECT view, state, error_sqlstate, error FROM stream_engine.jobs;
SELECT view, seq, at <= clock_timestamp() AS at, attempt > 0 AS attempt, sqlstate, message, detail, "position" ~ '^[0-9A-F]+/[0-9A-F]+ \+0$' AS "position", "row"
FROM stream_engine.errors;

DROP MATERIALIZED VIEW m;
SELECT count(*) FROM stream_engine.jobs;
SELECT count(*) FROM stream_engine.sources;
SELECT count(*) FROM stream_engine.errors;
