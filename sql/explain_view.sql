-- The plan of an existing view: as its definition says now, with live counters while it runs.
CREATE FOREIGN TABLE bid (auction bigint, price bigint, date_time timestamptz OPTIONS (event_time 'true'))
    SERVER stream_engine OPTIONS (watermark 'date_time');
CREATE SCHEMA results;
CREATE MATERIALIZED VIEW results."Per Auction" (a, n, top) WITH (stream_engine.continuous) AS
    SELECT auction, count(*), max(price) FROM bid WHERE price > 0 GROUP BY auction WITH NO DATA;
\pset format unaligned
\pset tuples_only on

-- stopped: no counters; by name, qualified or found in the search path
SELECT stream_engine.wait_state('results."Per Auction"', 'stopped', '60 s');
SELECT stream_engine.explain('results."Per Auction"');
SET search_path = results, public;
SELECT stream_engine.explain('"Per Auction"');
RESET search_path;
-- renames show
ALTER FOREIGN TABLE bid RENAME COLUMN price TO amount;
ALTER FOREIGN TABLE bid RENAME TO offer;
SELECT stream_engine.explain('results."Per Auction"');

-- what becomes of rows that are late, or raise errors
CREATE MATERIALIZED VIEW w WITH (stream_engine.continuous, stream_engine.late_output = late, stream_engine.on_error = dead_letter, stream_engine.retention = '1 day') AS
    SELECT window_end, count(*) FROM offer, tumble(date_time, '1 min') GROUP BY window_end WITH NO DATA;
ALTER TABLE late RENAME TO latecomers;
SELECT stream_engine.explain('w');
EXPLAIN CREATE MATERIALIZED VIEW w2 WITH (stream_engine.continuous, stream_engine.late_output = latecomers, stream_engine.on_error = skip) AS
    SELECT window_end, count(*) FROM offer, tumble(date_time, '1 min') GROUP BY window_end;
DROP MATERIALIZED VIEW w;

-- running: each node has counters
SELECT stream_engine.start('results."Per Auction"');
SELECT stream_engine.wait_state('results."Per Auction"', 'running', '60 s');
INSERT INTO offer VALUES (1, 10, '2020-01-01'), (2, 20, '2020-01-01 00:00:05'), (2, 0, '2020-01-01');
REFRESH MATERIALIZED VIEW results."Per Auction";
SELECT count(*) FILTER (WHERE l LIKE '%->%' OR l LIKE 'Table%') AS nodes,
       count(*) FILTER (WHERE l ~ ' rows (in|out)=\d+') AS counted,
       count(*) FILTER (WHERE l ~ ' state entries=\d+ bytes=\d+') AS with_state
FROM stream_engine.explain('results."Per Auction"') l;

CREATE ROLE plan_stranger;
GRANT USAGE ON SCHEMA results TO plan_stranger;
SET ROLE plan_stranger;
SELECT count(*) FILTER (WHERE l LIKE '%->%' OR l LIKE 'Table%') AS nodes, count(*) FILTER (WHERE l ~ ' rows (in|out)=\d+') AS counted
FROM stream_engine.explain('results."Per Auction"') l;
RESET ROLE;
GRANT SELECT ON results."Per Auction" TO plan_stranger;
SET ROLE plan_stranger;
SELECT count(*) FILTER (WHERE l LIKE '%->%' OR l LIKE 'Table%') AS nodes, count(*) FILTER (WHERE l ~ ' rows (in|out)=\d+') AS counted
FROM stream_engine.explain('results."Per Auction"') l;
RESET ROLE;
DROP OWNED BY plan_stranger;
DROP ROLE plan_stranger;

-- who may select from the view sees the plan, and constants are folded as the owner would
CREATE FUNCTION who(int) RETURNS text LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN current_user; END';
CREATE ROLE plan_owner;
CREATE ROLE plan_reader;
GRANT SELECT ON offer TO plan_owner;
GRANT CREATE ON SCHEMA public TO plan_owner;
SET ROLE plan_owner;
CREATE MATERIALIZED VIEW mine WITH (stream_engine.continuous) AS SELECT auction FROM offer WHERE who(1) <> '' AND auction::text <> who(1) WITH NO DATA;
GRANT SELECT ON mine TO plan_reader;
SET ROLE plan_reader;
SELECT l FROM stream_engine.explain('mine') l WHERE l LIKE '%Filter%';
RESET ROLE;
DROP OWNED BY plan_owner;
DROP ROLE plan_owner, plan_reader;
