-- A row that an expression cannot take stops the view at that row; the error says where
-- and what it was, and the view goes on without it if told so.
CREATE FOREIGN TABLE s (id int, x int, note text) SERVER stream_engine;
CREATE MATERIALIZED VIEW m WITH (stream_engine.continuous) AS SELECT id, 100 / x AS y FROM s WHERE note <> 'skip';

INSERT INTO s VALUES (1, 10, 'a'), (2, 0, 'skip'), (3, 20, 'b');
REFRESH MATERIALIZED VIEW m;
SELECT * FROM m ORDER BY id;

INSERT INTO s VALUES (4, 25, 'c'), (5, 0, 'd'), (6, 50, 'e');
SELECT stream_engine.wait_state('m', 'failed');
SELECT sqlstate, message, "row", "position" IS NOT NULL AS has_position FROM stream_engine.errors WHERE view = 'm'::regclass;
SELECT state, error_sqlstate FROM stream_engine.jobs WHERE view = 'm'::regclass;
SELECT * FROM m ORDER BY id;

SELECT stream_engine.start('m', skip => (SELECT "position" FROM stream_engine.errors WHERE view = 'm'::regclass ORDER BY seq DESC LIMIT 1));
REFRESH MATERIALIZED VIEW m;
SELECT * FROM m ORDER BY id;

-- so it is with whatever a function of the owner's raises: no SQLSTATE of its own makes it retried for ever
CREATE FUNCTION picky(x int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    IF x = 0 THEN
        RAISE EXCEPTION 'zero' USING ERRCODE = 'ABC12';
    ELSIF x < 0 THEN
        COMMIT;
    ELSIF x > 1000 THEN
        PERFORM set_config('transaction_read_only', 'off', true);
    END IF;
    RETURN x;
END $$;
CREATE MATERIALIZED VIEW p WITH (stream_engine.continuous) AS SELECT id, picky(x) AS x FROM s;
INSERT INTO s VALUES (11, 0, 'own');
SELECT stream_engine.wait_state('p', 'failed');
SELECT stream_engine.start('p', skip => (SELECT "position" FROM stream_engine.errors WHERE view = 'p'::regclass ORDER BY seq DESC LIMIT 1));
INSERT INTO s VALUES (12, -1, '2D000');
SELECT stream_engine.wait_state('p', 'failed');
SELECT stream_engine.start('p', skip => (SELECT "position" FROM stream_engine.errors WHERE view = 'p'::regclass ORDER BY seq DESC LIMIT 1));
INSERT INTO s VALUES (13, 1001, '25001'), (14, 1, 'good');
SELECT stream_engine.wait_state('p', 'failed');
SELECT stream_engine.start('p', skip => (SELECT "position" FROM stream_engine.errors WHERE view = 'p'::regclass ORDER BY seq DESC LIMIT 1));
REFRESH MATERIALIZED VIEW p;
SELECT * FROM p;
SELECT sqlstate, "row" FROM stream_engine.errors WHERE view = 'p'::regclass ORDER BY seq;
