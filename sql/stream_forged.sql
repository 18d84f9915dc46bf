-- Bytes of a real message of a stream, emitted again by SQL, are no row: neither for a SELECT nor for a view.
CREATE EXTENSION pg_walinspect;
CREATE FOREIGN TABLE s (id int, t text, ts timestamptz OPTIONS (event_time 'true')) SERVER stream_engine;
CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous) AS SELECT id, t FROM s;
SELECT pg_current_wal_insert_lsn() AS before \gset
INSERT INTO s VALUES (1, 'a real row', '2024-01-01');
SELECT stream_engine.emit_watermark('s', '2024-01-01');
SELECT pg_current_wal_flush_lsn() AS after \gset
CREATE TABLE message AS
    SELECT decode(replace(substring(description FROM 'payload \(\d+ bytes\): (.*)$'), ' ', ''), 'hex') AS payload
    FROM pg_get_wal_records_info(:'before', :'after') WHERE resource_manager = 'LogicalMessage' AND description LIKE '%stream_engine/1%';
-- the row, the watermark
SELECT get_byte(payload, 0) AS version, get_byte(payload, 1) AS kind, position('a real row' IN encode(payload, 'escape')) > 0 AS row FROM message ORDER BY kind;
SELECT count(pg_logical_emit_message(transactional, 'stream_engine/1', payload)) FROM message, unnest('{t,f}'::bool[]) transactional;
-- the same within a transaction that writes to the stream itself, and cut short
BEGIN;
INSERT INTO s VALUES (2, 'a second row', '2024-01-01');
SELECT count(pg_logical_emit_message(transactional, 'stream_engine/1', payload)) FROM message, unnest('{t,f}'::bool[]) transactional;
SELECT count(pg_logical_emit_message(true, 'stream_engine/1', substring(payload FOR 60))) FROM message;
INSERT INTO s VALUES (3, 'a third row', '2024-01-01');
COMMIT;
REFRESH MATERIALIZED VIEW v;
SELECT * FROM v ORDER BY id;
SELECT id, t FROM s;
SELECT state, failures FROM stream_engine.jobs;
