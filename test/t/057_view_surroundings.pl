# test/t/057_view_surroundings.pl: what happens around a running view: NOTIFY from its triggers, collations and server
# settings that change, DROP of what it reads while its worker starts.
use strict;
use warnings;
use lib "$ENV{SE_TREE}/test/lib";
use StreamEngine;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = StreamEngine->new('surroundings', conf => "deadlock_timeout = '10ms'\n");

# A trigger on the result tells who listens, with each commit of the job.
$node->sql(q{
	CREATE FOREIGN TABLE s (k int, t text) SERVER stream_engine;
	CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_notify('changed', NEW.k || ' has ' || NEW.n); RETURN NULL; END $$;
	CREATE MATERIALIZED VIEW counts WITH (stream_engine.continuous) AS SELECT k, count(*) AS n FROM s GROUP BY k;
	CREATE TRIGGER tell AFTER INSERT OR UPDATE ON counts FOR EACH ROW EXECUTE FUNCTION tell()});
my $heard = $node->sql(q{LISTEN changed; INSERT INTO s VALUES (1), (1), (2); REFRESH MATERIALIZED VIEW counts; SELECT 'refreshed'; SELECT 'end'});
like($heard, qr/notification "changed" with payload "1 has 2"/, 'the new group is told of');
like($heard, qr/notification "changed" with payload "2 has 1"/, 'and the other one');
$heard = $node->sql(q{LISTEN changed; INSERT INTO s VALUES (2); REFRESH MATERIALIZED VIEW counts; SELECT 'refreshed'; SELECT 'end'});
like($heard, qr/payload "2 has 2"/, 'an updated group is told of');
unlike($heard, qr/payload "1 has/, 'one that is as before is not');

# A changed option is the running job's from its next commit on: what waited for an hour is there without being asked for.
$node->sql(q{CREATE MATERIALIZED VIEW patient WITH (stream_engine.continuous, stream_engine.checkpoint_interval = '1h') AS SELECT k FROM s});
$node->sql(q{INSERT INTO s VALUES (4)});
$node->refresh('counts');
is($node->sql('SELECT count(*) FROM patient'), '0', 'a row waits for its commit');
$node->sql(q{ALTER MATERIALIZED VIEW patient SET (stream_engine.checkpoint_interval = '1ms')});
ok($node->wait_until('SELECT count(*) = 1 FROM patient'), 'it is committed when the interval is changed');
$node->sql(q{INSERT INTO s VALUES (4)});
ok($node->wait_until('SELECT count(*) = 2 FROM patient'), 'and the next one by the new interval');
$node->sql(q{ALTER MATERIALIZED VIEW patient SET (stream_engine.restart = none)});
$node->refresh('patient');
$node->sql(q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'stream_engine task public.patient'});
$node->sql(q{SELECT stream_engine.wait_state('patient', 'failed', '60s')});
$node->sql(q{ALTER MATERIALIZED VIEW patient RESET (stream_engine.restart); SELECT stream_engine.start('patient')});
$node->refresh('patient');
pass('restart = none holds for the job that ran when it was set');
$node->sql('DROP MATERIALIZED VIEW patient');

# Another version of a collation: PostgreSQL says so in the server's log when the worker uses it; the view goes on.
SKIP:
{
	skip 'no ICU', 3 if $node->sql(q{SELECT count(*) FROM pg_collation WHERE collprovider = 'i'}) eq '0';
	$node->sql(q{
		CREATE COLLATION letters (PROVIDER = icu, LOCALE = 'en');
		CREATE MATERIALIZED VIEW texts WITH (stream_engine.continuous) AS
			SELECT t COLLATE letters AS t, count(*) FROM s WHERE t COLLATE letters > 'a' GROUP BY 1;
		INSERT INTO s VALUES (3, 'b'), (3, 'A')});
	$node->refresh('texts');
	$node->sql(q{SELECT stream_engine.stop('texts')});
	$node->sql(q{SELECT stream_engine.wait_state('texts', 'stopped', '60s')});
	$node->sql(q{UPDATE pg_collation SET collversion = '0' WHERE collname = 'letters'});
	$node->sql(q{INSERT INTO s VALUES (3, 'b'); SELECT stream_engine.start('texts')});
	$node->refresh('texts');
	like(slurp_file($node->logfile), qr/collation "letters" has version mismatch/,
		'another version of the collation is in the log');
	is($node->sql('SELECT t, count FROM texts ORDER BY t'), "A|1\nb|2", 'the view goes on');
	$node->sql('REINDEX TABLE texts; ALTER COLLATION letters REFRESH VERSION; INSERT INTO s VALUES (3, \'b\')');
	$node->refresh('texts');
	is($node->sql(q{SELECT count FROM texts WHERE t = 'b'}), '3', 'and after REINDEX and REFRESH VERSION');
}

# DROP … CASCADE of a plain view, and of the stream below, while workers that read them start: nobody is a deadlock's victim.
my $errors = 0;
foreach my $round (1 .. 10)
{
	$node->sql(q{
		CREATE FOREIGN TABLE below (k int) SERVER stream_engine;
		CREATE VIEW inner_view AS SELECT k FROM below;
		CREATE VIEW outer_view AS SELECT k FROM inner_view;
		CREATE MATERIALIZED VIEW one WITH (stream_engine.continuous) AS SELECT k FROM outer_view;
		CREATE MATERIALIZED VIEW two WITH (stream_engine.continuous) AS SELECT k, count(*) FROM inner_view GROUP BY k});
	my $drop = ('VIEW inner_view', 'VIEW outer_view', 'FOREIGN TABLE below')[ $round % 3 ];
	my ($status, $out, $err) = $node->psql('postgres', "DROP $drop CASCADE");
	$errors++ if $status != 0;
	$node->sql('DROP FOREIGN TABLE IF EXISTS below CASCADE');
}
foreach my $round (1 .. 10)
{
	$node->sql(q{
		CREATE SCHEMA app;
		SET search_path = app, public;
		CREATE FOREIGN TABLE below (k int) SERVER stream_engine;
		CREATE VIEW plain AS SELECT k FROM below;
		CREATE MATERIALIZED VIEW one WITH (stream_engine.continuous) AS SELECT k FROM plain;
		CREATE MATERIALIZED VIEW two WITH (stream_engine.continuous) AS SELECT k, count(*) FROM below GROUP BY k;
		INSERT INTO below VALUES (1)});
	my ($status, $out, $err) = $node->psql('postgres', $round % 2 ? 'DROP SCHEMA app' : 'DROP SCHEMA app CASCADE');
	$errors++ if $err =~ /deadlock/;
	$node->sql('DROP SCHEMA IF EXISTS app CASCADE');
}
is($errors, 0, 'DROP goes through while workers start');
unlike(slurp_file($node->logfile), qr/deadlock detected/, 'and no worker met a deadlock');
$node->sql(q{INSERT INTO s VALUES (1)});
$node->refresh('counts');
is($node->sql('SELECT n FROM counts WHERE k = 1'), '3', 'the other views have gone on');

# The same lock by lock: a worker that waits for one relation that it reads holds no other one.
foreach my $order ([ 'plain', 'below' ], [ 'below', 'plain' ])
{
	my ($first, $then) = @$order;
	my %alter = (plain => 'ALTER VIEW plain SET (security_barrier)', below => 'ALTER FOREIGN TABLE below ADD COLUMN x int');
	$node->sql(q{
		CREATE FOREIGN TABLE below (k int) SERVER stream_engine;
		CREATE VIEW plain AS SELECT k FROM below;
		CREATE MATERIALIZED VIEW one WITH (stream_engine.continuous) AS SELECT k FROM plain WITH NO DATA});
	my $session = $node->background_psql('postgres', on_error_stop => 0);
	$session->query_safe("BEGIN; $alter{$first}");
	$node->sql(q{SELECT stream_engine.start('one')});
	ok($node->wait_until("SELECT count(*) = 1 FROM pg_locks WHERE NOT granted AND relation = '$first'::regclass"), "the worker waits for $first");
	$session->query($alter{$then});
	$session->query('COMMIT');
	is($session->{stderr}, '', "and $then is free");
	$session->quit;
	$node->sql(q{INSERT INTO below VALUES (1)});
	$node->refresh('one');
	is($node->sql('TABLE one'), '1', 'then it runs');
	$node->sql('DROP FOREIGN TABLE below CASCADE');
}
unlike(slurp_file($node->logfile), qr/deadlock detected/, 'without a deadlock');

# A function that is replaced while the worker of its view is between planning and work.
$node->sql(q{
	CREATE FUNCTION label(int) RETURNS text LANGUAGE sql IMMUTABLE AS 'SELECT ''old ''||$1';
	CREATE MATERIALIZED VIEW labels WITH (stream_engine.continuous) AS SELECT label(k) AS label FROM s WITH NO DATA});
$node->fault_set('worker-restored', 'wait');
$node->sql(q{SELECT stream_engine.start('labels')});
$node->wait_fault('worker-restored');
$node->sql(q{CREATE OR REPLACE FUNCTION label(int) RETURNS text LANGUAGE sql IMMUTABLE AS 'SELECT ''new ''||$1'});
$node->fault_clear('worker-restored');
$node->sql(q{INSERT INTO s VALUES (6)});
$node->refresh('labels');
is($node->sql('TABLE labels'), 'new 6', 'the new function is used');
$node->sql('DROP MATERIALIZED VIEW labels');

# Server settings that a view keeps from its creation are its own, whatever the server, database or role has later.
$node->sql(q{
	CREATE MATERIALIZED VIEW shown WITH (stream_engine.continuous) AS SELECT k, timestamptz '2024-07-01 12:00+00' AS at, (timestamptz '2024-07-01 12:00+00')::text AS text FROM s;
	INSERT INTO s VALUES (7)});
$node->refresh('shown');
$node->sql(q{ALTER DATABASE postgres SET timezone = 'Asia/Tokyo'; ALTER ROLE CURRENT_USER SET datestyle = 'German'});
$node->append_conf('postgresql.conf', "timezone = 'America/New_York'\n");
$node->restart;
$node->sql(q{INSERT INTO s VALUES (8)});
$node->refresh('shown');
is($node->sql('SELECT count(DISTINCT text) FROM shown'), '1', 'the same text before and after');

$node->stop;
done_testing();
