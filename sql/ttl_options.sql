-- The options state_ttl and ttl_delete: their normal form, and where they are refused.
CREATE FOREIGN TABLE s (k int, v int, ts timestamptz OPTIONS (event_time 'true'), other timestamptz, "On it" int)
  SERVER stream_engine OPTIONS (watermark 'ts');
CREATE FOREIGN TABLE timeless (k int) SERVER stream_engine;
CREATE FOREIGN TABLE odd (k int, "On it" timestamp OPTIONS (event_time 'true')) SERVER stream_engine;
CREATE FUNCTION try(ttl text, query text DEFAULT 'SELECT k, count(*) FROM s GROUP BY k', more text DEFAULT '') RETURNS text
  LANGUAGE plpgsql AS $$
DECLARE
  result text;
  detail text;
  hint text;
BEGIN
  EXECUTE format('CREATE MATERIALIZED VIEW tried WITH (stream_engine.continuous %s %s) AS %s WITH NO DATA',
    ', stream_engine.state_ttl = ' || quote_literal(ttl), more, query);
  SELECT array_to_string(options, '; ') INTO result FROM stream_engine.job_catalog;
  DROP MATERIALIZED VIEW tried;
  RETURN result;
EXCEPTION WHEN OTHERS THEN
  GET STACKED DIAGNOSTICS result = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
  RETURN concat_ws(E'\n  ', SQLSTATE || ' ' || result, nullif(detail, ''), nullif(hint, ''));
END $$;
\pset format unaligned
\pset tuples_only on
SELECT try('1 day');
SELECT try('  36 hours ON ts ');
SELECT try('''90 min''on"ts"');
SELECT try('1 day on "On it"', 'SELECT k FROM odd GROUP BY k');
SELECT try('1 day', 'SELECT DISTINCT k FROM timeless', ', stream_engine.ttl_delete');
SELECT try(NULL, more => ', stream_engine.ttl_delete = false');

-- what is no interval, or no column
SELECT try('');
SELECT try('soon');
SELECT try('0');
SELECT try('-1 s');
SELECT try('1 month on ts');
SELECT try('1 day on');
SELECT try('1 day on ts, other');
SELECT try('1 day on other');
SELECT try('1 day on none');
SELECT try('1 day on ts', 'SELECT k FROM timeless GROUP BY k');

-- where there is nothing to forget
SELECT try('1 day', 'SELECT k, v FROM s');
SELECT try('1 day', 'SELECT count(*) FROM s');
SELECT try('1 day', 'SELECT window_end, count(*) FROM s, tumble(ts, ''1 min'') GROUP BY window_end');
SELECT try('1 day', 'SELECT window_end, count(*) FROM s, session(ts, ''1 min'') GROUP BY window_end');
SELECT try(NULL, more => ', stream_engine.ttl_delete');
DROP FOREIGN TABLE s, timeless, odd;
