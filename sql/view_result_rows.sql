-- A position knows how many rows the result has: whatever inserts, updates, deletes and turns away.
CREATE FOREIGN TABLE s (k int, v int) SERVER stream_engine;
CREATE MATERIALIZED VIEW plain WITH (stream_engine.continuous) AS SELECT k, v FROM s;
CREATE MATERIALIZED VIEW evens WITH (stream_engine.continuous) AS SELECT k, v FROM s;
CREATE MATERIALIZED VIEW groups WITH (stream_engine.continuous) AS SELECT k, sum(v) FROM s GROUP BY k HAVING sum(v) > 0;
CREATE MATERIALIZED VIEW kept WITH (stream_engine.continuous) AS SELECT k, sum(v) FROM s GROUP BY k HAVING sum(v) > 0;
CREATE MATERIALIZED VIEW total WITH (stream_engine.continuous) AS SELECT count(*) FROM s;
CREATE MATERIALIZED VIEW nothing WITH (stream_engine.continuous) AS SELECT count(*) FROM s HAVING count(*) > 1000;
CREATE FUNCTION only_even() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF NEW.v % 2 = 0 THEN RETURN NEW; END IF; RETURN NULL; END $$;
CREATE TRIGGER only_even BEFORE INSERT ON evens FOR EACH ROW EXECUTE FUNCTION only_even();
CREATE FUNCTION never() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
CREATE TRIGGER never BEFORE DELETE ON kept FOR EACH ROW EXECUTE FUNCTION never();
CREATE PROCEDURE look() LANGUAGE plpgsql AS $$
DECLARE
    view regclass;
    counted bigint;
    known bigint;
BEGIN
    FOR view IN SELECT j.view FROM stream_engine.jobs j ORDER BY j.view::text LOOP
        EXECUTE format('REFRESH MATERIALIZED VIEW %s', view);
        COMMIT;
        EXECUTE format('SELECT count(*) FROM %s', view) INTO counted;
        SELECT result_rows INTO known FROM stream_engine.job_positions WHERE job = view;
        RAISE NOTICE '% has % rows and knows of %', view, counted, known;
    END LOOP;
END $$;
CALL look();
INSERT INTO s SELECT i % 10, i % 7 FROM generate_series(1, 100) i;
CALL look();
-- groups go, and one comes back
INSERT INTO s SELECT k, -1000 FROM generate_series(0, 4) k;
CALL look();
INSERT INTO s VALUES (0, 2000);
CALL look();
-- many commits, and rows that come and go within one
INSERT INTO s VALUES (20, 1);
INSERT INTO s VALUES (20, -1);
INSERT INTO s VALUES (21, 1);
CALL look();
