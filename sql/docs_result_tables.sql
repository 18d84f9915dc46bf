-- The page docs/result-tables.md does what it says.
CREATE FOREIGN TABLE click (user_id int, at timestamptz OPTIONS (event_time 'true') DEFAULT now()) SERVER stream_engine;
CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_notify('many', NEW.user_id::text); RETURN NULL; END $$;

CREATE MATERIALIZED VIEW per_user WITH (stream_engine.continuous) AS
  SELECT user_id, count(*) AS clicks, max(at) AS last FROM click GROUP BY user_id;

ALTER TABLE per_user ADD COLUMN note text DEFAULT '-';                 -- yours: kept when a row is updated
ALTER TABLE per_user ADD COLUMN many boolean GENERATED ALWAYS AS (clicks > 1000) STORED;
CREATE INDEX ON per_user (last);
CREATE TRIGGER tell AFTER UPDATE ON per_user FOR EACH ROW WHEN (NEW.many AND NOT OLD.many) EXECUTE FUNCTION tell();

INSERT INTO click (user_id) SELECT 1 FROM generate_series(1, 1000);
REFRESH MATERIALIZED VIEW per_user;
UPDATE per_user SET note = 'mine';
SELECT user_id, clicks, note, many FROM per_user;
-- The trigger's message goes out with the worker's commit; nobody listens here.
INSERT INTO click (user_id) VALUES (1), (2);
REFRESH MATERIALIZED VIEW per_user;
SELECT user_id, clicks, last <= now() AS last, note, many FROM per_user ORDER BY user_id;
