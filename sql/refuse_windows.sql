-- What the window function of a continuous view may not be, and what the refusals say.
CREATE FOREIGN TABLE bid (auction bigint, price bigint, size interval, zone text,
    date_time timestamptz OPTIONS (event_time 'true'), seen timestamptz)
    SERVER stream_engine OPTIONS (watermark 'date_time');
CREATE FOREIGN TABLE untimed (v int, ts timestamptz) SERVER stream_engine;
CREATE FOREIGN TABLE local (v int, ts timestamp OPTIONS (event_time 'true')) SERVER stream_engine OPTIONS (watermark 'ts');

-- not the event time
SELECT stream_engine.explain('SELECT window_end, count(*) FROM bid, tumble(seen, ''1 s'') GROUP BY 1');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT window_end, count(*) FROM bid, tumble(date_time + interval ''1 s'', ''1 s'') GROUP BY 1');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT window_end, count(*) FROM bid, tumble(date_time::timestamp, ''1 s'') GROUP BY 1');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT window_end, count(*) FROM bid, tumble(now(), ''1 s'') GROUP BY 1');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT window_end, count(*) FROM bid, tumble(proctime() - interval ''1 s'', ''1 s'') GROUP BY 1');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT window_end, count(*) FROM untimed, tumble(ts, ''1 s'') GROUP BY 1');
\echo :SQLSTATE
-- not a constant
SELECT stream_engine.explain('SELECT window_end, count(*) FROM bid, tumble(date_time, size) GROUP BY 1');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT window_end, count(*) FROM bid, tumble(date_time, current_setting(''a.b'')::interval) GROUP BY 1');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT window_end, count(*) FROM bid, hop(date_time, size, ''1 s'') GROUP BY 1');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT window_end, count(*) FROM bid, cumulate(date_time, size, ''1 s'') GROUP BY 1');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT window_end, count(*) FROM bid, tumble(date_time, ''1 s'', shift => size) GROUP BY 1');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT window_end, count(*) FROM bid, tumble(date_time, NULL) GROUP BY 1');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT window_end, count(*) FROM bid, tumble(date_time, ''1 s'', timezone => zone) GROUP BY 1');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT window_end, count(*) FROM bid, tumble(date_time, ''1 s'', timezone => current_setting(''TimeZone'')) GROUP BY 1');
\echo :SQLSTATE
-- not a size
SELECT stream_engine.explain('SELECT window_end, count(*) FROM bid, tumble(date_time, ''0'') GROUP BY 1');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT window_end, count(*) FROM bid, tumble(date_time, ''-1 s'') GROUP BY 1');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT window_end, count(*) FROM bid, tumble(date_time, ''1 month'') GROUP BY 1');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT window_end, count(*) FROM bid, tumble(date_time, ''1 day'', ''1 year'') GROUP BY 1');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT window_end, count(*) FROM bid, hop(date_time, ''0'', ''1 s'') GROUP BY 1');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT window_end, count(*) FROM bid, hop(date_time, ''1 us'', ''1 day'') GROUP BY 1');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT window_end, count(*) FROM bid, cumulate(date_time, ''3 s'', ''10 s'') GROUP BY 1');
\echo :SQLSTATE
-- not a time zone, or one for a local time
SELECT stream_engine.explain('SELECT window_end, count(*) FROM bid, tumble(date_time, ''1 day'', timezone => ''Europe/Nowhere'') GROUP BY 1');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT window_end, count(*) FROM bid, tumble(date_time, ''1 day'', timezone => ''PST'') GROUP BY 1');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT window_end, count(*) FROM local, tumble(ts, ''1 day'', timezone => ''Europe/Berlin'') GROUP BY 1');
\echo :SQLSTATE
-- not a size in a calendar
SELECT stream_engine.explain('SELECT window_end, count(*) FROM bid, tumble(date_time, ''1 month 1 day'', timezone => ''UTC'') GROUP BY 1');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT window_end, count(*) FROM bid, tumble(date_time, ''-1 month'', timezone => ''UTC'') GROUP BY 1');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT window_end, count(*) FROM bid, tumble(date_time, ''100000 years'', timezone => ''UTC'') GROUP BY 1');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT window_end, count(*) FROM bid, tumble(date_time, ''1 day'', ''1 month'', ''UTC'') GROUP BY 1');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT window_end, count(*) FROM bid, hop(date_time, ''1 day'', ''1 month'', timezone => ''UTC'') GROUP BY 1');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT window_end, count(*) FROM bid, cumulate(date_time, ''1 week'', ''1 month'', timezone => ''UTC'') GROUP BY 1');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT window_end, count(*) FROM bid, cumulate(date_time, ''3 months'', ''10 months'', timezone => ''UTC'') GROUP BY 1');
\echo :SQLSTATE
SELECT stream_engine.explain('SELECT window_end, count(*) FROM bid, cumulate(date_time, ''1 month'', ''90 days'', timezone => ''UTC'') GROUP BY 1');
\echo :SQLSTATE
-- in the wrong place
SELECT stream_engine.explain('SELECT tumble(date_time, ''1 s''), auction FROM bid');
\echo :SQLSTATE
