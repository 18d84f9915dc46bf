-- What an ALTER says of all rows is checked against those in the log, as for a table: PostgreSQL's planner relies on it.
CREATE FOREIGN TABLE s (id int, a text) SERVER stream_engine;
CREATE FOREIGN TABLE empty (id int, a text) SERVER stream_engine;
CREATE TABLE twin (id int, a text);
INSERT INTO s VALUES (1, 'x'), (2, NULL), (20, 'long text');
INSERT INTO twin VALUES (1, 'x'), (2, NULL), (20, 'long text');

-- NOT NULL
ALTER TABLE twin ADD b int NOT NULL;
ALTER FOREIGN TABLE s ADD b int NOT NULL;
ALTER FOREIGN TABLE empty ADD b int NOT NULL;
ALTER FOREIGN TABLE s ADD b int NOT NULL DEFAULT NULL;
ALTER FOREIGN TABLE s ADD b int, ALTER b SET NOT NULL;
ALTER FOREIGN TABLE s ADD b int NOT NULL DEFAULT 7;
ALTER TABLE twin ALTER a SET NOT NULL;
ALTER FOREIGN TABLE s ALTER a SET NOT NULL;
ALTER FOREIGN TABLE s ALTER id SET NOT NULL;
ALTER FOREIGN TABLE s ALTER id SET NOT NULL;
SELECT * FROM s;

-- CHECK; what is NULL is not violated
ALTER TABLE twin ADD CONSTRAINT c CHECK (id < 10);
ALTER FOREIGN TABLE s ADD CONSTRAINT c CHECK (id < 10);
ALTER FOREIGN TABLE s ADD CHECK (a <> 'y'), ADD CONSTRAINT c CHECK (id < 10) NOT VALID;
INSERT INTO s VALUES (11, 'new');
ALTER FOREIGN TABLE s VALIDATE CONSTRAINT c;
ALTER FOREIGN TABLE s DROP CONSTRAINT c;
ALTER FOREIGN TABLE s ADD CONSTRAINT c CHECK (id < 21) NOT VALID;
ALTER FOREIGN TABLE s VALIDATE CONSTRAINT c;
ALTER FOREIGN TABLE s ADD COLUMN d int DEFAULT 5 CHECK (d > 5);
-- the planner believes the constraint: it must not answer the question whether it holds
SET constraint_exclusion = on;
ALTER FOREIGN TABLE s ADD CONSTRAINT e CHECK (id > 1);
RESET constraint_exclusion;
SELECT conname, convalidated FROM pg_constraint WHERE conrelid = 's'::regclass AND contype = 'c' ORDER BY conname;

-- a generated column would read as NULL in rows that are there
ALTER FOREIGN TABLE s ADD g int GENERATED ALWAYS AS (id * 2) STORED;
ALTER FOREIGN TABLE empty ADD g int GENERATED ALWAYS AS (id * 2) STORED;
INSERT INTO empty VALUES (1, 'x', 3);
SELECT * FROM empty;

-- through parents
CREATE TABLE parent (id int, a text);
CREATE FOREIGN TABLE child () INHERITS (parent) SERVER stream_engine;
INSERT INTO child VALUES (1, NULL), (2, 'x');
ALTER TABLE parent ALTER a SET NOT NULL;
ALTER TABLE parent ADD b int NOT NULL;
ALTER TABLE parent ADD CONSTRAINT id_check CHECK (id < 2);
ALTER TABLE parent ADD b int NOT NULL DEFAULT 9;
SELECT tableoid::regclass, * FROM parent;
CREATE TABLE p (id int, a text) PARTITION BY RANGE (id);
CREATE FOREIGN TABLE part (id int, a text) SERVER stream_engine;
INSERT INTO part VALUES (1, 'in'), (10, 'out');
ALTER TABLE p ATTACH PARTITION part FOR VALUES FROM (0) TO (10);
ALTER TABLE p ATTACH PARTITION part FOR VALUES FROM (0) TO (11);
ALTER TABLE p ALTER id SET NOT NULL;
ALTER TABLE p ADD CHECK (id <> 10);
SELECT * FROM p;

-- below a partitioned table that is attached, and in a default partition that leaves rows to a new one
CREATE TABLE top (id int, a text) PARTITION BY RANGE (id);
ALTER TABLE top ATTACH PARTITION p FOR VALUES FROM (0) TO (10);
ALTER TABLE top ATTACH PARTITION p FOR VALUES FROM (0) TO (20);
CREATE FOREIGN TABLE others PARTITION OF top DEFAULT SERVER stream_engine;
INSERT INTO top VALUES (30, 'other');
CREATE TABLE thirties PARTITION OF top FOR VALUES FROM (30) TO (40);
CREATE TABLE forties PARTITION OF top FOR VALUES FROM (40) TO (50);
CREATE TABLE thirties (id int, a text);
ALTER TABLE top ATTACH PARTITION thirties FOR VALUES FROM (30) TO (40);
INSERT INTO top VALUES (41, 'forty-one');
SELECT tableoid::regclass, * FROM top ORDER BY id;

-- rows that the transaction itself has written cannot be read yet
BEGIN;
INSERT INTO child VALUES (3, 'own');
ALTER FOREIGN TABLE child ADD CHECK (id < 100);
ROLLBACK;
BEGIN;
INSERT INTO child VALUES (3, 'own');
ALTER FOREIGN TABLE child ADD c int DEFAULT 8;
COMMIT;
SELECT * FROM child;
-- created, altered and filled at once
BEGIN;
CREATE FOREIGN TABLE fresh (a int) SERVER stream_engine;
ALTER FOREIGN TABLE fresh ADD b int NOT NULL, ADD CHECK (a > 0);
INSERT INTO fresh VALUES (1, 1);
COMMIT;
SELECT * FROM fresh;

-- functions in a constraint run as the stream's owner
CREATE ROLE se_check_owner;
GRANT CREATE ON SCHEMA public TO se_check_owner;
CREATE FUNCTION who(int) RETURNS bool LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RAISE NOTICE 'as %', current_user; RETURN true; END $$;
ALTER FOREIGN TABLE fresh OWNER TO se_check_owner;
ALTER FOREIGN TABLE fresh ADD CONSTRAINT w CHECK (who(a));
DROP FOREIGN TABLE fresh;
DROP OWNED BY se_check_owner;
DROP ROLE se_check_owner;
