# test/t/019_clock_marks.pl: the clock in the log: windows that close by themselves while the server is killed again and again
# under load equal the query over the times of commit; the clock moves watermarks, also after a crash.
use strict;
use warnings;
use lib "$ENV{SE_TREE}/test/lib";
use PostgreSQL::Test::Utils;
use StreamEngine;
use Test::More;

my $node = StreamEngine->new('clock', conf => q{
stream_engine.tick_interval = '100ms'
stream_engine.checkpoint_interval = '20ms'
stream_engine.restart_delay_min = '10ms'
restart_after_crash = on
});

# Every window that can still change has its end above this: nobody's watermark is there yet.
my %query = (
	tumbled => q{SELECT window_start, window_end, a %% 3 AS k, count(*) AS n, sum(a) AS sum FROM s, tumble(%s, '300 ms') GROUP BY 1, 2, 3},
	hopped => q{SELECT window_start, window_end, count(*) AS n, max(a) AS max FROM s, hop(%s, '200 ms', '1 s') GROUP BY 1, 2},
	cumulated => q{SELECT window_start, window_end, count(DISTINCT a) AS n FROM s, cumulate(%s, '250 ms', '1 s') GROUP BY 1, 2});
$node->sql(q{CREATE FOREIGN TABLE s (a int) SERVER stream_engine;
	CREATE MATERIALIZED VIEW times WITH (stream_engine.continuous) AS SELECT a, proctime() AS at FROM s});
$node->sql("CREATE MATERIALIZED VIEW $_ WITH (stream_engine.continuous) AS " . sprintf($query{$_}, 'proctime()')) foreach sort keys %query;
$node->sql(q{CREATE MATERIALIZED VIEW sessions WITH (stream_engine.continuous) AS
	SELECT window_start, window_end, count(*) AS n FROM s, session(proctime(), '150 ms') GROUP BY 1, 2});

my $next = 0;
sub write_rows
{
	my ($n) = @_;
	$node->sql(join '', map { sprintf "INSERT INTO s SELECT generate_series(%d, %d);", ++$next, $next + $_ % 3 } 1 .. $n);
	return;
}

# Kill at named places in the middle of what ticks do, and at moments; writing goes on in between.
foreach my $where ('tick-write', 'commit-before-position', 'commit-done', 'source-poll', 'round-before-commit')
{
	write_rows(20);
	# The crash takes the session that waits for it along.
	$node->psql('postgres', "SELECT stream_engine.test_fault_set('$where', 'crash', 3, 1);"
		. 'INSERT INTO s VALUES (0);' x 10 . "SELECT stream_engine.test_fault_wait('$where', 1000000)");
	$node->wait_ready;
	write_rows(20);
}
foreach my $i (1 .. 3)
{
	write_rows(50);
	$node->kill9_postmaster;
	$node->start;
	write_rows(5);
}
my $last = $next;

# All windows close without another row.
my $end = $node->sql('SELECT clock_timestamp()');
$node->wait_until(qq{SELECT bool_and(watermark > '$end'::timestamptz + interval '1 s') FROM stream_engine.sources WHERE view <> 'times'::regclass},
	'the clock has passed the last windows');
$node->refresh('times', 'sessions', sort keys %query);
cmp_ok($node->sql('SELECT count(*) FROM times'), '>', 100, 'there are rows');
is($node->sql('SELECT count(*) FROM (SELECT a, proctime() FROM s EXCEPT ALL TABLE times) d'), '0', 'a SELECT sees the same times');
foreach my $view (sort keys %query)
{
	my $oracle = sprintf($query{$view}, 'at') =~ s/FROM s,/FROM times,/r;
	is($node->sql(qq{SELECT count(*) FROM ((TABLE $view EXCEPT ALL ($oracle)) UNION ALL (($oracle) EXCEPT ALL TABLE $view)) d}),
		'0', "$view equals its query over the times of commit");
}
my $sessions = q{SELECT min(at), max(at) + interval '150 ms', count(*) FROM (
	SELECT at, count(*) FILTER (WHERE far) OVER (ORDER BY at ROWS UNBOUNDED PRECEDING) AS no
	FROM (SELECT at, at - lag(at) OVER (ORDER BY at) > interval '150 ms' AS far FROM times) t) t GROUP BY no};
is($node->sql(qq{SELECT count(*) FROM ((TABLE sessions EXCEPT ALL ($sessions)) UNION ALL (($sessions) EXCEPT ALL TABLE sessions)) d}),
	'0', 'sessions, too');
is($node->sql('SELECT sum(late_rows + late_pairs) FROM stream_engine.jobs'), '0', 'no row was late');

# Two streams whose last rows are followed by nothing: the clock closes their windows, also after a crash.
$node->sql(q{
	CREATE FOREIGN TABLE delayed (ts timestamptz OPTIONS (event_time 'true')) SERVER stream_engine
		OPTIONS (watermark 'ts - interval ''1 hour''', max_delay '1 s');
	CREATE FOREIGN TABLE quiet (ts timestamptz OPTIONS (event_time 'true')) SERVER stream_engine
		OPTIONS (watermark 'ts', idle_timeout '500 ms', idle_action 'advance');
	CREATE MATERIALIZED VIEW by_delay WITH (stream_engine.continuous) AS
		SELECT window_start, count(*) FROM delayed, tumble(ts, '1 s') GROUP BY window_start, window_end;
	CREATE MATERIALIZED VIEW by_silence WITH (stream_engine.continuous) AS
		SELECT window_start, count(*) FROM quiet, tumble(ts, '1 s') GROUP BY window_start, window_end});
foreach my $crash (0, 1)
{
	$node->sql(q{INSERT INTO delayed VALUES (clock_timestamp());
		INSERT INTO quiet VALUES ('2020-01-01'::timestamptz + make_interval(mins => (SELECT count(*)::int FROM by_silence)))});
	if ($crash)
	{
		$node->kill9_postmaster;
		$node->start;
	}
	$node->wait_until('SELECT count(*) > ' . $crash . ' FROM by_delay', "max_delay has closed the window ($crash)");
	$node->wait_until('SELECT count(*) > ' . $crash . ' FROM by_silence', "silence has closed the window ($crash)");
	pass("windows closed by the clock ($crash)");
}
is($node->sql(q{SELECT string_agg(window_start::text || ' ' || count, ', ' ORDER BY window_start) FROM by_silence}),
	'2020-01-01 00:00:00+00 1, 2020-01-01 00:01:00+00 1', 'each once');
is($node->sql(q{SELECT idle FROM stream_engine.sources WHERE view = 'by_silence'::regclass}), 't', 'it shows as idle');

$node->stop;
done_testing();
