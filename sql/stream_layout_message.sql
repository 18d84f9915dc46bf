-- Where no stored layout fits, a transaction brings its own; once, and again if the subtransaction that brought it fails.
CREATE FOREIGN TABLE s (n int, t text) SERVER stream_engine;
CREATE FOREIGN TABLE other (n int) SERVER stream_engine;
CREATE FOREIGN TABLE another (x numeric) SERVER stream_engine;
UPDATE stream_engine.stream_layouts SET layout = (SELECT layout FROM stream_engine.stream_layouts WHERE stream = 'another'::regclass)
  WHERE stream IN ('s'::regclass, 'other'::regclass);
\c
INSERT INTO s SELECT i, 'own layout' FROM generate_series(2, 5) i;
BEGIN;
INSERT INTO s VALUES (6, 'top');
SAVEPOINT a;
INSERT INTO s VALUES (7, 'a');
INSERT INTO other VALUES (1);
ROLLBACK TO a;
INSERT INTO s VALUES (8, 'top');
INSERT INTO other VALUES (2);
COMMIT;
BEGIN;
SAVEPOINT a;
INSERT INTO s VALUES (9, 'lost with its layout');
ROLLBACK TO a;
SAVEPOINT b;
INSERT INTO s VALUES (10, 'b');
RELEASE b;
SAVEPOINT c;
INSERT INTO s VALUES (11, 'c');
ROLLBACK TO c;
INSERT INTO s VALUES (12, 'top');
COMMIT;
-- by one statement whose function has an exception block that brings the layout and fails
CREATE FUNCTION fails(i int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO other VALUES (i);
  INSERT INTO s VALUES (i, 'never');
  RETURN 1 / (i - i);
EXCEPTION WHEN division_by_zero THEN
  RETURN i;
END $$;
INSERT INTO s SELECT fails(i), 'outer' FROM generate_series(21, 23) i;
BEGIN;
INSERT INTO s VALUES (31, 'prepared');
PREPARE TRANSACTION 'se_layout_message';
INSERT INTO s VALUES (32, 'after');
COMMIT PREPARED 'se_layout_message';
SELECT * FROM s;
SELECT * FROM other;

-- a column added later reads as its default, also in rows with a layout of their own
ALTER FOREIGN TABLE s ADD c int DEFAULT 7;
INSERT INTO s VALUES (41, 'stored again', 41);
SELECT count(*), count(*) FILTER (WHERE c = 7) AS with_default FROM s;
SELECT id FROM stream_engine.stream_layouts WHERE stream = 's'::regclass ORDER BY id;
