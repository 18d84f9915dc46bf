-- COPY into a stream: columns, defaults, generated columns, WHERE, and errors that leave nothing behind.
CREATE FOREIGN TABLE s (
  a int NOT NULL, t text DEFAULT 'none', ts timestamptz OPTIONS (event_time 'true'),
  g text GENERATED ALWAYS AS (coalesce(t, 'null') || a) STORED, CONSTRAINT a_limit CHECK (a < 100)) SERVER stream_engine;
COPY s FROM stdin;
1	one	2020-01-01 00:00:01+00
2	\N	2020-01-01 00:00:02+00
\.
COPY s (ts, a) FROM stdin (FORMAT csv);
2020-01-01 00:00:03+00,3
2020-01-01 00:00:04+00,4
\.
COPY s (ts, a) FROM stdin (FORMAT csv) WHERE a % 2 = 1;
2020-01-01 00:00:05+00,5
2020-01-01 00:00:06+00,6
\.
SELECT * FROM s;

-- errors name the line, and nothing of the statement remains
COPY s (a, ts) FROM stdin;
11	2020-01-01 00:00:11+00
\N	2020-01-01 00:00:12+00
\.
COPY s (a, ts) FROM stdin;
12	2020-01-01 00:00:11+00
100	2020-01-01 00:00:12+00
\.
COPY s (a, ts) FROM stdin;
13	2020-01-01 00:00:11+00
14	\N
\.
COPY s (a, ts) FROM stdin;
15	2020-01-01 00:00:11+00
16	infinity
\.
SELECT count(*) FROM s;

-- in the last line of many, when messages have been written
COPY s (a, ts) FROM PROGRAM 'seq 1 20000 | awk ''{ print $1 % 90 + 1 "\t2020-01-01" } END { print "101\t2020-01-01" }''';
COPY s (a, ts) FROM PROGRAM 'seq 1 20000 | awk ''{ print $1 % 90 + 1 "\t2020-01-01" } END { print "1\tnot a time" }''';
SELECT count(*) FROM s;

-- in one transaction with other commands
BEGIN;
INSERT INTO s (a, ts) VALUES (21, '2020-01-01');
COPY s (a, ts) FROM stdin;
22	2020-01-01 00:00:22+00
23	2020-01-01 00:00:23+00
\.
INSERT INTO s (a, ts) VALUES (24, '2020-01-01');
COMMIT;
SELECT a, g FROM s WHERE a > 20;

-- out again: COPY of a query, and of the stream is refused by PostgreSQL
COPY (SELECT a, t FROM s WHERE a < 4) TO stdout;
COPY s TO stdout;
