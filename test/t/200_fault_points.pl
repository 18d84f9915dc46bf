# At every named fault point: an ERROR, a FATAL and a kill -9 under load, and the views still equal their queries.
use strict;
use warnings;
use StreamEngine;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = StreamEngine->new('main', conf => "stream_engine.checkpoint_interval = '20ms'\nstream_engine.restart_delay_min = '10ms'\n");
$node->twin('events');
$node->sql(q{CREATE MATERIALIZED VIEW each_row WITH (stream_engine.continuous) AS SELECT client, n, k, v, length(note) AS l FROM events});
$node->sql(q{CREATE MATERIALIZED VIEW by_key WITH (stream_engine.continuous) AS
	SELECT k, count(*) AS c, sum(v) AS s, count(DISTINCT v) AS d, max(note) AS m FROM events GROUP BY k});

sub compare
{
	my ($what) = @_;
	$node->refresh('each_row', 'by_key');
	$node->equals_oracle('each_row', 'SELECT client, n, k, v, length(note) FROM events_twin', $what);
	$node->equals_oracle('by_key',
		'SELECT k, count(*), sum(v), count(DISTINCT v), max(note) FROM events_twin GROUP BY k', $what);
	return;
}

# What the log says so far about a point having acted.
sub acted
{
	my ($point, $action) = @_;
	my $log = slurp_file($node->logfile);
	return scalar(() = $log =~ /fault point "\Q$point\E"/g) if $action ne 'crash';
	return scalar(() = $log =~ /terminated by signal 9/g);
}

my @points = split /\n/, qx{grep -rhoE 'SE_FAULT_POINT\\("[a-z]+-[a-z-]+"\\)' $ENV{SE_TREE}/src --include='*.c' | grep -oE '"[^"]+"' | tr -d '"' | sort -u};
# Those of commands and options that this test does not give, of the vacuum (047_view_vacuum.pl) and of standbys (018_standby_horizon.pl); their own tests do.
my %elsewhere = map { $_ => 1 } qw(bounded-read-next commit-before-side count-emit counter-poll drain-begun slot-create create-before-mark create-after-mark
	convert-begin convert-adopted convert-commit options-met options-taken refresh-after-mark session-fire session-join sink-retire standby-look standby-pass tick-write vacuum-begin window-fire-group);
cmp_ok(scalar(@points), '>=', 15, 'fault points found in the sources');

$node->write_twin('events', q{SELECT -3, g, g, g, timestamptz '2024-01-01', 'x' FROM generate_series(1, 10) g});
# The points of sessions: whoever dies there takes nothing with him but his session.
foreach my $case ([ 'bounded-read-next', 'SELECT count(*) FROM events' ], [ 'refresh-after-mark', 'REFRESH MATERIALIZED VIEW by_key' ],
	[ 'drain-begun', 'SELECT stream_engine.drain(), stream_engine.undrain()' ],
	[ 'slot-create', q{CREATE FOREIGN TABLE t (a int) SERVER stream_engine; CREATE MATERIALIZED VIEW x WITH (stream_engine.continuous) AS SELECT a FROM t}, 1 ])
{
	my ($point, $statement, $own) = @$case;
	foreach my $action (qw(error fatal crash))
	{
		my $before = acted($point, $action);
		my $database = $own ? "d_$action" : 'postgres';
		# A database of its own has no slot yet.
		$node->sql("CREATE DATABASE $database") if $own;
		$node->sql('SET client_min_messages = warning; CREATE EXTENSION stream_engine', $database) if $own;
		$node->fault_set($point, $action, 0, 1);
		my ($status) = $node->psql($database, $statement, on_error_stop => 1);
		isnt($status, 0, "$action at $point ends the statement");
		$node->wait_ready;
		cmp_ok(acted($point, $action), '>', $before, "$action at $point happened");
		$node->fault_clear;
		$node->sql('DROP FOREIGN TABLE IF EXISTS t CASCADE', $database) if $own;
		$node->sql($statement, $database);
		$node->sql('INSERT INTO t VALUES (7); REFRESH MATERIALIZED VIEW x', $database) if $own;
		is($node->sql('TABLE x', $database), '7', "the view whose slot it was goes after $action") if $own;
		$node->write_twin('events', q{SELECT -2, g, g, g, timestamptz '2024-01-01', 'x' FROM generate_series(1, 10) g});
		compare("after $action at $point");
	}
}

# The reclaim of chunks comes last: it takes many rows, which every comparison after it would read.
@points = ((grep { $_ ne 'store-reclaim' } @points), 'store-reclaim');
foreach my $point (grep { !$elsewhere{$_} } @points)
{
	foreach my $action (qw(error fatal crash))
	{
		my $before = acted($point, $action);
		my $load = $node->start_load('events', clients => 2, transactions => 12);

		$node->fault_set($point, $action, 1, 1);
		# Some points are passed only when a process starts.
		$node->psql('postgres', q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type LIKE 'stream_engine%'})
		  if $point =~ /^(worker|launcher|coordinator|store-reclaim)/;
		# Or when there is something to read. Chunks are reclaimed when many groups changed often.
		my $keys = $point eq 'store-reclaim' ? 2000 : 20;
		my $rows = $point eq 'store-reclaim' ? 2000 : 100;
		my $end = time + $StreamEngine::timeout;
		while (acted($point, $action) == $before && time < $end)
		{
			$node->psql('postgres', qq{BEGIN; INSERT INTO events_twin (client, n, k, v, ts) SELECT -1, 0, g % $keys, g, '2024-01-01' FROM generate_series(1, $rows) g;
				INSERT INTO events SELECT -1, 0, g % $keys, g, '2024-01-01' FROM generate_series(1, $rows) g; COMMIT});
		}
		cmp_ok(acted($point, $action), '>', $before, "$action at $point happened");
		$node->finish_load($load, qr/fault point/);
		$node->fault_clear;
		compare("after $action at $point");
	}
}
$node->stop;
done_testing();
