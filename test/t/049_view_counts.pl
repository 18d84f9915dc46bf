# test/t/049_view_counts.pl: windows of so many rows over errors, ends and crashes where they are emitted; the rest of many keys in small commits.
use strict;
use warnings;
use lib "$ENV{SE_TREE}/test/lib";
use PostgreSQL::Test::Utils;
use StreamEngine;
use Test::More;

my $node = StreamEngine->new('counts', conf => "stream_engine.checkpoint_interval = '20ms'\nstream_engine.restart_delay_min = '10ms'\n");
$node->sql(q{
	CREATE FOREIGN TABLE s (id int, k int, v int) SERVER stream_engine;
	CREATE TABLE twin (id int, k int, v int)});

# Size, slide, whether windows come in part.
my %shape = (tumbling => [ 10, 10, 0 ], sliding => [ 9, 2, 0 ], gaps => [ 3, 5, 0 ], tumbling_part => [ 7, 7, 1 ], sliding_part => [ 9, 2, 1 ]);
my $calls = 'count(*) AS c, sum(v) AS s, max(v) AS m, array_agg(id) AS ids';
foreach my $view (sort keys %shape)
{
	my ($size, $slide, $partial) = @{ $shape{$view} };
	$node->sql("CREATE MATERIALIZED VIEW $view WITH (stream_engine.continuous, stream_engine.emit_partial = " . ($partial ? 'true' : 'false') . ") AS
		SELECT k, window_id, $calls FROM s, count_window($size, $slide) GROUP BY k, window_id");
}

# By the numbers of the rows of a key; at the end windows in part may have fewer than they would.
sub oracle
{
	my ($view, $ended) = @_;
	my ($size, $slide, $partial) = @{ $shape{$view} };
	my $member = $partial
	  ? "rn > (window_id + 1) * $slide - $size AND rn <= (window_id + 1) * $slide" . ($ended ? '' : " AND (window_id + 1) * $slide <= total")
	  : "rn > window_id * $slide AND rn <= window_id * $slide + $size AND window_id * $slide + $size <= total";
	return "SELECT k, window_id, " . ($calls =~ s/array_agg\(id\)/array_agg(id ORDER BY id)/r) . "
		FROM (SELECT *, row_number() OVER (PARTITION BY k ORDER BY id) AS rn, count(*) OVER (PARTITION BY k) AS total FROM twin) x,
		generate_series(0, (total - 1) / $slide) window_id WHERE $member GROUP BY k, window_id";
}

my $next = 1;

# Rows of 200 keys; the server may crash in it.
sub write_rows
{
	my $first = $next;
	my $last = $next + 2999;
	my ($status) = $node->psql('postgres', qq{BEGIN;
		INSERT INTO twin SELECT i, i * (i % 3 + 1) % 200, i % 17 FROM generate_series($first, $last) i;
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

sub compare
{
	my ($what, $ended) = @_;
	$node->refresh(sort keys %shape);
	$node->equals_oracle($_, oracle($_, $ended), $what) foreach sort keys %shape;
	return;
}

# Until it has happened: in the log since $from.
sub provoke
{
	my ($action, $point) = @_;
	my $died = $action eq 'crash' ? qr/terminated by signal 9/ : qr/fault point "\Q$point\E"/;
	my $log = -s $node->logfile;
	my $end = time + 120;

	$node->fault_set($point, $action, 3, 1);
	while (slurp_file($node->logfile, $log) !~ $died && time < $end)
	{
		write_rows();
		$node->psql('postgres', 'REFRESH MATERIALIZED VIEW sliding');
	}
	like(slurp_file($node->logfile, $log), $died, "$action at $point happened");
	$node->wait_ready;
	$node->fault_clear;
	return;
}

foreach my $action (qw(error fatal crash))
{
	provoke($action, 'count-emit');
	write_rows();
	compare("after $action at count-emit", 0);
}
provoke('crash', 'commit-begin');
compare('after a crash in a commit', 0);
write_rows();
$node->kill9_postmaster;
$node->start;
compare('after kill -9', 0);

# The output is full after each batch of results, and the server dies in the end of the input.
write_rows();
$node->refresh(sort keys %shape);
$node->sql('ALTER SYSTEM SET stream_engine.batch_rows = 8; SELECT pg_reload_conf()');
$node->sql("SELECT stream_engine.stop('$_')") foreach sort keys %shape;
$node->sql("SELECT stream_engine.wait_state('$_', 'stopped')") foreach sort keys %shape;
$node->fault_set('sink-always-full', 'skip');
$node->fault_set('count-emit', 'crash', 20, 1);
$node->psql('postgres', "SELECT stream_engine.emit_watermark('s', 'infinity')");
my $log = -s $node->logfile;
$node->psql('postgres', "SELECT stream_engine.start('$_')") foreach sort keys %shape;
my $end = time + 120;
$node->psql('postgres', 'REFRESH MATERIALIZED VIEW sliding_part') while slurp_file($node->logfile, $log) !~ qr/terminated by signal 9/ && time < $end;
like(slurp_file($node->logfile, $log), qr/terminated by signal 9/, 'the server died among the last windows');
$node->wait_ready;
compare('the last windows, in many commits and over a crash', 1);
is($node->sql(q{SELECT sum(late_rows) FROM stream_engine.jobs}), '0', 'no row was late');
$node->stop;
done_testing();
