-- Rows come out in the order in which they were inserted, also when one statement's functions and triggers insert too.
CREATE FOREIGN TABLE s (n int, who text) SERVER stream_engine;
CREATE FOREIGN TABLE other (n int, who text) SERVER stream_engine;
CREATE TABLE twin (seq serial, n int, who text);

-- an inner function inserts between two outer rows
CREATE FUNCTION inner_insert(i int) RETURNS int LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  INSERT INTO twin (n, who) VALUES (i, 'inner');
  INSERT INTO s VALUES (i, 'inner');
  RETURN i;
END $$;
CREATE FUNCTION outer_row(i int) RETURNS text LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  INSERT INTO twin (n, who) VALUES (i, 'outer');
  RETURN 'outer';
END $$;
INSERT INTO s SELECT inner_insert(i), outer_row(i) FROM generate_series(1, 300) i;
SELECT count(*) FROM s;
SELECT count(*) AS out_of_order FROM (SELECT n, who, row_number() OVER () AS seq FROM s) s
  FULL JOIN twin USING (seq) WHERE (s.n, s.who) IS DISTINCT FROM (twin.n, twin.who);

-- triggers of the stream itself
CREATE FUNCTION before_row() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.n = 3 THEN RETURN NULL; END IF;
  NEW.who := NEW.who || ', changed';
  RETURN NEW;
END $$;
CREATE FUNCTION after_row() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO other VALUES (NEW.n, NEW.who);
  RETURN NULL;
END $$;
CREATE TRIGGER b BEFORE INSERT ON s FOR EACH ROW EXECUTE FUNCTION before_row();
CREATE TRIGGER a AFTER INSERT ON s FOR EACH ROW EXECUTE FUNCTION after_row();
INSERT INTO s SELECT i, 'triggered' FROM generate_series(1, 5) i;
SELECT * FROM s WHERE who LIKE 'triggered%';
SELECT * FROM other;

-- two streams in one transaction, alternating
BEGIN;
INSERT INTO other VALUES (101, 'o');
INSERT INTO s VALUES (101, 'p');
INSERT INTO other VALUES (102, 'o');
INSERT INTO s VALUES (102, 'p');
COMMIT;
SELECT n, who FROM other WHERE n > 100;
SELECT n, who FROM s WHERE n > 100 AND who LIKE 'p%';
