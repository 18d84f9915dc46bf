-- Options idle_timeout and idle_action: a stream without rows becomes idle; its watermark may go on with the clock.
CREATE FUNCTION at(t text) RETURNS timestamptz LANGUAGE sql IMMUTABLE AS $$ SELECT ('2024-05-01 ' || t || '+00')::timestamptz $$;
CREATE FOREIGN TABLE adv (a int, ts timestamptz OPTIONS (event_time 'true')) SERVER stream_engine
  OPTIONS (watermark 'ts - interval ''2 seconds''', idle_timeout '30 seconds', idle_action 'advance');
CREATE FOREIGN TABLE exc (a int, ts timestamptz OPTIONS (event_time 'true')) SERVER stream_engine
  OPTIONS (watermark 'ts - interval ''2 seconds''', idle_timeout '30 seconds');
SELECT stream_engine.test_clock_set(at('12:00'));
CREATE MATERIALIZED VIEW advance WITH (stream_engine.continuous) AS
  SELECT window_start, count(*) AS n, sum(a) AS sum FROM adv, tumble(ts, interval '10 seconds') GROUP BY window_start, window_end;
CREATE MATERIALIZED VIEW exclude WITH (stream_engine.continuous) AS
  SELECT window_start, count(*) AS n, sum(a) AS sum FROM exc, tumble(ts, interval '10 seconds') GROUP BY window_start, window_end;
CREATE VIEW stands AS SELECT view, watermark, idle, late_rows FROM stream_engine.sources ORDER BY view::text;
CREATE PROCEDURE read_all() LANGUAGE plpgsql AS $$ BEGIN
  REFRESH MATERIALIZED VIEW advance; REFRESH MATERIALIZED VIEW exclude; END $$;
CREATE PROCEDURE tick(t text) LANGUAGE plpgsql AS $$ BEGIN
  PERFORM stream_engine.test_tick(at(t)); CALL read_all(); END $$;

-- Rows of 11:50: the stream is ten minutes behind the clock, and stays so.
CALL tick('12:00');
SELECT stream_engine.test_start_mark('adv') AS start \gset
CALL tick('12:00:01');
INSERT INTO adv VALUES (1, at('11:50:01')), (2, at('11:50:05'));
INSERT INTO exc VALUES (1, at('11:50:01')), (2, at('11:50:05'));
CALL read_all();
CALL tick('12:00:30.999999');
TABLE stands;
-- Half a minute without a row: idle. The watermark of one goes on by as much as the clock since that row.
CALL tick('12:00:31');
TABLE stands;
SELECT * FROM advance;
CALL tick('12:00:40');
TABLE stands;
-- Another row: active again; it may be late, and is counted.
INSERT INTO adv VALUES (3, at('11:50:09')), (4, at('11:50:44'));
INSERT INTO exc VALUES (3, at('11:50:09')), (4, at('11:50:44'));
CALL read_all();
TABLE stands;
SELECT * FROM advance ORDER BY 1;
SELECT * FROM exclude ORDER BY 1;
-- The clock alone moves nothing until it is idle again.
CALL tick('12:01:00');
TABLE stands;
-- A watermark mark is a sign of life, too.
SELECT stream_engine.emit_watermark('adv', at('11:50:50'));
CALL tick('12:01:20');
TABLE stands;
CALL tick('12:01:30');
TABLE stands;
SELECT * FROM advance ORDER BY 1;

-- Rows that come between the look at the stream and the mark: the mark is there, but means nothing.
INSERT INTO adv VALUES (5, at('11:51:30'));
CALL read_all();
SELECT stream_engine.test_tick(at('12:01:59'));
CALL read_all();
SELECT stream_engine.test_fault_set('round-begin', 'wait');
INSERT INTO adv VALUES (6, at('11:51:31'));
SELECT stream_engine.test_tick(at('12:02:28'));
SELECT stream_engine.test_fault_clear('round-begin');
CALL read_all();
TABLE stands;
-- A restart changes nothing.
CALL tick('12:02:29');
TABLE stands;
SELECT stream_engine.stop('advance');
SELECT stream_engine.start('advance');
CALL read_all();
TABLE stands;
CALL tick('12:02:39');
TABLE stands;
SELECT * FROM advance ORDER BY 1;

-- From any place of the log the stamps are the same.
CREATE TABLE once AS SELECT row_number() OVER () AS n, event_time, wm, "row" FROM stream_engine.test_source('adv', :'start', 100);
CREATE TABLE anew AS SELECT row_number() OVER () AS n, event_time, wm, "row" FROM stream_engine.test_source('adv', :'start', 1, true);
SELECT event_time, wm, "row" FROM once ORDER BY n;
SELECT count(*) FROM (SELECT event_time, wm, "row" FROM once WHERE "row" <> 'tick' EXCEPT ALL SELECT event_time, wm, "row" FROM anew) d;

-- Positions that an older release stored say nothing of idleness; bytes that no release wrote are refused.
SELECT event_time, wm, "row" FROM stream_engine.test_source('adv', set_byte(substring(:'start'::bytea FOR 64), 1, 1), 100) LIMIT 3;
SELECT * FROM stream_engine.test_source('adv', set_byte(:'start'::bytea, 1, 1), 100);
SELECT * FROM stream_engine.test_source('adv', set_byte(set_byte(substring(:'start'::bytea FOR 64), 1, 1), 2, 2), 100);
SELECT * FROM stream_engine.test_source('adv', substring(:'start'::bytea FOR 70), 100);

-- A stream that never had a row: idle from the first tick on, but there is no watermark to advance.
CREATE FOREIGN TABLE never (ts timestamptz OPTIONS (event_time 'true')) SERVER stream_engine
  OPTIONS (watermark 'ts', idle_timeout '1 minute', idle_action 'advance');
CREATE MATERIALIZED VIEW nothing WITH (stream_engine.continuous) AS SELECT ts FROM never;
CALL tick('12:04');
REFRESH MATERIALIZED VIEW nothing;
CALL tick('12:05');
REFRESH MATERIALIZED VIEW nothing;
SELECT * FROM stands WHERE view = 'nothing'::regclass;

-- What holds them back. Of a view that goes by processing time the option is none.
CREATE MATERIALIZED VIEW by_clock WITH (stream_engine.continuous) AS
  SELECT window_start, count(*) FROM adv, tumble(proctime(), '1 day') GROUP BY window_start;
CREATE FOREIGN TABLE bounded (ts timestamptz OPTIONS (event_time 'true')) SERVER stream_engine
  OPTIONS (idle_timeout '30 seconds', max_delay '10 seconds');
CREATE MATERIALIZED VIEW delayed WITH (stream_engine.continuous) AS SELECT ts FROM bounded;
CALL tick('12:06');
REFRESH MATERIALIZED VIEW delayed;
CALL tick('12:06:40');
REFRESH MATERIALIZED VIEW delayed;
REFRESH MATERIALIZED VIEW by_clock;
REFRESH MATERIALIZED VIEW nothing;
SELECT view, idle FROM stream_engine.sources ORDER BY view::text;
SELECT reader, held_back_by FROM stream_engine.watermarks ORDER BY reader::text;

-- A row that was passed is a row: it never moves the watermark, but the stream is not idle. One that was dropped is none.
CREATE FOREIGN TABLE lax (ts timestamptz OPTIONS (event_time 'true')) SERVER stream_engine
  OPTIONS (watermark 'ts', idle_timeout '30 seconds', idle_action 'advance', null_time 'pass', infinite_time 'drop');
CREATE MATERIALIZED VIEW lenient WITH (stream_engine.continuous) AS SELECT ts FROM lax;
INSERT INTO lax VALUES (at('12:00'));
CALL tick('12:07');
INSERT INTO lax VALUES (NULL);
CALL tick('12:07:20');
INSERT INTO lax VALUES (NULL);
CALL tick('12:07:40');
REFRESH MATERIALIZED VIEW lenient;
SELECT * FROM stands WHERE view = 'lenient'::regclass;
SET client_min_messages = warning;
INSERT INTO lax VALUES ('infinity');
RESET client_min_messages;
CALL tick('12:08');
INSERT INTO lax SELECT 'infinity';
CALL tick('12:08:10');
REFRESH MATERIALIZED VIEW lenient;
SELECT * FROM stands WHERE view = 'lenient'::regclass;

-- Mistakes.
ALTER FOREIGN TABLE adv OPTIONS (SET idle_action 'sleep');
ALTER FOREIGN TABLE adv OPTIONS (DROP idle_timeout);
ALTER FOREIGN TABLE adv OPTIONS (SET idle_timeout '0');
ALTER FOREIGN TABLE adv OPTIONS (SET idle_timeout 'a while');
SELECT stream_engine.test_clock_set(NULL);
