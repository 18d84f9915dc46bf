-- An aggregate over everything has its one row from CREATE on.
CREATE FOREIGN TABLE s (k int, x text) SERVER stream_engine;
INSERT INTO s VALUES (1, 'a');
CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous) AS
    SELECT count(*) AS n, sum(k), max(x), coalesce(min(x), 'none') AS least, array_agg(k) AS all FROM s;
SELECT * FROM v;
\d v
INSERT INTO s VALUES (2, 'b'), (3, NULL);
REFRESH MATERIALIZED VIEW v;
SELECT * FROM v;

-- HAVING decides about that row too
CREATE MATERIALIZED VIEW w WITH (stream_engine.continuous) AS SELECT count(*) AS n FROM s HAVING count(*) > 1;
SELECT * FROM w;
INSERT INTO s VALUES (4);
REFRESH MATERIALIZED VIEW w;
SELECT * FROM w;
INSERT INTO s VALUES (5);
REFRESH MATERIALIZED VIEW w;
SELECT * FROM w;

-- not started yet, the row is there
CREATE MATERIALIZED VIEW x WITH (stream_engine.continuous) AS SELECT count(*) AS n FROM s WITH NO DATA;
SELECT * FROM x;

-- SELECT of the stream in the same session is as before
SELECT count(*) > 0 AS rows_are_read FROM s;
