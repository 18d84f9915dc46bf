-- ALTER FOREIGN TABLE … OPTIONS (SET watermark …) while a view runs: rows written after it go by the new expression.
CREATE FOREIGN TABLE s (id int, ts timestamptz OPTIONS (event_time 'true')) SERVER stream_engine
    OPTIONS (watermark $$ts - interval '1 hour'$$);
CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous) AS
    SELECT window_start, count(*) AS rows FROM s, tumble(ts, interval '10 minutes') GROUP BY window_start, window_end;

-- An hour behind: nothing has ended.
INSERT INTO s VALUES (1, '2024-01-01 00:05+00'), (2, '2024-01-01 00:30+00');
REFRESH MATERIALIZED VIEW v;
SELECT * FROM v ORDER BY 1;

-- At once: the watermark of the rows before stays, the next row moves it by the new expression.
ALTER FOREIGN TABLE s OPTIONS (SET watermark 'ts');
REFRESH MATERIALIZED VIEW v;
SELECT * FROM v ORDER BY 1;
INSERT INTO s VALUES (3, '2024-01-01 00:31+00');
REFRESH MATERIALIZED VIEW v;
SELECT * FROM v ORDER BY 1;

-- Further behind: a watermark never goes back, so what was late stays late.
ALTER FOREIGN TABLE s OPTIONS (SET watermark $$ts - interval '1 day'$$);
INSERT INTO s VALUES (4, '2024-01-01 00:07+00'), (5, '2024-01-01 00:32+00'), (6, '2024-01-01 12:00+00');
REFRESH MATERIALIZED VIEW v;
SELECT * FROM v ORDER BY 1;
SELECT late_rows, state FROM stream_engine.jobs;

-- A change that is rolled back changes nothing.
BEGIN;
ALTER FOREIGN TABLE s OPTIONS (DROP watermark);
INSERT INTO s VALUES (8, '2024-01-01 13:00+00');
ROLLBACK;
INSERT INTO s VALUES (9, '2024-01-01 14:00+00');
REFRESH MATERIALIZED VIEW v;
SELECT * FROM v ORDER BY 1;

-- Without a watermark only emit_watermark moves it.
ALTER FOREIGN TABLE s OPTIONS (DROP watermark);
INSERT INTO s VALUES (10, '2024-01-01 15:00+00'), (11, '2024-01-01 16:00+00');
REFRESH MATERIALIZED VIEW v;
SELECT count(*) FROM v WHERE window_start >= '2024-01-01 14:00+00';
SELECT stream_engine.emit_watermark('s', 'infinity');
REFRESH MATERIALIZED VIEW v;
SELECT * FROM v WHERE window_start >= '2024-01-01 14:00+00' ORDER BY 1;
SELECT state FROM stream_engine.jobs;

-- A function of the expression is replaced while a view runs: planning had put its body in its place.
CREATE FUNCTION behind(ts timestamptz) RETURNS timestamptz LANGUAGE sql IMMUTABLE AS $$ SELECT ts - interval '1 hour' $$;
CREATE FOREIGN TABLE f (id int, ts timestamptz OPTIONS (event_time 'true')) SERVER stream_engine OPTIONS (watermark 'behind(ts)');
CREATE MATERIALIZED VIEW fv WITH (stream_engine.continuous) AS
    SELECT window_start, count(*) AS rows FROM f, tumble(ts, interval '10 minutes') GROUP BY window_start, window_end;
INSERT INTO f VALUES (1, '2024-01-01 00:05+00'), (2, '2024-01-01 00:30+00');
REFRESH MATERIALIZED VIEW fv;
SELECT * FROM fv ORDER BY 1;
CREATE OR REPLACE FUNCTION behind(ts timestamptz) RETURNS timestamptz LANGUAGE sql IMMUTABLE AS $$ SELECT ts $$;
INSERT INTO f VALUES (3, '2024-01-01 00:31+00');
REFRESH MATERIALIZED VIEW fv;
SELECT * FROM fv ORDER BY 1;
