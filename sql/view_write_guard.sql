-- Nobody but the job writes to a result, by whatever way.
CREATE FOREIGN TABLE s (k int) SERVER stream_engine;
CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous) AS SELECT k, count(*) AS n FROM s GROUP BY k;
\set VERBOSITY terse
INSERT INTO v VALUES (1, 1);
INSERT INTO v SELECT 1, 1 WHERE false;
INSERT INTO v VALUES (1, 1) ON CONFLICT DO NOTHING;
UPDATE v SET n = 0;
DELETE FROM v;
MERGE INTO v USING (SELECT 1 AS k) AS x ON x.k = v.k WHEN MATCHED THEN DELETE;
WITH x AS (DELETE FROM v RETURNING *) SELECT * FROM x;
TRUNCATE v;
\copy v FROM '/dev/null'
EXPLAIN ANALYZE DELETE FROM v;

-- prepared before it was a result; through a view; in a function
CREATE VIEW through AS SELECT * FROM v;
DELETE FROM through;
PREPARE p AS DELETE FROM v;
EXECUTE p;
DO $$ BEGIN DELETE FROM v; END $$;

-- reading, locking and explaining are free
\set VERBOSITY default
SELECT * FROM v FOR UPDATE;
EXPLAIN (COSTS OFF) DELETE FROM v WHERE k = 1;
COPY v TO stdout;
DELETE FROM v;

-- a rolled back view leaves the name free
BEGIN;
CREATE MATERIALIZED VIEW w WITH (stream_engine.continuous) AS SELECT k FROM s;
SAVEPOINT a;
INSERT INTO w VALUES (1);
ROLLBACK TO a;
ROLLBACK;
CREATE TABLE w (k int);
INSERT INTO w VALUES (1);
