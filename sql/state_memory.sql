-- What a view holds is bounded: within the limit it works; above it the view fails with 53200 and says what to do, its
-- state is void, and with a higher limit it goes on from its last commit and is right.
CREATE FOREIGN TABLE s (k int, ts timestamptz OPTIONS (event_time 'true')) SERVER stream_engine;
-- groups that change, groups in windows, values that DISTINCT keeps, values kept for an ordered aggregate
CREATE MATERIALIZED VIEW groups WITH (stream_engine.continuous, stream_engine.state_memory = '1MB') AS
    SELECT k, count(*) AS c FROM s GROUP BY k HAVING count(*) > 1;
CREATE MATERIALIZED VIEW windows WITH (stream_engine.continuous, stream_engine.state_memory = '1MB') AS
    SELECT window_start, k, count(*) AS c FROM s, tumble(ts, '1 hour') GROUP BY window_start, k;
CREATE MATERIALIZED VIEW different WITH (stream_engine.continuous, stream_engine.state_memory = '1MB') AS
    SELECT count(DISTINCT k) AS c FROM s;
CREATE MATERIALIZED VIEW kept WITH (stream_engine.continuous, stream_engine.state_memory = '1MB') AS
    SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY k) AS p FROM s;
CREATE MATERIALIZED VIEW built WITH (stream_engine.continuous, stream_engine.state_memory = '1MB') AS
    SELECT length(string_agg(k::text, ',')) AS l FROM s;
CREATE MATERIALIZED VIEW bystander WITH (stream_engine.continuous, stream_engine.state_memory = '1MB') AS SELECT count(*) AS c FROM s;
CREATE TEMP TABLE views (v regclass);
INSERT INTO views VALUES ('groups'), ('windows'), ('different'), ('kept'), ('built');

-- within the limit
INSERT INTO s SELECT k, '2024-01-01' FROM generate_series(1, 1500) k;
SELECT format('REFRESH MATERIALIZED VIEW %s', v) FROM views
\gexec
SELECT view, state, state_bytes > 8000 AS counted, state_bytes <= 1024 * 1024 AS bounded FROM stream_engine.jobs WHERE view <> 'bystander'::regclass ORDER BY view::text;

-- above it
INSERT INTO s SELECT k, '2024-01-01' FROM generate_series(1001, 200000) k;
SELECT stream_engine.wait_state(v, 'failed') FROM views;
SELECT job, sqlstate, message FROM stream_engine.job_errors ORDER BY job::text;
REFRESH MATERIALIZED VIEW bystander;
SELECT * FROM bystander;
SELECT view, state, failures FROM stream_engine.jobs ORDER BY view::text;
-- again above it: no restart helps, none is tried
SELECT stream_engine.start('groups');
SELECT stream_engine.wait_state('groups', 'failed');
SELECT failures FROM stream_engine.jobs WHERE view = 'groups'::regclass;

-- with more
SELECT format('ALTER MATERIALIZED VIEW %s SET (stream_engine.state_memory = ''256MB'')', v) FROM views
\gexec
SELECT count(stream_engine.start(v)) FROM views;
SELECT stream_engine.emit_watermark('s', '2024-01-02');
SELECT format('REFRESH MATERIALIZED VIEW %s', v) FROM views
\gexec
SELECT count(*), min(k), max(k) FROM groups;
SELECT count(*), sum(c) FROM windows;
SELECT * FROM different;
SELECT * FROM kept;
SELECT l = (SELECT length(string_agg(k::text, ',')) FROM (SELECT generate_series(1, 1500) UNION ALL SELECT generate_series(1001, 200000)) x(k)) AS all_of_it FROM built;
