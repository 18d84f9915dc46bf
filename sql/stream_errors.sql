-- What cannot be done to a stream says so, and what to do instead.
CREATE FOREIGN TABLE s (a int, t text, ts timestamptz OPTIONS (event_time 'true')) SERVER stream_engine;
INSERT INTO s VALUES (1, 'kept', '2020-01-01');

UPDATE s SET a = 2;
DELETE FROM s;
TRUNCATE s;
MERGE INTO s USING (VALUES (1)) v(x) ON s.a = v.x WHEN MATCHED THEN DELETE;
INSERT INTO s VALUES (1, 'x', '2020-01-01') ON CONFLICT DO NOTHING;
INSERT INTO s VALUES (1, 'x', '2020-01-01') ON CONFLICT (a) DO UPDATE SET t = 'y';
INSERT INTO s VALUES (1, 'x', NULL);
INSERT INTO s VALUES (1, 'x', 'infinity');
INSERT INTO s VALUES (1, 'x', '-infinity');
INSERT INTO s (a) VALUES (1);
CREATE INDEX ON s (a);
ALTER FOREIGN TABLE s ADD PRIMARY KEY (a);

-- a row above max_row_size is refused before anything of it is written
SET stream_engine.max_row_size = '64kB';
INSERT INTO s VALUES (1, repeat('x', 60000), '2020-01-01');
INSERT INTO s VALUES (1, repeat('x', 70000), '2020-01-01');
INSERT INTO s SELECT i, repeat('x', 10000 * i), '2020-01-01' FROM generate_series(1, 7) i;
RESET stream_engine.max_row_size;

-- read-only transactions
BEGIN READ ONLY;
INSERT INTO s VALUES (1, 'x', '2020-01-01');
ROLLBACK;
BEGIN READ ONLY;
SELECT stream_engine.emit_watermark('s', '2020-01-01');
ROLLBACK;

-- emit_watermark
SELECT stream_engine.emit_watermark('s', NULL);
SELECT stream_engine.emit_watermark(NULL, '2020-01-01');
SELECT stream_engine.emit_watermark('s', '-infinity');
SELECT stream_engine.emit_watermark('pg_class', '2020-01-01');
CREATE ROLE se_nobody;
SET ROLE se_nobody;
SELECT stream_engine.emit_watermark('s', '2020-01-01');
INSERT INTO s VALUES (1, 'x', '2020-01-01');
RESET ROLE;
GRANT INSERT ON s TO se_nobody;
SET ROLE se_nobody;
SELECT stream_engine.emit_watermark('s', '2020-01-01');
RESET ROLE;
DROP OWNED BY se_nobody;
DROP ROLE se_nobody;

-- nothing of all this is in the stream but the two rows that were accepted
SELECT a, length(t) FROM s;

-- SQL cannot write stream bytes: a message with our prefix that SQL makes is not ours
SELECT pg_logical_emit_message(true, 'stream_engine/1', repeat('x', 200)) IS NOT NULL AS emitted;
SELECT a, length(t) FROM s;
