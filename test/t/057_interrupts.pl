# test/t/057_interrupts.pl: timeouts, cancels and terminations of waiting sessions and of our processes: the right error, nothing left behind.
use strict;
use warnings;
use lib "$ENV{SE_TREE}/test/lib";
use PostgreSQL::Test::Utils;
use IPC::Run;
use StreamEngine;
use Test::More;

my $node = StreamEngine->new('main', conf => "stream_engine.restart_delay_min = '10ms'\nstream_engine.restart_delay_max = '50ms'\nautovacuum = off\n");
$node->sql(q{
	CREATE FOREIGN TABLE s (k int, n int) SERVER stream_engine;
	CREATE TABLE twin (k int, n int);
	CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous) AS SELECT k, count(*) AS c, sum(n) AS n FROM s GROUP BY k});

sub write_rows
{
	$node->sql(q{BEGIN; INSERT INTO twin SELECT g % 5, g FROM generate_series(1, 100) g; INSERT INTO s SELECT g % 5, g FROM generate_series(1, 100) g; COMMIT});
	return;
}

# v equals its query, our processes run, and no session of the test holds anything: no lock, no hold on the WAL.
sub unharmed
{
	my ($what) = @_;
	$node->fault_clear;
	write_rows();
	$node->refresh('v');
	$node->equals_oracle('v', 'SELECT k, count(*), sum(n) FROM twin GROUP BY k', $what);
	$node->wait_until(q{SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_type = 'stream_engine coordinator'}, 'a coordinator runs');
	is($node->sql(q{SELECT count(*) FROM pg_locks l JOIN pg_stat_activity a USING (pid)
		WHERE a.backend_type = 'client backend' AND a.pid <> pg_backend_pid() AND l.locktype = 'relation'}), '0', "$what: no lock is left");
	is($node->sql(q{SELECT (SELECT count(*) FROM stream_engine.job_catalog) || ' ' || (SELECT count(*) FROM pg_class WHERE relname IN ('late', 'late_key'))}),
		'1 0', "$what: no view is half made");
	return if $what !~ /CREATE|SELECT/;
	# What still held the WAL would keep the slot from going up to the position.
	$node->sql(q{SELECT stream_engine.start('v')});
	return $node->wait_until(q{SELECT min(r.restart_lsn) >= min(l.restart_lsn) FROM pg_replication_slots r, stream_engine.sources l}, "$what: no hold is left");
}

# What waits, and how: [name, SQL, what makes it wait, what tells that it does].
my $open_writer = 'BEGIN; INSERT INTO s VALUES (0, 0)';
my @waits = (
	[ 'REFRESH', 'REFRESH MATERIALIZED VIEW v', 'round-begin', undef ],
	[ 'wait_for', q{SELECT stream_engine.wait_for('v', pg_current_wal_insert_lsn() + 1000)}, 'round-begin', undef ],
	[ 'wait_state', q{SELECT stream_engine.wait_state('v', 'failed')}, undef, undef ],
	[ 'CREATE', 'CREATE MATERIALIZED VIEW late WITH (stream_engine.continuous) AS SELECT k, count(*) FROM s GROUP BY k', undef, $open_writer ],
	[ 'CREATE after its mark', 'CREATE MATERIALIZED VIEW late WITH (stream_engine.continuous) AS SELECT k FROM s', 'create-after-mark', undef ],
	[ 'SELECT', 'SELECT count(*) FROM s', 'bounded-read-next', undef ],
	[ 'INSERT', 'INSERT INTO s SELECT g, g FROM generate_series(1, 100000) g', 'log-message-written', undef ],
	[ 'INSERT under a lock', 'INSERT INTO s VALUES (1, 1)', undef, 'BEGIN; ALTER FOREIGN TABLE s ALTER n SET NOT NULL' ],
	[ 'DROP', 'DROP MATERIALIZED VIEW v', undef, 'BEGIN; LOCK TABLE v IN ACCESS SHARE MODE' ],
	[ 'ALTER of the stream', 'ALTER FOREIGN TABLE s ADD COLUMN more int', undef, $open_writer ],
);
my %ends = (
	statement_timeout => '57014',
	lock_timeout => '55P03',
	cancel => '57014',
	terminate => '57P01',
);

write_rows();
$node->refresh('v');
foreach my $wait (@waits)
{
	my ($name, $sql, $point, $hold) = @$wait;
	foreach my $end (sort keys %ends)
	{
		# What is no lock has no lock_timeout.
		next if $end eq 'lock_timeout' && !$hold;
		my $holder;
		if ($hold)
		{
			$holder = $node->background_psql('postgres');
			$holder->query_safe($hold);
		}
		if (defined $point)
		{
			$node->fault_set($point, 'wait');
			$node->sql('INSERT INTO twin VALUES (7, 7)'), $node->sql('INSERT INTO s VALUES (7, 7)') if $point eq 'round-begin';
		}
		my $settings = $end =~ /timeout/ ? "SET $end = '300ms';" : '';
		my ($out, $err) = ('', '');
		my $session = IPC::Run::start(
			[ 'psql', '-XAtq', '-d', $node->connstr('postgres') . ' application_name=victim', '-v', 'VERBOSITY=sqlstate',
				'-c', "$settings", '-c', $sql ], '>', \$out, '2>', \$err);
		if ($end !~ /timeout/)
		{
			$node->wait_until(q{SELECT count(*) = 1 FROM pg_stat_activity WHERE application_name = 'victim' AND wait_event_type IN ('Lock', 'Extension')}, "$name waits");
			my $function = $end eq 'cancel' ? 'pg_cancel_backend' : 'pg_terminate_backend';
			$node->sql("SELECT $function(pid) FROM pg_stat_activity WHERE application_name = 'victim'");
		}
		$session->finish;
		like($err, qr/^(ERROR|FATAL):  $ends{$end}$/m, "$name ended by $end");
		if ($holder)
		{
			$holder->query_safe('ROLLBACK');
			$holder->quit;
		}
		$node->fault_clear;
		is($node->sql(q{SELECT count(*) FROM stream_engine.jobs}), '1', "$name, $end: no view more or less");
	}
	unharmed($name);
}

# A session that sleeps in its transaction with a lock that a commit needs.
my $sleeper = $node->background_psql('postgres', on_error_stop => 0);
$sleeper->query_safe(q{SET idle_in_transaction_session_timeout = '1500ms'; BEGIN; LOCK TABLE v IN SHARE MODE});
write_rows();
$node->refresh('v');
is($node->sql(q{SELECT state || failures FROM stream_engine.jobs}), 'running0', 'idle_in_transaction_session_timeout frees the view');
eval { $sleeper->quit };	# the server has closed it
unharmed('an idle session');

# Timeouts that are set for everybody are not for our processes.
{
	local $ENV{PGOPTIONS} = '-c statement_timeout=0 -c lock_timeout=0 -c idle_in_transaction_session_timeout=0 -c default_transaction_read_only=off'
	  . ' -c default_transaction_isolation=read\\ committed';
	my @settings = ("statement_timeout = '1ms'", "lock_timeout = '1ms'", "idle_in_transaction_session_timeout = '1ms'",
		'default_transaction_read_only = on', "default_transaction_isolation = 'serializable'");
	$node->sql(join(';', map({ "ALTER DATABASE postgres SET $_" } @settings), map({ "ALTER ROLE ALL SET $_" } @settings)));
	$node->sql(q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type LIKE 'stream_engine%'});
	write_rows();
	$node->refresh('v');
	$node->sql('ALTER DATABASE postgres RESET ALL; ALTER ROLE ALL RESET ALL');
}
is($node->sql(q{SELECT count(*) FROM stream_engine.errors WHERE message !~ 'administrator command'}), '0', 'no process of ours ran into a timeout');
unharmed('timeouts for everybody');

# Our own processes: cancelled and terminated while they sleep and in the middle of something.
# (The launcher is back after 5 s, a coordinator after a second, then two: few points for these.)
my %points = (
	'pg_cancel_backend stream_engine launcher' => [undef],
	'pg_terminate_backend stream_engine launcher' => ['launcher-loop'],
	'pg_cancel_backend stream_engine coordinator' => [undef],
	'pg_terminate_backend stream_engine coordinator' => [ undef, 'coordinator-slot-move' ],
	'pg_cancel_backend stream_engine task' => [ undef, 'worker-restored', 'round-begin', 'commit-begin', 'commit-before-position' ],
	'pg_terminate_backend stream_engine task' => [ undef, 'worker-start', 'worker-restored', 'round-begin', 'round-before-commit', 'commit-begin', 'commit-after-state', 'commit-before-position', 'commit-done' ],
);
foreach my $what (sort keys %points)
{
	my ($function, $type) = split / /, $what, 2;
	foreach my $point (@{ $points{$what} })
	{
		my $where = defined $point ? "at $point" : 'asleep';
		$node->wait_until("SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_type = '$type'", "$type is there");
		if (defined $point)
		{
			$node->fault_set($point, 'wait');
			# What brings it there: news for each.
			$node->sql(q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'stream_engine task'}) if $point =~ /^worker-/;
			$node->sql(q{CREATE DATABASE news}), $node->sql(q{ALTER DATABASE news IS_TEMPLATE false}) if $point =~ /^launcher-/;
			write_rows();
			$node->sql(q{SELECT pg_switch_wal(); CHECKPOINT; SELECT stream_engine.start('v')});
			write_rows();
			$node->wait_fault($point);
		}
		$node->sql("SELECT $function(pid) FROM pg_stat_activity WHERE backend_type = '$type'");
		$node->fault_clear;
		unharmed("$function of $type $where");
	}
}
is($node->sql('SELECT count(*) FROM stream_engine.job_catalog'), '1', 'one view, still');
$node->stop;
done_testing();
