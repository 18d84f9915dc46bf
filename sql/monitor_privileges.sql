-- A role sees its own views' jobs, and all with pg_read_all_stats; nobody sees our tables.
CREATE ROLE regress_owner;
CREATE ROLE regress_other;
CREATE ROLE regress_reader IN ROLE pg_read_all_stats;
GRANT CREATE ON SCHEMA public TO regress_owner;

CREATE FOREIGN TABLE s (id int, x int) SERVER stream_engine;
GRANT SELECT ON s TO regress_owner;
SET ROLE regress_owner;
CREATE MATERIALIZED VIEW m WITH (stream_engine.continuous) AS SELECT id, 100 / x AS y FROM s;
RESET ROLE;
INSERT INTO s VALUES (1, 1), (2, 0);
SELECT stream_engine.wait_state('m', 'failed');

CREATE FUNCTION seen(OUT jobs bigint, OUT operators bigint, OUT sources bigint, OUT checkpoints bigint, OUT errors bigint, OUT live bigint)
LANGUAGE sql AS $$
    SELECT (SELECT count(*) FROM stream_engine.jobs), (SELECT count(*) FROM stream_engine.operators),
           (SELECT count(*) FROM stream_engine.sources), (SELECT count(*) FROM stream_engine.checkpoints),
           (SELECT count(*) FROM stream_engine.errors), (SELECT count(*) FROM stream_engine.live_jobs())
$$;
SELECT * FROM seen();
SET ROLE regress_owner;
SELECT * FROM seen();
SET ROLE regress_reader;
SELECT * FROM seen();
SET ROLE regress_other;
SELECT * FROM seen();
SELECT count(*) FROM stream_engine.job_errors;
SELECT count(*) FROM stream_engine.state_chunks;
RESET ROLE;

DROP FOREIGN TABLE s CASCADE;
DROP OWNED BY regress_owner;
DROP ROLE regress_owner, regress_other, regress_reader;
