# test/t/044_view_crash_load.pl: under random load the server is killed again and again; every view equals its query afterwards.
use strict;
use warnings;
use lib "$ENV{SE_TREE}/test/lib";
use StreamEngine;
use Test::More;
use Time::HiRes qw(usleep);

my $node = StreamEngine->new('load', conf => q{
stream_engine.checkpoint_interval = '20ms'
wal_keep_size = 0
min_wal_size = '32MB'
max_wal_size = '64MB'
checkpoint_timeout = '30s'
});

# Without a watermark expression nothing is late: the windows close at the end.
my %query = (
	rows => "SELECT client, n, k, v FROM %s WHERE k <> 3",
	groups => "SELECT client, count(*) AS rows, sum(v) AS total, min(n) AS first, max(n) AS last FROM %s GROUP BY client",
	windows => "SELECT window_start, k, count(*) AS rows, sum(v) AS total, count(DISTINCT client) AS clients FROM %s, tumble(ts, interval '1 minute') GROUP BY window_start, window_end, k",
	days => "SELECT window_start, k, count(*) AS rows, max(window_end) AS last FROM %s, cumulate(ts, interval '1 day', interval '1 month', timezone => 'Asia/Kathmandu') GROUP BY window_start, k",
	locals => "SELECT window_end, sum(v) AS total, max(n) AS top FROM %s, hop(ts, interval '20 s', interval '1 minute', timezone => 'Asia/Kathmandu') GROUP BY window_end",
	hops => "SELECT window_start, window_end, count(*) AS rows, max(v) AS top FROM %s, hop(ts, interval '20 s', interval '1 minute') GROUP BY window_start, window_end");

$node->twin('e');
$node->sql("SET client_min_messages = warning; CREATE MATERIALIZED VIEW $_ WITH (stream_engine.continuous) AS " . sprintf($query{$_}, 'e')) foreach sort keys %query;

for my $round (1 .. 3)
{
	my $load = $node->start_load('e', clients => 3, transactions => 150);

	# Some work before, some lost in flight, some after.
	$node->wait_until("SELECT count(*) > $round * 100 FROM e_twin", 'load is running');
	usleep(100_000 * $round);
	$node->sql('CHECKPOINT') if $round == 2;
	$node->kill9_postmaster;
	$node->start;
	$node->finish_load($load);
	my $more = $node->start_load('e', clients => 2, transactions => 30);
	$node->sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type LIKE 'stream_engine%'") if $round == 3;
	$node->finish_load($more);
	$node->refresh('rows', 'groups');
	$node->equals_oracle($_, sprintf($query{$_}, 'e_twin'), "crash $round") foreach qw(rows groups);
}

$node->sql(q{SELECT stream_engine.emit_watermark('e', 'infinity')});
my @closed = qw(windows hops days locals);
$node->refresh(@closed);
$node->equals_oracle($_, sprintf($query{$_}, 'e_twin'), 'at the end') foreach @closed;
is($node->sql(q{SELECT count(*) FROM stream_engine.job_errors WHERE sqlstate <> '57P01'}), '0', 'no view met an error but being terminated');

$node->stop;
done_testing();
