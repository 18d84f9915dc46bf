-- Triggers of an updating result: the key is not theirs to change, rows turned away are
-- counted, and foreign keys hold in both directions.
CREATE FOREIGN TABLE s (k int, v int) SERVER stream_engine;
CREATE MATERIALIZED VIEW m WITH (stream_engine.continuous) AS SELECT k, sum(v) AS total FROM s WHERE k IS NOT NULL GROUP BY k HAVING sum(v) <> 0;
CREATE TABLE audit (n int GENERATED ALWAYS AS IDENTITY, event text, k int, before bigint, after bigint);
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO public.audit (event, k, before, after) VALUES (TG_OP, coalesce(NEW.k, OLD.k), OLD.total, NEW.total);
    RETURN NULL;
END $$;
CREATE TRIGGER note AFTER INSERT OR UPDATE OR DELETE ON m FOR EACH ROW EXECUTE FUNCTION note();
CREATE TRIGGER note_total AFTER UPDATE OF total ON m FOR EACH ROW WHEN (OLD.total IS DISTINCT FROM NEW.total) EXECUTE FUNCTION note();

INSERT INTO s VALUES (1, 10), (2, 20), (3, 30);
REFRESH MATERIALIZED VIEW m;
INSERT INTO s VALUES (1, 1), (2, -20), (3, 0);
REFRESH MATERIALIZED VIEW m;
INSERT INTO s VALUES (2, 5);
REFRESH MATERIALIZED VIEW m;
SELECT event, k, before, after FROM audit ORDER BY n;
TABLE m ORDER BY k;

-- Turned away by a BEFORE trigger.
CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF NEW.total > 100 THEN RETURN NULL; END IF; RETURN NEW; END $$;
CREATE TRIGGER keep BEFORE INSERT OR UPDATE ON m FOR EACH ROW EXECUTE FUNCTION keep();
INSERT INTO s VALUES (1, 1000), (2, 1), (4, 101);
REFRESH MATERIALIZED VIEW m;
TABLE m ORDER BY k;
SELECT rows_not_taken FROM stream_engine.jobs WHERE view = 'm'::regclass;

-- A changed key is an error.
CREATE FUNCTION change() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.k := NEW.k + 1000; RETURN NEW; END $$;
CREATE TRIGGER change BEFORE UPDATE ON m FOR EACH ROW EXECUTE FUNCTION change();
INSERT INTO s VALUES (3, 1);
SELECT stream_engine.wait_state('m', 'failed');
SELECT sqlstate, message, "row" FROM stream_engine.errors WHERE view = 'm'::regclass;
DROP TRIGGER change ON m;
SELECT stream_engine.start('m');
REFRESH MATERIALIZED VIEW m;
TABLE m ORDER BY k;

-- The result as the referenced table: a row that is still referenced cannot leave it.
DROP TRIGGER note ON m;
DROP TRIGGER note_total ON m;
CREATE TABLE refers (k int REFERENCES m (k));
INSERT INTO refers VALUES (3);
INSERT INTO s VALUES (3, -31);
SELECT stream_engine.wait_state('m', 'failed');
SELECT sqlstate, message FROM stream_engine.errors WHERE view = 'm'::regclass ORDER BY seq DESC LIMIT 1;
DELETE FROM refers;
SELECT stream_engine.start('m');
REFRESH MATERIALIZED VIEW m;
TABLE m ORDER BY k;
