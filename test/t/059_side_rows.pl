# test/t/059_side_rows.pl: late and failing rows are in their tables exactly once, however often and wherever the worker dies.
use strict;
use warnings;
use lib "$ENV{SE_TREE}/test/lib";
use StreamEngine;
use Test::More;

my $node = StreamEngine->new('side', conf => "stream_engine.checkpoint_interval = '10ms'\nstream_engine.restart_delay_min = '1ms'\n");

$node->twin('e', watermark => q{ts - interval '2 s'});
# 1 % bad rows, about 10 % late ones
my $clock = 0;
my $n = 0;
sub write_rows
{
	my ($rows) = @_;
	# a crash may come first: then they are in neither
	eval { $node->write_twin('e', qq{SELECT 1, i, i % 5, CASE WHEN i % 100 = 7 THEN 0 WHEN i % 400 = 93 THEN 9000 ELSE i % 50 + 1 END,
		timestamptz '2024-01-01' + interval '10 ms' * i - CASE WHEN i % 10 = 4 THEN interval '15 s' ELSE '0' END, 'note ' || i
		FROM generate_series($n + 1, $n + $rows) i}) };
	$n += $rows;
	return;
}
$node->sql(q{
	CREATE FUNCTION add_small(state bigint, x bigint) RETURNS bigint LANGUAGE plpgsql IMMUTABLE AS $$
	BEGIN IF x > 1000 THEN RAISE numeric_value_out_of_range; END IF; RETURN coalesce(state, 0) + x; END $$;
	CREATE AGGREGATE small_sum(bigint) (SFUNC = add_small, STYPE = bigint, COMBINEFUNC = int8pl);
	CREATE MATERIALIZED VIEW plain WITH (stream_engine.continuous, stream_engine.on_error = dead_letter) AS
		SELECT n, 100 / v AS q FROM e WHERE k <> 3;
	CREATE MATERIALIZED VIEW windows WITH (stream_engine.continuous, stream_engine.on_error = dead_letter, stream_engine.late_output = 'late_e') AS
		SELECT window_end, k, sum(100 / v) AS q, small_sum(v) AS s, count(*) AS c FROM e, tumble(ts, interval '1 s') WHERE k <> 3 GROUP BY window_end, k;
	CREATE MATERIALIZED VIEW groups WITH (stream_engine.continuous, stream_engine.on_error = skip) AS
		SELECT k, small_sum(v) AS s, count(*) AS c, sum(100 / v) AS q FROM e GROUP BY k;
	CREATE MATERIALIZED VIEW visits WITH (stream_engine.continuous, stream_engine.late_output = 'late_e') AS
		SELECT k, window_start, count(*) AS c FROM e, session(ts, interval '20 ms') GROUP BY k, window_start, window_end;
	CREATE VIEW late_windows AS SELECT client, n, k, v, ts, note, late_watermark FROM late_e WHERE late_view = 'public.windows';
	CREATE VIEW letters_plain AS SELECT (jsonb_populate_record(NULL::e_twin, "row" || '{"arrival": 0}')).*
		FROM stream_engine.dead_letters WHERE view = 'plain'::regclass;
	CREATE VIEW letters_windows AS SELECT sqlstate, ("row" ->> 'n')::bigint AS n FROM stream_engine.dead_letters WHERE view = 'windows'::regclass});

sub check
{
	my ($what) = @_;
	$node->refresh(qw(plain windows groups visits));
	$node->equals_oracle('plain', 'SELECT n, 100 / v FROM e_twin WHERE k <> 3 AND v <> 0', $what);
	$node->equals_oracle('groups', 'SELECT k, sum(v)::bigint, count(*), sum(100 / v) FROM e_twin WHERE v <> 0 AND v < 1000 GROUP BY k', $what);
	my $stamped = q{(SELECT *, coalesce(max(ts) OVER (ORDER BY arrival ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), '-infinity') - interval '2 s' AS wm,
		max(ts) OVER () - interval '2 s' AS now FROM e_twin) t, tumble(ts, interval '1 s') WHERE k <> 3 AND v <> 0};
	$node->equals_oracle('windows', qq{SELECT window_end, k, sum(100 / v), sum(v)::bigint, count(*) FROM $stamped AND v < 1000 AND window_end > wm AND window_end <= now GROUP BY 1, 2}, $what);
	$node->equals_oracle('late_windows',
		"SELECT client, n, k, v, ts, note, wm FROM $stamped AND window_end <= wm", "late rows $what");
	is($node->sql(q{SELECT count(*) FROM late_e WHERE late_arrived NOT BETWEEN now() - interval '1 hour' AND now()}), '0', "with their times $what");
	# of which sessions are open nobody but the view knows; each row is in one or the other
	is($node->sql(q{SELECT count(*) - count(DISTINCT n) FROM late_e WHERE late_view = 'public.visits'}), '0', "late for sessions once $what");
	is($node->sql(q{SELECT late_rows - (SELECT count(*) FROM late_e WHERE late_view = 'public.visits') FROM stream_engine.job_positions WHERE job = 'visits'::regclass}), '0', "all of them $what");
	$node->equals_oracle('letters_plain',
		'SELECT client, n, k, v, ts, note, 0 FROM e_twin WHERE k <> 3 AND v = 0', "letters $what");
	$node->equals_oracle('letters_windows',
		qq{SELECT '22012', n FROM e_twin WHERE k <> 3 AND v = 0 UNION ALL SELECT '22003', n FROM $stamped AND v > 1000 AND window_end > wm}, "letters of windows $what");
	is($node->sql(q{SELECT string_agg(error_rows::text, ' ' ORDER BY job::text) FROM stream_engine.job_positions}),
		$node->sql(qq{SELECT concat_ws(' ', (SELECT count(*) FROM e_twin WHERE v = 0 OR v > 1000), (SELECT count(*) FROM e_twin WHERE v = 0 AND k <> 3), 0,
			(SELECT count(*) FROM e_twin WHERE v = 0 AND k <> 3) + (SELECT count(*) FROM $stamped AND v > 1000 AND window_end > wm))}), "counted $what");
	return;
}

write_rows(3000);
check('at first');
# in the writing transaction: before and after these rows, after the position is written, and the whole server
foreach my $point (qw(commit-before-side commit-before-position commit-after-state))
{
	$node->fault_set($point, 'crash', int(rand(4)), 1);
	write_rows(1500);
	$node->wait_until("SELECT stream_engine.test_fault_reached('$point') IS NULL", "crash at $point");
	write_rows(200);
	check("after a crash at $point");
}
for my $round (1 .. 3)
{
	write_rows(2000);
	foreach my $view (qw(plain windows groups visits))
	{
		$node->sql("SELECT pg_terminate_backend(pid) FROM stream_engine.jobs WHERE view = '$view'::regclass AND pid IS NOT NULL") if $round == 1;
	}
	$node->kill9_postmaster if $round > 1;
	$node->start if $round > 1;
	write_rows(500);
	check("after kill $round");
}

# Every output is full at once: rows wait in the operators' state, whole, over commits and crashes.
for my $round (1 .. 3)
{
	$node->fault_set('sink-always-full', 'skip');
	$node->fault_set('commit-done', 'crash', 5 * $round, 1);
	write_rows(3000);
	$node->wait_until(q{SELECT stream_engine.test_fault_reached('commit-done') IS NULL}, 'the crash');
	$node->fault_set('sink-always-full', 'skip');
	write_rows(500);
	check("with full outputs $round");
}
cmp_ok($node->sql('SELECT count(*) FROM late_windows'), '>', 500, 'some are late');
$node->fault_clear;

is($node->sql(q{SELECT count(*) FROM stream_engine.job_errors WHERE sqlstate NOT IN ('57P01', '57P02', '57P03')}), '0', 'no view met an error');
$node->stop;
done_testing();
