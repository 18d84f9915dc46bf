# test/t/057_planned_ends.pl: ends of workers that somebody plans are no failures: of a command that needs the database empty, and of the
# server. A view with restart = none runs on after them; it is failed when its worker is ended for its own sake.
use strict;
use warnings;
use lib "$ENV{SE_TREE}/test/lib";
use StreamEngine;
use Test::More;

my $node = StreamEngine->new('planned');
$node->sql('CREATE DATABASE d');
$node->install('d');
$node->sql(q{
	CREATE FOREIGN TABLE s (id int) SERVER stream_engine;
	CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous, stream_engine.restart = none) AS SELECT id FROM s}, 'd');

my $n = 0;
sub runs
{
	my ($what, $database) = @_;
	$database //= 'd';
	$n++;
	$node->sql("INSERT INTO s VALUES ($n); REFRESH MATERIALIZED VIEW v", $database);
	is($node->sql('SELECT count(*) FROM v', $database), $n, "$what: every row is there");
	is($node->sql('SELECT state, failures FROM stream_engine.jobs', $database), 'running|0', "$what: no failure");
	is($node->sql('SELECT count(*) FROM stream_engine.errors', $database), '0', "$what: no error is recorded");
	return;
}

runs('at first');
foreach my $i (1 .. 3)
{
	$node->sql("CREATE DATABASE copy$i TEMPLATE d");
	runs("CREATE DATABASE … TEMPLATE, time $i");
}
$node->sql('ALTER DATABASE d RENAME TO e');
runs('ALTER DATABASE … RENAME', 'e');
foreach my $mode (qw(fast immediate))
{
	$node->stop($mode);
	$node->start;
	runs("$mode shutdown", 'e');
}
my $pid = $node->sql('SELECT pid FROM stream_engine.jobs', 'e');
$node->sql("SELECT pg_terminate_backend($pid)");
$node->sql(q{SELECT stream_engine.wait_state('v', 'failed', '60s')}, 'e');
is($node->sql('SELECT count(*) FROM stream_engine.errors', 'e'), '1', 'an end for its own sake is recorded');
$node->sql(q{SELECT stream_engine.start('v')}, 'e');
$n++;
$node->sql("INSERT INTO s VALUES ($n); REFRESH MATERIALIZED VIEW v", 'e');
is($node->sql('SELECT count(*) FROM v', 'e'), $n, 'started by hand it goes on');
$node->stop;
done_testing();
