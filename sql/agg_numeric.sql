-- Sums and averages of numerics have PostgreSQL's digits and display scale, whatever fits into 128 bits and what does not.
CREATE TABLE twin (g int, n numeric, ts timestamptz);
CREATE FOREIGN TABLE s (g int, n numeric, ts timestamptz OPTIONS (event_time 'true')) SERVER stream_engine OPTIONS (watermark 'ts');
CREATE MATERIALIZED VIEW vg WITH (stream_engine.continuous) AS SELECT g, count(n) AS c, sum(n) AS s, avg(n) AS a, min(n) AS l, max(n) AS h FROM s GROUP BY g;
CREATE MATERIALIZED VIEW vh WITH (stream_engine.continuous) AS SELECT window_end, g, sum(n) AS s, avg(n) AS a FROM s, hop(ts, '30 seconds', '2 minutes') GROUP BY window_end, g;
-- one group per sort of number: scales, sizes, signs, zeroes behind the point, beyond 20 or 8 digits, mixtures
INSERT INTO twin SELECT g, CASE g
        WHEN 0 THEN i WHEN 1 THEN -i * 10000 WHEN 2 THEN i / 100.0 WHEN 3 THEN (i % 7 - 3)::numeric(20, 8) / 3
        WHEN 4 THEN round(i / 7.0, i % 12) WHEN 5 THEN i * 10::numeric ^ (i % 24) WHEN 6 THEN (i || 'e-' || i % 20)::numeric
        WHEN 7 THEN (i % 2)::numeric(30, 20) WHEN 8 THEN 99999999999999999999.99999999 * (i % 3 - 1)
        WHEN 9 THEN CASE WHEN i = 77 THEN 'NaN' ELSE i::numeric END WHEN 10 THEN CASE WHEN i = 77 THEN 'infinity' WHEN i = 99 THEN '-infinity' ELSE i::numeric END
        WHEN 11 THEN CASE WHEN i = 77 THEN '-infinity' ELSE 0.5 END WHEN 12 THEN 0.00 WHEN 13 THEN round(1, i % 3 * 60)
        WHEN 14 THEN (10000 * i + 1) / 10000.0 WHEN 15 THEN -0.00000001 * i END,
    '2024-01-01 00:00+00'::timestamptz + i * interval '1 second'
FROM generate_series(1, 200) i, generate_series(0, 15) g ORDER BY i, g;
INSERT INTO s SELECT * FROM twin WHERE ts < '2024-01-01 00:01:30+00';
REFRESH MATERIALIZED VIEW vg;
SELECT stream_engine.stop('vg'), stream_engine.stop('vh');
SELECT stream_engine.wait_state('vg', 'stopped'), stream_engine.wait_state('vh', 'stopped');
SELECT stream_engine.start('vg'), stream_engine.start('vh');
INSERT INTO s SELECT * FROM twin WHERE ts >= '2024-01-01 00:01:30+00';
SELECT stream_engine.emit_watermark('s', 'infinity');
REFRESH MATERIALIZED VIEW vg;
REFRESH MATERIALIZED VIEW vh;
SELECT v::text AS only_in_the_view FROM vg v EXCEPT ALL SELECT q::text FROM (SELECT g, count(n), sum(n), avg(n), min(n), max(n) FROM twin GROUP BY g) q;
SELECT v::text AS only_in_the_view FROM vh v EXCEPT ALL
    SELECT q::text FROM (SELECT window_end, g, sum(n), avg(n) FROM twin, hop(ts, '30 seconds', '2 minutes') GROUP BY window_end, g) q;
SELECT (SELECT count(*) FROM vg), (SELECT count(*) FROM vh);
SELECT g, s FROM vg ORDER BY g;
