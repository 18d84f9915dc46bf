-- CREATE MATERIALIZED VIEW … continuous makes an ordinary table of the query's columns.
CREATE FOREIGN TABLE bid (auction bigint, price numeric(10,2), channel varchar(20) COLLATE "C", at timestamptz OPTIONS (event_time 'true'))
    SERVER stream_engine OPTIONS (watermark 'at');

-- filter and project: a plain table; types, typmods and collations are the query's
CREATE MATERIALIZED VIEW plain WITH (stream_engine.continuous) AS
    SELECT auction, price, channel, price * 2 AS twice FROM bid WHERE price > 10;
\d plain

-- results that change: one row per group, room on the page
CREATE MATERIALIZED VIEW grouped WITH (stream_engine.continuous) AS
    SELECT channel, auction, count(*) AS bids FROM bid GROUP BY channel, auction;
\d+ grouped

-- windows: appended once, no index of ours
CREATE MATERIALIZED VIEW windowed WITH (stream_engine.continuous) AS
    SELECT window_start, channel, count(*) FROM bid, tumble(at, interval '1 minute') GROUP BY window_start, channel;
\d windowed

-- column names, schema, storage parameters, USING, TABLESPACE
CREATE SCHEMA other;
CREATE MATERIALIZED VIEW other.named (a, b) USING heap
    WITH (stream_engine.continuous, fillfactor = 50, autovacuum_enabled = false) TABLESPACE pg_default
    AS SELECT channel, count(*) FROM bid GROUP BY 1;
\d+ other.named
CREATE MATERIALIZED VIEW too_many (a, b, c) WITH (stream_engine.continuous) AS SELECT channel, price FROM bid;

-- fewer names than columns
CREATE MATERIALIZED VIEW first_named (a) WITH (stream_engine.continuous) AS SELECT channel, price FROM bid;
\d first_named

-- names that are taken
CREATE MATERIALIZED VIEW plain WITH (stream_engine.continuous) AS SELECT channel FROM bid;
CREATE MATERIALIZED VIEW IF NOT EXISTS plain WITH (stream_engine.continuous) AS SELECT channel FROM bid;
CREATE MATERIALIZED VIEW nowhere.plain WITH (stream_engine.continuous) AS SELECT channel FROM bid;
CREATE MATERIALIZED VIEW IF NOT EXISTS fresh WITH (stream_engine.continuous) AS SELECT channel FROM bid;

-- results must be as durable as the position
CREATE MATERIALIZED VIEW pg_temp.fleeting WITH (stream_engine.continuous) AS SELECT channel FROM bid;
CREATE UNLOGGED MATERIALIZED VIEW fleeting WITH (stream_engine.continuous) AS SELECT channel FROM bid;

-- from a function, and with text that is made up
DO $$ BEGIN
    CREATE MATERIALIZED VIEW in_block WITH (stream_engine.continuous) AS SELECT channel FROM bid;
    EXECUTE format('CREATE MATERIALIZED VIEW %I WITH (stream_engine.continuous) AS SELECT price FROM bid', 'Made Up');
END $$;

-- WITH NO DATA: made, not started
CREATE MATERIALIZED VIEW later WITH (stream_engine.continuous) AS SELECT channel FROM bid WITH NO DATA;

SELECT job, definition, goal, options FROM stream_engine.job_catalog ORDER BY job::text;
SELECT job, unit, source, length(position) FROM stream_engine.job_positions ORDER BY job::text;

-- without the option it is PostgreSQL's, and CREATE TABLE AS never is ours
CREATE TABLE nothing WITH (stream_engine.continuous) AS SELECT channel FROM bid;
