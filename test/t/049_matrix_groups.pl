# test/t/049_matrix_groups.pl: groups without a window, windows of so many rows and rows as they are, in each mode, while the server dies at random moments between rows.
use strict;
use warnings;
use lib "$ENV{SE_TREE}/test/lib";
use Matrix;
use Test::More;

# By definition (docs/continuous-views.md), row by row: seconds after its greatest time a group is forgotten. What was last shown of each, and of those
# that live, what begins with the last row that began one.
sub groups_with_ttl
{
	my ($seconds, $good, @rows) = @_;
	my (%groups, @late);
	my $now = -1e9;

	foreach my $row (@rows)
	{
		my ($id, $k, $ts) = @$row;
		my $group = $groups{$k};
		my $lives = $group && $group->{last} + $seconds * 10 > $now;

		if ($good && $id % 97 == 0)
		{
			# Left out; it says how far the stream is all the same.
		}
		elsif (!$lives && $ts + $seconds * 10 <= $now)
		{
			push @late, [ $id, $now ];
		}
		else
		{
			$group = $groups{$k} = { last => -1e9, ids => [] } if !$lives;
			push @{ $group->{ids} }, $id;
			$group->{last} = $ts if $ts > $group->{last};
		}
		$now = $ts - 150 if $ts - 150 > $now;
	}
	$groups{$_}{lives} = $groups{$_}{last} + $seconds * 10 > $now foreach keys %groups;
	return (\%groups, \@late);
}

sub simulate
{
	my ($node) = @_;
	my @rows = map { [ split /\|/ ] } split /\n/, $node->sql(q{SELECT id, k, (extract(epoch FROM ts - timestamptz '2024-01-01') * 10)::int FROM twin ORDER BY id});
	my @sql;

	foreach my $good (0, 1)
	{
		my ($groups, $late) = groups_with_ttl(12, $good, @rows);
		push @sql, 'INSERT INTO forgetful VALUES ' . join(', ', map { "($good, $_, '{" . join(',', @{ $groups->{$_}{ids} }) . "}', " . ($groups->{$_}{lives} ? 'true' : 'false') . ')' } sort keys %$groups);
		push @sql, "INSERT INTO late VALUES ($good, $_->[0], timestamptz '2024-01-01' + $_->[1] * interval '0.1 s')" foreach @$late;
	}
	return join(";\n", 'TRUNCATE forgetful, late', @sql, q{TRUNCATE stamped; INSERT INTO stamped SELECT id, k, ts,
		coalesce(max(ts - interval '15 s') OVER (ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), '-infinity'), max(ts - interval '15 s') OVER () FROM twin});
}

my $matrix = Matrix->new('groups',
	setup => q{
		CREATE FOREIGN TABLE s (id int, k int, ts timestamptz OPTIONS (event_time 'true')) SERVER stream_engine OPTIONS (watermark 'ts - interval ''15 s''');
		CREATE TABLE twin (id int, k int, ts timestamptz);
		CREATE TABLE stamped (id int, k int, ts timestamptz, wm timestamptz, now timestamptz);
		CREATE TABLE forgetful (good int, k int, ids int[], lives bool);
		CREATE TABLE late (good int, id int, wm timestamptz)},
	rows => sub {
		my ($first, $last) = @_;
		return qq{INSERT INTO twin SELECT i, hashint4(i) & 127, timestamptz '2024-01-01' + i * interval '0.1 s'
				- CASE WHEN i % 5 = 0 THEN hashint4(i + 1) & 63 ELSE hashint4(i + 1) & 15 END * interval '1 s' FROM generate_series($first, $last) i;
			INSERT INTO s SELECT * FROM twin WHERE id BETWEEN $first AND $last ORDER BY id};
	},
	stamp => \&simulate,
	infinity => q{SELECT stream_engine.emit_watermark('s', 'infinity')});

# Of groups: what is shown of them; there are those with a key and the one of all rows, of all rows and of those that raise no error.
my %emit = (
	update => [ '', 'true' ],
	early => [ 'early 20 s', q{wm < date_bin('20 s', now, '1970-01-01')} ],
	every => [ 'every 5 rows', 'n <= total / 5 * 5' ],
	either => [ 'early 20 s, every 5 rows', q{wm < date_bin('20 s', now, '1970-01-01') OR n <= total / 5 * 5} ],
	clock => [ 'early 100 ms processing', 'true' ]);
my %groups = (
	group => [ 'k, count(*) AS c, sum(id) AS sum, count(DISTINCT id % 7) AS d', 'k', 'HAVING count(*) % 7 <> 3' ],
	list => [ 'k, array_agg(id ORDER BY id) AS ids', 'k', '' ],
	total => [ 'count(*) AS c, sum(id) AS sum', '', '' ]);
my %on_error = (stop => '', skip => 'WHERE 1 / (id % 97) IS NOT NULL', dead_letter => 'WHERE 1 / (id % 97) IS NOT NULL');

sub options
{
	my ($emit, $on_error, @more) = @_;
	return [ ($emit ? "emit = '$emit'" : ()), ($on_error ne 'stop' ? "on_error = $on_error" : ()), @more ];
}

foreach my $group (sort keys %groups)
{
	my ($list, $key, $having) = @{ $groups{$group} };
	my ($by, $over) = $key ? ("GROUP BY $key $having", "PARTITION BY $key") : ('', '');

	foreach my $mode (sort keys %emit)
	{
		foreach my $on_error ($group eq 'list' ? ('stop') : sort keys %on_error)
		{
			next if $group eq 'total' && $on_error eq 'dead_letter';
			my $from = "(SELECT *, row_number() OVER ($over ORDER BY id) AS n, count(*) OVER ($over) AS total FROM stamped "
			  . ($on_error eq 'stop' ? '' : 'WHERE id % 97 <> 0') . ') r';
			$matrix->cell("${group}_${mode}_$on_error", options => options($emit{$mode}[0], $on_error), query => "SELECT $list FROM s $on_error{$on_error} $by",
				now => "SELECT $list FROM $from WHERE $emit{$mode}[1] $by", final => "SELECT $list FROM $from $by", eventually => $mode eq 'clock',
				holds_back => $mode =~ /ea|ev|ei/ ? "SELECT $list FROM $from $by" : undef);
		}
	}
}

# Groups that are forgotten; by the clock nobody but a view that reads the same log knows which.
foreach my $on_error (sort keys %on_error)
{
	my $good = $on_error eq 'stop' ? 0 : 1;
	my $query = "SELECT k, count(*) AS c, array_agg(id) AS ids FROM s $on_error{$on_error} GROUP BY k";
	my $all = "SELECT k, cardinality(ids)::bigint AS c, ids FROM forgetful WHERE good = $good";
	my $late = "SELECT count(*) || ' ' || count(*) FROM late WHERE good = $good";

	$matrix->cell("ttl_kept_$on_error", options => options('', $on_error, "state_ttl = '12 s on ts'", "late_output = 'late_$on_error'"), query => $query, now => $all, final => $all, late => $late);
	$matrix->cell("ttl_deleted_$on_error", options => options('', $on_error, "state_ttl = '12 s on ts'", 'ttl_delete'), query => $query, now => "$all AND lives", final => "$all AND false", late => $late);
	$matrix->cell("ttl_few_$on_error", options => options('', $on_error, "state_ttl = '12 s on ts'", 'ttl_delete'), query => "$query HAVING count(*) < 3",
		now => "$all AND lives AND cardinality(ids) < 3", final => "$all AND false");
	$matrix->cell("ttl_clock_$on_error", options => options('', $on_error, "state_ttl = '150 ms'"), query => $query, again => 'both');
	$matrix->cell("ttl_clock_deleted_$on_error", options => options('', $on_error, "state_ttl = '150 ms'", 'ttl_delete'), query => $query, again => 'both', rows => 'SELECT 1');
}

# Windows of so many rows: size, slide, whether they come in part.
my %counts = (tumbling => [ 4, 4, 0 ], sliding => [ 5, 2, 0 ], gaps => [ 2, 3, 0 ], tumbling_part => [ 4, 4, 1 ], sliding_part => [ 5, 2, 1 ]);
my $calls = 'count(*) AS c, max(id) AS m, array_agg(id ORDER BY id) AS ids';
foreach my $count (sort keys %counts)
{
	my ($size, $slide, $partial) = @{ $counts{$count} };
	foreach my $on_error (sort keys %on_error)
	{
		my $oracle = sub {
			my ($ended) = @_;
			my $member = $partial
			  ? "n > (window_id + 1) * $slide - $size AND n <= (window_id + 1) * $slide" . ($ended ? '' : " AND (window_id + 1) * $slide <= total")
			  : "n > window_id * $slide AND n <= window_id * $slide + $size AND window_id * $slide + $size <= total";
			return "SELECT k, window_id, $calls FROM (SELECT *, row_number() OVER (PARTITION BY k ORDER BY id) AS n, count(*) OVER (PARTITION BY k) AS total FROM stamped "
			  . ($on_error eq 'stop' ? '' : 'WHERE id % 97 <> 0') . ") x, generate_series(0, (total - 1) / $slide) window_id WHERE $member GROUP BY k, window_id";
		};
		$matrix->cell("${count}_$on_error", options => options('', $on_error, $partial ? ('emit_partial', "late_output = 'late_${count}_$on_error'") : ()),
			query => "SELECT k, window_id, $calls FROM s, count_window($size, $slide) $on_error{$on_error} GROUP BY k, window_id", now => $oracle->(0), final => $oracle->(1));
	}
}

# Rows as they are, and once for each window.
foreach my $on_error (sort keys %on_error)
{
	my $good = $on_error eq 'stop' ? 'true' : 'id % 97 <> 0';
	my %same = (now => "SELECT id, ts FROM stamped WHERE $good", windows => "SELECT id, window_end FROM stamped, hop(ts, '7 s', '20 s') WHERE $good");
	$matrix->cell("rows_$on_error", options => options('', $on_error), query => "SELECT id, ts FROM s $on_error{$on_error}", now => $same{now}, final => $same{now});
	$matrix->cell("rows_of_windows_$on_error", options => options('', $on_error), query => "SELECT id, window_end FROM s, hop(ts, '7 s', '20 s') $on_error{$on_error}",
		now => $same{windows}, final => $same{windows});
}
$matrix->run(rounds => 6, transactions => 60);

my $node = $matrix->{node};
foreach my $on_error (sort keys %on_error)
{
	$node->equals_oracle("(SELECT id, late_watermark FROM late_$on_error) x", 'SELECT id, wm FROM late WHERE good = ' . ($on_error eq 'stop' ? 0 : 1), "late rows: $on_error");
}
is($node->sql(q{SELECT string_agg(DISTINCT letters, ' ') || ' ' || count(*) FROM (SELECT string_agg(row ->> 'id', ',' ORDER BY (row ->> 'id')::int) AS letters
		FROM stream_engine.dead_letters WHERE view::text NOT LIKE 'again%' GROUP BY view) l}),
	$node->sql(q{SELECT string_agg(id::text, ',' ORDER BY id) || ' ' || (SELECT count(*) FROM stream_engine.jobs WHERE view::text LIKE '%dead_letter' AND view::text NOT LIKE 'again%')
		FROM twin WHERE id % 97 = 0}), 'dead letters');
cmp_ok($node->sql('SELECT count(*) FROM late WHERE good = 0'), '>', 5, 'some rows were late');

# Behind the end of the input count windows that come in part have all rows late.
my $before = $node->sql('SELECT max(id) FROM twin');
$matrix->begin_rows(20);
$matrix->pump_rows(10);
$matrix->die_somehow(1);
$matrix->end_rows;
foreach my $view (map { ("tumbling_part_$_", "sliding_part_$_") } sort keys %on_error)
{
	$node->refresh($view);
	$node->equals_oracle("(SELECT id, ts, late_watermark FROM late_$view) x", "SELECT id, ts, 'infinity'::timestamptz FROM twin WHERE id > $before" . ($view =~ /stop/ ? '' : ' AND id % 97 <> 0'), 'late rows');
}
$node->stop;
done_testing();
