# test/t/056_database_life.pl: databases and the extension are copied, renamed, moved, updated and dropped while views run.
use strict;
use warnings;
use lib "$ENV{SE_TREE}/test/lib";
use PostgreSQL::Test::Utils;
use StreamEngine;
use Test::More;

my $node = StreamEngine->new('main');

# A database with a stream, its twin, and views; one of them does not survive a failure of its worker.
sub fill
{
	my ($database) = @_;
	$node->sql("CREATE DATABASE $database");
	$node->install($database);
	$node->sql(q{
		CREATE FOREIGN TABLE s (k int, n int) SERVER stream_engine;
		CREATE TABLE twin (k int, n int);
		CREATE MATERIALIZED VIEW g WITH (stream_engine.continuous, stream_engine.checkpoint_interval = '5ms') AS
			SELECT k, count(*) AS c, sum(n) AS n FROM s GROUP BY k;
		CREATE MATERIALIZED VIEW once WITH (stream_engine.continuous, stream_engine.restart = none) AS SELECT k, n FROM s WHERE n % 2 = 0;
	}, $database);
	write_rows($database);
	return;
}

sub write_rows
{
	my ($database) = @_;
	$node->sql(q{
		BEGIN;
		CREATE TEMP TABLE r ON COMMIT DROP AS SELECT g % 7 AS k, g AS n FROM generate_series(1, 1000) g;
		INSERT INTO twin TABLE r;
		INSERT INTO s TABLE r;
		COMMIT}, $database);
	return;
}

# The views equal their queries, and nobody counts what happened as a failure.
sub unharmed
{
	my ($database, $what) = @_;
	write_rows($database);
	$node->sql("REFRESH MATERIALIZED VIEW $_", $database) foreach qw(g once);
	is($node->sql(q{
		SELECT (SELECT count(*) FROM (TABLE g EXCEPT ALL SELECT k, count(*), sum(n) FROM twin GROUP BY k) d),
			(SELECT count(*) FROM (SELECT k, n FROM twin WHERE n % 2 = 0 EXCEPT ALL TABLE once) d),
			(SELECT count(*) FROM once) - (SELECT count(*) FROM twin WHERE n % 2 = 0)}, $database),
		'0|0|0', "$what: the views equal their queries");
	is($node->sql(q{SELECT string_agg(state || failures, ' ') FROM stream_engine.jobs}, $database), 'running0 running0', "$what: both run");
	is($node->sql(q{SELECT string_agg(view || ' ' || message || coalesce(' ' || detail, ''), E'\n') FROM stream_engine.errors}, $database), '', "$what: and nothing is an error");
	return;
}

# Rows that are written until told to stop; who is turned away at the door tries again.
sub in_load
{
	my ($database, $body) = @_;
	my $script = PostgreSQL::Test::Utils::tempdir() . '/load.sql';
	append_to_file($script, "BEGIN;\nINSERT INTO s VALUES (:client_id, 1);\nINSERT INTO twin VALUES (:client_id, 1);\nCOMMIT;\n");
	my $load = IPC::Run::start([ 'pgbench', '-n', '-c', 2, '-T', 100, '-f', $script, $node->connstr($database) . ' application_name=load' ], '>', \my $out, '2>', \my $err);
	$node->wait_until(q{SELECT count(*) = 2 FROM pg_stat_activity WHERE application_name = 'load'}, 'writers are there');
	$body->();
	$node->sql(q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'load'});
	$load->finish;
	return;
}

my $dir = PostgreSQL::Test::Utils::tempdir();
$node->sql("CREATE TABLESPACE elsewhere LOCATION '$dir'");
fill('one');

# Copied, more than once in a row; the coordinator does not take longer and longer to come back.
$node->sql("CREATE DATABASE copy$_ TEMPLATE one") foreach 1 .. 4;
unharmed('one', 'copied four times');
$node->sql("SELECT stream_engine.wait_state('g', 'dormant', '2 minutes')", "copy$_") foreach 1, 4;
like($node->sql_error('CREATE DATABASE copy1 TEMPLATE one'), qr/"copy1" already exists/, 'a name that is taken');
unharmed('one', 'not copied');

# The copy is a database of its own: its stream takes rows, and new views read them.
$node->sql('DROP MATERIALIZED VIEW g, once; INSERT INTO s VALUES (1, 1);
	CREATE MATERIALIZED VIEW g WITH (stream_engine.continuous) AS SELECT k, count(*) AS c, sum(n) AS n FROM s GROUP BY k;', 'copy2');
$node->sql('INSERT INTO s VALUES (1, 2), (1, 3)', 'copy2');
$node->sql('REFRESH MATERIALIZED VIEW g', 'copy2');
is($node->sql('TABLE g', 'copy2'), '1|2|5', 'a view made in the copy');

# Renamed: alone, and in a transaction, kept and not.
$node->sql('ALTER DATABASE one RENAME TO two');
unharmed('two', 'renamed');
$node->sql('BEGIN; ALTER DATABASE two RENAME TO three; ROLLBACK');
unharmed('two', 'renamed and rolled back');
$node->sql('BEGIN; ALTER DATABASE two RENAME TO three; COMMIT');
unharmed('three', 'renamed in a transaction');

# Moved.
$node->sql('ALTER DATABASE three SET TABLESPACE elsewhere');
unharmed('three', 'moved');
$node->sql('ALTER DATABASE three SET TABLESPACE pg_default');
unharmed('three', 'moved back');

# With somebody else in it the commands fail; the views go on.
my $guest = $node->background_psql('three');
$guest->query_safe('SELECT 1');
foreach my $command ('DROP DATABASE three', 'CREATE DATABASE four TEMPLATE three')
{
	like($node->sql_error($command), qr/is being accessed by other users/, "$command, while somebody is in it");
	unharmed('three', "$command failed");
}
$guest->quit;

# A template database's views run, also after a restart; whoever may create databases may copy it.
$node->sql('ALTER DATABASE three IS_TEMPLATE true; CREATE ROLE maker CREATEDB LOGIN');
# (More than one: a worker and the coordinator that would tell of its end are ended at about the same time.)
$node->restart foreach 1 .. 5;
unharmed('three', 'a template, after restarts');
$node->sql('SET ROLE maker; CREATE DATABASE five TEMPLATE three');
unharmed('three', 'copied by somebody else');
$node->sql('ALTER DATABASE three IS_TEMPLATE false');
like($node->sql_error('SET ROLE maker; CREATE DATABASE six TEMPLATE three'), qr/permission denied to copy database/, 'no template, no copy');
like($node->sql_error('SET ROLE maker; DROP DATABASE three'), qr/must be owner/, 'nor does somebody else drop it');
unharmed('three', 'what is not allowed');

# Our tables are rebuilt and vacuumed while the views commit.
in_load('three', sub {
	foreach my $command (
		(map {; "VACUUM FULL stream_engine.$_", "CLUSTER stream_engine.$_ USING ${_}_pkey", "REINDEX TABLE CONCURRENTLY stream_engine.$_", "ANALYZE stream_engine.$_" }
			qw(job_catalog job_positions state_chunks job_errors stream_layouts)),
		'REINDEX DATABASE three', 'REINDEX SYSTEM three', 'REINDEX SCHEMA stream_engine', 'REINDEX SCHEMA CONCURRENTLY stream_engine',
		'VACUUM FULL', 'VACUUM (FREEZE, ANALYZE)', 'VACUUM FULL g', 'CLUSTER g USING g_key', 'REINDEX TABLE g', 'REINDEX TABLE CONCURRENTLY g',
		'VACUUM FULL once', 'ANALYZE g', 'ALTER TABLE stream_engine.state_chunks SET TABLESPACE elsewhere')
	{
		my ($status, $out, $err) = $node->psql('three', $command);
		is($status, 0, "$command beside running views") or diag($err);
	}
});
unharmed('three', 'maintenance');
# The rebuilt state is what a successor begins with.
$node->restart;
unharmed('three', 'after maintenance and a restart');

# ALTER EXTENSION … UPDATE, to a version that exists in this test only.
my $share = `pg_config --sharedir`;
chomp $share;
unlink glob "$share/extension/stream_engine--1.0*test*.sql";
append_to_file("$share/extension/stream_engine--1.0--1.0test.sql", q{
	ALTER TABLE stream_engine.job_errors ALTER message SET STORAGE EXTERNAL;
	ALTER TABLE stream_engine.state_chunks ADD CONSTRAINT test CHECK (seq > 0);
	ALTER TABLE stream_engine.job_positions SET (fillfactor = 40);
	LOCK TABLE stream_engine.stream_layouts, stream_engine.job_positions, stream_engine.job_catalog IN ACCESS EXCLUSIVE MODE;
	CREATE OR REPLACE FUNCTION stream_engine.stop(view regclass) RETURNS void LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'stream_engine_stop';
	CREATE FUNCTION stream_engine.new_in_this_version() RETURNS int LANGUAGE sql AS 'SELECT 42';
});
append_to_file("$share/extension/stream_engine--1.0test--1.0bad.sql", q{
	DROP FUNCTION stream_engine.new_in_this_version();
	SELECT 1 / 0;
});
in_load('three', sub {
	my ($status, $out, $err) = $node->psql('three', q{ALTER EXTENSION stream_engine UPDATE TO '1.0test'});
	is($status, 0, 'ALTER EXTENSION UPDATE beside running views') or diag($err);
	is($node->sql('SELECT stream_engine.new_in_this_version()', 'three'), '42', 'it has the new version');
	like($node->sql_error(q{ALTER EXTENSION stream_engine UPDATE TO '1.0bad'}, 'three'), qr/division by zero/, 'an update that fails');
	is($node->sql(q{SELECT extversion FROM pg_extension WHERE extname = 'stream_engine'}, 'three'), '1.0test', 'changes nothing');
	like($node->sql_error('DROP EXTENSION stream_engine', 'three'), qr/other objects depend on it/, 'DROP EXTENSION of one in use');
	$node->sql('BEGIN; DROP EXTENSION stream_engine CASCADE; ROLLBACK', 'three');
});
unharmed('three', 'updates of the extension');
$node->restart;
unharmed('three', 'the new version after a restart');

# Dropped: the extension under load, then made anew; the database with everybody in it.
in_load('three', sub {
	my ($status, $out, $err) = $node->psql('three', 'DROP EXTENSION stream_engine CASCADE');
	is($status, 0, 'DROP EXTENSION CASCADE beside running views') or diag($err);
});
my $oid = $node->sql(q{SELECT oid FROM pg_database WHERE datname = 'three'});
$node->wait_until("SELECT count(*) = 0 FROM pg_replication_slots WHERE slot_name = 'stream_engine_$oid'", 'the slot goes');
$node->wait_until(q{SELECT count(*) = 0 FROM pg_stat_activity WHERE datname = 'three'}, 'nobody of ours stays');
$node->sql('DROP TABLE twin', 'three');
$node->install('three');
$node->sql(q{CREATE FOREIGN TABLE s (k int, n int) SERVER stream_engine;
	CREATE TABLE twin (k int, n int);
	CREATE MATERIALIZED VIEW g WITH (stream_engine.continuous) AS SELECT k, count(*) AS c, sum(n) AS n FROM s GROUP BY k;
	CREATE MATERIALIZED VIEW once WITH (stream_engine.continuous, stream_engine.restart = none) AS SELECT k, n FROM s WHERE n % 2 = 0;}, 'three');
unharmed('three', 'made anew');
in_load('three', sub { $node->sql('DROP DATABASE three WITH (FORCE)') });
is($node->sql("SELECT count(*) FROM pg_replication_slots WHERE slot_name = 'stream_engine_$oid'"), '0', 'a dropped database leaves no slot');
$node->sql("DROP DATABASE $_") foreach map({ "copy$_" } 1 .. 4), 'five';
$node->wait_until(q{SELECT count(*) = 0 FROM pg_stat_activity WHERE backend_type IN ('stream_engine task', 'stream_engine coordinator')},
	'our workers have gone with the databases');
is($node->sql(q{SELECT count(*) FROM pg_replication_slots}), '0', 'and all slots');

# What an interrupted DROP DATABASE leaves: nobody can connect to it, and we do not try.
$node->sql('CREATE DATABASE broken');
$node->install('broken');
$node->sql('CREATE FOREIGN TABLE s (k int) SERVER stream_engine', 'broken');
$node->sql('CREATE DATABASE whole TEMPLATE broken');
$node->sql(q{UPDATE pg_database SET datconnlimit = -2 WHERE datname = 'broken'});
$node->restart;
$node->wait_until(q{SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_type = 'stream_engine coordinator' AND datname = 'whole'},
	'a coordinator for the whole database');
$node->sql(q{CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous) AS SELECT k FROM s}, 'whole');
$node->sql('REFRESH MATERIALIZED VIEW v', 'whole');
unlike(slurp_file($node->logfile), qr/cannot connect to invalid database/, 'and none for the broken one');
$node->sql("DROP DATABASE $_") foreach qw(broken whole);

unlink glob "$share/extension/stream_engine--1.0*test*.sql";
$node->stop;
done_testing();
