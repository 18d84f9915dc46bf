-- A view gets a state_ttl, another clock for it, or loses it, while it keeps what it knows.
SET client_min_messages = warning;
SELECT stream_engine.test_clock_set('2026-05-01 11:00');
CREATE FOREIGN TABLE s (k int, v int, ts timestamptz OPTIONS (event_time 'true')) SERVER stream_engine OPTIONS (watermark 'ts');
CREATE FUNCTION put(t int, VARIADIC keys int[]) RETURNS void LANGUAGE sql AS
  $$ INSERT INTO s SELECT k, t, '2026-01-01 00:00Z'::timestamptz + t * interval '1 s' FROM unnest(keys) k $$;
CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous) AS SELECT k, count(*) AS n FROM s GROUP BY k;

-- groups that are there count as written at the watermark: at 10 seconds it is over with those that got no row
SELECT put(0, 1, 2, 3);
ALTER MATERIALIZED VIEW v SET (stream_engine.state_ttl = '10 s on ts', stream_engine.ttl_delete);
SELECT put(9, 1);
REFRESH MATERIALIZED VIEW v;
SELECT * FROM v ORDER BY k;
SELECT put(10, 4);
REFRESH MATERIALIZED VIEW v;
SELECT * FROM v ORDER BY k;
-- and live for ever from here on
ALTER MATERIALIZED VIEW v RESET (stream_engine.state_ttl, stream_engine.ttl_delete);
SELECT put(1000, 1, 2);
REFRESH MATERIALIZED VIEW v;
SELECT * FROM v ORDER BY k;
-- what is expired when it loses its time to live is forgotten before; without ttl_delete its row stays until it begins anew
ALTER MATERIALIZED VIEW v SET (stream_engine.state_ttl = '10 s on ts');
SELECT put(1005, 1, 5);
SELECT put(1010, 6);
ALTER MATERIALIZED VIEW v RESET (stream_engine.state_ttl);
SELECT put(1011, 1, 2, 4);
REFRESH MATERIALIZED VIEW v;
SELECT * FROM v ORDER BY k;

-- by the clock: that of the ALTER
SELECT stream_engine.test_clock_set('2026-05-01 12:00');
ALTER MATERIALIZED VIEW v SET (stream_engine.state_ttl = '10 minutes', stream_engine.ttl_delete);
SELECT put(2000, 7);
REFRESH MATERIALIZED VIEW v;
SELECT stream_engine.test_tick('2026-05-01 12:09:59.999999');
SELECT put(2000, 1);
SELECT stream_engine.test_tick('2026-05-01 12:10');
REFRESH MATERIALIZED VIEW v;
SELECT * FROM v ORDER BY k;
-- from one clock to the other and back
ALTER MATERIALIZED VIEW v SET (stream_engine.state_ttl = '10 s on ts');
SELECT put(2009, 8);
SELECT stream_engine.test_clock_set('2026-05-01 12:30');
ALTER MATERIALIZED VIEW v SET (stream_engine.state_ttl = '10 minutes');
SELECT put(3000, 1, 8);
SELECT stream_engine.test_clock_set('2026-05-01 12:40');
-- the clock of the ALTER lets groups expire, too
ALTER MATERIALIZED VIEW v RESET (stream_engine.state_ttl, stream_engine.ttl_delete);
REFRESH MATERIALIZED VIEW v;
SELECT * FROM v ORDER BY k;
SELECT put(3000, 9);

-- rows that were held back are shown, also if no row comes any more
ALTER MATERIALIZED VIEW v SET (stream_engine.emit = 'every 100 rows');
SELECT put(3001, 1, 9, 10);
REFRESH MATERIALIZED VIEW v;
SELECT * FROM v ORDER BY k;
ALTER MATERIALIZED VIEW v SET (stream_engine.emit = on_update, stream_engine.state_ttl = '1 hour on ts');
REFRESH MATERIALIZED VIEW v;
SELECT * FROM v ORDER BY k;
SELECT put(3002, 9, 10);
ALTER MATERIALIZED VIEW v RESET (stream_engine.state_ttl), SET (stream_engine.emit = 'every 3 rows');
SELECT put(3003, 9, 10, 9);
REFRESH MATERIALIZED VIEW v;
SELECT * FROM v ORDER BY k;
SELECT put(3003, 9);
REFRESH MATERIALIZED VIEW v;
SELECT * FROM v ORDER BY k;
ALTER MATERIALIZED VIEW v RESET (stream_engine.emit);

-- while it is stopped, from the place of the ALTER on; altered twice; and taken back
SELECT stream_engine.stop('v');
SELECT stream_engine.wait_state('v', 'stopped');
SELECT put(3004, 1, 2);
ALTER MATERIALIZED VIEW v SET (stream_engine.state_ttl = '10 s on ts', stream_engine.ttl_delete);
SELECT put(3010, 2);
ALTER MATERIALIZED VIEW v RESET (stream_engine.state_ttl, stream_engine.ttl_delete);
SELECT put(3014, 11);
ALTER MATERIALIZED VIEW v SET (stream_engine.state_ttl = '5 s on ts', stream_engine.ttl_delete);
SELECT stream_engine.start('v');
SELECT put(3018, 11);
REFRESH MATERIALIZED VIEW v;
SELECT * FROM v ORDER BY k;
SELECT put(3019, 12);
REFRESH MATERIALIZED VIEW v;
SELECT * FROM v ORDER BY k;
SELECT stream_engine.stop('v');
SELECT stream_engine.wait_state('v', 'stopped');
ALTER MATERIALIZED VIEW v RESET (stream_engine.state_ttl, stream_engine.ttl_delete);
ALTER MATERIALIZED VIEW v SET (stream_engine.state_ttl = '5 s on ts', stream_engine.ttl_delete);
SELECT stream_engine.start('v');
SELECT put(3023, 11);
REFRESH MATERIALIZED VIEW v;
SELECT * FROM v ORDER BY k;
-- in a transaction with rows: those before are counted under the old options
BEGIN;
SELECT put(3100, 13);
ALTER MATERIALIZED VIEW v RESET (stream_engine.state_ttl, stream_engine.ttl_delete);
SELECT put(3200, 13);
ALTER MATERIALIZED VIEW v SET (stream_engine.state_ttl = '30 s on ts');
SELECT put(3229, 13), put(3259, 13, 14);
COMMIT;
REFRESH MATERIALIZED VIEW v;
SELECT * FROM v ORDER BY k;
SELECT * FROM stream_engine.explain('v');
-- in the one that creates it
BEGIN;
CREATE MATERIALIZED VIEW w WITH (stream_engine.continuous, stream_engine.state_ttl = '1 s on ts') AS SELECT k, count(*) AS n FROM s GROUP BY k;
SELECT put(3300, 1);
ALTER MATERIALIZED VIEW w RESET (stream_engine.state_ttl);
SELECT put(3400, 1);
COMMIT;
REFRESH MATERIALIZED VIEW w;
SELECT * FROM w;
-- there must be room for both while groups go over
INSERT INTO s SELECT i, 1, '2026-01-01 02:00Z' FROM generate_series(1, 3000) i;
ALTER MATERIALIZED VIEW w SET (stream_engine.state_memory = '512kB');
REFRESH MATERIALIZED VIEW w;
ALTER MATERIALIZED VIEW w SET (stream_engine.state_ttl = '1 day on ts');
SELECT stream_engine.wait_state('w', 'failed');
SELECT sqlstate, message, regexp_replace(detail, '[0-9]+ kB of', '... kB of') AS detail FROM stream_engine.errors WHERE view = 'w'::regclass;
-- the ALTER taken back lets it go on; so does more memory
ALTER MATERIALIZED VIEW w RESET (stream_engine.state_ttl);
SELECT stream_engine.start('w');
SELECT put(7300, 2);
REFRESH MATERIALIZED VIEW w;
SELECT n FROM w WHERE k = 2;
ALTER MATERIALIZED VIEW w SET (stream_engine.state_ttl = '1 day on ts');
SELECT stream_engine.wait_state('w', 'failed');
ALTER MATERIALIZED VIEW w RESET (stream_engine.state_memory);
SELECT stream_engine.start('w');
SELECT put(8000, 1);
REFRESH MATERIALIZED VIEW w;
SELECT n, (SELECT count(*) FROM w) AS groups FROM w WHERE k = 1;
-- of the state of before nothing is left
SELECT sum(length(data)) > 20000 AS large FROM stream_engine.state_chunks WHERE job = 'w'::regclass;
SELECT stream_engine.emit_watermark('s', '2026-02-01');
REFRESH MATERIALIZED VIEW w;
ALTER MATERIALIZED VIEW w RESET (stream_engine.state_ttl);
REFRESH MATERIALIZED VIEW w;
SELECT sum(length(data)) < 1000 AS small FROM stream_engine.state_chunks WHERE job = 'w'::regclass;
-- without an aggregate; and with a table of late rows, of which there would be none
CREATE MATERIALIZED VIEW d WITH (stream_engine.continuous) AS SELECT DISTINCT k, v % 2 = 0 AS even FROM s;
SELECT put(4000000, 1, 2), put(4000001, 1, 2, 3);
ALTER MATERIALIZED VIEW d SET (stream_engine.state_ttl = '10 s on ts', stream_engine.ttl_delete, stream_engine.late_output = late);
SELECT put(4000010, 1), put(3999999, 4, 1);
SELECT put(4000011, 5);
REFRESH MATERIALIZED VIEW d;
SELECT * FROM d ORDER BY k, even;
SELECT k, v FROM late;
ALTER MATERIALIZED VIEW d RESET (stream_engine.state_ttl, stream_engine.ttl_delete);
ALTER MATERIALIZED VIEW d SET (stream_engine.state_ttl = '10 s');
ALTER MATERIALIZED VIEW d RESET (stream_engine.state_ttl, stream_engine.ttl_delete, stream_engine.late_output);
SELECT put(4001000, 1), put(3999999, 4);
REFRESH MATERIALIZED VIEW d;
SELECT * FROM d ORDER BY k, even;
SELECT count(*) FROM late;
DROP FOREIGN TABLE s CASCADE;
