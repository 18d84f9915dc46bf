-- Values of every kind survive the log: compressed and out-of-line ones, arrays, composites, domains, ranges, nulls.
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE TYPE pair AS (a int, b text);
CREATE DOMAIN positive AS int CHECK (VALUE > 0);
CREATE DOMAIN pairs AS pair[];
-- not every PostgreSQL is built with libxml
SELECT CASE WHEN setting LIKE '%with-libxml%' THEN 'xml' ELSE 'text' END AS xml FROM pg_config WHERE name = 'CONFIGURE' \gset
CREATE DOMAIN markup AS :xml;
CREATE TABLE twin (
  id int, b bool, c "char", i2 int2, i4 int4, i8 int8, o oid, f4 float4, f8 float8, n numeric, m money, t text, vc varchar(10),
  bp char(5), nm name, by bytea, d date, tm time, tmz timetz, ts timestamp, tsz timestamptz, iv interval, u uuid, ip inet, mac macaddr,
  mac8 macaddr8, bi bit(5), vb varbit, js json, jb jsonb, x markup, pt point, bx box, pg polygon, r int4range, mr int4multirange,
  nr numrange, ia int[], ta text[], ta2 text[][], e mood, p pair, pa pair[], dom positive, dp pairs, tv tsvector, tq tsquery, rc regclass,
  i2v int2vector, ov oidvector, lsn pg_lsn);
SELECT format('CREATE FOREIGN TABLE s (%s) SERVER stream_engine',
  string_agg(format('%I %s', attname, format_type(atttypid, atttypmod)), ', ' ORDER BY attnum))
FROM pg_attribute WHERE attrelid = 'twin'::regclass AND attnum > 0 \gexec
INSERT INTO twin VALUES
 (1, true, 'c', -2, -4, -8, 8, 1.5, -2.25, 123456789.123456789, '12.34', 'text', 'varchar', 'ch', 'name', '\x00ff', '2020-02-29', '12:34:56.789',
  '12:34:56+02', '2020-01-01 00:00:00.000001', '2020-01-01 00:00:00+00', '1 mon 2 days 03:04:05', '6ba7b810-9dad-11d1-80b4-00c04fd430c8', '10.0.0.1/8',
  '08:00:2b:01:02:03', '08:00:2b:01:02:03:04:05', B'10101', B'1', '{"a": 1}', '{"b": [1, 2, null]}', '<a>x</a>', '(1,2)', '(1,2),(3,4)',
  '((0,0),(1,1),(2,0))', '[1,5)', '{[1,3), [7,9)}', '(1.5,)', '{1,2,NULL}', '{a,"b c",NULL}', '{{a,b},{c,d}}', 'happy', '(1,"x, y")',
  ARRAY['(1,a)', '(2,)']::pair[], 7, ARRAY['(3,c)']::pair[], 'a fat cat', 'fat & cat', 'pg_class', '1 2 3', '4 5', '0/16B3748'),
 (2, false, '', 32767, 2147483647, 9223372036854775807, 4294967295, 'NaN', 'Infinity', 'NaN', '-0.01', '', '', '', '', '', 'infinity', '00:00',
  '00:00-12', '-infinity', 'infinity', '-1 year', '00000000-0000-0000-0000-000000000000', '::1', '00:00:00:00:00:00', '00:00:00:00:00:00:00:00', B'00000',
  B'', 'null', 'null', '', '(0,0)', '(0,0),(0,0)', '((0,0))', 'empty', '{}', 'empty', '{}', '{}', '{}', 'sad', '(,)', '{}', 1, '{}', '', '', '-', '', '', '0/0');
INSERT INTO twin (id) VALUES (3);
-- values that compress, that stay large, that have a long header just beside the short limit
INSERT INTO twin (id, t, by, jb, ta, pa) SELECT 10 + i, repeat('a', i), decode(repeat('ab', i), 'hex'), to_jsonb(repeat('j', i)),
  ARRAY[repeat('e', i), NULL, repeat('f', i)], ARRAY[row(i, repeat('p', i))::pair] FROM unnest(ARRAY[0, 1, 125, 126, 127, 128, 1000, 3000, 100000]) i;
INSERT INTO twin (id, t, n) SELECT 1000000 + i, string_agg(md5((i * j)::text), ''), (1234567 ^ i) FROM generate_series(1, 20) i, generate_series(1, 300) j GROUP BY i;
-- one NULL at every place in turn
INSERT INTO twin (id, b, i2, t, i8, ts) SELECT 2000000 + k, CASE WHEN k & 1 > 0 THEN true END, CASE WHEN k & 2 > 0 THEN 2 END,
  CASE WHEN k & 4 > 0 THEN 'x' END, CASE WHEN k & 8 > 0 THEN 8 END, CASE WHEN k & 16 > 0 THEN timestamp '2020-01-01' END FROM generate_series(0, 31) k;

INSERT INTO s SELECT * FROM twin ORDER BY id;
-- row images, so that types without equality are compared too
SELECT count(*), count(*) FILTER (WHERE s.s::text IS DISTINCT FROM t.t::text) AS different
  FROM (SELECT id, s FROM s) s FULL JOIN (SELECT id, twin AS t FROM twin) t USING (id);
SELECT count(*) AS columns_read_alone_that_differ FROM (SELECT id, ta, dom FROM s EXCEPT ALL SELECT id, ta, dom FROM twin) x;
SELECT id, pa, dp, e, mr FROM s WHERE id < 3;

-- the stored source of a large value may go away: the stream has a copy
CREATE TABLE source (big text);
ALTER TABLE source ALTER big SET STORAGE EXTERNAL;
INSERT INTO source SELECT string_agg(md5(i::text), '') FROM generate_series(1, 3000) i;
SELECT md5(big) AS sum FROM source \gset
INSERT INTO s (id, t) SELECT 3000000, big FROM source;
DROP TABLE source;
SELECT md5(t) = :'sum' AS same, length(t) FROM s WHERE id = 3000000;

-- expanded objects: an array built element by element in plpgsql
DO $$
DECLARE
  a int[] := '{}';
BEGIN
  FOR i IN 1..1000 LOOP a[i] := i; END LOOP;
  INSERT INTO s (id, ia) VALUES (3000001, a);
END $$;
SELECT array_length(ia, 1), (SELECT sum(v) FROM unnest(ia) v) FROM s WHERE id = 3000001;

-- a domain's constraint holds
INSERT INTO s (id, dom) VALUES (4, 0);

-- a stream without columns has rows all the same
CREATE FOREIGN TABLE nothing () SERVER stream_engine;
INSERT INTO nothing DEFAULT VALUES;
INSERT INTO nothing DEFAULT VALUES;
SELECT count(*) FROM nothing;
