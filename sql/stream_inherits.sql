-- A stream as a child of a table: read through the parent, columns and constraints come from it.
\set VERBOSITY terse
CREATE TABLE parent (id int, t text);
CREATE FOREIGN TABLE child (extra int) INHERITS (parent) SERVER stream_engine;
INSERT INTO parent VALUES (1, 'parent');
INSERT INTO child VALUES (2, 'child', 3);
SELECT tableoid::regclass, * FROM parent ORDER BY id;
SELECT * FROM ONLY parent;
ALTER TABLE parent ADD n int NOT NULL DEFAULT 5, ADD CHECK (id < 100);
ALTER TABLE parent RENAME t TO u;
SELECT * FROM child;
INSERT INTO child VALUES (200, 'child', 3);
INSERT INTO child (id, u) VALUES (4, 'four');
SELECT tableoid::regclass, * FROM parent ORDER BY id;
CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous, stream_engine.start = 'earliest') AS SELECT id, u, n, extra FROM child;
REFRESH MATERIALIZED VIEW v;
SELECT * FROM v ORDER BY id;

-- through the parent rows of the stream cannot be changed: ONLY says that they are not meant
UPDATE parent SET n = 6;
DELETE FROM parent;
TRUNCATE parent;
UPDATE ONLY parent SET n = 6;
ALTER TABLE parent DROP u;
ALTER FOREIGN TABLE child NO INHERIT parent;
SELECT count(*) FROM parent;
ALTER FOREIGN TABLE child INHERIT parent;
SELECT count(*) FROM parent;
DROP TABLE parent;
DROP TABLE parent CASCADE;
SELECT count(*) FROM stream_engine.jobs;

-- a stream as a parent
CREATE FOREIGN TABLE top (id int) SERVER stream_engine;
CREATE TABLE below (x int) INHERITS (top);
CREATE FOREIGN TABLE beside (y int) INHERITS (top) SERVER stream_engine;
INSERT INTO top VALUES (1);
INSERT INTO below VALUES (2, 2);
INSERT INTO beside VALUES (3, 3);
SELECT tableoid::regclass, id FROM top ORDER BY id;
SELECT id FROM ONLY top;
CREATE MATERIALIZED VIEW w WITH (stream_engine.continuous) AS SELECT id FROM top;
CREATE MATERIALIZED VIEW w WITH (stream_engine.continuous) AS SELECT id FROM ONLY top;
INSERT INTO top VALUES (4);
INSERT INTO beside VALUES (5, 5);
REFRESH MATERIALIZED VIEW w;
SELECT * FROM w;

-- a stream that has children no more can be read as any other
CREATE FOREIGN TABLE was (id int) SERVER stream_engine;
CREATE FOREIGN TABLE its () INHERITS (was) SERVER stream_engine;
CREATE MATERIALIZED VIEW x WITH (stream_engine.continuous) AS SELECT id FROM was;
ALTER FOREIGN TABLE its NO INHERIT was;
CREATE MATERIALIZED VIEW x WITH (stream_engine.continuous) AS SELECT id FROM was;
INSERT INTO was VALUES (1);
REFRESH MATERIALIZED VIEW x;
SELECT * FROM x;

-- a stream that views read gets no child, whichever way and through whatever plain view; but FROM ONLY does not mean children
CREATE VIEW over AS SELECT id FROM was;
CREATE FOREIGN TABLE only_one (id int) SERVER stream_engine;
CREATE MATERIALIZED VIEW y WITH (stream_engine.continuous) AS SELECT count(*) FROM over;
CREATE MATERIALIZED VIEW z WITH (stream_engine.continuous) AS SELECT count(*) FROM ONLY only_one;
ALTER FOREIGN TABLE its INHERIT was;
CREATE TABLE more () INHERITS (was);
DROP MATERIALIZED VIEW x;
CREATE FOREIGN TABLE more () INHERITS (was) SERVER stream_engine;
CREATE FOREIGN TABLE more () INHERITS (only_one) SERVER stream_engine;
INSERT INTO only_one VALUES (1);
INSERT INTO more VALUES (2);
REFRESH MATERIALIZED VIEW z;
SELECT * FROM z;
SELECT stream_engine.stop('z');
SELECT stream_engine.wait_state('z', 'stopped');
SELECT stream_engine.start('z');
INSERT INTO only_one VALUES (3);
REFRESH MATERIALIZED VIEW z;
SELECT * FROM z;
DROP MATERIALIZED VIEW y;
ALTER FOREIGN TABLE its INHERIT was;
