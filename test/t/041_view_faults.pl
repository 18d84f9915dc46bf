# test/t/041_view_faults.pl: a worker that dies at any point of its round or commit loses nothing and doubles nothing.
#
# At every named point, in turn: an ERROR, a FATAL and a kill -9 of the worker (which
# restarts the whole server). Rows are written before, during and after; then the view
# equals its query over the heap twin, and the point was really reached.
use strict;
use warnings;
use lib "$ENV{SE_TREE}/test/lib";
use StreamEngine;
use Test::More;

my $node = StreamEngine->new('faults', conf => "stream_engine.restart_delay_min = '1ms'\n");
my $view = 'SELECT client, n, k, v * 2 AS v FROM %s WHERE k % 3 <> 0';
my $groups = 'SELECT k %% 7 AS g, count(*) AS rows, sum(v) AS total, max(n) AS last FROM %s WHERE client = 1 GROUP BY 1';
my $n = 0;

my $windows = 'SELECT window_start, k %% 5 AS key, count(*) AS rows, sum(v) AS total FROM %s, tumble(ts, interval \'10 s\') GROUP BY window_start, window_end, k %% 5';

sub windows { return sprintf($windows, $_[0]); }
sub groups { return sprintf($groups, $_[0]); }
sub view { (my $q = $view) =~ s/%s/$_[0]/; return $q; }

sub write_rows
{
	my ($count) = @_;
	$node->write_twin('e', "SELECT 1, $n + i, i, i, '2024-01-01'::timestamptz + i * interval '1 s', '' FROM generate_series(1, $count) i");
	$n += $count;
	return;
}

$node->twin('e', watermark => "ts - interval '1 hour'");
$node->sql('CREATE MATERIALIZED VIEW f WITH (stream_engine.continuous) AS ' . view('e'));
$node->sql('CREATE MATERIALIZED VIEW g WITH (stream_engine.continuous) AS ' . groups('e'));
$node->sql('CREATE MATERIALIZED VIEW w WITH (stream_engine.continuous) AS ' . windows('e'));
write_rows(100);
$node->refresh('f', 'g', 'w');

foreach my $point (qw(worker-start worker-restored round-begin round-before-commit commit-begin
	commit-after-state commit-after-results commit-before-position commit-done source-poll
	sink-before-insert coordinator-loop launcher-loop))
{
	foreach my $action (qw(error fatal crash))
	{
		my $what = "$action at $point";

		write_rows(50);
		$node->fault_set($point, $action, 0, 1);
		if ($point =~ /^worker/)
		{
			# A crash of the first can take this session with it.
			$node->psql('postgres', "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'stream_engine task'");
		}
		elsif ($point =~ /^coordinator/)
		{
			$node->psql('postgres', "CREATE MATERIALIZED VIEW extra WITH (stream_engine.continuous) AS SELECT n FROM e");
		}
		elsif ($point =~ /^launcher/)
		{
			$node->psql('postgres', "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'stream_engine coordinator'");
		}
		# Something to do for the worker. A crash can take this session with it: then
		# the transaction is in both or in neither.
		$n++;
		$node->psql('postgres', "BEGIN; INSERT INTO e_twin VALUES (1, $n, 1, $n, '2024-01-01 00:01', '');"
			. "INSERT INTO e VALUES (1, $n, 1, $n, '2024-01-01 00:01', ''); COMMIT");
		if ($action eq 'crash')
		{
			$node->wait_until('SELECT stream_engine.test_fault_reached(\'' . $point . '\') IS NULL', "the crash at $point");
		}
		else
		{
			$node->wait_until("SELECT stream_engine.test_fault_reached('$point') > 0", "the $what");
			$node->fault_clear($point);
		}
		write_rows(50);
		# All three: a worker that is still on its way would meet the next fault while it is being set.
		$node->refresh('f', 'g', 'w');
		$node->equals_oracle('f', view('e_twin'), "after $what");
		$node->equals_oracle('g', groups('e_twin'), "after $what");
		$node->psql('postgres', 'DROP MATERIALIZED VIEW IF EXISTS extra');
	}
}

# All windows close at the end of the input; nothing was late by then.
$node->sql("SELECT stream_engine.emit_watermark('e', 'infinity')");
$node->refresh('w');
$node->equals_oracle('w', windows('e_twin'), 'windows, after all of it');

$node->stop;
done_testing();
