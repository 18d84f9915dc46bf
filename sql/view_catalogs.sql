-- What tools see of a continuous view: pg_class, information_schema, psql; comments and privileges.
CREATE ROLE view_catalogs_reader;
CREATE FOREIGN TABLE s (k int, n numeric(10,2), at timestamptz OPTIONS (event_time 'true') DEFAULT '2024-01-01') SERVER stream_engine OPTIONS (watermark 'at');
CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous) AS SELECT k, sum(n) AS total FROM s GROUP BY k;
CREATE MATERIALIZED VIEW w WITH (stream_engine.continuous) AS SELECT k, n FROM s;
COMMENT ON MATERIALIZED VIEW v IS 'totals';
COMMENT ON COLUMN v.total IS 'of all rows';
COMMENT ON INDEX v_key IS 'by key';
GRANT SELECT (k) ON v TO view_catalogs_reader;

-- the result is a table, the definition a view
SELECT c.oid::regclass AS relation, c.relkind, c.relpersistence, c.relispopulated, c.relreplident, c.reloptions, CASE c.relkind WHEN 'r' THEN obj_description(c.oid, 'pg_class') END AS comment
  FROM pg_class c JOIN stream_engine.job_catalog j ON c.oid IN (j.job, j.definition) ORDER BY c.oid::regclass::text COLLATE "C";
SELECT table_schema, table_name, table_type, is_insertable_into FROM information_schema.tables WHERE table_name IN ('v', 'w', 'public.v') ORDER BY table_name;
SELECT column_name, data_type, numeric_precision, numeric_scale, is_nullable FROM information_schema.columns WHERE table_name = 'w' ORDER BY ordinal_position;
SELECT table_schema, table_name, view_definition ~ 'FROM s' AS has_query, is_updatable FROM information_schema.views WHERE table_name LIKE 'public.%' ORDER BY table_name;
SELECT view_name, table_name, column_name FROM information_schema.view_column_usage WHERE view_schema = 'stream_engine_definitions' ORDER BY 1, 3;
SELECT count(*) AS as_matview FROM pg_matviews;
SELECT tablename, hasindexes FROM pg_tables WHERE tablename IN ('v', 'w') ORDER BY 1;
SELECT grantee, column_name, privilege_type FROM information_schema.column_privileges WHERE table_name = 'v' AND grantee = 'view_catalogs_reader';

-- from the name of a view to its query, and to what says that it is one
SELECT replace(pg_get_viewdef(definition), 's.', '') AS query FROM stream_engine.job_catalog WHERE job = 'w'::regclass;
SELECT view, state FROM stream_engine.jobs WHERE view = 'w'::regclass;
\d+ v
-- without titles, which differ between versions
\t on
\dt
\dm
\dv stream_engine_definitions.*
\t off

-- privileges by column, and of rows
INSERT INTO s VALUES (1, 10), (2, 20);
REFRESH MATERIALIZED VIEW v;
SET ROLE view_catalogs_reader;
SELECT k FROM v ORDER BY k;
SELECT total FROM v;
RESET ROLE;
GRANT SELECT ON v TO view_catalogs_reader;
ALTER TABLE v ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY small ON v FOR SELECT USING (k < 2);
INSERT INTO s VALUES (1, 1), (2, 2);
REFRESH MATERIALIZED VIEW v;
SET ROLE view_catalogs_reader;
TABLE v;
SELECT * FROM stream_engine_definitions."public.v";
RESET ROLE;
SELECT * FROM v ORDER BY k;
\set VERBOSITY terse
DROP OWNED BY view_catalogs_reader;
DROP ROLE view_catalogs_reader;
