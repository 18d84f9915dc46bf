-- A REFRESH whose commit fills the output more than once does not wait for the next commit's time; nor does a stop.
CREATE FOREIGN TABLE s (id int) SERVER stream_engine;
CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous, stream_engine.checkpoint_interval = '5min') AS
    SELECT id, count(*) AS c FROM s GROUP BY id;
-- when this one is done, that one has most likely read all and sleeps
CREATE MATERIALIZED VIEW slower WITH (stream_engine.continuous) AS SELECT sum(length(md5(repeat(id::text, 300)))) FROM s;
INSERT INTO s SELECT generate_series(1, 205000);
REFRESH MATERIALIZED VIEW slower;
SET statement_timeout = '60s';
REFRESH MATERIALIZED VIEW v;
SELECT count(*), sum(c) FROM v;
INSERT INTO s SELECT generate_series(5001, 210000);
REFRESH MATERIALIZED VIEW slower;
SELECT stream_engine.stop('v');
SELECT stream_engine.wait_state('v', 'stopped');
SELECT count(*), sum(c) FROM v;
