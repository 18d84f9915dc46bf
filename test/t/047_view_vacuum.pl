# test/t/047_view_vacuum.pl: dead state is vacuumed by ourselves, also without autovacuum; commits go on meanwhile, nothing is tried in vain
# for ever, and after a vacuum that failed there is another one soon.
use strict;
use warnings;
use lib "$ENV{SE_TREE}/test/lib";
use PostgreSQL::Test::Utils;
use StreamEngine;
use Test::More;
use Time::HiRes qw(usleep);

my $node = StreamEngine->new('vacuum', conf => q{
autovacuum = off
stream_engine.fallback_timeout = '1h'
});
$node->sql(q{
	CREATE FOREIGN TABLE s (k int, v bigint) SERVER stream_engine;
	CREATE TABLE written (n int);
	CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous) AS SELECT k, count(*) AS c, sum(v) AS t FROM s GROUP BY k});

# Every group changes: all of the state is written anew, and the old chunks are deleted. The server may crash in it.
my $rounds = 0;

sub rewrite
{
	my ($status) = $node->psql('postgres', q{BEGIN; INSERT INTO s SELECT i, i FROM generate_series(1, 30000) i;
		INSERT INTO written VALUES (1); COMMIT; REFRESH MATERIALIZED VIEW v}, on_error_stop => 1);
	my $written;

	while (($status, $written) = $node->psql('postgres', 'SELECT count(*) FROM written') and $status != 0)
	{
		$node->wait_ready;
	}
	$rounds = $written;
	return;
}
sub chunks { return $node->sql("SELECT $_[0] FROM pg_stat_all_tables WHERE relid = 'stream_engine.state_chunks'::regclass"); }

# While a session keeps VACUUM out, the job commits.
my $holder = $node->background_psql('postgres');
$holder->query_safe('BEGIN; LOCK TABLE stream_engine.state_chunks IN SHARE UPDATE EXCLUSIVE MODE');
rewrite() while $rounds < 300 && $node->sql('SELECT dead_bytes > 4194304 FROM stream_engine.checkpoints') ne 't';
cmp_ok($rounds, '<', 300, 'state leaves dead bytes, and says so');
is(chunks('vacuum_count'), '0', 'no vacuum while another session holds its lock');
$holder->query_safe('COMMIT');
$holder->quit;

# Then it is vacuumed.
my $end = time + 120;
rewrite() while chunks('vacuum_count') == 0 && time < $end;
cmp_ok(chunks('vacuum_count'), '>', 0, 'vacuumed without autovacuum');
# It is due above 4 MB, and a worker tells of each megabyte.
$node->wait_until(q{SELECT dead_bytes < 6 * 1048576 FROM stream_engine.checkpoints}, 'few dead bytes are left');
pass('few dead bytes are left');

# Space is used again: the table does not grow with what is written to it.
my $size = $node->sql(q{SELECT pg_relation_size('stream_engine.state_chunks')});
my $written = $node->sql('SELECT written_bytes FROM stream_engine.checkpoints');
my $count = chunks('vacuum_count');
while (time < $end + 120 && $node->sql('SELECT written_bytes FROM stream_engine.checkpoints') - $written < 2 * $size)
{
	rewrite();
}
cmp_ok(chunks('vacuum_count'), '>', $count, 'and again');
cmp_ok($node->sql(q{SELECT pg_relation_size('stream_engine.state_chunks')}), '<', 2 * $size,
	'twice its size was written, and the table has not grown by as much');
is($node->sql(q{SELECT count(*), min(c), max(c) FROM v}), "30000|$rounds|$rounds", 'the result is right');

# A restart from vacuumed state.
$node->sql(q{SELECT stream_engine.stop('v')});
$node->sql(q{SELECT stream_engine.wait_state('v', 'stopped', '60s')});
$node->sql(q{SELECT stream_engine.start('v')});
rewrite();
is($node->sql(q{SELECT count(*), min(c), max(c) FROM v}), "30000|$rounds|$rounds", 'also after a restart');

# A vacuum that dies at its beginning takes nobody with it but, killed, the server; the next one does its work.
foreach my $action (qw(error fatal pg_cancel_backend pg_terminate_backend crash))
{
	my $died = $action eq 'crash' ? qr/terminated by signal 9/ : $action eq 'pg_cancel_backend' ? qr/vacuum.*canceling statement/
	  : $action eq 'pg_terminate_backend' ? qr/terminating background worker "stream_engine vacuum/ : qr/fault point "vacuum-begin"/;
	my $from_outside = $action =~ /^pg_/;
	my $log = -s $node->logfile;

	$node->fault_set('vacuum-begin', $from_outside ? 'wait' : $action, 0, 1);
	$count = chunks('vacuum_count');
	$end = time + 120;
	while (slurp_file($node->logfile, $log) !~ $died && time < $end)
	{
		rewrite();
		$node->psql('postgres', "SELECT $action(pid) FROM pg_stat_activity WHERE backend_type = 'stream_engine vacuum'") if $from_outside;
	}
	like(slurp_file($node->logfile, $log), $died, "$action at the beginning of a vacuum");
	$node->wait_ready;
	$node->fault_clear;
	$node->refresh('v');
	$rounds = $node->sql('SELECT count(*) FROM written');
	is($node->sql(q{SELECT count(*), min(c), max(c) FROM v}), "30000|$rounds|$rounds", "the result is right after $action");
	$count = 0 if $action eq 'crash';

	# Only the restart from a crash forgets how much was dead: else there is nothing to write before the next one.
	$end = time + ($action eq 'crash' ? 120 : 55);
	while (chunks('vacuum_count') <= $count && time < $end)
	{
		$action eq 'crash' ? rewrite() : usleep(100_000);
	}
	cmp_ok(chunks('vacuum_count'), '>', $count, "vacuumed after $action, and sooner than what cannot be removed");
}
$node->stop;
done_testing();
