-- The page docs/streams.md does what it says.
CREATE FOREIGN TABLE reading (
    sensor int NOT NULL,
    value  float8,
    unit   text DEFAULT 'C',
    taken  timestamptz OPTIONS (event_time 'true')
) SERVER stream_engine OPTIONS (watermark 'taken - interval ''5 seconds''');

CREATE FOREIGN TABLE hit (
    path text,
    at   timestamptz OPTIONS (event_time 'true') DEFAULT clock_timestamp()
) SERVER stream_engine OPTIONS (watermark 'at - interval ''1 second''');

SELECT stream_engine.emit_watermark('reading', '2024-01-01 12:00');   -- all from before have arrived
SELECT stream_engine.emit_watermark('reading', 'infinity');           -- the end of the input: every window closes

SELECT stream_engine.check_stream('reading');
SELECT object, name FROM stream_engine.stream_options() ORDER BY object, name;
INSERT INTO reading VALUES (1, 20.5, DEFAULT, '2024-01-01 12:00') RETURNING sensor, unit;
COPY reading (sensor, value, taken) FROM stdin (FORMAT csv);
1,21,2024-01-01 12:00:01
2,19,2024-01-01 12:00:02
\.
INSERT INTO hit VALUES ('/');
SELECT * FROM reading ORDER BY taken;
SELECT path, at <= clock_timestamp() AS at FROM hit;
COPY (SELECT sensor, value FROM reading ORDER BY taken) TO stdout;
ALTER FOREIGN TABLE reading OPTIONS (ADD null_time 'dead_letter', ADD max_future '5 minutes', ADD future_time 'pass');
ALTER FOREIGN TABLE reading OPTIONS (SET watermark 'taken - interval ''10 seconds''');
SELECT stream, rows, bytes > 0 AS bytes, oldest_row <= now() AS oldest_row, views FROM stream_engine.streams ORDER BY stream::text;
ALTER FOREIGN TABLE reading ADD COLUMN place text NOT NULL;
ALTER FOREIGN TABLE reading ADD COLUMN place text NOT NULL DEFAULT 'here';
SELECT sensor, place FROM reading WHERE sensor = 2;
ALTER FOREIGN TABLE reading OPTIONS (ADD max_delay '10 minutes');
ALTER FOREIGN TABLE hit OPTIONS (ADD idle_timeout '30 seconds', ADD idle_action 'advance');
SELECT lateness, rows, kept_percent, delay_for_99, delay_for_99_9 FROM stream_engine.lateness('reading');
SELECT current_watermark('reading');
