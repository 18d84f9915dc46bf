-- The waits of the tests: they end as soon as what they wait for is there, and in time if it never is, with an error that says what was there instead.
\set SHOW_CONTEXT never
SELECT stream_engine.test_until('SELECT count(*) > 100, count(*) FROM generate_series(1, 7)', '50 ms');
SELECT stream_engine.test_until('SELECT true WHERE false', '50 ms');
SELECT stream_engine.test_until('SELECT NULL::bool, ''t''', '50 ms');
SELECT stream_engine.test_until('SELECT ''this is not true''', '50 ms');
SELECT stream_engine.test_until('SELECT 1 / 0');
SELECT stream_engine.test_until('SELECT true');
SELECT stream_engine.test_until('SELECT true, false');
-- a query that changes something sees what it did before
CREATE SEQUENCE looks;
SELECT stream_engine.test_until('SELECT nextval(''looks'') >= 3');
SELECT last_value FROM looks;

SELECT stream_engine.test_fault_wait('coordinator-loop');
SELECT stream_engine.test_fault_wait(NULL);
SELECT stream_engine.test_fault_set('of nobody', 'wait');
SELECT stream_engine.test_fault_wait('of nobody', timeout => '50 ms');
SELECT stream_engine.test_fault_wait(NULL, 2, '50 ms');
SELECT stream_engine.test_fault_wait('of nobody', NULL);
SELECT stream_engine.test_fault_wait('of nobody', 0);
-- one that is passed, alone and among all that are set
CREATE FOREIGN TABLE s (k int) SERVER stream_engine;
SELECT stream_engine.test_fault_set('log-message-written', 'count');
INSERT INTO s VALUES (1);
INSERT INTO s VALUES (1);
SELECT stream_engine.test_fault_wait('log-message-written', 2);
SELECT stream_engine.test_fault_wait(NULL, 2);
SELECT stream_engine.test_fault_wait('log-message-written', 3, '50 ms');
\set VERBOSITY sqlstate
SELECT stream_engine.test_until('SELECT false', '0');
SELECT stream_engine.test_fault_wait('log-message-written', 3, '0');
