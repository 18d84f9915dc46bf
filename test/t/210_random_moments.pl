# At random moments under concurrent load something dies: nothing is lost, nothing is double.
#
# SE_MOMENTS=n for more or fewer than 50.
use strict;
use warnings;
use StreamEngine;
use Test::More;
use Time::HiRes qw(usleep);

my $moments = $ENV{SE_MOMENTS} // 50;
my $node = StreamEngine->new('main', conf => "stream_engine.checkpoint_interval = '50ms'\nstream_engine.restart_delay_min = '10ms'\n");
$node->twin('events');
$node->sql(q{CREATE MATERIALIZED VIEW each_row WITH (stream_engine.continuous) AS SELECT client, n, k, v FROM events});
$node->sql(q{CREATE MATERIALIZED VIEW by_key WITH (stream_engine.continuous) AS
	SELECT k, count(*) AS c, sum(v) AS s, array_agg(DISTINCT client) AS clients FROM events GROUP BY k});
# Its watermark comes with the end of the input alone, so it holds state all along.
$node->sql(q{CREATE MATERIALIZED VIEW by_window WITH (stream_engine.continuous) AS
	SELECT window_start, k, count(*) AS c, sum(v) AS s, max(note) AS m FROM events, tumble(ts, interval '1 minute')
	GROUP BY window_start, window_end, k});

my $seed = $ENV{SEED} || int(rand(1_000_000));
note("moments with seed $seed (SEED=$seed repeats them)");

my %deeds = (
	'kill -9 of the postmaster' => sub { $node->kill9_postmaster; $node->start },
	'immediate shutdown' => sub { $node->stop('immediate'); $node->start },
	'kill -9 of a task worker' => sub { kill_some('stream_engine task') },
	'kill -9 of the coordinator' => sub { kill_some('stream_engine coordinator') },
	'kill -9 of the launcher' => sub { kill_some('stream_engine launcher') },
	'termination of a task worker' => sub { terminate('stream_engine task', 1) },
	'termination of all our workers' => sub { terminate('stream_engine%', 100) },
	'termination of a session' => sub {
		$node->psql('postgres', q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'load%' LIMIT 1});
	},
);

sub kill_some
{
	my ($type) = @_;
	my ($status, $pid) = $node->psql('postgres', "SELECT pid FROM pg_stat_activity WHERE backend_type = '$type' ORDER BY random() LIMIT 1");
	return if $status != 0 || $pid eq '';
	kill 'KILL', $pid;
	StreamEngine::wait_gone($pid);
	$node->wait_ready;
	return;
}

sub terminate
{
	my ($type, $most) = @_;
	$node->psql('postgres', "SELECT pg_terminate_backend(pid) FROM (SELECT pid FROM pg_stat_activity WHERE backend_type LIKE '$type' ORDER BY random() LIMIT $most) p");
	return;
}

my ($writer_open, $uncommitted) = (0, 0);
my @names = sort keys %deeds;
for my $moment (1 .. $moments)
{
	srand($seed + $moment);
	my $deed = $names[ ($moment - 1) % @names ];
	my $pause = int(rand(300_000));
	my $load = $node->start_load('events', clients => 3, transactions => 120, seed => $seed + $moment);

	usleep($pause);
	# Look until a writer is open and results are uncommitted, or the load is over.
	my ($status, $seen);
	for (1 .. 200)
	{
		($status, $seen) = $node->psql('postgres', q{
			SELECT (SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'load%' AND backend_xid IS NOT NULL) > 0
				OR (SELECT count(*) FROM pg_prepared_xacts) > 0,
				(SELECT count(*) FROM events_twin) > (SELECT count(*) FROM each_row),
				(SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'load%') = 0});
		last if $status != 0 || $seen =~ /^t\|t/ || $seen =~ /t$/;
	}
	if ($status == 0)
	{
		$writer_open++ if $seen =~ /^t/;
		$uncommitted++ if $seen =~ /^.\|t/;
	}
	$deeds{$deed}->();
	$node->finish_load($load);
	$node->refresh('each_row', 'by_key', 'by_window');
	$node->equals_oracle('each_row', 'SELECT client, n, k, v FROM events_twin', "moment $moment, $deed");
	$node->equals_oracle('by_key', 'SELECT k, count(*), sum(v), array_agg(DISTINCT client) FROM events_twin GROUP BY k', "moment $moment, $deed");
}
cmp_ok($writer_open, '>', $moments / 2, "a writer was open at most moments ($writer_open of $moments)");
cmp_ok($uncommitted, '>', $moments / 4, "results were uncommitted at many moments ($uncommitted of $moments)");

$node->sql(q{SELECT stream_engine.emit_watermark('events', 'infinity')});
$node->refresh('by_window');
$node->equals_oracle('by_window',
	q{SELECT date_trunc('minute', ts), k, count(*), sum(v), max(note) FROM events_twin GROUP BY 1, 2}, 'windows that lived through it all');
$node->stop;
done_testing();
