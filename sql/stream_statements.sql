-- Statements people use on a table: each works on a stream, or says what it is.
CREATE FOREIGN TABLE s (id int, t text DEFAULT 'd') SERVER stream_engine;
CREATE FOREIGN TABLE target (id int, t text, n int DEFAULT 7) SERVER stream_engine;
INSERT INTO s VALUES (1, 'one'), (2, 'two'), (3, 'three');

-- from a stream into another, and into itself
INSERT INTO target SELECT id, t FROM s WHERE id > 1 RETURNING *;
INSERT INTO s SELECT id + 10, t FROM s;
INSERT INTO target (id, t) SELECT s.id, target.t FROM s JOIN target USING (id);
SELECT * FROM target;
SELECT * FROM s;

-- tables made of it
CREATE TABLE copied AS SELECT * FROM s;
SELECT id + 100 AS id, t INTO selected FROM s WHERE id > 10;
CREATE MATERIALIZED VIEW ordinary AS SELECT count(*) FROM s;
SELECT (SELECT count(*) FROM copied), (SELECT count(*) FROM selected), (SELECT count FROM ordinary);
CREATE TABLE alike (LIKE s INCLUDING ALL);
INSERT INTO alike SELECT * FROM s;
SELECT count(*) FROM alike;

-- cursors: a bounded read that is fetched from at leisure
BEGIN;
DECLARE c CURSOR FOR SELECT id FROM s;
FETCH 2 FROM c;
INSERT INTO s VALUES (4, 'own');
FETCH ALL FROM c;
FETCH BACKWARD 1 FROM c;
ROLLBACK;
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT id FROM s;
MOVE 2 FROM c;
FETCH 1 FROM c;
FETCH BACKWARD 1 FROM c;
FETCH LAST FROM c;
FETCH ABSOLUTE 2 FROM c;
SAVEPOINT a;
DECLARE lost CURSOR FOR SELECT id FROM s;
FETCH 1 FROM lost;
ROLLBACK TO a;
FETCH 1 FROM c;
COMMIT;
BEGIN;
DECLARE held CURSOR WITH HOLD FOR SELECT id, t FROM s WHERE id > 10;
FETCH 1 FROM held;
COMMIT;
INSERT INTO s VALUES (14, 'later');
FETCH ALL FROM held;
CLOSE held;
DO $$
DECLARE
    c CURSOR FOR SELECT id FROM s ORDER BY id;
    total int := 0;
BEGIN
    FOR r IN c LOOP
        total := total + r.id;
    END LOOP;
    RAISE NOTICE 'sum %', total;
END $$;
BEGIN;
DECLARE c CURSOR FOR SELECT id FROM s;
FETCH 1 FROM c;
DELETE FROM s WHERE CURRENT OF c;
ROLLBACK;

-- rows cannot be locked, nor the stream by LOCK; FOR UPDATE locks the rows of tables beside it
SELECT s.id, c.t FROM s JOIN copied c USING (id) WHERE s.id < 3 ORDER BY 1 FOR UPDATE;
BEGIN;
LOCK TABLE s IN SHARE MODE;
ROLLBACK;

-- ANALYZE and VACUUM pass it over; what PostgreSQL refuses on foreign tables; comments
ANALYZE s;
VACUUM s;
SELECT * FROM s TABLESAMPLE system (10);
CREATE RULE r AS ON INSERT TO s DO ALSO NOTIFY x;
CREATE PUBLICATION p FOR TABLE s;
COMMENT ON FOREIGN TABLE s IS 'a stream';
COMMENT ON COLUMN s.id IS 'a number';
SELECT obj_description('s'::regclass), col_description('s'::regclass, 1);

-- EXPLAIN of every statement
EXPLAIN (COSTS OFF) SELECT * FROM s WHERE id > 1;
EXPLAIN (COSTS OFF) INSERT INTO s SELECT * FROM s;
EXPLAIN (COSTS OFF) WITH w AS (INSERT INTO s VALUES (1, 'x') RETURNING id) SELECT * FROM w;
EXPLAIN (COSTS OFF) CREATE TABLE x AS SELECT * FROM s;
EXPLAIN (COSTS OFF) DECLARE c CURSOR FOR SELECT * FROM s;
PREPARE p (int) AS SELECT * FROM s WHERE id = $1;
EXPLAIN (COSTS OFF) EXECUTE p (1);
EXPLAIN (VERBOSE, COSTS OFF) SELECT id FROM s WHERE t = 'one';
EXPLAIN UPDATE s SET id = 1;
EXPLAIN DELETE FROM s;
EXPLAIN MERGE INTO s USING copied c ON s.id = c.id WHEN NOT MATCHED THEN INSERT VALUES (1, 'x');
EXPLAIN INSERT INTO s VALUES (1, 'x') ON CONFLICT DO NOTHING;
-- with ANALYZE the plan says how much log was read
CREATE FUNCTION explained(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF) ' || query LOOP
        RETURN NEXT regexp_replace(regexp_replace(line, '\d+ kB', 'N kB'), 'rows=(\d+)\.00', 'rows=\1');
    END LOOP;
END $$;
CREATE FUNCTION explained_json(query text, OUT plan json) LANGUAGE plpgsql AS $$ BEGIN EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan; END $$;
SELECT plan -> 0 -> 'Plan' ->> 'Node Type' AS node, plan -> 0 -> 'Plan' ->> 'Stream Log' AS log FROM explained_json('SELECT id FROM s');
SELECT explained('SELECT id FROM s WHERE id > 10');
SELECT explained('INSERT INTO s VALUES (5, ''five'')');
SELECT count(*) FROM s WHERE id = 5;

-- partial reads: LIMIT, EXISTS, a rescan
SELECT id FROM s LIMIT 2;
SELECT c.id, (SELECT count(*) FROM s WHERE s.id <= c.id) AS below FROM copied c ORDER BY id;
SELECT EXISTS (SELECT FROM s WHERE id = 13), EXISTS (SELECT FROM s WHERE id = 99);
