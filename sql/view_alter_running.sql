-- Every form of ALTER that a materialized view or a table has, while the view runs: it goes on, and with the changed option.
CREATE FOREIGN TABLE s (k int, x text, at timestamptz OPTIONS (event_time 'true')) SERVER stream_engine OPTIONS (watermark 'at');
CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous) AS SELECT k, x AS label, count(*) AS n FROM s GROUP BY k, x;
CREATE MATERIALIZED VIEW a WITH (stream_engine.continuous) AS SELECT k, x AS label FROM s;
CREATE PROCEDURE step(INOUT upserted text DEFAULT NULL, INOUT appended bigint DEFAULT NULL) LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO s VALUES (1, 'x', '2024-01-01');
    COMMIT;
    REFRESH MATERIALIZED VIEW v;
    REFRESH MATERIALIZED VIEW a;
    EXECUTE 'SELECT v::text FROM v WHERE k = 1' INTO upserted;
    EXECUTE 'SELECT count(*) FROM a' INTO appended;
END $$;
CALL step();

ALTER MATERIALIZED VIEW v SET TABLESPACE pg_default;
ALTER MATERIALIZED VIEW v SET ACCESS METHOD heap;
ALTER MATERIALIZED VIEW ALL IN TABLESPACE pg_default SET TABLESPACE pg_default;
ALTER MATERIALIZED VIEW v ALTER COLUMN label SET STORAGE external;
ALTER MATERIALIZED VIEW v ALTER COLUMN label SET COMPRESSION pglz;
ALTER MATERIALIZED VIEW v ALTER COLUMN n SET (n_distinct = 5), ALTER COLUMN n SET STATISTICS 7;
ALTER MATERIALIZED VIEW v ALTER COLUMN n RESET (n_distinct);
ALTER MATERIALIZED VIEW v CLUSTER ON v_key;
ALTER MATERIALIZED VIEW v SET WITHOUT CLUSTER;
ALTER MATERIALIZED VIEW v DEPENDS ON EXTENSION plpgsql;
ALTER MATERIALIZED VIEW v NO DEPENDS ON EXTENSION plpgsql;
ALTER MATERIALIZED VIEW v RENAME n TO number;
ALTER MATERIALIZED VIEW v RENAME COLUMN number TO n;
CALL step();

-- options of PostgreSQL and ours in one command
ALTER MATERIALIZED VIEW v SET (autovacuum_enabled = off, stream_engine.restart = none), SET (stream_engine.checkpoint_interval = '1h');
ALTER MATERIALIZED VIEW IF EXISTS a SET (stream_engine.checkpoint_interval = '1h');
ALTER MATERIALIZED VIEW IF EXISTS missing SET (stream_engine.checkpoint_interval = '1h');
SELECT job, options, reloptions FROM stream_engine.job_catalog JOIN pg_class ON pg_class.oid = job ORDER BY job::text;
CALL step();

-- the job has taken it: what nobody asks for now waits for an hour, and not any more when that is changed
INSERT INTO s VALUES (2, 'late', '2024-01-01');
ALTER MATERIALIZED VIEW v RESET (autovacuum_enabled, stream_engine.restart, stream_engine.checkpoint_interval);
ALTER MATERIALIZED VIEW a RESET (stream_engine.checkpoint_interval);
SELECT job, options, reloptions FROM stream_engine.job_catalog JOIN pg_class ON pg_class.oid = job ORDER BY job::text;
CALL step();

-- state_memory below what the view holds stops it; the former value lets it go on
INSERT INTO s SELECT i, repeat('x', 100), '2024-01-01' FROM generate_series(1, 3000) AS i;
REFRESH MATERIALIZED VIEW v;
ALTER MATERIALIZED VIEW v SET (stream_engine.state_memory = '64kB');
INSERT INTO s VALUES (1, 'x', '2024-01-01');
SELECT stream_engine.wait_state('v', 'failed');
SELECT sqlstate FROM stream_engine.errors WHERE view = 'v'::regclass;
ALTER MATERIALIZED VIEW v RESET (stream_engine.state_memory);
SELECT stream_engine.start('v');
REFRESH MATERIALIZED VIEW v;
SELECT n FROM v WHERE label = 'x';
DELETE FROM v;

-- what is done to the table and its index
ALTER INDEX v_key RENAME TO v_other;
ALTER INDEX v_other SET (fillfactor = 50);
ALTER INDEX v_other SET TABLESPACE pg_default;
REINDEX TABLE v;
REINDEX INDEX CONCURRENTLY v_other;
CLUSTER v USING v_other;
VACUUM (FULL, ANALYZE) v;
ALTER TABLE a REPLICA IDENTITY NOTHING;
ALTER TABLE a SET LOGGED;
ALTER TABLE v DISABLE TRIGGER ALL;
ALTER TABLE v ALTER COLUMN k SET DEFAULT 7;
ALTER TABLE v ALTER COLUMN k SET NOT NULL, ADD CHECK (n > 0), ADD COLUMN mine text DEFAULT 'mine';
ALTER TABLE v ADD PRIMARY KEY (k, label);
CREATE STATISTICS on_v ON k, n FROM v;
CALL step();
ALTER TABLE v DROP CONSTRAINT v_pkey, DROP CONSTRAINT v_n_check;
ALTER TABLE v RENAME COLUMN mine TO yours;
DROP INDEX v_other;
CALL step();

-- a schema and a new name for both
CREATE SCHEMA other;
ALTER MATERIALIZED VIEW v SET SCHEMA other;
ALTER TABLE other.v RENAME TO w;
INSERT INTO s VALUES (1, 'x', '2024-01-01');
REFRESH MATERIALIZED VIEW other.w;
SELECT n FROM other.w WHERE label = 'x';
