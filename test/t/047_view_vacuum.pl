# test/t/047_view_vacuum.pl: dead state is vacuumed by ourselves, also without autovacuum; commits go on meanwhile, and nothing is tried in vain for ever.
use strict;
use warnings;
use lib "$ENV{SE_TREE}/test/lib";
use StreamEngine;
use Test::More;

my $node = StreamEngine->new('vacuum', conf => q{
autovacuum = off
stream_engine.fallback_timeout = '1h'
});
$node->sql(q{
	CREATE FOREIGN TABLE s (k int, v bigint) SERVER stream_engine;
	CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous) AS SELECT k, count(*) AS c, sum(v) AS t FROM s GROUP BY k});

# Every group changes: all of the state is written anew, and the old chunks are deleted.
my $rounds = 0;

sub rewrite
{
	my ($times) = @_;
	foreach (1 .. $times)
	{
		$node->sql('INSERT INTO s SELECT i, i FROM generate_series(1, 30000) i');
		$node->refresh('v');
		$rounds++;
	}
	return;
}
sub chunks { return $node->sql("SELECT $_[0] FROM pg_stat_all_tables WHERE relid = 'stream_engine.state_chunks'::regclass"); }

# While a session keeps VACUUM out, the job commits.
my $holder = $node->background_psql('postgres');
$holder->query_safe('BEGIN; LOCK TABLE stream_engine.state_chunks IN SHARE UPDATE EXCLUSIVE MODE');
rewrite(1) while $rounds < 300 && $node->sql('SELECT dead_bytes > 4194304 FROM stream_engine.checkpoints') ne 't';
cmp_ok($rounds, '<', 300, 'state leaves dead bytes, and says so');
is(chunks('vacuum_count'), '0', 'no vacuum while another session holds its lock');
$holder->query_safe('COMMIT');

# Then it is vacuumed.
my $end = time + 120;
rewrite(1) while chunks('vacuum_count') == 0 && time < $end;
cmp_ok(chunks('vacuum_count'), '>', 0, 'vacuumed without autovacuum');
$node->wait_until(q{SELECT dead_bytes < 4194304 FROM stream_engine.checkpoints}, 'few dead bytes are left');
pass('few dead bytes are left');

# Space is used again: the table does not grow with what is written to it.
my $size = $node->sql(q{SELECT pg_relation_size('stream_engine.state_chunks')});
my $written = $node->sql('SELECT written_bytes FROM stream_engine.checkpoints');
my $count = chunks('vacuum_count');
while (time < $end + 120 && $node->sql('SELECT written_bytes FROM stream_engine.checkpoints') - $written < 2 * $size)
{
	rewrite(1);
}
cmp_ok(chunks('vacuum_count'), '>', $count, 'and again');
cmp_ok($node->sql(q{SELECT pg_relation_size('stream_engine.state_chunks')}), '<', 2 * $size,
	'twice its size was written, and the table has not grown by as much');
is($node->sql(q{SELECT count(*), min(c), max(c) FROM v}), "30000|$rounds|$rounds", 'the result is right');

# A restart from vacuumed state.
$node->sql(q{SELECT stream_engine.stop('v')});
$node->sql(q{SELECT stream_engine.wait_state('v', 'stopped', '60s')});
$node->sql(q{SELECT stream_engine.start('v')});
rewrite(1);
is($node->sql(q{SELECT count(*), min(c), max(c) FROM v}), "30000|$rounds|$rounds", 'also after a restart');

$holder->quit;
$node->stop;
done_testing();
