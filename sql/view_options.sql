-- The stream_engine.* options of a continuous view: values, their normal form, errors.
CREATE FOREIGN TABLE s (k int) SERVER stream_engine;
SELECT name, type, default_value, allowed FROM stream_engine.view_options() ORDER BY name;

CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous, stream_engine.start = earliest,
    stream_engine.checkpoint_interval = '2s', stream_engine.state_memory = '64MB', stream_engine.on_error = 'STOP',
    stream_engine.restart = none, stream_engine.parallelism = 1) AS SELECT k FROM s;
SELECT options FROM stream_engine.job_catalog;

CREATE MATERIALIZED VIEW w WITH (stream_engine.continuous, stream_engine.bogus = 1) AS SELECT k FROM s;
CREATE MATERIALIZED VIEW w WITH (stream_engine.continuous, stream_engine.start) AS SELECT k FROM s;
CREATE MATERIALIZED VIEW w WITH (stream_engine.continuous, stream_engine.start = 'tomorrow') AS SELECT k FROM s;
CREATE MATERIALIZED VIEW w WITH (stream_engine.continuous, stream_engine.start = now, stream_engine.start = now) AS SELECT k FROM s;
CREATE MATERIALIZED VIEW w WITH (stream_engine.continuous, stream_engine.checkpoint_interval = 0) AS SELECT k FROM s;
CREATE MATERIALIZED VIEW w WITH (stream_engine.continuous, stream_engine.checkpoint_interval = '5 parsec') AS SELECT k FROM s;
CREATE MATERIALIZED VIEW w WITH (stream_engine.continuous, stream_engine.parallelism = 2) AS SELECT k FROM s;
CREATE MATERIALIZED VIEW w WITH (stream_engine.continuous, stream_engine.on_error = ignore) AS SELECT k FROM s;
CREATE MATERIALIZED VIEW w WITH (stream_engine.continuous = maybe) AS SELECT k FROM s;
CREATE MATERIALIZED VIEW w WITH (stream_engine.continuous = false) AS SELECT k FROM s;
CREATE MATERIALIZED VIEW w WITH (stream_engine.start = now) AS SELECT k FROM s;
CREATE MATERIALIZED VIEW w WITH (stream_engine.continuous, bogus = 1) AS SELECT k FROM s;

-- changing them
ALTER MATERIALIZED VIEW v SET (stream_engine.checkpoint_interval = 500, fillfactor = 90);
SELECT options, reloptions FROM stream_engine.job_catalog JOIN pg_class ON pg_class.oid = job;
ALTER MATERIALIZED VIEW v RESET (stream_engine.checkpoint_interval, stream_engine.state_memory);
ALTER TABLE v SET (stream_engine.on_error = stop);
SELECT options, reloptions FROM stream_engine.job_catalog JOIN pg_class ON pg_class.oid = job;
ALTER MATERIALIZED VIEW v SET (stream_engine.start = now);
ALTER MATERIALIZED VIEW v SET (stream_engine.bogus = now);
ALTER MATERIALIZED VIEW v RESET (stream_engine.bogus);
