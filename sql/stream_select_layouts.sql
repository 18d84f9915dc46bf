-- Rows stay readable whatever ALTER FOREIGN TABLE did after them, and mean what they meant.
CREATE FOREIGN TABLE s (a int, b text, gone float8, ts timestamptz OPTIONS (event_time 'true')) SERVER stream_engine;
INSERT INTO s VALUES (1, 'one', 1.5, '2024-01-01'), (2, NULL, NULL, '2024-01-02');
ALTER FOREIGN TABLE s ADD COLUMN c int NOT NULL DEFAULT 7, ADD COLUMN d text;
INSERT INTO s VALUES (3, 'three', 3.5, '2024-01-03', 33, 'dd');
SELECT * FROM s;
ALTER FOREIGN TABLE s DROP COLUMN gone;
INSERT INTO s VALUES (4, 'four', '2024-01-04', DEFAULT, NULL);
SELECT * FROM s;
SELECT d, a FROM s WHERE c = 7;
-- A type that older rows cannot take is refused; all of them are looked at.
ALTER FOREIGN TABLE s ALTER COLUMN d TYPE int;
SELECT a, b, c FROM s;
SELECT d FROM s;
-- Wide rows: compressed and out of line in the session, flat in the log.
CREATE FOREIGN TABLE wide (n int, v text, arr int[]) SERVER stream_engine;
CREATE TABLE twin (n int, v text, arr int[]);
ALTER TABLE twin ALTER v SET STORAGE EXTERNAL;
INSERT INTO twin SELECT n, repeat(md5(n::text), n * 100), array_agg(i) FROM generate_series(1, 40) n, generate_series(1, n * 20) i GROUP BY n;
INSERT INTO wide SELECT * FROM twin ORDER BY n;
SELECT count(*), count(*) FILTER (WHERE w.v = t.v AND w.arr = t.arr) FROM wide w JOIN twin t USING (n);
