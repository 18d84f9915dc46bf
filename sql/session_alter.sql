-- When results of sessions come, and how late rows may be, altered again and again among the rows: what is final at the end is what
-- each row counted for under the options of its place.
SET client_min_messages = warning;
CREATE FOREIGN TABLE s (n int, k int, ts timestamptz OPTIONS (event_time 'true')) SERVER stream_engine OPTIONS (watermark 'ts - interval ''1 second''');
CREATE TABLE twin (n int, k int, ts timestamptz, lateness interval NOT NULL);
CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous) AS
  SELECT k, window_start, window_end, count(*) AS rows, sum(n) AS total, array_agg(n ORDER BY n) AS ns FROM s, session(ts, interval '2 seconds') GROUP BY k, window_start, window_end;

-- Sessions by definition: nothing that ends before the horizon, the greatest watermark less the lateness so far, is open.
CREATE FUNCTION should() RETURNS TABLE (k int, window_start timestamptz, window_end timestamptz, rows bigint, total bigint, ns int[]) LANGUAGE plpgsql AS $$
DECLARE
    r record;
    wm timestamptz := '-infinity';
    horizon timestamptz := '-infinity';
    joined record;
BEGIN
    CREATE TEMP TABLE open_sessions (k int, ws timestamptz, we timestamptz, ns int[]) ON COMMIT DROP;
    CREATE TEMP TABLE closed (LIKE open_sessions) ON COMMIT DROP;
    FOR r IN SELECT * FROM twin ORDER BY n LOOP
        horizon := greatest(horizon, wm - r.lateness);
        WITH gone AS (DELETE FROM open_sessions o WHERE o.we < horizon RETURNING *) INSERT INTO closed SELECT * FROM gone;
        WITH gone AS (DELETE FROM open_sessions o WHERE o.k = r.k AND o.ws <= r.ts + interval '2 s' AND o.we >= r.ts RETURNING *)
        SELECT min(ws) AS ws, max(we) AS we, array_agg(i) AS ns INTO joined FROM gone, unnest(gone.ns) i;
        IF joined.ws IS NOT NULL OR r.ts + interval '2 s' >= horizon THEN
            INSERT INTO open_sessions VALUES (r.k, least(joined.ws, r.ts), greatest(joined.we, r.ts + interval '2 s'), joined.ns || r.n);
        END IF;
        wm := greatest(wm, r.ts - interval '1 second');
    END LOOP;
    INSERT INTO closed SELECT * FROM open_sessions;
    RETURN QUERY SELECT x.k, x.ws, x.we, cardinality(x.ns)::bigint, (SELECT sum(i) FROM unnest(x.ns) i), (SELECT array_agg(i ORDER BY i) FROM unnest(x.ns) i) FROM closed x;
    DROP TABLE open_sessions, closed;
END $$;

CREATE PROCEDURE step(VARIADIC changes text[] DEFAULT '{}') LANGUAGE plpgsql AS $$
DECLARE
    late interval = coalesce((SELECT lateness FROM twin ORDER BY n DESC LIMIT 1), '0');
    change text;
    i int = coalesce((SELECT max(n) FROM twin), 0);
BEGIN
    FOR round IN 0 .. cardinality(changes) LOOP
        IF round > 0 THEN
            change = changes[round];
            EXECUTE 'ALTER MATERIALIZED VIEW v ' || change;
            late = coalesce(substring(change FROM 'allowed_lateness = ''([^'']*)'''), CASE WHEN change ~ 'RESET.*lateness' THEN '0' END, late::text)::interval;
        END IF;
        FOR row IN 1 .. 60 LOOP
            i = i + 1;
            INSERT INTO twin VALUES (i, i * 7 % 3, timestamptz '2024-01-01' + (i / 3 - i * i % 23) * interval '0.9 second', late);
            INSERT INTO s SELECT n, k, ts FROM twin WHERE n = i;
            IF i % 11 = 0 THEN
                COMMIT;
            END IF;
        END LOOP;
    END LOOP;
    COMMIT;
    REFRESH MATERIALIZED VIEW v;
END $$;

CALL step('SET (stream_engine.allowed_lateness = ''5 seconds'')');
SELECT indexdef FROM pg_indexes WHERE tablename = 'v';
CALL step('SET (stream_engine.emit = ''on_update'', stream_engine.allowed_lateness = ''9 seconds'')', 'SET (stream_engine.allowed_lateness = ''2 seconds'')',
    'SET (stream_engine.emit = ''early 3 seconds, late 2 seconds'')');
CALL step('RESET (stream_engine.emit, stream_engine.allowed_lateness)', 'SET (stream_engine.allowed_lateness = ''20 seconds'', stream_engine.emit = ''every 3 rows'')',
    'SET (stream_engine.emit = ''early 1 second processing'')', 'SET (stream_engine.emit = ''early 4 seconds'')');
-- all that is open is shown at once, without a row
ALTER MATERIALIZED VIEW v SET (stream_engine.emit = 'on_update');
REFRESH MATERIALIZED VIEW v;
SELECT count(*) FROM (SELECT * FROM should() EXCEPT TABLE v) d;
CALL step('RESET (stream_engine.emit)');
SELECT stream_engine.emit_watermark('s', 'infinity');
REFRESH MATERIALIZED VIEW v;
SELECT count(*) > 100 AS some, (SELECT count(*) FROM twin) - sum(rows) > 50 AS some_late FROM v;
(TABLE v EXCEPT ALL SELECT * FROM should()) UNION ALL (SELECT * FROM should() EXCEPT ALL TABLE v);
