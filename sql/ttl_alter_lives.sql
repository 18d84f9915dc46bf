-- Rows, changes of state_ttl, restarts and the clock in any order: the result is what one after the other makes of it.
SET client_min_messages = warning;
CREATE FOREIGN TABLE s (k int, v int, ts timestamptz OPTIONS (event_time 'true')) SERVER stream_engine OPTIONS (watermark 'ts - interval ''2 seconds''');
SELECT stream_engine.test_clock_set('2026-05-01 12:00');
CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous) AS
  SELECT k, count(*) AS n, sum(v) AS sum, count(DISTINCT v) AS d, array_agg(v) AS list, stddev(v) AS dev FROM s GROUP BY k;
-- What has happened: rows; or from then on groups expire by one clock or the other, or not at all, and so long after their last row.
CREATE TABLE happened (seq serial, k int, v int, ts timestamptz, clock timestamptz NOT NULL, ttl interval, by_event bool, is_deleted bool);
CREATE TABLE groups (k int, over timestamptz, list int[]);
CREATE TABLE defined (k int PRIMARY KEY, n bigint, sum bigint, d bigint, list int[], dev numeric);
-- Groups whose time is up are over; with ttl_delete so are their rows.
CREATE FUNCTION expire(until timestamptz, deletes bool) RETURNS void LANGUAGE sql AS $$
  DELETE FROM defined d USING groups g WHERE deletes AND g.k = d.k AND g.over <= until;
  DELETE FROM groups WHERE over <= until
$$;
CREATE FUNCTION define(OUT late bigint) LANGUAGE plpgsql AS $$
DECLARE
    h happened;
    stamp timestamptz = '-infinity';
    ttl interval;
    by_event bool;
    is_deleted bool = false;
    now timestamptz;
BEGIN
    TRUNCATE groups, defined;
    late = 0;
    FOR h IN SELECT * FROM happened ORDER BY seq LOOP
        now = CASE WHEN by_event THEN stamp ELSE h.clock END;
        IF ttl IS NOT NULL THEN
            PERFORM expire(now, is_deleted);
        END IF;
        IF h.k IS NULL THEN
            -- another length is for rows that come
            IF ttl IS NULL OR h.ttl IS NULL OR by_event <> h.by_event THEN
                UPDATE groups SET over = CASE WHEN h.by_event THEN nullif(stamp, '-infinity') ELSE h.clock END + h.ttl;
            END IF;
            ttl = h.ttl;
            by_event = h.by_event;
            is_deleted = h.is_deleted;
            CONTINUE;
        END IF;
        IF ttl IS NOT NULL AND by_event AND h.ts + ttl <= stamp AND NOT EXISTS (SELECT FROM groups g WHERE g.k = h.k) THEN
            late = late + 1;
        ELSE
            INSERT INTO groups SELECT h.k, NULL, '{}' WHERE NOT EXISTS (SELECT FROM groups g WHERE g.k = h.k);
            UPDATE groups g SET list = g.list || h.v,
                over = CASE WHEN g.list = '{}' OR g.over IS NOT NULL THEN greatest(g.over, CASE WHEN by_event THEN h.ts ELSE h.clock END + ttl) END
              WHERE g.k = h.k;
            INSERT INTO defined SELECT h.k, count(*), sum(v), count(DISTINCT v), g.list, stddev(v) FROM groups g, unnest(g.list) v WHERE g.k = h.k GROUP BY g.list
              ON CONFLICT (k) DO UPDATE SET (n, sum, d, list, dev) = (excluded.n, excluded.sum, excluded.d, excluded.list, excluded.dev);
        END IF;
        stamp = greatest(stamp, h.ts - interval '2 seconds');
    END LOOP;
    IF ttl IS NOT NULL THEN
        PERFORM expire(CASE WHEN by_event THEN stamp ELSE h.clock END, is_deleted);
    END IF;
END $$;
CREATE FUNCTION differences(OUT missing bigint, OUT too_much bigint, OUT late bigint) LANGUAGE plpgsql AS $$
BEGIN
    late = define() - (SELECT late_rows FROM stream_engine.jobs);
    missing = (SELECT count(*) FROM (TABLE defined EXCEPT ALL TABLE v) x);
    too_much = (SELECT count(*) FROM (TABLE v EXCEPT ALL TABLE defined) x);
END $$;

CREATE FUNCTION change(at timestamptz) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    event bool = random() < 0.5;
    life interval = CASE WHEN random() < 0.7 THEN (3 + random() * 10)::int * interval '1 second' END;
    deletes bool = life IS NOT NULL AND random() < 0.5;
BEGIN
    INSERT INTO happened (clock, ttl, by_event, is_deleted) VALUES (at, life, event, deletes);
    EXECUTE CASE WHEN life IS NULL THEN format('ALTER MATERIALIZED VIEW v RESET (stream_engine.state_ttl, stream_engine.ttl_delete), SET (stream_engine.emit = %L)',
                                              (ARRAY['on_update', 'every 4 rows', 'early 5 seconds'])[1 + random() * 2])
        ELSE format('ALTER MATERIALIZED VIEW v RESET (stream_engine.emit, stream_engine.ttl_delete), SET (stream_engine.state_ttl = %L%s)',
                    life || CASE WHEN event THEN ' on ts' ELSE '' END, CASE WHEN deletes THEN ', stream_engine.ttl_delete' ELSE '' END) END;
END $$;
CREATE FUNCTION put(at timestamptz) RETURNS void LANGUAGE sql AS $$
  WITH new AS (INSERT INTO happened (k, v, ts, clock)
    SELECT (random() * 12)::int, (random() * 5)::int, at - random() * random() * interval '12 seconds', at FROM generate_series(1, (random() * 6)::int) RETURNING *)
  INSERT INTO s SELECT k, v, ts FROM new ORDER BY seq
$$;
CREATE PROCEDURE go(steps int) LANGUAGE plpgsql AS $$
DECLARE
    at timestamptz = coalesce((SELECT max(clock) FROM happened), '2026-05-01 12:00');
BEGIN
    FOR step IN 1 .. steps LOOP
        at = at + (random() * random() * 6000)::int * interval '1 ms';
        PERFORM stream_engine.test_clock_set(at);
        PERFORM put(at);
        IF random() < 0.3 THEN
            PERFORM change(at);
        END IF;
        IF random() < 0.3 THEN
            PERFORM put(at), change(at), put(at);
        END IF;
        COMMIT;
        IF random() < 0.1 THEN
            REFRESH MATERIALIZED VIEW v;
            PERFORM stream_engine.stop('v');
            COMMIT;
            PERFORM stream_engine.wait_state('v', 'stopped');
            -- what stands before it has been read
            PERFORM change(at), put(at);
            COMMIT;
            PERFORM stream_engine.start('v');
            COMMIT;
        END IF;
        IF random() < 0.3 THEN
            REFRESH MATERIALIZED VIEW v;
        END IF;
    END LOOP;
    -- the newest rows are shown, and the clock says that they are the newest
    INSERT INTO happened (clock, ttl, by_event, is_deleted) VALUES (at, '5 seconds', false, false);
    ALTER MATERIALIZED VIEW v RESET (stream_engine.emit, stream_engine.ttl_delete), SET (stream_engine.state_ttl = '5 seconds');
    COMMIT;
    PERFORM stream_engine.test_tick(at);
    REFRESH MATERIALIZED VIEW v;
END $$;

SELECT setseed(0.1);
CALL go(30);
SELECT * FROM differences();
CALL go(30);
SELECT * FROM differences();
-- a worker takes the setting that is in force when it starts, which it does at each change
ALTER SYSTEM SET stream_engine.batch_rows = 3;
SELECT pg_reload_conf();
CALL go(40);
SELECT * FROM differences();
SELECT count(*) > 400 AS rows, count(*) FILTER (WHERE k IS NULL) > 60 AS changes FROM happened;
SELECT state, failures, error FROM stream_engine.jobs;
ALTER SYSTEM RESET stream_engine.batch_rows;
SELECT pg_reload_conf();
