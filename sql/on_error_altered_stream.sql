-- A row that waits for the commit of its dead letter is shown as it was written, though a column of the stream gets another type meanwhile.
CREATE FOREIGN TABLE s (id int, x int, extra int, big bigint) SERVER stream_engine;
CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous, stream_engine.on_error = dead_letter, stream_engine.checkpoint_interval = '1 h') AS
    SELECT id, 10 / x AS q FROM s;
REFRESH MATERIALIZED VIEW v;
SELECT stream_engine.test_fault_set('round-before-commit', 'count');
INSERT INTO s VALUES (1, 0, 7, 800000000000), (2, 5, 7, 8);
SELECT stream_engine.test_fault_wait('round-before-commit', 1);
ALTER FOREIGN TABLE s ALTER extra TYPE text, ALTER big TYPE numeric;
REFRESH MATERIALIZED VIEW v;
TABLE v;
SELECT "row", message, detail FROM stream_engine.dead_letters WHERE view = 'v'::regclass;
DROP FOREIGN TABLE s CASCADE;
SELECT stream_engine.test_fault_clear();
