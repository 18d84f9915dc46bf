-- Sessions whose results change (emit, allowed_lateness): what is shown when, and how rows of the result change.
CREATE FOREIGN TABLE s (k text, v int, ts timestamp OPTIONS (event_time 'true')) SERVER stream_engine;
SET client_min_messages = warning;
CREATE MATERIALIZED VIEW late_at_once WITH (stream_engine.continuous, stream_engine.allowed_lateness = '1 minute') AS
    SELECT k, window_start AS b, window_end AS e, count(*) AS c, sum(v) AS s FROM s, session(ts, '10 s') GROUP BY k, window_start, window_end;
CREATE MATERIALIZED VIEW late_collected WITH (stream_engine.continuous, stream_engine.emit = 'on_close, late 20 seconds', stream_engine.allowed_lateness = '1 minute') AS
    SELECT k, window_start AS b, window_end AS e, count(*) AS c, sum(v) AS s FROM s, session(ts, '10 s') GROUP BY k, window_start, window_end;
CREATE MATERIALIZED VIEW updated WITH (stream_engine.continuous, stream_engine.emit = 'on_update') AS
    SELECT k, window_start AS b, window_end AS e, count(*) AS c, sum(v) AS s FROM s, session(ts, '10 s') GROUP BY k, window_start, window_end;
CREATE MATERIALIZED VIEW early WITH (stream_engine.continuous, stream_engine.emit = 'early 30 s') AS
    SELECT k, window_start AS b, window_end AS e, count(*) AS c, sum(v) AS s FROM s, session(ts, '10 s') GROUP BY k, window_start, window_end;
CREATE MATERIALIZED VIEW third_row WITH (stream_engine.continuous, stream_engine.emit = 'every 3 rows') AS
    SELECT k, window_start AS b, window_end AS e, count(*) AS c, sum(v) AS s FROM s, session(ts, '10 s') GROUP BY k, window_start, window_end;
CREATE MATERIALIZED VIEW pairs WITH (stream_engine.continuous, stream_engine.emit = 'on_update', stream_engine.allowed_lateness = '1 minute') AS
    SELECT k, window_start AS b, window_end AS e, count(*) AS c, sum(v) AS s FROM s, session(ts, '10 s') GROUP BY k, window_start, window_end HAVING count(*) = 2;
CREATE FUNCTION at(seconds int) RETURNS timestamp LANGUAGE sql AS $$ SELECT timestamp '2024-01-01' + seconds * interval '1 s' $$;
CREATE PROCEDURE wm(seconds int) LANGUAGE plpgsql AS $$ BEGIN PERFORM stream_engine.emit_watermark('s', at(seconds) AT TIME ZONE 'UTC'); END $$;
CREATE PROCEDURE look() LANGUAGE plpgsql AS $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['late_at_once', 'late_collected', 'updated', 'early', 'third_row', 'pairs'] LOOP
        EXECUTE format('REFRESH MATERIALIZED VIEW %I', name);
    END LOOP;
END $$;
CREATE VIEW shown AS SELECT view, string_agg(format('%s%s[%s,%s)', k, s, extract(epoch FROM b - at(0))::int, extract(epoch FROM e - at(0))::int), ' ' ORDER BY k, b, e) AS rows
    FROM (SELECT 1 AS n, 'late_at_once' AS view, k, b, e, c, s FROM late_at_once UNION ALL SELECT 2, 'late_collected', * FROM late_collected UNION ALL
          SELECT 3, 'updated', * FROM updated UNION ALL SELECT 4, 'early', * FROM early UNION ALL SELECT 5, 'third_row', * FROM third_row UNION ALL
          SELECT 6, 'pairs', * FROM pairs) x GROUP BY n, view ORDER BY n;

-- every change of one result, as its triggers see it
CREATE TABLE changes (n serial, what text);
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO changes (what) VALUES (TG_OP || coalesce(' ' || (CASE TG_OP WHEN 'INSERT' THEN NULL ELSE OLD END).s, '') || coalesce(' -> ' || (CASE TG_OP WHEN 'DELETE' THEN NULL ELSE NEW END).s, ''));
    RETURN NULL;
END $$;
CREATE TRIGGER note AFTER INSERT OR UPDATE OR DELETE ON late_at_once FOR EACH ROW EXECUTE FUNCTION note();
SELECT stream_engine.explain('SELECT k, window_end, count(*) FROM s, session(ts, ''10 s'') GROUP BY k, window_end');

-- two sessions, open
INSERT INTO s VALUES ('a', 1, at(0)), ('a', 2, at(20)), ('b', 5, at(2));
CALL look();
SELECT * FROM shown;
-- the first is over; one that is open has got a second and a third row
INSERT INTO s VALUES ('a', 4, at(25)), ('a', 8, at(26));
CALL wm(13);
CALL look();
SELECT * FROM shown;
-- both are over
CALL wm(41);
CALL look();
SELECT * FROM shown;
-- a late row in one of them: its row is updated; the collected one waits
TRUNCATE changes;
INSERT INTO s VALUES ('b', 16, at(2));
CALL look();
SELECT * FROM shown;
SELECT what FROM changes ORDER BY n;
-- a late row that is a session of its own, over when it comes
INSERT INTO s VALUES ('c', 7, at(25));
CALL look();
SELECT * FROM shown;
-- a late row between two: both rows go, one comes
TRUNCATE changes;
INSERT INTO s VALUES ('a', 32, at(10));
CALL look();
SELECT * FROM shown;
SELECT what FROM changes ORDER BY n;
SELECT count(DISTINCT xmin::text) AS transactions FROM late_at_once WHERE k = 'a';
-- what was collected comes when the watermark is above the end by a multiple of 20 seconds
CALL wm(57);
CALL look();
SELECT rows FROM shown WHERE view = 'late_collected';
-- a late row that makes the session longer than the watermark has come: its row moves on
ALTER TABLE late_at_once ADD COLUMN was timestamp;
CREATE FUNCTION remember() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF TG_OP = 'INSERT' THEN NEW.was := NEW.e; END IF; RETURN NEW; END $$;
CREATE TRIGGER remember BEFORE INSERT ON late_at_once FOR EACH ROW EXECUTE FUNCTION remember();
TRUNCATE changes;
INSERT INTO s VALUES ('a', 64, at(45)), ('a', 128, at(55)), ('a', 256, at(36));
CALL look();
SELECT * FROM shown;
SELECT what FROM changes ORDER BY n;
-- and goes on
TRUNCATE changes;
INSERT INTO s VALUES ('a', 512, at(60));
CALL look();
SELECT rows FROM shown WHERE view = 'late_at_once';
SELECT what FROM changes ORDER BY n;
-- b's session takes rows until the watermark is above 72, also one before its start; then it is final
TRUNCATE changes;
CALL wm(72);
INSERT INTO s VALUES ('b', 1024, at(0));
CALL look();
SELECT what FROM changes ORDER BY n;
SELECT k, stream_engine.is_final('late_at_once', e) FROM late_at_once ORDER BY e;
BEGIN;
CALL wm(73);
INSERT INTO s VALUES ('b', 2048, at(0)), ('b', 4096, at(2));
COMMIT;
CALL look();
SELECT * FROM shown;
SELECT k, stream_engine.is_final('late_at_once', e) FROM late_at_once ORDER BY e;
SELECT what FROM changes ORDER BY n;
SELECT view, late_rows, late_pairs FROM stream_engine.jobs ORDER BY view::text;
-- what HAVING says is met by one more row and an end that moved, and not any more by a third
INSERT INTO s VALUES ('d', 1, at(80));
CALL look();
SELECT rows FROM shown WHERE view IN ('updated', 'pairs') ORDER BY view;
INSERT INTO s VALUES ('d', 2, at(85));
CALL look();
SELECT rows FROM shown WHERE view IN ('updated', 'pairs') ORDER BY view;
INSERT INTO s VALUES ('d', 4, at(90));
CALL look();
SELECT rows FROM shown WHERE view IN ('updated', 'pairs') ORDER BY view;
-- a row that was shown keeps what is the owner's when its end moves
CALL wm(101);
CALL look();
INSERT INTO s VALUES ('d', 8, at(95));
CALL look();
SELECT k, s, extract(epoch FROM e - at(0))::int AS e, extract(epoch FROM was - at(0))::int AS was FROM late_at_once WHERE k = 'd';
-- a session that was shown early and has grown is shown anew behind the end that it was shown with, so that nobody takes it for final
INSERT INTO s VALUES ('f', 1, at(110));
CALL wm(120);
CALL look();
INSERT INTO s VALUES ('f', 2, at(119));
CALL look();
SELECT k, s, extract(epoch FROM e - at(0))::int AS e, stream_engine.is_final('early', e) FROM early WHERE k = 'f';
CALL wm(121);
CALL look();
SELECT k, s, extract(epoch FROM e - at(0))::int AS e, stream_engine.is_final('early', e) FROM early WHERE k = 'f';
SELECT stream_engine.emit_watermark('s', 'infinity');
CALL look();
SELECT * FROM shown;

-- without what says when a session ends there is nothing to find its row by
CREATE MATERIALIZED VIEW endless WITH (stream_engine.continuous, stream_engine.emit = 'on_update') AS SELECT window_start, count(*) FROM s, session(ts, '10 s') GROUP BY window_start;
