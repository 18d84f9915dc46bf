-- Late and failing rows are written with the position: a commit that fails writes neither, and its successor writes each once.
-- Whether a REFRESH is told of the failures depends on when it looks.
SET client_min_messages = error;
ALTER SYSTEM SET stream_engine.restart_delay_min = 1;
ALTER SYSTEM SET stream_engine.restart_delay_max = 10;
SELECT pg_reload_conf();
CREATE FOREIGN TABLE s (id int, x int, ts timestamptz OPTIONS (event_time 'true')) SERVER stream_engine OPTIONS (watermark 'ts');
CREATE MATERIALIZED VIEW m WITH (stream_engine.continuous, stream_engine.on_error = dead_letter, stream_engine.late_output = late_m) AS
    SELECT window_end, sum(1 / x), count(*) FROM s, tumble(ts, '1 minute') GROUP BY window_end;
INSERT INTO s VALUES (0, 1, '2024-01-01 00:10');
REFRESH MATERIALIZED VIEW m;

SELECT stream_engine.test_fault_set('commit-before-side', 'error', times => 1);
INSERT INTO s VALUES (1, 1, '2024-01-01'), (2, 0, '2024-01-01'), (3, 1, '2024-01-01 00:11');
REFRESH MATERIALIZED VIEW m;
SELECT stream_engine.test_fault_reached('commit-before-side') > 1 AS tried_again;
SELECT stream_engine.test_fault_set('commit-before-position', 'error', times => 1);
INSERT INTO s VALUES (4, 1, '2024-01-01'), (5, 0, '2024-01-01'), (6, 1, '2024-01-01 00:12');
REFRESH MATERIALIZED VIEW m;
SELECT stream_engine.test_fault_reached('commit-before-position') > 1 AS tried_again;
SELECT stream_engine.test_fault_set('commit-before-position', 'fatal', times => 1);
INSERT INTO s VALUES (7, 1, '2024-01-01'), (8, 0, '2024-01-01'), (9, 1, '2024-01-01 00:13');
REFRESH MATERIALIZED VIEW m;
SELECT stream_engine.test_fault_reached('commit-before-position') > 1 AS tried_again;
SELECT stream_engine.test_fault_clear(NULL);

SELECT id, late_watermark FROM late_m ORDER BY id;
SELECT "row" ->> 'id' AS id FROM stream_engine.dead_letters ORDER BY id;
SELECT * FROM m ORDER BY 1;
SELECT rows_in, error_rows, late_rows FROM stream_engine.job_positions;

ALTER SYSTEM RESET stream_engine.restart_delay_min;
ALTER SYSTEM RESET stream_engine.restart_delay_max;
SELECT pg_reload_conf();
