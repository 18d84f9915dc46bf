# test/t/049_matrix_clock.pl: windows over processing time, and those whose watermark the clock moves (max_delay, idle streams), in each mode, while the server
# dies at random moments between rows and marks, and its standby takes over.
use strict;
use warnings;
use lib "$ENV{SE_TREE}/test/lib";
use Matrix;
use PostgreSQL::Test::Utils;
use Test::More;

# What depends on the clock is compared while that stands still, and has moved between the last rows only: with a view that reads the same log while nothing crashes.
sub stop_clock
{
	my ($matrix, $when) = @_;
	my $node = $matrix->{node};
	my $now = $node->sql('SELECT clock_timestamp()');

	return over($matrix) if $when eq 'final';
	foreach my $step (0 .. 3)
	{
		$node->sql("SELECT stream_engine.test_tick(timestamptz '$now' + $step * interval '90 ms')");
		$matrix->begin_rows(6);
		$matrix->end_rows;
	}
	return;
}

# An hour later everything is over.
sub over
{
	my ($matrix) = @_;
	$matrix->{node}->sql(q{SELECT stream_engine.test_tick(clock_timestamp() + interval '1 hour')});
	return;
}

my $matrix = Matrix->new('clock',
	conf => "max_wal_senders = 4\nwal_keep_size = '1GB'\nhot_standby = on\n",
	setup => q{
		CREATE FOREIGN TABLE p (id int, k int) SERVER stream_engine;
		CREATE FOREIGN TABLE d (id int, k int, ts timestamptz OPTIONS (event_time 'true')) SERVER stream_engine OPTIONS (watermark 'ts - interval ''1 hour''', max_delay '300 ms');
		CREATE FOREIGN TABLE q (id int, k int, ts timestamptz OPTIONS (event_time 'true')) SERVER stream_engine
			OPTIONS (watermark 'ts - interval ''300 ms''', idle_timeout '200 ms', idle_action 'advance');
		CREATE TABLE twin (id int, k int, ts timestamptz)},
	rows => sub {
		my ($first, $last) = @_;
		return qq{INSERT INTO twin SELECT i, hashint4(i) & 7, clock_timestamp() - (hashint4(i + 1) & 15) * interval '40 ms' FROM generate_series($first, $last) i;
			INSERT INTO p SELECT id, k FROM twin WHERE id BETWEEN $first AND $last ORDER BY id;
			INSERT INTO d SELECT * FROM twin WHERE id BETWEEN $first AND $last ORDER BY id;
			INSERT INTO q SELECT * FROM twin WHERE id BETWEEN $first AND $last ORDER BY id};
	},
	before => \&stop_clock,
	after => 'SELECT stream_engine.test_clock_set(NULL)',
	infinity => \&over);

my %kinds = (
	tumble => q{tumble(%s, '300 ms')},
	hop => q{hop(%s, '200 ms', '600 ms')},
	cumulate => q{cumulate(%s, '200 ms', '600 ms')},
	session => q{session(%s, '120 ms')});
my %modes = (
	close => [],
	update => [ 'emit = on_update', 'on_error = dead_letter' ],
	early => [ q{emit = 'early 70 ms'}, 'on_error = skip' ],
	clock => [ q{emit = 'early 100 ms processing'} ],
	every => [ q{emit = 'every 3 rows'} ],
	late => [ q{emit = 'late 40 ms'}, q{allowed_lateness = '100 ms'}, q{late_output = 'late_rows'} ],
	kept => [ 'emit = on_update', q{retention = '3 s'} ],
	all => [ q{emit = 'early 70 ms, every 2 rows, late 40 ms'}, q{allowed_lateness = '100 ms'}, 'on_error = skip' ]);
my %streams = (p => 'proctime()', d => 'ts', q => 'ts');

$matrix->cell('times', options => [], query => 'SELECT id, k, proctime() AS at FROM p');
foreach my $stream (sort keys %streams)
{
	foreach my $kind (sort keys %kinds)
	{
		foreach my $mode (sort keys %modes)
		{
			next if $mode eq 'kept' && $kind =~ /hop|cumulate/;
			next if $stream eq 'p' ? $mode =~ /late|all/ : $stream eq 'd' ? $mode =~ /early|every/ : $mode =~ /clock|every|late/;
			my $good = "@{ $modes{$mode} }" =~ /on_error/;
			my $call = sprintf('SELECT window_start, window_end, k, count(*) AS c, array_agg(id ORDER BY id) AS ids FROM %%s, %s %%s GROUP BY window_start, window_end, k', $kinds{$kind});
			my $view = "${stream}_${kind}_$mode";
			my %oracle;

			# The time at which each row was committed is known; sessions() below groups by it.
			if ($mode eq 'kept')
			{
				# Of what is old some may still be there.
				%oracle = (rows => "SELECT * FROM $view WHERE window_end > (SELECT max(window_end) FROM $view) - interval '1 s'");
			}
			elsif ($stream eq 'p')
			{
				my $rows = 'times' . ($good ? '_good' : '');
				my $query = $kind eq 'session' ? "SELECT * FROM ${rows}_sessions" : sprintf($call, $rows, 'at', '');
				%oracle = (final => $query, $mode eq 'update' ? (now => $query) : (), $mode =~ /early|every/ ? (holds_back => $query) : ());
			}
			else
			{
				%oracle = (rows => "SELECT *, stream_engine.is_final('$view', window_end) FROM $view");
			}
			# What open sessions show depends on the place of the commit, but when all that is there is shown.
			$matrix->cell($view, options => $modes{$mode}, query => sprintf($call, $stream, $streams{$stream}, $good ? 'WHERE 1 / (id % 97) IS NOT NULL' : ''),
				again => $mode eq 'kept' ? 'now' : $kind eq 'session' && $mode !~ /close|update/ ? 'final' : 'both', %oracle);
		}
	}
}
foreach my $rows ('times', 'times_good')
{
	$matrix->{node}->sql(q{CREATE VIEW times_good AS SELECT * FROM times WHERE id % 97 <> 0}) if $rows ne 'times';
	$matrix->{node}->sql(qq{CREATE VIEW ${rows}_sessions AS SELECT min(at) AS window_start, max(at) + interval '120 ms' AS window_end, k, count(*) AS c, array_agg(id ORDER BY id) AS ids
		FROM (SELECT *, count(*) FILTER (WHERE far) OVER (PARTITION BY k ORDER BY at, id) AS no
		      FROM (SELECT *, at - lag(at) OVER (PARTITION BY k ORDER BY at, id) > interval '120 ms' AS far FROM $rows) t) t GROUP BY k, no});
}
# Groups that the clock shows, and forgets.
my $groups = 'SELECT k, count(*) AS c, array_agg(id ORDER BY id) AS ids FROM %s GROUP BY k';
$matrix->cell('groups_shown', options => [q{emit = 'early 100 ms processing'}], query => sprintf($groups, 'p'), again => 'both', final => sprintf($groups, 'times'));
$matrix->cell('groups_forgotten', options => [q{state_ttl = '150 ms'}], query => sprintf($groups, 'p'), again => 'both');
$matrix->cell('groups_deleted', options => [ q{state_ttl = '150 ms'}, 'ttl_delete' ], query => sprintf($groups, 'p'), again => 'both');

# In the fourth round the primary dies, with everything it had acknowledged on a standby, whose clock is behind for a while.
my $standby;
$matrix->run(rounds => 5, transactions => 60, arm => sub {
	my ($round) = @_;
	my $primary = $matrix->{node};

	return if $round != 4;
	$primary->backup('base');
	$standby = PostgreSQL::Test::Cluster->new('standby');
	$standby->init_from_backup($primary, 'base', has_streaming => 1);
	$standby->start;
	bless $standby, 'StreamEngine';
	$standby->wait_until(q{SELECT count(*) = 1 FROM pg_replication_slots WHERE slot_name = 'stream_engine_standby'}, 'the slot of the standby');
	# It has no WAL from before its backup: all views have to have got past that.
	$matrix->compare('beside a standby', 'now');
	$primary->sql($_) foreach q{ALTER SYSTEM SET synchronous_standby_names = 'standby'}, 'SELECT pg_reload_conf()';
}, moment => sub {
	my ($round) = @_;

	return $matrix->die_somehow($round) if $round != 4;
	$matrix->{node}->kill9_postmaster;
	$standby->promote;
	$matrix->{node} = $standby;
	$matrix->end_rows;
	$standby->sql(q{SELECT stream_engine.test_clock_set(clock_timestamp() - interval '1 hour')});
	$matrix->begin_rows(5);
	$matrix->end_rows;
	$standby->sql('SELECT stream_engine.test_clock_set(NULL)');
	$matrix->begin_rows(5);
	return 'promotion';
});

my $node = $matrix->{node};
is($node->sql('SELECT count(*) FROM (SELECT id, k FROM twin EXCEPT ALL SELECT id, k FROM times) d'), '0', 'each row once');
is($node->sql(q{SELECT sum(late_rows + late_pairs) FROM stream_engine.jobs WHERE view::text LIKE 'p\_%'}), '0', 'by processing time no row is late');
cmp_ok($node->sql(q{SELECT min(late_rows) FROM stream_engine.jobs WHERE view::text IN ('d_tumble_close', 'q_tumble_close')}), '>', 0, 'the clock made rows late');
foreach my $view (map { ("${_}_tumble_kept", "${_}_session_kept") } sort keys %streams)
{
	ok($node->wait_until("SELECT count(*) = 0 FROM $view", "$view is empty"), "an hour later all rows of $view are deleted");
}
$node->equals_oracle("(SELECT late_view, id, late_watermark FROM late_rows WHERE late_view NOT LIKE 'public.again%') x",
	q{SELECT replace(late_view, 'again_', ''), id, late_watermark FROM late_rows WHERE late_view LIKE 'public.again%'}, 'late rows');
cmp_ok($node->sql('SELECT count(DISTINCT late_view) FROM late_rows'), '>=', 6, 'there are some');
is($node->sql(q{SELECT string_agg(DISTINCT letters, ' ') FROM (SELECT string_agg(row ->> 'id', ',' ORDER BY (row ->> 'id')::int) AS letters FROM stream_engine.dead_letters GROUP BY view) l}),
	$node->sql(q{SELECT string_agg(id::text, ',' ORDER BY id) FROM twin WHERE id % 97 = 0}), 'dead letters');
$node->stop;
done_testing();
