-- state_ttl by event time: what a group is after any row is what one row after the other says.
CREATE FOREIGN TABLE s (seq int, k text, v numeric, ts timestamptz OPTIONS (event_time 'true'))
  SERVER stream_engine OPTIONS (watermark 'ts - interval ''3 seconds''');
CREATE TABLE twin (seq int, k text, v numeric, ts timestamptz);
CREATE MATERIALIZED VIEW kept WITH (stream_engine.continuous, stream_engine.state_ttl = '20 s on ts') AS
  SELECT k, count(*) AS n, sum(v) AS sum, min(k || v) AS min, array_agg(seq) AS rows,
    count(DISTINCT v) AS values, stddev(v) AS dev, bit_xor(seq) AS x, string_agg(v::text, ',' ORDER BY v, seq) AS list
  FROM s GROUP BY k;
CREATE MATERIALIZED VIEW deleted WITH (stream_engine.continuous, stream_engine.state_ttl = '20 s on ts',
  stream_engine.ttl_delete) AS SELECT k, count(*) AS n, sum(v) AS sum, array_agg(seq) AS rows FROM s GROUP BY k;
CREATE MATERIALIZED VIEW many WITH (stream_engine.continuous, stream_engine.state_ttl = '20 s on ts') AS
  SELECT k, count(*) AS n, 100 / (count(*) - 1) AS part FROM s GROUP BY k HAVING count(*) > 1;

-- The definition: the life of its group that each row belongs to (NULL = late), and when that one is over.
CREATE FUNCTION lives(ttl interval) RETURNS TABLE (seq int, k text, life int, over timestamptz) LANGUAGE plpgsql AS $$
DECLARE
  stamp timestamptz := '-infinity';
  r record;
BEGIN
  CREATE TEMP TABLE now (k text, life int, over timestamptz);
  FOR r IN SELECT * FROM twin t ORDER BY t.seq LOOP
    SELECT n.life, n.over INTO life, over FROM now n WHERE n.k IS NOT DISTINCT FROM r.k;
    seq := r.seq;
    k := r.k;
    IF life IS NULL OR over <= stamp THEN
      life := CASE WHEN r.ts + ttl > stamp THEN coalesce(life, 0) + 1 END;
      over := NULL;
    END IF;
    IF life IS NOT NULL THEN
      over := greatest(over, r.ts + ttl);
      DELETE FROM now n WHERE n.k IS NOT DISTINCT FROM r.k;
      INSERT INTO now VALUES (r.k, life, over);
    END IF;
    RETURN NEXT;
    stamp := greatest(stamp, r.ts - interval '3 seconds');
  END LOOP;
  DROP TABLE now;
END $$;
-- The rows of each key's last life.
CREATE VIEW counted AS
  WITH lives AS MATERIALIZED (SELECT * FROM lives('20 s'))
  SELECT t.*, last.over FROM lives l JOIN twin t USING (seq)
  JOIN (SELECT k, max(life) AS life, max(over) AS over FROM (SELECT k, life, max(over) AS over FROM lives
    WHERE life IS NOT NULL GROUP BY k, life) x GROUP BY k) last
    ON last.k IS NOT DISTINCT FROM l.k AND last.life = l.life;
CREATE FUNCTION differences() RETURNS TABLE (kept bigint, deleted bigint, many bigint, late bigint) LANGUAGE plpgsql AS $$
DECLARE
  clock timestamptz;
BEGIN
  SELECT max(ts) - interval '3 seconds' INTO clock FROM twin;
  CREATE TEMP TABLE c AS SELECT * FROM counted ORDER BY seq;
  SELECT count(*) INTO kept FROM (
    (SELECT c.k, count(*), sum(v), min(c.k || v), array_agg(seq ORDER BY seq), count(DISTINCT v), stddev(v), bit_xor(seq),
      string_agg(v::text, ',' ORDER BY v, seq) FROM c GROUP BY c.k EXCEPT ALL TABLE public.kept)
    UNION ALL (TABLE public.kept EXCEPT ALL SELECT c.k, count(*), sum(v), min(c.k || v), array_agg(seq ORDER BY seq), count(DISTINCT v),
      stddev(v), bit_xor(seq), string_agg(v::text, ',' ORDER BY v, seq) FROM c GROUP BY c.k)) d;
  SELECT count(*) INTO deleted FROM (
    (SELECT c.k, count(*), sum(v), array_agg(seq ORDER BY seq) FROM c WHERE over > clock GROUP BY c.k EXCEPT ALL TABLE public.deleted)
    UNION ALL (TABLE public.deleted EXCEPT ALL SELECT c.k, count(*), sum(v), array_agg(seq ORDER BY seq) FROM c WHERE over > clock
      GROUP BY c.k)) d;
  SELECT count(*) INTO many FROM (
    (SELECT c.k, count(*), 100 / (count(*) - 1) FROM c GROUP BY c.k HAVING count(*) > 1 EXCEPT ALL TABLE public.many)
    UNION ALL (TABLE public.many EXCEPT ALL SELECT c.k, count(*), 100 / (count(*) - 1) FROM c GROUP BY c.k
      HAVING count(*) > 1)) d;
  SELECT j.late_rows - (SELECT count(*) FROM lives('20 s') l WHERE l.life IS NULL) INTO late
    FROM stream_engine.jobs j WHERE j.view = 'public.kept'::regclass;
  DROP TABLE c;
  RETURN NEXT;
END $$;

-- Time goes on by a second every ten rows; most are a little late, some very; keys come and go.
SELECT setseed(0.41);
CREATE PROCEDURE more(first int, n int) LANGUAGE plpgsql AS $$
BEGIN
  FOR g IN first .. first + n - 1 BY 40 LOOP
    WITH new AS (INSERT INTO twin SELECT i,
        CASE WHEN random() < 0.02 THEN NULL ELSE 'k' || (i / 300 * 7 + random() * 30)::int END,
        (random() * 20)::int / 4.0,
        '2026-01-01 00:00Z'::timestamptz + i * interval '100 ms' - random() * interval '1 s' *
          CASE WHEN random() < 0.05 THEN 60 ELSE 4 END
      FROM generate_series(g, g + 39) i RETURNING *)
    INSERT INTO s SELECT * FROM new ORDER BY seq;
    COMMIT;
  END LOOP;
END $$;
CALL more(1, 1000);
REFRESH MATERIALIZED VIEW kept;
REFRESH MATERIALIZED VIEW deleted;
REFRESH MATERIALIZED VIEW many;
SELECT * FROM differences();
CALL more(1001, 1000);
REFRESH MATERIALIZED VIEW kept;
REFRESH MATERIALIZED VIEW deleted;
REFRESH MATERIALIZED VIEW many;
SELECT * FROM differences();

-- over a restart
SELECT stream_engine.stop('kept'), stream_engine.stop('deleted'), stream_engine.stop('many');
SELECT stream_engine.wait_state('kept', 'stopped', '1 min'), stream_engine.wait_state('deleted', 'stopped', '1 min'),
  stream_engine.wait_state('many', 'stopped', '1 min');
CALL more(2001, 1000);
SELECT stream_engine.start('kept'), stream_engine.start('deleted'), stream_engine.start('many');
REFRESH MATERIALIZED VIEW kept;
REFRESH MATERIALIZED VIEW deleted;
REFRESH MATERIALIZED VIEW many;
SELECT * FROM differences();
SELECT count(*) > 100 AS forgotten, count(DISTINCT over) > 20 AS lives FROM counted;

-- no more rows: the watermark alone lets groups expire, and what they held comes back
SELECT stream_engine.emit_watermark('s', '2027-01-01 00:00Z');
REFRESH MATERIALIZED VIEW kept;
REFRESH MATERIALIZED VIEW deleted;
SELECT count(*) FROM deleted;
SELECT count(*) = (SELECT count(DISTINCT coalesce(k, '')) FROM counted) AS stay FROM kept;
SELECT view, state_entries FROM stream_engine.jobs WHERE view <> 'many'::regclass ORDER BY 1::text;
-- a row that comes now is late; one of its time begins anew
INSERT INTO s VALUES (9001, 'k20', 1, '2026-01-01 00:00Z');
INSERT INTO s VALUES (9002, 'k21', 1, '2027-01-01 00:00Z');
REFRESH MATERIALIZED VIEW kept;
SELECT k, n, rows FROM kept WHERE k = 'k21' OR 9001 = ANY (rows);
EXPLAIN (COSTS OFF) CREATE MATERIALIZED VIEW x WITH (stream_engine.continuous, stream_engine.state_ttl = '20 s on ts',
  stream_engine.ttl_delete) AS SELECT k, count(DISTINCT v) AS n, sum(v) AS sum FROM s GROUP BY k;
DROP FOREIGN TABLE s CASCADE;

-- The end of the input is the end of every group, also of one whose time would be over beyond the end of all time.
CREATE FOREIGN TABLE s (seq int, k text, ts timestamptz OPTIONS (event_time 'true'))
  SERVER stream_engine OPTIONS (watermark 'ts - interval ''3 seconds''', null_time 'pass');
CREATE MATERIALIZED VIEW ends WITH (stream_engine.continuous, stream_engine.state_ttl = '36600 days on ts',
  stream_engine.ttl_delete) AS SELECT k, array_agg(seq) AS rows FROM s GROUP BY k;
INSERT INTO s VALUES (1, 'a', '294276-12-01 00:00Z'), (2, 'b', '294276-12-31 23:59:59.999999Z');
REFRESH MATERIALIZED VIEW ends;
SELECT * FROM ends ORDER BY k;
SELECT stream_engine.emit_watermark('s', 'infinity');
INSERT INTO s VALUES (3, 'c', NULL), (4, 'c', '2026-01-01 00:00Z'), (5, 'a', '294276-12-01 00:00Z');
REFRESH MATERIALIZED VIEW ends;
SELECT * FROM ends;
SELECT late_rows, state_entries FROM stream_engine.jobs WHERE view = 'ends'::regclass;
DROP FOREIGN TABLE s CASCADE;
