-- Every setting is documented by the table that defines it.
SELECT s.name, s.default_value, s.unit, s.context
FROM stream_engine.settings() s ORDER BY s.name COLLATE "C";
SELECT count(*) AS undocumented FROM pg_settings p
WHERE p.name LIKE 'stream_engine.%' AND NOT EXISTS
    (SELECT FROM stream_engine.settings() s WHERE s.name = p.name AND s.help = p.short_desc);
SET stream_engine.no_such_setting = 1;
