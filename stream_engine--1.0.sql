/* stream_engine--1.0.sql: everything SQL sees. Sections follow docs/: catalog, streams, windows, views, control, monitoring. */

\echo Use "CREATE EXTENSION stream_engine" to load this file. \quit

-- Only what is PostgreSQL's own is found by an unqualified name: the schema the query functions go into may be one
-- that anybody can create in, and a view below must not pick up an operator somebody put there.
SET LOCAL search_path = pg_catalog, pg_temp;

CREATE SCHEMA stream_engine;
GRANT USAGE ON SCHEMA stream_engine TO PUBLIC;

-- Definition views of continuous views: PostgreSQL tracks their dependencies for us.
CREATE SCHEMA stream_engine_definitions;
GRANT USAGE ON SCHEMA stream_engine_definitions TO PUBLIC;


-- ------------------------------------------------------------------ catalog

-- A relation by its name, as regclass; but a name that does not exist is read as none, so that
-- a relation a dump left out does not keep the rows of the others out (ddl/restore_rows.c).
CREATE TYPE stream_engine.relation;
CREATE FUNCTION stream_engine.relation_in(cstring) RETURNS stream_engine.relation
    LANGUAGE c STABLE STRICT AS 'MODULE_PATHNAME', 'stream_engine_relation_in';
CREATE FUNCTION stream_engine.relation_out(stream_engine.relation) RETURNS cstring
    LANGUAGE c STABLE STRICT AS 'MODULE_PATHNAME', 'stream_engine_relation_out';
CREATE TYPE stream_engine.relation (INPUT = stream_engine.relation_in, OUTPUT = stream_engine.relation_out, LIKE = oid);
CREATE CAST (stream_engine.relation AS oid) WITHOUT FUNCTION AS IMPLICIT;
CREATE CAST (stream_engine.relation AS regclass) WITHOUT FUNCTION AS IMPLICIT;

-- One row per continuous view (meta/jobs.c). This table, positions and state are dumped by pg_dump;
-- we write them below the executor, so kept_oids is false exactly in rows that came out of a dump.
CREATE TABLE stream_engine.job_catalog (
    job               stream_engine.relation PRIMARY KEY,   -- result table
    definition        stream_engine.relation NOT NULL,      -- definition view
    goal              "char" NOT NULL,           -- r = run, s = stopped by a person, f = failed
    options           text[] NOT NULL,           -- name=value, as asked for
    options_lsn       pg_lsn NOT NULL,           -- where the log stood when they were changed last
    settings          text[] NOT NULL,           -- name=value, of the creating session (N20)
    system_identifier bigint NOT NULL,           -- identity (N16)
    database_oid      oid NOT NULL,
    job_oid           oid NOT NULL,
    pg_major          int NOT NULL,
    oid_space         bigint NOT NULL,
    kept_oids         bool NOT NULL GENERATED ALWAYS AS (false) STORED
);

-- One row per source of a unit, moved in the commit that holds everything derived from it (I8).
CREATE TABLE stream_engine.job_positions (
    job         stream_engine.relation NOT NULL,
    unit        int NOT NULL,
    source      int NOT NULL,
    attempt     bigint NOT NULL,
    position    bytea NOT NULL,
    fingerprint bigint NOT NULL,
    shape       bigint NOT NULL,
    chunk_seq   bigint NOT NULL,
    result_rows bigint NOT NULL,                 -- of the whole result, as of this commit
    rows_in     bigint NOT NULL,
    rows_out    bigint NOT NULL,
    late_rows   bigint NOT NULL,
    late_pairs  bigint NOT NULL,
    options     text[] NOT NULL,                 -- those that the log moves, as in effect here (meta/options.h)
    options_lsn pg_lsn NOT NULL,                 -- of the ALTER that said so
    error_rows  bigint NOT NULL,                 -- left out by on_error
    skip        text[],
    final_to    timestamptz,                     -- rows of windows that end by then never change again; NULL = no windows
    PRIMARY KEY (job, unit, source)
) WITH (fillfactor = 30);
ALTER TABLE stream_engine.job_positions ALTER position SET STORAGE PLAIN;

-- Operator state, packed (checkpoint/store.c).
CREATE TABLE stream_engine.state_chunks (
    job   stream_engine.relation NOT NULL,
    unit  int NOT NULL,
    seq   bigint NOT NULL,
    data  bytea NOT NULL,
    PRIMARY KEY (job, unit, seq)
);
ALTER TABLE stream_engine.state_chunks ALTER data SET STORAGE PLAIN;

-- What the bytes of a stream's rows are (log/layout.c).
CREATE TABLE stream_engine.stream_layouts (
    stream  regclass NOT NULL,
    id      int NOT NULL,
    since   pg_lsn NOT NULL,                     -- where the WAL stood when it was written
    layout  bytea NOT NULL,
    PRIMARY KEY (stream, id)
);

CREATE TABLE stream_engine.job_errors (
    job         regclass NOT NULL,
    seq         bigint NOT NULL,
    at          timestamptz NOT NULL,
    attempt     bigint NOT NULL,
    sqlstate    text NOT NULL,
    message     text NOT NULL,
    detail      text,
    "position"  text,
    "row"       text,
    PRIMARY KEY (job, seq)
);

-- One row while the streams of the database take no rows (meta/drained.c). Not dumped: a copy takes rows.
CREATE TABLE stream_engine.drained (
    id     int PRIMARY KEY,
    since  timestamptz NOT NULL,
    role   text NOT NULL
);

-- Rows that were kept out, whole (meta/dead_letters.c): by a view's on_error, or refused by a stream.
CREATE SEQUENCE stream_engine.dead_letter_ids;
CREATE TABLE stream_engine.dead_letter_rows (
    relation    stream_engine.relation NOT NULL, -- whose it is: the view, or the stream itself
    id          bigint NOT NULL,
    stream      stream_engine.relation NOT NULL,
    "position"  text,                            -- NULL: it is not in the log
    ordinal     bigint,
    arrived     timestamptz NOT NULL,
    reason      text NOT NULL,
    sqlstate    text NOT NULL,
    message     text NOT NULL,
    detail      text,
    "row"       jsonb,
    PRIMARY KEY (relation, id)
);

-- Rows that options of a stream left out while they were written (meta/dropped_rows.c): a count is a sum of rows.
CREATE TABLE stream_engine.dropped_row_counts (
    stream  regclass NOT NULL,
    reason  text NOT NULL,
    rows    bigint NOT NULL,
    first   timestamptz NOT NULL,
    last    timestamptz NOT NULL
) WITH (fillfactor = 30);

-- Rows of views that a restore does not have are left out.
CREATE FUNCTION stream_engine.take_restored_row() RETURNS trigger
    LANGUAGE c AS 'MODULE_PATHNAME', 'stream_engine_take_restored_row';
CREATE TRIGGER restored BEFORE INSERT ON stream_engine.job_catalog
    FOR EACH ROW EXECUTE FUNCTION stream_engine.take_restored_row();
CREATE TRIGGER restored BEFORE INSERT ON stream_engine.job_positions
    FOR EACH ROW EXECUTE FUNCTION stream_engine.take_restored_row();
CREATE TRIGGER restored BEFORE INSERT ON stream_engine.state_chunks
    FOR EACH ROW EXECUTE FUNCTION stream_engine.take_restored_row();
CREATE TRIGGER restored BEFORE INSERT ON stream_engine.dead_letter_rows
    FOR EACH ROW EXECUTE FUNCTION stream_engine.take_restored_row();

SELECT pg_catalog.pg_extension_config_dump('stream_engine.job_catalog', '');
SELECT pg_catalog.pg_extension_config_dump('stream_engine.job_positions', '');
SELECT pg_catalog.pg_extension_config_dump('stream_engine.state_chunks', '');
SELECT pg_catalog.pg_extension_config_dump('stream_engine.dead_letter_rows', '');
SELECT pg_catalog.pg_extension_config_dump('stream_engine.dead_letter_ids', '');

REVOKE ALL ON ALL TABLES IN SCHEMA stream_engine FROM PUBLIC;
GRANT SELECT ON stream_engine.drained TO PUBLIC;


-- ------------------------------------------------------------------ streams

CREATE FUNCTION stream_engine.fdw_handler() RETURNS fdw_handler
    LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'stream_engine_fdw_handler';
CREATE FUNCTION stream_engine.fdw_validator(options text[], catalog oid) RETURNS void
    LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'stream_engine_fdw_validator';

CREATE FOREIGN DATA WRAPPER stream_engine
    HANDLER stream_engine.fdw_handler VALIDATOR stream_engine.fdw_validator;
CREATE SERVER stream_engine FOREIGN DATA WRAPPER stream_engine;
GRANT USAGE ON FOREIGN SERVER stream_engine TO PUBLIC;

CREATE FUNCTION stream_engine.check_stream(stream regclass) RETURNS void
    LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'stream_engine_check_stream';
COMMENT ON FUNCTION stream_engine.check_stream(regclass) IS
    'parses and type-checks everything a stream''s options say; raises what is wrong';

CREATE FUNCTION stream_engine.emit_watermark(stream regclass, ts timestamptz) RETURNS void
    LANGUAGE c AS 'MODULE_PATHNAME', 'stream_engine_emit_watermark';
COMMENT ON FUNCTION stream_engine.emit_watermark(regclass, timestamptz) IS
    'says, in this transaction, that all rows before ts have arrived; ''infinity'' ends the input; needs INSERT on the stream';

CREATE FUNCTION stream_engine.stream_options(OUT object text, OUT name text, OUT type text, OUT default_value text, OUT help text)
    RETURNS SETOF record LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'stream_engine_stream_options';
COMMENT ON FUNCTION stream_engine.stream_options() IS
    'the options of servers, streams and their columns';

CREATE FUNCTION stream_engine.lateness(stream regclass,
        OUT lateness interval, OUT rows bigint, OUT kept_percent numeric, OUT delay_for_99 interval, OUT delay_for_99_9 interval)
    RETURNS SETOF record LANGUAGE c STRICT STABLE PARALLEL RESTRICTED COST 1000000 AS 'MODULE_PATHNAME', 'stream_engine_lateness';
COMMENT ON FUNCTION stream_engine.lateness(regclass) IS
    'how late the retained rows of a stream came: rows up to each lateness, and the delay that would have kept 99 % and 99.9 %';
CREATE FUNCTION @extschema@.current_watermark(stream regclass) RETURNS timestamptz
    LANGUAGE c STRICT STABLE PARALLEL RESTRICTED COST 1000000 AS 'MODULE_PATHNAME', 'stream_engine_current_watermark';
COMMENT ON FUNCTION @extschema@.current_watermark(regclass) IS
    'in a continuous view: the stream''s watermark before the row; elsewhere: at the end of its log';

-- What the planner puts in the place of proctime() over a stream, so that it belongs to a row (source/proctime.c).
CREATE FUNCTION stream_engine.proctime_of("row" tid) RETURNS timestamptz
    LANGUAGE c STABLE STRICT PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'stream_engine_proctime_of';
CREATE FUNCTION stream_engine.proctime_support(internal) RETURNS internal
    LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'stream_engine_proctime_support';
CREATE FUNCTION @extschema@.proctime() RETURNS timestamptz
    LANGUAGE c STABLE PARALLEL RESTRICTED SUPPORT stream_engine.proctime_support
    AS 'MODULE_PATHNAME', 'stream_engine_proctime';
COMMENT ON FUNCTION @extschema@.proctime() IS
    'in a query over a stream: the time the row''s transaction committed, never going back in log order';


-- ------------------------------------------------------------------ windows

-- STABLE where a time zone may be given, as date_trunc() is: its rules change with the time zone data of the server.
CREATE FUNCTION @extschema@.tumble(ts timestamptz, size interval, shift interval DEFAULT '0', timezone text DEFAULT NULL,
        OUT window_start timestamptz, OUT window_end timestamptz, OUT window_time timestamptz)
    RETURNS SETOF record LANGUAGE c STABLE PARALLEL SAFE ROWS 1 AS 'MODULE_PATHNAME', 'stream_engine_tumble';
CREATE FUNCTION @extschema@.tumble(ts timestamp, size interval, shift interval DEFAULT '0', timezone text DEFAULT NULL,
        OUT window_start timestamp, OUT window_end timestamp, OUT window_time timestamp)
    RETURNS SETOF record LANGUAGE c IMMUTABLE PARALLEL SAFE ROWS 1 AS 'MODULE_PATHNAME', 'stream_engine_tumble';
CREATE FUNCTION @extschema@.hop(ts timestamptz, slide interval, size interval, shift interval DEFAULT '0', timezone text DEFAULT NULL,
        OUT window_start timestamptz, OUT window_end timestamptz, OUT window_time timestamptz)
    RETURNS SETOF record LANGUAGE c STABLE PARALLEL SAFE ROWS 5 AS 'MODULE_PATHNAME', 'stream_engine_hop';
CREATE FUNCTION @extschema@.hop(ts timestamp, slide interval, size interval, shift interval DEFAULT '0', timezone text DEFAULT NULL,
        OUT window_start timestamp, OUT window_end timestamp, OUT window_time timestamp)
    RETURNS SETOF record LANGUAGE c IMMUTABLE PARALLEL SAFE ROWS 5 AS 'MODULE_PATHNAME', 'stream_engine_hop';
CREATE FUNCTION @extschema@.cumulate(ts timestamptz, step interval, size interval, shift interval DEFAULT '0', timezone text DEFAULT NULL,
        OUT window_start timestamptz, OUT window_end timestamptz, OUT window_time timestamptz)
    RETURNS SETOF record LANGUAGE c STABLE PARALLEL SAFE ROWS 5 AS 'MODULE_PATHNAME', 'stream_engine_cumulate';
CREATE FUNCTION @extschema@.cumulate(ts timestamp, step interval, size interval, shift interval DEFAULT '0', timezone text DEFAULT NULL,
        OUT window_start timestamp, OUT window_end timestamp, OUT window_time timestamp)
    RETURNS SETOF record LANGUAGE c IMMUTABLE PARALLEL SAFE ROWS 5 AS 'MODULE_PATHNAME', 'stream_engine_cumulate';
-- Only continuous queries can compute sessions and count windows.
CREATE FUNCTION @extschema@.session(ts timestamptz, gap interval,
        OUT window_start timestamptz, OUT window_end timestamptz, OUT window_time timestamptz)
    RETURNS SETOF record LANGUAGE c IMMUTABLE PARALLEL SAFE ROWS 1 AS 'MODULE_PATHNAME', 'stream_engine_session';
CREATE FUNCTION @extschema@.session(ts timestamp, gap interval,
        OUT window_start timestamp, OUT window_end timestamp, OUT window_time timestamp)
    RETURNS SETOF record LANGUAGE c IMMUTABLE PARALLEL SAFE ROWS 1 AS 'MODULE_PATHNAME', 'stream_engine_session';
CREATE FUNCTION @extschema@.count_window(size bigint, slide bigint DEFAULT NULL, OUT window_id bigint)
    RETURNS SETOF bigint LANGUAGE c IMMUTABLE PARALLEL SAFE ROWS 1 AS 'MODULE_PATHNAME', 'stream_engine_count_window';


-- ------------------------------------------------------------------ control

CREATE FUNCTION stream_engine.stop(view regclass) RETURNS void
    LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'stream_engine_stop';
CREATE FUNCTION stream_engine.start(view regclass, skip text DEFAULT NULL) RETURNS void
    LANGUAGE c AS 'MODULE_PATHNAME', 'stream_engine_start';
CREATE FUNCTION stream_engine.resume_restored(view regclass, mode text,
        OUT stream regclass, OUT "position" text, OUT commit_time timestamptz, OUT watermark timestamptz)
    RETURNS SETOF record LANGUAGE c AS 'MODULE_PATHNAME', 'stream_engine_resume_restored';
COMMENT ON FUNCTION stream_engine.resume_restored(regclass, text) IS
    'a view that came out of a dump, a copied database or pg_upgrade runs again: ''continue'' from its state, or ''restart'' from nothing';
CREATE FUNCTION stream_engine.drain(leave_out_stopped bool DEFAULT false) RETURNS void
    LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'stream_engine_drain';
CREATE FUNCTION stream_engine.undrain() RETURNS void
    LANGUAGE c AS 'MODULE_PATHNAME', 'stream_engine_undrain';
COMMENT ON FUNCTION stream_engine.drain(bool) IS
    'the streams of this database take no more rows until undrain(); returns when all views reflect all rows there are';
COMMENT ON FUNCTION stream_engine.undrain() IS
    'the streams of this database take rows again';
CREATE FUNCTION stream_engine.wait_for(view regclass, lsn pg_lsn, timeout interval DEFAULT NULL) RETURNS void
    LANGUAGE c AS 'MODULE_PATHNAME', 'stream_engine_wait_for';
CREATE FUNCTION stream_engine.wait_state(view regclass, state text, timeout interval DEFAULT NULL) RETURNS void
    LANGUAGE c AS 'MODULE_PATHNAME', 'stream_engine_wait_state';
CREATE FUNCTION stream_engine.is_final(view regclass, window_end timestamptz) RETURNS bool
    LANGUAGE c STRICT STABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'stream_engine_is_final';
CREATE FUNCTION stream_engine.is_final(view regclass, window_end timestamp) RETURNS bool
    LANGUAGE c STRICT STABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'stream_engine_is_final';
COMMENT ON FUNCTION stream_engine.is_final(regclass, timestamptz) IS
    'will the rows of a window never change again, as of the commit of the view that this query sees?';
COMMENT ON FUNCTION stream_engine.is_final(regclass, timestamp) IS
    'the same for a stream whose event time is a timestamp';
CREATE FUNCTION stream_engine.view_options(OUT name text, OUT type text, OUT default_value text, OUT allowed text, OUT help text)
    RETURNS SETOF record LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'stream_engine_view_options';
COMMENT ON FUNCTION stream_engine.view_options() IS 'the options of a continuous view''s WITH clause';
CREATE FUNCTION stream_engine.options_in_effect(asked text[], moved text[]) RETURNS text[]
    LANGUAGE c STRICT IMMUTABLE AS 'MODULE_PATHNAME', 'stream_engine_options_in_effect';
COMMENT ON FUNCTION stream_engine.options_in_effect(text[], text[]) IS
    'a view''s options as they count where it stands, of what was asked for and what its position says; see the view jobs';
CREATE FUNCTION stream_engine.explain(query text) RETURNS SETOF text
    LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'stream_engine_explain';
COMMENT ON FUNCTION stream_engine.explain(text) IS
    'the dataflow of a continuous view (its name) or of a query, as a tree; of a running view with live counters';


-- ------------------------------------------------------------------ monitoring

CREATE FUNCTION stream_engine.settings(OUT name text, OUT type text, OUT unit text, OUT default_value text,
        OUT context text, OUT help text)
    RETURNS SETOF record LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'stream_engine_settings';

-- What the job slots in shared memory say (monitor/live.c). The views below are for people.
CREATE FUNCTION stream_engine.live_jobs(
        OUT job oid, OUT state text, OUT pid int, OUT attempt bigint, OUT failures int, OUT restart_at timestamptz,
        OUT error_sqlstate text, OUT error text,
        OUT read_lsn pg_lsn, OUT reflected_lsn pg_lsn, OUT restart_lsn pg_lsn, OUT announced_lsn pg_lsn,
        OUT watermark timestamptz,
        OUT rows_in bigint, OUT rows_out bigint, OUT rows_not_taken bigint, OUT rows_retired bigint,
        OUT late_rows bigint, OUT late_pairs bigint, OUT error_rows bigint,
        OUT pending_rows bigint, OUT skipped_transactions bigint,
        OUT state_bytes bigint, OUT state_entries bigint, OUT stored_bytes bigint,
        OUT commits bigint, OUT commit_time interval, OUT written_bytes bigint,
        OUT last_commit timestamptz, OUT last_commit_time interval, OUT last_written_bytes bigint,
        OUT latency interval, OUT source_time timestamptz, OUT busy_time interval, OUT idle boolean)
    RETURNS SETOF record LANGUAGE c STRICT VOLATILE AS 'MODULE_PATHNAME', 'stream_engine_live_jobs';
CREATE FUNCTION stream_engine.live_operators(
        OUT job oid, OUT operator int, OUT kind text, OUT rows_in bigint, OUT rows_out bigint,
        OUT watermark timestamptz, OUT state_bytes bigint, OUT state_entries bigint)
    RETURNS SETOF record LANGUAGE c STRICT VOLATILE AS 'MODULE_PATHNAME', 'stream_engine_live_operators';
CREATE FUNCTION stream_engine.wal_needed_from("position" bytea) RETURNS pg_lsn
    LANGUAGE c STRICT IMMUTABLE AS 'MODULE_PATHNAME', 'stream_engine_wal_needed_from';
COMMENT ON FUNCTION stream_engine.wal_needed_from(bytea) IS 'where reading begins from a stored position of a source; NULL if it needs no WAL';
CREATE FUNCTION stream_engine.why_waiting() RETURNS text
    LANGUAGE c STRICT VOLATILE AS 'MODULE_PATHNAME', 'stream_engine_why_waiting';
CREATE FUNCTION stream_engine.describe_position("position" bytea) RETURNS text
    LANGUAGE c STRICT IMMUTABLE AS 'MODULE_PATHNAME', 'stream_engine_describe_position';
-- Where streams and views are in time (monitor/watermarks.c).
CREATE FUNCTION stream_engine.describe_time("position" bytea, OUT watermark timestamptz, OUT by_proctime bool)
    LANGUAGE c STRICT IMMUTABLE AS 'MODULE_PATHNAME', 'stream_engine_describe_time';
CREATE FUNCTION stream_engine.describe_moment(stream oid, watermark timestamptz) RETURNS timestamptz
    LANGUAGE c STRICT STABLE AS 'MODULE_PATHNAME', 'stream_engine_describe_moment';
COMMENT ON FUNCTION stream_engine.describe_time(bytea) IS 'the watermark at a stored position of a source, and whether it is one of processing time';
COMMENT ON FUNCTION stream_engine.describe_moment(oid, timestamptz) IS 'a stream''s watermark as the moment it is, also if its event time is a timestamp';
-- What the log holds of the streams (monitor/streams.c).
CREATE FUNCTION stream_engine.retained_from() RETURNS pg_lsn
    LANGUAGE c STRICT VOLATILE AS 'MODULE_PATHNAME', 'stream_engine_retained_from';
CREATE FUNCTION stream_engine.count_retained(OUT stream oid, OUT rows bigint, OUT bytes bigint, OUT oldest timestamptz)
    RETURNS SETOF record LANGUAGE c STRICT STABLE COST 1000000 AS 'MODULE_PATHNAME', 'stream_engine_count_retained';
COMMENT ON FUNCTION stream_engine.retained_from() IS 'the oldest WAL that can be read';
COMMENT ON FUNCTION stream_engine.count_retained() IS 'reads the retained WAL and counts the rows of each stream; see the view streams';
COMMENT ON FUNCTION stream_engine.live_jobs() IS 'counters of the jobs of this database; see the views jobs, sources, checkpoints';
COMMENT ON FUNCTION stream_engine.why_waiting() IS 'what the server lacks for the jobs of this database that wait without a worker';
COMMENT ON FUNCTION stream_engine.live_operators() IS 'counters of operators; see the view operators';
COMMENT ON FUNCTION stream_engine.describe_position(bytea) IS 'a stored position of a source, for people';

-- As in pg_stat_activity, everybody sees that a job is there, whose it is and in which process; the rest is for its owner
-- and pg_read_all_stats.
CREATE VIEW stream_engine.jobs WITH (security_barrier) AS
    SELECT j.job::regclass AS view, d.state, c.relowner::regrole AS owner, l.pid, d.attempt, d.failures, l.restart_at,
           l.error_sqlstate, d.error, d.rows_in, d.rows_out, d.rows_not_taken, d.rows_retired, d.late_rows, d.late_pairs, d.error_rows,
           d.pending_rows, d.state_bytes, d.state_entries, d.watermark, l.latency, l.busy_time,
           nullif(pg_catalog.pg_blocking_pids(l.pid), '{}') AS blocked_by,
           d.options, n.options AS next_options, n.lsn AS next_options_lsn
    FROM stream_engine.job_catalog j
         JOIN pg_catalog.pg_class c ON c.oid = j.job
         LEFT JOIN stream_engine.live_jobs() l ON l.job = j.job
         CROSS JOIN stream_engine.why_waiting() w(why)
         LEFT JOIN LATERAL (
             SELECT coalesce(l.state, CASE WHEN j.goal = 's' THEN 'stopped' WHEN j.goal = 'f' THEN 'failed'
                                           WHEN w.why IS NOT NULL THEN 'waiting' ELSE 'starting' END) AS state,
                    coalesce(CASE WHEN l.state = 'dormant' THEN 'it came from a dump or another database, cluster or version; '
                                      'see stream_engine.resume_restored' END,
                             l.error, CASE WHEN l.job IS NULL AND j.goal = 'r' THEN w.why END) AS error,
                    coalesce(l.attempt, max(p.attempt)) AS attempt, coalesce(l.failures, 0) AS failures,
                    greatest(l.rows_in, sum(p.rows_in)::bigint, 0) AS rows_in,
                    greatest(l.rows_out, max(p.rows_out), 0) AS rows_out,
                    coalesce(l.rows_not_taken, 0) AS rows_not_taken, coalesce(l.rows_retired, 0) AS rows_retired,
                    greatest(l.late_rows, max(p.late_rows), 0) AS late_rows,
                    greatest(l.late_pairs, max(p.late_pairs), 0) AS late_pairs,
                    greatest(l.error_rows, max(p.error_rows), 0) AS error_rows,
                    coalesce(l.pending_rows, 0) AS pending_rows,
                    coalesce(l.watermark, min((stream_engine.describe_time(p."position")).watermark)) AS watermark,
                    coalesce(l.state_bytes, 0) AS state_bytes, coalesce(l.state_entries, 0) AS state_entries,
                    stream_engine.options_in_effect(j.options, coalesce(min(p.options), '{}')) AS options
             FROM stream_engine.job_positions p WHERE p.job = j.job
             HAVING pg_has_role(c.relowner, 'USAGE') OR pg_has_role('pg_read_all_stats', 'USAGE')) d ON true
         LEFT JOIN LATERAL (
             SELECT j.options, j.options_lsn AS lsn WHERE NOT (d.options @> j.options AND d.options <@ j.options)) n ON true;

CREATE VIEW stream_engine.operators WITH (security_barrier) AS
    SELECT l.job::regclass AS view, l.operator, l.kind, l.rows_in, l.rows_out, l.watermark, l.state_bytes, l.state_entries
    FROM stream_engine.live_operators() l
    ORDER BY l.job, l.operator;

-- Which streams a continuous view reads, through whatever plain views. For the views below; not for people.
CREATE VIEW stream_engine.job_streams AS
    WITH RECURSIVE reads(job, relation) AS (
        SELECT job, definition::oid FROM stream_engine.job_catalog
        UNION
        SELECT r.job, d.refobjid
        FROM reads r
             JOIN pg_catalog.pg_rewrite w ON w.ev_class = r.relation
             JOIN pg_catalog.pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = w.oid
                  AND d.refclassid = 'pg_class'::regclass)
    SELECT r.job, r.relation AS stream FROM reads r JOIN pg_catalog.pg_class t ON t.oid = r.relation AND t.relkind = 'f';

CREATE VIEW stream_engine.sources WITH (security_barrier) AS
    SELECT j.job::regclass AS view, p.unit, p.source, s.stream,
           stream_engine.describe_position(p."position") AS "position",
           l.read_lsn, l.reflected_lsn, k.lsn AS restart_lsn,
           CASE WHEN l.reflected_lsn IS NOT NULL THEN greatest(pg_wal_lsn_diff(n.lsn, l.reflected_lsn), 0)::bigint END AS lag_bytes,
           CASE WHEN l.reflected_lsn IS NULL THEN NULL
                WHEN l.reflected_lsn >= l.announced_lsn OR l.announced_lsn IS NULL THEN interval '0'
                ELSE greatest(clock_timestamp() - l.source_time, interval '0') END AS lag_time,
           greatest(pg_wal_lsn_diff(n.lsn, k.lsn), 0)::bigint AS retained_bytes,
           w.pid AS oldest_writer, w.xact_start AS oldest_writer_since,
           coalesce(l.watermark, t.watermark) AS watermark, l.idle, p.rows_in, p.late_rows, p.late_pairs, p.error_rows, l.skipped_transactions
    FROM stream_engine.job_catalog j
         JOIN pg_catalog.pg_class c ON c.oid = j.job
         JOIN stream_engine.job_positions p ON p.job = j.job
         LEFT JOIN stream_engine.live_jobs() l ON l.job = j.job
         CROSS JOIN LATERAL stream_engine.describe_time(p."position") t
         CROSS JOIN LATERAL (
             SELECT CASE WHEN l.state IS DISTINCT FROM 'dormant' THEN stream_engine.wal_needed_from(p."position") END AS lsn) k
         LEFT JOIN (
             SELECT r.job, min(r.stream)::regclass AS stream FROM stream_engine.job_streams r GROUP BY r.job
             HAVING count(*) = 1) s ON s.job = j.job
         LEFT JOIN LATERAL (
             SELECT k.pid, a.xact_start
             FROM pg_catalog.pg_locks k LEFT JOIN pg_catalog.pg_stat_activity a ON a.pid = k.pid
             WHERE k.locktype = 'relation' AND k.relation = s.stream AND k.mode = 'RowExclusiveLock' AND k.granted
               AND k.database = (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database())
             ORDER BY a.xact_start NULLS FIRST LIMIT 1) w ON true
         CROSS JOIN (SELECT CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END AS lsn) n
    WHERE pg_has_role(c.relowner, 'USAGE') OR pg_has_role('pg_read_all_stats', 'USAGE');

-- "rows", bytes and oldest_row are counted by reading the WAL, which a query that leaves them out is spared: the planner
-- removes a join to a grouped subquery of which nothing is used.
CREATE VIEW stream_engine.streams WITH (security_barrier) AS
    SELECT c.oid::regclass AS stream, c.relowner::regrole AS owner,
           coalesce(n.rows, 0) AS rows, coalesce(n.bytes, 0) AS bytes, n.oldest AS oldest_row,
           greatest(b.since, stream_engine.retained_from()) AS oldest_lsn,
           v.views,
           greatest(pg_wal_lsn_diff(e.lsn, v.restart_lsn), 0)::bigint AS kept_wal,
           w.pid AS oldest_writer, w.since AS oldest_writer_since, w.gid AS oldest_writer_prepared
    FROM pg_catalog.pg_foreign_table t
         JOIN pg_catalog.pg_class c ON c.oid = t.ftrelid
         JOIN pg_catalog.pg_foreign_server s ON s.oid = t.ftserver
         JOIN pg_catalog.pg_foreign_data_wrapper f ON f.oid = s.srvfdw AND f.fdwname = 'stream_engine'
         LEFT JOIN (
             SELECT stream, sum(rows)::bigint AS rows, sum(bytes)::bigint AS bytes, min(oldest) AS oldest
             FROM stream_engine.count_retained() GROUP BY stream) n ON n.stream = c.oid
         LEFT JOIN (
             SELECT stream, min(since) AS since FROM stream_engine.stream_layouts GROUP BY stream) b ON b.stream = c.oid
         LEFT JOIN LATERAL (
             SELECT array_agg(r.job::regclass ORDER BY r.job::text) AS views, min(k.lsn) AS restart_lsn
             FROM stream_engine.job_streams r
                  LEFT JOIN stream_engine.live_jobs() l ON l.job = r.job
                  LEFT JOIN LATERAL (
                      SELECT min(stream_engine.wal_needed_from(p."position")) AS lsn
                      FROM stream_engine.job_positions p
                      WHERE p.job = r.job AND l.state IS DISTINCT FROM 'dormant') k ON true
             WHERE r.stream = c.oid) v ON true
         LEFT JOIN LATERAL (
             SELECT k.pid, coalesce(a.xact_start, x.prepared) AS since, x.gid
             FROM pg_catalog.pg_locks k
                  LEFT JOIN pg_catalog.pg_stat_activity a ON a.pid = k.pid
                  LEFT JOIN LATERAL (
                      SELECT p.gid, p.prepared
                      FROM pg_catalog.pg_locks o JOIN pg_catalog.pg_prepared_xacts p ON p.transaction = o.transactionid
                      WHERE k.pid IS NULL AND o.pid IS NULL AND o.locktype = 'transactionid'
                        AND o.virtualtransaction = k.virtualtransaction LIMIT 1) x ON true
             WHERE k.locktype = 'relation' AND k.relation = c.oid AND k.mode = 'RowExclusiveLock' AND k.granted
               AND k.database = (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database())
             ORDER BY 2 NULLS FIRST LIMIT 1) w ON true
         CROSS JOIN (SELECT CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END AS lsn) e
    WHERE pg_has_role(c.relowner, 'USAGE') OR pg_has_role('pg_read_all_stats', 'USAGE');

-- One row per stream and view that reads it; one without a reader for a stream that nobody reads.
CREATE VIEW stream_engine.watermarks WITH (security_barrier) AS
    SELECT s.stream, r.reader, m.watermark,
           CASE WHEN isfinite(m.watermark) THEN clock_timestamp() - m.watermark END AS lag, r.idle,
           CASE WHEN r.reader IS NULL THEN 'nobody reads the stream'
                WHEN r.state IS DISTINCT FROM 'running' THEN 'the view does not run: ' || r.state
                WHEN r.behind THEN 'rows that the view has not read yet'
                WHEN m.watermark = 'infinity' THEN NULL   -- the input has ended
                WHEN r.by_proctime THEN 'processing time: it goes on with the clock'
                WHEN r.idle AND s.max_delay IS NOT NULL
                     THEN format('no newer rows: the stream is idle, and goes on with the clock, %s behind', s.max_delay)
                WHEN r.idle AND s.idle_action = 'advance' AND m.watermark IS NOT NULL
                     THEN 'no newer rows: the stream is idle, and goes on with the clock'
                WHEN r.idle THEN 'no newer rows: the stream is idle'
                WHEN w.gid IS NOT NULL THEN format('no newer rows but those of the prepared transaction %L', w.gid)
                WHEN w.pid IS NOT NULL THEN format('no newer rows but those of the open transaction of process %s', w.pid)
                WHEN s.max_delay IS NOT NULL THEN format('no newer rows: it goes on with the clock, %s behind', s.max_delay)
                WHEN NOT s.has_watermark THEN 'the stream has no option watermark: emit_watermark alone moves it'
                ELSE 'no newer rows' END AS held_back_by
    FROM (SELECT t.ftrelid::regclass AS stream, c.relowner,
                 EXISTS (SELECT FROM pg_catalog.pg_options_to_table(t.ftoptions) WHERE option_name = 'watermark') AS has_watermark,
                 (SELECT option_value FROM pg_catalog.pg_options_to_table(t.ftoptions) WHERE option_name = 'max_delay') AS max_delay,
                 (SELECT option_value FROM pg_catalog.pg_options_to_table(t.ftoptions) WHERE option_name = 'idle_action') AS idle_action
          FROM pg_catalog.pg_foreign_table t
               JOIN pg_catalog.pg_class c ON c.oid = t.ftrelid
               JOIN pg_catalog.pg_foreign_server v ON v.oid = t.ftserver
               JOIN pg_catalog.pg_foreign_data_wrapper f ON f.oid = v.srvfdw AND f.fdwname = 'stream_engine') s
         LEFT JOIN (
             SELECT x.stream, j.job::regclass AS reader, c.relowner, d.state, coalesce(l.watermark, t.watermark) AS watermark,
                    t.by_proctime, l.idle, l.reflected_lsn < l.announced_lsn AS behind
             FROM stream_engine.job_catalog j
                  JOIN pg_catalog.pg_class c ON c.oid = j.job
                  JOIN stream_engine.job_streams x ON x.job = j.job
                  JOIN stream_engine.job_positions p ON p.job = j.job
                  LEFT JOIN stream_engine.live_jobs() l ON l.job = j.job
                  LEFT JOIN stream_engine.jobs d ON d.view = j.job
                  CROSS JOIN LATERAL stream_engine.describe_time(p."position") t
             WHERE pg_has_role(c.relowner, 'USAGE') OR pg_has_role('pg_read_all_stats', 'USAGE')) r ON r.stream = s.stream
         LEFT JOIN LATERAL (
             SELECT CASE WHEN r.by_proctime THEN r.watermark ELSE stream_engine.describe_moment(s.stream, r.watermark) END) m(watermark) ON true
         LEFT JOIN LATERAL (
             SELECT o.oldest_writer AS pid, o.oldest_writer_prepared AS gid FROM stream_engine.streams o
             WHERE o.stream = s.stream) w ON true
    WHERE r.reader IS NOT NULL
          OR (pg_has_role(s.relowner, 'USAGE') OR pg_has_role('pg_read_all_stats', 'USAGE'))
             AND NOT EXISTS (SELECT FROM stream_engine.job_streams x WHERE x.stream = s.stream);

CREATE VIEW stream_engine.dropped_rows WITH (security_barrier) AS
    SELECT d.stream, d.reason, sum(d.rows)::bigint AS rows, min(d.first) AS first, max(d.last) AS last
    FROM stream_engine.dropped_row_counts d JOIN pg_catalog.pg_class c ON c.oid = d.stream
    WHERE pg_has_role(c.relowner, 'USAGE') OR pg_has_role('pg_read_all_stats', 'USAGE')
    GROUP BY d.stream, d.reason;

CREATE VIEW stream_engine.checkpoints WITH (security_barrier) AS
    SELECT j.job::regclass AS view, p.unit, p.attempt, p.last_chunk,
           l.commits, l.commit_time, l.written_bytes,
           l.last_commit, l.last_commit_time, l.last_written_bytes, l.stored_bytes,
           t.dead_bytes, t.last_vacuum
    FROM stream_engine.job_catalog j
         JOIN pg_catalog.pg_class c ON c.oid = j.job
         JOIN LATERAL (
             SELECT unit, max(attempt) AS attempt, max(chunk_seq) AS last_chunk
             FROM stream_engine.job_positions WHERE job = j.job GROUP BY unit) p ON true
         LEFT JOIN stream_engine.live_jobs() l ON l.job = j.job
         CROSS JOIN (
             SELECT (pg_stat_get_dead_tuples(oid) * (pg_relation_size(oid)
                     / greatest(pg_stat_get_dead_tuples(oid) + pg_stat_get_live_tuples(oid), 1))) AS dead_bytes,
                    greatest(pg_stat_get_last_vacuum_time(oid), pg_stat_get_last_autovacuum_time(oid)) AS last_vacuum
             FROM pg_catalog.pg_class WHERE oid = 'stream_engine.state_chunks'::regclass) t
    WHERE pg_has_role(c.relowner, 'USAGE') OR pg_has_role('pg_read_all_stats', 'USAGE');

CREATE VIEW stream_engine.errors WITH (security_barrier) AS
    SELECT e.job AS view, e.seq, e.at, e.attempt, e.sqlstate, e.message, e.detail, e."position", e."row"
    FROM stream_engine.job_errors e
         JOIN pg_catalog.pg_class c ON c.oid = e.job
    WHERE pg_has_role(c.relowner, 'USAGE') OR pg_has_role('pg_read_all_stats', 'USAGE');

-- Whole rows: for the owner of the view, or of the stream that refused the row.
CREATE VIEW stream_engine.dead_letters WITH (security_barrier) AS
    SELECT d.id, CASE WHEN d.relation::oid <> d.stream::oid THEN d.relation::regclass END AS view, d.stream::regclass AS stream,
           d."position", d.ordinal, d.arrived, d.reason, d.sqlstate, d.message, d.detail, d."row"
    FROM stream_engine.dead_letter_rows d
         JOIN pg_catalog.pg_class c ON c.oid = d.relation
    WHERE pg_has_role(c.relowner, 'USAGE');

CREATE FUNCTION stream_engine.delete_dead_letters(relation regclass, up_to bigint DEFAULT NULL) RETURNS bigint
    LANGUAGE c AS 'MODULE_PATHNAME', 'stream_engine_delete_dead_letters';
COMMENT ON FUNCTION stream_engine.delete_dead_letters(regclass, bigint) IS
    'deletes the dead letters of a view or stream, up to an id if one is given, and returns how many; for its owner';

GRANT SELECT ON stream_engine.jobs, stream_engine.operators, stream_engine.sources, stream_engine.streams,
    stream_engine.checkpoints, stream_engine.errors, stream_engine.dead_letters, stream_engine.dropped_rows,
    stream_engine.watermarks TO PUBLIC;
