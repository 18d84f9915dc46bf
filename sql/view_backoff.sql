-- A job that fails by no fault of a row is tried again after a wait; the wait can be seen, and ended by a person.
SET client_min_messages = error;
ALTER SYSTEM SET stream_engine.restart_delay_min = '1min';
ALTER SYSTEM SET stream_engine.restart_delay_max = '10min';
SELECT pg_reload_conf();
CREATE FOREIGN TABLE s (k int) SERVER stream_engine;
CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous) AS SELECT k, count(*) AS c FROM s GROUP BY k;
CREATE MATERIALIZED VIEW bystander WITH (stream_engine.continuous) AS SELECT k FROM s;
SELECT stream_engine.stop('bystander');
SELECT stream_engine.wait_state('bystander', 'stopped');
SELECT stream_engine.test_fault_set('commit-after-results', 'error', times => 1);
INSERT INTO s SELECT k % 10 FROM generate_series(1, 1000) k;
SELECT stream_engine.wait_state('v', 'restarting');
SELECT state, failures, restart_at BETWEEN clock_timestamp() + interval '20 s' AND clock_timestamp() + interval '1 minute' AS in_a_minute,
    error_sqlstate, error FROM stream_engine.jobs WHERE view = 'v'::regclass;
SELECT count(*) FROM v;
SELECT sqlstate, message FROM stream_engine.errors WHERE view = 'v'::regclass;
-- the others do not wait
SELECT stream_engine.start('bystander');
REFRESH MATERIALIZED VIEW bystander;
SELECT count(*) FROM bystander;

-- a person need not wait
SELECT stream_engine.stop('v');
SELECT stream_engine.wait_state('v', 'stopped');
SELECT stream_engine.start('v');
REFRESH MATERIALIZED VIEW v;
SELECT count(*), sum(c) FROM v;
SELECT state, failures, restart_at FROM stream_engine.jobs WHERE view = 'v'::regclass;

-- short waits: it comes back by itself, and counts how often it failed
SELECT stream_engine.stop('v');
SELECT stream_engine.wait_state('v', 'stopped');
ALTER SYSTEM SET stream_engine.restart_delay_min = 1;
ALTER SYSTEM SET stream_engine.restart_delay_max = 4;
SELECT pg_reload_conf();
SELECT stream_engine.start('v');
SELECT stream_engine.wait_state('v', 'running');
SELECT stream_engine.test_fault_set('commit-before-position', 'fatal', times => 5);
INSERT INTO s SELECT k % 10 FROM generate_series(1, 1000) k;
REFRESH MATERIALIZED VIEW v;
SELECT stream_engine.test_fault_reached('commit-before-position') > 5 AS reached;
SELECT count(*), sum(c) FROM v;
ALTER SYSTEM RESET stream_engine.restart_delay_min;
ALTER SYSTEM RESET stream_engine.restart_delay_max;
SELECT pg_reload_conf();
