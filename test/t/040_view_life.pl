# test/t/040_view_life.pl: the states of a job: errors, restarts, skipping a row, no free worker, DDL under a running view.
use strict;
use warnings;
use lib "$ENV{SE_TREE}/test/lib";
use StreamEngine;
use Test::More;

# An hour: whatever passes does not pass because of a fallback.
my $node = StreamEngine->new('life', conf => "stream_engine.fallback_timeout = '1h'\nstream_engine.restart_delay_min = '10ms'\n");

sub state_is
{
	my ($view, $state, $what) = @_;
	my ($status, $out, $err) = $node->psql('postgres', "SELECT stream_engine.wait_state('$view', '$state', '60s')");
	return is("$status$err", '0', $what // "$view is $state");
}

sub task_pid
{
	my ($view) = @_;
	return $node->sql("SELECT pid FROM pg_stat_activity WHERE application_name = 'stream_engine task public.$view'");
}

$node->sql(q{
	CREATE FOREIGN TABLE s (id int, v text) SERVER stream_engine;
	CREATE MATERIALIZED VIEW plain WITH (stream_engine.continuous) AS SELECT id, v FROM s;
	CREATE MATERIALIZED VIEW divided WITH (stream_engine.continuous) AS SELECT id, 100 / id AS q FROM s});

# A row that a view cannot compute stops this view, and no other.
$node->sql(q{INSERT INTO s VALUES (1, 'one'), (0, 'zero'), (2, 'two')});
state_is('divided', 'failed');
$node->refresh('plain');
is($node->sql('SELECT count(*) FROM plain'), '3', 'the other view goes on');
is($node->sql('SELECT count(*) FROM divided'), '0', 'nothing of the failed transaction is there');
like($node->sql(q{SELECT sqlstate, message, "row" FROM stream_engine.job_errors}),
	qr/^22012\|division by zero\|.*v=|^22012\|division by zero\|id=0/, 'error and row are shown');
like($node->sql_error('REFRESH MATERIALIZED VIEW divided'), qr/is failed\nDETAIL:.*division by zero/, 'REFRESH of a failed view is an error');

# Started again it meets the same row; with skip it leaves out exactly that one.
$node->sql(q{SELECT stream_engine.start('divided')});
state_is('divided', 'failed', 'the same row stops it again');
is($node->sql(q{SELECT count(*) FROM stream_engine.job_errors}), '2', 'and that is recorded');
$node->sql(q{SELECT stream_engine.start('divided', (SELECT "position" FROM stream_engine.job_errors ORDER BY seq DESC LIMIT 1))});
$node->refresh('divided');
is($node->sql('SELECT id, q FROM divided ORDER BY id'), "1|100\n2|50", 'the one row is left out');

# The skip list is forgotten once passed, and survives a restart until then.
is($node->sql(q{SELECT count(skip) FROM stream_engine.job_positions WHERE job = 'divided'::regclass}), '0', 'the skipped place is forgotten');

# A terminated worker comes back by itself.
my $pid = task_pid('plain');
$node->sql("SELECT pg_terminate_backend($pid)");
$node->sql(q{INSERT INTO s VALUES (4, 'four')});
$node->refresh('plain', 'divided');
is($node->sql('SELECT count(*) FROM plain'), '4', 'no row lost or doubled by a terminated worker');
isnt(task_pid('plain'), $pid, 'another process');

# Stop commits what was read; nothing arrives while stopped; start goes on there.
$node->sql(q{SELECT stream_engine.stop('plain')});
state_is('plain', 'stopped');
is(task_pid('plain'), '', 'no process for a stopped view');
$node->sql(q{INSERT INTO s VALUES (5, 'five')});
like($node->sql_error('REFRESH MATERIALIZED VIEW plain'), qr/is stopped/, 'REFRESH of a stopped view is an error');
$node->sql(q{SELECT stream_engine.start('plain')});
state_is('plain', 'running');
$node->refresh('plain');
is($node->sql('SELECT count(*) FROM plain'), '5', 'what came meanwhile');

# With restart = none no end but a stop is followed by a new start.
$node->sql(q{CREATE MATERIALIZED VIEW once WITH (stream_engine.continuous, stream_engine.restart = none) AS SELECT id FROM s});
$node->refresh('once');
$node->sql("SELECT pg_terminate_backend(" . task_pid('once') . ")");
state_is('once', 'failed', 'a terminated worker is not replaced with restart = none');
$node->sql(q{SELECT stream_engine.start('once')});
$node->refresh('once');
$node->sql("SELECT pg_cancel_backend(" . task_pid('once') . ")");
$node->sql(q{INSERT INTO s VALUES (5, 'again')});
state_is('once', 'failed', 'nor a cancelled one');
is($node->sql(q{SELECT string_agg(sqlstate, ',' ORDER BY seq) FROM stream_engine.job_errors WHERE job = 'once'::regclass}), '57P01,57014', 'both are recorded');
$node->sql('DROP MATERIALIZED VIEW once');

# Coordinator and launcher can go at any time; the views do not notice.
$node->sql(q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'stream_engine coordinator'});
$node->sql(q{INSERT INTO s VALUES (6, 'six')});
$node->refresh('plain');
$node->wait_until(q{SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_type = 'stream_engine coordinator'}, 'a new coordinator');
$pid = task_pid('plain');
$node->sql(q{SELECT stream_engine.stop('plain')});
state_is('plain', 'stopped', 'the new coordinator knows the running workers');
$node->sql(q{SELECT stream_engine.start('plain')});
$node->refresh('plain');
is($node->sql('SELECT count(*) FROM plain'), '7', 'exactly the rows');

# A lock the worker waits for, held by the session that waits for the worker.
my $blocker = $node->background_psql('postgres', on_error_stop => 0);
$blocker->query_safe('BEGIN; LOCK TABLE plain IN ACCESS EXCLUSIVE MODE');
$node->sql(q{INSERT INTO s VALUES (8, 'eight')});
$node->wait_until(q{SELECT count(*) = 1 FROM pg_locks WHERE NOT granted AND relation = 'plain'::regclass}, 'the worker waits for the lock');
$blocker->query(q{REFRESH MATERIALIZED VIEW plain});
like($blocker->{stderr}, qr/deadlock detected/, 'waiting for a worker that waits for us is a deadlock');
$blocker->query('ROLLBACK');
$blocker->quit;
$node->refresh('plain');
is($node->sql('SELECT count(*) FROM plain'), '8', 'afterwards all is well');

# The result table gets a column, a trigger, another owner while the view runs.
$node->sql(q{ALTER TABLE plain ADD COLUMN note text DEFAULT 'none'});
$node->sql(q{INSERT INTO s VALUES (9, 'nine')});
$node->refresh('plain');
is($node->sql('SELECT id, v, note FROM plain WHERE id = 9'), '9|nine|none', 'an added column gets its default');

# A function the query uses is replaced.
$node->sql(q{
	CREATE FUNCTION twice(int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN $1 * 2; END';
	CREATE MATERIALIZED VIEW doubled WITH (stream_engine.continuous) AS SELECT id, twice(id) AS d FROM s});
$node->sql(q{INSERT INTO s VALUES (10, '')});
$node->refresh('doubled');
$node->sql(q{CREATE OR REPLACE FUNCTION twice(int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN $1 * 3; END'});
$node->sql(q{INSERT INTO s VALUES (11, '')});
$node->refresh('doubled');
is($node->sql('SELECT id, d FROM doubled ORDER BY id'), "10|20\n11|33", 'a replaced function is used from then on');

# A view is dropped while its worker works; slot and worker go.
$node->fault_set('round-before-commit', 'wait');
$node->sql(q{INSERT INTO s VALUES (12, '')});
$node->wait_fault('round-before-commit', 1);
$node->sql('DROP MATERIALIZED VIEW doubled');
$node->fault_clear;
$node->wait_until(q{SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name LIKE '%doubled'}, 'the worker of a dropped view ends');
is($node->sql(q{SELECT count(*) FROM stream_engine.job_positions WHERE job::text ~ '^[0-9]+$'}), '0', 'nothing of it is left');

# With the last view the slot goes.
is($node->sql(q{SELECT count(*) FROM pg_replication_slots WHERE slot_name ~ '^stream_engine_'}), '1', 'one slot');
$node->sql('DROP MATERIALIZED VIEW plain; DROP MATERIALIZED VIEW divided');
$node->wait_until(q{SELECT count(*) = 0 FROM pg_replication_slots}, 'the slot goes with the last view');
$node->sql('DROP FOREIGN TABLE s');

# Rights are checked at every start, writes in expressions fail.
$node->sql(q{
	CREATE ROLE bob; GRANT CREATE ON SCHEMA public TO bob;
	CREATE TABLE log (id int); GRANT ALL ON log TO bob;
	CREATE FOREIGN TABLE s (id int) SERVER stream_engine; GRANT SELECT ON s TO bob;
	SET ROLE bob;
	CREATE FUNCTION whoami() RETURNS text LANGUAGE sql STABLE AS 'SELECT current_user::text';
	CREATE MATERIALIZED VIEW bobs WITH (stream_engine.continuous) AS SELECT id, whoami() AS who FROM s;
	CREATE FUNCTION logged(int) RETURNS int LANGUAGE plpgsql AS 'BEGIN INSERT INTO log VALUES ($1); RETURN $1; END';
	CREATE MATERIALIZED VIEW writes WITH (stream_engine.continuous) AS SELECT id, logged(id) AS n FROM s});
$node->sql('INSERT INTO s VALUES (1)');
$node->refresh('bobs');
is($node->sql('SELECT * FROM bobs'), '1|bob', 'expressions run as the owner of the view');
state_is('writes', 'failed');
like($node->sql(q{SELECT sqlstate FROM stream_engine.job_errors WHERE job = 'writes'::regclass}), qr/^25006/, 'a function that writes fails');
$node->sql(q{REVOKE SELECT ON s FROM bob; SELECT stream_engine.stop('bobs')});
state_is('bobs', 'stopped');
$node->sql(q{SELECT stream_engine.start('bobs')});
state_is('bobs', 'failed', 'without SELECT on the stream it does not start');
like($node->sql(q{SELECT sqlstate FROM stream_engine.job_errors WHERE job = 'bobs'::regclass}), qr/^42501/, 'insufficient privilege');

$node->stop;

# No background worker free: the view waits, and starts by itself.
my $small = StreamEngine->new('small', conf => "max_worker_processes = 4\n");
$small->sql(q{CREATE FOREIGN TABLE s (id int) SERVER stream_engine});
$small->sql("CREATE MATERIALIZED VIEW v$_ WITH (stream_engine.continuous) AS SELECT id FROM s") foreach 1 .. 2;
my $waiting = $small->psql('postgres', q{SELECT stream_engine.wait_state('v2', 'waiting', '20s')}) == 0 ? 'v2' : 'v1';
my $running = $waiting eq 'v2' ? 'v1' : 'v2';
$small->sql("INSERT INTO s VALUES (1); REFRESH MATERIALIZED VIEW $running; SELECT stream_engine.stop('$running')");
$small->refresh($waiting);
is($small->sql("SELECT count(*) FROM $waiting"), '1', 'a waiting view starts when a worker is free');
$small->stop;

done_testing();
