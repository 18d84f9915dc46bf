# test/t/053_view_extended.pl: a driver's protocol, with Parse, Bind and Execute, makes, refreshes and drops a continuous view.
use strict;
use warnings;
use StreamEngine;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = StreamEngine->new('extended');
$node->sql('CREATE FOREIGN TABLE s (k int, v int) SERVER stream_engine');

sub run_extended
{
	my ($mode, $what, @commands) = @_;
	my $file = PostgreSQL::Test::Utils::tempdir() . '/script.sql';

	append_to_file($file, join(";\n", @commands) . ";\n");
	command_ok([ 'pgbench', '-n', '-M', $mode, '-t', '1', '-f', $file, $node->connstr('postgres') ], "$mode: $what");
	return;
}

foreach my $mode (qw(extended prepared))
{
	run_extended($mode, 'create, write, refresh',
		'CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous) AS SELECT k, count(*) AS n, sum(v) AS total FROM s GROUP BY k',
		'INSERT INTO s SELECT i % 3, i FROM generate_series(1, 100) i', 'REFRESH MATERIALIZED VIEW v');
	is($node->sql('SELECT * FROM v ORDER BY k'), "0|33|1683\n1|34|1717\n2|33|1650", "$mode: the view equals its query");
	run_extended($mode, 'drop', 'DROP MATERIALIZED VIEW v');
	is($node->sql('SELECT count(*) FROM stream_engine.jobs'), '0', "$mode: nothing is left");
}

$node->stop;
done_testing();
