-- Sessions: rows of a key at most a gap apart; against gaps and islands over a heap twin.
CREATE FOREIGN TABLE visits (id int, who text, page text, n numeric, pause interval, at timestamptz OPTIONS (event_time 'true'))
    SERVER stream_engine OPTIONS (watermark 'at - interval ''1 hour''');
CREATE TABLE twin (id int, who text, page text, n numeric, pause interval, at timestamptz);

CREATE MATERIALIZED VIEW per_visitor WITH (stream_engine.continuous) AS
    SELECT who, window_start, window_end, window_time, count(*) AS c, sum(n) AS s, avg(n) AS a, min(page) AS lo, max(page) AS hi,
           string_agg(page, '>' ORDER BY id) AS way, array_agg(id ORDER BY id) AS ids, count(DISTINCT page) AS pages,
           stddev(n) AS sd, percentile_disc(0.5) WITHIN GROUP (ORDER BY n) AS median, count(*) FILTER (WHERE n > 5) AS big
    FROM visits, session(at, interval '30 seconds')
    GROUP BY who, window_start, window_end, window_time;
-- without other keys; the end alone; HAVING and conditions on the session
CREATE MATERIALIZED VIEW all_together WITH (stream_engine.continuous) AS
    SELECT window_end, count(*) AS c, array_agg(id) AS ids FROM visits, session(at, '2 seconds') GROUP BY window_end;
CREATE MATERIALIZED VIEW long_ones WITH (stream_engine.continuous) AS
    SELECT lower(who) AS who, window_start, window_end - window_start AS length, count(*) AS c
    FROM visits CROSS JOIN LATERAL session(gap => interval '30 seconds', ts => at)
    WHERE window_end - window_start > '1 minute' AND page <> 'x'
    GROUP BY 1, window_start, window_end HAVING count(*) > 2;
CREATE MATERIALIZED VIEW starts WITH (stream_engine.continuous) AS
    SELECT DISTINCT who, window_start FROM visits, session(at, '30 seconds');

SELECT stream_engine.explain($$SELECT who, window_end, count(*), string_agg(page, '>'), count(DISTINCT page) AS pages, stddev(n) FROM visits, session(at, interval '30 seconds')
    GROUP BY who, window_start, window_end$$);

CREATE PROCEDURE write(seed float, first int, last int) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM setseed(seed);
    CREATE TEMP TABLE fresh ON COMMIT DROP AS
        SELECT i AS id, (ARRAY['Ann', 'bob', 'Cy', NULL])[1 + (random() * 3.49)::int] AS who, chr(97 + (random() * 5)::int) AS page,
            (random() * 10)::numeric(6, 2) AS n, NULL::interval AS pause,
            timestamptz '1969-12-31 23:50:00+00' + i * interval '3 seconds' - (random() * 20)::int * interval '1 second' AS at
        FROM generate_series(first, last) i;
    INSERT INTO twin SELECT * FROM fresh;
    INSERT INTO visits SELECT * FROM fresh;
    COMMIT;
END $$;
CALL write(0.1, 1, 300);
REFRESH MATERIALIZED VIEW per_visitor;
SELECT stream_engine.stop('per_visitor');
SELECT stream_engine.wait_state('per_visitor', 'stopped');
CALL write(0.2, 301, 320);
SELECT stream_engine.start('per_visitor');
CALL write(0.3, 321, 900);
SELECT stream_engine.emit_watermark('visits', 'infinity');
REFRESH MATERIALIZED VIEW per_visitor;
REFRESH MATERIALIZED VIEW all_together;
REFRESH MATERIALIZED VIEW long_ones;
REFRESH MATERIALIZED VIEW starts;

-- a new session begins where the gap to the row before is greater than the gap
CREATE FUNCTION islands(gap interval, by_who boolean, pages text DEFAULT '%') RETURNS TABLE (r twin, island bigint) LANGUAGE sql AS $$
    SELECT (id, who, page, n, pause, at)::twin, sum(new) OVER (PARTITION BY part ORDER BY at, id) FROM (
        SELECT *, CASE WHEN at - lag(at) OVER (PARTITION BY part ORDER BY at, id) <= gap THEN 0 ELSE 1 END AS new
        FROM (SELECT *, CASE WHEN by_who THEN coalesce(who, '(null)') END AS part FROM twin WHERE page LIKE pages) t) x
$$;
CREATE VIEW per_visitor_oracle AS
    SELECT (r).who, min((r).at) AS window_start, max((r).at) + interval '30 seconds' AS window_end,
           max((r).at) + interval '30 seconds' - interval '1 microsecond' AS window_time,
           count(*) AS c, sum((r).n) AS s, avg((r).n) AS a, min((r).page) AS lo, max((r).page) AS hi,
           string_agg((r).page, '>' ORDER BY (r).id) AS way, array_agg((r).id ORDER BY (r).id) AS ids, count(DISTINCT (r).page) AS pages,
           stddev((r).n) AS sd, percentile_disc(0.5) WITHIN GROUP (ORDER BY (r).n) AS median, count(*) FILTER (WHERE (r).n > 5) AS big
    FROM islands('30 seconds', true) GROUP BY (r).who, island;
SELECT count(*) > 20 AS many, min(c) < max(c) AS different FROM per_visitor;
(TABLE per_visitor EXCEPT ALL TABLE per_visitor_oracle) UNION ALL (TABLE per_visitor_oracle EXCEPT ALL TABLE per_visitor);
CREATE VIEW all_together_oracle AS
    SELECT max((r).at) + interval '2 seconds' AS window_end, count(*) AS c, array_agg((r).id ORDER BY (r).id) AS ids FROM islands('2 seconds', false) GROUP BY island;
(TABLE all_together EXCEPT ALL TABLE all_together_oracle) UNION ALL (TABLE all_together_oracle EXCEPT ALL TABLE all_together);
SELECT count(*) > 0 AS some FROM long_ones;
SELECT count(*) FROM ((TABLE starts EXCEPT ALL SELECT who, window_start FROM per_visitor) UNION ALL
                      (SELECT who, window_start FROM per_visitor EXCEPT ALL TABLE starts)) d;
SELECT count(*) FROM (
    (TABLE long_ones EXCEPT ALL SELECT lower((r).who), min((r).at), max((r).at) + '30 seconds' - min((r).at), count(*) FROM islands('30 seconds', true)
        GROUP BY lower((r).who), island HAVING count(*) > 2 AND max((r).at) + interval '30 seconds' - min((r).at) > '1 minute')) d;
SELECT view, state_entries, late_rows FROM stream_engine.jobs ORDER BY view::text;

-- keys that are equal and look different: a session shows one of its own rows', not that of a session before it
CREATE FOREIGN TABLE alike (n numeric, at timestamptz OPTIONS (event_time 'true')) SERVER stream_engine OPTIONS (watermark 'at');
CREATE MATERIALIZED VIEW per_number WITH (stream_engine.continuous) AS
    SELECT n, window_start, count(*) FROM alike, session(at, '10 seconds') GROUP BY n, window_start;
INSERT INTO alike VALUES (1.0, '2024-01-01 00:00:00+00'), (1.00, '2024-01-01 00:01:00+00');
REFRESH MATERIALIZED VIEW per_number;
INSERT INTO alike VALUES (1.000, '2024-01-01 00:02:00+00');
SELECT stream_engine.emit_watermark('alike', 'infinity');
REFRESH MATERIALIZED VIEW per_number;
SELECT * FROM per_number ORDER BY window_start;
