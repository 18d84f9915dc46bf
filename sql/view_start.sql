-- start = now: rows from the creation on. start = earliest: also those that are retained.
CREATE FOREIGN TABLE s (k int) SERVER stream_engine;
INSERT INTO s VALUES (1), (2);
CREATE MATERIALIZED VIEW from_now WITH (stream_engine.continuous) AS SELECT k FROM s;
CREATE MATERIALIZED VIEW from_first WITH (stream_engine.continuous, stream_engine.start = 'earliest') AS SELECT k FROM s;
INSERT INTO s VALUES (3);
REFRESH MATERIALIZED VIEW from_now;
REFRESH MATERIALIZED VIEW from_first;
SELECT * FROM from_now ORDER BY k;
SELECT * FROM from_first ORDER BY k;

-- a stream of the same name, made anew, is another one
DROP FOREIGN TABLE s CASCADE;
CREATE FOREIGN TABLE s (k int) SERVER stream_engine;
INSERT INTO s VALUES (4);
CREATE MATERIALIZED VIEW anew WITH (stream_engine.continuous, stream_engine.start = 'earliest') AS SELECT k FROM s;
REFRESH MATERIALIZED VIEW anew;
SELECT * FROM anew;

-- rows of the creating transaction
BEGIN;
INSERT INTO s VALUES (5);
CREATE MATERIALIZED VIEW from_first WITH (stream_engine.continuous, stream_engine.start = 'earliest') AS SELECT k FROM s;
INSERT INTO s VALUES (6);
COMMIT;
REFRESH MATERIALIZED VIEW from_first;
SELECT * FROM from_first ORDER BY k;
