-- stream_engine.streams: what is retained, who reads, who writes. What it counts is what a SELECT would return.
CREATE FOREIGN TABLE a (id int, t text) SERVER stream_engine;
CREATE FOREIGN TABLE b (id int) SERVER stream_engine;
CREATE MATERIALIZED VIEW va WITH (stream_engine.continuous) AS SELECT id FROM a;
CREATE VIEW plain AS SELECT id, t FROM a WHERE id > 5;
CREATE VIEW plainer AS SELECT id, t FROM plain;
CREATE MATERIALIZED VIEW vb WITH (stream_engine.continuous) AS SELECT id, t FROM plainer;
INSERT INTO a SELECT i, repeat('x', 100) FROM generate_series(1, 1000) i;
BEGIN;
INSERT INTO a VALUES (-1, 'rolled back');
ROLLBACK;
BEGIN;
INSERT INTO a VALUES (2, 'kept');
SAVEPOINT s;
INSERT INTO a VALUES (-1, 'rolled back');
ROLLBACK TO s;
COMMIT;
REFRESH MATERIALIZED VIEW va;

SELECT stream, owner = current_user::regrole AS own, rows, bytes > 100 * rows AS bytes, oldest_row <= now() AS oldest_row,
       oldest_lsn <= pg_current_wal_lsn() AS oldest_lsn, views, kept_wal > 0 AS kept_wal, oldest_writer
FROM stream_engine.streams ORDER BY stream::text \gx
SELECT view, stream FROM stream_engine.sources ORDER BY view::text;
SELECT s.rows = count(*) AS same FROM stream_engine.streams s, a WHERE s.stream = 'a'::regclass GROUP BY s.rows;

-- A stream begins with its first layout: rows of one that is gone, and those of another stream, are not its own.
SELECT a.oldest_lsn < b.oldest_lsn AS later FROM stream_engine.streams a, stream_engine.streams b
WHERE a.stream = 'a'::regclass AND b.stream = 'b'::regclass;

-- By the statement's snapshot; a row is not counted before it is committed, and its writer is shown.
BEGIN ISOLATION LEVEL REPEATABLE READ;
INSERT INTO b VALUES (1), (2);
SELECT stream, rows, oldest_writer = pg_backend_pid() AS us, oldest_writer_since = now() AS since, oldest_writer_prepared
FROM stream_engine.streams WHERE stream = 'b'::regclass;
PREPARE TRANSACTION 'se_monitor_streams';
SELECT stream, rows, oldest_writer, oldest_writer_since <= now() AS since, oldest_writer_prepared
FROM stream_engine.streams WHERE stream = 'b'::regclass;
COMMIT PREPARED 'se_monitor_streams';
SELECT stream, rows, views, oldest_writer, oldest_writer_prepared FROM stream_engine.streams ORDER BY stream::text;

-- The log is read only where rows, bytes or oldest_row are asked for.
CREATE FUNCTION reads_log(query text) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE
    line text;
    found bool := false;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN ' || query LOOP
        found := found OR line LIKE '%count_retained%';
    END LOOP;
    RETURN found;
END $$;
SELECT reads_log('SELECT * FROM stream_engine.streams') AS everything,
       reads_log('SELECT stream, owner, oldest_lsn, views, kept_wal, oldest_writer, oldest_writer_since, oldest_writer_prepared FROM stream_engine.streams') AS the_rest;

-- A role sees its own streams, and all with pg_read_all_stats.
CREATE ROLE regress_streams_owner;
CREATE ROLE regress_streams_reader IN ROLE pg_read_all_stats;
CREATE ROLE regress_streams_other;
ALTER FOREIGN TABLE b OWNER TO regress_streams_owner;
SET ROLE regress_streams_owner;
SELECT stream, rows FROM stream_engine.streams;
SELECT stream::regclass, rows FROM stream_engine.count_retained();
SET ROLE regress_streams_reader;
SELECT stream, rows FROM stream_engine.streams ORDER BY stream::text;
SET ROLE regress_streams_other;
SELECT stream, rows FROM stream_engine.streams;
RESET ROLE;
DROP FOREIGN TABLE b;
DROP ROLE regress_streams_owner, regress_streams_reader, regress_streams_other;
SELECT stream, rows FROM stream_engine.streams;
