# test/t/046_view_errors.pl: what a job says of itself when its worker is ended, when it cannot commit, and when it fails again and again.
use strict;
use warnings;
use lib "$ENV{SE_TREE}/test/lib";
use StreamEngine;
use Test::More;

my $node = StreamEngine->new('errors', conf => "stream_engine.restart_delay_min = '10ms'\nstream_engine.restart_delay_max = '50ms'\n");
$node->sql(q{
	CREATE FOREIGN TABLE s (id int) SERVER stream_engine;
	CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous) AS SELECT id FROM s;
	INSERT INTO s VALUES (1)});
$node->refresh('v');

sub job { return $node->sql("SELECT $_[0] FROM stream_engine.jobs WHERE view = 'v'::regclass"); }

# Run in the background; done when it says so.
sub refresh_slowly
{
	my $session = $node->background_psql('postgres', on_error_stop => 0);
	$session->query_until(qr/go/, "\\echo go\nREFRESH MATERIALIZED VIEW v;\n\\echo reflected\n");
	return $session;
}

sub wait_warning
{
	my ($session, $pattern, $what) = @_;
	my $end = time + $StreamEngine::timeout;

	while ($session->{stderr} !~ $pattern && time < $end)
	{
		$session->{run}->pump_nb;
		$node->sql('SELECT 1');
	}
	like($session->{stderr}, $pattern, $what);
	return;
}

# A worker that is terminated leaves an entry; so does one that a FATAL ends.
my ($pid, $attempt) = split /\|/, job('pid, attempt');
$node->sql("SELECT pg_terminate_backend($pid)");
$node->wait_until('SELECT count(*) > 0 FROM stream_engine.errors', 'an entry of the terminated worker');
like($node->sql('SELECT attempt, sqlstate, message FROM stream_engine.errors'),
	qr/^$attempt\|57P01\|terminating background worker/, 'a terminated worker has an entry');
$node->fault_set('round-begin', 'fatal', 0, 1);
$node->sql('INSERT INTO s VALUES (2)');
$node->refresh('v');
$node->wait_until('SELECT count(*) = 2 FROM stream_engine.errors', 'an entry of the FATAL');
like($node->sql('SELECT message FROM stream_engine.errors ORDER BY seq DESC LIMIT 1'), qr/round-begin/, 'FATAL has an entry with its own message');
is($node->sql('SELECT count(*), count(DISTINCT id) FROM v'), '2|2', 'and no row is lost or double');

# A job that somebody has stopped does not complain that it was ended.
$node->sql(q{SELECT stream_engine.stop('v')});
$node->sql(q{SELECT stream_engine.wait_state('v', 'stopped', '60s')});
is($node->sql('SELECT count(*) FROM stream_engine.errors'), '2', 'a stop is no error');
$node->sql(q{SELECT stream_engine.start('v')});
$node->refresh('v');

# An idle view forgets a failure, too, when its successor has lived for long enough.
($pid, $attempt) = split /\|/, job('pid, attempt');
$node->sql("SELECT pg_terminate_backend($pid)");
$node->wait_until(qq{SELECT state = 'running' AND failures = 0 AND error IS NULL AND error_sqlstate IS NULL
	FROM stream_engine.jobs WHERE view = 'v'::regclass AND attempt > $attempt}, 'an idle view forgets');
is($node->sql('SELECT count(*) FROM stream_engine.errors'), '3', 'its history does not');

# A lock on the result: the worker waits for it, says so, and goes on when it is gone.
($pid, $attempt) = split /\|/, job('pid, attempt');
my $holder = $node->background_psql('postgres');
my $holder_pid = $holder->query_safe('SELECT pg_backend_pid()');
$holder->query_safe('BEGIN; LOCK TABLE v IN SHARE MODE');
$node->sql('INSERT INTO s VALUES (3)');
my $waiter = refresh_slowly();
$node->sql(q{SELECT stream_engine.wait_state('v', 'waiting', '120s')});
is(job('failures'), '0', 'waiting for a lock is no failure');
like(job('error_sqlstate, error'), qr/^55P03\|cannot commit while process $holder_pid holds a lock on public\.v$/, 'jobs says what it waits for, and who has it');
wait_warning($waiter, qr/WARNING:  continuous view "v" is waiting\nDETAIL:  .*holds a lock/, 'so does REFRESH');
$node->wait_until(q{SELECT count(*) > 0 FROM stream_engine.errors WHERE sqlstate = '55P03'}, 'an entry of the lock');
is($node->sql('SELECT count(*) FROM v'), '2', 'it has committed nothing');
$holder->query_safe('COMMIT');
$waiter->query_until(qr/reflected/, "\n");
$waiter->quit;
is(job('pid, attempt, state, failures, error'), "$pid|$attempt|running|0|", 'the same worker goes on');
is($node->sql('SELECT count(*), count(DISTINCT id) FROM v'), '3|3', 'every row once');
is($node->sql(q{SELECT count(*) FROM stream_engine.errors WHERE sqlstate = '55P03'}), '1', 'one entry');

# Whoever waits for a job that fails again and again is told.
$node->fault_set('round-begin', 'error');
$node->sql('INSERT INTO s VALUES (4)');
$waiter = refresh_slowly();
wait_warning($waiter, qr/WARNING:  continuous view "v" is \w+ after \d+ failures\nDETAIL:  .*round-begin/, 'REFRESH tells of failures');
$node->fault_clear('round-begin');
$waiter->query_until(qr/reflected/, "\n");
$waiter->quit;
is($node->sql('SELECT count(*), count(DISTINCT id) FROM v'), '4|4', 'every row once');

# A job that becomes failed ends the wait.
$node->sql(q{
	CREATE FOREIGN TABLE t (id int) SERVER stream_engine;
	CREATE MATERIALIZED VIEW w WITH (stream_engine.continuous) AS SELECT 1 / id AS q FROM t});
$node->refresh('w');
$node->sql('INSERT INTO t VALUES (0)');
like($node->sql_error('REFRESH MATERIALIZED VIEW w'), qr/continuous view "w" is failed\nDETAIL:  .*division by zero/, 'REFRESH of a job that fails');

# What is dropped leaves no entry behind.
$node->sql('DROP MATERIALIZED VIEW v; DROP MATERIALIZED VIEW w');
is($node->sql('SELECT count(*) FROM stream_engine.job_errors'), '0', 'no entry of a dropped view');

$holder->quit;
$node->stop;
done_testing();
