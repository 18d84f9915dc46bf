# test/t/049_view_modes.pl: windows and groups whose results change, in each mode, over kill -9 and errors where they are emitted.
use strict;
use warnings;
use lib "$ENV{SE_TREE}/test/lib";
use PostgreSQL::Test::Utils;
use StreamEngine;
use Test::More;

my $seed = $ENV{SEED} || int(rand(1_000_000));
note("modes with seed $seed (SEED=$seed repeats them)");
srand($seed);
my $node = StreamEngine->new('modes',
	conf => "stream_engine.checkpoint_interval = '20ms'\nstream_engine.restart_delay_min = '10ms'\nstream_engine.tick_interval = '50ms'\n");
$node->sql(q{
	CREATE FOREIGN TABLE s (id int, k int, ts timestamptz OPTIONS (event_time 'true')) SERVER stream_engine OPTIONS (watermark 'ts - interval ''15 s''');
	CREATE TABLE twin (id int, k int, ts timestamptz)});

# With an hour of lateness every row counts. The exact ones show at any place of the log what they would without a crash.
my $tumble = q{SELECT window_end, k, count(*) AS c, array_agg(id ORDER BY id) AS ids FROM %s, tumble(ts, '30 s') GROUP BY window_end, k};
my $hop = q{SELECT window_start, window_end, k % 50 AS k, count(*) AS c, sum(id) AS ids FROM %s, hop(ts, '10 s', '30 s') GROUP BY window_start, window_end, k % 50};
my $group = q{SELECT k, count(*) AS c, max(ts) AS last, count(DISTINCT id % 7) AS d FROM %s GROUP BY k};
my %modes = (
	updated => [ $tumble, q{stream_engine.emit = 'on_update', stream_engine.allowed_lateness = '1 hour'} ],
	updated_hop => [ $hop, q{stream_engine.emit = 'on_update', stream_engine.allowed_lateness = '1 hour'} ],
	refired => [ $tumble, q{stream_engine.allowed_lateness = '1 hour'} ],
	early => [ $tumble, q{stream_engine.emit = 'early 7 s', stream_engine.allowed_lateness = '20 s'} ],
	by_clock => [ $tumble, q{stream_engine.emit = 'early 100 ms processing', stream_engine.allowed_lateness = '1 hour'} ],
	every_third => [ $hop, q{stream_engine.emit = 'every 3 rows'} ],
	collected => [ $tumble, q{stream_engine.emit = 'early 11 s, late 20 s', stream_engine.allowed_lateness = '1 min'} ],
	held => [ $group, q{stream_engine.emit = 'early 20 s, every 5 rows'} ],
	held_by_clock => [ $group, q{stream_engine.emit = 'early 100 ms processing'} ]);
my @views = sort keys %modes;
my @exact = grep { !/clock/ } @views;
$node->sql("CREATE MATERIALIZED VIEW $_ WITH (stream_engine.continuous, $modes{$_}[1]) AS " . sprintf($modes{$_}[0], 's')) foreach @views;

# The same, running only while nothing crashes.
$node->sql("CREATE MATERIALIZED VIEW again_$_ WITH (stream_engine.continuous, $modes{$_}[1]) AS " . sprintf($modes{$_}[0], 's') . ' WITH NO DATA') foreach @exact;

my $next = 1;

# Rows of 300 keys up to a minute out of order; the server may crash in it.
sub write_rows
{
	my $first = $next;
	my $last = $next + 1499;
	my ($status) = $node->psql('postgres', qq{BEGIN;
		INSERT INTO twin SELECT i, i % 300, timestamptz '2024-01-01' + (i / 300) * interval '9 s' - (hashint4(i + $seed) & 63) * interval '1 s' FROM generate_series($first, $last) i;
		INSERT INTO s SELECT * FROM twin WHERE id BETWEEN $first AND $last ORDER BY id;
		COMMIT}, on_error_stop => 1);
	$node->wait_ready if $status != 0;
	my $written;
	while (($status, $written) = $node->psql('postgres', 'SELECT coalesce(max(id), 0) FROM twin') and $status != 0)
	{
		$node->wait_ready;
	}
	$next = $written + 1;
	return;
}

sub compare
{
	my ($what) = @_;

	$node->refresh(@views);
	$node->equals_oracle($_, sprintf($modes{$_}[0], 'twin'), "on_update $what") foreach qw(updated updated_hop);
	$node->sql("SELECT stream_engine.start('again_$_')") foreach @exact;
	$node->refresh(map { "again_$_" } @exact);
	$node->equals_oracle($_, "SELECT * FROM again_$_", "as without crashes: $_ $what") foreach @exact;
	$node->sql("SELECT stream_engine.stop('again_$_')") foreach @exact;
	$node->sql("SELECT stream_engine.wait_state('again_$_', 'stopped', '120s')") foreach @exact;
	return;
}

write_rows();
compare('at first');
foreach my $point (qw(window-fire-group sink-insert commit-after-results))
{
	foreach my $action (qw(error crash))
	{
		my $died = $action eq 'crash' ? qr/terminated by signal 9/ : qr/fault point "\Q$point\E"/;
		my $log = -s $node->logfile;
		my $end = time + 120;

		$node->fault_set($point, $action, 1 + int(rand($point eq 'sink-insert' ? 2000 : 4)), 1);
		while (slurp_file($node->logfile, $log) !~ $died && time < $end)
		{
			write_rows();
			$node->psql('postgres', "REFRESH MATERIALIZED VIEW $_") foreach @views;
		}
		like(slurp_file($node->logfile, $log), $died, "$action at $point happened");
		$node->wait_ready;
		$node->fault_clear;
		write_rows();
		compare("after $action at $point");
	}
}
foreach my $moment (1 .. 3)
{
	write_rows() foreach 1 .. 2;
	$node->kill9_postmaster;
	$node->start;
	compare("after kill -9, $moment");
}

# The output is full after each batch of results, and the server dies in it.
$node->fault_set('sink-always-full', 'skip');
write_rows();
$node->sql(q{SELECT stream_engine.emit_watermark('s', 'infinity')});
$node->psql('postgres', "REFRESH MATERIALIZED VIEW refired");
$node->kill9_postmaster;
$node->start;
compare('at the end');
$node->equals_oracle($_, sprintf($modes{$_}[0], 'twin'), "all rows: $_") foreach qw(refired by_clock held held_by_clock);
is($node->sql(q{SELECT count(*) || ' ' || bool_and(j.late_rows = a.late_rows AND j.late_pairs = a.late_pairs) || ' ' || (max(j.late_pairs) > 10)
	FROM stream_engine.jobs j JOIN stream_engine.jobs a ON a.view::text = 'again_' || j.view::text}), scalar(@exact) . ' true true', 'the counters are those without crashes');
is($node->sql(q{SELECT bool_and(stream_engine.is_final('early', window_end)) FROM early}), 't', 'all is final');
$node->stop;
done_testing();
