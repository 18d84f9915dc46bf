
# I1: a commit record that is flushed is not delivered before the transaction is visible.
# A synchronous standby that is away keeps the committing session, and only that, waiting.
use strict;
use warnings;
use StreamEngine;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = StreamEngine->new('main', conf => "max_wal_senders = 2\n");
$node->sql(q{CREATE FOREIGN TABLE s (a int) SERVER stream_engine; CREATE TABLE t (a int);
	CREATE TABLE start_at AS SELECT stream_engine.test_start_mark('s') AS p;
	INSERT INTO s VALUES (1)});
$node->append_conf('postgresql.conf', "synchronous_standby_names = 'away'");
$node->reload;

my ($out, $err) = ('', '');
my $writer = IPC::Run::start([ 'psql', '-XqAt', '-d', $node->connstr('postgres') . q{ application_name='waiting'},
	'-c', 'BEGIN; INSERT INTO s VALUES (2); INSERT INTO t VALUES (2); COMMIT' ], '>', \$out, '2>', \$err);
$node->wait_until(q{SELECT count(*) = 1 FROM pg_stat_activity WHERE application_name = 'waiting' AND wait_event = 'SyncRep'},
	'the commit waits for the standby');

my $job = q{SELECT string_agg("row", ' ') FROM stream_engine.test_source('s', (SELECT p FROM start_at), 256)};
is($node->sql($job), '1', 'a job does not get it');
is($node->sql('SELECT string_agg(a::text, $$ $$) FROM s'), '1', 'nor does a SELECT');
# Others that committed behind it are visible, and a SELECT has them; a job waits for its turn.
$node->sql('SET synchronous_commit = local; INSERT INTO s VALUES (3)');
is($node->sql('SELECT string_agg(a::text, $$ $$) FROM s'), '1 3', 'a SELECT follows its snapshot');
is($node->sql($job), '1', 'a job follows commit order');

$node->append_conf('postgresql.conf', "synchronous_standby_names = ''");
$node->reload;
$writer->finish;
is($node->sql($job), '1 2 3', 'a job gets all, in commit order');
is($node->sql('SELECT string_agg(a::text, $$ $$) FROM s'), '1 2 3', 'so does a SELECT');

$node->stop;
done_testing();
