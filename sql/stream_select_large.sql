-- Transactions larger than the reader keeps in memory come whole and in order, with all their subtransactions.
CREATE FOREIGN TABLE s (n bigint, sub int, pad text) SERVER stream_engine;
CREATE TABLE twin (i bigserial, n bigint, sub int, pad text);

-- Blocks that commit and blocks that roll back take turns, their rows in messages of several xids.
CREATE PROCEDURE fill(top int, blocks int, size int) LANGUAGE plpgsql AS $$
BEGIN
	FOR block IN 1..blocks LOOP
		INSERT INTO s SELECT top * 1000000 + block * 1000 + g, block, repeat('x', 900) FROM generate_series(1, size) g;
		INSERT INTO twin (n, sub, pad) SELECT top * 1000000 + block * 1000 + g, block, repeat('x', 900) FROM generate_series(1, size) g;
		BEGIN
			INSERT INTO s SELECT -1 * g, block, repeat('y', 900) FROM generate_series(1, size) g;
			INSERT INTO twin (n, sub, pad) SELECT -1 * g, block, repeat('y', 900) FROM generate_series(1, size) g;
			IF block % 3 = 0 THEN
				RAISE EXCEPTION 'block %', block;
			END IF;
		EXCEPTION WHEN OTHERS THEN
			NULL;
		END;
	END LOOP;
END $$;
CALL fill(1, 70, 100);
CALL fill(2, 5, 1);

SELECT count(*) AS rows, sum(length(pad)) > 4 * 1024 * 1024 AS above_limit, count(*) FILTER (WHERE n < 0) AS nested FROM s;
-- In the order in which the statements wrote them: row by row the twin's.
SELECT count(*) AS differ FROM
	(SELECT row_number() OVER () AS i, n, sub, pad FROM s) s
	FULL JOIN (SELECT row_number() OVER (ORDER BY i) AS i, n, sub, pad FROM twin) t USING (i)
	WHERE (s.n, s.sub, s.pad) IS DISTINCT FROM (t.n, t.sub, t.pad);

-- A function that inserts while its statement does: rows come as they were made.
CREATE FOREIGN TABLE nest (t text) SERVER stream_engine;
CREATE FUNCTION inner_rows(g int) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO nest VALUES ('inner ' || g);
	BEGIN
		INSERT INTO nest VALUES ('child ' || g);
		IF g = 2 THEN RAISE EXCEPTION 'no'; END IF;
	EXCEPTION WHEN OTHERS THEN NULL;
	END;
	RETURN 'outer ' || g;
END $$;
INSERT INTO nest SELECT inner_rows(g) FROM generate_series(1, 3) g;
SELECT * FROM nest;
