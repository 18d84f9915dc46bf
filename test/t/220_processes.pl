# Processes: who restarts when one ends, how long a shutdown takes, what an idle server costs.
use strict;
use warnings;
use StreamEngine;
use Test::More;
use Time::HiRes qw(time sleep);

my $node = StreamEngine->new('main', conf => "stream_engine.restart_delay_min = '10ms'\n");
$node->twin('events');
$node->sql("CREATE MATERIALIZED VIEW v$_ WITH (stream_engine.continuous) AS SELECT k, count(*) AS c FROM events GROUP BY k") for 1 .. 10;
$node->write_twin('events', q{SELECT 1, g, g % 5, g, timestamptz '2024-01-01', 'x' FROM generate_series(1, 1000) g});
$node->refresh(map { "v$_" } 1 .. 10);

sub pid_of
{
	my ($view) = @_;
	return $node->sql("SELECT pid FROM stream_engine.jobs WHERE view = '$view'::regclass");
}

# One worker is terminated: it alone is replaced.
my $others = join ' ', map { pid_of("v$_") } 2 .. 10;
my $session = $node->background_psql('postgres');
my $victim = pid_of('v1');
like($victim, qr/^\d+$/, 'a running view has a process');
$node->sql("SELECT pg_terminate_backend($victim)");
$node->wait_until("SELECT pid <> $victim FROM stream_engine.jobs WHERE view = 'v1'::regclass AND state = 'running'", 'the worker is back');
is(join(' ', map { pid_of("v$_") } 2 .. 10), $others, 'the other nine workers are the same processes');
is($session->query_safe('SELECT 1'), '1', 'a session goes on');
$session->quit;
$node->write_twin('events', q{SELECT 2, g, g % 5, g, timestamptz '2024-01-01', 'x' FROM generate_series(1, 1000) g});
$node->refresh(map { "v$_" } 1 .. 10);
$node->equals_oracle("v$_", 'SELECT k, count(*) FROM events_twin GROUP BY k', 'after the termination') for 1, 5;

# Idle: processor time of our processes, in hundredths of a second, until the server's clock says that ten seconds
# have passed. The sessions that ask are not ours.
sub jiffies
{
	my $sum = 0;
	foreach my $pid ($node->worker_pids)
	{
		open my $fh, '<', "/proc/$pid/stat" or next;
		my $line = <$fh> // '';
		close $fh;
		$line =~ s/^.*\) //;
		my @fields = split / /, $line;
		$sum += $fields[11] + $fields[12];
	}
	return $sum;
}
my $idle_pids = join ' ', $node->worker_pids;
my $end = $node->sql(q{SELECT clock_timestamp() + interval '10 s'});
my $before = jiffies();
$node->wait_until("SELECT clock_timestamp() >= '$end'", 'ten seconds of idleness');
my $used = jiffies() - $before;
is(scalar(split / /, $idle_pids), 12, 'launcher, coordinator and ten workers');
is(join(' ', $node->worker_pids), $idle_pids, 'none of them came or went');
cmp_ok($used, '<=', 5, "an idle server with ten views uses under half a percent of a core ($used hundredths of a second in ten)");

# Shutdown: in every way, and nobody stays.
foreach my $mode (qw(fast immediate))
{
	my $load = $node->start_load('events', clients => 2, transactions => 50);
	sleep 0.2;
	my @pids = $node->server_processes;
	my $began = time;
	$node->stop($mode);
	StreamEngine::wait_gone($_) foreach @pids;
	cmp_ok(time - $began, '<', 5, "$mode shutdown under load");
	$node->start;
	$node->finish_load($load);
	$node->refresh('v1', 'v7');
	$node->equals_oracle('v7', 'SELECT k, count(*) FROM events_twin GROUP BY k', "after $mode shutdown");
}
cmp_ok($node->kill9_postmaster, '<', 5, 'no process outlives the postmaster by five seconds');
$node->start;
$node->refresh('v2');
$node->equals_oracle('v2', 'SELECT k, count(*) FROM events_twin GROUP BY k', 'after kill -9 of the postmaster');
$node->stop;
done_testing();
