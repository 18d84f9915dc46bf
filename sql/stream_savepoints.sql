-- Rows count if their subtransaction commits, wherever a statement's rows, functions and savepoints cross.
CREATE FOREIGN TABLE s (n int, who text) SERVER stream_engine;
CREATE TABLE twin (seq serial, n int, who text);
CREATE FUNCTION put(i int, w text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO s VALUES (i, w);
  INSERT INTO twin (n, who) VALUES (i, w);
END $$;
CREATE FUNCTION compare(OUT rows bigint, OUT differences bigint) LANGUAGE sql AS $$
  SELECT (SELECT count(*) FROM s),
    (SELECT count(*) FROM (SELECT n, who, row_number() OVER () AS seq FROM s) s
       FULL JOIN (SELECT n, who, row_number() OVER (ORDER BY seq) AS seq FROM twin) t USING (seq)
      WHERE (s.n, s.who) IS DISTINCT FROM (t.n, t.who)) $$;

-- savepoints: released, rolled back, nested
BEGIN;
SELECT put(1, 'top');
SAVEPOINT a;
SELECT put(2, 'a');
SAVEPOINT b;
SELECT put(3, 'b, lost with a');
RELEASE b;
ROLLBACK TO a;
SELECT put(4, 'a again');
SAVEPOINT c;
SELECT put(5, 'c');
RELEASE c;
RELEASE a;
SELECT put(6, 'top');
COMMIT;
SELECT n, who FROM s;
SELECT * FROM compare();

-- only subtransactions write
BEGIN;
SAVEPOINT a;
SELECT put(11, 'a');
RELEASE a;
SAVEPOINT b;
SELECT put(12, 'lost');
ROLLBACK TO b;
COMMIT;
SELECT * FROM compare();

-- exception blocks of a function that one statement calls for each of its own rows
CREATE FUNCTION sometimes(i int) RETURNS int LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  BEGIN
    PERFORM put(i, 'inner');
    BEGIN
      PERFORM put(i, 'inmost');
      IF i % 5 = 0 THEN PERFORM 1 / 0; END IF;
    EXCEPTION WHEN division_by_zero THEN
      PERFORM put(i, 'handled');
    END;
    IF i % 3 = 0 THEN PERFORM 1 / 0; END IF;
  EXCEPTION WHEN division_by_zero THEN
    NULL;
  END;
  RETURN i;
END $$;
CREATE FUNCTION outer_row(i int) RETURNS text LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  INSERT INTO twin (n, who) VALUES (i, 'outer');
  RETURN 'outer';
END $$;
INSERT INTO s SELECT sometimes(i), outer_row(i) FROM generate_series(1, 200) i;
SELECT * FROM compare();

-- the same with rows that fill messages
CREATE FUNCTION big(i int) RETURNS int LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  BEGIN
    INSERT INTO s SELECT i, repeat('m', 5000) FROM generate_series(1, 20);
    IF i % 2 = 0 THEN PERFORM 1 / 0; END IF;
    INSERT INTO twin (n, who) SELECT i, repeat('m', 5000) FROM generate_series(1, 20);
  EXCEPTION WHEN division_by_zero THEN
    NULL;
  END;
  INSERT INTO twin (n, who) VALUES (i, repeat('o', 5000));
  RETURN i;
END $$;
INSERT INTO s SELECT big(i), repeat('o', 5000) FROM generate_series(1, 30) i;
SELECT * FROM compare();

-- a whole statement in a subtransaction that fails at its end, and the transaction goes on
BEGIN;
SELECT put(300, 'before');
SAVEPOINT x;
INSERT INTO s SELECT i, repeat('f', 1000) FROM generate_series(1, 1000) i UNION ALL SELECT 1 / 0, '';
ROLLBACK TO x;
SELECT put(301, 'after');
COMMIT;
SELECT * FROM compare();

-- the loser's whole transaction
BEGIN;
SELECT put(400, 'lost');
SAVEPOINT x;
SELECT put(401, 'lost');
RELEASE x;
ROLLBACK;
SELECT * FROM compare();

-- procedures that commit
CREATE PROCEDURE batches() LANGUAGE plpgsql AS $$
BEGIN
  FOR i IN 1..10 LOOP
    PERFORM put(500 + i, 'batch');
    IF i % 3 = 0 THEN ROLLBACK; ELSE COMMIT; END IF;
  END LOOP;
END $$;
CALL batches();
SELECT * FROM compare();

-- deferred triggers and cursors write at the end
CREATE TABLE fire (i int);
CREATE FUNCTION fired() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM put(NEW.i, 'deferred'); RETURN NULL; END $$;
CREATE CONSTRAINT TRIGGER d AFTER INSERT ON fire DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION fired();
BEGIN;
INSERT INTO fire VALUES (601), (602);
SELECT put(600, 'before the deferred');
COMMIT;
SELECT n, who FROM s WHERE n >= 600;
SELECT * FROM compare();
