-- is_final: which rows of a windowed view will never change again, as of the commit that a query sees.
CREATE FOREIGN TABLE s (k int, v int, ts timestamptz OPTIONS (event_time 'true')) SERVER stream_engine
  OPTIONS (watermark 'ts');
CREATE FOREIGN TABLE l (k int, ts timestamp OPTIONS (event_time 'true')) SERVER stream_engine OPTIONS (watermark 'ts');
CREATE MATERIALIZED VIEW late WITH (stream_engine.continuous, stream_engine.emit = on_update, stream_engine.allowed_lateness = '10 s')
  AS SELECT k, window_end, count(*), sum(v) FROM s, tumble(ts, interval '10 s') GROUP BY k, window_end;
CREATE MATERIALIZED VIEW closed WITH (stream_engine.continuous)
  AS SELECT k, window_end, count(*) FROM s, tumble(ts, interval '10 s') GROUP BY k, window_end;
CREATE MATERIALIZED VIEW local WITH (stream_engine.continuous, stream_engine.emit = on_update)
  AS SELECT k, window_end, count(*) FROM l, tumble(ts, interval '10 s') GROUP BY k, window_end;
CREATE MATERIALIZED VIEW total WITH (stream_engine.continuous) AS SELECT k, count(*) FROM s GROUP BY k;

CREATE VIEW shown AS
  SELECT 'late' AS view, k, window_end, count, stream_engine.is_final('late', window_end) AS final FROM late
  UNION ALL SELECT 'closed', k, window_end, count, stream_engine.is_final('closed', window_end) FROM closed;
CREATE PROCEDURE refresh() LANGUAGE plpgsql AS $$
BEGIN
  REFRESH MATERIALIZED VIEW late;
  REFRESH MATERIALIZED VIEW closed;
END $$;
SELECT stream_engine.is_final('late', '2000-01-01 00:00+00');

INSERT INTO s VALUES (1, 1, '2024-01-01 00:00:01+00'), (1, 2, '2024-01-01 00:00:12+00');
CALL refresh();
SELECT * FROM shown ORDER BY 1, 3, 2;
-- a late row changes a row that is not final, and does not touch one that is
INSERT INTO s VALUES (1, 4, '2024-01-01 00:00:02+00'), (1, 8, '2024-01-01 00:00:23+00'), (1, 16, '2024-01-01 00:00:03+00'),
  (1, 32, '2024-01-01 00:00:13+00');
CALL refresh();
SELECT * FROM shown ORDER BY 1, 3, 2;
-- with a watermark alone, and that of the end; rows that are as they were shown are not written again
CREATE TABLE before AS SELECT ctid::text AS place, xmin::text AS writer, k, window_end FROM late;
SELECT stream_engine.emit_watermark('s', '2024-01-01 00:00:40+00');
CALL refresh();
SELECT * FROM shown ORDER BY 1, 3, 2;
-- with less lateness what is final is so at once, though nothing comes any more; with more it stays so
SELECT stream_engine.is_final('late', '2024-01-01 00:00:35+00');
ALTER MATERIALIZED VIEW late SET (stream_engine.allowed_lateness = '4 s');
SELECT stream_engine.test_until($$SELECT stream_engine.is_final('late', '2024-01-01 00:00:35+00')$$);
ALTER MATERIALIZED VIEW late SET (stream_engine.allowed_lateness = '10 s');
REFRESH MATERIALIZED VIEW late;
SELECT stream_engine.is_final('late', '2024-01-01 00:00:35+00'), stream_engine.is_final('late', '2024-01-01 00:00:37+00');
SELECT stream_engine.emit_watermark('s', 'infinity');
CALL refresh();
SELECT stream_engine.is_final('late', '2400-01-01 00:00+00'), stream_engine.is_final('late', NULL::timestamptz);
INSERT INTO s VALUES (1, 64, '2024-01-01 00:00:25+00'), (2, 128, '2024-01-01 00:00:02+00'), (1, 256, '2024-01-01 00:00:50+00');
CALL refresh();
SELECT count(*) AS rows, count(*) FILTER (WHERE late.ctid::text <> place OR late.xmin::text <> writer) AS written_again
  FROM late FULL JOIN before USING (k, window_end);
SELECT late_rows FROM stream_engine.jobs WHERE view = 'late'::regclass;
-- what was final stays it, whatever becomes of the worker
SELECT stream_engine.stop('late');
SELECT stream_engine.wait_state('late', 'stopped');
SELECT stream_engine.is_final('late', '2024-01-01 00:00:30+00');

-- a stream of local times
INSERT INTO l VALUES (1, '2024-01-01 00:00:01'), (1, '2024-01-01 00:00:12');
REFRESH MATERIALIZED VIEW local;
SET TimeZone = 'Asia/Kathmandu';
SELECT k, window_end, count, stream_engine.is_final('local', window_end) FROM local ORDER BY 2;
RESET TimeZone;
SELECT stream_engine.is_final('local', '2024-01-01 00:00+00'::timestamptz);

-- where nothing can be said
SELECT stream_engine.is_final('total', now());
SELECT stream_engine.is_final('pg_class', now());
CREATE ROLE emit_final_reader;
SET ROLE emit_final_reader;
SELECT stream_engine.is_final('late', now());
RESET ROLE;
GRANT SELECT ON late TO emit_final_reader;
SET ROLE emit_final_reader;
SELECT stream_engine.is_final('late', '2024-01-01 00:00:30+00');
RESET ROLE;
DROP OWNED BY emit_final_reader;
DROP ROLE emit_final_reader;
