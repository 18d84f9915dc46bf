-- Equal keys that look different: a window shows one that its own rows have, also after other windows, restarts and late rows.
CREATE FOREIGN TABLE s (id int, n numeric, ts timestamptz OPTIONS (event_time 'true')) SERVER stream_engine OPTIONS (watermark 'ts - interval ''15 s''');
CREATE TABLE twin (id int, n numeric, ts timestamptz);
CREATE MATERIALIZED VIEW hops WITH (stream_engine.continuous) AS
    SELECT n, window_start, window_end, count(*) AS c FROM s, hop(ts, '10 s', '30 s') GROUP BY n, window_start, window_end;
CREATE MATERIALIZED VIEW steps WITH (stream_engine.continuous) AS
    SELECT n, window_start, window_end, count(*) AS c, max(id) AS m FROM s, cumulate(ts, '10 s', '30 s') GROUP BY n, window_start, window_end;
INSERT INTO twin SELECT i, CASE WHEN i % 7 <> 0 THEN (i % 3)::numeric + ('0.' || repeat('0', 1 + i * 5 % 6))::numeric END,
    timestamptz '2020-01-01' + i * interval '4 s' - (i * 11 % 5) * interval '3 s' FROM generate_series(1, 200) i;
INSERT INTO s SELECT * FROM twin WHERE id <= 90 ORDER BY id;
REFRESH MATERIALIZED VIEW hops;
SELECT stream_engine.stop('hops');
SELECT stream_engine.wait_state('hops', 'stopped');
SELECT stream_engine.start('hops');
INSERT INTO s SELECT * FROM twin WHERE id > 90 ORDER BY id;
SELECT stream_engine.emit_watermark('s', 'infinity');
REFRESH MATERIALIZED VIEW hops;
REFRESH MATERIALIZED VIEW steps;
SELECT late_pairs FROM stream_engine.jobs ORDER BY view::text;
-- the groups are those of the query, and each is shown as one of its rows has it
CREATE VIEW hops_oracle AS SELECT n, window_start, window_end, count(*) AS c, array_agg(DISTINCT n::text) AS looks FROM twin, hop(ts, '10 s', '30 s') GROUP BY 1, 2, 3;
CREATE VIEW steps_oracle AS SELECT n, window_start, window_end, count(*) AS c, max(id) AS m, array_agg(DISTINCT n::text) AS looks FROM twin, cumulate(ts, '10 s', '30 s') GROUP BY 1, 2, 3;
SELECT count(*) > 100 AS many, count(*) FILTER (WHERE cardinality(looks) > 1) > 10 AS some_look_different FROM hops_oracle;
(SELECT n, window_start, window_end, c FROM hops EXCEPT ALL SELECT n, window_start, window_end, c FROM hops_oracle) UNION ALL
    (SELECT n, window_start, window_end, c FROM hops_oracle EXCEPT ALL SELECT n, window_start, window_end, c FROM hops);
(SELECT n, window_start, window_end, c, m FROM steps EXCEPT ALL SELECT n, window_start, window_end, c, m FROM steps_oracle) UNION ALL
    (SELECT n, window_start, window_end, c, m FROM steps_oracle EXCEPT ALL SELECT n, window_start, window_end, c, m FROM steps);
SELECT h.n, h.window_end, o.looks FROM hops h JOIN hops_oracle o USING (window_start, window_end)
    WHERE h.n IS NOT DISTINCT FROM o.n AND h.n::text <> ALL (o.looks) ORDER BY 2, 1;
SELECT h.n, h.window_end, o.looks FROM steps h JOIN steps_oracle o USING (window_start, window_end)
    WHERE h.n IS NOT DISTINCT FROM o.n AND h.n::text <> ALL (o.looks) ORDER BY 2, 1;
