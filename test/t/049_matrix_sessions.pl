# test/t/049_matrix_sessions.pl: sessions with constant gaps and with those of a row in each mode, while the server dies at random moments between rows.
use strict;
use warnings;
use lib "$ENV{SE_TREE}/test/lib";
use Matrix;
use Test::More;

# Times in tenths of a second since 2024.
my %kinds = (
	steady => [ q{'10 s'}, sub { return 100 } ],
	varying => [ q{make_interval(secs => 4 + id % 9)}, sub { return 40 + $_[0] % 9 * 10 } ]);

# Seconds: early, late, lateness and retention; every so many rows; update: with each commit; clock: early by the clock.
my %modes = (
	close => {},
	close_late => { lateness => 20, late_output => 1 },
	close_kept => { late_output => 1, retention => 40, on_error => 'skip' },
	update => { update => 1, on_error => 'dead_letter' },
	update_late => { update => 1, lateness => 20, late_output => 1 },
	update_kept => { update => 1, lateness => 10, retention => 30 },
	early => { early => 7 },
	early_late => { early => 7, lateness => 20, on_error => 'skip' },
	clock => { clock => 1, lateness => 20 },
	every => { every => 3 },
	every_late => { every => 3, lateness => 20, on_error => 'dead_letter' },
	collected => { late => 8, lateness => 20 },
	all => { early => 11, every => 5, late => 8, lateness => 25, retention => 40 });

# By definition, row by row (S1 to S4 of docs/design/sessions.md): what ends before the horizon, the watermark less the lateness, is final. A session has
# fired when the watermark has been above its end, or above that of a part of it.
sub sessions
{
	my ($gap, $lateness, $good, @rows) = @_;
	my (%open, @final, @late);
	my $now = -1e9;

	my $advance = sub {
		foreach my $k (keys %open)
		{
			$_->{fired} ||= $_->{we} < $now foreach @{ $open{$k} };
			push @final, grep { $_->{we} + $lateness < $now } @{ $open{$k} };
			$open{$k} = [ grep { $_->{we} + $lateness >= $now } @{ $open{$k} } ];
		}
	};
	foreach my $row (@rows)
	{
		my ($id, $k, $ts) = @$row;
		my $new = { k => $k, ws => $ts, we => $ts + $gap->($id), ids => [$id] };
		my @joined = grep { $_->{ws} <= $new->{we} && $_->{we} >= $ts } @{ $open{$k} };

		if ($good && $id % 97 == 0)
		{
			# Left out; it says how far the stream is all the same.
		}
		elsif (!@joined && $new->{we} + $lateness < $now)
		{
			push @late, [ $id, $now ];
		}
		else
		{
			foreach (@joined)
			{
				$new->{ws} = $_->{ws} if $_->{ws} < $new->{ws};
				$new->{we} = $_->{we} if $_->{we} > $new->{we};
				$new->{fired} ||= $_->{fired};
				push @{ $new->{ids} }, @{ $_->{ids} };
			}
			$new->{fired} ||= $new->{we} < $now;
			my %gone = map { $_ => 1 } @joined;
			$open{$k} = [ (grep { !$gone{$_} } @{ $open{$k} }), $new ];
		}
		if ($ts - 150 > $now)
		{
			$now = $ts - 150;
			$advance->();
		}
	}
	return ([ @final, map { @$_ } values %open ], \@late);
}

# Table sessions has them for every kind and mode, late those that were late.
sub simulate
{
	my ($node) = @_;
	my @rows = map { [ split /\|/ ] } split /\n/, $node->sql(q{SELECT id, k, (extract(epoch FROM ts - timestamptz '2024-01-01') * 10)::int FROM twin ORDER BY id});
	my (@sessions, @late, %done);

	foreach my $kind (sort keys %kinds)
	{
		foreach my $mode (sort keys %modes)
		{
			my ($lateness, $good) = (($modes{$mode}{lateness} // 0), $modes{$mode}{on_error} ? 1 : 0);
			next if $done{"$kind $lateness $good"}++;
			my ($all, $late) = sessions($kinds{$kind}[1], $lateness * 10, $good, @rows);
			push @sessions, map { "('$kind', $lateness, $good, $_->{k}, " . join(', ', map { "at($_)" } $_->{ws}, $_->{we})
				  . ", '{" . join(',', sort { $a <=> $b } @{ $_->{ids} }) . "}', " . ($_->{fired} ? 'true' : 'false') . ')' } @$all;
			push @late, map { "('$kind', $lateness, $good, $_->[0], at($_->[1]))" } @$late;
		}
	}
	return 'TRUNCATE sessions, late; INSERT INTO sessions VALUES ' . join(",\n", @sessions) . ";\nINSERT INTO late VALUES ('', 0, 0, 0, NULL), " . join(",\n", @late)
	  . q{; ANALYZE sessions, late; TRUNCATE stamped; INSERT INTO stamped SELECT id, k, ts,
		coalesce(max(ts - interval '15 s') OVER (ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), '-infinity'), max(ts - interval '15 s') OVER () FROM twin};
}

my $matrix = Matrix->new('sessions',
	setup => q{
		CREATE FOREIGN TABLE s (id int, k int, ts timestamptz OPTIONS (event_time 'true')) SERVER stream_engine OPTIONS (watermark 'ts - interval ''15 s''');
		CREATE TABLE twin (id int, k int, ts timestamptz);
		CREATE TABLE stamped (id int, k int, ts timestamptz, wm timestamptz, now timestamptz);
		CREATE TABLE sessions (kind text, lateness int, good int, k int, window_start timestamptz, window_end timestamptz, ids int[], fired bool);
		CREATE TABLE late (kind text, lateness int, good int, id int, wm timestamptz);
		CREATE FUNCTION at(int) RETURNS timestamptz LANGUAGE sql IMMUTABLE AS $$ SELECT timestamptz '2024-01-01' + $1 * interval '0.1 s' $$},
	rows => sub {
		my ($first, $last) = @_;
		return qq{INSERT INTO twin SELECT i, hashint4(i) & 127, timestamptz '2024-01-01' + i * interval '0.1 s'
				- CASE WHEN i % 5 = 0 THEN hashint4(i + 1) & 63 ELSE hashint4(i + 1) & 15 END * interval '1 s' FROM generate_series($first, $last) i;
			INSERT INTO s SELECT * FROM twin WHERE id BETWEEN $first AND $last ORDER BY id};
	},
	stamp => \&simulate,
	infinity => q{SELECT stream_engine.emit_watermark('s', 'infinity')});

sub add
{
	my ($kind, $mode) = @_;
	my ($gap) = @{ $kinds{$kind} };
	my %m = %{ $modes{$mode} };
	my $view = "${kind}_$mode";
	my $lateness = $m{lateness} // 0;
	my @options;

	my @emit = ($m{update} ? 'on_update' : (), $m{early} ? "early $m{early} s" : (), $m{clock} ? 'early 100 ms processing' : (),
		$m{every} ? "every $m{every} rows" : (), $m{late} ? "late $m{late} s" : ());
	push @options, "emit = '" . join(', ', @emit) . "'" if @emit;
	push @options, "allowed_lateness = '$lateness s'" if $lateness;
	push @options, "retention = '$m{retention} s'" if $m{retention};
	push @options, "late_output = 'late_$view'" if $m{late_output};
	push @options, "on_error = $m{on_error}" if $m{on_error};

	my $all = "SELECT k, window_start, window_end, ids FROM sessions WHERE kind = '$kind' AND lateness = $lateness AND good = " . ($m{on_error} ? 1 : 0);
	my $kept = $m{retention} ? ' AND window_end >= (SELECT max(now) FROM stamped) - make_interval(secs => ' . ($m{retention} + $lateness) . ')' : '';
	my $fails = $m{on_error} ? 'WHERE 1 / (id % 97) IS NOT NULL' : '';
	my %now;

	# What a commit shows while sessions are open depends on the place of the commit, but for two modes. Each row of the others is in one row at most, and that is a session
	# that is, or a part of it; of what is over, and of what was there before a boundary, nothing is missing.
	if ($m{update} || $m{clock} || !@emit)
	{
		%now = (now => $all . ($m{update} || $m{clock} ? '' : ' AND fired') . $kept);
	}
	else
	{
		my $passed = $m{early} ? "OR NOT fired AND wm < date_bin('$m{early} s', now, '1970-01-01')" : '';
		%now = (
			wrong => qq{SELECT 'no session: ' || v::text FROM $view v WHERE NOT EXISTS (SELECT FROM ($all) a WHERE a.k = v.k AND a.ids \@> v.ids)
			UNION ALL SELECT 'shown twice: ' || id FROM (SELECT unnest(ids) AS id FROM $view) i GROUP BY id HAVING count(*) > 1
			UNION ALL SELECT 'over and not there: ' || id FROM (SELECT unnest(ids) AS id, window_end, fired FROM ($all $kept) a JOIN sessions USING (k, window_start, window_end, ids)
					WHERE kind = '$kind' AND lateness = $lateness AND good = } . ($m{on_error} ? 1 : 0) . qq{) a JOIN stamped USING (id)
				WHERE (} . ($m{late} ? "window_end + interval '$lateness s' < now" : 'fired') . qq{ $passed) AND id NOT IN (SELECT unnest(ids) FROM $view)});
	}
	$matrix->cell($view, options => \@options, eventually => $m{retention} || $m{clock}, holds_back => $m{update} || $m{clock} ? undef : $all . $kept, %now,
		query => "SELECT k, window_start, window_end, array_agg(id ORDER BY id) AS ids FROM s, session(ts, $gap) $fails GROUP BY k, window_start, window_end",
		final => $all . $kept,
		late => "SELECT count(*) || ' ' || count(*) FROM late WHERE kind = '$kind' AND lateness = $lateness AND good = " . ($m{on_error} ? 1 : 0));
	return;
}

foreach my $kind (sort keys %kinds)
{
	add($kind, $_) foreach sort keys %modes;
}
$matrix->run(rounds => 5, transactions => 60);

my $node = $matrix->{node};
foreach my $kind (sort keys %kinds)
{
	foreach my $mode (grep { $modes{$_}{late_output} } sort keys %modes)
	{
		$node->equals_oracle("(SELECT id, late_watermark FROM late_${kind}_$mode) x", "SELECT id, wm FROM late WHERE kind = '$kind' AND lateness = "
			  . ($modes{$mode}{lateness} // 0) . ' AND good = ' . ($modes{$mode}{on_error} ? 1 : 0), 'late rows');
	}
	is($node->sql("SELECT string_agg(DISTINCT letters, ' ') || ' ' || count(*) FROM (SELECT string_agg(row ->> 'id', ',' ORDER BY (row ->> 'id')::int) AS letters
			FROM stream_engine.dead_letters WHERE view::text LIKE '${kind}\\_%' GROUP BY view) l"),
		$node->sql(q{SELECT string_agg(id::text, ',' ORDER BY id) || ' 2' FROM twin WHERE id % 97 = 0}), "dead letters: $kind");
}
cmp_ok($node->sql(q{SELECT count(*) FROM late WHERE kind = 'varying' AND lateness = 20}), '>', 5, 'some rows were late');
$node->stop;
done_testing();
