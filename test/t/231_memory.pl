# Memory: what a worker holds of its own stays flat over millions of rows, in large transactions and in small ones;
# keyed state is in shared memory, and is given back.
use strict;
use warnings;
use StreamEngine;
use Test::More;

# SE_ROWS=10000000 for the long run.
my $rows = $ENV{SE_ROWS} // 1_200_000;
my $mb = 1024 * 1024;
my $node = StreamEngine->new('main', conf => "max_wal_size = '4GB'\nautovacuum = off\nwork_mem = '4MB'\nstream_engine.checkpoint_interval = '50ms'\n");

# Bytes of a line of /proc/PID/status.
sub status_of
{
	my ($pid, $line) = @_;
	open my $fh, '<', "/proc/$pid/status" or return 0;
	while (<$fh>) { return $1 * 1024 if /^$line:\s+(\d+) kB/; }
	return 0;
}

# Bytes of dynamic shared memory that a process has mapped.
sub dsm_of
{
	my ($pid) = @_;
	my $sum = 0;
	open my $fh, '<', "/proc/$pid/maps" or return 0;
	while (<$fh>) { no warnings 'portable'; $sum += hex($2) - hex($1) if m{^([0-9a-f]+)-([0-9a-f]+) .*/PostgreSQL\.\d+}; }
	return $sum;
}

# Every worker of ours, by what it does.
sub workers
{
	return map { split /\|/ } split /\n/, $node->sql(q{
		SELECT CASE backend_type WHEN 'stream_engine task' THEN (SELECT view::text FROM stream_engine.jobs j WHERE j.pid = a.pid) ELSE backend_type END, pid
		FROM pg_stat_activity a WHERE backend_type LIKE 'stream_engine%' AND backend_type <> 'stream_engine vacuum' AND (backend_type <> 'stream_engine task' OR EXISTS (SELECT FROM stream_engine.jobs j WHERE j.pid = a.pid))});
}

# The most each process held while the statements ran, the writing session included.
sub highest
{
	my (@statements) = @_;
	my %pids = workers();
	my %most;
	my $began = time;
	my $file = PostgreSQL::Test::Utils::tempdir() . '/memory.sql';
	PostgreSQL::Test::Utils::append_to_file($file, join(";\n", "SET application_name = 'writer'", @statements) . ";\n");
	my ($out, $err) = ('', '');
	my $session = IPC::Run::start([ 'psql', '-XqAt', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('postgres'), '-f', $file ], '>', \$out, '2>', \$err);
	my $writer = '';
	while ($session->pumpable)
	{
		$writer = $node->sql(q{SELECT coalesce(max(pid)::text, '') FROM pg_stat_activity WHERE application_name = 'writer'}) if $writer eq '';
		$pids{writer} = $writer if $writer ne '';
		foreach my $name (keys %pids)
		{
			my $now = status_of($pids{$name}, 'RssAnon');
			$most{$name} = $now if $now > ($most{$name} // 0);
		}
		select(undef, undef, undef, 0.02);
		$session->pump_nb;
	}
	note("statements took " . (time - $began) . " s");
	ok($session->finish, 'the statements ran') or diag($err);
	my %after = workers();
	is_deeply([ map { "$_ $after{$_}" } sort keys %after ], [ map { "$_ $pids{$_}" } grep { $_ ne 'writer' } sort keys %pids ], 'by the same processes');
	return %most;
}

$node->sql(q{
	CREATE FOREIGN TABLE s (id bigint, k int, v int, note text, ts timestamptz OPTIONS (event_time 'true'))
		SERVER stream_engine OPTIONS (watermark 'ts - interval ''1 second''');
	CREATE MATERIALIZED VIEW filtered WITH (stream_engine.continuous) AS SELECT id, upper(note) AS note FROM s WHERE id % 1000 = 0;
	CREATE MATERIALIZED VIEW grouped WITH (stream_engine.continuous) AS
		SELECT k, count(*) AS c, sum(v) AS s, max(note) AS m, regr_slope(v, k) AS r, max(reverse(note)) AS n FROM s GROUP BY k;
	CREATE MATERIALIZED VIEW tumbled WITH (stream_engine.continuous) AS
		SELECT window_start, k, count(*) AS c, min(note) AS m, count(DISTINCT v) AS d FROM s, tumble(ts, '10 seconds') GROUP BY window_start, window_end, k;
	CREATE MATERIALIZED VIEW hopped WITH (stream_engine.continuous) AS
		SELECT window_start, count(*) AS c, max(v) AS m, string_agg(DISTINCT left(note, 1), ',') AS l FROM s, hop(ts, '2 seconds', '10 seconds') GROUP BY window_start, window_end;
	-- one row a transaction, or a few
	CREATE PROCEDURE trickle(first bigint, n int) LANGUAGE plpgsql AS $$
	BEGIN
		FOR i IN 1 .. n LOOP
			INSERT INTO s SELECT first + g, g % 20, g % 100, repeat(chr(97 + g % 26), 30), timestamptz '2024-01-01' + (first + g) * interval '1 ms'
				FROM generate_series(i * 10, i * 10 + i % 19) g;
			COMMIT;
		END LOOP;
	END $$;
	-- one transaction, far above what the reader keeps of one
	CREATE PROCEDURE flood(first bigint, n int) LANGUAGE plpgsql AS $$
	BEGIN
		FOR i IN 0 .. 9 LOOP
			INSERT INTO s SELECT first + g, g % 20, g % 100, repeat(chr(97 + (g % 26)::int), 30), timestamptz '2024-01-01' + (first + g) * interval '1 ms'
				FROM generate_series(i * n / 10 + 1::bigint, (i + 1) * n / 10) g;
		END LOOP;
	END $$;
});
my @views = qw(filtered grouped tumbled hopped);
my @refresh = map { "REFRESH MATERIALIZED VIEW $_" } @views;
my $tenth = int($rows / 10);
my $few = int($tenth / 10);

# What is usual, once of everything; then ten times as much, and more than that at once.
my %warm = highest("CALL flood(0, $tenth)", "CALL trickle($tenth, $few)", @refresh);
my $at = 2 * $tenth;
my %most = highest("CALL trickle($at, $few)", "CALL flood($at + 1 * $tenth, 4 * $tenth)", "CALL trickle($at + 5 * $tenth, $few)",
	"CALL trickle($at + 6 * $tenth, $few)", "CALL flood($at + 7 * $tenth, $tenth)", @refresh);
is($node->sql('SELECT sum(c) FROM grouped') + 0, $node->sql('SELECT count(*) FROM s') + 0, 'all rows were read');
foreach my $name (sort keys %most)
{
	my $growth = $most{$name} - $warm{$name};
	# A reader may hold 4 MB of open transactions; which views do at the first rows is chance.
	cmp_ok($growth, '<', 6 * $mb, sprintf('%s: at most %.1f MB, %+.1f MB over the first rows', $name, $most{$name} / $mb, $growth / $mb));
	cmp_ok($most{$name}, '<', 48 * $mb, "$name: in all");
}

# A few hundred thousand groups: in shared memory, not in the worker's own.
my $groups = 600_000;
$node->sql(q{CREATE MATERIALIZED VIEW wide WITH (stream_engine.continuous, stream_engine.checkpoint_interval = '1min') AS
	SELECT id, count(*) AS c, max(note) AS m FROM s GROUP BY id HAVING count(*) > 1});
my %pids = workers();
sub state
{
	return split /\|/, $node->sql(q{SELECT state_entries, state_bytes FROM stream_engine.jobs WHERE view = 'wide'::regclass});
}
# The first ones also fill the buffers that a worker has, which have a bound.
$node->sql("CALL flood(1, $groups / 3)");
$node->refresh('wide');
my (undef, $before) = state();
my $own = status_of($pids{wide}, 'RssAnon');
my $shared = dsm_of($pids{wide});
$node->sql("CALL flood(1 + $groups / 3, $groups * 2 / 3)");
$node->refresh('wide');
my ($entries, $bytes) = state();
is($entries, $groups, 'every group is an entry');
cmp_ok($bytes, '>', 50 * $groups, "state is counted: $bytes bytes");
my $grown = $bytes - $before;
cmp_ok(dsm_of($pids{wide}), '>=', $bytes, 'it is in dynamic shared memory');
cmp_ok(dsm_of($pids{wide}) - $shared, '>=', $grown / 2, 'where it grew');
cmp_ok(status_of($pids{wide}, 'RssAnon') - $own, '<', $grown / 3, sprintf('and not in the worker: that grew by %.1f MB, state by %.1f',
	(status_of($pids{wide}, 'RssAnon') - $own) / $mb, $grown / $mb));

# It is given back when the job ends: by itself, or by an error about its size.
sub segments
{
	my ($pid) = @_;
	my %files;
	open my $fh, '<', "/proc/$pid/maps" or return ();
	while (<$fh>) { $files{$1} = 1 if m{ (/dev/shm/PostgreSQL\.\d+)}; }
	return %files;
}
# Those that the launcher has, too, are the server's.
my %servers = segments($pids{'stream_engine launcher'});
my %views = segments($pids{wide});
my @segments = grep { !$servers{$_} } keys %views;
$node->sql(q{SELECT stream_engine.stop('wide')});
$node->sql(q{SELECT stream_engine.wait_state('wide', 'stopped')});
ok($node->wait_until(q{SELECT count(*) = 0 FROM pg_stat_activity WHERE pid = } . $pids{wide}, 'its worker ends'), 'its worker ends');
SKIP:
{
	skip 'dynamic shared memory is not in /dev/shm', 1 if !@segments;
	is(scalar(grep { -e $_ } @segments), 0, 'shared memory is given back: ' . @segments . ' segments');
}
$node->stop;
done_testing();
