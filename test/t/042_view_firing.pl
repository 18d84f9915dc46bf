# test/t/042_view_firing.pl: a window that fires more rows than a commit takes is cut into commits, and a crash between them neither loses nor doubles a row.
use strict;
use warnings;
use lib "$ENV{SE_TREE}/test/lib";
use StreamEngine;
use Test::More;

my $groups = 250_000;
my $node = StreamEngine->new('firing', conf => "stream_engine.restart_delay_min = '1ms'\n");
my $query = "SELECT window_start, n, count(*) AS rows, sum(v) AS total FROM %s, tumble(ts, interval '1 minute') GROUP BY window_start, window_end, n";

# One window of many groups, and a few rows behind it that close it.
sub write_window
{
	my ($minute) = @_;
	$node->sql(qq{
		BEGIN;
		INSERT INTO e SELECT 1, i, 0, i, '2024-01-01'::timestamptz + interval '$minute minutes', '' FROM generate_series(1, $groups) i;
		INSERT INTO e_twin SELECT 1, i, 0, i, '2024-01-01'::timestamptz + interval '$minute minutes', '' FROM generate_series(1, $groups) i;
		COMMIT;
		BEGIN;
		INSERT INTO e SELECT 1, i, 0, i, '2024-01-01'::timestamptz + interval '@{[$minute + 1]} minutes', '' FROM generate_series(1, 10) i;
		INSERT INTO e_twin SELECT 1, i, 0, i, '2024-01-01'::timestamptz + interval '@{[$minute + 1]} minutes', '' FROM generate_series(1, 10) i;
		COMMIT});
	return;
}

# What must be there: the windows that ended.
sub closed
{
	my ($minute) = @_;
	return sprintf($query, 'e_twin') . " HAVING window_end <= '2024-01-01'::timestamptz + interval '@{[$minute + 1]} minutes'";
}

$node->twin('e', watermark => 'ts');
$node->sql('CREATE MATERIALIZED VIEW w WITH (stream_engine.continuous) AS ' . sprintf($query, 'e'));

# The first commit that holds part of the firing is done; the next one dies.
my $minute = 0;
foreach my $action (qw(error fatal crash))
{
	$node->fault_set('commit-after-results', $action, 1, 1);
	write_window($minute);
	if ($action eq 'crash')
	{
		$node->wait_until(q{SELECT stream_engine.test_fault_reached('commit-after-results') IS NULL}, 'the crash');
	}
	else
	{
		$node->wait_until(q{SELECT stream_engine.test_fault_reached('commit-after-results') > 1}, "the $action");
		$node->fault_clear;
	}
	$node->refresh('w');
	$node->equals_oracle('w', closed($minute), "after $action in the middle of a firing");
	$minute += 2;
}

# A job that is stopped in the middle of a firing does not finish it first: its successor does.
$node->fault_set('commit-after-results', 'wait');
write_window($minute);
$node->wait_fault('commit-after-results', 1);
$node->sql(q{SELECT stream_engine.stop('w')});
$node->sql(q{SELECT stream_engine.wait_state('w', 'stopping', '60s')});
$node->fault_clear;
$node->sql(q{SELECT stream_engine.wait_state('w', 'stopped', '120s')});
my $start = "'2024-01-01'::timestamptz + interval '$minute minutes'";
my $written = $node->sql("SELECT count(*) FROM w WHERE window_start = $start");
cmp_ok($written, '<', $groups, 'stopped in the middle of a firing');
is($node->sql('SELECT count(*) FROM stream_engine.errors WHERE sqlstate = \'57P01\''), '0', 'without being ended by force');
$node->sql(q{SELECT stream_engine.start('w')});
$node->sql(q{SELECT stream_engine.stop('w')});
$node->sql(q{SELECT stream_engine.start('w')});
$node->refresh('w');
$node->equals_oracle('w', closed($minute), 'after stop and start in the middle of a firing');

# A hundred windows that one watermark closes, killed after every few commits of it.
my ($windows, $keys) = (100, 6_000);
$node->twin('h', watermark => q{ts - interval '1 day'});
$node->sql('CREATE MATERIALIZED VIEW hundred WITH (stream_engine.continuous) AS ' . sprintf($query, 'h'));
foreach my $table ('h', 'h_twin')
{
	$node->sql(qq{INSERT INTO $table SELECT 1, i, 0, i + m, '2024-01-01'::timestamptz + m * interval '1 minute', ''
		FROM generate_series(1, $windows) m, generate_series(1, $keys) i});
}
$node->refresh('hundred');
is($node->sql('SELECT count(*) FROM hundred'), '0', 'no window of the hundred is closed');
my $crashes = 0;
my $all = $windows * $keys;
$node->fault_set('commit-after-results', 'crash', 1, 1);
$node->sql(q{SELECT stream_engine.emit_watermark('h', 'infinity')});
while ($crashes < 4)
{
	# The last commits may be too few for another crash.
	$node->wait_until(qq{SELECT stream_engine.test_fault_reached('commit-after-results') IS NULL OR (SELECT count(*) FROM hundred) = $all}, 'the crash or the end');
	last if $node->sql(q{SELECT stream_engine.test_fault_reached('commit-after-results') IS NULL}) eq 'f';
	$crashes++;
	$node->fault_set('commit-after-results', 'crash', 0, 1);
}
$node->fault_clear;
$node->refresh('hundred');
cmp_ok($crashes, '>=', 2, "killed $crashes times while a hundred windows closed");
$node->equals_oracle('hundred', sprintf($query, 'h_twin'), 'after kills while a hundred windows closed');

$node->stop;
done_testing();
