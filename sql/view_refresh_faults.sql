-- REFRESH and a SELECT from a stream that are broken off leave nothing behind: the next ones work.
CREATE FOREIGN TABLE s (id int) SERVER stream_engine;
CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous) AS SELECT id FROM s;
INSERT INTO s SELECT generate_series(1, 3000);
INSERT INTO s SELECT generate_series(3001, 4000);
INSERT INTO s SELECT generate_series(4001, 5000);
SELECT stream_engine.test_fault_set('refresh-after-mark', 'error', times => 1);
REFRESH MATERIALIZED VIEW v;
SELECT stream_engine.test_fault_reached('refresh-after-mark') AS reached;
SELECT stream_engine.test_fault_clear();
REFRESH MATERIALIZED VIEW v;
SELECT count(*) FROM v;

SELECT stream_engine.test_fault_set('bounded-read-next', 'error', after => 2, times => 1);
SELECT count(*) FROM s;
SELECT stream_engine.test_fault_reached('bounded-read-next') > 2 AS reached;
SELECT stream_engine.test_fault_clear();
SELECT count(*) FROM s;
-- in a subtransaction, with a cursor that lives on
BEGIN;
DECLARE c CURSOR FOR SELECT id FROM s;
FETCH 2 FROM c;
SAVEPOINT a;
SELECT stream_engine.test_fault_set('bounded-read-next', 'error');
SELECT count(*) FROM s;
ROLLBACK TO a;
SELECT stream_engine.test_fault_clear();
FETCH 2 FROM c;
COMMIT;
