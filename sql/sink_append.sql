-- The result is an ordinary table to its owner: columns added later get their defaults,
-- renaming is free, indexes and generated columns are kept, values of any size arrive.
CREATE FOREIGN TABLE s (id int, note text, tags text[], at timestamptz) SERVER stream_engine;
CREATE MATERIALIZED VIEW m WITH (stream_engine.continuous) AS SELECT id, note, tags, note || '?' AS asked FROM s WHERE id > 0;

INSERT INTO s SELECT i, repeat('x', i), ARRAY['t' || i, NULL] FROM generate_series(-5, 3000) i;
REFRESH MATERIALIZED VIEW m;
SELECT count(*), sum(id), sum(length(note)), sum(length(asked)), count(*) FILTER (WHERE tags = ARRAY['t' || id, NULL]) AS tags FROM m;

ALTER TABLE m RENAME COLUMN note TO remark;
ALTER TABLE m ADD COLUMN seen text DEFAULT 'no', ADD COLUMN empty int, ADD COLUMN twice int GENERATED ALWAYS AS (id * 2) STORED,
    ADD COLUMN number int GENERATED ALWAYS AS IDENTITY;
CREATE INDEX m_remark ON m (remark);
CREATE INDEX m_half ON m ((id / 2)) WHERE id % 2 = 0;
INSERT INTO s VALUES (5001, 'new', '{}'), (5002, NULL, NULL);
REFRESH MATERIALIZED VIEW m;
SELECT id, remark, tags, asked, seen, empty, twice, number > 3000 AS numbered FROM m WHERE id > 5000 ORDER BY id;
SET enable_seqscan = off;
SELECT id FROM m WHERE remark = 'new';
SELECT id FROM m WHERE id / 2 = 2501 AND id % 2 = 0;
RESET enable_seqscan;

-- A value that is stored out of line in the result.
DROP INDEX m_remark;
INSERT INTO s SELECT 6000, string_agg(md5(i::text), ''), NULL FROM generate_series(1, 20000) i;
REFRESH MATERIALIZED VIEW m;
SELECT length(remark), md5(remark) = md5((SELECT string_agg(md5(i::text), '') FROM generate_series(1, 20000) i)) AS same FROM m WHERE id = 6000;
