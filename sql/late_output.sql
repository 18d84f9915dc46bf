-- late_output: rows that are late for all their windows go, whole, into a table of the owner's.
CREATE FOREIGN TABLE s (id int, k int, x numeric(8, 2), note text, ts timestamptz OPTIONS (event_time 'true'))
    SERVER stream_engine OPTIONS (watermark 'ts - interval ''2 seconds''');
CREATE TABLE twin (n serial, LIKE s);

CREATE MATERIALIZED VIEW tumbling WITH (stream_engine.continuous, stream_engine.late_output = 'late_tumbling') AS
    SELECT window_end, count(*) FROM s, tumble(ts, '10 s') GROUP BY window_end;
CREATE MATERIALIZED VIEW hopping WITH (stream_engine.continuous, stream_engine.late_output = 'public.late_both') AS
    SELECT window_end, k, sum(x) FROM s, hop(ts, '10 s', '30 s') WHERE k < 4 GROUP BY window_end, k;
CREATE MATERIALIZED VIEW cumulating WITH (stream_engine.continuous, stream_engine.late_output = 'public.late_both') AS
    SELECT window_start, count(DISTINCT k) FROM s, cumulate(ts, '10 s', '30 s') GROUP BY window_start;
CREATE MATERIALIZED VIEW visits WITH (stream_engine.continuous, stream_engine.late_output = 'late_visits') AS
    SELECT k, window_start, window_end, count(*) FROM s, session(ts, '5 s') GROUP BY 1, 2, 3;
CREATE MATERIALIZED VIEW patient WITH (stream_engine.continuous, stream_engine.late_output = 'late_patient', stream_engine.allowed_lateness = '20 s') AS
    SELECT window_end, count(*) FROM s, tumble(ts, '10 s') GROUP BY window_end;
-- a group that is forgotten closes, too
CREATE MATERIALIZED VIEW forgetful WITH (stream_engine.continuous, stream_engine.late_output = 'late_forgetful', stream_engine.state_ttl = '30 s on ts') AS
    SELECT id, count(*) FROM s GROUP BY id;
\d late_both

INSERT INTO twin (id, k, x, note, ts) SELECT i, i % 5, i / 7.0, CASE WHEN i % 3 > 0 THEN 'n' || i END,
    timestamptz '2024-01-01' + i * interval '1 s' - CASE WHEN i % 11 = 0 THEN interval '15 s' WHEN i % 13 = 0 THEN interval '50 s' ELSE '0' END
    FROM generate_series(1, 1000) i;
INSERT INTO s SELECT id, k, x, note, ts FROM twin ORDER BY n;
REFRESH MATERIALIZED VIEW tumbling;
REFRESH MATERIALIZED VIEW hopping;
REFRESH MATERIALIZED VIEW cumulating;
REFRESH MATERIALIZED VIEW visits;
REFRESH MATERIALIZED VIEW patient;
REFRESH MATERIALIZED VIEW forgetful;

-- what the definition says, over the twin
CREATE TABLE stamped AS SELECT t.*, coalesce(max(ts) OVER (ORDER BY n ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), '-infinity') - interval '2 s' AS wm FROM twin t;
CREATE VIEW due_tumbling AS SELECT id, k, x, note, ts, wm FROM stamped WHERE NOT EXISTS (SELECT FROM tumble(ts, '10 s') WHERE window_end > wm);
CREATE VIEW due_hopping AS SELECT id, k, x, note, ts, wm FROM stamped WHERE k < 4 AND NOT EXISTS (SELECT FROM hop(ts, '10 s', '30 s') WHERE window_end > wm);
CREATE VIEW due_cumulating AS SELECT id, k, x, note, ts, wm FROM stamped WHERE NOT EXISTS (SELECT FROM cumulate(ts, '10 s', '30 s') WHERE window_end > wm);
CREATE VIEW due_patient AS SELECT id, k, x, note, ts, wm FROM stamped WHERE NOT EXISTS (SELECT FROM tumble(ts, '10 s') WHERE window_end + interval '20 s' > wm);
CREATE VIEW due_forgetful AS SELECT id, k, x, note, ts, wm FROM stamped WHERE ts + interval '30 s' <= wm;
CREATE FUNCTION differences(late text, which text, due text) RETURNS TABLE (rows int, only_late int, only_due int) LANGUAGE plpgsql AS $$
BEGIN RETURN QUERY EXECUTE format('WITH l AS (SELECT id, k, x, note, ts, late_watermark FROM %s WHERE late_view = %L)
    SELECT (SELECT count(*) FROM l)::int, (SELECT count(*) FROM (TABLE l EXCEPT ALL TABLE %3$s) d)::int, (SELECT count(*) FROM (TABLE %3$s EXCEPT ALL TABLE l) d)::int',
    late, which, due); END $$;
SELECT * FROM differences('late_tumbling', 'public.tumbling', 'due_tumbling');
SELECT * FROM differences('late_both', 'public.hopping', 'due_hopping');
SELECT * FROM differences('late_both', 'public.cumulating', 'due_cumulating');
SELECT * FROM differences('late_patient', 'public.patient', 'due_patient');
SELECT * FROM differences('late_forgetful', 'public.forgetful', 'due_forgetful');
SELECT view, late_rows FROM stream_engine.jobs ORDER BY view::text;
SELECT count(*) = (SELECT late_rows FROM stream_engine.jobs WHERE view = 'visits'::regclass) AS all_there,
    (SELECT sum(count) FROM visits) + count(*) <= 1000 AS none_twice FROM late_visits;
SELECT DISTINCT late_reason, late_arrived BETWEEN now() - interval '1 hour' AND now() AS arrived FROM late_both;

-- in the order of the log
SELECT bool_and(n > before) FROM (SELECT n, lag(n) OVER (ORDER BY l.ctid) AS before FROM late_tumbling l JOIN stamped USING (id)) o;

-- the table is the view's: renamed it is found, and not dropped by accident; defaults, triggers and new columns of it are welcome
ALTER TABLE late_tumbling RENAME TO latecomers;
ALTER TABLE latecomers ADD COLUMN seen timestamptz DEFAULT '2000-01-01', ADD COLUMN double numeric GENERATED ALWAYS AS (x * 2) STORED;
DROP TABLE latecomers;
INSERT INTO s VALUES (2000, 1, 1.5, NULL, '2024-01-01');
REFRESH MATERIALIZED VIEW tumbling;
SELECT id, x, note, late_view, seen, double FROM latecomers WHERE id = 2000;

-- a column that the stream gets later: its values are not lost silently
ALTER FOREIGN TABLE s ADD COLUMN more text;
INSERT INTO s (id, ts) VALUES (2001, '2024-01-01');
REFRESH MATERIALIZED VIEW tumbling;
INSERT INTO s (id, ts, more) VALUES (2002, '2024-01-01', 'new');
SELECT stream_engine.wait_state('tumbling', 'failed');
SELECT sqlstate, message, detail FROM stream_engine.errors WHERE view = 'tumbling'::regclass;
ALTER TABLE latecomers ADD COLUMN more text;
SELECT stream_engine.start('tumbling');
REFRESH MATERIALIZED VIEW tumbling;
SELECT id, more FROM latecomers WHERE id > 1000 ORDER BY id;

-- renamed it stays the table, also when other options are altered; its former name is a new table when somebody says so
ALTER MATERIALIZED VIEW tumbling SET (stream_engine.on_error = skip);
SELECT to_regclass('late_tumbling');
ALTER MATERIALIZED VIEW tumbling SET (stream_engine.late_output = late_tumbling);
INSERT INTO s (id, ts) VALUES (2010, '2024-01-01');
REFRESH MATERIALIZED VIEW tumbling;
SELECT id FROM late_tumbling;
ALTER MATERIALIZED VIEW tumbling SET (stream_engine.late_output = latecomers);
DROP TABLE late_tumbling;

-- rules beside the INSERT are obeyed; one instead of it stops the view
CREATE TABLE beside (id int);
CREATE RULE beside AS ON INSERT TO latecomers DO ALSO INSERT INTO beside VALUES (NEW.id);
INSERT INTO s (id, ts) VALUES (2011, '2024-01-01');
REFRESH MATERIALIZED VIEW tumbling;
TABLE beside;
CREATE RULE nothing AS ON INSERT TO latecomers DO INSTEAD NOTHING;
INSERT INTO s (id, ts) VALUES (2012, '2024-01-01');
SELECT stream_engine.wait_state('tumbling', 'failed');
SELECT sqlstate, message, detail FROM stream_engine.errors WHERE view = 'tumbling'::regclass ORDER BY seq DESC LIMIT 1;
DROP RULE nothing ON latecomers;
DROP RULE beside ON latecomers;
SELECT stream_engine.start('tumbling');
REFRESH MATERIALIZED VIEW tumbling;

-- an unlogged table does not keep them
ALTER TABLE latecomers SET UNLOGGED;
INSERT INTO s (id, ts) VALUES (2013, '2024-01-01');
SELECT stream_engine.wait_state('tumbling', 'failed');
SELECT sqlstate, message, detail FROM stream_engine.errors WHERE view = 'tumbling'::regclass ORDER BY seq DESC LIMIT 1;
ALTER TABLE latecomers SET LOGGED;
SELECT stream_engine.start('tumbling');
REFRESH MATERIALIZED VIEW tumbling;
SELECT id FROM latecomers WHERE id > 2005 ORDER BY id;

-- count windows close when the input ends
CREATE FOREIGN TABLE ends (id int) SERVER stream_engine;
CREATE MATERIALIZED VIEW threes WITH (stream_engine.continuous, stream_engine.late_output = 'late_threes', stream_engine.emit_partial) AS
    SELECT window_id, count(*) FROM ends, count_window(3) GROUP BY window_id;
INSERT INTO ends VALUES (1), (2);
SELECT stream_engine.emit_watermark('ends', 'infinity');
INSERT INTO ends VALUES (3);
REFRESH MATERIALIZED VIEW threes;
SELECT * FROM threes;
SELECT id, late_watermark FROM late_threes;

-- ALTER: from its place in the log on
ALTER MATERIALIZED VIEW tumbling RESET (stream_engine.late_output);
INSERT INTO s (id, ts) VALUES (2003, '2024-01-01');
REFRESH MATERIALIZED VIEW tumbling;
SELECT count(*) FROM latecomers WHERE id = 2003;
ALTER MATERIALIZED VIEW tumbling SET (stream_engine.late_output = 'latecomers');
INSERT INTO s (id, ts) VALUES (2004, '2024-01-01');
REFRESH MATERIALIZED VIEW tumbling;
SELECT count(*) FROM latecomers WHERE id IN (2003, 2004);
ALTER MATERIALIZED VIEW tumbling RESET (stream_engine.late_output);
DROP TABLE latecomers;

-- a full basket of late rows is a reason to commit, also of small ones
CREATE MATERIALIZED VIEW many WITH (stream_engine.continuous, stream_engine.late_output = 'late_many', stream_engine.checkpoint_interval = '1h') AS
    SELECT window_end, count(*) FROM s, tumble(ts, '10 s') GROUP BY window_end;
INSERT INTO s (id, ts) VALUES (3000, '2025-01-01');
REFRESH MATERIALIZED VIEW many;
DO $$ BEGIN FOR i IN 1 .. 15 LOOP INSERT INTO s (id, ts) SELECT n, '2024-01-01' FROM generate_series(1, 10000) n; COMMIT; END LOOP; END $$;
SELECT stream_engine.test_until('SELECT count(*) > 50000 FROM late_many', '20 s');
REFRESH MATERIALIZED VIEW many;
SELECT count(*) FROM late_many;
DROP MATERIALIZED VIEW many;
DROP TABLE late_many;

-- refused
CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous, stream_engine.late_output = 'late_v') AS SELECT id FROM s;
CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous, stream_engine.late_output = 'late_v') AS SELECT k, count(*) FROM s GROUP BY k;
CREATE TABLE other (id int, k text);
CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous, stream_engine.late_output = 'other') AS SELECT window_end, count(*) FROM s, tumble(ts, '10 s') GROUP BY 1;
ALTER TABLE other ALTER id SET NOT NULL, ALTER id ADD GENERATED ALWAYS AS IDENTITY;
CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous, stream_engine.late_output = 'other') AS SELECT window_end, count(*) FROM s, tumble(ts, '10 s') GROUP BY 1;
ALTER TABLE other ALTER id DROP IDENTITY, DROP COLUMN k, DROP COLUMN id, ADD COLUMN id int GENERATED ALWAYS AS (1) STORED;
CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous, stream_engine.late_output = 'other') AS SELECT window_end, count(*) FROM s, tumble(ts, '10 s') GROUP BY 1;
ALTER TABLE other DROP COLUMN id, ADD COLUMN id int;
CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous, stream_engine.late_output = 'other') AS SELECT window_end, count(*) FROM s, tumble(ts, '10 s') GROUP BY 1;
ALTER TABLE late_visits ADD COLUMN must int NOT NULL;
TRUNCATE late_visits;
ALTER TABLE late_visits ADD COLUMN more text, ADD COLUMN must int NOT NULL;
CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous, stream_engine.late_output = 'late_visits') AS SELECT window_end, count(*) FROM s, tumble(ts, '10 s') GROUP BY 1;
CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous, stream_engine.late_output = 'visits') AS SELECT window_end, count(*) FROM s, tumble(ts, '10 s') GROUP BY 1;
CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous, stream_engine.late_output = 's') AS SELECT window_end, count(*) FROM s, tumble(ts, '10 s') GROUP BY 1;
CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous, stream_engine.late_output = 'nowhere.late') AS SELECT window_end, count(*) FROM s, tumble(ts, '10 s') GROUP BY 1;
CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous, stream_engine.late_output) AS SELECT window_end, count(*) FROM s, tumble(ts, '10 s') GROUP BY 1;
CREATE FOREIGN TABLE names (late_reason text, ts timestamptz OPTIONS (event_time 'true')) SERVER stream_engine OPTIONS (watermark 'ts');
CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous, stream_engine.late_output = 'late_names') AS SELECT window_end, count(*) FROM names, tumble(ts, '10 s') GROUP BY 1;
-- the same, later: the view says so, and goes on when the column has another name
CREATE FOREIGN TABLE grows (a int, ts timestamptz OPTIONS (event_time 'true')) SERVER stream_engine OPTIONS (watermark 'ts');
CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous, stream_engine.late_output = 'late_grows') AS SELECT window_end, count(*) FROM grows, tumble(ts, '10 s') GROUP BY 1;
ALTER FOREIGN TABLE grows ADD COLUMN late_reason text;
INSERT INTO grows VALUES (1, '2024-01-02', NULL), (2, '2024-01-01', NULL);
SELECT stream_engine.wait_state('v', 'failed', '30 s');
SELECT sqlstate, message, detail FROM stream_engine.errors WHERE view = 'v'::regclass;
ALTER FOREIGN TABLE grows RENAME COLUMN late_reason TO why;
ALTER TABLE late_grows ADD COLUMN why text;
SELECT stream_engine.start('v');
REFRESH MATERIALIZED VIEW v;
SELECT a, late_reason, why FROM late_grows;
DROP MATERIALIZED VIEW v;
DROP TABLE late_both CASCADE;
SELECT view FROM stream_engine.jobs ORDER BY view::text;
