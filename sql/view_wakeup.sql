-- A coordinator that is woken between its look at the jobs and its waiting looks once more.
CREATE FOREIGN TABLE s (id int) SERVER stream_engine;
CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous) AS SELECT id FROM s;
CREATE MATERIALIZED VIEW w WITH (stream_engine.continuous) AS SELECT id FROM s;
INSERT INTO s VALUES (1);
REFRESH MATERIALIZED VIEW v;
REFRESH MATERIALIZED VIEW w;

-- A look moves the slot as far as it can, or sets a timer for that: until it has, a timer may come to the rescue.
SELECT stream_engine.start('v');
SELECT stream_engine.test_until('SELECT slot.restart_lsn = jobs.restart_lsn, slot.restart_lsn, jobs.restart_lsn
    FROM pg_replication_slots slot, (SELECT min(restart_lsn) AS restart_lsn FROM stream_engine.sources) jobs
    WHERE slot_name = ''stream_engine_'' || (SELECT oid FROM pg_database WHERE datname = current_database())');

SELECT stream_engine.test_fault_set('coordinator-looked', 'wait');
SELECT stream_engine.start('v');    -- it runs: nothing comes of this but a look
SELECT stream_engine.test_fault_wait('coordinator-looked');
SELECT stream_engine.stop('w');     -- while it waits; going on, it finds its latch as if nobody had come
SELECT stream_engine.test_fault_clear('coordinator-looked');
SELECT stream_engine.wait_state('w', 'stopped', '10s');
