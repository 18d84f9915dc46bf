-- ALTER and COMMENT of a continuous view, as a materialized view and as a table.
CREATE ROLE view_alter_a;
CREATE ROLE view_alter_b;
CREATE FOREIGN TABLE s (k int, x text) SERVER stream_engine;
CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous) AS SELECT k, count(*) AS n FROM s GROUP BY k;
INSERT INTO s VALUES (1);
REFRESH MATERIALIZED VIEW v;

COMMENT ON MATERIALIZED VIEW v IS 'first';
COMMENT ON TABLE v IS 'second';
SELECT obj_description('v'::regclass);
ALTER MATERIALIZED VIEW v RENAME TO w;
ALTER MATERIALIZED VIEW w RENAME COLUMN n TO number;
CREATE SCHEMA other;
ALTER MATERIALIZED VIEW w SET SCHEMA other;
ALTER MATERIALIZED VIEW IF EXISTS missing RENAME TO present;
ALTER MATERIALIZED VIEW other.w SET (fillfactor = 90);
ALTER MATERIALIZED VIEW other.w ALTER COLUMN k SET STATISTICS 10;
ALTER MATERIALIZED VIEW other.w CLUSTER ON v_key;
\d+ other.w

-- it goes on under its new name
INSERT INTO s VALUES (1), (2);
REFRESH MATERIALIZED VIEW other.w;
SELECT * FROM other.w ORDER BY k;

-- a new owner owns all of it
ALTER MATERIALIZED VIEW other.w OWNER TO view_alter_a;
SELECT r.oid::regclass, r.relowner::regrole FROM pg_class r, stream_engine.job_catalog j
 WHERE r.oid IN (j.job, j.definition, 'other.v_key'::regclass) ORDER BY 1::text;
ALTER TABLE other.w OWNER TO view_alter_b;
SELECT r.oid::regclass, r.relowner::regrole FROM pg_class r, stream_engine.job_catalog j
 WHERE r.oid IN (j.job, j.definition, 'other.v_key'::regclass) ORDER BY 1::text;
ALTER TABLE other.w OWNER TO CURRENT_USER;

-- what would break the job
ALTER TABLE other.w DROP COLUMN number;
ALTER TABLE other.w ALTER COLUMN k TYPE bigint;
ALTER TABLE other.w SET UNLOGGED;
CREATE TABLE parent (k int, number bigint);
ALTER TABLE other.w INHERIT parent;
CREATE TABLE parts (k int, number bigint) PARTITION BY LIST (k);
ALTER TABLE parts ATTACH PARTITION other.w DEFAULT;
ALTER TABLE other.w ADD UNIQUE (number) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE other.w ADD COLUMN y int UNIQUE DEFERRABLE INITIALLY DEFERRED;
CREATE TABLE target (k int PRIMARY KEY);
ALTER TABLE other.w ADD FOREIGN KEY (k) REFERENCES target ON DELETE CASCADE;
ALTER TABLE other.w ADD FOREIGN KEY (k) REFERENCES target ON UPDATE SET NULL;
CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
CREATE CONSTRAINT TRIGGER t AFTER INSERT ON other.w DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION nothing();
DROP INDEX other.v_key;

-- what would not: further columns, indexes, constraints
ALTER TABLE other.w ADD COLUMN y int DEFAULT 7;
ALTER TABLE other.w ALTER COLUMN y TYPE bigint;
CREATE INDEX ON other.w (number);
ALTER TABLE other.w ADD CHECK (number > 0);
INSERT INTO s VALUES (3);
REFRESH MATERIALIZED VIEW other.w;
SELECT * FROM other.w ORDER BY k;
ALTER TABLE other.w DROP COLUMN y;
INSERT INTO s VALUES (3);
REFRESH MATERIALIZED VIEW other.w;
SELECT * FROM other.w ORDER BY k;

-- the stream: columns of the query stay, others may go
ALTER FOREIGN TABLE s DROP COLUMN k;
ALTER FOREIGN TABLE s DROP COLUMN x;
ALTER FOREIGN TABLE s RENAME COLUMN k TO key;
INSERT INTO s VALUES (3);
REFRESH MATERIALIZED VIEW other.w;
SELECT * FROM other.w ORDER BY k;

-- its old name is free
CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous) AS SELECT key FROM s;
SELECT job, definition FROM stream_engine.job_catalog ORDER BY 1::text;
DROP MATERIALIZED VIEW v;

-- made, changed and dropped before it ever ran
BEGIN;
CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous) AS SELECT key FROM s;
ALTER MATERIALIZED VIEW v RENAME TO x;
SELECT stream_engine.stop('x');
ALTER MATERIALIZED VIEW x SET (stream_engine.checkpoint_interval = '1s');
SELECT job, definition, goal, options FROM stream_engine.job_catalog WHERE job = 'x'::regclass;
DROP MATERIALIZED VIEW x;
COMMIT;

-- names as long as they can be
CREATE SCHEMA schema_with_a_name_as_long_as_names_can_be_which_is_sixty_three;
SET search_path = schema_with_a_name_as_long_as_names_can_be_which_is_sixty_three, public;
CREATE MATERIALIZED VIEW view_one_with_a_name_as_long_as_names_can_be_and_that_is_63_by WITH (stream_engine.continuous) AS
    SELECT key, count(*) FROM s GROUP BY key;
CREATE MATERIALIZED VIEW view_two_with_a_name_as_long_as_names_can_be_and_that_is_63_by WITH (stream_engine.continuous) AS
    SELECT key, count(*) FROM s GROUP BY key;
SELECT definition FROM stream_engine.job_catalog ORDER BY definition::text COLLATE "C";
RESET search_path;

DROP ROLE view_alter_a, view_alter_b;
