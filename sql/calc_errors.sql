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
