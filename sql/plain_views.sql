-- Plain views over a stream: a continuous view over them equals the same SELECT run by PostgreSQL.
CREATE FOREIGN TABLE bid (auction bigint, price bigint, who text, date_time timestamptz OPTIONS (event_time 'true'))
    SERVER stream_engine OPTIONS (watermark 'date_time');
CREATE VIEW cheap AS SELECT auction, price, price * 2 AS twice, date_time AS at, who FROM bid WHERE price < 50;
CREATE VIEW nested (a, p, t, d) AS SELECT c.x, c.price, c.twice, c.at FROM cheap AS c (x) WHERE c.twice > 10;
CREATE VIEW barrier WITH (security_barrier) AS SELECT auction, price, at FROM cheap WHERE auction > 0;
CREATE VIEW windows AS SELECT window_start, window_end, a, p FROM nested, hop(d, interval '20 seconds', interval '1 minute');
CREATE VIEW joined AS SELECT auction, window_end AS ends FROM ONLY bid JOIN tumble(date_time, interval '1 minute') ON price > 3;
CREATE VIEW everything AS TABLE bid;
CREATE VIEW drawn AS SELECT auction, random() AS r FROM bid;

-- what becomes of them
SELECT stream_engine.explain('SELECT * FROM nested');
SELECT stream_engine.explain('SELECT a, max(t) AS top FROM nested AS n (a, p, t) WHERE p % 2 = 0 GROUP BY a');
SELECT stream_engine.explain('SELECT window_end, a, count(*) FROM windows GROUP BY 1, 2');
SELECT stream_engine.explain('SELECT window_end, count(*) FROM nested n JOIN tumble(n.d, ''1 min'') ON n.a > 1 WHERE n.p > 7 GROUP BY 1');
SELECT stream_engine.explain('SELECT ends, count(*) FROM joined GROUP BY 1');
SELECT stream_engine.explain('SELECT cheap FROM cheap WHERE cheap IS NOT NULL');
SELECT stream_engine.explain('SELECT r + 1 AS r FROM drawn WHERE auction > 1');
EXPLAIN (COSTS off) CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous) AS SELECT auction FROM barrier;

-- the same rows, by the job and by PostgreSQL's executor: both read the stream from its beginning
INSERT INTO bid SELECT i % 5, i % 70, 'w' || i % 3, timestamptz '2024-01-01 00:00+00' + i * interval '1 second'
  FROM generate_series(1, 300) AS i;
INSERT INTO bid VALUES (NULL, 8, NULL, '2024-01-01 00:06+00'), (3, NULL, 'x', '2024-01-01 00:07+00'),
    (1, 7, 'closes all windows', '2024-01-02 00:00+00');
CREATE PROCEDURE compare(query text, closed text DEFAULT 'true', INOUT rows bigint DEFAULT 0, INOUT differences bigint DEFAULT 0)
LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE 'CREATE MATERIALIZED VIEW result WITH (stream_engine.continuous, stream_engine.start = earliest) AS ' || query;
    COMMIT;
    REFRESH MATERIALIZED VIEW result;
    query := format('SELECT * FROM (%s) AS query WHERE %s', query, closed);
    EXECUTE format('SELECT (SELECT count(*) FROM result), count(*)
        FROM ((TABLE result EXCEPT ALL (%1$s)) UNION ALL ((%1$s) EXCEPT ALL TABLE result)) AS d', query) INTO rows, differences;
    DROP MATERIALIZED VIEW result;
    COMMIT;
END $$;
CALL compare('SELECT * FROM cheap');
CALL compare('SELECT * FROM nested WHERE p % 3 = 1');
CALL compare('SELECT n.*, n.a IS NULL AS none FROM nested n');
CALL compare('SELECT cheap FROM cheap');
CALL compare('SELECT DISTINCT auction, who FROM everything');
CALL compare('SELECT a, count(*), sum(t), avg(p), array_agg(p ORDER BY p) FROM nested GROUP BY a HAVING sum(t) > 100');
CALL compare('SELECT count(*), max(price) FILTER (WHERE auction = 1) AS top FROM barrier');
CALL compare('SELECT w.* FROM windows w');
CALL compare('SELECT window_end, a, count(*), min(p) FROM windows GROUP BY 1, 2', $$window_end < '2024-01-02'$$);
CALL compare('SELECT ends, count(*) FROM joined WHERE auction > 1 GROUP BY 1', $$ends < '2024-01-02'$$);
CALL compare('SELECT window_start, count(*) FROM barrier CROSS JOIN tumble(at, ''1 min'') WHERE price > 20 GROUP BY 1', $$window_start < '2024-01-02'$$);

-- an aggregate over everything has its row before any input
CREATE MATERIALIZED VIEW total WITH (stream_engine.continuous) AS SELECT count(*), max(p) FROM nested WITH NO DATA;
TABLE total;
