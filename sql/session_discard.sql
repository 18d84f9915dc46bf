-- What a pooler does between two clients: DISCARD ALL, with prepared statements, cursors and settings of ours in the session.
CREATE FOREIGN TABLE s (k int, v int, ts timestamptz OPTIONS (event_time 'true')) SERVER stream_engine;
CREATE MATERIALIZED VIEW g WITH (stream_engine.continuous) AS SELECT k, count(*) AS n, sum(v) AS total FROM s GROUP BY k;

-- The first client: statements, a cursor that outlives its transaction, one over the view, settings, a temporary table.
PREPARE put (int, int) AS INSERT INTO s VALUES ($1, $2, '2024-01-01');
PREPARE get AS SELECT * FROM g ORDER BY k;
PREPARE make AS SELECT count(*) FROM s;
EXECUTE put (1, 1);
EXECUTE put (2, 2);
REFRESH MATERIALIZED VIEW g;
EXECUTE get;
BEGIN;
DECLARE held CURSOR WITH HOLD FOR SELECT k, v FROM s ORDER BY k, v;
DECLARE held_view CURSOR WITH HOLD FOR SELECT * FROM g ORDER BY k;
INSERT INTO s VALUES (3, 3, '2024-01-01');
COMMIT;
FETCH 1 FROM held;
FETCH 1 FROM held_view;
SET timezone = 'Asia/Tokyo';
SET stream_engine.max_row_size = '1MB';
CREATE TEMP TABLE t AS SELECT * FROM s;
DISCARD ALL;

-- Nothing of it is left.
EXECUTE put (1, 1);
FETCH 1 FROM held;
SELECT count(*) FROM pg_cursors;
SELECT count(*) FROM pg_prepared_statements;
SHOW stream_engine.max_row_size;
SELECT to_regclass('t');

-- The second client: commands of ours as in a new session.
INSERT INTO s VALUES (4, 4, '2024-01-01');
CREATE MATERIALIZED VIEW w WITH (stream_engine.continuous, stream_engine.start = 'earliest') AS SELECT k, v, ts FROM s;
REFRESH MATERIALIZED VIEW g;
REFRESH MATERIALIZED VIEW w;
SELECT * FROM g ORDER BY k;
SELECT count(*) FROM w;
SELECT k, v FROM s ORDER BY k;
PREPARE put (int, int) AS INSERT INTO s VALUES ($1, $2, '2024-01-01');
EXECUTE put (5, 5);
DISCARD PLANS;
EXECUTE put (5, 6);
DISCARD TEMP;
DISCARD SEQUENCES;
REFRESH MATERIALIZED VIEW g;
SELECT * FROM g WHERE k = 5;
SELECT stream_engine.stop('w');
DISCARD ALL;
SELECT stream_engine.wait_state('w', 'stopped');
SELECT stream_engine.start('w');
DISCARD ALL;
REFRESH MATERIALIZED VIEW w;
SELECT count(*) FROM w;

-- A session that refuses to discard inside a transaction loses nothing of it.
BEGIN;
INSERT INTO s VALUES (6, 6, '2024-01-01');
SAVEPOINT a;
DISCARD ALL;
ROLLBACK TO a;
COMMIT;
REFRESH MATERIALIZED VIEW g;
SELECT * FROM g WHERE k = 6;
DROP FOREIGN TABLE s CASCADE;
DISCARD ALL;
