-- Rows of a transaction wait for each other: small statements and streams that take turns make few messages, in order.
CREATE FOREIGN TABLE a (n int, ts timestamptz OPTIONS (event_time 'true') DEFAULT '2024-01-01') SERVER stream_engine OPTIONS (watermark 'ts');
CREATE FOREIGN TABLE b (n int) SERVER stream_engine;
CREATE FOREIGN TABLE many (n int) SERVER stream_engine;
-- WAL that a statement takes, autovacuum and checkpoints aside: the least of three
CREATE FUNCTION wal_of(statement text, OUT bytes bigint) LANGUAGE plpgsql AS $$
DECLARE
    before pg_lsn;
BEGIN
    FOR i IN 1..3 LOOP
        before := pg_current_wal_insert_lsn();
        EXECUTE statement;
        bytes := least(bytes, pg_wal_lsn_diff(pg_current_wal_insert_lsn(), before)::bigint);
    END LOOP;
END $$;

-- 3000 statements of one row: 32 bytes each, and no record of its own (150 bytes more)
SELECT wal_of($$DO 'BEGIN FOR i IN 1..3000 LOOP INSERT INTO many VALUES (i); END LOOP; END'$$) < 3000 * 60 AS few_messages;
-- partitions that take turns
CREATE TABLE p (k int, n int) PARTITION BY LIST (k);
CREATE FOREIGN TABLE p0 PARTITION OF p FOR VALUES IN (0) SERVER stream_engine;
CREATE FOREIGN TABLE p1 PARTITION OF p FOR VALUES IN (1) SERVER stream_engine;
CREATE FOREIGN TABLE p2 PARTITION OF p FOR VALUES IN (2) SERVER stream_engine;
SELECT wal_of('INSERT INTO p SELECT i % 3, i FROM generate_series(0, 8999) i') < 9000 * 60 AS few_messages;
SELECT tableoid::regclass, count(*), min(n), max(n) FROM p GROUP BY 1 ORDER BY 1;
SELECT count(*) AS out_of_order FROM (SELECT n, lag(n) OVER () AS before FROM p1) x WHERE n < before AND n <> 1;

-- streams that take turns, a watermark among them, savepoints: each stream's rows in their order, at places counted over both
SELECT stream_engine.test_start_mark('a') AS from_a, stream_engine.test_start_mark('b') AS from_b \gset
BEGIN;
INSERT INTO a VALUES (1);
INSERT INTO b VALUES (101), (102);
INSERT INTO a VALUES (2), (3);
SAVEPOINT s1;
INSERT INTO b VALUES (103);
INSERT INTO a VALUES (4);
INSERT INTO b VALUES (104);
RELEASE s1;
INSERT INTO a VALUES (5);
SAVEPOINT s2;
INSERT INTO a VALUES (-1);
INSERT INTO b VALUES (-1);
ROLLBACK TO s2;
INSERT INTO b VALUES (105);
INSERT INTO a VALUES (6);
SELECT stream_engine.emit_watermark('a', '2024-01-02');
INSERT INTO b VALUES (106);
INSERT INTO a VALUES (7);
INSERT INTO b VALUES (107);
INSERT INTO a VALUES (8);
COMMIT;
SELECT string_agg(n::text, ' ') AS a FROM a;
SELECT string_agg(n::text, ' ') AS b FROM b;
SELECT substring(place from '\+.*') AS place, wm, "row" FROM stream_engine.test_source('a', :'from_a', 256);
SELECT substring(place from '\+.*') AS place, "row" FROM stream_engine.test_source('b', :'from_b', 256);
-- the same in batches of one row, reading anew from the stored position each time
SELECT count(*) AS differ FROM
    (SELECT place, wm, "row", true AS there FROM stream_engine.test_source('a', :'from_a', 256)) x
    FULL JOIN (SELECT place, wm, "row", true AS there FROM stream_engine.test_source('a', :'from_a', 1, true)) y USING (place, wm, "row")
    WHERE place IS NOT NULL AND (x.there IS NULL OR y.there IS NULL);
SELECT count(*) AS differ FROM
    (SELECT place, "row", true AS there FROM stream_engine.test_source('b', :'from_b', 256)) x
    FULL JOIN (SELECT place, "row", true AS there FROM stream_engine.test_source('b', :'from_b', 1, true)) y USING (place, "row")
    WHERE place IS NOT NULL AND (x.there IS NULL OR y.there IS NULL);

-- functions that write while their statement does, into the same stream and another
CREATE FUNCTION also(i int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO b VALUES (1000 + i);
    INSERT INTO a VALUES (1000 + i);
    BEGIN
        INSERT INTO a VALUES (2000 + i);
        IF i = 2 THEN RAISE EXCEPTION 'no'; END IF;
    EXCEPTION WHEN raise_exception THEN NULL;
    END;
    RETURN 3000 + i;
END $$;
INSERT INTO a SELECT also(i) FROM generate_series(1, 3) i;
SELECT string_agg(n::text, ' ') FROM a WHERE n > 1000;
SELECT string_agg(n::text, ' ') FROM b WHERE n > 1000;

-- a view made by a transaction has what the transaction writes after it, also where messages hold both
BEGIN;
INSERT INTO a VALUES (11);
INSERT INTO b VALUES (211);
INSERT INTO a VALUES (12);
CREATE MATERIALIZED VIEW va WITH (stream_engine.continuous) AS SELECT n, 100 / (n - 15) AS q FROM a;
INSERT INTO b VALUES (212);
INSERT INTO a VALUES (13);
INSERT INTO b VALUES (213);
INSERT INTO a VALUES (14);
COMMIT;
REFRESH MATERIALIZED VIEW va;
SELECT * FROM va ORDER BY n;
-- the place of a row that fails is its own, between gaps
BEGIN;
INSERT INTO a VALUES (16);
INSERT INTO b VALUES (214);
INSERT INTO b VALUES (215);
INSERT INTO a VALUES (15);
INSERT INTO b VALUES (216);
INSERT INTO a VALUES (17);
COMMIT;
SELECT stream_engine.wait_state('va', 'failed');
SELECT "row", substring("position" from '\+.*') AS place, "position" FROM stream_engine.errors ORDER BY seq DESC LIMIT 1 \gset failed_
SELECT :'failed_row' AS "row", :'failed_place' AS place;
SELECT stream_engine.start('va', skip => :'failed_position');
REFRESH MATERIALIZED VIEW va;
SELECT * FROM va ORDER BY n;

-- prepared; created, filled and dropped at once; altered between two rows
BEGIN;
INSERT INTO a VALUES (21);
INSERT INTO b VALUES (221);
INSERT INTO a VALUES (22);
PREPARE TRANSACTION 'se_buffers';
COMMIT PREPARED 'se_buffers';
BEGIN;
CREATE FOREIGN TABLE c (n int) SERVER stream_engine;
INSERT INTO c VALUES (1);
INSERT INTO a VALUES (23);
DROP FOREIGN TABLE c;
INSERT INTO b VALUES (222);
ALTER FOREIGN TABLE b ADD t text DEFAULT 'added';
INSERT INTO a VALUES (24);
INSERT INTO b VALUES (223, 'new');
COMMIT;
SELECT n FROM a WHERE n BETWEEN 20 AND 30;
SELECT n, t FROM b WHERE n BETWEEN 221 AND 1000;
-- a transaction whose rows wait has written to a stream
BEGIN;
INSERT INTO a VALUES (31);
SELECT stream_engine.drain();
ROLLBACK;
