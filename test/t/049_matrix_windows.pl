# test/t/049_matrix_windows.pl: each kind of window of event time in each mode, while the server dies at random moments between rows.
use strict;
use warnings;
use lib "$ENV{SE_TREE}/test/lib";
use Matrix;
use Test::More;

# Stream z has the same rows on a clock that is 2880 times as fast, so 30 seconds are a day; there Berlin goes over to summer time.
my $matrix = Matrix->new('windows',
	setup => q{
		CREATE FOREIGN TABLE s (id int, k int, ts timestamptz OPTIONS (event_time 'true')) SERVER stream_engine OPTIONS (watermark 'ts - interval ''15 s''');
		CREATE FOREIGN TABLE z (id int, k int, ts timestamptz OPTIONS (event_time 'true')) SERVER stream_engine OPTIONS (watermark 'ts - interval ''12 hours''');
		CREATE TABLE twin (id int, k int, ts timestamptz);
		CREATE FUNCTION fast(timestamptz) RETURNS timestamptz LANGUAGE sql IMMUTABLE AS $$ SELECT timestamptz '2024-03-28' + ($1 - timestamptz '2024-01-01') * 2880 $$;
		CREATE TABLE stamped_s (id int, k int, ts timestamptz, wm timestamptz, now timestamptz);
		CREATE TABLE stamped_z (LIKE stamped_s)},
	rows => sub {
		my ($first, $last) = @_;
		return qq{INSERT INTO twin SELECT i, hashint4(i) & 3, timestamptz '2024-01-01' + i * interval '0.1 s'
				- CASE WHEN i % 5 = 0 THEN hashint4(i + 1) & 63 ELSE hashint4(i + 1) & 15 END * interval '1 s' FROM generate_series($first, $last) i;
			INSERT INTO s SELECT * FROM twin WHERE id BETWEEN $first AND $last ORDER BY id;
			INSERT INTO z SELECT id, k, fast(ts) FROM twin WHERE id BETWEEN $first AND $last ORDER BY id};
	},
	# The watermark before each row, and the one behind them all.
	stamp => q{
		TRUNCATE stamped_s, stamped_z;
		INSERT INTO stamped_s SELECT id, k, ts, coalesce(max(ts - interval '15 s') OVER (ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), '-infinity'),
			max(ts - interval '15 s') OVER () FROM twin;
		INSERT INTO stamped_z SELECT id, k, ts, coalesce(max(ts - interval '12 h') OVER (ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), '-infinity'),
			max(ts - interval '12 h') OVER () FROM (SELECT id, k, fast(ts) AS ts FROM twin) t;
		ANALYZE stamped_s, stamped_z},
	infinity => q{SELECT stream_engine.emit_watermark('s', 'infinity'), stream_engine.emit_watermark('z', 'infinity')});

# The stream, how fast its clock is, the window, the calls, and a HAVING.
my $calls = 'count(*) AS c, max(id) AS top, sum(id) AS sum';
my $lists = 'count(*) AS c, array_agg(id ORDER BY id) AS ids';
my %kinds = (
	tumble => [ 's', 1, q{tumble(ts, '30 s')}, $lists, '' ],
	hop => [ 's', 1, q{hop(ts, '10 s', '30 s')}, $calls, 'HAVING count(*) % 7 <> 3' ],
	cumulate => [ 's', 1, q{cumulate(ts, '10 s', '30 s')}, $lists, '' ],
	days => [ 'z', 2880, q{tumble(ts, '1 day', timezone => 'Europe/Berlin')}, $calls, 'HAVING count(*) % 7 <> 3' ],
	three_days => [ 'z', 2880, q{hop(ts, '1 day', '3 days', timezone => 'Europe/Berlin')}, $lists, '' ],
	week_to_date => [ 'z', 2880, q{cumulate(ts, '1 day', '7 days', timezone => 'Europe/Berlin')}, $calls, '' ]);

# Seconds: early, late and lateness; every so many rows; update: with each commit; clock: early by the clock.
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

sub add
{
	my ($kind, $mode) = @_;
	my ($stream, $speed, $window, $list, $having) = @{ $kinds{$kind} };
	my %m = %{ $modes{$mode} };
	my $view = "${kind}_$mode";
	my $seconds = sub { return ($_[0] // 0) * $speed };
	my $span = sub { return 'make_interval(secs => ' . $seconds->($_[0]) . ')' };
	my @options;

	my @emit = ($m{update} ? 'on_update' : (), $m{early} ? 'early ' . $seconds->($m{early}) . ' s' : (), $m{clock} ? 'early 100 ms processing' : (),
		$m{every} ? "every $m{every} rows" : (), $m{late} ? 'late ' . $seconds->($m{late}) . ' s' : ());
	push @options, "emit = '" . join(', ', @emit) . "'" if @emit;
	push @options, "allowed_lateness = '" . $seconds->($m{lateness}) . " s'" if $m{lateness};
	push @options, "retention = '" . $seconds->($m{retention}) . " s'" if $m{retention};
	push @options, "late_output = 'late_$view'" if $m{late_output};
	push @options, "on_error = $m{on_error}" if $m{on_error};

	# A pair counts if its window takes rows still. It is shown when the watermark has passed a boundary that it was before; by the number of rows; or in any case.
	my $good = $m{on_error} ? 'id % 97 <> 0' : 'true';
	my $counts = 'window_end + ' . $span->($m{lateness}) . ' > wm';
	my $passed = sub {
		my ($from, $step, $first, $until) = @_;
		return "now >= $first AND wm < $from + floor(extract(epoch FROM $until - $from) / " . $seconds->($step) . ') * ' . $span->($step);
	};
	my @shown = $m{late} ? ('now >= window_end + ' . $span->($m{lateness}), $passed->('window_end', $m{late}, 'window_end', 'now')) : ('now >= window_end');
	push @shown, 'true' if $m{update} || $m{clock};
	push @shown, $passed->('window_start', $m{early}, 'window_start + ' . $span->($m{early}), 'least(now, window_end)') if $m{early};
	push @shown, "now < window_end AND n <= total / $m{every} * $m{every}" if $m{every};
	my $pairs = qq{(SELECT *, row_number() OVER (PARTITION BY window_start, window_end, k ORDER BY id) AS n, count(*) OVER (PARTITION BY window_start, window_end, k) AS total
		FROM stamped_$stream, $window WHERE $good AND $counts) p};
	my $query = sub {
		my ($from, @where) = @_;
		my $where = @where ? 'WHERE ' . join(' OR ', map { "($_)" } @where) : '';
		return "SELECT window_start, window_end, k, $list FROM $from $where GROUP BY window_start, window_end, k $having";
	};
	my $kept = $m{retention} ? 'WHERE window_end > (SELECT max(now) FROM stamped_' . $stream . ') - ' . $span->($m{retention} + ($m{lateness} // 0)) : '';
	my $held = $m{update} || $m{clock} ? undef : $query->($pairs);
	my $fails = $m{on_error} ? 'WHERE 1 / (id % 97) IS NOT NULL' : '';

	# Rows go away some commits after they are old; at the end they stay where the last row before the end has left them.
	$matrix->cell($view, options => \@options, eventually => $m{retention} || $m{clock}, holds_back => $held,
		query => $query->("$stream, $window $fails"),
		now => 'SELECT * FROM (' . $query->($pairs, @shown) . ") q $kept",
		final => 'SELECT * FROM (' . $query->($pairs) . ") q $kept",
		late => "SELECT count(DISTINCT id) FILTER (WHERE every) || ' ' || count(*) FILTER (WHERE NOT counts)
			FROM (SELECT id, $counts AS counts, NOT bool_or($counts) OVER (PARTITION BY id) AS every FROM stamped_$stream, $window WHERE $good) l");
	return;
}

foreach my $kind (sort keys %kinds)
{
	add($kind, $_) foreach sort keys %modes;
}
$matrix->run(rounds => 5, transactions => 40);

# What the rows beside the results must be.
my $node = $matrix->{node};
foreach my $kind (sort keys %kinds)
{
	my ($stream, $speed, $window) = @{ $kinds{$kind} };

	foreach my $mode (grep { $modes{$_}{late_output} } sort keys %modes)
	{
		my $lateness = ($modes{$mode}{lateness} // 0) * $speed;
		my $good = $modes{$mode}{on_error} ? 'id % 97 <> 0' : 'true';
		$node->equals_oracle("(SELECT id, k, ts, late_watermark FROM late_${kind}_$mode) x",
			"SELECT id, k, ts, wm FROM stamped_$stream, $window WHERE $good GROUP BY id, k, ts, wm HAVING bool_and(window_end + make_interval(secs => $lateness) <= wm)", 'late rows');
	}
	is($node->sql("SELECT string_agg(DISTINCT letters, ' ') || ' ' || count(*) FROM (SELECT string_agg(row ->> 'id', ',' ORDER BY (row ->> 'id')::int) AS letters
			FROM stream_engine.dead_letters WHERE view::text LIKE '${kind}\\_%' GROUP BY view) l"),
		$node->sql(q{SELECT string_agg(id::text, ',' ORDER BY id) || ' 2' FROM twin WHERE id % 97 = 0}), "dead letters: $kind");
}
$node->stop;
done_testing();
