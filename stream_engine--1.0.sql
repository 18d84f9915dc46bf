/* stream_engine--1.0.sql: everything SQL sees. Sections follow docs/: catalog, streams, windows, views, control, monitoring. */

\echo Use "CREATE EXTENSION stream_engine" to load this file. \quit

CREATE SCHEMA stream_engine;
GRANT USAGE ON SCHEMA stream_engine TO PUBLIC;

-- Definition views of continuous views: PostgreSQL tracks their dependencies for us.
CREATE SCHEMA stream_engine_definitions;
GRANT USAGE ON SCHEMA stream_engine_definitions TO PUBLIC;


-- ------------------------------------------------------------------ catalog

-- One row per continuous view (meta/jobs.c).
CREATE TABLE stream_engine.job_catalog (
    job               regclass PRIMARY KEY,      -- result table
    definition        regclass NOT NULL,         -- definition view
    goal              "char" NOT NULL,           -- r = run, s = stopped by a person, f = failed
    options           text[] NOT NULL,           -- name=value
    settings          text[] NOT NULL,           -- name=value, of the creating session (N20)
    system_identifier bigint NOT NULL,           -- identity (N16)
    database_oid      oid NOT NULL,
    job_oid           oid NOT NULL,
    pg_major          int NOT NULL
);

-- One row per source of a unit, moved in the commit that holds everything derived from it (I8).
CREATE TABLE stream_engine.job_positions (
    job         regclass NOT NULL,
    unit        int NOT NULL,
    source      int NOT NULL,
    attempt     bigint NOT NULL,
    position    bytea NOT NULL,
    fingerprint bigint NOT NULL,
    chunk_seq   bigint NOT NULL,
    rows_in     bigint NOT NULL,
    rows_out    bigint NOT NULL,
    late_rows   bigint NOT NULL,
    late_pairs  bigint NOT NULL,
    skip        text[],
    PRIMARY KEY (job, unit, source)
) WITH (fillfactor = 30);
ALTER TABLE stream_engine.job_positions ALTER position SET STORAGE PLAIN;

-- Operator state, packed (checkpoint/store.c).
CREATE TABLE stream_engine.state_chunks (
    job   regclass NOT NULL,
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

REVOKE ALL ON ALL TABLES IN SCHEMA stream_engine FROM PUBLIC;


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

CREATE FUNCTION @extschema@.proctime() RETURNS timestamptz
    LANGUAGE c STABLE PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'stream_engine_proctime';
COMMENT ON FUNCTION @extschema@.proctime() IS
    'in a query over a stream: the time the row''s transaction committed, never going back in log order';


-- ------------------------------------------------------------------ windows

CREATE FUNCTION @extschema@.tumble(ts timestamptz, size interval, shift interval DEFAULT '0', timezone text DEFAULT NULL,
        OUT window_start timestamptz, OUT window_end timestamptz, OUT window_time timestamptz)
    RETURNS SETOF record LANGUAGE c IMMUTABLE PARALLEL SAFE ROWS 1 AS 'MODULE_PATHNAME', 'stream_engine_tumble';
CREATE FUNCTION @extschema@.tumble(ts timestamp, size interval, shift interval DEFAULT '0', timezone text DEFAULT NULL,
        OUT window_start timestamp, OUT window_end timestamp, OUT window_time timestamp)
    RETURNS SETOF record LANGUAGE c IMMUTABLE PARALLEL SAFE ROWS 1 AS 'MODULE_PATHNAME', 'stream_engine_tumble';
CREATE FUNCTION @extschema@.hop(ts timestamptz, slide interval, size interval, shift interval DEFAULT '0', timezone text DEFAULT NULL,
        OUT window_start timestamptz, OUT window_end timestamptz, OUT window_time timestamptz)
    RETURNS SETOF record LANGUAGE c IMMUTABLE PARALLEL SAFE ROWS 5 AS 'MODULE_PATHNAME', 'stream_engine_hop';
CREATE FUNCTION @extschema@.hop(ts timestamp, slide interval, size interval, shift interval DEFAULT '0', timezone text DEFAULT NULL,
        OUT window_start timestamp, OUT window_end timestamp, OUT window_time timestamp)
    RETURNS SETOF record LANGUAGE c IMMUTABLE PARALLEL SAFE ROWS 5 AS 'MODULE_PATHNAME', 'stream_engine_hop';
CREATE FUNCTION @extschema@.cumulate(ts timestamptz, step interval, size interval, shift interval DEFAULT '0', timezone text DEFAULT NULL,
        OUT window_start timestamptz, OUT window_end timestamptz, OUT window_time timestamptz)
    RETURNS SETOF record LANGUAGE c IMMUTABLE PARALLEL SAFE ROWS 5 AS 'MODULE_PATHNAME', 'stream_engine_cumulate';
CREATE FUNCTION @extschema@.cumulate(ts timestamp, step interval, size interval, shift interval DEFAULT '0', timezone text DEFAULT NULL,
        OUT window_start timestamp, OUT window_end timestamp, OUT window_time timestamp)
    RETURNS SETOF record LANGUAGE c IMMUTABLE PARALLEL SAFE ROWS 5 AS 'MODULE_PATHNAME', 'stream_engine_cumulate';
-- Only continuous queries can compute these two (later); the signatures are final.
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
CREATE FUNCTION stream_engine.wait_for(view regclass, lsn pg_lsn, timeout interval DEFAULT NULL) RETURNS void
    LANGUAGE c AS 'MODULE_PATHNAME', 'stream_engine_wait_for';
CREATE FUNCTION stream_engine.wait_state(view regclass, state text, timeout interval DEFAULT NULL) RETURNS void
    LANGUAGE c AS 'MODULE_PATHNAME', 'stream_engine_wait_state';
CREATE FUNCTION stream_engine.view_options(OUT name text, OUT type text, OUT default_value text, OUT allowed text, OUT help text)
    RETURNS SETOF record LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'stream_engine_view_options';
COMMENT ON FUNCTION stream_engine.view_options() IS 'the options of a continuous view''s WITH clause';
CREATE FUNCTION stream_engine.explain(query text) RETURNS SETOF text
    LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'stream_engine_explain';
COMMENT ON FUNCTION stream_engine.explain(text) IS
    'the dataflow of a continuous view (its name) or of a query, as a tree; of a running view with live counters';


-- ------------------------------------------------------------------ monitoring

CREATE FUNCTION stream_engine.settings(OUT name text, OUT type text, OUT unit text, OUT default_value text,
        OUT context text, OUT help text)
    RETURNS SETOF record LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'stream_engine_settings';
