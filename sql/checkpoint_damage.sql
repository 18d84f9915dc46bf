-- Saved state that is damaged or incomplete stops the view with an error that says so;
-- it is never taken for less state. With the bytes back, the view goes on.
CREATE FOREIGN TABLE s (k int, v text) SERVER stream_engine;
CREATE MATERIALIZED VIEW m WITH (stream_engine.continuous) AS SELECT k, count(*) AS n, max(v) AS top FROM s GROUP BY k;
INSERT INTO s SELECT k, repeat('x', 500) || k FROM generate_series(1, 40) k;
REFRESH MATERIALIZED VIEW m;
INSERT INTO s SELECT k, repeat('y', 20000) || k FROM generate_series(1, 3) k;
REFRESH MATERIALIZED VIEW m;
SELECT stream_engine.stop('m');
SELECT stream_engine.wait_state('m', 'stopped');
CREATE TABLE kept AS SELECT * FROM stream_engine.state_chunks;
SELECT count(*) > 10 AS several, max(seq) = count(*) AS without_gaps FROM kept;

CREATE PROCEDURE damage(how text) LANGUAGE plpgsql AS $$
DECLARE
    errors bigint := (SELECT count(*) FROM stream_engine.errors);
BEGIN
    DELETE FROM stream_engine.state_chunks;
    INSERT INTO stream_engine.state_chunks SELECT * FROM kept;
    EXECUTE how;
    COMMIT;
    PERFORM stream_engine.start('m');
    COMMIT;
    -- It may still be failed from the time before.
    PERFORM stream_engine.test_until(format('SELECT count(*) > %s, max(seq) FROM stream_engine.errors', errors));
    COMMIT;
    PERFORM stream_engine.wait_state('m', 'failed');
    RAISE NOTICE '%: % (%)', (SELECT sqlstate FROM stream_engine.errors ORDER BY seq DESC LIMIT 1),
        (SELECT message FROM stream_engine.errors ORDER BY seq DESC LIMIT 1),
        regexp_replace((SELECT detail FROM stream_engine.errors ORDER BY seq DESC LIMIT 1), '[0-9]+', 'N', 'g');
END $$;
CALL damage('DELETE FROM stream_engine.state_chunks');
CALL damage('DELETE FROM stream_engine.state_chunks WHERE seq = 1');
CALL damage('DELETE FROM stream_engine.state_chunks WHERE seq = 2');
CALL damage('DELETE FROM stream_engine.state_chunks WHERE seq = (SELECT max(seq) FROM kept)');
CALL damage('UPDATE stream_engine.state_chunks SET data = set_byte(data, 0, 2) WHERE seq = 1');
CALL damage('UPDATE stream_engine.state_chunks SET data = substr(data, 1, length(data) - 8) WHERE seq = 2');
CALL damage('UPDATE stream_engine.state_chunks SET data = set_byte(data, 16, 200) WHERE seq = 1');
CALL damage('UPDATE stream_engine.state_chunks SET data = '''' WHERE seq = 1');

-- State that no commit vouches for is removed.
DELETE FROM stream_engine.state_chunks;
INSERT INTO stream_engine.state_chunks SELECT * FROM kept;
INSERT INTO stream_engine.state_chunks SELECT job, unit, seq + 1000, data FROM kept;
SELECT stream_engine.start('m');
INSERT INTO s SELECT k, 'z' || k FROM generate_series(1, 5) k;
REFRESH MATERIALIZED VIEW m;
SELECT k, n, length(top), left(top, 1) AS first FROM m WHERE k < 7 ORDER BY k;
SELECT count(*) FROM stream_engine.state_chunks WHERE seq > 1000;
