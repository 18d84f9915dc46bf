-- What a job gets: rows with stamps that depend on the log alone, from a mark or from any stored position.
CREATE FOREIGN TABLE s (a int, b text, ts timestamptz OPTIONS (event_time 'true')) SERVER stream_engine
	OPTIONS (watermark 'ts - interval ''4 seconds''');
CREATE TABLE start_at (p bytea);

-- Of the transaction that writes the mark, the rows behind the mark count.
INSERT INTO s VALUES (-2, 'before', '2024-01-01 00:00:00');
BEGIN;
INSERT INTO s VALUES (-1, 'same transaction, before the mark', '2024-01-01 00:00:00');
INSERT INTO start_at SELECT stream_engine.test_start_mark('s');
INSERT INTO s VALUES (0, 'same transaction, behind the mark', '2024-01-01 00:00:00');
COMMIT;

-- A row out of order, one rolled back, marks at their places.
INSERT INTO s VALUES (1, 'a', '2024-01-01 00:00:10'), (2, 'b', '2024-01-01 00:00:05');
BEGIN;
INSERT INTO s VALUES (3, 'c', '2024-01-01 00:00:07');
SAVEPOINT p;
INSERT INTO s VALUES (4, 'rolled back', '2024-01-01 01:00:00');
ROLLBACK TO p;
SELECT stream_engine.emit_watermark('s', '2024-01-01 00:00:20');
INSERT INTO s VALUES (5, 'behind the mark', '2024-01-01 00:00:21');
COMMIT;
BEGIN;
SELECT stream_engine.emit_watermark('s', '2025-01-01');
ROLLBACK;
INSERT INTO s VALUES (6, repeat('long ', 3), '2024-01-01 00:00:30');

CREATE VIEW rows256 AS SELECT event_time, wm, "row" FROM stream_engine.test_source('s', (SELECT p FROM start_at), 256);
SELECT * FROM rows256;
SELECT batch, wm, "row" FROM stream_engine.test_source('s', (SELECT p FROM start_at), 3);

-- The same with any batch size, and beginning anew from the stored position after every batch.
INSERT INTO s SELECT g, repeat('x', g % 300), '2024-01-02'::timestamptz + g * interval '1 second' - (g % 7) * interval '3 seconds'
	FROM generate_series(100, 3000) g;
CREATE TABLE expected AS SELECT row_number() OVER () AS i, place, event_time, wm, "row"
	FROM stream_engine.test_source('s', (SELECT p FROM start_at), 256);
SELECT capacity, reopen, count(*) AS rows,
	count(*) FILTER (WHERE (e.place, e.event_time, e.wm, e."row") IS DISTINCT FROM (r.place, r.event_time, r.wm, r."row")) AS differ
FROM (VALUES (1, false), (7, false), (1000, false), (10000, false), (7, true), (256, true)) c(capacity, reopen),
	LATERAL (SELECT row_number() OVER () AS i, t.* FROM stream_engine.test_source('s', (SELECT p FROM start_at), capacity, reopen) t) r
	JOIN expected e USING (i)
GROUP BY 1, 2 ORDER BY 2, 1;
SELECT count(*) FROM expected;
-- The same rows as a SELECT gives, behind the mark.
SELECT count(*) AS differ FROM (SELECT "row" FROM expected WHERE place IS NOT NULL) e
	FULL JOIN (SELECT concat_ws('|', a, b, ts) AS "row" FROM s WHERE a >= 0) s USING ("row") WHERE e."row" IS NULL OR s."row" IS NULL;
-- The stamp of a row is the greatest ts of all before it, less 4 seconds.
SELECT count(*) AS differ FROM (SELECT wm, max(event_time) OVER (ORDER BY i ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) - interval '4 seconds' AS h
	FROM expected WHERE place IS NOT NULL) x WHERE wm > '2024-01-02' AND wm <> h;

-- End of input: infinity is where the watermark stays.
SELECT stream_engine.emit_watermark('s', 'infinity');
INSERT INTO s VALUES (9999, 'late', '2030-01-01');
SELECT wm, "row" FROM stream_engine.test_source('s', (SELECT p FROM start_at), 256) OFFSET 2907;

-- A watermark that no subtraction computes: in the stream's time zone, NULL asserts nothing.
CREATE FOREIGN TABLE slow (a int, ts timestamptz OPTIONS (event_time 'true')) SERVER stream_engine
	OPTIONS (watermark 'CASE WHEN a > 0 THEN date_trunc(''day'', ts) END', timezone 'Asia/Tokyo');
TRUNCATE start_at;
INSERT INTO start_at SELECT stream_engine.test_start_mark('slow');
INSERT INTO slow VALUES (0, '2024-03-03 20:00'), (1, '2024-03-01 20:00'), (1, '2024-02-01'), (2, '2024-03-02 16:00');
SELECT wm, "row" FROM stream_engine.test_source('slow', (SELECT p FROM start_at), 256);
SHOW TimeZone;
-- A plain timestamp, days in the interval.
CREATE FOREIGN TABLE plain (ts timestamp OPTIONS (event_time 'true')) SERVER stream_engine
	OPTIONS (watermark 'ts - interval ''1 day 1 hour''');
TRUNCATE start_at;
INSERT INTO start_at SELECT stream_engine.test_start_mark('plain');
INSERT INTO plain VALUES ('2024-03-03 20:00'), ('2024-03-05');
SELECT wm, "row" FROM stream_engine.test_source('plain', (SELECT p FROM start_at), 256);
