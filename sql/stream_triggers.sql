-- Row triggers of a stream and of a partitioned parent: BEFORE may change or drop a row, AFTER sees what was written.
CREATE FOREIGN TABLE s (id int, t text, ts timestamptz OPTIONS (event_time 'true'), g int GENERATED ALWAYS AS (id * 2) STORED)
    SERVER stream_engine;
CREATE TABLE seen (n serial, tg text, op text, row_of text, content text);
CREATE FUNCTION before_row() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.t = 'drop' THEN RETURN NULL; END IF;
    IF NEW.t = 'fail' THEN RAISE EXCEPTION 'failed for %', NEW.id; END IF;
    NEW.t := upper(NEW.t);
    NEW.ts := coalesce(NEW.ts, '2024-01-01 00:00+00');
    RETURN NEW;
END $$;
CREATE FUNCTION after_any() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO seen (tg, op, row_of, content) VALUES (TG_NAME, TG_WHEN || ' ' || TG_LEVEL, TG_TABLE_NAME, NEW::text);
    RETURN NULL;
END $$;
CREATE TRIGGER b BEFORE INSERT ON s FOR EACH ROW EXECUTE FUNCTION before_row();
CREATE TRIGGER a AFTER INSERT ON s FOR EACH ROW EXECUTE FUNCTION after_any();
CREATE TRIGGER st AFTER INSERT ON s FOR EACH STATEMENT EXECUTE FUNCTION after_any();
CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous) AS SELECT id, t, ts, g FROM s;

INSERT INTO s (id, t) VALUES (1, 'one'), (2, 'drop'), (3, 'three') RETURNING id, t, g;
COPY s (id, t) FROM stdin;
4	four
5	drop
\.
INSERT INTO s (id, t) VALUES (6, 'six'), (7, 'fail');
BEGIN;
INSERT INTO s (id, t) VALUES (8, 'eight');
ROLLBACK;
REFRESH MATERIALIZED VIEW v;
SELECT * FROM s;
SELECT * FROM (SELECT * FROM v EXCEPT ALL SELECT * FROM s) x;
SELECT tg, op, row_of, content FROM seen ORDER BY n;

-- disabled, and with a condition
ALTER FOREIGN TABLE s DISABLE TRIGGER b;
INSERT INTO s (id, t) VALUES (9, 'nine');
INSERT INTO s VALUES (9, 'nine', '2024-01-01 00:00+00');
ALTER FOREIGN TABLE s ENABLE TRIGGER b;
DROP TRIGGER b ON s;
CREATE TRIGGER b BEFORE INSERT ON s FOR EACH ROW WHEN (NEW.id > 10) EXECUTE FUNCTION before_row();
INSERT INTO s VALUES (10, 'ten', '2024-01-01 00:00+00'), (11, 'eleven', '2024-01-01 00:00+00');
SELECT id, t FROM s WHERE id > 8;

-- a trigger that writes to the stream it is of: rows in the order in which they were made
CREATE FOREIGN TABLE chain (id int) SERVER stream_engine;
CREATE FUNCTION follow() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.id % 10 < 3 THEN INSERT INTO chain VALUES (NEW.id + 1); END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER f AFTER INSERT ON chain FOR EACH ROW EXECUTE FUNCTION follow();
INSERT INTO chain VALUES (10), (20);
SELECT * FROM chain;

-- of a partitioned parent; a row that the trigger sends elsewhere is refused as in PostgreSQL
CREATE TABLE p (id int, t text, ts timestamptz) PARTITION BY LIST (id);
CREATE FOREIGN TABLE p_s PARTITION OF p FOR VALUES IN (1, 2) SERVER stream_engine;
CREATE TABLE p_h PARTITION OF p DEFAULT;
CREATE TRIGGER b BEFORE INSERT ON p FOR EACH ROW EXECUTE FUNCTION before_row();
CREATE TRIGGER a AFTER INSERT ON p FOR EACH ROW EXECUTE FUNCTION after_any();
TRUNCATE seen;
INSERT INTO p VALUES (1, 'a'), (3, 'b'), (2, 'drop'), (2, 'c') RETURNING tableoid::regclass, id, t;
SELECT tg, op, row_of, content FROM seen ORDER BY n;
CREATE FUNCTION elsewhere() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.id := 3; RETURN NEW; END $$;
CREATE TRIGGER e BEFORE INSERT ON p_s FOR EACH ROW EXECUTE FUNCTION elsewhere();
INSERT INTO p VALUES (1, 'a');
INSERT INTO p_s VALUES (1, 'a');
SELECT tableoid::regclass, id, t FROM p;

-- what PostgreSQL refuses on foreign tables keeps its error
CREATE TRIGGER n AFTER INSERT ON s REFERENCING NEW TABLE AS n FOR EACH STATEMENT EXECUTE FUNCTION after_any();
CREATE TRIGGER n INSTEAD OF INSERT ON s FOR EACH ROW EXECUTE FUNCTION after_any();
CREATE CONSTRAINT TRIGGER n AFTER INSERT ON s FOR EACH ROW EXECUTE FUNCTION after_any();
