# test/t/049_session_modes.pl: sessions whose results change, in each mode, over kill -9 and errors where they join, and are emitted.
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
	CREATE TABLE twin (id int, k int, ts timestamptz);
	CREATE VIEW islands AS
		SELECT k, min(ts) AS ws, max(ts) + interval '10 s' AS we, count(*) AS c, array_agg(id ORDER BY id) AS ids
		FROM (SELECT *, sum(new) OVER (PARTITION BY k ORDER BY ts, id) AS island
		      FROM (SELECT *, CASE WHEN ts - lag(ts) OVER (PARTITION BY k ORDER BY ts, id) <= interval '10 s' THEN 0 ELSE 1 END AS new FROM twin) x) y
		GROUP BY k, island});

# An hour is more than any row is late; with 20 seconds, and with none, some do not count.
my %modes = (
	updated => q{stream_engine.emit = 'on_update', stream_engine.allowed_lateness = '1 hour'},
	refired => q{stream_engine.allowed_lateness = '1 hour'},
	early => q{stream_engine.emit = 'early 7 s', stream_engine.allowed_lateness = '1 hour'},
	by_clock => q{stream_engine.emit = 'early 100 ms processing', stream_engine.allowed_lateness = '1 hour'},
	every_third => q{stream_engine.emit = 'every 3 rows', stream_engine.allowed_lateness = '1 hour'},
	collected => q{stream_engine.emit = 'early 30 s, late 20 s', stream_engine.allowed_lateness = '1 hour'},
	some_late => q{stream_engine.emit = 'on_update', stream_engine.allowed_lateness = '20 s'},
	more_late => q{stream_engine.emit = 'early 5 s'},
);
my @views = sort keys %modes;
my $query = q{SELECT k, window_start, window_end, count(*) AS c, array_agg(id ORDER BY id) AS ids FROM s, session(ts, '10 s') GROUP BY k, window_start, window_end};
$node->sql("CREATE MATERIALIZED VIEW $_ WITH (stream_engine.continuous, $modes{$_}) AS $query") foreach @views;
# They begin when all is over.
foreach my $view (qw(some_late more_late))
{
	$node->sql("CREATE MATERIALIZED VIEW again_$view WITH (stream_engine.continuous, $modes{$view}) AS $query");
	$node->sql("SELECT stream_engine.stop('again_$view')");
	$node->sql("SELECT stream_engine.wait_state('again_$view', 'stopped')");
}

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

# Each session is shown once, as it is or as it was; with on_update as it is.
sub compare
{
	my ($what) = @_;
	$node->refresh(@views);
	$node->equals_oracle('updated', 'SELECT * FROM islands', "on_update $what");
	foreach my $view (grep { !/late$/ } @views)
	{
		is($node->sql(qq{SELECT count(*) FROM $view a JOIN $view b ON a.k = b.k AND a.window_start <= b.window_end AND b.window_start < a.window_start}),
			0, "one row for each session: $view $what");
		is($node->sql(qq{SELECT count(*) FROM $view v WHERE NOT EXISTS (SELECT FROM islands i WHERE i.k = v.k AND i.ids \@> v.ids)}),
			0, "of the rows that there are: $view $what");
		is($node->sql(qq{SELECT count(*) FROM islands i WHERE NOT EXISTS (SELECT FROM $view v WHERE i.k = v.k AND v.window_start >= i.ws AND v.window_end <= i.we)
				AND i.we < (SELECT max(ts) - interval '15 s' FROM twin)}),
			0, "whatever is over is there: $view $what");
	}
	return;
}

write_rows();
compare('at first');
foreach my $point (qw(session-join session-fire sink-insert))
{
	foreach my $action (qw(error crash))
	{
		my $died = $action eq 'crash' ? qr/terminated by signal 9/ : qr/fault point "\Q$point\E"/;
		my $log = -s $node->logfile;
		my $end = time + 120;

		$node->fault_set($point, $action, 1 + int(rand(300)), 1);
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
foreach my $moment (1 .. 4)
{
	write_rows() foreach 1 .. 2;
	$node->kill9_postmaster;
	$node->start;
	compare("after kill -9, $moment");
}

# The output is full after each batch of results.
$node->fault_set('sink-always-full', 'skip');
write_rows();
$node->sql(q{SELECT stream_engine.emit_watermark('s', 'infinity')});
$node->refresh(@views);
$node->fault_clear;
$node->equals_oracle($_, 'SELECT * FROM islands', "all sessions: $_") foreach grep { !/late$/ } @views;

# What lost some rows is what a view is that met neither crash nor error.
foreach my $view (qw(some_late more_late))
{
	$node->sql("SELECT stream_engine.start('again_$view')");
	$node->refresh("again_$view");
	$node->equals_oracle($view, "SELECT * FROM again_$view", "as without crashes: $view");
	is($node->sql(qq{SELECT count(DISTINCT (late_rows, late_pairs)) || ' ' || (min(late_rows) > 10) FROM stream_engine.jobs WHERE view::text LIKE '%$view'}),
		'1 true', "so are the counters: $view");
}
$node->stop;
done_testing();
