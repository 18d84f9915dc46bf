-- The queries of docs/retention.md, as they stand there.
CREATE TEMP VIEW q_kept AS
SELECT s.view, j.state, pg_size_pretty(s.retained_bytes) AS retained, s.oldest_writer, s.oldest_writer_since
FROM stream_engine.sources s JOIN stream_engine.jobs j USING (view)
ORDER BY s.retained_bytes DESC NULLS LAST;
CREATE TEMP VIEW q_by_stream AS
SELECT stream, views, pg_size_pretty(kept_wal) AS kept, oldest_lsn, oldest_writer, oldest_writer_since, oldest_writer_prepared
FROM stream_engine.streams
ORDER BY kept_wal DESC NULLS LAST;
CREATE TEMP VIEW q_counted AS
SELECT stream, rows, pg_size_pretty(bytes) AS bytes, oldest_row FROM stream_engine.streams;
CREATE TEMP VIEW q_wal_dir AS
SELECT pg_size_pretty(sum(size)) AS pg_wal FROM pg_ls_waldir();
CREATE TEMP VIEW q_slots AS
SELECT slot_name, wal_status, pg_size_pretty(pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn)) AS retained,
       pg_size_pretty(safe_wal_size) AS room_left
FROM pg_replication_slots
ORDER BY restart_lsn;
CREATE TEMP VIEW q_results AS
SELECT view, pg_size_pretty(pg_total_relation_size(view)) AS result FROM stream_engine.jobs ORDER BY pg_total_relation_size(view) DESC;
CREATE TEMP VIEW q_state AS
SELECT pg_size_pretty(pg_total_relation_size('stream_engine.state_chunks')) AS state;

CREATE FOREIGN TABLE reading (sensor int, value int) SERVER stream_engine;
CREATE FOREIGN TABLE nobodys (x int) SERVER stream_engine;
CREATE MATERIALIZED VIEW latest WITH (stream_engine.continuous) AS SELECT sensor, max(value) AS top FROM reading GROUP BY sensor;
CREATE MATERIALIZED VIEW every WITH (stream_engine.continuous) AS SELECT * FROM reading;
INSERT INTO reading VALUES (1, 1), (2, 2), (1, 3);
INSERT INTO nobodys VALUES (1);
REFRESH MATERIALIZED VIEW latest;
REFRESH MATERIALIZED VIEW every;
SELECT * FROM every ORDER BY sensor, value;
SELECT view, state, retained IS NOT NULL AS retained, oldest_writer FROM q_kept ORDER BY view::text;
SELECT stream, views, kept IS NOT NULL AS kept, oldest_writer FROM q_by_stream ORDER BY stream::text;
SELECT stream, rows, bytes <> '0 bytes' AS bytes, oldest_row <= now() AS oldest_row FROM q_counted ORDER BY stream::text;
SELECT pg_wal <> '0 bytes' AS pg_wal FROM q_wal_dir;
SELECT count(*) FROM q_slots
WHERE slot_name = 'stream_engine_' || (SELECT oid FROM pg_database WHERE datname = current_database()) AND wal_status = 'reserved';
SELECT view, result <> '0 bytes' AS result FROM q_results ORDER BY view::text;
SELECT state <> '0 bytes' AS state FROM q_state;

-- A forgotten prepared transaction keeps WAL from its beginning, and is shown with its name.
BEGIN;
INSERT INTO reading VALUES (3, 3);
PREPARE TRANSACTION 'se_docs_retention';
INSERT INTO reading VALUES (4, 4);
REFRESH MATERIALIZED VIEW latest;
SELECT stream, oldest_writer, oldest_writer_prepared FROM q_by_stream WHERE stream = 'reading'::regclass;
SELECT r.restart_lsn < r.read_lsn AS kept FROM stream_engine.sources r WHERE view = 'latest'::regclass;
ROLLBACK PREPARED 'se_docs_retention';

-- A trigger of a result writes to another stream, which another view reads.
CREATE FOREIGN TABLE changes (sensor int, top int) SERVER stream_engine;
CREATE FUNCTION pass_on() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO public.changes VALUES (NEW.sensor, NEW.top);
    RETURN NULL;
END $$;
CREATE TRIGGER pass_on AFTER INSERT OR UPDATE ON latest FOR EACH ROW EXECUTE FUNCTION pass_on();
CREATE MATERIALIZED VIEW changed WITH (stream_engine.continuous) AS SELECT sensor, count(*) FROM changes GROUP BY sensor;
INSERT INTO reading VALUES (5, 5);
REFRESH MATERIALIZED VIEW latest;
REFRESH MATERIALIZED VIEW changed;
SELECT * FROM changed;
