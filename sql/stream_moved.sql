-- A stream gets another schema, name and owner while views read it and rows are between: nothing changes for them.
CREATE SCHEMA here;
CREATE SCHEMA there;
CREATE ROLE moved_owner;
GRANT ALL ON SCHEMA there TO moved_owner;
CREATE FOREIGN TABLE here.s (id int, v int DEFAULT 7, at timestamptz OPTIONS (event_time 'true')) SERVER stream_engine OPTIONS (watermark 'at');
CREATE TABLE twin (id int, v int, at timestamptz);
CREATE MATERIALIZED VIEW sums WITH (stream_engine.continuous) AS SELECT count(*) AS n, sum(v) AS s, max(id) AS m FROM here.s;
CREATE MATERIALIZED VIEW windows WITH (stream_engine.continuous) AS SELECT window_start, count(*) AS n FROM here.s, tumble(at, '1 minute') GROUP BY window_start;
CREATE PROCEDURE write(stream text, first int) LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('WITH w AS (INSERT INTO %s (id, at) SELECT i, timestamptz ''2024-01-01'' + i * interval ''10 seconds'' FROM generate_series($1, $1 + 9) i RETURNING *)
        INSERT INTO twin SELECT * FROM w', stream) USING first;
END $$;
CALL write('here.s', 1);
REFRESH MATERIALIZED VIEW sums;
SELECT stream_engine.stop('windows');
CALL write('here.s', 11);
ALTER FOREIGN TABLE here.s SET SCHEMA there;
CALL write('there.s', 21);
SELECT count(*) FROM there.s WHERE id > 20;
ALTER FOREIGN TABLE there.s RENAME TO t;
ALTER FOREIGN TABLE there.t OWNER TO moved_owner;
CALL write('there.t', 31);
ALTER SCHEMA there RENAME TO elsewhere;
BEGIN;
ALTER FOREIGN TABLE elsewhere.t SET SCHEMA here;
CALL write('here.t', 41);
ROLLBACK;
CALL write('elsewhere.t', 51);
SELECT stream_engine.start('windows');
SELECT stream_engine.emit_watermark('elsewhere.t', 'infinity');
REFRESH MATERIALIZED VIEW sums;
REFRESH MATERIALIZED VIEW windows;
TABLE sums;
SELECT count(*) AS n, sum(v) AS s, max(id) AS m FROM twin;
(TABLE windows EXCEPT ALL SELECT date_trunc('minute', at), count(*) FROM twin GROUP BY 1) UNION ALL
    (SELECT date_trunc('minute', at), count(*) FROM twin GROUP BY 1 EXCEPT ALL TABLE windows);
SELECT id FROM elsewhere.t WHERE id IN (1, 11, 21, 31, 41, 51) ORDER BY id;
SELECT stream::text FROM stream_engine.sources;
DROP SCHEMA elsewhere CASCADE;
DROP OWNED BY moved_owner;
DROP ROLE moved_owner;
