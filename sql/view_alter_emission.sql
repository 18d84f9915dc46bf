-- When results come, and how late rows may be, altered again and again among the rows: what is final at the end is what
-- each row counted for under the options of its place.
SET client_min_messages = warning;
CREATE FOREIGN TABLE s (n int, k int, ts timestamptz OPTIONS (event_time 'true')) SERVER stream_engine OPTIONS (watermark 'ts - interval ''1 second''');
CREATE TABLE twin (n int, k int, ts timestamptz, lateness interval NOT NULL);
CREATE MATERIALIZED VIEW t WITH (stream_engine.continuous) AS
  SELECT window_start, window_end, k, count(*) AS rows, sum(n) AS total, max(n) AS top FROM s, tumble(ts, interval '10 seconds') GROUP BY window_start, window_end, k;
CREATE MATERIALIZED VIEW h WITH (stream_engine.continuous, stream_engine.emit = on_update) AS
  SELECT window_end, count(*) AS rows, sum(n) AS total FROM s, hop(ts, interval '4 seconds', interval '10 seconds') GROUP BY window_end HAVING count(*) > 1;
\d t

CREATE PROCEDURE step(VARIADIC changes text[] DEFAULT '{}') LANGUAGE plpgsql AS $$
DECLARE
    late interval = coalesce((SELECT lateness FROM twin ORDER BY n DESC LIMIT 1), '0');
    change text;
    i int = coalesce((SELECT max(n) FROM twin), 0);
BEGIN
    FOR round IN 0 .. cardinality(changes) LOOP
        IF round > 0 THEN
            change = changes[round];
            EXECUTE 'ALTER MATERIALIZED VIEW t ' || change;
            EXECUTE 'ALTER MATERIALIZED VIEW h ' || change;
            late = coalesce(substring(change FROM 'allowed_lateness = ''([^'']*)'''), CASE WHEN change ~ 'RESET.*lateness' THEN '0' END, late::text)::interval;
        END IF;
        FOR row IN 1 .. 60 LOOP
            i = i + 1;
            INSERT INTO twin VALUES (i, i * 7 % 3, timestamptz '2024-01-01' + (i / 4 - i * i % 23) * interval '0.9 second', late);
            INSERT INTO s SELECT n, k, ts FROM twin WHERE n = i;
            IF i % 11 = 0 THEN
                COMMIT;
            END IF;
        END LOOP;
    END LOOP;
    COMMIT;
    REFRESH MATERIALIZED VIEW t;
    REFRESH MATERIALIZED VIEW h;
END $$;

-- A row is late for what ends by its watermark less the lateness; and for what was given up behind a row before it.
CREATE VIEW judged AS
  SELECT n, k, ts, greatest(wm - lateness, max(h - lateness) OVER (ORDER BY n ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)) AS horizon
  FROM (SELECT *, max(ts - interval '1 second') OVER (ORDER BY n) AS h,
               coalesce(max(ts - interval '1 second') OVER (ORDER BY n ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), '-infinity') AS wm FROM twin) w;
CREATE VIEW should_t AS
  SELECT window_start, window_end, k, count(*) AS rows, sum(n) AS total, max(n) AS top
  FROM judged, tumble(ts, interval '10 seconds') WHERE window_end > horizon GROUP BY window_start, window_end, k;
CREATE VIEW should_h AS
  SELECT window_end, count(*) AS rows, sum(n) AS total
  FROM judged, hop(ts, interval '4 seconds', interval '10 seconds') WHERE window_end > horizon GROUP BY window_end HAVING count(*) > 1;
-- Of what differs, what is final: windows that the watermark has passed.
CREATE FUNCTION wrong(until timestamptz DEFAULT NULL) RETURNS TABLE (view text, what text, r text) LANGUAGE sql AS $$
  SELECT 't', 'missing', x::text FROM (TABLE should_t EXCEPT TABLE t) x WHERE window_end <= coalesce(until, (SELECT max(ts - interval '1 second') FROM twin))
  UNION ALL SELECT 't', 'too much', x::text FROM (TABLE t EXCEPT TABLE should_t) x WHERE window_end <= coalesce(until, (SELECT max(ts - interval '1 second') FROM twin))
  UNION ALL SELECT 'h', 'missing', x::text FROM (TABLE should_h EXCEPT TABLE h) x WHERE window_end <= coalesce(until, (SELECT max(ts - interval '1 second') FROM twin))
  UNION ALL SELECT 'h', 'too much', x::text FROM (TABLE h EXCEPT TABLE should_h) x WHERE window_end <= coalesce(until, (SELECT max(ts - interval '1 second') FROM twin))
  ORDER BY 1, 2, 3 LIMIT 10 $$;

CALL step();
SELECT * FROM wrong();
CALL step($$SET (stream_engine.allowed_lateness = '5 seconds')$$);
SELECT * FROM wrong();
\d t
CALL step($$SET (stream_engine.emit = 'early 2 seconds, late 3 seconds', stream_engine.allowed_lateness = '12 seconds')$$,
          $$SET (stream_engine.emit = 'every 3 rows', stream_engine.allowed_lateness = '1 second')$$);
CALL step($$SET (stream_engine.emit = 'on_update', stream_engine.allowed_lateness = '3 seconds')$$, $$SET (stream_engine.allowed_lateness = '0')$$);
SELECT * FROM wrong();
CALL step($$SET (stream_engine.emit = 'on_close, late 7 s', stream_engine.allowed_lateness = '30 seconds')$$);
CALL step($$RESET (stream_engine.emit, stream_engine.allowed_lateness)$$);
SELECT * FROM wrong();
CALL step();
SELECT * FROM wrong();
SELECT stream_engine.emit_watermark('s', 'infinity');
REFRESH MATERIALIZED VIEW t;
REFRESH MATERIALIZED VIEW h;
SELECT * FROM wrong('infinity');
SELECT (SELECT count(*) FROM t) AS t, (SELECT count(*) FROM h) AS h, (SELECT count(*) FROM judged, tumble(ts, interval '10 seconds') WHERE window_end <= horizon) = (SELECT late_rows FROM stream_engine.jobs WHERE view = 't'::regclass) AS late;
SELECT view, options, failures FROM stream_engine.jobs ORDER BY view::text;
SELECT * FROM stream_engine.errors;

-- columns of the result that were renamed
CREATE MATERIALIZED VIEW named (ends, number) WITH (stream_engine.continuous) AS
    SELECT window_end, count(*) FROM s, tumble(ts, interval '10 seconds') GROUP BY window_end;
ALTER MATERIALIZED VIEW named RENAME COLUMN ends TO upto;
ALTER MATERIALIZED VIEW named SET (stream_engine.emit = on_update);
SELECT pg_get_indexdef('named_key'::regclass);
