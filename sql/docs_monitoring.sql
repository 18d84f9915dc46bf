-- The queries of docs/monitoring.md, as they stand there, over views in every state they are for.
CREATE TEMP VIEW q_lag AS
SELECT view, lag_time, pg_size_pretty(lag_bytes) AS lag, oldest_writer,
       clock_timestamp() - oldest_writer_since AS writing_for
FROM stream_engine.sources
ORDER BY lag_time DESC NULLS FIRST, lag_bytes DESC;

CREATE TEMP VIEW q_late AS
SELECT view, rows_in, late_rows, late_pairs,
       round(100.0 * late_rows / nullif(rows_in, 0), 2) AS late_percent, watermark
FROM stream_engine.jobs
WHERE late_pairs > 0
ORDER BY late_percent DESC;

CREATE TEMP VIEW q_kept AS
SELECT s.view, j.state, pg_size_pretty(s.retained_bytes) AS retained, s.restart_lsn,
       s.oldest_writer, clock_timestamp() - s.oldest_writer_since AS writing_for
FROM stream_engine.sources s JOIN stream_engine.jobs j USING (view)
ORDER BY s.retained_bytes DESC NULLS LAST;

CREATE TEMP VIEW q_kept_by_slot AS
SELECT d.datname, r.slot_name, r.wal_status,
       pg_size_pretty(pg_wal_lsn_diff(pg_current_wal_lsn(), r.restart_lsn)) AS retained,
       pg_size_pretty(r.safe_wal_size) AS room_left
FROM pg_replication_slots r JOIN pg_database d ON r.slot_name = 'stream_engine_' || d.oid
ORDER BY r.restart_lsn;

CREATE TEMP VIEW q_not_running AS
SELECT j.view, j.state, coalesce(j.error_sqlstate, e.sqlstate) AS sqlstate, coalesce(j.error, e.message) AS error,
       j.failures, j.restart_at
FROM stream_engine.jobs j
     LEFT JOIN LATERAL (SELECT sqlstate, message FROM stream_engine.errors WHERE view = j.view AND j.state = 'failed'
                        ORDER BY seq DESC LIMIT 1) e ON true
WHERE j.state NOT IN ('running', 'starting') OR j.error IS NOT NULL
ORDER BY j.state, j.view::text;

CREATE TEMP VIEW q_last_errors AS
SELECT DISTINCT ON (view) view, at, sqlstate, message, detail, position, "row"
FROM stream_engine.errors
ORDER BY view, seq DESC;

CREATE TEMP VIEW q_state AS
SELECT j.view, j.state_entries, pg_size_pretty(j.state_bytes) AS in_memory, pg_size_pretty(c.stored_bytes) AS stored,
       round(100.0 * j.state_bytes / pg_size_bytes(current_setting('stream_engine.state_memory')), 1) AS percent_of_bound
FROM stream_engine.jobs j JOIN stream_engine.checkpoints c USING (view)
ORDER BY j.state_bytes DESC;

CREATE TEMP VIEW q_commits AS
SELECT c.view, c.commits,
       round(c.commits / extract(epoch FROM clock_timestamp() - a.backend_start), 2) AS commits_per_second,
       c.commit_time / nullif(c.commits, 0) AS mean_commit_time, c.last_commit,
       round(100 * extract(epoch FROM j.busy_time)
             / extract(epoch FROM clock_timestamp() - a.backend_start), 1) AS busy_percent
FROM stream_engine.checkpoints c JOIN stream_engine.jobs j USING (view) JOIN pg_stat_activity a ON a.pid = j.pid
ORDER BY c.commits DESC;

CREATE TEMP VIEW q_blockers AS
SELECT j.view, b.pid, a.usename, a.state, a.xact_start, a.query
FROM stream_engine.jobs j CROSS JOIN LATERAL unnest(j.blocked_by) AS b(pid)
     LEFT JOIN pg_stat_activity a ON a.pid = b.pid
ORDER BY a.xact_start;

CREATE TEMP VIEW q_unread AS
SELECT stream, owner, oldest_lsn FROM stream_engine.streams WHERE views IS NULL;

CREATE TEMP VIEW q_alarms AS
SELECT view, 'failed' AS alarm, coalesce(error, 'see stream_engine.errors') AS what FROM stream_engine.jobs WHERE state = 'failed'
UNION ALL
SELECT view, 'does not run', concat_ws(': ', state, error) FROM stream_engine.jobs
WHERE state IN ('waiting', 'restarting', 'stopped', 'dormant')
UNION ALL
SELECT view, 'error', error FROM stream_engine.jobs WHERE state = 'running' AND error IS NOT NULL
UNION ALL
SELECT view, 'behind', lag_time::text FROM stream_engine.sources WHERE lag_time > interval '1 minute'
UNION ALL
SELECT view, 'keeps WAL', pg_size_pretty(retained_bytes) FROM stream_engine.sources WHERE retained_bytes > 8::bigint << 30
UNION ALL
SELECT view, 'long writer', format('process %s since %s', oldest_writer, oldest_writer_since) FROM stream_engine.sources
WHERE oldest_writer_since < clock_timestamp() - interval '1 hour'
UNION ALL
SELECT view, 'late rows', format('%s of %s', late_rows, rows_in) FROM stream_engine.jobs WHERE late_rows > rows_in / 100
UNION ALL
SELECT view, 'state', pg_size_pretty(state_bytes) FROM stream_engine.jobs
WHERE state_bytes > 0.8 * pg_size_bytes(current_setting('stream_engine.state_memory'));

CREATE FOREIGN TABLE reading (sensor int, value int, taken timestamptz OPTIONS (event_time 'true')) SERVER stream_engine
    OPTIONS (watermark 'taken - interval ''5 seconds''');
CREATE FOREIGN TABLE nobodys (x int) SERVER stream_engine;
SELECT stream, owner = current_user::regrole AS own, oldest_lsn <= pg_current_wal_lsn() AS oldest_lsn FROM q_unread ORDER BY stream::text;

CREATE MATERIALIZED VIEW per_minute WITH (stream_engine.continuous) AS
  SELECT window_start, sensor, count(*) FROM reading, tumble(taken, interval '1 minute')
  GROUP BY window_start, window_end, sensor;
CREATE MATERIALIZED VIEW latest WITH (stream_engine.continuous) AS SELECT sensor, max(value) AS top FROM reading GROUP BY sensor;
INSERT INTO reading VALUES (1, 1, '2024-01-01 12:00'), (1, 2, '2024-01-01 12:05'), (2, 3, '2024-01-01 12:00');
REFRESH MATERIALIZED VIEW per_minute;
REFRESH MATERIALIZED VIEW latest;
SELECT * FROM q_not_running;
SELECT view, alarm, what FROM q_alarms;
SELECT * FROM q_late;
SELECT view, state_entries, in_memory <> '0 bytes' AS in_memory, stored <> '0 bytes' AS stored, percent_of_bound BETWEEN 0 AND 1 AS percent
FROM q_state ORDER BY view::text;
SELECT view, commits > 0 AS commits, commits_per_second >= 0 AS per_second, mean_commit_time > '0' AS mean, last_commit <= now() AS last_commit,
       busy_percent BETWEEN 0 AND 100 AS busy
FROM q_commits ORDER BY view::text;
SELECT stream FROM q_unread;

-- One that fails at a row, one that has never run.
CREATE MATERIALIZED VIEW inverse WITH (stream_engine.continuous) AS SELECT sensor, 100 / value AS part FROM reading;
CREATE MATERIALIZED VIEW idle WITH (stream_engine.continuous) AS SELECT sensor FROM reading WITH NO DATA;
INSERT INTO reading VALUES (3, 0, '2024-01-01 12:06');
SELECT stream_engine.wait_state('inverse', 'failed');
REFRESH MATERIALIZED VIEW per_minute;
REFRESH MATERIALIZED VIEW latest;
SELECT * FROM q_not_running;
SELECT view, at <= now() AS at, sqlstate, message, position LIKE '%+%' AS position, "row" FROM q_last_errors;
SELECT view, lag_time IS NULL AS no_time, lag IS NULL AS no_lag FROM q_lag WHERE view::text IN ('idle', 'latest') ORDER BY view::text;
SELECT view, state, retained IS NOT NULL AS retained, restart_lsn <= pg_current_wal_lsn() AS restart_lsn FROM q_kept ORDER BY view::text;
SELECT datname = current_database() AS ours, wal_status, retained IS NOT NULL AS retained, room_left FROM q_kept_by_slot
WHERE datname = current_database();
SELECT view, alarm, what FROM q_alarms ORDER BY view::text, alarm;

-- One that a lock on its result blocks, and an open transaction that writes to the stream.
BEGIN;
LOCK TABLE latest IN SHARE MODE;
PREPARE TRANSACTION 'se_docs_monitoring';
INSERT INTO reading VALUES (4, 1, '2024-01-01 12:07');
CREATE TABLE found (LIKE q_blockers);
SELECT stream_engine.test_until('WITH seen AS (INSERT INTO found TABLE q_blockers RETURNING *) SELECT EXISTS (TABLE seen)');
SELECT view, pid, usename, query FROM found;
SELECT stream_engine.wait_state('latest', 'waiting');
SELECT view, state, sqlstate, error IS NOT NULL AS error FROM q_not_running WHERE view = 'latest'::regclass;
SELECT view, lag_time > '0' AS lag_time, lag <> '0 bytes' AS lag FROM q_lag WHERE view = 'latest'::regclass;
COMMIT PREPARED 'se_docs_monitoring';
SELECT stream_engine.wait_state('latest', 'running');
SELECT * FROM q_blockers;
BEGIN;
INSERT INTO reading VALUES (5, 1, '2024-01-01 12:08');
SELECT view, oldest_writer = pg_backend_pid() AS us, writing_for > '0' AS writing FROM q_lag WHERE view = 'latest'::regclass;
SELECT view, oldest_writer = pg_backend_pid() AS us, writing_for > '0' AS writing FROM q_kept WHERE view = 'latest'::regclass;
ROLLBACK;
