-- Whole rows are for who may read the whole stream; nobody needs a privilege on our tables; the table of late rows is written as the view's owner.
CREATE ROLE regress_columns;
CREATE ROLE regress_whole;
CREATE ROLE regress_member IN ROLE regress_whole;
CREATE ROLE regress_other;
GRANT CREATE ON SCHEMA public TO regress_columns, regress_whole;
CREATE SCHEMA closed;
GRANT USAGE ON SCHEMA closed TO regress_whole;

CREATE FOREIGN TABLE s (id int, x int, secret text, ts timestamptz OPTIONS (event_time 'true'))
    SERVER stream_engine OPTIONS (watermark 'ts');
CREATE VIEW p AS SELECT id, x, ts FROM s;
GRANT SELECT (id, x, ts), INSERT ON s TO regress_columns;
GRANT SELECT ON p TO regress_columns;
GRANT SELECT ON s TO regress_whole;

SET ROLE regress_columns;
CREATE MATERIALIZED VIEW c WITH (stream_engine.continuous, stream_engine.on_error = dead_letter) AS SELECT id, 1 / x FROM s;
CREATE MATERIALIZED VIEW c WITH (stream_engine.continuous, stream_engine.on_error = dead_letter) AS SELECT id, 1 / x FROM p;
CREATE MATERIALIZED VIEW c WITH (stream_engine.continuous, stream_engine.late_output = late_c) AS SELECT window_end, count(*) FROM s, tumble(ts, '1 min') GROUP BY 1;
CREATE MATERIALIZED VIEW c WITH (stream_engine.continuous, stream_engine.on_error = skip) AS SELECT window_end, sum(1 / x) FROM s, tumble(ts, '1 min') GROUP BY 1;
ALTER MATERIALIZED VIEW c SET (stream_engine.on_error = dead_letter);
ALTER MATERIALIZED VIEW c SET (stream_engine.late_output = late_c);

SET ROLE regress_whole;
CREATE MATERIALIZED VIEW w WITH (stream_engine.continuous, stream_engine.on_error = dead_letter, stream_engine.late_output = 'closed.late_w') AS
    SELECT window_end, sum(1 / x) FROM s, tumble(ts, '1 min') GROUP BY 1;
CREATE MATERIALIZED VIEW w WITH (stream_engine.continuous, stream_engine.on_error = dead_letter, stream_engine.late_output = late_w) AS
    SELECT window_end, sum(1 / x) FROM s, tumble(ts, '1 min') GROUP BY 1;
CREATE FUNCTION who() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.who = current_user || ', ' || session_user; RETURN NEW; END $$;
ALTER TABLE late_w ADD COLUMN who text;
CREATE TRIGGER who BEFORE INSERT ON late_w FOR EACH ROW EXECUTE FUNCTION who();
RESET ROLE;
INSERT INTO s VALUES (1, 1, 'a', '2024-01-01 00:10'), (2, 0, 'b', '2024-01-01 00:10'), (3, 1, 'c', '2024-01-01 00:00');
REFRESH MATERIALIZED VIEW c;
REFRESH MATERIALIZED VIEW w;
SELECT view, error_rows, late_rows FROM stream_engine.jobs ORDER BY view::text;
SELECT id, secret, who FROM late_w;

SET ROLE regress_whole;
SELECT view, "row" ->> 'secret' AS secret FROM stream_engine.dead_letters;
SELECT count(*) FROM stream_engine.dead_letter_rows;
DELETE FROM stream_engine.dead_letters;
SET ROLE regress_member;
SELECT view FROM stream_engine.dead_letters;
SET ROLE regress_columns;
SELECT view FROM stream_engine.dead_letters;
SELECT stream_engine.delete_dead_letters('w');
SET ROLE regress_other;
SELECT view FROM stream_engine.dead_letters;
SELECT stream_engine.delete_dead_letters('w');
SET ROLE pg_monitor;
SELECT view FROM stream_engine.dead_letters;
SET ROLE regress_member;
SELECT stream_engine.delete_dead_letters('w');
RESET ROLE;

-- a table of somebody else: with INSERT, and as long as there is one
CREATE TABLE shared (LIKE s, late_view text, late_watermark timestamptz, late_arrived timestamptz, late_reason text);
SET ROLE regress_whole;
ALTER MATERIALIZED VIEW w SET (stream_engine.late_output = shared);
RESET ROLE;
GRANT INSERT ON shared TO regress_whole;
SET ROLE regress_whole;
ALTER MATERIALIZED VIEW w SET (stream_engine.late_output = shared);
RESET ROLE;
INSERT INTO s VALUES (4, 1, 'd', '2024-01-01 00:00');
REFRESH MATERIALIZED VIEW w;
SELECT id, late_view FROM shared;
REVOKE INSERT ON shared FROM regress_whole;
INSERT INTO s VALUES (5, 1, 'e', '2024-01-01 00:00');
SELECT stream_engine.wait_state('w', 'failed');
SELECT sqlstate, message FROM stream_engine.errors WHERE view = 'w'::regclass;
GRANT INSERT ON shared TO regress_whole;
SELECT stream_engine.start('w');
REFRESH MATERIALIZED VIEW w;
SELECT id FROM shared ORDER BY id;

-- but none whose owner would have code of its own run as the owner of the view, be it from the beginning or later
CREATE TABLE foreign_one (LIKE shared);
ALTER TABLE foreign_one OWNER TO regress_other;
GRANT INSERT ON foreign_one TO regress_whole;
SET ROLE regress_whole;
ALTER MATERIALIZED VIEW w SET (stream_engine.late_output = foreign_one);
RESET ROLE;
DROP TABLE foreign_one;
ALTER TABLE shared OWNER TO regress_other;
GRANT INSERT ON shared TO regress_whole;
INSERT INTO s VALUES (6, 1, 'f', '2024-01-01 00:00');
SELECT stream_engine.wait_state('w', 'failed', '10s');
SELECT sqlstate, message FROM stream_engine.errors WHERE view = 'w'::regclass ORDER BY seq DESC LIMIT 1;
ALTER TABLE shared OWNER TO regress_member;      -- may act as regress_whole
GRANT INSERT ON shared TO regress_whole;
SELECT stream_engine.start('w');
REFRESH MATERIALIZED VIEW w;
SELECT id FROM shared ORDER BY id;

-- nor one with a partition of such an owner, or a trigger of somebody else on a partition
CREATE TABLE parted (LIKE shared) PARTITION BY RANGE (id);
CREATE TABLE part PARTITION OF parted FOR VALUES FROM (0) TO (1000);
ALTER TABLE part OWNER TO regress_other;
GRANT INSERT ON parted TO regress_whole;
SET ROLE regress_whole;
ALTER MATERIALIZED VIEW w SET (stream_engine.late_output = parted);
RESET ROLE;
ALTER TABLE part OWNER TO regress_member;
GRANT TRIGGER ON part TO regress_other;
SET ROLE regress_whole;
ALTER MATERIALIZED VIEW w SET (stream_engine.late_output = parted);
SET ROLE regress_other;
CREATE TRIGGER sneaky BEFORE UPDATE ON part FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger();
RESET ROLE;
INSERT INTO s VALUES (7, 1, 'g', '2024-01-01 00:00');
REFRESH MATERIALIZED VIEW w;
SELECT id FROM part;

-- a superuser gives another role's view a table: it is that role's
ALTER MATERIALIZED VIEW w SET (stream_engine.late_output = late_new);
SELECT relowner::regrole FROM pg_class WHERE oid = 'late_new'::regclass;

-- what was granted is asked for again at each start
SELECT stream_engine.stop('w');
SELECT stream_engine.wait_state('w', 'stopped');
REVOKE SELECT ON s FROM regress_whole;
GRANT SELECT (id, x, ts) ON s TO regress_whole;
SELECT stream_engine.start('w');
SELECT stream_engine.wait_state('w', 'failed');
SELECT sqlstate, message FROM stream_engine.errors WHERE view = 'w'::regclass ORDER BY seq DESC LIMIT 1;

DROP MATERIALIZED VIEW w, c;
DROP TABLE late_w, shared, parted, late_new;
DROP VIEW p;
DROP FOREIGN TABLE s;
DROP FUNCTION who();
DROP SCHEMA closed;
REVOKE CREATE ON SCHEMA public FROM regress_columns, regress_whole;
DROP ROLE regress_columns, regress_whole, regress_member, regress_other;
