-- Event times that are none, or too far in the future: what a stream's options do with their rows.
CREATE FOREIGN TABLE bad (ts timestamptz OPTIONS (event_time 'true')) SERVER stream_engine OPTIONS (null_time 'ignore');
CREATE FOREIGN TABLE bad (ts timestamptz OPTIONS (event_time 'true')) SERVER stream_engine OPTIONS (future_time 'Drop');
CREATE FOREIGN TABLE bad (ts timestamptz OPTIONS (event_time 'true')) SERVER stream_engine OPTIONS (max_future '-1 second');
CREATE FOREIGN TABLE bad (ts timestamptz OPTIONS (event_time 'true')) SERVER stream_engine OPTIONS (max_future '100000000 years');
CREATE FOREIGN TABLE bad (ts timestamptz OPTIONS (event_time 'true')) SERVER stream_engine OPTIONS (max_future 'soon');
CREATE FOREIGN TABLE bad (ts timestamptz OPTIONS (event_time 'true')) SERVER stream_engine OPTIONS (future_time 'drop');
-- without an event time they do nothing; a dump marks the column in a command of its own
CREATE FOREIGN TABLE bad (ts timestamptz) SERVER stream_engine OPTIONS (infinite_time 'drop', null_time 'drop');
SELECT stream_engine.check_stream('bad');
ALTER FOREIGN TABLE bad OPTIONS (DROP null_time, SET infinite_time 'error', ADD max_future '1 hour', ADD future_time 'pass');
SELECT stream_engine.check_stream('bad');
ALTER FOREIGN TABLE bad OPTIONS (DROP max_future);
ALTER FOREIGN TABLE bad ALTER ts OPTIONS (ADD event_time 'true');
SELECT stream_engine.check_stream('bad');
DROP FOREIGN TABLE bad;

-- an error is what is done by default: also where max_future alone is set
SELECT stream_engine.test_clock_set('2024-05-05 12:00+00');
CREATE FOREIGN TABLE s (a int, ts timestamptz OPTIONS (event_time 'true')) SERVER stream_engine
    OPTIONS (watermark 'ts', max_future '1 hour');
INSERT INTO s VALUES (1, '2024-05-05 13:00+00'), (2, '2024-05-05 11:00+00');
INSERT INTO s VALUES (3, '2024-05-05 13:00:00.000001+00');
INSERT INTO s VALUES (4, NULL);
INSERT INTO s VALUES (5, '-infinity');
-- the clock goes on, also within a statement
CREATE FUNCTION later(ts timestamptz) RETURNS timestamptz LANGUAGE plpgsql AS $$
BEGIN
    PERFORM stream_engine.test_clock_set(ts);
    RETURN ts + interval '59 minutes';
END $$;
INSERT INTO s VALUES (6, later('2024-05-05 12:10+00')), (7, later('2024-05-05 12:20+00')), (8, later('2024-05-05 12:30+00'));
SELECT stream_engine.test_clock_set('2024-05-05 12:00+00');
INSERT INTO s VALUES (9, '2024-05-05 13:29+00');
-- a mark is bound by it too, but for the end of the input
SELECT stream_engine.emit_watermark('s', '2024-05-05 13:00:00.000001+00');
SELECT stream_engine.emit_watermark('s', '2024-05-05 13:00+00');
SELECT stream_engine.emit_watermark('s', 'infinity');
SELECT * FROM s;

-- drop: as if it had never been; counted with the transaction, and said
ALTER FOREIGN TABLE s OPTIONS (ADD null_time 'drop', ADD infinite_time 'drop', ADD future_time 'drop');
INSERT INTO s VALUES (10, NULL), (11, '2024-05-05 12:00+00'), (12, 'infinity'), (13, '-infinity'), (14, '2100-01-01') RETURNING a;
COPY s FROM stdin;
15	\N
16	2024-05-05 12:00:00+00
17	\N
18	2100-01-01
\.
BEGIN;
INSERT INTO s VALUES (19, NULL);
SAVEPOINT a;
INSERT INTO s VALUES (20, NULL), (21, NULL);
ROLLBACK TO a;
INSERT INTO s VALUES (22, '2101-01-01');
COMMIT;
BEGIN;
INSERT INTO s VALUES (23, NULL);
ROLLBACK;
SELECT a FROM s WHERE a >= 10;
SELECT stream, reason, rows, first <= last AS ordered FROM stream_engine.dropped_rows ORDER BY 2;
SELECT reason, rows FROM stream_engine.dropped_row_counts ORDER BY 1, 2;
-- statements of one command count too
WITH a AS (INSERT INTO s VALUES (24, NULL)), b AS (INSERT INTO s VALUES (25, NULL)) INSERT INTO s VALUES (26, NULL), (27, '2024-05-05 12:00+00');
SELECT reason, rows FROM stream_engine.dropped_rows ORDER BY 1;
SELECT count(*) FROM stream_engine.dead_letters;

-- a row that is left out need not meet constraints; one that is written must
CREATE FOREIGN TABLE strict (a int CHECK (a > 0), ts timestamp OPTIONS (event_time 'true') NOT NULL) SERVER stream_engine
    OPTIONS (null_time 'drop', infinite_time 'pass');
INSERT INTO strict VALUES (-1, NULL), (1, NULL);
INSERT INTO strict VALUES (-1, 'infinity');
INSERT INTO strict VALUES (1, 'infinity');
ALTER FOREIGN TABLE strict OPTIONS (SET null_time 'pass');
INSERT INTO strict VALUES (1, NULL);
SELECT * FROM strict;

-- dead_letter: whole, with the reason, in the transaction
CREATE FOREIGN TABLE d (a int, gone text, t text DEFAULT 'x', g int GENERATED ALWAYS AS (a * 2) STORED, ts timestamptz OPTIONS (event_time 'true')) SERVER stream_engine
    OPTIONS (null_time 'dead_letter', infinite_time 'dead_letter', max_future '90 minutes', future_time 'dead_letter');
ALTER FOREIGN TABLE d DROP COLUMN gone;
INSERT INTO d (a, ts) VALUES (1, NULL), (2, 'infinity'), (3, '2024-05-05 12:00+00'), (4, '2024-05-05 14:00+00') RETURNING a, g;
BEGIN;
INSERT INTO d (a) VALUES (5);
ROLLBACK;
COPY d (a, t, ts) FROM stdin;
6	six	\N
7	seven	2024-05-05 12:00+00
\.
SELECT * FROM d;
SELECT view, stream, position, reason, sqlstate, message, detail, row FROM stream_engine.dead_letters ORDER BY id;
-- they can be put right and written again
INSERT INTO d (a, t, ts) SELECT (row->>'a')::int, row->>'t', '2024-05-05 12:30+00' FROM stream_engine.dead_letters WHERE reason = 'null_time' ORDER BY id;
SELECT a, t, ts FROM d WHERE ts > '2024-05-05 12:00+00';

-- who may only write leaves nothing behind silently, and sees nothing of others
CREATE ROLE se_producer;
GRANT INSERT, SELECT ON s, d TO se_producer;
SET ROLE se_producer;
INSERT INTO s VALUES (30, NULL);
INSERT INTO d (a) VALUES (30);
SELECT count(*) FROM stream_engine.dropped_rows;
SELECT count(*) FROM stream_engine.dead_letters;
SELECT count(*) FROM stream_engine.dropped_row_counts;
RESET ROLE;
SELECT reason, rows FROM stream_engine.dropped_rows WHERE stream = 's'::regclass ORDER BY 1;
SELECT row->>'a' AS a FROM stream_engine.dead_letters ORDER BY id DESC LIMIT 1;
DROP OWNED BY se_producer;
DROP ROLE se_producer;

-- a trigger may put a time right, or take it away; partitions
CREATE FUNCTION set_time() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.ts := CASE WHEN NEW.a < 0 THEN NULL ELSE coalesce(NEW.ts, '2024-05-05 11:59+00') END;
    RETURN NEW;
END $$;
CREATE TRIGGER t BEFORE INSERT ON s FOR EACH ROW EXECUTE FUNCTION set_time();
INSERT INTO s VALUES (40, NULL), (-40, '2024-05-05 12:00+00') RETURNING *;
CREATE TABLE parent (a int, ts timestamptz) PARTITION BY RANGE (a);
CREATE FOREIGN TABLE child PARTITION OF parent FOR VALUES FROM (0) TO (10) SERVER stream_engine OPTIONS (null_time 'drop');
ALTER FOREIGN TABLE child ALTER ts OPTIONS (ADD event_time 'true');
CREATE TABLE heap PARTITION OF parent FOR VALUES FROM (10) TO (20);
INSERT INTO parent VALUES (1, NULL), (2, '2024-05-05'), (11, NULL), (3, NULL);
SELECT tableoid::regclass, * FROM parent ORDER BY a;

-- `timestamp` meets the clock in the stream's zone
CREATE FOREIGN TABLE berlin (a int, ts timestamp OPTIONS (event_time 'true')) SERVER stream_engine
    OPTIONS (timezone 'Europe/Berlin', max_future '0', future_time 'drop');
INSERT INTO berlin VALUES (1, '2024-05-05 14:00'), (2, '2024-05-05 14:00:00.000001');
SELECT * FROM berlin;

-- the counts go with the stream
SELECT stream, reason, rows FROM stream_engine.dropped_rows ORDER BY stream::text, reason;
DROP FOREIGN TABLE s, berlin;
DROP TABLE parent;
SELECT stream, reason, rows FROM stream_engine.dropped_rows ORDER BY stream::text, reason;
SELECT count(*) FROM stream_engine.dropped_row_counts;
