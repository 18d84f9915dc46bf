-- Triggers of a result fire as for any INSERT, as the owner of the result; a row that a
-- BEFORE trigger turns away is counted.
CREATE TABLE audit (n int GENERATED ALWAYS AS IDENTITY, event text, id int, who text);
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO public.audit (event, id, who) VALUES (TG_WHEN || ' ' || TG_LEVEL || ' ' || TG_OP,
        CASE WHEN TG_LEVEL = 'ROW' THEN NEW.id END, current_user);
    IF TG_LEVEL = 'STATEMENT' THEN RETURN NULL; END IF;
    IF NEW.id % 3 = 0 AND TG_WHEN = 'BEFORE' THEN RETURN NULL; END IF;
    NEW.note := NEW.note || ' (seen)';
    RETURN NEW;
END $$;

CREATE FOREIGN TABLE s (id int, note text) SERVER stream_engine;
CREATE MATERIALIZED VIEW m WITH (stream_engine.continuous) AS SELECT id, note FROM s;
CREATE TRIGGER before_row BEFORE INSERT ON m FOR EACH ROW EXECUTE FUNCTION note();
CREATE TRIGGER after_row AFTER INSERT ON m FOR EACH ROW WHEN (NEW.id > 1) EXECUTE FUNCTION note();
CREATE TRIGGER before_statement BEFORE INSERT ON m EXECUTE FUNCTION note();
CREATE TRIGGER after_statement AFTER INSERT ON m EXECUTE FUNCTION note();

INSERT INTO s VALUES (1, 'a'), (2, 'b'), (3, 'c'), (4, 'd');
REFRESH MATERIALIZED VIEW m;
SELECT * FROM m ORDER BY id;
SELECT event, id, who = (SELECT relowner::regrole::text FROM pg_class WHERE oid = 'm'::regclass) AS as_owner FROM audit ORDER BY n;
SELECT rows_in, rows_not_taken FROM stream_engine.jobs WHERE view = 'm'::regclass;

-- What a trigger raises stops the view, and the row is named.
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'not this one' USING ERRCODE = '23514'; END $$;
CREATE TRIGGER refuse_row AFTER INSERT ON m FOR EACH ROW WHEN (NEW.id = 7) EXECUTE FUNCTION refuse();
INSERT INTO s VALUES (5, 'e'), (7, 'g');
SELECT stream_engine.wait_state('m', 'failed');
SELECT sqlstate, message FROM stream_engine.errors WHERE view = 'm'::regclass;
SELECT count(*) FROM m;

-- Transition tables cannot be offered.
CREATE TRIGGER t AFTER INSERT ON m REFERENCING NEW TABLE AS new_rows EXECUTE FUNCTION note();
