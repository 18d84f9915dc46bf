-- Ten thousand subtransactions in one transaction, every seventh rolled back: rows as in a table, in their order.
CREATE FOREIGN TABLE s (n int, pad text) SERVER stream_engine;
CREATE TABLE twin (i serial, n int, pad text);
CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous) AS SELECT n, pad FROM s;
CREATE MATERIALIZED VIEW c WITH (stream_engine.continuous) AS SELECT count(*) AS rows, sum(n) AS sum FROM s;
DO $$
BEGIN
    FOR block IN 1..10000 LOOP
        BEGIN
            INSERT INTO s VALUES (block, repeat('x', block % 100));
            INSERT INTO twin (n, pad) VALUES (block, repeat('x', block % 100));
            IF block % 7 = 0 THEN
                RAISE EXCEPTION 'block %', block;
            END IF;
        EXCEPTION WHEN raise_exception THEN
            NULL;
        END;
    END LOOP;
END $$;
SELECT count(*) FROM s;
SELECT count(*) AS differ FROM
    (SELECT row_number() OVER () AS i, n, pad FROM s) s
    FULL JOIN (SELECT row_number() OVER (ORDER BY i) AS i, n, pad FROM twin) t USING (i)
    WHERE (s.n, s.pad) IS DISTINCT FROM (t.n, t.pad);
REFRESH MATERIALIZED VIEW v;
REFRESH MATERIALIZED VIEW c;
SELECT count(*) AS differ FROM (SELECT n, pad FROM v EXCEPT ALL SELECT n, pad FROM twin) x;
SELECT c.rows = count(*) AS rows, c.sum = sum(n) AS sum FROM c, twin GROUP BY c.rows, c.sum;

-- nested a hundred deep, and given up from the middle
CREATE FUNCTION nest(depth int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO s VALUES (-depth, 'nested');
    INSERT INTO twin (n, pad) VALUES (-depth, 'nested');
    IF depth = 100 THEN RAISE EXCEPTION 'deep enough'; END IF;
    BEGIN
        PERFORM nest(depth + 1);
    EXCEPTION WHEN raise_exception THEN
        IF depth > 50 THEN RAISE; END IF;
    END;
END $$;
SELECT nest(1);
SELECT count(*), min(n) FROM s WHERE n < 0;
REFRESH MATERIALIZED VIEW c;
SELECT c.rows = count(*) AS rows, c.sum = sum(n) AS sum FROM c, twin GROUP BY c.rows, c.sum;
