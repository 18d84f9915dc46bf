-- The options emit and allowed_lateness: one grammar, its normal form, and what a query cannot do.
CREATE FOREIGN TABLE s (k int, v int, ts timestamptz OPTIONS (event_time 'true')) SERVER stream_engine
  OPTIONS (watermark 'ts');

-- the normal form is what is stored
CREATE FUNCTION stored(emit text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('CREATE MATERIALIZED VIEW stored WITH (stream_engine.continuous, stream_engine.emit = %L) AS
    SELECT k, count(*) FROM s GROUP BY k WITH NO DATA', emit);
  SELECT array_to_string(options, '; ') INTO emit FROM stream_engine.job_catalog;
  DROP MATERIALIZED VIEW stored;
  RETURN emit;
END $$;
SELECT stored('ON_UPDATE');

-- errors name the part that is wrong
CREATE FUNCTION refused(emit text, lateness text DEFAULT '0') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  message text;
  detail text;
  hint text;
  context text;
BEGIN
  EXECUTE format('CREATE MATERIALIZED VIEW refused WITH (stream_engine.continuous, stream_engine.emit = %L,
    stream_engine.allowed_lateness = %L) AS SELECT k, count(*) FROM s GROUP BY k WITH NO DATA', emit, lateness);
  RETURN 'accepted';
EXCEPTION WHEN OTHERS THEN
  GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT,
    context = PG_EXCEPTION_CONTEXT;
  RETURN concat_ws(E'\n  ', SQLSTATE || ' ' || message, nullif(detail, ''), nullif(hint, ''),
                   substring(context FROM 'option stream_engine[^\n]*'));
END $$;
SELECT e, refused(e) FROM unnest(ARRAY['', 'on_close,', 'sometimes', 'on_update now', 'on_update, on_update',
  'early', 'early 0', 'early soon', 'early 1 month', 'early 10 s processing, early 1 s', 'early -1 s', 'early 40000 days',
  'every', 'every 10', 'every 0 rows', 'every ten rows', 'every 99999999999999999999 rows', 'every 10 rows, every 5 rows',
  'late', 'late -1 s', 'late 1 s, late 2 s']) e;
SELECT l, refused('on_update', l) FROM unnest(ARRAY['', 'soon', '-1 s', '1 year', '1 s, 2 s']) l;

-- what makes no sense for a query
SELECT e, refused(e) FROM unnest(ARRAY['on_close', 'late 1 s', 'on_update, every 5 rows', 'on_update, early 1 s processing']) e;
SELECT refused('on_update', '1 s');
CREATE MATERIALIZED VIEW w WITH (stream_engine.continuous, stream_engine.emit = on_update) AS SELECT k FROM s;
CREATE MATERIALIZED VIEW w WITH (stream_engine.continuous, stream_engine.allowed_lateness = '1 s') AS SELECT k FROM s;
CREATE MATERIALIZED VIEW w WITH (stream_engine.continuous, stream_engine.emit = 'on_close, late 1 s') AS
  SELECT window_end, count(*) FROM s, tumble(ts, interval '1 s') GROUP BY window_end;

-- explain shows them
SELECT stream_engine.explain('CREATE MATERIALIZED VIEW w WITH (stream_engine.continuous, stream_engine.emit = on_close)
  AS SELECT window_end, count(*) FROM s, tumble(ts, interval ''1 s'') GROUP BY window_end');
