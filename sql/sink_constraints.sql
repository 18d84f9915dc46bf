-- Constraints that the owner of a result adds hold: a row that violates one stops the
-- view, and the error names the row.
CREATE FOREIGN TABLE s (id int, note text) SERVER stream_engine;

CREATE MATERIALIZED VIEW checked WITH (stream_engine.continuous) AS SELECT id, note FROM s WHERE note = 'check';
ALTER TABLE checked ADD CONSTRAINT small CHECK (id < 100);
CREATE MATERIALIZED VIEW required WITH (stream_engine.continuous) AS SELECT id, nullif(note, 'null') AS note FROM s WHERE note LIKE 'nul_';
ALTER TABLE required ALTER note SET NOT NULL;
CREATE MATERIALIZED VIEW single WITH (stream_engine.continuous) AS SELECT id, note FROM s WHERE note LIKE 'uniq%';
CREATE UNIQUE INDEX single_id ON single (id);
CREATE TABLE parent (id int PRIMARY KEY);
INSERT INTO parent VALUES (1), (2);
CREATE MATERIALIZED VIEW child WITH (stream_engine.continuous) AS SELECT id, note FROM s WHERE note = 'child';
ALTER TABLE child ADD CONSTRAINT has_parent FOREIGN KEY (id) REFERENCES parent;

INSERT INTO s VALUES (1, 'check'), (1, 'nul2'), (1, 'unique'), (1, 'child'), (2, 'child');
REFRESH MATERIALIZED VIEW checked;
REFRESH MATERIALIZED VIEW required;
REFRESH MATERIALIZED VIEW single;
REFRESH MATERIALIZED VIEW child;

INSERT INTO s VALUES (100, 'check'), (2, 'null'), (1, 'uniq2'), (3, 'child');
SELECT stream_engine.wait_state('checked', 'failed');
SELECT stream_engine.wait_state('required', 'failed');
SELECT stream_engine.wait_state('single', 'failed');
SELECT stream_engine.wait_state('child', 'failed');
\x on
SELECT view, sqlstate, message, detail, "row", "position" IS NOT NULL AS placed FROM stream_engine.errors ORDER BY view::text;

\x off
-- Nothing of the failed commit is there; with the cause away, everything comes.
SELECT 'checked' AS view, * FROM checked UNION ALL SELECT 'required', * FROM required UNION ALL
SELECT 'single', * FROM single UNION ALL SELECT 'child', * FROM child ORDER BY 1, 2;
ALTER TABLE checked DROP CONSTRAINT small;
ALTER TABLE required ALTER note DROP NOT NULL;
DROP INDEX single_id;
-- Or the row is left out.
SELECT stream_engine.start('child', skip => (SELECT "position" FROM stream_engine.errors WHERE view = 'child'::regclass));
SELECT stream_engine.start(view) FROM stream_engine.jobs WHERE view <> 'child'::regclass ORDER BY view::text;
REFRESH MATERIALIZED VIEW checked;
REFRESH MATERIALIZED VIEW required;
REFRESH MATERIALIZED VIEW single;
REFRESH MATERIALIZED VIEW child;
SELECT 'checked' AS view, * FROM checked UNION ALL SELECT 'required', * FROM required UNION ALL
SELECT 'single', * FROM single UNION ALL SELECT 'child', * FROM child ORDER BY 1, 2, 3;
