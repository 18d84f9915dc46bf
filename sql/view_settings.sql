-- The settings that change answers are kept with the view; search_path is resolved.
CREATE FOREIGN TABLE s (k int, at timestamptz) SERVER stream_engine;
CREATE SCHEMA "Mixed Case";
SET search_path = "$user", missing, "Mixed Case", public;
SET timezone = 'Europe/Paris';
SET intervalstyle = 'iso_8601';
SET datestyle = 'German, DMY';
SET extra_float_digits = 0;
CREATE TEMP TABLE makes_the_temporary_schema ();
CREATE MATERIALIZED VIEW public.v WITH (stream_engine.continuous) AS SELECT k, at::text AS at FROM s;
SELECT setting FROM stream_engine.job_catalog, unnest(settings) AS setting
 WHERE setting ~ '^(TimeZone|IntervalStyle|DateStyle|extra_float_digits|search_path)=' ORDER BY setting COLLATE "C";

-- the view's answers follow them, whatever a reader or writer has set
RESET ALL;
INSERT INTO s VALUES (1, '2024-07-01 12:00+00');
REFRESH MATERIALIZED VIEW v;
SELECT * FROM v;
