-- CREATE of a continuous view is one command of its transaction: all of it is kept or none.
BEGIN;
CREATE FOREIGN TABLE s (k int, t timestamptz OPTIONS (event_time 'true')) SERVER stream_engine;
CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous) AS SELECT k, count(*) FROM s GROUP BY k;
CREATE INDEX v_count ON v (count);
GRANT SELECT ON v TO PUBLIC;
COMMENT ON MATERIALIZED VIEW v IS 'counts';
ROLLBACK;
SELECT relname FROM pg_class WHERE relname IN ('s', 'v', 'v_key', 'public.v');
SELECT count(*) FROM stream_engine.job_catalog;
SELECT count(*) FROM stream_engine.job_positions;

CREATE FOREIGN TABLE s (k int, t timestamptz OPTIONS (event_time 'true')) SERVER stream_engine;
BEGIN;
SAVEPOINT a;
CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous) AS SELECT k, count(*) FROM s GROUP BY k;
ROLLBACK TO a;
SELECT count(*) FROM stream_engine.job_catalog;
CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous) AS SELECT k, count(*) FROM s GROUP BY k;
CREATE INDEX v_count ON v (count);
COMMIT;
\d v

-- the creating transaction's rows before the view are not in it, those after it are
BEGIN;
INSERT INTO s VALUES (1, '2024-01-01'), (1, '2024-01-01');
CREATE MATERIALIZED VIEW w WITH (stream_engine.continuous) AS SELECT k FROM s;
INSERT INTO s VALUES (2, '2024-01-01'), (3, '2024-01-01');
COMMIT;
REFRESH MATERIALIZED VIEW w;
SELECT * FROM w ORDER BY k;
REFRESH MATERIALIZED VIEW v;
SELECT * FROM v ORDER BY k;

-- event triggers see one command, and everything it made
CREATE FUNCTION seen() RETURNS event_trigger LANGUAGE plpgsql AS $$
DECLARE made text;
BEGIN
    IF tg_event = 'ddl_command_end' THEN
        SELECT string_agg(object_type || ' ' || object_identity, ', ') INTO made FROM pg_event_trigger_ddl_commands();
    END IF;
    RAISE NOTICE '% %: %', tg_event, tg_tag, made;
END $$;
CREATE EVENT TRIGGER at_start ON ddl_command_start EXECUTE FUNCTION seen();
CREATE EVENT TRIGGER at_end ON ddl_command_end EXECUTE FUNCTION seen();
CREATE MATERIALIZED VIEW x WITH (stream_engine.continuous) AS SELECT k, count(*) FROM s GROUP BY k;
DROP EVENT TRIGGER at_start;
DROP EVENT TRIGGER at_end;

-- a prepared transaction could not keep the log the view begins with
BEGIN;
CREATE MATERIALIZED VIEW y WITH (stream_engine.continuous) AS SELECT k FROM s;
PREPARE TRANSACTION 'view_transaction';
SELECT to_regclass('y');
