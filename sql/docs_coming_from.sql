-- The page docs/coming-from.md does what it says.

CREATE FOREIGN TABLE visit (
    page  text,
    ms    int,
    at    timestamptz OPTIONS (event_time 'true') DEFAULT now()
) SERVER stream_engine OPTIONS (watermark 'at - interval ''4 seconds''');

CREATE MATERIALIZED VIEW visits WITH (stream_engine.continuous) AS
  SELECT page, count(*) AS visits, count(DISTINCT ms) AS different, sum(ms) AS ms FROM visit GROUP BY page;

CREATE MATERIALIZED VIEW visits_per_minute WITH (stream_engine.continuous) AS
  SELECT date_trunc('minute', proctime()) AS minute, page, count(*) AS visits, sum(ms) AS ms
  FROM visit GROUP BY minute, page;

CREATE VIEW last_hour AS
  SELECT page, sum(visits) AS visits, sum(ms) / sum(visits) AS mean_ms
  FROM visits_per_minute WHERE minute > now() - interval '1 hour' GROUP BY page;

CREATE MATERIALIZED VIEW slow WITH (stream_engine.continuous) AS
  SELECT upper(page) AS page, ms / 1000.0 AS seconds, at FROM visit WHERE ms > 500;

CREATE MATERIALIZED VIEW hourly WITH (stream_engine.continuous) AS
  SELECT date_bin('1 hour', at, '2000-01-01 00:00+00') AS bucket, page, avg(ms) AS mean_ms, count(*) AS visits
  FROM visit GROUP BY bucket, page;

CREATE MATERIALIZED VIEW monthly WITH (stream_engine.continuous) AS
  SELECT window_start, page, count(*) AS visits
  FROM visit, tumble(at, interval '1 month', timezone => 'Europe/Berlin')
  GROUP BY window_start, window_end, page;

CREATE MATERIALIZED VIEW raw_visits WITH (stream_engine.continuous, stream_engine.start = 'earliest') AS SELECT * FROM visit;

ALTER MATERIALIZED VIEW hourly SET (stream_engine.checkpoint_interval = '1s');

CREATE MATERIALIZED VIEW per_window WITH (stream_engine.continuous) AS
  SELECT window_start, window_end, page, count(*) AS visits, string_agg(ms::text, ',' ORDER BY ms) AS times
  FROM visit, hop(at, interval '5 minutes', interval '10 minutes')
  GROUP BY window_start, window_end, page;

CREATE MATERIALIZED VIEW per_day_so_far WITH (stream_engine.continuous) AS
  SELECT window_start, window_end, count(*) AS visits
  FROM visit, cumulate(at, interval '1 hour', interval '1 day')
  GROUP BY window_start, window_end;

CREATE MATERIALIZED VIEW sessions WITH (stream_engine.continuous) AS
  SELECT window_start, window_end, page, count(*) AS visits
  FROM visit, session(at, interval '30 minutes')
  GROUP BY window_start, window_end, page;

CREATE MATERIALIZED VIEW last_visit WITH (stream_engine.continuous) AS
  SELECT page, max(at) AS at, (array_agg(ms ORDER BY at DESC))[1] AS ms FROM visit GROUP BY page;

CREATE TABLE visits_changes (at timestamptz DEFAULT clock_timestamp(), op text, page text, visits bigint);
CREATE FUNCTION note_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO public.visits_changes (op, page, visits) VALUES (TG_OP, NEW.page, NEW.visits);
    RETURN NULL;
END $$;
CREATE TRIGGER note_change AFTER INSERT OR UPDATE ON visits FOR EACH ROW EXECUTE FUNCTION note_change();

-- Rows, and what they become.
INSERT INTO visit VALUES ('a', 400, '2024-03-01 10:00+00'), ('a', 600, '2024-03-01 10:03+00'), ('b', 1500, '2024-03-01 10:20+00');
INSERT INTO visit VALUES ('a', 100, '2024-03-01 11:10+00');
REFRESH MATERIALIZED VIEW visits;
REFRESH MATERIALIZED VIEW visits_per_minute;
REFRESH MATERIALIZED VIEW slow;
REFRESH MATERIALIZED VIEW hourly;
REFRESH MATERIALIZED VIEW raw_visits;
REFRESH MATERIALIZED VIEW last_visit;
SELECT * FROM visits ORDER BY page;
SELECT page, visits, round(mean_ms) AS mean_ms FROM last_hour ORDER BY page;
SELECT page, round(seconds, 1) AS seconds, at FROM slow ORDER BY page;
SELECT bucket, page, round(mean_ms) AS mean_ms, visits FROM hourly ORDER BY bucket, page;
SELECT * FROM raw_visits ORDER BY at;
SELECT * FROM last_visit ORDER BY page;
SELECT page, max(visits) AS visits, count(*) FILTER (WHERE op = 'INSERT') AS inserted FROM visits_changes GROUP BY page ORDER BY page;
SELECT stream_engine.emit_watermark('visit', 'infinity');
REFRESH MATERIALIZED VIEW monthly;
REFRESH MATERIALIZED VIEW per_window;
REFRESH MATERIALIZED VIEW per_day_so_far;
REFRESH MATERIALIZED VIEW sessions;
SELECT * FROM monthly ORDER BY window_start, page;
SELECT * FROM per_window ORDER BY window_start, page;
SELECT min(window_end), max(window_end), max(visits) FROM per_day_so_far;
SELECT * FROM sessions ORDER BY window_start, page;
SELECT window_end - window_time AS last_moment FROM tumble(timestamptz '2024-03-01 10:00+00', interval '1 hour');

-- A window does not wait for a late row; without one no row is late.
INSERT INTO visit VALUES ('b', 1, '2024-03-01 10:00+00');
REFRESH MATERIALIZED VIEW hourly;
REFRESH MATERIALIZED VIEW per_window;
SELECT view, late_rows FROM stream_engine.jobs WHERE view IN ('hourly'::regclass, 'per_window'::regclass) ORDER BY view::text;
SELECT stream_engine.stop('visits');
SELECT stream_engine.wait_state('visits', 'stopped');
INSERT INTO visit VALUES ('b', 1, '2024-03-01 10:00+00');
SELECT stream_engine.start('visits');
REFRESH MATERIALIZED VIEW visits;
SELECT page, visits FROM visits ORDER BY page;
