-- What docs/limits.md says to do instead works. (What is refused is shown by refuse_*.)
CREATE FOREIGN TABLE reading (
    sensor int, value int, doc json, place point,
    taken timestamptz OPTIONS (event_time 'true') DEFAULT now()
) SERVER stream_engine OPTIONS (watermark 'taken');
CREATE FOREIGN TABLE other (sensor int, value int) SERVER stream_engine;

-- Joins, UNION, OVER, ORDER BY and LIMIT: in the query that reads the views.
CREATE MATERIALIZED VIEW per_sensor WITH (stream_engine.continuous) AS
  SELECT sensor, count(*) AS n, max(value) AS top FROM reading GROUP BY sensor;
CREATE MATERIALIZED VIEW per_other WITH (stream_engine.continuous) AS
  SELECT sensor, count(*) AS n, max(value) AS top FROM ONLY other GROUP BY sensor;
CREATE VIEW both_streams AS SELECT * FROM per_sensor UNION ALL SELECT * FROM per_other;
-- Early results of what would be open windows; keys that cannot be hashed, cast to text.
CREATE MATERIALIZED VIEW early WITH (stream_engine.continuous) AS
  SELECT date_bin('1 minute', taken, '2000-01-01 00:00+00') AS minute, count(*) AS n FROM reading GROUP BY minute;
CREATE MATERIALIZED VIEW final WITH (stream_engine.continuous) AS
  SELECT window_start AS minute, count(*) AS n FROM reading, tumble(taken, interval '1 minute') GROUP BY window_start, window_end;
CREATE MATERIALIZED VIEW docs WITH (stream_engine.continuous) AS
  SELECT doc::text AS doc, place::text AS place, count(*) AS n FROM reading GROUP BY doc::text, place::text;
-- Numbers and columns of one's own in a result; guarding what may fail; another plain view in place of WITH.
CREATE VIEW large AS SELECT sensor, value, 100 / nullif(value, 0) AS part FROM reading WHERE value >= 0;
CREATE MATERIALIZED VIEW numbered WITH (stream_engine.continuous) AS SELECT sensor, part FROM large;
ALTER TABLE numbered ADD COLUMN id int GENERATED ALWAYS AS IDENTITY, ADD COLUMN note text;
CREATE FUNCTION fill_note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.note := 'sensor ' || NEW.sensor; RETURN NEW; END $$;
CREATE TRIGGER fill_note BEFORE INSERT ON numbered FOR EACH ROW EXECUTE FUNCTION fill_note();
-- A parent with children: ONLY.
CREATE FOREIGN TABLE child () INHERITS (other) SERVER stream_engine;
CREATE MATERIALIZED VIEW parent WITH (stream_engine.continuous) AS SELECT sensor FROM ONLY other;
SET client_min_messages = error;
CREATE PUBLICATION results FOR TABLE per_sensor;
RESET client_min_messages;

INSERT INTO reading VALUES (1, 10, '{"a": 1}', '(1,2)', '2024-01-01 12:00:10'), (2, 0, '{"a": 1}', '(1,2)', '2024-01-01 12:00:20');
INSERT INTO other VALUES (1, 5);
INSERT INTO child (sensor) VALUES (9);
REFRESH MATERIALIZED VIEW per_sensor;
REFRESH MATERIALIZED VIEW per_other;
REFRESH MATERIALIZED VIEW early;
REFRESH MATERIALIZED VIEW final;
REFRESH MATERIALIZED VIEW docs;
REFRESH MATERIALIZED VIEW numbered;
REFRESH MATERIALIZED VIEW parent;
SELECT * FROM both_streams ORDER BY sensor, top;
SELECT sensor, rank() OVER (ORDER BY s.top DESC), o.top FROM per_sensor s LEFT JOIN per_other o USING (sensor) ORDER BY 2 LIMIT 1;
SELECT * FROM early;
SELECT * FROM final;
SELECT * FROM docs;
SELECT * FROM numbered ORDER BY id;
SELECT * FROM parent ORDER BY sensor;

-- Time that stands still is moved by emit_watermark; time of arrival is windowed over by a DEFAULT.
SELECT stream_engine.emit_watermark('reading', '2024-01-01 12:01');
REFRESH MATERIALIZED VIEW final;
SELECT * FROM final;
CREATE FOREIGN TABLE arrived (x int, at timestamptz OPTIONS (event_time 'true') DEFAULT now()) SERVER stream_engine OPTIONS (watermark 'at');
CREATE MATERIALIZED VIEW arrivals WITH (stream_engine.continuous) AS
  SELECT window_start, count(*) AS n FROM arrived, tumble(at, interval '1 day') GROUP BY window_start, window_end;
INSERT INTO arrived VALUES (1), (2);
SELECT stream_engine.emit_watermark('arrived', 'infinity');
REFRESH MATERIALIZED VIEW arrivals;
SELECT n FROM arrivals;

-- Rows may be written in a prepared transaction; REFRESH comes after the commit.
BEGIN;
INSERT INTO other VALUES (1, 7);
PREPARE TRANSACTION 'se_docs_limits';
COMMIT PREPARED 'se_docs_limits';
REFRESH MATERIALIZED VIEW per_other;
SELECT * FROM per_other;
