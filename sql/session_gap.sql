-- The gap of a session may be an expression over the row: against a plain reference, row by row; with late rows.
CREATE FOREIGN TABLE s (id int, k int, gap interval, ts timestamp OPTIONS (event_time 'true'))
    SERVER stream_engine OPTIONS (watermark 'ts - interval ''4 seconds''');
CREATE TABLE twin (id int, k int, gap interval, ts timestamp);
CREATE MATERIALIZED VIEW own_gap WITH (stream_engine.continuous) AS
    SELECT k, window_start, window_end, count(*) AS c, array_agg(id ORDER BY id) AS ids FROM s, session(ts, gap) GROUP BY k, window_start, window_end;
CREATE MATERIALIZED VIEW by_key WITH (stream_engine.continuous) AS
    SELECT k, window_start, window_end, count(*) AS c, array_agg(id ORDER BY id) AS ids
    FROM s, session(ts, CASE WHEN k % 2 = 0 THEN interval '2 seconds' ELSE gap * 2 END) GROUP BY k, window_start, window_end;
SELECT stream_engine.explain($$SELECT k, count(*) FROM s, session(ts, CASE WHEN k % 2 = 0 THEN interval '2 seconds' ELSE gap * 2 END) GROUP BY k, window_start$$);

-- Sessions by definition: the watermark before a row is what the rows before it said.
CREATE FUNCTION reference(gap_of text) RETURNS TABLE (k int, window_start timestamp, window_end timestamp, c bigint, ids int[]) LANGUAGE plpgsql AS $$
DECLARE
    r record;
    wm timestamp := '-infinity';
    joined record;
BEGIN
    CREATE TEMP TABLE open_sessions (k int, ws timestamp, we timestamp, ids int[]) ON COMMIT DROP;
    CREATE TEMP TABLE closed (LIKE open_sessions) ON COMMIT DROP;
    CREATE TEMP TABLE late (n int) ON COMMIT DROP;
    FOR r IN EXECUTE format('SELECT *, %s AS own_gap FROM twin ORDER BY id', gap_of) LOOP
        WITH gone AS (DELETE FROM open_sessions o WHERE o.we < wm RETURNING *) INSERT INTO closed SELECT * FROM gone;
        IF r.own_gap IS NOT NULL THEN
            WITH gone AS (DELETE FROM open_sessions o WHERE o.k IS NOT DISTINCT FROM r.k AND o.ws <= r.ts + r.own_gap AND o.we >= r.ts RETURNING *)
            SELECT min(ws) AS ws, max(we) AS we, array_agg(i) AS ids INTO joined FROM gone, unnest(gone.ids) i;
            IF joined.ws IS NULL AND r.ts + r.own_gap < wm THEN
                INSERT INTO late VALUES (r.id);
            ELSE
                INSERT INTO open_sessions VALUES (r.k, least(joined.ws, r.ts), greatest(joined.we, r.ts + r.own_gap), joined.ids || r.id);
            END IF;
        END IF;
        wm := greatest(wm, r.ts - interval '4 seconds');
    END LOOP;
    INSERT INTO closed SELECT * FROM open_sessions;
    RETURN QUERY SELECT x.k, x.ws, x.we, cardinality(x.ids)::bigint, (SELECT array_agg(i ORDER BY i) FROM unnest(x.ids) i) FROM closed x
        UNION ALL SELECT NULL, NULL, NULL, count(*), NULL FROM late;
    DROP TABLE open_sessions, closed, late;
END $$;

SELECT setseed(0.5);
INSERT INTO twin SELECT i, (ARRAY[1, 2, 3, NULL])[1 + (random() * 3.49)::int],
        CASE WHEN random() < 0.9 THEN (random() * 4)::int * interval '1 second' END,
        timestamp '2024-01-01' + i * interval '1.5 seconds' - (CASE WHEN random() < 0.3 THEN random() * 20 ELSE random() * 3 END)::int * interval '1 second'
    FROM generate_series(1, 600) i;
INSERT INTO s SELECT * FROM twin WHERE id <= 250 ORDER BY id;
REFRESH MATERIALIZED VIEW own_gap;
SELECT stream_engine.stop('own_gap');
SELECT stream_engine.wait_state('own_gap', 'stopped');
SELECT stream_engine.start('own_gap');
INSERT INTO s SELECT * FROM twin WHERE id > 250 ORDER BY id;
SELECT stream_engine.emit_watermark('s', 'infinity');
REFRESH MATERIALIZED VIEW own_gap;
REFRESH MATERIALIZED VIEW by_key;

CREATE VIEW with_late AS SELECT * FROM own_gap UNION ALL SELECT NULL, NULL, NULL, late_rows, NULL FROM stream_engine.jobs WHERE view = 'own_gap'::regclass;
SELECT count(*) > 100 AS many FROM own_gap;
SELECT late_rows > 5 AS some_late, late_rows = late_pairs AS one_session_each FROM stream_engine.jobs WHERE view = 'own_gap'::regclass;
(TABLE with_late EXCEPT ALL SELECT * FROM reference('gap')) UNION ALL (SELECT * FROM reference('gap') EXCEPT ALL TABLE with_late);
SELECT * FROM by_key EXCEPT ALL SELECT * FROM reference('CASE WHEN k % 2 = 0 THEN interval ''2 seconds'' ELSE gap * 2 END');

-- a bad gap stops the view at its row, which can be skipped
CREATE FOREIGN TABLE t (gap interval, ts timestamptz OPTIONS (event_time 'true')) SERVER stream_engine;
CREATE MATERIALIZED VIEW bad WITH (stream_engine.continuous) AS SELECT window_start, window_end, count(*) FROM t, session(ts, gap) GROUP BY 1, 2;
INSERT INTO t VALUES ('1 day 1 second', '2024-03-30 12:00+01'), ('-1 s', '2024-03-30 13:00+01'), ('0', '2024-03-31 12:00:01+01');
SELECT stream_engine.wait_state('bad', 'failed');
SELECT sqlstate, message, "row" FROM stream_engine.errors;
DO $$ BEGIN PERFORM stream_engine.start('bad', skip => (SELECT "position" FROM stream_engine.errors)); END $$;
SELECT stream_engine.emit_watermark('t', 'infinity');
REFRESH MATERIALIZED VIEW bad;
SELECT * FROM bad;

-- when sessions cannot become one, it is the row between them that is shown and can be left out, not one that came before it
CREATE AGGREGATE small_sum(int) (SFUNC = int4pl, STYPE = int, COMBINEFUNC = int4pl, INITCOND = '0');
CREATE FOREIGN TABLE u (k int, n int, ts timestamptz OPTIONS (event_time 'true')) SERVER stream_engine OPTIONS (watermark 'ts - interval ''1 hour''');
CREATE MATERIALIZED VIEW bridged WITH (stream_engine.continuous) AS SELECT k, window_start, window_end, small_sum(n) FROM u, session(ts, '10 s') GROUP BY 1, 2, 3;
INSERT INTO u VALUES (1, 2000000000, '2024-01-01 00:00:00+00'), (1, 2000000000, '2024-01-01 00:00:20+00'), (2, 7, '2024-01-01 00:00:20+00'),
    (1, 5, '2024-01-01 00:00:10+00'), (2, 8, '2024-01-01 00:00:21+00');
SELECT stream_engine.wait_state('bridged', 'failed');
SELECT sqlstate, message, "row" FROM stream_engine.errors WHERE view = 'bridged'::regclass;
DO $$ BEGIN PERFORM stream_engine.start('bridged', skip => (SELECT "position" FROM stream_engine.errors WHERE view = 'bridged'::regclass)); END $$;
SELECT stream_engine.emit_watermark('u', 'infinity');
REFRESH MATERIALIZED VIEW bridged;
SELECT * FROM bridged ORDER BY k, window_start;
