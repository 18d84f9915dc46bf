-- Options under which windows are kept in another way: hop and cumulate from results that come once to results that change.
-- The state is converted where the ALTER stands in the log: what was final there stays so, what was open counts on.
SET client_min_messages = warning;
SET timezone = 'UTC';
CREATE FOREIGN TABLE s (n int, k numeric, ts timestamptz OPTIONS (event_time 'true')) SERVER stream_engine OPTIONS (watermark 'ts - interval ''16 seconds''');
CREATE TABLE twin (n int, k numeric, ts timestamptz, lateness interval NOT NULL);
-- A row is late for what ends by its watermark less the lateness; and for what was given up behind a row before it.
CREATE VIEW judged AS
  SELECT n, k, ts, greatest(wm - lateness, max(h - lateness) OVER (ORDER BY n ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)) AS horizon
  FROM (SELECT *, max(ts - interval '16 seconds') OVER (ORDER BY n) AS h,
               coalesce(max(ts - interval '16 seconds') OVER (ORDER BY n ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), '-infinity') AS wm FROM twin) w;

-- hops whose slices are pieces, whole windows, windows with gaps between; steps; windows of counts over changes of the clock;
-- an aggregate whose state only functions can write and read, and one made of SQL functions; windows that are left out
CREATE FUNCTION longer(text, text) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT CASE WHEN length($2) > length($1) OR $1 IS NULL THEN $2 ELSE $1 END $$;
CREATE AGGREGATE longest(text) (sfunc = longer, stype = text, combinefunc = longer);
CREATE TABLE windows (name text, win text, what text DEFAULT 'count(*) AS rows, sum(n) AS total, max(n::text) AS top', cond text DEFAULT 'true', keys text DEFAULT 'window_start, window_end, k');
INSERT INTO windows VALUES
  ('hops', 'hop(ts, ''4 s'', ''12 s'')'), ('pieces', 'hop(ts, ''4 s'', ''10 s'')'), ('ends', 'hop(ts, ''3 s'', ''12 s'')'),
  ('whole', 'hop(ts, ''10 s'', ''10 s'')'), ('gaps', 'hop(ts, ''10 s'', ''7 s'')'), ('steps', 'cumulate(ts, ''3 s'', ''12 s'')'), ('single', 'cumulate(ts, ''9 s'', ''9 s'')');
UPDATE windows SET what = 'variance(n::numeric) AS v, avg(n) AS a, count(*) FILTER (WHERE n % 2 = 0) AS even, longest(repeat(''x'', n % 17)) AS l' WHERE name = 'pieces';
UPDATE windows SET keys = 'window_end' WHERE name = 'ends';
INSERT INTO windows VALUES ('picked', 'hop(ts, ''4 s'', ''12 s'')', 'count(*) AS rows, min(n) AS first', 'n % 5 > 0 AND extract(epoch FROM window_end)::int % 8 = 0');
CREATE PROCEDURE make() LANGUAGE plpgsql AS $$
DECLARE
    w windows;
BEGIN
    FOR w IN TABLE windows LOOP
        EXECUTE format('CREATE MATERIALIZED VIEW %s WITH (stream_engine.continuous) AS SELECT %s, %s FROM s, %s WHERE %s GROUP BY %s', w.name, w.keys, w.what, w.win, w.cond, w.keys);
        EXECUTE format('CREATE VIEW should_%s AS SELECT %s, %s FROM judged, %s WHERE window_end > horizon AND %s GROUP BY %s', w.name, w.keys, w.what, w.win, w.cond, w.keys);
    END LOOP;
END $$;
CREATE TABLE era (begin timestamptz, step interval);
CREATE PROCEDURE write(rows int, portion int) LANGUAGE plpgsql AS $$
DECLARE
    late interval = coalesce((SELECT lateness FROM twin ORDER BY n DESC LIMIT 1), '0');
    last int = coalesce((SELECT max(n) FROM twin), 0);
BEGIN
    FOR i IN last + 1 .. last + rows LOOP
        INSERT INTO twin SELECT i, round(i * 7 % 3, extract(epoch FROM at)::int / 4 % 6 + 1), at, late FROM (SELECT begin + (i / 4 - i * i % 23) * step AS at FROM era) e;
        INSERT INTO s SELECT n, k, ts FROM twin WHERE n = i;
        IF i % portion = 0 THEN
            COMMIT;
        END IF;
    END LOOP;
    COMMIT;
END $$;
CREATE PROCEDURE each(command text) LANGUAGE plpgsql AS $$
DECLARE
    v text;
BEGIN
    FOR v IN SELECT name FROM windows LOOP
        EXECUTE format(command, v);
    END LOOP;
END $$;
-- rows; the ALTER among those of a transaction; rows
CREATE PROCEDURE try(emit text, late interval) LANGUAGE plpgsql AS $$
BEGIN
    CALL write(150, 11);
    INSERT INTO twin SELECT n + 1, k, ts, lateness FROM twin ORDER BY n DESC LIMIT 1;
    INSERT INTO s SELECT n, k, ts FROM twin ORDER BY n DESC LIMIT 1;
    CALL each(format($q$ALTER MATERIALIZED VIEW %%s SET (stream_engine.emit = %L, stream_engine.allowed_lateness = %L)$q$, emit, late));
    INSERT INTO twin SELECT n + 1, k, ts, late FROM twin ORDER BY n DESC LIMIT 1;
    INSERT INTO s SELECT n, k, ts FROM twin ORDER BY n DESC LIMIT 1;
    COMMIT;
    CALL each('REFRESH MATERIALIZED VIEW %s');
    CALL write(100, 11);
    CALL each('REFRESH MATERIALIZED VIEW %s');
END $$;
-- Of what differs from the query, what ends by then.
CREATE FUNCTION wrong(until timestamptz) RETURNS TABLE (view text, what text, r text) LANGUAGE plpgsql AS $$
DECLARE
    v text;
BEGIN
    FOR v IN SELECT name FROM windows LOOP
        RETURN QUERY EXECUTE format($q$SELECT %1$L, 'missing', x::text FROM (TABLE should_%1$s EXCEPT ALL TABLE %1$s) x WHERE window_end <= $1
          UNION ALL SELECT %1$L, 'too much', x::text FROM (TABLE %1$s EXCEPT ALL TABLE should_%1$s) x WHERE window_end <= $1 LIMIT 3$q$, v) USING until;
    END LOOP;
END $$;
-- The input ends: all is final. How many differ, how much there was; and the pairs of row and window that were late.
CREATE PROCEDURE finish() LANGUAGE plpgsql AS $$
BEGIN
    PERFORM stream_engine.emit_watermark('s', 'infinity');
    COMMIT;
    CALL each('REFRESH MATERIALIZED VIEW %s');
END $$;
CREATE FUNCTION compared() RETURNS TABLE (views bigint, with_rows bigint, wrong bigint, late bigint, errors bigint) LANGUAGE plpgsql AS $$
DECLARE
    w windows;
    n bigint;
BEGIN
    views = 0; with_rows = 0; late = 0;
    FOR w IN TABLE windows LOOP
        views = views + 1;
        EXECUTE format('SELECT count(*) FROM %s', w.name) INTO n;
        with_rows = with_rows + (n > 10)::int;
        EXECUTE format('SELECT count(*) - (SELECT late_pairs FROM stream_engine.jobs WHERE view = %L::regclass) FROM judged, %s WHERE window_end <= horizon AND %s', w.name, w.win, w.cond) INTO n;
        late = late + (n <> 0 AND w.cond = 'true')::int;
    END LOOP;
    SELECT count(*) INTO wrong FROM wrong('infinity');
    SELECT count(*) INTO errors FROM stream_engine.errors;
    RETURN NEXT;
END $$;
CREATE PROCEDURE clear() LANGUAGE plpgsql AS $$
BEGIN
    CALL each('DROP MATERIALIZED VIEW %s');
    CALL each('DROP VIEW should_%s');
    TRUNCATE twin;
    COMMIT;
END $$;

INSERT INTO era VALUES ('2024-01-01', '0.9 s');
-- with each commit: what is open is shown as it is, before and behind the mark
CALL make();
CALL try('on_update', '0');
SELECT * FROM wrong('infinity');
CALL finish();
SELECT * FROM compared();
-- keys are shown as rows of the window look
SELECT count(*) AS other_looks FROM hops v WHERE NOT EXISTS (SELECT FROM judged, hop(ts, '4 s', '12 s') w
  WHERE w.window_end = v.window_end AND w.window_end > horizon AND k::text = v.k::text);
CALL clear();
CALL make();
CALL try('early 2 seconds', '5 s');
CALL try('every 3 rows', '0');
CALL try('early 3 s, late 2 s', '20 s');
-- what is final is
SELECT * FROM wrong((SELECT max(ts) - interval '1 minute' FROM twin));
-- and is not taken back
CALL try('on_close', '0');
CALL finish();
SELECT * FROM compared();
CALL clear();
CALL make();
CALL try('every 2 rows', '0');
CALL finish();
SELECT * FROM compared();
CALL clear();
-- late rows only
CALL make();
CALL try('on_close', '10 s');
CALL finish();
SELECT * FROM compared();
CALL clear();
-- batches of one row, and of seven
ALTER SYSTEM SET stream_engine.batch_rows = 1;
SELECT pg_reload_conf();
CALL make();
CALL try('early 2 seconds', '5 s');
CALL finish();
SELECT * FROM compared();
CALL clear();
ALTER SYSTEM SET stream_engine.batch_rows = 7;
SELECT pg_reload_conf();
CALL make();
CALL try('early 2 seconds, every 5 rows', '3 s');
CALL finish();
SELECT * FROM compared();
CALL clear();
ALTER SYSTEM RESET stream_engine.batch_rows;
SELECT pg_reload_conf();

-- windows of a time zone, over a change of the clock, a day that is left out, and of months
DELETE FROM windows;
INSERT INTO windows VALUES
  ('days', 'hop(ts, ''1 day'', ''3 days'', timezone => ''Pacific/Apia'')'), ('hours', 'hop(ts, ''2 hours'', ''7 hours'', timezone => ''America/Sao_Paulo'')'),
  ('months', 'hop(ts, ''1 month'', ''2 months'', ''-5 days'', timezone => ''Europe/Berlin'')'), ('month', 'cumulate(ts, ''1 day'', ''1 month'', timezone => ''Pacific/Apia'')');
UPDATE era SET begin = '2011-09-25', step = '6 hours';
CALL make();
CALL try('on_update', '0');
SELECT * FROM wrong('infinity');
CALL finish();
SELECT * FROM compared();
CALL clear();
UPDATE era SET begin = '2011-12-23', step = '3 hours';
CALL make();
CALL try('early 7 hours', '1 day');
CALL finish();
SELECT * FROM compared();
CALL clear();

-- A stopped view: the options count from where the ALTER stands in the log, not from where the view stands.
CREATE FOREIGN TABLE p (n int, ts timestamptz OPTIONS (event_time 'true')) SERVER stream_engine OPTIONS (watermark 'ts');
CREATE FUNCTION put(VARIADIC minutes int[]) RETURNS void LANGUAGE sql AS
  $$ INSERT INTO p SELECT m, timestamptz '2024-01-01 12:00' + m * interval '1 minute' FROM unnest(minutes) m $$;
CREATE VIEW shown AS SELECT view, state, options, next_options FROM stream_engine.jobs ORDER BY view::text;
CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous) AS
  SELECT window_end, count(*) AS c, sum(n) AS s FROM p, hop(ts, '10 minutes', '20 minutes') GROUP BY window_end;
SELECT put(1, 11, 21);
REFRESH MATERIALIZED VIEW v;
SELECT stream_engine.stop('v');
SELECT stream_engine.wait_state('v', 'stopped');
SELECT put(15, 31, 28);
ALTER MATERIALIZED VIEW v SET (stream_engine.allowed_lateness = '10 minutes');
SELECT put(29);
SELECT * FROM shown;
SELECT stream_engine.start('v');
REFRESH MATERIALIZED VIEW v;
-- 28 came before the mark, when the window that ends at 30 was closed: too late for it; so was 29 behind it
TABLE v ORDER BY 1;
SELECT * FROM shown;
SELECT put(41, 35, 51);
REFRESH MATERIALIZED VIEW v;
TABLE v ORDER BY 1;
DROP MATERIALIZED VIEW v;

-- Two ALTERs of a stopped view: the second does not make the position say what its state is not.
CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous) AS
  SELECT window_end, count(*) AS c, sum(n) AS s FROM p, hop(ts, '10 minutes', '20 minutes') GROUP BY window_end;
SELECT put(61, 71, 81);
REFRESH MATERIALIZED VIEW v;
SELECT stream_engine.stop('v');
SELECT stream_engine.wait_state('v', 'stopped');
ALTER MATERIALIZED VIEW v SET (stream_engine.allowed_lateness = '10 minutes');
SELECT put(75);
ALTER MATERIALIZED VIEW v SET (stream_engine.emit = on_update);
SELECT put(82);
-- neither does one of an option that decides no result
ALTER MATERIALIZED VIEW v SET (stream_engine.checkpoint_interval = '50ms');
SELECT * FROM shown;
SELECT stream_engine.start('v');
REFRESH MATERIALIZED VIEW v;
TABLE v ORDER BY 1;
SELECT * FROM shown;
DROP MATERIALIZED VIEW v;

-- Taken back before the mark was met: by then the view has what it had, and its results come once.
CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous) AS
  SELECT window_end, count(*) AS c, sum(n) AS s FROM p, hop(ts, '10 minutes', '20 minutes') GROUP BY window_end;
SELECT put(101, 111, 121);
REFRESH MATERIALIZED VIEW v;
SELECT fingerprint AS before FROM stream_engine.job_positions WHERE job = 'v'::regclass \gset
SELECT stream_engine.stop('v');
SELECT stream_engine.wait_state('v', 'stopped');
ALTER MATERIALIZED VIEW v SET (stream_engine.emit = on_update);
SELECT put(122);
SELECT * FROM shown;
ALTER MATERIALIZED VIEW v RESET (stream_engine.emit);
SELECT * FROM shown;
SELECT stream_engine.start('v');
REFRESH MATERIALIZED VIEW v;
TABLE v ORDER BY 1;
SELECT fingerprint = :before AS same FROM stream_engine.job_positions WHERE job = 'v'::regclass;
-- and by a worker that is on its way: the windows are whole then, and rows stay such that are updated
SELECT stream_engine.test_fault_set('source-poll', 'wait');
SELECT put(123);
SELECT stream_engine.test_fault_wait('source-poll');
ALTER MATERIALIZED VIEW v SET (stream_engine.emit = on_update);
ALTER MATERIALIZED VIEW v RESET (stream_engine.emit);
SELECT stream_engine.test_fault_clear('source-poll');
SELECT put(131);
REFRESH MATERIALIZED VIEW v;
SELECT * FROM shown;
TABLE v ORDER BY 1;
SELECT fingerprint = :before AS same FROM stream_engine.job_positions WHERE job = 'v'::regclass;
SELECT put(141, 161);
REFRESH MATERIALIZED VIEW v;
TABLE v ORDER BY 1;
DROP MATERIALIZED VIEW v;

-- In the transaction that makes the view, or before it has read a row: there is nothing to be converted.
BEGIN;
CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous) AS
  SELECT window_end, count(*) AS c, sum(n) AS s FROM p, hop(ts, '10 minutes', '20 minutes') GROUP BY window_end;
SELECT put(201);
ALTER MATERIALIZED VIEW v SET (stream_engine.emit = on_update);
SELECT put(202);
SELECT * FROM shown;
COMMIT;
REFRESH MATERIALIZED VIEW v;
TABLE v ORDER BY 1;
DROP MATERIALIZED VIEW v;
CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous) AS
  SELECT window_end, count(*) AS c, sum(n) AS s FROM p, hop(ts, '10 minutes', '20 minutes') GROUP BY window_end;
SELECT stream_engine.stop('v');
SELECT stream_engine.wait_state('v', 'stopped');
ALTER MATERIALIZED VIEW v SET (stream_engine.emit = on_update);
SELECT * FROM shown;
SELECT put(203);
SELECT stream_engine.start('v');
REFRESH MATERIALIZED VIEW v;
TABLE v ORDER BY 1;
DROP MATERIALIZED VIEW v;

-- A failed view: it goes on under the options it had, up to the mark; at a row that fails that is no help, a skip is.
CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous) AS
  SELECT window_end, count(*) AS c, sum(100 / (n - 303)) AS s FROM p, hop(ts, '10 minutes', '20 minutes') GROUP BY window_end;
SELECT put(301, 302);
REFRESH MATERIALIZED VIEW v;
SELECT put(303);
SELECT stream_engine.wait_state('v', 'failed');
ALTER MATERIALIZED VIEW v SET (stream_engine.emit = on_update, stream_engine.on_error = skip);
SELECT put(304, 303);
SELECT stream_engine.start('v');
SELECT stream_engine.wait_state('v', 'failed');
SELECT stream_engine.start('v', skip => (SELECT position FROM stream_engine.errors ORDER BY seq DESC LIMIT 1));
REFRESH MATERIALIZED VIEW v;
TABLE v ORDER BY 1;
SELECT * FROM shown;
SELECT error_rows FROM stream_engine.jobs;
DROP MATERIALIZED VIEW v;

-- Whole windows take more memory than slices. Where it is not enough the view says so, and waits for what a person decides.
CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous, stream_engine.state_memory = '400kB') AS
  SELECT window_end, n, count(*) AS c FROM p, hop(ts, '1 minute', '1 hour') GROUP BY window_end, n;
INSERT INTO p SELECT n, '2024-02-01' FROM generate_series(1, 1000) n;
REFRESH MATERIALIZED VIEW v;
ALTER MATERIALIZED VIEW v SET (stream_engine.emit = 'every 2 rows');
SELECT stream_engine.wait_state('v', 'failed');
SELECT sqlstate, message, detail ~ 'The options that were changed need the state in another form: it would hold [0-9]+ kB of at most 400 kB.' AS detail FROM stream_engine.errors;
SELECT stream_engine.start('v');
SELECT stream_engine.wait_state('v', 'failed');
-- taken back
ALTER MATERIALIZED VIEW v RESET (stream_engine.emit);
SELECT stream_engine.start('v');
REFRESH MATERIALIZED VIEW v;
SELECT * FROM shown;
-- or with more
ALTER MATERIALIZED VIEW v SET (stream_engine.emit = 'every 2 rows');
SELECT stream_engine.wait_state('v', 'failed');
ALTER MATERIALIZED VIEW v SET (stream_engine.state_memory = '100MB');
SELECT stream_engine.start('v');
INSERT INTO p SELECT n, '2024-02-01' FROM generate_series(1, 500) n;
REFRESH MATERIALIZED VIEW v;
SELECT * FROM shown;
SELECT count(*), min(c), max(c) FROM v;
SELECT stream_engine.emit_watermark('p', 'infinity');
REFRESH MATERIALIZED VIEW v;
SELECT count(*), min(c), max(c), sum(c) = 60 * 1500 AS all_rows FROM v;
DROP MATERIALIZED VIEW v;

-- What the query reads is another one when the worker is about to convert: it does not take that for a change of options.
CREATE VIEW doubled AS SELECT n * 2 AS n, ts FROM p;
CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous) AS
  SELECT window_end, count(*) AS c, sum(n) AS s FROM doubled, hop(ts, '10 minutes', '20 minutes') GROUP BY window_end;
SELECT put(401, 402);
REFRESH MATERIALIZED VIEW v;
SELECT stream_engine.test_fault_set('options-met', 'wait');
ALTER MATERIALIZED VIEW v SET (stream_engine.emit = on_update);
SELECT stream_engine.test_fault_wait('options-met');
CREATE OR REPLACE VIEW doubled AS SELECT n * 3 AS n, ts FROM p;
SELECT stream_engine.test_fault_clear('options-met');
SELECT stream_engine.wait_state('v', 'failed');
SELECT sqlstate, message FROM stream_engine.errors WHERE view = 'v'::regclass;
CREATE OR REPLACE VIEW doubled AS SELECT n * 2 AS n, ts FROM p;
SELECT stream_engine.start('v');
SELECT put(403);
REFRESH MATERIALIZED VIEW v;
TABLE v ORDER BY 1;
SELECT * FROM shown;
SELECT line FROM stream_engine.explain('v') line WHERE line !~ 'rows (in|out)=';

-- The chunks of slices are gone.
CREATE MATERIALIZED VIEW w WITH (stream_engine.continuous) AS
  SELECT window_end, n, count(*) AS c FROM p, hop(ts, '10 minutes', '20 minutes') GROUP BY window_end, n;
INSERT INTO p SELECT n, '2024-03-01' FROM generate_series(1, 3000) n;
REFRESH MATERIALIZED VIEW w;
SELECT max(seq) AS last, count(*) > 1 AS some FROM stream_engine.state_chunks WHERE job = 'w'::regclass \gset
SELECT :'some' AS some;
ALTER MATERIALIZED VIEW w SET (stream_engine.emit = on_update);
REFRESH MATERIALIZED VIEW w;
SELECT min(seq) > :last AS anew FROM stream_engine.state_chunks WHERE job = 'w'::regclass;
SELECT count(*), min(c), max(c) FROM w;
