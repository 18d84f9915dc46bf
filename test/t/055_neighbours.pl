# test/t/055_neighbours.pl: beside other extensions with the same hooks, loaded before and after, everything works and they see it.
use strict;
use warnings;
use StreamEngine;
use PostgreSQL::Test::Utils;
use Test::More;

my $pg_config = "$ENV{SE_BIN}/pg_config";
chomp(my $libraries = `$pg_config --pkglibdir`);
system_or_bail('make', '-s', '-C', "$ENV{SE_TREE}/test/modules/neighbour", "PG_CONFIG=$pg_config", 'install');

# A PostgreSQL without contrib has only the neighbour of our own.
my @contrib = grep { -f "$libraries/$_.so" } qw(pg_stat_statements auto_explain);
my $statements = grep { $_ eq 'pg_stat_statements' } @contrib;
my $explain = grep { $_ eq 'auto_explain' } @contrib;
note("without contrib") if !@contrib;

my $settings = <<'END';
max_worker_processes = 64
neighbour.refuse = ''
END
$settings .= "pg_stat_statements.track_planning = on\n" if $statements;
$settings .= <<'END' if $explain;
auto_explain.log_min_duration = 0
auto_explain.log_analyze = on
auto_explain.log_verbose = on
auto_explain.log_buffers = on
auto_explain.log_wal = on
auto_explain.log_triggers = on
auto_explain.log_settings = on
auto_explain.log_nested_statements = on
END

# Calls of statements whose text is like this, by all users; undef without pg_stat_statements.
sub calls
{
	my ($node, $pattern) = @_;
	return $node->sql("SELECT coalesce(sum(calls), 0) FROM pg_stat_statements WHERE query LIKE '$pattern'");
}

foreach my $order (
	[ before => join(', ', @contrib, 'neighbour', 'stream_engine') ],
	[ after => join(', ', 'stream_engine', 'neighbour', reverse @contrib) ])
{
	my ($place, $preload) = @$order;
	my $node = StreamEngine->new("loaded_$place", conf => "shared_preload_libraries = '$preload'\n$settings");
	my $outside = $place eq 'after';

	$node->sql("CREATE EXTENSION $_") foreach 'neighbour', grep { $_ ne 'auto_explain' } @contrib;
	is($node->sql('SHOW shared_preload_libraries'), $preload, "$place: the order of loading");
	is(scalar(() = slurp_file($node->logfile) =~ /does not see CREATE and REFRESH of continuous views/g), $outside ? 0 : 1,
		"$place: the log says what an earlier library does not see");

	# A view whose worker runs statements: of a function, of a trigger on its result.
	$node->twin('s');
	$node->sql(q{
		CREATE ROLE alice;
		CREATE TABLE names (k int PRIMARY KEY, name text);
		INSERT INTO names SELECT i, 'name ' || i FROM generate_series(0, 19) i;
		CREATE FUNCTION name_of(k int) RETURNS text LANGUAGE plpgsql IMMUTABLE AS
			$$ BEGIN RETURN (SELECT n.name FROM public.names n WHERE n.k = name_of.k); END $$;
		CREATE TABLE seen_by_trigger (k int);
		CREATE TABLE found (n bigint);
		CREATE FUNCTION note_row() RETURNS trigger LANGUAGE plpgsql AS
			$$ BEGIN INSERT INTO public.seen_by_trigger VALUES (NEW.k); RETURN NULL; END $$;
	});
	my %queries = (
		by_key => 'SELECT k, count(*) AS n, sum(v) AS total, max(note) AS last FROM s GROUP BY k',
		by_window => q{SELECT window_start, k, count(*) AS n, array_agg(v ORDER BY s.n, client) AS all_v FROM s, tumble(ts, interval '10 seconds')
			GROUP BY window_start, window_end, k},
		plain => 'SELECT client, n, k, name_of(k) AS name FROM s WHERE v % 2 = 0',
		all_rows => 'SELECT count(*) AS n FROM s');
	foreach my $view (sort keys %queries)
	{
		$node->sql("CREATE MATERIALIZED VIEW $view WITH (stream_engine.continuous) AS $queries{$view}");
	}
	is($node->sql('SELECT n FROM all_rows'), '0', "$place: the first row of an aggregate over everything");
	$node->sql('GRANT SELECT ON s, names TO alice; GRANT INSERT ON seen_by_trigger TO alice; GRANT CREATE ON SCHEMA public TO alice;'
		  . 'ALTER MATERIALIZED VIEW plain OWNER TO alice');
	$node->sql('CREATE TRIGGER note_row AFTER INSERT ON plain FOR EACH ROW EXECUTE FUNCTION note_row()');

	my $load = $node->start_load('s', clients => 2, transactions => 40);
	$node->finish_load($load);
	$node->sql(q{SELECT stream_engine.emit_watermark('s', 'infinity')});
	$node->refresh(sort keys %queries);
	foreach my $view (sort keys %queries)
	{
		(my $batch = $queries{$view}) =~ s/\bFROM s\b/FROM s_twin s/;
		$node->equals_oracle($view, $batch, $place);
	}
	is($node->sql('SELECT count(*) FROM seen_by_trigger'), $node->sql('SELECT count(*) FROM plain'), "$place: the trigger ran for each row");
	is($node->sql('SELECT count(*) FROM (SELECT client, n, k FROM s EXCEPT SELECT client, n, k FROM s_twin) d'), '0', "$place: the stream is read");
	is($node->sql(q{SELECT string_agg(view::text || ' ' || state, ', ' ORDER BY view::text) FROM stream_engine.jobs}),
		'all_rows running, by_key running, by_window running, plain running', "$place: the workers run");

	# What the neighbour's utility hook sees: from outside the commands, from inside also their parts.
	my $create = 'CREATE MATERIALIZED VIEW w WITH (stream_engine.continuous) AS SELECT k, count(*) AS n FROM s GROUP BY k';
	my @parts = map { "$_ (part)" } 'CREATE TABLE', 'CREATE INDEX', 'ALTER TABLE';
	my $seen = $node->sql("$create; REFRESH MATERIALIZED VIEW w; ALTER MATERIALIZED VIEW w RENAME TO x; DROP MATERIALIZED VIEW x; SELECT neighbour_seen()");
	is($seen, join("\n", $outside
			? ('CREATE MATERIALIZED VIEW', @parts, 'REFRESH MATERIALIZED VIEW', 'ALTER MATERIALIZED VIEW', 'DROP MATERIALIZED VIEW')
			: (@parts, 'ALTER TABLE', 'DROP TABLE')), "$place: what the neighbour sees");

	# It fails after commands, or parts, were done: nothing of them is left.
	my @refused = ($outside ? ('CREATE MATERIALIZED VIEW') : (), @parts);
	like($node->sql_error("SET neighbour.refuse = '$_'; $create"), qr/the neighbour refuses/, "$place: $_ is refused") foreach @refused;
	is($node->sql(q{SELECT to_regclass('w') IS NULL AND count(*) = 4 FROM stream_engine.jobs}), 't', "$place: no view is left");
	$node->sql($create);
	my $drop = $outside ? 'DROP MATERIALIZED VIEW' : 'DROP TABLE';
	like($node->sql_error("SET neighbour.refuse = '$drop'; DROP MATERIALIZED VIEW w"), qr/the neighbour refuses/, "$place: $drop is refused");
	$node->sql(q{INSERT INTO s VALUES (0, 0, 100, 1, '2025-01-01', '')});
	$node->refresh('w');
	is($node->sql('SELECT n FROM w WHERE k = 100'), '1', "$place: the view goes on");
	$node->sql('DROP MATERIALIZED VIEW w');

	# Statements in the neighbour's background worker.
	foreach my $statement ($create, 'INSERT INTO s SELECT 0, 0, 101, 1, timestamptz \'2025-01-01\', \'\' FROM generate_series(1, 3)',
		'REFRESH MATERIALIZED VIEW w', 'INSERT INTO found SELECT n FROM w WHERE k = 101')
	{
		(my $quoted = $statement) =~ s/'/''/g;
		$node->sql("SELECT neighbour_run('$quoted')");
	}
	is($node->sql('SELECT n FROM found'), '3', "$place: CREATE, INSERT and REFRESH in another's worker");
	$node->sql('DROP MATERIALIZED VIEW w');

	if ($statements)
	{
		# What goes through a hook of ours alone is counted by whom is asked before us.
		is(calls($node, 'CREATE MATERIALIZED VIEW by_key%'), $outside ? 1 : 0, "$place: CREATE is counted");
		is(calls($node, 'REFRESH MATERIALIZED VIEW by_key'), $outside ? 1 : 0, "$place: REFRESH is counted");
		is(calls($node, 'CREATE MATERIALIZED VIEW w %'), $outside ? 3 : 0, "$place: CREATE is counted in all sessions");
		is(calls($node, 'ALTER MATERIALIZED VIEW w RENAME TO x'), 1, "$place: ALTER is counted");
		is(calls($node, 'DROP MATERIALIZED VIEW x'), 1, "$place: DROP is counted");
		is(calls($node, 'COPY s FROM STDIN'), calls($node, 'COPY s_twin %'), "$place: COPY is counted as that of a table");
		is(calls($node, 'INSERT INTO s VALUES %'), calls($node, 'INSERT INTO s_twin %') + 1, "$place: INSERT is counted as that of a table");
		is($node->sql(q{SELECT sum(calls) || ' by ' || string_agg(DISTINCT userid::regrole::text, ' ') || ', ' || bool_and(toplevel)
			FROM pg_stat_statements WHERE query LIKE 'INSERT INTO public.seen_by_trigger %'}),
			$node->sql(q{SELECT count(*) || ' by alice, true' FROM seen_by_trigger}), "$place: statements in workers are counted");
	}
	if ($explain)
	{
		my $log = slurp_file($node->logfile);
		like($log, qr/stream_engine task[^\n]*LOG:  duration: [^\n]*plan:\n\tQuery Text: [^\n]*SELECT n.name FROM public.names/, "$place: plans of a function in a worker");
		like($log, qr/stream_engine task[^\n]*LOG:  duration: [^\n]*plan:\n\tQuery Text: INSERT INTO public.seen_by_trigger/, "$place: plans of a trigger in a worker");
	}

	$node->sql('DROP FOREIGN TABLE s CASCADE');
	is($node->sql('SELECT count(*) FROM stream_engine.jobs'), '0', "$place: nothing is left");
	$node->stop;
	unlike(slurp_file($node->logfile), qr/terminated by signal|PANIC|TRAP:/, "$place: no process died");
}

done_testing();
