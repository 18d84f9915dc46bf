-- state_ttl is changed: for what is written from there on. (Whether groups expire, and by which clock: ttl_alter_layout)
CREATE FOREIGN TABLE s (k int, ts timestamptz OPTIONS (event_time 'true')) SERVER stream_engine OPTIONS (watermark 'ts');
CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous, stream_engine.state_ttl = '10 s on ts') AS
  SELECT k, count(*) AS n FROM s GROUP BY k;
CREATE FUNCTION put(t int, VARIADIC keys int[]) RETURNS void LANGUAGE sql AS
  $$ INSERT INTO s SELECT k, '2026-01-01 00:00Z'::timestamptz + t * interval '1 s' FROM unnest(keys) k $$;
SELECT put(0, 1, 2, 3);
ALTER MATERIALIZED VIEW v SET (stream_engine.state_ttl = '1 minute on ts');
SELECT put(5, 2);
-- key 1 has expired at 10, key 2 was written under the longer time
SELECT put(29, 9);
SELECT put(30, 1, 2);
REFRESH MATERIALIZED VIEW v;
SELECT * FROM v ORDER BY k;
ALTER MATERIALIZED VIEW v SET (stream_engine.state_ttl = '5 s on ts', stream_engine.ttl_delete);
SELECT put(40, 4);
SELECT put(44, 2);
SELECT put(45, 5);
REFRESH MATERIALIZED VIEW v;
-- key 4 expired at 45; 1 and 2 keep the time they had; 3, which nobody knows any more, stays
SELECT * FROM v ORDER BY k;
SELECT put(91, 6);
REFRESH MATERIALIZED VIEW v;
SELECT * FROM v ORDER BY k;
SELECT options FROM stream_engine.jobs;

ALTER MATERIALIZED VIEW v RESET (stream_engine.state_ttl);
ALTER MATERIALIZED VIEW v SET (stream_engine.state_ttl = '1 month on ts');
ALTER MATERIALIZED VIEW v SET (stream_engine.emit = 'every 3 rows');
-- the column may be renamed
ALTER FOREIGN TABLE s RENAME COLUMN ts TO at;
SELECT put(100, 6);
REFRESH MATERIALIZED VIEW v;
SELECT * FROM v ORDER BY k;
DROP FOREIGN TABLE s CASCADE;
