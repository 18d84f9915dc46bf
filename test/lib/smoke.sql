-- test/lib/smoke.sql: a little of everything, for a server that is slow (valgrind) or new (another version).
CREATE EXTENSION stream_engine;
CREATE FOREIGN TABLE s (k int, v bigint, note text, ts timestamptz OPTIONS (event_time 'true'))
    SERVER stream_engine OPTIONS (watermark 'ts - interval ''2 seconds''');
CREATE TABLE twin (k int, v bigint, note text, ts timestamptz);
CREATE MATERIALIZED VIEW by_window WITH (stream_engine.continuous) AS
    SELECT window_start, window_end, k, count(*) AS n, sum(v) AS total, max(note) AS last
    FROM s, tumble(ts, interval '10 seconds') GROUP BY window_start, window_end, k;
CREATE MATERIALIZED VIEW by_hop WITH (stream_engine.continuous) AS
    SELECT window_start, count(*) AS n, avg(v) AS mean FROM s, hop(ts, interval '2 seconds', interval '10 seconds')
    GROUP BY window_start, window_end;
CREATE MATERIALIZED VIEW by_key WITH (stream_engine.continuous) AS
    SELECT k, count(*) AS n, count(DISTINCT v) AS d, string_agg(note, ',' ORDER BY ts) AS notes FROM s GROUP BY k;
CREATE MATERIALIZED VIEW plain WITH (stream_engine.continuous) AS SELECT k, upper(note) AS note FROM s WHERE v % 2 = 0;

BEGIN;
CREATE TEMP TABLE r ON COMMIT DROP AS
    SELECT i % 7 AS k, (i * 37 % 100)::bigint AS v, 'note ' || i AS note, timestamptz '2024-01-01 00:00+00' + i * interval '100 ms' AS ts
    FROM generate_series(1, 2000) i;
INSERT INTO twin SELECT * FROM r;
INSERT INTO s SELECT * FROM r ORDER BY ts;
COMMIT;
SELECT stream_engine.emit_watermark('s', 'infinity');
REFRESH MATERIALIZED VIEW by_window;
REFRESH MATERIALIZED VIEW by_hop;
REFRESH MATERIALIZED VIEW by_key;
REFRESH MATERIALIZED VIEW plain;

DO $$
DECLARE
    wrong bigint;
BEGIN
    SELECT count(*) INTO wrong FROM (
        (SELECT * FROM by_window EXCEPT ALL
         SELECT window_start, window_end, k, count(*), sum(v), max(note) FROM twin, tumble(ts, interval '10 seconds') GROUP BY 1, 2, 3)
        UNION ALL
        (SELECT window_start, window_end, k, count(*), sum(v), max(note) FROM twin, tumble(ts, interval '10 seconds') GROUP BY 1, 2, 3
         EXCEPT ALL SELECT * FROM by_window)) d;
    IF wrong > 0 THEN RAISE 'by_window differs in % rows', wrong; END IF;
    SELECT count(*) INTO wrong FROM (
        (SELECT * FROM by_key EXCEPT ALL SELECT k, count(*), count(DISTINCT v), string_agg(note, ',' ORDER BY ts) FROM twin GROUP BY k)
        UNION ALL
        (SELECT k, count(*), count(DISTINCT v), string_agg(note, ',' ORDER BY ts) FROM twin GROUP BY k EXCEPT ALL SELECT * FROM by_key)) d;
    IF wrong > 0 THEN RAISE 'by_key differs in % rows', wrong; END IF;
    IF (SELECT count(*) FROM plain) <> (SELECT count(*) FROM twin WHERE v % 2 = 0) THEN RAISE 'plain differs'; END IF;
    IF (SELECT sum(n) FROM by_hop) <> 5 * (SELECT count(*) FROM twin) THEN RAISE 'by_hop differs'; END IF;
END $$;
DROP FOREIGN TABLE s CASCADE;
