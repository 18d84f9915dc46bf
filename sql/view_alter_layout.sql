-- Options under which windows are kept in another way: hop and cumulate from results that come once to results that change.
-- The state is converted where the ALTER stands in the log.
SET client_min_messages = warning;
CREATE FOREIGN TABLE s (n int, k int, ts timestamptz OPTIONS (event_time 'true')) SERVER stream_engine OPTIONS (watermark 'ts');

CREATE MATERIALIZED VIEW h WITH (stream_engine.continuous) AS
  SELECT window_end, k, count(*) AS rows, sum(n) AS total, max(n::text) AS top FROM s, hop(ts, interval '1 hour', interval '3 hours') GROUP BY window_end, k;
INSERT INTO s SELECT g, g % 3, timestamptz '2024-01-01' + g * interval '10 minutes' FROM generate_series(1, 40) g;
REFRESH MATERIALIZED VIEW h;
SELECT count(*), max(window_end) FROM h;
ALTER MATERIALIZED VIEW h SET (stream_engine.emit = on_update);
-- what is open is shown, and the chunks of slices are gone
REFRESH MATERIALIZED VIEW h;
SELECT count(*), max(window_end) FROM h;
SELECT min(seq) > 1 AS anew FROM stream_engine.state_chunks WHERE job = 'h'::regclass;
INSERT INTO s SELECT g, g % 3, timestamptz '2024-01-01' + g * interval '10 minutes' FROM generate_series(41, 60) g;
REFRESH MATERIALIZED VIEW h;
CREATE VIEW should_h AS
  SELECT window_end, g % 3, count(*), sum(g), max(g::text)
  FROM generate_series(1, 60) g, hop(timestamptz '2024-01-01' + g * interval '10 minutes', interval '1 hour', interval '3 hours') GROUP BY 1, 2;
(TABLE h EXCEPT TABLE should_h) UNION ALL (TABLE should_h EXCEPT TABLE h);
SELECT count(*) FROM stream_engine.errors;
