-- Options of servers, streams and columns: what is accepted, how it is kept, what is refused.
CREATE VIEW kept AS SELECT ftrelid::regclass AS stream, ftoptions FROM pg_foreign_table;
SELECT object, name, type, default_value FROM stream_engine.stream_options();

-- a wrong option, a wrong value
CREATE SERVER k FOREIGN DATA WRAPPER stream_engine OPTIONS (connector 'carrier pigeon');
CREATE SERVER k FOREIGN DATA WRAPPER stream_engine OPTIONS (topic 'x');
CREATE SERVER native2 FOREIGN DATA WRAPPER stream_engine OPTIONS (connector 'native');
CREATE FOREIGN TABLE s (a int) SERVER stream_engine OPTIONS (event_time 'a');
CREATE FOREIGN TABLE s (a int) SERVER stream_engine OPTIONS (timezone 'Mars/Olympus');
CREATE FOREIGN TABLE s (a int) SERVER stream_engine OPTIONS (watermark '');
CREATE FOREIGN TABLE s (a timestamptz OPTIONS (event_time 'perhaps')) SERVER stream_engine;
CREATE FOREIGN TABLE s (a int OPTIONS (event_time 'true')) SERVER stream_engine;
CREATE FOREIGN TABLE s (a timestamptz OPTIONS (event_time 'true'), b timestamp OPTIONS (event_time 'on')) SERVER stream_engine;
CREATE USER MAPPING FOR CURRENT_USER SERVER stream_engine OPTIONS (password 'x');

-- a wrong watermark
-- (without an event time it is wrong only where it is used: a dump sets the column's option later)
CREATE FOREIGN TABLE s (ts timestamptz, n int) SERVER stream_engine OPTIONS (watermark 'n');
SELECT stream_engine.check_stream('s');
ALTER FOREIGN TABLE s ALTER ts OPTIONS (event_time 'true');
ALTER FOREIGN TABLE s OPTIONS (SET watermark 'ts');
ALTER FOREIGN TABLE s ALTER ts OPTIONS (event_time 'true');
SELECT stream_engine.check_stream('s');
DROP FOREIGN TABLE s;
CREATE FOREIGN TABLE s (ts timestamptz OPTIONS (event_time 'true'), a int) SERVER stream_engine OPTIONS (watermark 'ts -');
CREATE FOREIGN TABLE s (ts timestamptz OPTIONS (event_time 'true'), a int) SERVER stream_engine OPTIONS (watermark 'tss');
CREATE FOREIGN TABLE s (ts timestamptz OPTIONS (event_time 'true'), a int) SERVER stream_engine OPTIONS (watermark 'a');
CREATE FOREIGN TABLE s (ts timestamptz OPTIONS (event_time 'true'), a int) SERVER stream_engine OPTIONS (watermark 'ts, ts');
CREATE FOREIGN TABLE s (ts timestamptz OPTIONS (event_time 'true'), a int) SERVER stream_engine OPTIONS (watermark 'ts FROM pg_class');
CREATE FOREIGN TABLE s (ts timestamptz OPTIONS (event_time 'true'), a int) SERVER stream_engine OPTIONS (watermark 'max(ts)');
CREATE FOREIGN TABLE s (ts timestamptz OPTIONS (event_time 'true'), a int) SERVER stream_engine OPTIONS (watermark '(SELECT ts)');
CREATE FOREIGN TABLE s (ts timestamptz OPTIONS (event_time 'true'), a int) SERVER stream_engine OPTIONS (watermark 'now()');
CREATE FOREIGN TABLE s (ts timestamptz OPTIONS (event_time 'true'), a int) SERVER stream_engine OPTIONS (watermark 'least(ts, current_timestamp)');
CREATE FOREIGN TABLE s (ts timestamptz OPTIONS (event_time 'true'), a int) SERVER stream_engine OPTIONS (watermark 'to_timestamp(a::text, ''DDD'')');
CREATE FOREIGN TABLE s (ts timestamptz OPTIONS (event_time 'true'), a int) SERVER stream_engine OPTIONS (watermark 'ts - random() * interval ''1s''');
SELECT * FROM kept;
SELECT * FROM stream_engine.stream_layouts;

-- kept as what it means, not as it was written
CREATE SCHEMA tools;
CREATE FUNCTION tools.bound(timestamptz) RETURNS timestamptz LANGUAGE sql IMMUTABLE AS $$ SELECT $1 $$;
SET search_path = tools, public;
SET DateStyle = 'German';
SET TimeZone = 'America/New_York';
CREATE FOREIGN TABLE public.s (ts timestamptz OPTIONS (event_time 'true'), "Odd name" int)
  SERVER native2 OPTIONS (watermark 'greatest(bound(s.ts) - "Odd name" * interval ''1 day'', ''2020-01-31 00:00'')', timezone 'Asia/Tokyo');
RESET search_path;
RESET DateStyle;
RESET TimeZone;
SELECT * FROM kept;
SELECT stream_engine.check_stream('s');

-- and follows every name in it
ALTER FOREIGN TABLE s RENAME ts TO happened;
ALTER FOREIGN TABLE s RENAME "Odd name" TO days;
ALTER FUNCTION tools.bound(timestamptz) RENAME TO limit_of;
SELECT * FROM kept;
ALTER SCHEMA tools RENAME TO tools2;
ALTER FOREIGN TABLE s RENAME TO renamed;
SELECT * FROM kept;
ALTER FUNCTION tools2.limit_of SET SCHEMA public;
SELECT * FROM kept;
BEGIN;
ALTER FOREIGN TABLE renamed RENAME happened TO rolled_back;
ROLLBACK;
SELECT * FROM kept;

-- what it needs cannot go away under it
DROP FUNCTION limit_of;
DROP SCHEMA tools2;
ALTER FOREIGN TABLE renamed DROP COLUMN days;
ALTER FOREIGN TABLE renamed DROP COLUMN happened;
ALTER FOREIGN TABLE renamed ALTER happened TYPE timestamp;
ALTER FOREIGN TABLE renamed ALTER days TYPE bigint;
SELECT * FROM kept;
ALTER FOREIGN TABLE renamed OPTIONS (SET watermark 'happened - interval ''5 seconds''');
SELECT * FROM kept;
DROP FUNCTION limit_of;
ALTER FOREIGN TABLE renamed DROP COLUMN days;
ALTER FOREIGN TABLE renamed OPTIONS (DROP watermark, DROP timezone);
ALTER FOREIGN TABLE renamed ALTER happened TYPE timestamp;
ALTER FOREIGN TABLE renamed OPTIONS (ADD watermark 'date_trunc(''minute'', happened)');
SELECT * FROM kept;
INSERT INTO renamed VALUES ('infinity');
INSERT INTO renamed VALUES ('2020-01-01');
SELECT * FROM renamed;

-- composite columns: a part of one in the watermark
CREATE TYPE stamped AS (at timestamptz, host text);
CREATE FOREIGN TABLE c (ts timestamptz OPTIONS (event_time 'true'), origin stamped) SERVER stream_engine
  OPTIONS (watermark 'least(ts, (origin).at)');
ALTER TYPE stamped RENAME ATTRIBUTE at TO "when";
SELECT * FROM kept WHERE stream = 'c'::regclass;
ALTER TYPE stamped DROP ATTRIBUTE "when";
DROP FOREIGN TABLE c;

-- whoever asks, the functions of a watermark run as the stream's owner
CREATE ROLE se_options_owner;
GRANT CREATE ON SCHEMA public TO se_options_owner;
SET ROLE se_options_owner;
CREATE FUNCTION said_by() RETURNS interval LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  RAISE NOTICE 'evaluated by %', current_user;
  RETURN '1 second';
END $$;
CREATE FOREIGN TABLE owned (ts timestamptz OPTIONS (event_time 'true')) SERVER stream_engine OPTIONS (watermark 'ts - said_by()');
RESET ROLE;
SELECT stream_engine.check_stream('owned');
DROP OWNED BY se_options_owner;
DROP ROLE se_options_owner;
DROP SERVER native2 CASCADE;
SELECT * FROM stream_engine.stream_layouts;
