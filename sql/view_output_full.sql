-- A firing that is cut by a full output after every batch goes on where it stopped.
SELECT stream_engine.test_fault_set('sink-always-full', 'skip');
CREATE FOREIGN TABLE readings (id int, at timestamptz OPTIONS (event_time 'true'), v int)
    SERVER stream_engine OPTIONS (watermark 'at - interval ''1 minute''');
CREATE MATERIALIZED VIEW per_hour WITH (stream_engine.continuous) AS
    SELECT window_start, id, count(*) AS n, sum(v) AS total
    FROM readings, tumble(at, interval '1 hour') GROUP BY window_start, window_end, id;
CREATE MATERIALIZED VIEW per_two WITH (stream_engine.continuous, stream_engine.emit_partial) AS
    SELECT id, window_id, count(*) AS n, sum(v) AS total FROM readings, count_window(3, 2) GROUP BY id, window_id;
CREATE MATERIALIZED VIEW per_id WITH (stream_engine.continuous) AS
    SELECT id, count(*) AS n FROM readings GROUP BY id;

-- 3,000 groups in one hour; the next rows close it and are kept while it fires.
INSERT INTO readings SELECT i % 3000, '2024-01-01 10:00', i FROM generate_series(1, 9000) i;
INSERT INTO readings SELECT i, '2024-01-01 12:00', i FROM generate_series(1, 2000) i;
REFRESH MATERIALIZED VIEW per_hour;
SELECT window_start, count(*) AS groups, sum(n) AS rows, sum(total) AS total FROM per_hour GROUP BY 1 ORDER BY 1;

SELECT stream_engine.emit_watermark('readings', 'infinity');
REFRESH MATERIALIZED VIEW per_hour;
REFRESH MATERIALIZED VIEW per_id;
SELECT window_start, count(*) AS groups, sum(n) AS rows, sum(total) AS total FROM per_hour GROUP BY 1 ORDER BY 1;
SELECT count(*) AS groups, sum(n) AS rows FROM per_id;
-- The rest of 3,000 keys at the end of the input, batch by batch: 4 rows of 2,000 of them, 3 of the others.
REFRESH MATERIALIZED VIEW per_two;
SELECT window_id, n, count(*) AS groups, sum(total) AS total FROM per_two GROUP BY 1, 2 ORDER BY 1, 2;
SELECT stream_engine.test_fault_clear();
