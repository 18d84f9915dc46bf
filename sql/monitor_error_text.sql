-- An error's text is shortened between characters, wherever it is kept.
CREATE FOREIGN TABLE s (k int) SERVER stream_engine;
CREATE FUNCTION fail(k int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS
    $$BEGIN RAISE '%', repeat('x', k) || repeat('ü', 5000); END$$;
CREATE MATERIALIZED VIEW even WITH (stream_engine.continuous) AS SELECT fail(k) FROM s WHERE k = 0;
CREATE MATERIALIZED VIEW odd WITH (stream_engine.continuous) AS SELECT fail(k) FROM s WHERE k = 1;
INSERT INTO s VALUES (0), (1);
SELECT stream_engine.wait_state('even', 'failed');
SELECT stream_engine.wait_state('odd', 'failed');
SELECT view, octet_length(error) FROM stream_engine.jobs WHERE error ~ '^x?ü+$' ORDER BY view::text;
SELECT view, octet_length(message) FROM stream_engine.errors WHERE message ~ '^x?ü+$' ORDER BY view::text;
