-- An updating result has one row per key, NULL included; only rows that changed are
-- written, and columns that the owner added keep what is in them.
CREATE TABLE twin (k int, t text, v numeric);
CREATE FOREIGN TABLE s (k int, t text, v numeric) SERVER stream_engine;
CREATE MATERIALIZED VIEW m WITH (stream_engine.continuous) AS SELECT t, count(*) AS n, k, sum(v) AS total, max(v) AS top FROM s GROUP BY k, t;
\d m

INSERT INTO twin SELECT nullif(i % 5, 4), nullif('t' || i % 3, 't2'), i * 0.10 FROM generate_series(1, 200) i;
INSERT INTO s SELECT * FROM twin;
REFRESH MATERIALIZED VIEW m;
TABLE m ORDER BY k, t;
(TABLE m EXCEPT ALL SELECT t, count(*), k, sum(v), max(v) FROM twin GROUP BY k, t)
UNION ALL (SELECT t, count(*), k, sum(v), max(v) FROM twin GROUP BY k, t EXCEPT ALL TABLE m);

-- A group that gets no row is not written again.
ALTER TABLE m ADD COLUMN note text DEFAULT 'new', ADD COLUMN mean numeric GENERATED ALWAYS AS (total / n) STORED;
CREATE TEMP TABLE before AS SELECT ctid AS place, xmin AS writer, t, k FROM m;
INSERT INTO s VALUES (NULL, NULL, 1000), (0, 't0', 2000), (77, NULL, 3000);
REFRESH MATERIALIZED VIEW m;
SELECT count(*) FILTER (WHERE m.xmin = b.writer) AS same, count(*) FILTER (WHERE m.xmin <> b.writer) AS updated
FROM m JOIN before b ON m.t IS NOT DISTINCT FROM b.t AND m.k IS NOT DISTINCT FROM b.k;
SELECT t, n, k, total, top, note, round(mean, 2) AS mean FROM m WHERE top >= 1000 ORDER BY top;

-- HAVING: a group whose row no longer passes leaves the result, and may come back.
CREATE MATERIALIZED VIEW h WITH (stream_engine.continuous) AS SELECT k, sum(v) AS total, 100 / (sum(v) - 5) AS per FROM s GROUP BY k HAVING sum(v) <> 5;
INSERT INTO s VALUES (1, 'x', 4), (2, 'x', 5), (3, 'x', 6);
REFRESH MATERIALIZED VIEW h;
SELECT k, total FROM h ORDER BY k;
INSERT INTO s VALUES (1, 'x', 1), (2, 'x', 1);
REFRESH MATERIALIZED VIEW h;
SELECT k, total FROM h ORDER BY k;
INSERT INTO s VALUES (1, 'x', 1), (3, 'x', -1);
REFRESH MATERIALIZED VIEW h;
SELECT k, total FROM h ORDER BY k;

-- Without GROUP BY there is one row, from CREATE on.
CREATE MATERIALIZED VIEW one WITH (stream_engine.continuous) AS SELECT count(*) AS n, sum(v) AS total FROM s;
TABLE one;
INSERT INTO s VALUES (1, 'x', 10), (1, 'y', 20);
REFRESH MATERIALIZED VIEW one;
TABLE one;
INSERT INTO s VALUES (1, 'x', 30);
REFRESH MATERIALIZED VIEW one;
TABLE one;
