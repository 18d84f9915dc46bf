-- An aggregate that fails stops its view with the row; the row can be skipped.
CREATE FOREIGN TABLE s (k int, f float8, i int, ts timestamptz OPTIONS (event_time 'true'))
    SERVER stream_engine OPTIONS (watermark 'ts');
CREATE FUNCTION picky(int, int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
    IF $2 = 13 THEN
        RAISE EXCEPTION 'thirteen' USING ERRCODE = '22000';
    END IF;
    RETURN $1 + $2;
END $$;
CREATE AGGREGATE picky_sum(int) (sfunc = picky, stype = int, initcond = '0');
CREATE MATERIALIZED VIEW vf WITH (stream_engine.continuous) AS SELECT k, count(*) AS c, sum(f) AS s FROM s GROUP BY k;
CREATE MATERIALIZED VIEW vp WITH (stream_engine.continuous) AS
    SELECT window_end, count(*) AS c, picky_sum(i) AS s FROM s, tumble(ts, '1 minute') GROUP BY window_end;
INSERT INTO s VALUES (1, 1e308, 1, '2024-01-01 00:00:01+00'), (2, 5, 2, '2024-01-01 00:00:02+00');
REFRESH MATERIALIZED VIEW vf;
REFRESH MATERIALIZED VIEW vp;
INSERT INTO s VALUES (2, 6, 3, '2024-01-01 00:00:03+00'), (1, 1.5e308, 4, '2024-01-01 00:00:04+00'), (3, 7, 13, '2024-01-01 00:00:05+00'), (4, 8, 5, '2024-01-01 00:00:06+00');
SELECT stream_engine.wait_state('vf', 'failed');
SELECT stream_engine.wait_state('vp', 'failed');
SELECT job, sqlstate, message, "row" FROM stream_engine.job_errors ORDER BY job::text;
-- what was committed before is still there
SELECT * FROM vf ORDER BY k;
SELECT stream_engine.start('vf', skip => (SELECT "position" FROM stream_engine.job_errors WHERE job = 'vf'::regclass));
SELECT stream_engine.start('vp', skip => (SELECT "position" FROM stream_engine.job_errors WHERE job = 'vp'::regclass));
SELECT stream_engine.emit_watermark('s', 'infinity');
REFRESH MATERIALIZED VIEW vf;
REFRESH MATERIALIZED VIEW vp;
SELECT * FROM vf ORDER BY k;
SELECT * FROM vp;
