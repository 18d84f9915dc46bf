-- retention: rows of the result are deleted so long after their window became final, by an index that comes with the option.
CREATE FOREIGN TABLE s (k int, ts timestamptz OPTIONS (event_time 'true')) SERVER stream_engine OPTIONS (watermark 'ts');
CREATE MATERIALIZED VIEW tumbled WITH (stream_engine.continuous, stream_engine.retention = '1 hour') AS
  SELECT k, window_end, count(*) AS n FROM s, tumble(ts, interval '10 minutes') GROUP BY k, window_end;
CREATE MATERIALIZED VIEW late WITH (stream_engine.continuous, stream_engine.retention = '1 hour',
  stream_engine.allowed_lateness = '20 minutes', stream_engine.emit = 'on_update') AS
  SELECT k, window_end, count(*) AS n FROM s, tumble(ts, interval '10 minutes') GROUP BY k, window_end;
CREATE MATERIALIZED VIEW sessions WITH (stream_engine.continuous, stream_engine.retention = '1 hour') AS
  SELECT k, window_start, window_end, count(*) AS n FROM s, session(ts, interval '3 minutes') GROUP BY k, window_start, window_end;
CREATE MATERIALIZED VIEW kept WITH (stream_engine.continuous) AS
  SELECT k, window_end, count(*) AS n FROM s, tumble(ts, interval '10 minutes') GROUP BY k, window_end;
CREATE FUNCTION wait_retired(view regclass, n bigint) RETURNS void RETURN
  stream_engine.test_until(format('SELECT rows_retired >= %s, rows_retired FROM stream_engine.jobs WHERE view = %L::regclass', n, view));
SELECT indexdef FROM pg_indexes WHERE tablename IN ('tumbled', 'late', 'sessions') ORDER BY 1;
EXPLAIN (COSTS OFF) CREATE MATERIALIZED VIEW x WITH (stream_engine.continuous, stream_engine.retention = '90 min') AS
  SELECT k, window_end, count(*) AS n FROM s, tumble(ts, interval '10 minutes') GROUP BY k, window_end;

-- a day, in steps of the watermark
INSERT INTO s SELECT i % 4, '2026-01-01 00:00Z'::timestamptz + i * interval '1 minute' FROM generate_series(0, 1439) i;
REFRESH MATERIALIZED VIEW tumbled;
REFRESH MATERIALIZED VIEW late;
REFRESH MATERIALIZED VIEW sessions;
REFRESH MATERIALIZED VIEW kept;
SELECT wait_retired('tumbled', 548), wait_retired('late', 540), wait_retired('sessions', 1370);
SELECT count(*), min(window_end) FROM tumbled;
SELECT count(*), min(window_end) FROM late;
SELECT count(*), min(window_end) FROM sessions;
-- what is left is what the query has of it
SELECT * FROM kept WHERE window_end > '2026-01-01 22:59Z' EXCEPT ALL TABLE tumbled;
SELECT count(*) FROM kept;
SELECT sum(rows_retired) FROM stream_engine.jobs WHERE view = 'tumbled'::regclass;
SELECT (SELECT count(*) FROM tumbled) = result_rows FROM stream_engine.job_positions WHERE job = 'tumbled'::regclass;

-- the watermark alone; and the end of the input is no time that passes
SELECT stream_engine.emit_watermark('s', '2026-01-02 00:30Z');
SELECT wait_retired('tumbled', 560);
SELECT min(window_end) FROM tumbled;
SELECT stream_engine.emit_watermark('s', 'infinity');
REFRESH MATERIALIZED VIEW tumbled;
SELECT count(*), min(window_end) FROM tumbled;

-- the index goes and comes with the option, and alone it does not go
DROP INDEX tumbled_window_end_idx;
ALTER MATERIALIZED VIEW tumbled RESET (stream_engine.retention);
SELECT indexdef FROM pg_indexes WHERE tablename = 'tumbled';
ALTER MATERIALIZED VIEW kept SET (stream_engine.retention = '1 d');
SELECT indexdef FROM pg_indexes WHERE tablename = 'kept';
DROP FOREIGN TABLE s CASCADE;

-- rows that a trigger keeps stay; others see that they go
CREATE FOREIGN TABLE s (k int, ts timestamptz OPTIONS (event_time 'true')) SERVER stream_engine OPTIONS (watermark 'ts');
CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous, stream_engine.retention = '10 minutes') AS
  SELECT window_end, k FROM s, tumble(ts, interval '1 minute') GROUP BY window_end, k;
CREATE TABLE gone (k int);
CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN IF old.k = 1 THEN RETURN NULL; END IF; RETURN old; END';
CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO public.gone VALUES (old.k); RETURN NULL; END';
CREATE TRIGGER keep BEFORE DELETE ON v FOR EACH ROW EXECUTE FUNCTION keep();
CREATE TRIGGER tell AFTER DELETE ON v FOR EACH ROW EXECUTE FUNCTION tell();
INSERT INTO s VALUES (1, '2026-01-01 00:00Z'), (2, '2026-01-01 00:00Z'), (3, '2026-01-01 00:05Z'), (4, '2026-01-01 01:00Z');
REFRESH MATERIALIZED VIEW v;
SELECT wait_retired('v', 2);
SELECT * FROM v;
TABLE gone;
SELECT rows_retired, rows_not_taken > 0 AS turned_away FROM stream_engine.jobs;
DROP FOREIGN TABLE s CASCADE;

-- where it is refused
CREATE FOREIGN TABLE s (k int, ts timestamptz OPTIONS (event_time 'true')) SERVER stream_engine OPTIONS (watermark 'ts');
CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous, stream_engine.retention = '1 h') AS SELECT k FROM s;
CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous, stream_engine.retention = '1 h') AS SELECT k FROM s GROUP BY k;
CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous, stream_engine.retention = '1 h') AS
  SELECT window_start, count(*) FROM s, tumble(ts, '1 min') GROUP BY window_start;
CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous, stream_engine.retention = '1 h') AS
  SELECT window_end + interval '1 h', count(*) FROM s, tumble(ts, '1 min') GROUP BY window_end;
CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous, stream_engine.retention = '1 h') AS
  SELECT window_id, count(*) FROM s, count_window(3) GROUP BY window_id;
CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous, stream_engine.retention = '1 month') AS
  SELECT window_end, count(*) FROM s, tumble(ts, '1 min') GROUP BY window_end;
DROP FOREIGN TABLE s;
