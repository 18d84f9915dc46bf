# test/t/015_standby_synchronous.pl: with a synchronous standby a failover loses nothing that was acknowledged: neither rows nor their
# place in the views. While the standby is away, rows that are not acknowledged are in no view.
use strict;
use warnings;
use lib "$ENV{SE_TREE}/test/lib";
use IPC::Run;
use StreamEngine;
use PostgreSQL::Test::Utils;
use Test::More;

my $primary = StreamEngine->new('primary', conf => q{
max_wal_senders = 4
hot_standby = on
stream_engine.checkpoint_interval = '20ms'
});
$primary->sql(q{
	CREATE FOREIGN TABLE s (client int, n int) SERVER stream_engine;
	CREATE TABLE twin (client int, n int);
	CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous) AS SELECT client, n FROM s;
	CREATE MATERIALIZED VIEW w WITH (stream_engine.continuous) AS SELECT client, count(*) AS c, max(n) AS m FROM s GROUP BY client});
$primary->backup('base');

# One client: a row at a time, acknowledged by its number; it ends with its connection.
sub start_client
{
	my ($node, $client, $rows) = @_;
	my $script = join('', map { "BEGIN; INSERT INTO twin VALUES ($client, $_); INSERT INTO s VALUES ($client, $_); COMMIT;\n\\echo $_\n" } 1 .. $rows);
	my $file = "$PostgreSQL::Test::Utils::tmp_check/client_${client}.sql";
	PostgreSQL::Test::Utils::append_to_file($file, $script);
	my ($out, $err) = ('', '');
	return { client => $client, out => \$out,
		handle => IPC::Run::start([ 'psql', '-XqAt', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('postgres'), '-f', $file ], '>', \$out, '2>', \$err) };
}

my $server = $primary;
my $n = 0;
foreach my $level (qw(on remote_apply))
{
	my $name = "standby_$level";
	my $standby = PostgreSQL::Test::Cluster->new($name);
	$standby->init_from_backup($server, 'base', has_streaming => 1);
	$standby->append_conf('postgresql.conf', "synchronous_standby_names = ''\n");
	$standby->start;
	bless $standby, 'StreamEngine';
	$server->append_conf('postgresql.conf', "synchronous_standby_names = '$name'\nsynchronous_commit = $level\n");
	$server->sql('SELECT pg_reload_conf()');
	$server->wait_until(qq{SELECT sync_state = 'sync' FROM pg_stat_replication WHERE application_name = '$name'}, 'a synchronous standby');

	my @clients = map { start_client($server, ++$n, 100_000) } 1 .. 3;
	my $begun = join(', ', map { $_->{client} } @clients);
	$server->wait_until("SELECT count(*) = 3 FROM w WHERE client IN ($begun) AND m > 100 AND EXISTS (SELECT FROM v WHERE v.client = w.client AND n > 100)", 'load of each client that is in the views');
	$server->kill9_postmaster;
	my %acknowledged;
	foreach my $client (@clients)
	{
		$client->{handle}->finish;
		my @numbers = ${ $client->{out} } =~ /(\d+)/g;
		$acknowledged{ $client->{client} } = $numbers[-1] // 0;
	}
	$standby->promote;
	$standby->refresh('v', 'w');
	foreach my $client (sort { $a <=> $b } keys %acknowledged)
	{
		cmp_ok($acknowledged{$client}, '>', 0, "$level: client $client had acknowledgements");
		cmp_ok($standby->sql("SELECT count(*) FROM v WHERE client = $client"), '>=', $acknowledged{$client}, "$level: no acknowledged row of client $client is lost");
	}
	$standby->equals_oracle('v', 'SELECT client, n FROM twin', "$level: after the promotion");
	$standby->equals_oracle('w', 'SELECT client, count(*), max(n) FROM twin GROUP BY client', "$level: after the promotion");
	$server = $standby;
	$server->backup('base');
}

# The standby is away: a row that is not acknowledged is neither visible nor in a view, though its commit is in the WAL.
$server->append_conf('postgresql.conf', "synchronous_standby_names = 'nobody'\nsynchronous_commit = on\n");
$server->sql('SELECT pg_reload_conf()');
$server->wait_until(q{SELECT current_setting('synchronous_standby_names') = 'nobody'}, 'the setting');
my $before = $server->sql('SELECT pg_current_wal_insert_lsn()');
my ($out, $err) = ('', '');
my $writer = IPC::Run::start([ 'psql', '-XqAt', '-d', $server->connstr('postgres'), '-c', 'INSERT INTO s VALUES (0, 1)' ], '>', \$out, '2>', \$err);
$server->wait_until(q{SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event = 'SyncRep'}, 'the writer waits for the standby');
# A view that is made to look at the log again does not take it.
$server->sql(q{SET synchronous_commit = local; INSERT INTO s VALUES (0, 2)});
$server->wait_until(qq{SELECT read_lsn > '$before' FROM stream_engine.sources WHERE view = 'v'::regclass}, 'the view has read the commit');
is($server->sql('SELECT count(*) FROM v WHERE client = 0'), '0', 'no row of an unacknowledged commit, nor what is behind it, is in the view');
$server->append_conf('postgresql.conf', "synchronous_standby_names = ''\n");
$server->sql('SELECT pg_reload_conf()');
$writer->finish;
$server->refresh('v');
is($server->sql('SELECT count(*) FROM v WHERE client = 0'), '2', 'acknowledged, both are');
$server->stop;
done_testing();
