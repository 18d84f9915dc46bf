-- Windows without an aggregate: one result row per row and window, as the plain SELECT gives.
CREATE TABLE twin (id int, at timestamptz, local timestamp, note text);
CREATE FOREIGN TABLE s (id int, at timestamptz OPTIONS (event_time 'true'), local timestamp, note text) SERVER stream_engine
    OPTIONS (watermark 'at - interval ''5 seconds''');
CREATE MATERIALIZED VIEW t WITH (stream_engine.continuous) AS
    SELECT id, note || '!' AS note, window_start, window_end, window_time FROM s, tumble(at, interval '10 seconds', interval '3 seconds') WHERE id % 3 <> 0;
CREATE MATERIALIZED VIEW h WITH (stream_engine.continuous) AS
    SELECT window_end - window_start AS size, id, window_start FROM s, hop(at, interval '3 seconds', interval '10 seconds');
CREATE MATERIALIZED VIEW gaps WITH (stream_engine.continuous) AS
    SELECT id, window_start FROM s, hop(at, interval '10 seconds', interval '3 seconds') WHERE note IS NOT NULL;
CREATE MATERIALIZED VIEW c WITH (stream_engine.continuous) AS
    SELECT id, window_start, window_end FROM s, cumulate(at, interval '2 seconds', interval '10 seconds') WHERE extract(second FROM window_end)::int % 4 = 0;

-- Out of order, before 1970 too, and many more windows than a batch has room for.
INSERT INTO twin SELECT i, timestamptz '1969-12-31 23:59:00+00' + i * interval '770 ms' - (i % 7) * interval '2 seconds', NULL,
    CASE WHEN i % 5 > 0 THEN 'n' || i END
FROM generate_series(1, 3000) i;
INSERT INTO s SELECT * FROM twin ORDER BY id;
REFRESH MATERIALIZED VIEW t;
REFRESH MATERIALIZED VIEW h;
REFRESH MATERIALIZED VIEW gaps;
REFRESH MATERIALIZED VIEW c;

CREATE FUNCTION differences(view regclass, query text, OUT matches bigint, OUT differences bigint) LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('SELECT count(*) FROM %s', view) INTO matches;
    EXECUTE format('SELECT count(*) FROM ((TABLE %1$s EXCEPT ALL %2$s) UNION ALL (%2$s EXCEPT ALL TABLE %1$s)) d', view, query) INTO differences;
END $$;
SELECT * FROM differences('t', $$SELECT id, note || '!' AS note, window_start, window_end, window_time FROM twin, tumble(at, interval '10 seconds', interval '3 seconds') WHERE id % 3 <> 0$$);
SELECT * FROM differences('h', $$SELECT window_end - window_start AS size, id, window_start FROM twin, hop(at, interval '3 seconds', interval '10 seconds')$$);
SELECT * FROM differences('gaps', $$SELECT id, window_start FROM twin, hop(at, interval '10 seconds', interval '3 seconds') WHERE note IS NOT NULL$$);
SELECT * FROM differences('c', $$SELECT id, window_start, window_end FROM twin, cumulate(at, interval '2 seconds', interval '10 seconds') WHERE extract(second FROM window_end)::int % 4 = 0$$);
