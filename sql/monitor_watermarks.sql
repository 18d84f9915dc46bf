-- Where streams are in time: the view watermarks, and how late rows come.
SELECT stream_engine.test_clock_set('2024-05-05 12:00+00');
CREATE FOREIGN TABLE s (a int, ts timestamptz OPTIONS (event_time 'true')) SERVER stream_engine
    OPTIONS (watermark 'ts', max_future '1 hour', future_time 'pass', null_time 'pass');
CREATE FOREIGN TABLE marks (a int, ts timestamp OPTIONS (event_time 'true')) SERVER stream_engine OPTIONS (timezone 'Asia/Kathmandu');
CREATE FOREIGN TABLE nobody (a int) SERVER stream_engine;
CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous) AS SELECT a FROM s;
CREATE VIEW plain AS SELECT a FROM s;
CREATE MATERIALIZED VIEW w WITH (stream_engine.continuous) AS SELECT count(*) FROM plain;
CREATE MATERIALIZED VIEW m WITH (stream_engine.continuous) AS SELECT a FROM marks;
CREATE MATERIALIZED VIEW p WITH (stream_engine.continuous) AS SELECT window_start, count(*) FROM marks, tumble(proctime(), '1 day') GROUP BY window_start;
CREATE PROCEDURE settle() LANGUAGE plpgsql AS $$
DECLARE v text;
BEGIN
    FOREACH v IN ARRAY '{v,w,m,p}'::text[] LOOP
        IF (SELECT state FROM stream_engine.jobs WHERE view = v::regclass) = 'running' THEN
            EXECUTE 'REFRESH MATERIALIZED VIEW ' || v;
        END IF;
    END LOOP;
END $$;
SELECT stream_engine.wait_state(v, 'running') FROM unnest('{v,w,m,p}'::regclass[]) v;
CALL settle();
SELECT stream, reader, watermark, idle, held_back_by FROM stream_engine.watermarks WHERE reader IS DISTINCT FROM 'p'::regclass ORDER BY stream::text, reader::text;

INSERT INTO s VALUES (1, '2024-05-05 12:00+00'), (2, '2100-01-01');
SELECT stream_engine.emit_watermark('marks', '2024-05-05 11:00+00');
CALL settle();
SELECT stream, reader, watermark, lag > interval '1 day' AS lag, held_back_by FROM stream_engine.watermarks WHERE reader IS DISTINCT FROM 'p'::regclass ORDER BY stream::text, reader::text;
SELECT held_back_by FROM stream_engine.watermarks WHERE reader = 'p'::regclass;

-- a stopped view keeps what it had; an open writer is named; the end of the input
SELECT stream_engine.stop('w');
SELECT stream_engine.wait_state('w', 'stopped');
SELECT stream_engine.emit_watermark('marks', 'infinity');
INSERT INTO s VALUES (3, '2024-05-05 12:30+00');
CALL settle();
BEGIN;
INSERT INTO s VALUES (4, '2024-05-05 12:31+00');
SELECT stream, reader, watermark, lag IS NULL AS no_lag, replace(held_back_by, pg_backend_pid()::text, 'PID') AS held_back_by
FROM stream_engine.watermarks WHERE reader IS DISTINCT FROM 'p'::regclass ORDER BY stream::text, reader::text;
ROLLBACK;

-- a stream that the clock moves
CREATE FOREIGN TABLE clocked (a int, ts timestamptz OPTIONS (event_time 'true')) SERVER stream_engine OPTIONS (max_delay '1 hour');
CREATE MATERIALIZED VIEW c WITH (stream_engine.continuous) AS SELECT a FROM clocked;
SELECT stream_engine.wait_state('c', 'running');
REFRESH MATERIALIZED VIEW c;
SELECT stream, reader, held_back_by FROM stream_engine.watermarks WHERE reader = 'c'::regclass;
DROP FOREIGN TABLE clocked CASCADE;

-- who may see what
CREATE ROLE se_other;
SET ROLE se_other;
SELECT * FROM stream_engine.watermarks;
RESET ROLE;
GRANT pg_read_all_stats TO se_other;
SET ROLE se_other;
SELECT count(*) FROM stream_engine.watermarks;
RESET ROLE;
DROP ROLE se_other;

-- lateness: behind the greatest event time before the row; passed rows say nothing
SELECT * FROM stream_engine.lateness('nobody');
SELECT * FROM stream_engine.lateness('marks');
SELECT lateness, rows, kept_percent, delay_for_99, delay_for_99_9 FROM stream_engine.lateness('s');
CREATE FOREIGN TABLE l (a int, ts timestamptz OPTIONS (event_time 'true')) SERVER stream_engine OPTIONS (null_time 'pass', infinite_time 'pass');
CREATE TABLE twin (n int, ts timestamptz);
SELECT setseed(0.5);
INSERT INTO twin SELECT i, '2024-05-05'::timestamptz + i * interval '1 s' - CASE WHEN random() < 0.02 THEN random() * interval '1 hour' WHEN random() < 0.3 THEN random() * interval '4 s' ELSE '0' END
    FROM generate_series(1, 20000) i;
INSERT INTO l SELECT n, ts FROM twin ORDER BY n;
INSERT INTO l VALUES (0, NULL), (0, 'infinity'), (0, '-infinity');
CREATE TABLE observed AS SELECT greatest(max(ts) OVER (ORDER BY n ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) - ts, '0') AS late FROM twin;
SELECT sum(rows) AS rows, max(kept_percent) AS kept FROM stream_engine.lateness('l');
SELECT l.lateness, l.rows - (SELECT count(*) FROM observed WHERE coalesce(late, '0') <= l.lateness AND coalesce(late, '0') > coalesce(l.before, '-1 s')) AS differs
FROM (SELECT *, lag(lateness) OVER (ORDER BY lateness) AS before FROM stream_engine.lateness('l')) l ORDER BY 1;
-- the delays keep what they say, and are no more than 1 % longer than need be
SELECT kept99 >= 99, kept999 >= 99.9, delay_for_99 <= exact99 * 1.01, delay_for_99_9 <= exact999 * 1.01
FROM (SELECT DISTINCT delay_for_99, delay_for_99_9 FROM stream_engine.lateness('l')) d,
     LATERAL (SELECT 100.0 * count(*) FILTER (WHERE coalesce(late, '0') <= delay_for_99) / count(*) AS kept99,
                     100.0 * count(*) FILTER (WHERE coalesce(late, '0') <= delay_for_99_9) / count(*) AS kept999,
                     percentile_disc(0.99) WITHIN GROUP (ORDER BY coalesce(late, '0')) AS exact99,
                     percentile_disc(0.999) WITHIN GROUP (ORDER BY coalesce(late, '0')) AS exact999 FROM observed) o;
