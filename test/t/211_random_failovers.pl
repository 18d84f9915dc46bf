# test/t/211_random_failovers.pl: one failover after the other at random moments under random load, with checkpoints of both servers in
# between: after each the views equal their queries over what the new primary has. SEED=… repeats one run, ROUNDS=… makes it longer.
use strict;
use warnings;
use lib "$ENV{SE_TREE}/test/lib";
use StreamEngine;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $seed = $ENV{SEED} || int(rand(1_000_000));
my $rounds = $ENV{ROUNDS} || 3;
note("SEED=$seed");
srand($seed);
my @seeds = map { [ int(rand(1_000_000)), int(rand(9000)) ] } 1 .. $rounds;

my $primary = StreamEngine->new('node0', conf => q{
max_wal_senders = 4
hot_standby = on
wal_keep_size = 0
min_wal_size = '32MB'
max_wal_size = '64MB'
stream_engine.checkpoint_interval = '20ms'
});
$primary->twin('s', watermark => q{ts - interval '20 seconds'});
$primary->sql(q{
	CREATE MATERIALIZED VIEW plain WITH (stream_engine.continuous) AS SELECT client, n, v FROM s;
	CREATE MATERIALIZED VIEW sums WITH (stream_engine.continuous) AS SELECT k, count(*) AS c, sum(v) AS v, max(note) AS m FROM s GROUP BY k;
	CREATE MATERIALIZED VIEW lists WITH (stream_engine.continuous) AS
		SELECT k, array_agg(client || '/' || n ORDER BY client, n) AS a FROM s GROUP BY k});
my %query = (
	plain => 'SELECT client, n, v FROM s_twin',
	sums => 'SELECT k, count(*), sum(v), max(note) FROM s_twin GROUP BY k',
	lists => q{SELECT k, array_agg(client || '/' || n ORDER BY client, n) FROM s_twin GROUP BY k});
my @views = sort keys %query;

sub standby_of
{
	my ($from, $round) = @_;
	$from->backup("base$round");
	my $node = PostgreSQL::Test::Cluster->new("node$round");
	$node->init_from_backup($from, "base$round", has_streaming => 1);
	$node->start;
	bless $node, 'StreamEngine';
	$node->wait_until(q{SELECT count(*) = 1 FROM pg_replication_slots WHERE slot_name = 'stream_engine_standby'}, 'the slot of the standby');
	# It has no WAL from before its backup: all views have to have got past that.
	$from->write_twin('s', qq{SELECT ${round}000, g, g % 20, g, '2024-01-01'::timestamptz, 'x' FROM generate_series(1, 100) g});
	$from->refresh(@views);
	$from->wait_for_catchup("node$round", 'replay', $from->lsn('flush'));
	return $node;
}

foreach my $round (1 .. $rounds)
{
	my ($load_seed, $rows) = @{ $seeds[ $round - 1 ] };
	my $standby = standby_of($primary, $round);
	my $until = $primary->sql('SELECT count(*) FROM s_twin') + $rows;
	my $load = $primary->start_load('s', clients => 3, transactions => 150, seed => $load_seed);
	my $end = time + 15;

	while (time < $end && $primary->sql('SELECT count(*) FROM s_twin') < $until)
	{
		$primary->sql('CHECKPOINT') if rand() < 0.1;
		$standby->sql('CHECKPOINT') if rand() < 0.1;
		$primary->sql('SELECT pg_switch_wal()') if rand() < 0.1;
	}
	$primary->kill9_postmaster;
	$_->{handle}->finish foreach @{ $load->{sessions} };
	$standby->promote;
	foreach my $gid (split /\n/, $standby->sql('SELECT gid FROM pg_prepared_xacts ORDER BY gid'))
	{
		$standby->sql((rand() < 0.5 ? 'COMMIT' : 'ROLLBACK') . " PREPARED '$gid'");
	}
	$standby->refresh(@views);
	$standby->equals_oracle($_, $query{$_}, "failover $round") foreach @views;
	is($standby->sql('SELECT count(*) FROM stream_engine.errors'), '0', "failover $round: no errors");
	$primary = $standby;
}
$primary->stop;
done_testing();
