-- COPY FROM in binary: the rows are those of the table they come from; a file that is cut off leaves nothing.
CREATE TYPE mood AS ENUM ('sad', 'ok');
CREATE TABLE twin (id int, t text, n numeric, b bytea, a int[], j jsonb, m mood, r int4range, d date, u uuid, ts timestamptz);
INSERT INTO twin SELECT i, repeat('x', i), i / 7.0, decode(repeat('00ff', i % 5), 'hex'), ARRAY[i, NULL, -i], jsonb_build_object('i', i), 'ok',
    int4range(i, i + 1), '2024-01-01'::date + i, md5(i::text)::uuid, '2024-01-01'::timestamptz + i * interval '1 s' FROM generate_series(1, 500) i;
INSERT INTO twin (id, ts) VALUES (501, '2024-01-01');
CREATE FOREIGN TABLE s (id int, t text, n numeric, b bytea, a int[], j jsonb, m mood, r int4range, d date, u uuid,
    ts timestamptz OPTIONS (event_time 'true')) SERVER stream_engine;
CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous) AS SELECT * FROM s;
SELECT current_setting('data_directory') || '/stream_copy_binary' AS file \gset
COPY twin TO :'file' (FORMAT binary);
COPY s FROM :'file' (FORMAT binary);
SELECT count(*) FROM s;
SELECT count(*) AS differences FROM ((SELECT * FROM s EXCEPT ALL SELECT * FROM twin) UNION ALL (SELECT * FROM twin EXCEPT ALL SELECT * FROM s)) d;
REFRESH MATERIALIZED VIEW v;
SELECT count(*) AS differences FROM ((SELECT * FROM v EXCEPT ALL SELECT * FROM twin) UNION ALL (SELECT * FROM twin EXCEPT ALL SELECT * FROM v)) d;

-- columns of its own choice
COPY (SELECT ts, id + 1000 FROM twin WHERE id <= 2 ORDER BY id) TO :'file' (FORMAT binary);
COPY s (ts, id) FROM :'file' (FORMAT binary);
SELECT id, ts, t FROM s WHERE id > 1000;

-- other types, and rows with a bad one at the end
COPY s (id, ts) FROM :'file' (FORMAT binary);
COPY (SELECT id + 2000, ts FROM twin UNION ALL SELECT 3000, NULL) TO :'file' (FORMAT binary);
COPY s (id, ts) FROM :'file' (FORMAT binary);
SELECT count(*) FROM s WHERE id > 2000;
COPY twin TO :'file' (FORMAT csv, HEADER);
COPY s FROM :'file' (FORMAT csv, HEADER);
SELECT count(*), count(DISTINCT id) FROM s WHERE id <= 501;
COPY twin (id, ts) TO :'file';
COPY s (id, ts) FROM :'file' WHERE id > 500;
SELECT count(*) FROM s WHERE id = 501;
