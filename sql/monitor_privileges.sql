-- A role sees its own views' jobs, and all with pg_read_all_stats; of others what pg_stat_activity shows; nobody sees our tables.
CREATE ROLE regress_owner;
CREATE ROLE regress_member IN ROLE regress_owner;
CREATE ROLE regress_other;
CREATE ROLE regress_reader IN ROLE pg_read_all_stats;
CREATE ROLE regress_monitor IN ROLE pg_monitor;
GRANT CREATE ON SCHEMA public TO regress_owner;

CREATE FOREIGN TABLE s (id int, x int) SERVER stream_engine;
GRANT SELECT ON s TO regress_owner;
SET ROLE regress_owner;
CREATE MATERIALIZED VIEW m WITH (stream_engine.continuous) AS SELECT id, 100 / x AS y FROM s;
CREATE MATERIALIZED VIEW n WITH (stream_engine.continuous) AS SELECT id FROM s;
RESET ROLE;
INSERT INTO s VALUES (1, 1), (2, 0);
REFRESH MATERIALIZED VIEW n;
SELECT stream_engine.wait_state('m', 'failed');

CREATE FUNCTION seen(OUT jobs bigint, OUT states bigint, OUT operators bigint, OUT sources bigint, OUT checkpoints bigint,
    OUT errors bigint, OUT live bigint)
LANGUAGE sql AS $$
    SELECT (SELECT count(*) FROM stream_engine.jobs), (SELECT count(state) FROM stream_engine.jobs),
           (SELECT count(*) FROM stream_engine.operators),
           (SELECT count(*) FROM stream_engine.sources), (SELECT count(*) FROM stream_engine.checkpoints),
           (SELECT count(*) FROM stream_engine.errors), (SELECT count(state) FROM stream_engine.live_jobs())
$$;
SELECT * FROM seen();
SET ROLE regress_owner;
SELECT * FROM seen();
SET ROLE regress_member;
SELECT * FROM seen();
SET ROLE regress_reader;
SELECT * FROM seen();
SET ROLE regress_monitor;
SELECT * FROM seen();

-- another role: that there is a job, whose it is, and its process
SET ROLE regress_other;
SELECT * FROM seen();
SELECT view, owner, pid IS NOT NULL AS has_process FROM stream_engine.jobs ORDER BY view::text;
SELECT DISTINCT jsonb_strip_nulls(to_jsonb(j) - 'view' - 'owner' - 'pid') AS rest FROM stream_engine.jobs j;
SELECT DISTINCT jsonb_strip_nulls(to_jsonb(l) - 'job' - 'pid') AS rest FROM stream_engine.live_jobs() l;
SELECT j.view, a.application_name, a.query
FROM stream_engine.jobs j JOIN pg_stat_activity a USING (pid);
SELECT count(*) FROM stream_engine.job_errors;
SELECT count(*) FROM stream_engine.state_chunks;

-- a plan shows what the owner's functions returned, and waiting for a state would tell it; SELECT is enough for both
SELECT stream_engine.explain('n');
SELECT stream_engine.check_stream('s');
SELECT stream_engine.wait_state('n', 'running');
SET ROLE regress_monitor;
SELECT stream_engine.wait_state('n', 'running');
RESET ROLE;
GRANT SELECT ON n TO regress_other;
SET ROLE regress_other;
SELECT stream_engine.explain('n');
SELECT stream_engine.wait_state('n', 'running');
RESET ROLE;

DROP FOREIGN TABLE s CASCADE;
DROP OWNED BY regress_owner, regress_other;
DROP ROLE regress_owner, regress_member, regress_other, regress_reader, regress_monitor;
