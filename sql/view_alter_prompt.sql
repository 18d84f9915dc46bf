-- An ALTER to results that come with each commit shows what was held back, also if no row comes any more.
SET client_min_messages = warning;
CREATE FOREIGN TABLE s (k int, ts timestamptz OPTIONS (event_time 'true')) SERVER stream_engine OPTIONS (watermark 'ts');
CREATE MATERIALIZED VIEW windows WITH (stream_engine.continuous, stream_engine.emit = 'every 10 rows') AS
  SELECT window_end, k, count(*) AS n FROM s, tumble(ts, interval '1 minute') GROUP BY window_end, k;
CREATE MATERIALIZED VIEW hops WITH (stream_engine.continuous) AS
  SELECT window_end, k, count(*) AS n FROM s, hop(ts, interval '1 minute', interval '2 minutes') GROUP BY window_end, k;
CREATE MATERIALIZED VIEW late WITH (stream_engine.continuous, stream_engine.emit = 'on_close, late 5 minutes', stream_engine.allowed_lateness = '1 hour') AS
  SELECT window_end, k, count(*) AS n FROM s, tumble(ts, interval '1 minute') GROUP BY window_end, k;
CREATE MATERIALIZED VIEW groups WITH (stream_engine.continuous, stream_engine.emit = 'every 10 rows') AS
  SELECT k, count(*) AS n FROM s GROUP BY k;
CREATE MATERIALIZED VIEW sessions WITH (stream_engine.continuous, stream_engine.emit = 'every 10 rows') AS
  SELECT window_end, k, count(*) AS n FROM s, session(ts, interval '1 minute') GROUP BY window_end, k;
CREATE PROCEDURE refresh() LANGUAGE plpgsql AS $$
BEGIN
  REFRESH MATERIALIZED VIEW windows;
  REFRESH MATERIALIZED VIEW hops;
  REFRESH MATERIALIZED VIEW late;
  REFRESH MATERIALIZED VIEW groups;
  REFRESH MATERIALIZED VIEW sessions;
END $$;
CREATE VIEW shown AS
  SELECT 'windows' AS view, window_end, k, n FROM windows UNION ALL SELECT 'hops', * FROM hops UNION ALL SELECT 'late', * FROM late
  UNION ALL SELECT 'groups', NULL, * FROM groups UNION ALL SELECT 'sessions', * FROM sessions ORDER BY 1, 2, 3;
INSERT INTO s VALUES (1, '2026-01-01 00:01:10Z'), (1, '2026-01-01 00:00:10Z'), (2, '2026-01-01 00:01:20Z');
CALL refresh();
TABLE shown;
ALTER MATERIALIZED VIEW windows SET (stream_engine.emit = 'on_update');
ALTER MATERIALIZED VIEW hops SET (stream_engine.emit = 'on_update');
ALTER MATERIALIZED VIEW late SET (stream_engine.emit = 'on_update');
ALTER MATERIALIZED VIEW groups SET (stream_engine.emit = 'on_update');
ALTER MATERIALIZED VIEW sessions SET (stream_engine.emit = 'on_update');
CALL refresh();
TABLE shown;
DROP FOREIGN TABLE s CASCADE;
