# test/t/045_view_wakeups.pl: no wake-up is lost, whatever a process waits for when it comes; nothing leans on a timeout.
use strict;
use warnings;
use lib "$ENV{SE_TREE}/test/lib";
use PostgreSQL::Test::Utils;
use StreamEngine;
use Test::More;

my $node = StreamEngine->new('wakeups', conf => "stream_engine.fallback_timeout = '1h'\n");

# Is our process of this kind waiting for a lock?
sub wait_blocked
{
	my ($kind) = @_;
	return $node->wait_until(qq{
		SELECT EXISTS (SELECT FROM pg_locks l JOIN pg_stat_activity a USING (pid)
		               WHERE NOT l.granted AND a.backend_type = 'stream_engine $kind')}, "the $kind waits for a lock");
}

# A coordinator that waits for a lock when it is woken looks again afterwards.
$node->sql(q{
	CREATE FOREIGN TABLE s (id int) SERVER stream_engine;
	CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous) AS SELECT id FROM s;
	CREATE MATERIALIZED VIEW w WITH (stream_engine.continuous) AS SELECT id FROM s;
	INSERT INTO s VALUES (1)});
$node->refresh('v', 'w');
$node->sql(q{SELECT stream_engine.start('v')});	# a look, which moves the slot or sets a timer for that
$node->wait_until(q{SELECT min(r.restart_lsn) = min(l.restart_lsn) FROM pg_replication_slots r, stream_engine.sources l},
	'the coordinator has nothing to do');
my $holder = $node->background_psql('postgres');
$holder->query_safe('BEGIN; LOCK TABLE stream_engine.job_positions IN ACCESS EXCLUSIVE MODE');
$node->sql(q{SELECT stream_engine.start('v')});	# it runs: nothing comes of this but a look
wait_blocked('coordinator');
$node->sql(q{SELECT stream_engine.stop('w')});
$holder->query_safe('COMMIT');
$node->sql(q{SELECT stream_engine.wait_state('w', 'stopped', '60s')});
pass('the coordinator has heard of the stop');

# A session that waits for a lock when the job it waits for changes looks again, too.
$node->sql(q{SELECT stream_engine.start('w')});
$node->refresh('v', 'w');
$node->fault_set('commit-begin', 'wait');
$node->sql('INSERT INTO s VALUES (2)');
$node->wait_fault('commit-begin', 2);
my $waiter = $node->background_psql('postgres');
$waiter->query_until(qr/go/, "\\echo go\nREFRESH MATERIALIZED VIEW v;\n\\echo reflected\n");
$node->wait_until(q{SELECT EXISTS (SELECT FROM pg_stat_activity WHERE query LIKE 'REFRESH%' AND wait_event_type = 'Extension')},
	'REFRESH waits');
$holder->query_safe('BEGIN; LOCK TABLE stream_engine.job_catalog IN ACCESS EXCLUSIVE MODE');
$node->fault_clear('commit-begin');
$node->wait_until(q{SELECT count(*) = 2 FROM v WHERE id IN (1, 2)}, 'the commit of v');
$holder->query_safe('COMMIT');
$waiter->query_until(qr/reflected/, "\n");
pass('REFRESH has heard of the commit');
$waiter->quit;
$holder->quit;

# Nor is one left waiting for a view that is dropped before the coordinator has seen it.
$node->fault_set('coordinator-loop', 'wait');
$node->sql(q{CREATE MATERIALIZED VIEW unseen WITH (stream_engine.continuous) AS SELECT id FROM s});
$node->wait_fault('coordinator-loop');
my $left = $node->background_psql('postgres', on_error_stop => 0);
$left->query_until(qr/go/, "\\echo go\nREFRESH MATERIALIZED VIEW unseen;\n\\echo ended\n");
$node->wait_until(q{SELECT EXISTS (SELECT FROM pg_stat_activity WHERE query LIKE 'REFRESH%unseen%' AND wait_event_type = 'Extension')}, 'REFRESH waits');
$node->sql('DROP MATERIALIZED VIEW unseen');
$left->query_until(qr/ended/, "\n");
pass('REFRESH has heard of the drop');
$left->quit;
$node->fault_clear;

# stop and start, faster than a worker can come and go: what was asked for last is what is.
foreach my $i (1 .. 20)
{
	$node->sql("INSERT INTO s VALUES (100 + $i)");
	$node->sql(q{SELECT stream_engine.stop('v')});
	$node->sql(q{SELECT stream_engine.start('v')});
	$node->sql(q{SELECT stream_engine.stop('v')}) if $i % 2;
	$node->sql(q{SELECT stream_engine.wait_state('v', 'stopped', '60s')}) if $i % 4 == 1;
	$node->sql(q{SELECT stream_engine.start('v'), stream_engine.stop('w'), stream_engine.start('w')});
	$node->refresh('v') if $i % 3 == 0;
}
$node->refresh('v', 'w');
is($node->sql('SELECT count(*), count(DISTINCT id) FROM v'), '22|22', 'each row once in v after many stops and starts');
is($node->sql('SELECT count(*), count(DISTINCT id) FROM w'), '22|22', 'each row once in w');
is($node->sql('SELECT count(*) FROM stream_engine.errors'), '0', 'and no errors');

# Everything comes and goes, again and again: nobody is left behind.
$node->sql('CREATE DATABASE d');
foreach my $i (1 .. 12)
{
	$node->sql('SET client_min_messages = warning; CREATE EXTENSION stream_engine', 'd');
	$node->sql(q{CREATE FOREIGN TABLE s (id int) SERVER stream_engine;
		CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous) AS SELECT id FROM s;
		CREATE MATERIALIZED VIEW w WITH (stream_engine.continuous) AS SELECT id, count(*) FROM s GROUP BY id;
		INSERT INTO s SELECT generate_series(1, 100)}, 'd');
	$node->sql('REFRESH MATERIALIZED VIEW v', 'd') if $i % 2;
	$node->sql('INSERT INTO s SELECT generate_series(1, 100)', 'd') if $i % 3;
	$node->sql('SET client_min_messages = warning; DROP EXTENSION stream_engine CASCADE', 'd');
	$node->wait_until(q{SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE datname = 'd' AND backend_type LIKE 'stream_engine%')},
		"processes of round $i have left") or last;
	$node->wait_until(q{SELECT count(*) = 1 FROM pg_replication_slots}, "the slot of round $i has gone") or last;
}
pass('twelve times created and dropped');
unlike(slurp_file($node->logfile), qr/deadlock detected/, 'nobody had to be saved from a deadlock');

$node->stop;
done_testing();
