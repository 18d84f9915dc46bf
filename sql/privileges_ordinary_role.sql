-- A role that is no superuser, in a database where nobody may create in public, creates and uses everything.
CREATE ROLE regress_user;
CREATE ROLE regress_writer;
CREATE ROLE regress_group NOLOGIN;
GRANT regress_group TO regress_user;
REVOKE CREATE ON SCHEMA public FROM PUBLIC;
CREATE SCHEMA app AUTHORIZATION regress_user;
CREATE SCHEMA team AUTHORIZATION regress_group;
GRANT USAGE ON SCHEMA app TO regress_writer;
SET ROLE regress_user;
CREATE TABLE public.t (x int);
SET search_path = app, public;

-- streams
CREATE FOREIGN TABLE bid (auction int, price int CHECK (price > 0), seen text DEFAULT current_user,
    t timestamptz OPTIONS (event_time 'true')) SERVER stream_engine OPTIONS (watermark 't');
ALTER FOREIGN TABLE bid ADD COLUMN note text DEFAULT 'none';
ALTER FOREIGN TABLE bid OPTIONS (SET watermark 't - interval ''1 second''');
SELECT stream_engine.check_stream('bid');
-- views
CREATE MATERIALIZED VIEW plain WITH (stream_engine.continuous) AS SELECT auction, price, seen FROM bid;
CREATE MATERIALIZED VIEW totals WITH (stream_engine.continuous, fillfactor = 50) AS
    SELECT auction, sum(price) AS total FROM bid GROUP BY auction;
CREATE MATERIALIZED VIEW minutes WITH (stream_engine.continuous, stream_engine.checkpoint_interval = '10ms') AS
    SELECT window_end, count(*) FROM bid, tumble(t, interval '1 minute') GROUP BY window_end;
SELECT stream_engine.explain('minutes') LIMIT 1;
EXPLAIN CREATE MATERIALIZED VIEW x WITH (stream_engine.continuous) AS SELECT auction FROM bid;
GRANT INSERT ON bid TO regress_writer;
GRANT SELECT ON totals TO regress_writer;
RESET ROLE;

-- a writer needs INSERT alone: for rows, for COPY, for watermarks
SET ROLE regress_writer;
INSERT INTO app.bid (auction, price, t) VALUES (1, 10, '2024-01-01 00:00:10');
COPY app.bid (auction, price, t) FROM stdin;
2	20	2024-01-01 00:00:20
\.
SELECT stream_engine.emit_watermark('app.bid', '2024-01-01 00:01:00');
SELECT * FROM app.bid;
SELECT total FROM app.totals LIMIT 0;
CREATE MATERIALIZED VIEW public.x WITH (stream_engine.continuous) AS SELECT auction FROM app.bid;
ALTER FOREIGN TABLE app.bid OPTIONS (DROP watermark);
DROP FOREIGN TABLE app.bid;
RESET ROLE;
-- INSERT on some columns is not enough for a watermark, which speaks for all rows
REVOKE INSERT ON app.bid FROM regress_writer;
GRANT INSERT (auction, price, t) ON app.bid TO regress_writer;
SET ROLE regress_writer;
INSERT INTO app.bid (auction, price, t) VALUES (3, 30, '2024-01-01 00:00:30');
SELECT stream_engine.emit_watermark('app.bid', '2024-01-01 00:02:00');
RESET ROLE;

SET ROLE regress_user;
REFRESH MATERIALIZED VIEW plain;
SELECT * FROM plain ORDER BY auction;
REFRESH MATERIALIZED VIEW totals;
SELECT * FROM totals ORDER BY auction;
REFRESH MATERIALIZED VIEW minutes;
SELECT * FROM minutes;
SELECT auction, note FROM bid;
-- all that can be done to them
SELECT stream_engine.stop('totals');
SELECT stream_engine.wait_state('totals', 'stopped');
SELECT stream_engine.start('totals');
SELECT stream_engine.wait_for('totals', pg_current_wal_lsn());
ALTER MATERIALIZED VIEW totals SET (stream_engine.checkpoint_interval = '1s');
ALTER MATERIALIZED VIEW totals RENAME TO sums;
CREATE INDEX ON sums (total);
COMMENT ON MATERIALIZED VIEW sums IS 'x';
SELECT view, owner FROM stream_engine.jobs ORDER BY view::text;
SELECT view, stream FROM stream_engine.sources ORDER BY view::text;
-- for a group, as its member
SET ROLE regress_group;
CREATE FOREIGN TABLE team.s (k int) SERVER stream_engine;
CREATE MATERIALIZED VIEW team.v WITH (stream_engine.continuous) AS SELECT k FROM team.s;
SET ROLE regress_user;
INSERT INTO team.s VALUES (1);
REFRESH MATERIALIZED VIEW team.v;
SELECT * FROM team.v;
ALTER MATERIALIZED VIEW sums OWNER TO regress_group;
SELECT stream_engine.stop('team.v');
DROP MATERIALIZED VIEW plain, minutes;
DROP MATERIALIZED VIEW team.v;
DROP FOREIGN TABLE team.s;
RESET ROLE;
-- without USAGE on the server no streams
REVOKE USAGE ON FOREIGN SERVER stream_engine FROM PUBLIC;
SET ROLE regress_user;
CREATE FOREIGN TABLE app.other (k int) SERVER stream_engine;
RESET ROLE;
GRANT USAGE ON FOREIGN SERVER stream_engine TO PUBLIC;

\set VERBOSITY terse
DROP OWNED BY regress_user, regress_writer CASCADE;
DROP OWNED BY regress_group CASCADE;
DROP ROLE regress_user, regress_writer, regress_group;
