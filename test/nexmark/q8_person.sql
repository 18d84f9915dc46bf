-- One side of Nexmark q8: the persons that entered in each 10 seconds.
CREATE MATERIALIZED VIEW nexmark_q8_person WITH (stream_engine.continuous) AS
SELECT id, name, window_start, window_end
FROM person, tumble(date_time, '10 seconds')
GROUP BY id, name, window_start, window_end;
