-- A row that waits for the commit of its dead letter is shown as it was written, though a column of the stream gets another type meanwhile.
CREATE FOREIGN TABLE s (id int, x int, extra int, big bigint) SERVER stream_engine;
CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous, stream_engine.on_error = dead_letter, stream_engine.checkpoint_interval = '1 h') AS
    SELECT id, 10 / x AS q FROM s;
REFRESH MATERIALIZED VIEW v;
INSERT INTO s VALUES (1, 0, 7, 800000000000), (2, 5, 7, 8);
SELECT stream_engine.test_until('SELECT pending_rows = 1, pending_rows FROM stream_engine.jobs');
SELECT count(*) AS committed FROM stream_engine.dead_letters;
ALTER FOREIGN TABLE s ALTER extra TYPE text, ALTER big TYPE numeric;
REFRESH MATERIALIZED VIEW v;
TABLE v;
SELECT "row", message, detail FROM stream_engine.dead_letters WHERE view = 'v'::regclass;
