# test/t/050_view_ddl.pl: continuous views through drivers, in the middle of failures, and in databases that go away.

use strict;
use warnings;
use lib "$ENV{SE_TREE}/test/lib";
use StreamEngine;
use PostgreSQL::Test::Utils;
use IPC::Run;
use Test::More;

# A statement in a session of its own; ->finish waits for it.
sub in_background
{
	my ($sql) = @_;
	our $node;
	return IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-v', 'ON_ERROR_STOP=1', '-c', $sql ],
		'>', \my $out, '2>', \my $err);
}

our $node = StreamEngine->new('main');

$node->sql('CREATE FOREIGN TABLE s (k int, n int) SERVER stream_engine');

# A driver's extended protocol, unnamed and named statements.
my $script = PostgreSQL::Test::Utils::tempdir() . '/create.pgbench';
foreach my $mode (qw(extended prepared))
{
	append_to_file("$script.$mode", qq{
		CREATE MATERIALIZED VIEW by_$mode WITH (stream_engine.continuous) AS SELECT k, n FROM s WHERE n > 0;
		INSERT INTO s VALUES (1, 0), (2, 1);
		REFRESH MATERIALIZED VIEW by_$mode;
	});
	$node->PostgreSQL::Test::Cluster::command_ok([ 'pgbench', '-n', '-M', $mode, '-t', 1, '-f', "$script.$mode", 'postgres' ],
		"CREATE, INSERT and REFRESH by $mode query");
	is($node->sql("SELECT k, n FROM by_$mode"), '2|1', "the view made by $mode query");
	$node->sql("DROP MATERIALIZED VIEW by_$mode");
}

# CREATE that fails half-way leaves nothing, and nothing in its way.
foreach my $point (qw(create-before-mark create-after-mark))
{
	foreach my $action (qw(error fatal))
	{
		$node->fault_set($point, $action);
		my ($status) = $node->psql('postgres',
			'CREATE MATERIALIZED VIEW half WITH (stream_engine.continuous) AS SELECT k FROM s');
		isnt($status, 0, "CREATE fails at $point by $action");
		is($node->fault_reached($point), 1, "$point was reached");
		$node->fault_clear($point);
		is($node->sql(q{SELECT (SELECT count(*) FROM stream_engine.job_catalog) + (SELECT count(*) FROM stream_engine.job_positions)
			+ (SELECT count(*) FROM pg_class WHERE relname IN ('half', 'public.half'))}), '0', 'nothing is left of it');
		$node->sql('INSERT INTO s VALUES (3, 1)');
	}
	$node->fault_set($point, 'crash');
	$node->psql('postgres', 'CREATE MATERIALIZED VIEW half WITH (stream_engine.continuous) AS SELECT k FROM s');
	$node->wait_ready;
	is($node->sql('SELECT count(*) FROM stream_engine.job_catalog'), '0', "nothing is left after a crash at $point");
}
$node->fault_clear;
$node->sql('CREATE MATERIALIZED VIEW half WITH (stream_engine.continuous) AS SELECT k FROM s; INSERT INTO s VALUES (4, 1)');
$node->refresh('half');
is($node->sql('TABLE half'), '4', 'the name is free, and the view begins at its own mark');

# Commits that follow the mark while CREATE is still open are in the view.
$node->fault_set('create-after-mark', 'wait');
my $creator = in_background('CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous) AS SELECT k FROM s;');
$node->wait_fault('create-after-mark');
$node->sql('INSERT INTO s VALUES (5, 1)');
$node->sql('CHECKPOINT; SELECT pg_switch_wal(); CHECKPOINT');
$node->fault_clear('create-after-mark');
$creator->finish;
$node->refresh('v');
is($node->sql('TABLE v'), '5', 'a row that came between mark and commit of CREATE');

# Prepared transactions are open writers.
$node->sql("BEGIN; INSERT INTO s VALUES (6, 1); PREPARE TRANSACTION 'writer'");
$creator = in_background('CREATE MATERIALIZED VIEW w WITH (stream_engine.continuous) AS SELECT k FROM s;');
$node->wait_until(q{SELECT count(*) = 1 FROM pg_stat_activity WHERE query LIKE 'CREATE MATERIALIZED VIEW w %' AND wait_event_type = 'Lock'},
	'CREATE waits');
$node->sql('INSERT INTO s VALUES (7, 1)');
$node->sql("COMMIT PREPARED 'writer'");
$creator->finish;
$node->sql('INSERT INTO s VALUES (8, 1)');
$node->refresh('w');
is($node->sql('TABLE w'), '8', 'neither the prepared writer nor who wrote during the wait is in the view');

# COMMIT PREPARED by another session wakes the readers.
$node->sql("BEGIN; INSERT INTO s VALUES (9, 1); PREPARE TRANSACTION 'writer'");
$node->sql("COMMIT PREPARED 'writer'");
$node->refresh('w');
is($node->sql('SELECT k FROM w WHERE k = 9'), '9', 'rows of COMMIT PREPARED');

# Waiting can be ended.
$node->fault_set('round-begin', 'wait');
$node->sql('INSERT INTO s VALUES (10, 1)');
like($node->sql_error("SET statement_timeout = '200ms'; REFRESH MATERIALIZED VIEW w"),
	qr/canceling statement due to statement timeout/, 'statement_timeout ends REFRESH');
$node->fault_clear('round-begin');
$node->refresh('w');

# A session that holds a lock its own view's worker needs is told so.
$node->fault_set('round-begin', 'wait');
$node->sql('INSERT INTO s VALUES (11, 1)');
my $locker = in_background('BEGIN; LOCK TABLE w; SELECT stream_engine.test_fault_clear(); REFRESH MATERIALIZED VIEW w; COMMIT');
ok(!$locker->finish, 'REFRESH under a lock of its own ends with an error');
$node->fault_clear;
$node->refresh('w');

# Databases with running views can be copied, renamed and dropped, and their slots go with them.
$node->sql('CREATE DATABASE one');
$node->install('one');
$node->sql('CREATE FOREIGN TABLE s (k int) SERVER stream_engine;
	CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous) AS SELECT k FROM s;
	INSERT INTO s VALUES (1)', 'one');
$node->sql('REFRESH MATERIALIZED VIEW v', 'one');
my $slot = 'stream_engine_' . $node->sql("SELECT oid FROM pg_database WHERE datname = 'one'");
is($node->sql("SELECT count(*) FROM pg_replication_slots WHERE slot_name = '$slot'"), '1', 'a slot keeps its WAL');
$node->sql('CREATE DATABASE copy TEMPLATE one');
$node->sql('INSERT INTO s VALUES (2)', 'one');
$node->sql('REFRESH MATERIALIZED VIEW v', 'one');
is($node->sql('SELECT count(*) FROM v', 'one'), '2', 'the copied database goes on');
is($node->sql('SELECT count(*) FROM v', 'copy'), '1', 'the copy has what was there');
$node->sql("SELECT stream_engine.wait_state('v', 'dormant', '2 minutes')", 'copy');
$node->sql('INSERT INTO v VALUES (7)', 'copy');
is($node->sql('SELECT count(*) FROM v', 'copy'), '2', 'the result of a dormant view takes writes');
like($node->sql_error(q{SELECT stream_engine.start('v')}, 'copy'), qr/"v" is dormant.*resume_restored/s, 'a dormant view is not started');
like($node->sql_error('REFRESH MATERIALIZED VIEW v', 'copy'), qr/"v" is dormant.*resume_restored/s, 'nor waited for');
$node->sql('ALTER DATABASE one RENAME TO two');
$node->sql('INSERT INTO s VALUES (3)', 'two');
$node->sql('REFRESH MATERIALIZED VIEW v', 'two');
is($node->sql('SELECT count(*) FROM v', 'two'), '3', 'the renamed database goes on');

# One that took no connections goes on when it takes them again.
$node->sql('ALTER DATABASE two ALLOW_CONNECTIONS false');
$node->sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'two'");
ok($node->wait_until("SELECT count(*) = 0 FROM pg_stat_activity WHERE datname = 'two'"), 'nobody is in the closed database');
$node->sql('BEGIN; ALTER DATABASE two ALLOW_CONNECTIONS true; COMMIT');
$node->sql('INSERT INTO s VALUES (4)', 'two');
$node->sql('REFRESH MATERIALIZED VIEW v', 'two');
is($node->sql('SELECT count(*) FROM v', 'two'), '4', 'the reopened database goes on');
$node->sql('DROP DATABASE two');
$node->sql('DROP DATABASE copy');
is($node->sql("SELECT count(*) FROM pg_replication_slots WHERE slot_name = '$slot'"), '0', 'the slot went with its database');
$node->refresh('w');

# DROP EXTENSION takes everything, in one transaction.
$node->sql('BEGIN; DROP EXTENSION stream_engine CASCADE; ROLLBACK; INSERT INTO s VALUES (12, 1)');
$node->refresh('w');
is($node->sql('SELECT k FROM w WHERE k = 12'), '12', 'a rolled back DROP EXTENSION changes nothing');
$node->sql('DROP EXTENSION stream_engine CASCADE');
ok($node->wait_until(q{SELECT count(*) = 0 FROM pg_stat_activity WHERE backend_type IN ('stream_engine task', 'stream_engine coordinator')}),
	'our workers leave');
ok($node->wait_until(q{SELECT count(*) = 0 FROM pg_replication_slots}), 'and the slot goes');
is($node->sql(q{SELECT to_regclass('s') IS NULL AND to_regclass('w') IS NULL}), 't', 'streams and views are gone');

$node->stop;
done_testing();
