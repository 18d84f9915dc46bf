-- How each kind of aggregate call is computed.
CREATE FOREIGN TABLE s (ts timestamptz OPTIONS (event_time 'true'), k int, i2 smallint, i4 int, i8 bigint,
    f4 real, f8 double precision, n numeric, t text, d date, b boolean, iv interval)
    SERVER stream_engine OPTIONS (watermark 'ts');
CREATE AGGREGATE own_product(double precision) (SFUNC = float8mul, STYPE = double precision, INITCOND = '1');
CREATE AGGREGATE own_merged(double precision) (SFUNC = float8mul, STYPE = double precision, INITCOND = '1', COMBINEFUNC = float8mul);
CREATE AGGREGATE own_list(anynonarray) (SFUNC = array_agg_transfn, STYPE = internal, FINALFUNC = array_agg_finalfn, FINALFUNC_EXTRA);

CREATE FUNCTION method(call text) RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(substring(l FROM 'AS [a-z0-9_]+, (.*)$'), ' | ')
    FROM stream_engine.explain('SELECT ' || call || ' AS c FROM s') l WHERE l LIKE '%Call:%'
$$;
SELECT call, method(call) FROM unnest(ARRAY[
    'count(*)', 'count(t)', 'count(1)', 'count(NULL)', 'sum(i2)', 'sum(i4)', 'sum(i8)', 'sum(f4)', 'sum(f8)', 'sum(n)',
    'avg(i2)', 'avg(i4)', 'avg(i8)', 'avg(f4)', 'avg(f8)', 'avg(n)',
    'min(i2)', 'max(i4)', 'min(i8)', 'max(f4)', 'min(f8)', 'max(n)', 'min(t)', 'max(d)', 'min(ts)', 'max(ts::timestamp)', 'max(iv)',
    'bool_and(b)', 'every(b)', 'bit_or(i4)', 'stddev(i4)', 'variance(f8)', 'corr(f8, f4)',
    'array_agg(i4)', 'string_agg(t, '','')', 'json_agg(t)', 'jsonb_object_agg(t, i4)',
    'percentile_cont(0.5) WITHIN GROUP (ORDER BY f8)', 'mode() WITHIN GROUP (ORDER BY t)',
    'rank(3) WITHIN GROUP (ORDER BY i4)',
    'count(DISTINCT i4)', 'sum(DISTINCT n)', 'sum(DISTINCT f8)', 'max(DISTINCT i8)', 'array_agg(DISTINCT t)', 'bool_or(DISTINCT b)',
    'count(DISTINCT (i4, t))', 'sum(i4 ORDER BY t)', 'array_agg(t ORDER BY ts)', 'string_agg(t, '','' ORDER BY t DESC)',
    'count(*) FILTER (WHERE b)', 'own_product(f8)', 'own_merged(f8)', 'own_merged(DISTINCT f8)', 'own_list(t)'
]) WITH ORDINALITY AS c (call, n) ORDER BY n;

-- arguments as columns: constants, direct arguments, sort keys, equal ones once
\pset format unaligned
\pset tuples_only on
SELECT stream_engine.explain('SELECT k, string_agg(t, '','' ORDER BY i4 DESC), percentile_disc(k * 0.1) WITHIN GROUP (ORDER BY f8), sum(i4 + 1) FILTER (WHERE i4 > 0), avg(i4 + 1) FROM s GROUP BY k');
