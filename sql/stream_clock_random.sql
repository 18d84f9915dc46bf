-- Random rows, watermark marks, silence and ticks: each row's watermark is what the rules say, from whatever place the log is read.
-- The rules, once more and in another form: H is the greatest of what rows and marks have said; of T - max_delay for every tick T;
-- and, at a tick T that is idle_timeout or more after the last sign of life at t0, of H0 + (T - t0), with H0 as it was after t0.
CREATE FUNCTION base() RETURNS timestamptz LANGUAGE sql IMMUTABLE AS $$ SELECT '2024-05-01 12:00+00'::timestamptz $$;
SELECT stream_engine.test_clock_set(base());
CREATE FOREIGN TABLE s (n int, ts timestamptz OPTIONS (event_time 'true'), says boolean)
  SERVER stream_engine OPTIONS (watermark 'CASE WHEN says THEN ts - interval ''3 seconds'' END',
                                max_delay '40 seconds', idle_timeout '7 seconds', idle_action 'advance');
CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous) AS
  SELECT window_start, count(*) AS c FROM s, tumble(ts, interval '5 seconds') GROUP BY window_start, window_end;
CREATE TABLE twin (n int, ts timestamptz, wm timestamptz);
CREATE PROCEDURE steps(count int, from_n int) LANGUAGE plpgsql AS $$
DECLARE
    clock interval := '1 ms';           -- since base(), as everything here
    h interval;                         -- NULL = nothing said yet
    h0 interval; t0 interval;           -- at the last sign of life
    n int := from_n;
    ts interval;
    says boolean;
BEGIN
    PERFORM stream_engine.test_tick(base() + clock);
    t0 := clock;                        -- never a row: from the first tick on
    h := clock - interval '40 s';
    h0 := h;
    COMMIT;
    REFRESH MATERIALIZED VIEW v;
    FOR i IN 1 .. count LOOP
        CASE (random() * 9)::int
            WHEN 0 THEN
                ts := clock - random() * interval '30 s';
                PERFORM stream_engine.emit_watermark('s', base() + ts);
                h := greatest(h, ts); h0 := h; t0 := clock;
            WHEN 1, 2, 3, 4 THEN
                FOR j IN 1 .. 1 + (random() * 3)::int LOOP
                    ts := date_trunc('milliseconds', clock - random() * interval '35 s');
                    says := random() < 0.7;
                    INSERT INTO s VALUES (n, base() + ts, says);
                    INSERT INTO twin VALUES (n, base() + ts, base() + h);
                    IF says THEN h := greatest(h, ts - interval '3 s'); END IF;
                    n := n + 1;
                END LOOP;
                h0 := h; t0 := clock;
            ELSE
                clock := clock + date_trunc('milliseconds', random() * random() * interval '20 s') + interval '1 ms';
                PERFORM stream_engine.test_tick(base() + clock);
                IF clock - t0 >= interval '7 s' THEN h := greatest(h, h0 + (clock - t0)); END IF;
                h := greatest(h, clock - interval '40 s');
        END CASE;
        COMMIT;
        REFRESH MATERIALIZED VIEW v;
        IF random() < 0.05 THEN
            PERFORM stream_engine.stop('v');
            COMMIT;
            PERFORM stream_engine.wait_state('v', 'stopped'), stream_engine.start('v');
            COMMIT;
            REFRESH MATERIALIZED VIEW v;
        END IF;
    END LOOP;
    PERFORM stream_engine.emit_watermark('s', 'infinity');
    COMMIT;
    REFRESH MATERIALIZED VIEW v;
END $$;
SELECT stream_engine.test_tick(base());
SELECT setseed(0.4);
REFRESH MATERIALIZED VIEW v;
SELECT stream_engine.test_start_mark('s') AS start \gset
CALL steps(250, 1);
CREATE FUNCTION stamps(start bytea, capacity int, reopen boolean) RETURNS TABLE (n int, wm timestamptz) LANGUAGE sql AS $$
    SELECT split_part("row", '|', 1)::int, wm FROM stream_engine.test_source('s', start, capacity, reopen) WHERE place IS NOT NULL $$;
SELECT count(*) > 150 AS many, count(*) FILTER (WHERE ts < wm) > 10 AS some_behind FROM twin;
SELECT count(*) AS wrong FROM (SELECT * FROM stamps(:'start', 100, false) EXCEPT SELECT n, wm FROM twin) x;
SELECT count(*) AS wrong FROM (SELECT n, wm FROM twin EXCEPT SELECT * FROM stamps(:'start', 1, true)) x;
SELECT count(*) AS wrong FROM (SELECT * FROM stamps(:'start', 3, true) EXCEPT SELECT n, wm FROM twin) x;
-- The view, and its late rows.
CREATE VIEW query AS SELECT window_start, count(*) AS c FROM twin, tumble(ts, interval '5 seconds')
  WHERE window_end > wm OR wm IS NULL GROUP BY window_start, window_end;
SELECT count(*) AS differences FROM ((TABLE v EXCEPT ALL TABLE query) UNION ALL (TABLE query EXCEPT ALL TABLE v)) x;
SELECT late_rows = (SELECT count(*) FROM twin, tumble(ts, interval '5 seconds') WHERE window_end <= wm) AS late FROM stream_engine.jobs;
SELECT stream_engine.test_clock_set(NULL);
