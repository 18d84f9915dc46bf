-- Punctuated watermarks: some rows say how far the stream is, the others say nothing.
CREATE FOREIGN TABLE p (n int, marker boolean, k int, v int, ts timestamptz OPTIONS (event_time 'true')) SERVER stream_engine
    OPTIONS (watermark 'CASE WHEN marker THEN ts END');
CREATE TABLE twin (n int, marker boolean, k int, v int, ts timestamptz);
CREATE MATERIALIZED VIEW tumbling WITH (stream_engine.continuous) AS
    SELECT k, window_start, count(*) AS c, sum(v) AS s FROM p, tumble(ts, '1 minute') GROUP BY k, window_start;
CREATE MATERIALIZED VIEW hopping WITH (stream_engine.continuous) AS
    SELECT window_end, count(*) AS c, max(v) AS m FROM p, hop(ts, '1 minute', '3 minutes') GROUP BY window_end;
CREATE MATERIALIZED VIEW stamped WITH (stream_engine.continuous) AS SELECT n, current_watermark('p') AS h FROM p;
CREATE MATERIALIZED VIEW sessions WITH (stream_engine.continuous) AS
    SELECT k, window_start, window_end, count(*) AS c FROM p, session(ts, '5 seconds') GROUP BY k, window_start, window_end;
CREATE PROCEDURE read_all() LANGUAGE plpgsql AS $$ BEGIN
    REFRESH MATERIALIZED VIEW tumbling; REFRESH MATERIALIZED VIEW hopping; REFRESH MATERIALIZED VIEW stamped; REFRESH MATERIALIZED VIEW sessions; END $$;

-- rows alone close nothing, however late in the day they are; a marker closes what ended before it, and counts itself
INSERT INTO twin VALUES (1, false, 1, 10, '2024-01-01 12:00:10+00'), (2, NULL, 1, 20, '2024-01-01 12:05+00'), (3, false, 1, 1, '2024-01-01 18:00+00');
INSERT INTO p SELECT * FROM twin ORDER BY n;
CALL read_all();
SELECT * FROM tumbling;
INSERT INTO p VALUES (4, true, 2, 2, '2024-01-01 12:01+00');
CALL read_all();
SELECT * FROM tumbling;
-- one that is behind changes nothing; after one a row may be late
INSERT INTO p VALUES (5, true, 2, 3, '2024-01-01 12:00:30+00'), (6, false, 1, 4, '2024-01-01 12:00:50+00'), (7, true, 1, 5, '2024-01-01 12:06+00');
CALL read_all();
SELECT * FROM tumbling ORDER BY 1, 2;
SELECT view, late_rows, late_pairs, watermark FROM stream_engine.jobs WHERE view::text IN ('tumbling', 'hopping') ORDER BY view::text;
-- emit_watermark goes along with markers
SELECT stream_engine.emit_watermark('p', '2024-01-01 17:00+00');
CALL read_all();
SELECT view, watermark FROM stream_engine.jobs ORDER BY view::text;
INSERT INTO twin VALUES (4, true, 2, 2, '2024-01-01 12:01+00'), (5, true, 2, 3, '2024-01-01 12:00:30+00'), (6, false, 1, 4, '2024-01-01 12:00:50+00'), (7, true, 1, 5, '2024-01-01 12:06+00'),
    (8, NULL, NULL, NULL, NULL);

-- many, out of order, in transactions of several sizes, with restarts between: what each row meets is the greatest marker before it
INSERT INTO twin SELECT 8 + i, i * 31 % 97 < 9, i * 13 % 5, i, '2024-01-01 18:00+00'::timestamptz + i * interval '1 s' - (i * 7919 % 11) * interval '9 s'
    FROM generate_series(1, 2000) i;
DO $$
BEGIN
    FOR i IN 0 .. 19 LOOP
        INSERT INTO p SELECT * FROM twin WHERE n > 8 AND n - 9 >= i * 100 AND n - 9 < i * 100 + 100 ORDER BY n;
        IF i % 5 <> 0 THEN
            COMMIT;
        END IF;
    END LOOP;
END $$;
SELECT stream_engine.stop(v) FROM unnest('{tumbling,hopping,stamped}'::regclass[]) v;
SELECT stream_engine.wait_state(v, 'stopped') FROM unnest('{tumbling,hopping,stamped}'::regclass[]) v;
SELECT stream_engine.start(v) FROM unnest('{tumbling,hopping,stamped}'::regclass[]) v;
CALL read_all();
CREATE VIEW met AS
    SELECT *, greatest(max(ts) FILTER (WHERE marker) OVER before, CASE WHEN n > 8 THEN '2024-01-01 17:00+00'::timestamptz END) AS h
    FROM twin WINDOW before AS (ORDER BY n ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING);
SELECT greatest(max(ts) FILTER (WHERE marker), '2024-01-01 17:00+00') AS last_h FROM twin \gset
CREATE VIEW tumbling_expected AS SELECT k, window_start, count(*) AS c, sum(v) AS s FROM met, tumble(ts, '1 minute')
    WHERE (h IS NULL OR window_end > h) GROUP BY k, window_start, window_end;
SELECT count(*) AS windows FROM tumbling;
SELECT count(*) AS differences FROM (
    (SELECT * FROM tumbling EXCEPT ALL SELECT * FROM tumbling_expected WHERE window_start + interval '1 minute' <= :'last_h')
    UNION ALL (SELECT * FROM tumbling_expected WHERE window_start + interval '1 minute' <= :'last_h' EXCEPT ALL SELECT * FROM tumbling)) d;
SELECT count(*) AS differences FROM (
    (SELECT * FROM hopping EXCEPT ALL SELECT window_end, count(*), max(v) FROM met, hop(ts, '1 minute', '3 minutes') WHERE (h IS NULL OR window_end > h) AND window_end <= :'last_h' GROUP BY 1)
    UNION ALL (SELECT window_end, count(*), max(v) FROM met, hop(ts, '1 minute', '3 minutes') WHERE (h IS NULL OR window_end > h) AND window_end <= :'last_h' GROUP BY 1 EXCEPT ALL SELECT * FROM hopping)) d;
SELECT count(*) AS differences FROM ((SELECT * FROM stamped EXCEPT ALL SELECT n, h FROM met WHERE n <> 8) UNION ALL (SELECT n, h FROM met WHERE n <> 8 EXCEPT ALL SELECT * FROM stamped)) d;
SELECT late_rows - (SELECT count(*) FROM met, tumble(ts, '1 minute') WHERE window_end <= h) AS differs FROM stream_engine.jobs WHERE view = 'tumbling'::regclass;
SELECT current_watermark('p') = :'last_h' AS at_its_end;

-- the marker may say another column than the event time, less than it, or nothing; and is watched at the door
SELECT stream_engine.test_clock_set('2024-01-01 12:00+00');
CREATE FOREIGN TABLE q (kind text, upto timestamp, ts timestamp OPTIONS (event_time 'true')) SERVER stream_engine
    OPTIONS (watermark 'CASE kind WHEN ''done'' THEN upto WHEN ''almost'' THEN ts - interval ''1 minute'' END', max_future '1 hour', future_time 'pass', null_time 'pass');
CREATE MATERIALIZED VIEW h WITH (stream_engine.continuous) AS SELECT kind, ts, current_watermark('q') AS h FROM q;
INSERT INTO q VALUES ('row', NULL, '2024-01-01 11:30'), ('done', '2024-01-01 11:00', '2024-01-01 11:31'), ('almost', NULL, '2024-01-01 11:32'), ('done', NULL, '2024-01-01 11:33'),
    ('almost', NULL, '2100-01-01'), ('done', '2024-01-01 11:40', NULL), ('done', 'infinity', '2024-01-01 11:34'), ('almost', NULL, '2024-01-01 11:35'), ('row', NULL, '2024-01-01 11:36');
REFRESH MATERIALIZED VIEW h;
SELECT * FROM h;
SELECT current_watermark('q');
