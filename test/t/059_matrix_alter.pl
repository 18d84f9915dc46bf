# test/t/059_matrix_alter.pl: emit, allowed_lateness and on_error altered at random moments among the rows, of windows, sessions and groups, while the server is
# killed at random moments and while the mark of a change is being met: each row counts under the options of its place.
use strict;
use warnings;
use lib "$ENV{SE_TREE}/test/lib";
use Matrix;
use Test::More;

# The SELECT, and with which options the view begins; of sessions the gap of a row, in tenths of a second.
my %views = (
	tumble => [ q{window_start, window_end, k, count(*) AS c, array_agg(id ORDER BY id) AS ids FROM %s, tumble(ts, '10 s') %s GROUP BY window_start, window_end, k} ],
	hop => [ q{window_start, window_end, k & 1 AS k, count(*) AS c, sum(id) AS sum FROM %s, hop(ts, '4 s', '10 s') %s GROUP BY window_start, window_end, k & 1 HAVING count(*) %% 7 <> 3}, q{emit = 'on_update'} ],
	cumulate => [ q{window_start, window_end, k & 1 AS k, max(id) AS top, array_agg(id ORDER BY id) AS ids FROM %s, cumulate(ts, '4 s', '12 s') %s GROUP BY window_start, window_end, k & 1}, q{emit = 'on_update'} ],
	days => [ q{window_start, window_end, k, count(*) AS c, sum(id) AS sum FROM %s, tumble(ts, '10 s', timezone => 'Europe/Berlin') %s GROUP BY window_start, window_end, k}, q{emit = 'early 3 s'} ],
	steady => [ q{k, window_start, window_end, array_agg(id ORDER BY id) AS ids FROM %s, session(ts, '2 s') %s GROUP BY k, window_start, window_end} ],
	varying => [ q{k, window_start, window_end, array_agg(id ORDER BY id) AS ids FROM %s, session(ts, make_interval(secs => 1 + id %% 3)) %s GROUP BY k, window_start, window_end}, q{emit = 'every 3 rows'} ],
	groups => [ q{k, count(*) AS c, sum(id) AS sum, array_agg(id ORDER BY id) AS ids FROM %s %s GROUP BY k} ],
	total => [ q{count(*) AS c, sum(id) AS sum FROM %s %s}, q{emit = 'early 5 s'} ],
	failing => [ q{id, 100 / (id %% 7) AS part FROM %s %s}, 'on_error = skip' ]);
my %gap = (steady => sub { return 20 }, varying => sub { return 10 + $_[0] % 3 * 10 });
my @windows = qw(tumble hop cumulate days);
my $longest = 12;

# What an ALTER asks for: emit and lateness, or on_error.
sub change
{
	my ($view) = @_;
	my $set = "ALTER MATERIALIZED VIEW $view SET (stream_engine.";

	if ($view eq 'failing')
	{
		my $what = ('skip', 'dead_letter')[ int(rand(2)) ];
		return "${set}on_error = $what); UPDATE said SET emit = '$what' WHERE view = '$view'";
	}
	if ($view =~ /groups|total/)
	{
		my $emit = ('on_update', 'early 5 s', 'every 3 rows', 'early 100 ms processing', 'early 7 s, every 5 rows')[ int(rand(5)) ];
		return "${set}emit = '$emit'); UPDATE said SET emit = '$emit' WHERE view = '$view'";
	}
	my $late = (0, 0, 3, 6, $longest)[ int(rand(5)) ];
	my $emit = ('on_close', 'on_update', 'on_update', 'early 2 s', 'every 3 rows', 'early 100 ms processing', 'early 3 s, every 4 rows, late 2 s', 'late 3 s')[ int(rand($late ? 8 : 6)) ];
	return "${set}emit = '$emit', stream_engine.allowed_lateness = '$late s'); UPDATE said SET emit = '$emit', lateness = $late, lowest = least(lowest, $late) WHERE view = '$view'";
}

# Some rows, each with the options that count at its place, and the lowest lateness that has counted since the row before: what is given up then stays so; changes before, among and behind them, in this transaction.
sub rows
{
	my ($first, $last) = @_;
	my $sql = '';

	foreach my $id ($first .. $last)
	{
		$sql .= change((sort keys %views)[ int(rand(keys %views)) ]) . ";\n" while rand() < 0.08 || $id == $first && rand() < 0.2;
		$sql .= qq{INSERT INTO twin SELECT $id, hashint4($id) & 3, timestamptz '2024-01-01' + $id * interval '0.1 s'
				- CASE WHEN $id % 5 = 0 THEN hashint4($id + 1) & 31 ELSE hashint4($id + 1) & 3 END * interval '0.7 s', (SELECT jsonb_object_agg(view, ARRAY[lateness::text, lowest::text, emit]) FROM said),
				(SELECT emit = 'dead_letter' FROM said WHERE view = 'failing');
			INSERT INTO s SELECT id, k, ts FROM twin WHERE id = $id;
			UPDATE said SET lowest = lateness WHERE lowest <> lateness;\n};
	}
	return $sql . (rand() < 0.1 ? change('steady') : 'SELECT');
}

# Sessions by definition, row by row: nothing that ends before the horizon, the greatest watermark less the lateness of its time, is open.
sub sessions
{
	my ($view, @rows) = @_;
	my (%open, @all);
	my ($now, $horizon) = (-1e9, -1e9);

	foreach my $row (@rows)
	{
		my ($id, $k, $ts, $late, $lowest) = @$row;
		$horizon = $now - $lowest if $now - $lowest > $horizon;
		my $new = { k => $k, ws => $ts, we => $ts + $gap{$view}->($id), ids => [$id] };
		my @joined = grep { $_->{we} >= $horizon && $_->{ws} <= $new->{we} && $_->{we} >= $ts } @{ $open{$k} };

		if (@joined || $new->{we} >= $horizon)
		{
			foreach (@joined)
			{
				$new->{ws} = $_->{ws} if $_->{ws} < $new->{ws};
				$new->{we} = $_->{we} if $_->{we} > $new->{we};
				push @{ $new->{ids} }, @{ $_->{ids} };
			}
			my %gone = map { $_ => 1 } @joined;
			$open{$k} = [ (grep { !$gone{$_} } @{ $open{$k} }), $new ];
		}
		$now = $ts - 10 if $ts - 10 > $now;
		$horizon = $now - $late if $now - $late > $horizon;
	}
	return map { @$_ } values %open;
}

sub simulate
{
	my ($node) = @_;
	my @sql = ('TRUNCATE sessions');

	foreach my $view (sort keys %gap)
	{
		my @rows = map { [ split /\|/ ] } split /\n/, $node->sql(qq{SELECT id, k, (extract(epoch FROM ts - timestamptz '2024-01-01') * 10)::int, (said -> '$view' ->> 0)::int * 10, (said -> '$view' ->> 1)::int * 10 FROM twin ORDER BY id});
		push @sql, 'INSERT INTO sessions VALUES ' . join(', ', map { "('$view', $_->{k}, at($_->{ws}), at($_->{we}), '{" . join(',', sort { $a <=> $b } @{ $_->{ids} }) . "}')" } sessions($view, @rows));
	}
	# A row is late for what ends by its watermark less the lateness; and for what was given up behind a row before it.
	foreach my $view (@windows)
	{
		my ($late, $lowest) = map { "make_interval(secs => (said -> '$view' ->> $_)::int)" } 0, 1;
		push @sql, "DROP TABLE IF EXISTS judged_$view; CREATE TABLE judged_$view AS SELECT id, k, ts, greatest(max(wm - $lowest) OVER (ORDER BY id), max(h - $late) OVER (ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)) AS horizon
			FROM (SELECT *, max(ts - interval '1 s') OVER (ORDER BY id) AS h, coalesce(max(ts - interval '1 s') OVER (ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), '-infinity') AS wm FROM twin) w";
	}
	return join(";\n", @sql);
}

sub wrong
{
	my ($what, $is, $should) = @_;
	return "SELECT '$what, ' || side || ': ' || d::text FROM (SELECT 'too much' AS side, d FROM (($is) EXCEPT ALL ($should)) d UNION ALL SELECT 'missing', d FROM (($should) EXCEPT ALL ($is)) d) w WHERE true";
}

my $matrix = Matrix->new('alter',
	setup => q{
		CREATE FOREIGN TABLE s (id int, k int, ts timestamptz OPTIONS (event_time 'true')) SERVER stream_engine OPTIONS (watermark 'ts - interval ''1 s''');
		CREATE TABLE twin (id int, k int, ts timestamptz, said jsonb, kept bool);
		CREATE TABLE said (view text, emit text, lateness int, lowest int);
		CREATE TABLE sessions (view text, k int, window_start timestamptz, window_end timestamptz, ids int[]);
		CREATE FUNCTION at(int) RETURNS timestamptz LANGUAGE sql IMMUTABLE AS $$ SELECT timestamptz '2024-01-01' + $1 * interval '0.1 s' $$;
		CREATE VIEW reached AS SELECT max(ts) - interval '13.1 s' FROM twin;} . join(';', map { "INSERT INTO said VALUES ('$_', '', 0, 0)" } sort keys %views),
	rows => \&rows,
	stamp => \&simulate,
	infinity => q{SELECT stream_engine.emit_watermark('s', 'infinity')});

foreach my $view (sort keys %views)
{
	my ($query, @options) = @{ $views{$view} };
	my $all = $gap{$view} ? "SELECT k, window_start, window_end, ids FROM sessions WHERE view = '$view'"
	  : (grep { $_ eq $view } @windows) ? 'SELECT ' . sprintf($query, "judged_$view", 'WHERE window_end > horizon')
	  : 'SELECT ' . sprintf($query, 'twin', $view eq 'failing' ? 'WHERE id % 7 <> 0' : '');
	my $final = 'WHERE window_end <= (TABLE reached)';

	# Where results come with each commit, all that counts is there; and of windows what is final, in any case. What is shown of a session may be what it was before it grew.
	my @wrong = wrong('with each commit', "SELECT * FROM $view", $all) . " AND EXISTS (SELECT FROM said WHERE view = '$view' AND emit = 'on_update')";
	push @wrong, wrong('final', "SELECT * FROM $view $final", "SELECT * FROM ($all) a $final") if $all =~ /judged/;
	push @wrong, "SELECT 'final, missing: ' || d::text FROM ($all AND window_end <= (TABLE reached) EXCEPT ALL TABLE $view) d",
	  "SELECT 'no session: ' || v::text FROM $view v WHERE NOT EXISTS (SELECT FROM ($all) a WHERE a.k = v.k AND a.ids \@> v.ids)" if $gap{$view};
	$matrix->cell($view, options => \@options, query => 'SELECT ' . sprintf($query, 's', ''),
		final => $all, ($view eq 'failing' ? (now => $all) : ()), wrong => join(' UNION ALL ', @wrong));
}

# Between rows and changes; or when a worker is at a change.
my @points = (undef, 'options-met', undef, 'options-taken', 'commit-before-position', 'worker-restored');
$matrix->run(rounds => 12, transactions => 40, moment => sub {
	my ($round) = @_;
	my $node = $matrix->{node};
	my $point = $points[ $round % @points ] or return $matrix->die_somehow($round);

	$node->sql("SELECT stream_engine.test_fault_wait('$point')");
	$node->kill9_postmaster;
	$node->start;
	return "kill -9 at $point";
}, arm => sub {
	my ($round) = @_;
	my $point = $points[ $round % @points ] or return;
	$matrix->{node}->fault_set($point, 'wait');
	$matrix->{node}->sql('BEGIN; ' . change('tumble') . '; ' . change('steady') . '; COMMIT');
});
my $node = $matrix->{node};
$node->equals_oracle(q{(SELECT (row ->> 'id')::int AS id FROM stream_engine.dead_letters) x}, 'SELECT id FROM twin WHERE id % 7 = 0 AND kept', 'rows kept');
is($node->sql(q{SELECT string_agg(view::text || next_options::text, ' ') FROM stream_engine.jobs}), '', 'all that was asked for counts');
cmp_ok($node->sql(q{SELECT count(DISTINCT said) FROM twin}), '>', 20, 'options were altered');
$node->stop;
done_testing();
