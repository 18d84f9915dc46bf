-- Whose rights count when a continuous view reads a stream through a plain view.
CREATE ROLE plain_giver;
CREATE ROLE plain_reader;
CREATE SCHEMA plain AUTHORIZATION plain_reader;
CREATE FOREIGN TABLE s (k int, secret text, v text) SERVER stream_engine;
GRANT SELECT ON s TO plain_giver;
CREATE VIEW given WITH (security_barrier) AS SELECT k, v FROM s WHERE secret = 'no';
ALTER VIEW given OWNER TO plain_giver;
CREATE VIEW asking WITH (security_invoker) AS SELECT k, v FROM s;
ALTER VIEW asking OWNER TO plain_giver;
CREATE VIEW "asking inside" AS SELECT k FROM asking;
ALTER VIEW "asking inside" OWNER TO plain_giver;

-- SELECT on the view is needed, and enough; security_invoker asks for the stream as well
SET ROLE plain_reader;
CREATE MATERIALIZED VIEW plain.v WITH (stream_engine.continuous) AS SELECT k FROM given;
RESET ROLE;
GRANT SELECT ON given, asking, "asking inside" TO plain_reader;
SET ROLE plain_reader;
CREATE MATERIALIZED VIEW plain.v WITH (stream_engine.continuous) AS SELECT k FROM asking;
CREATE MATERIALIZED VIEW plain.v WITH (stream_engine.continuous) AS SELECT k FROM "asking inside";
CREATE MATERIALIZED VIEW plain.v WITH (stream_engine.continuous) AS SELECT k FROM s;
CREATE MATERIALIZED VIEW plain.v WITH (stream_engine.continuous) AS SELECT k, count(*) AS n FROM given GROUP BY k;

-- a condition that tells what it sees is shown only what the view shows, in any order of writing it
CREATE FUNCTION plain.tell(k int, v text) RETURNS boolean LANGUAGE plpgsql COST 0.0000001 AS $$
BEGIN
    IF v = 'hidden' THEN RAISE 'told of %', v; END IF;
    RETURN true;
END $$;
ALTER FUNCTION plain.tell STABLE;
CREATE MATERIALIZED VIEW plain.told WITH (stream_engine.continuous) AS SELECT k FROM given WHERE plain.tell(k, v);
CREATE MATERIALIZED VIEW plain.counted WITH (stream_engine.continuous) AS SELECT count(*) FILTER (WHERE plain.tell(k, v)) FROM given WHERE plain.tell(k, v);
RESET ROLE;
INSERT INTO s VALUES (1, 'no', 'shown'), (2, 'yes', 'hidden'), (1, 'no', 'shown');
SET ROLE plain_reader;
REFRESH MATERIALIZED VIEW plain.v;
TABLE plain.v;
REFRESH MATERIALIZED VIEW plain.told;
TABLE plain.told;
REFRESH MATERIALIZED VIEW plain.counted;
TABLE plain.counted;

-- a row that fails is not shown to who may not read the stream
CREATE MATERIALIZED VIEW plain.number WITH (stream_engine.continuous) AS SELECT v::int AS v FROM given;
RESET ROLE;
INSERT INTO s VALUES (1, 'no', 'x');
SET ROLE plain_reader;
SELECT stream_engine.wait_state('plain.number', 'failed');
SELECT view, message, position IS NOT NULL AS has_position, "row" FROM stream_engine.errors WHERE view = 'plain.number'::regclass;
DROP MATERIALIZED VIEW plain.number;
RESET ROLE;

-- rights are asked for again at each start: the reader's on the view, its owner's on the stream
SELECT stream_engine.stop('plain.v');
SELECT stream_engine.wait_state('plain.v', 'stopped');
REVOKE SELECT ON given FROM plain_reader;
SELECT stream_engine.start('plain.v');
SELECT stream_engine.wait_state('plain.v', 'failed');
SELECT sqlstate, message FROM stream_engine.errors WHERE view = 'plain.v'::regclass ORDER BY seq DESC LIMIT 1;
GRANT SELECT ON given TO plain_reader;
REVOKE SELECT ON s FROM plain_giver;
SELECT stream_engine.start('plain.v');
SELECT stream_engine.wait_state('plain.v', 'failed');
SELECT sqlstate, message FROM stream_engine.errors WHERE view = 'plain.v'::regclass ORDER BY seq DESC LIMIT 1;
GRANT SELECT (k, v, secret) ON s TO plain_giver;
SELECT stream_engine.start('plain.v');
REFRESH MATERIALIZED VIEW plain.v;
TABLE plain.v;

\set VERBOSITY terse
DROP OWNED BY plain_giver, plain_reader CASCADE;
DROP ROLE plain_giver, plain_reader;
