# test/t/051_view_create_load.pl: CREATE while short transactions write without a gap: it ends soon, and every transaction is in the view whole or not at all.

use strict;
use warnings;
use lib "$ENV{SE_TREE}/test/lib";
use StreamEngine;
use PostgreSQL::Test::Utils;
use IPC::Run;
use Test::More;

my $node = StreamEngine->new('main');

$node->sql('CREATE FOREIGN TABLE s (x bigint, n int) SERVER stream_engine; CREATE SEQUENCE q');

# Six sessions, each always in a transaction that has written and will write again.
my $script = PostgreSQL::Test::Utils::tempdir() . '/write.pgbench';
append_to_file($script, q{
	SELECT nextval('q') AS x \gset
	BEGIN;
	INSERT INTO s VALUES (:x, 1);
	\sleep 5 ms
	SAVEPOINT a;
	INSERT INTO s VALUES (:x, 99);
	ROLLBACK TO a;
	INSERT INTO s VALUES (:x, 2), (:x, 3);
	\sleep 5 ms
	COMMIT;
});
my $load = IPC::Run::start([ 'pgbench', '-n', '-c', 6, '-t', 400, '-f', $script, $node->connstr('postgres') ],
	'>', \my $out, '2>', \my $err);
my $writers = q{SELECT count(DISTINCT pid) FROM pg_locks WHERE relation = 's'::regclass AND mode = 'RowExclusiveLock'};
$node->wait_until("SELECT ($writers) >= 3", 'writers are at work');

my $open = 0;
foreach my $i (1 .. 4)
{
	$open++ if $node->sql($writers) > 0;
	$node->sql("CREATE MATERIALIZED VIEW v$i WITH (stream_engine.continuous) AS SELECT x, n FROM s");
	$node->sql("CREATE MATERIALIZED VIEW e$i WITH (stream_engine.continuous, stream_engine.start = 'earliest') AS SELECT x, n FROM s") if $i == 2;
}
$open++ if $node->sql($writers) > 0;
cmp_ok($open, '>=', 4, 'writers were open all the while');
ok($load->finish, 'the writers met no error') or diag($err);

foreach my $i (1 .. 4)
{
	$node->refresh("v$i");
	is($node->sql("SELECT count(*) FROM (SELECT x FROM v$i GROUP BY x HAVING array_agg(n ORDER BY n) <> '{1,2,3}') AS torn"),
		'0', "no transaction is torn in view $i");
	cmp_ok($node->sql("SELECT count(*) FROM v$i"), '>', 0, "view $i has rows");
}
is($node->sql('SELECT count(*) FROM (SELECT x FROM v4 EXCEPT SELECT x FROM v1) AS d'), '0', 'a later view has no more than an earlier one');
$node->refresh('e2');
is($node->sql("SELECT count(*), count(DISTINCT x) FROM e2"), '7200|2400', 'the view from the earliest row has all');

$node->stop;
done_testing();
