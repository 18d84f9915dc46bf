# test/t/056_pooler.pl: through pgbouncer, clients that share server connections by transaction or by session lose and mix nothing.
use strict;
use warnings;
use IPC::Run;
use PostgreSQL::Test::Utils;
use StreamEngine;
use Test::More;
use Time::HiRes qw(usleep time);
use Wire;

my ($pgbouncer) = grep { defined && -x } $ENV{SE_PGBOUNCER}, '/usr/sbin/pgbouncer', '/usr/bin/pgbouncer';
plan skip_all => 'there is no pgbouncer' unless $pgbouncer;
(my $libraries = $pgbouncer) =~ s{/usr/s?bin/pgbouncer$}{/usr/lib};
local $ENV{LD_LIBRARY_PATH} = join(':', glob("$libraries/*-linux-gnu"), $ENV{LD_LIBRARY_PATH} // ());

my $node = StreamEngine->new('pooler');
my $port = 6432;

# A pooler of so many server connections; clients connect at the directory it returns.
sub start_pooler
{
	my ($mode, $size) = @_;
	my $dir = PostgreSQL::Test::Utils::tempdir_short();
	my ($host, $server_port) = ($node->host, $node->port);

	append_to_file("$dir/ini", <<"END");
[databases]
postgres = host=$host port=$server_port user=postgres
[pgbouncer]
listen_addr =
listen_port = $port
unix_socket_dir = $dir
auth_type = any
pool_mode = $mode
default_pool_size = $size
server_reset_query = DISCARD ALL
END
	my $process = IPC::Run::start([ $pgbouncer, "$dir/ini" ], '>', "$dir/log", '2>&1');
	my $end = time + $StreamEngine::timeout;
	my $pooler = { process => $process, dir => $dir };
	until (eval { client($pooler)->close; 1 })
	{
		die "no pooler: $@" . slurp_file("$dir/log") if time > $end;
		usleep(20_000);
	}
	return $pooler;
}

sub client
{
	my ($pooler) = @_;
	return Wire->new($node, host => $pooler->{dir}, port => $port);
}

sub runs
{
	my ($client, $sql, $params, $expected, $what) = @_;
	is(Wire::outcome($client->run($sql, $params)), $expected, $what // $sql);
	return;
}

# As runs, but counted as one check with others.
sub must
{
	my ($client, $sql, $params) = @_;
	my $result = $client->run($sql, $params);
	die "$sql: " . Wire::outcome($result) if $result->{error};
	return $result;
}

# ---- By transaction: four clients on two server connections.

my $pooler = start_pooler('transaction', 2);
my @clients = map { client($pooler) } 1 .. 4;

$node->twin('s');
my $by_key = 'SELECT k, count(*) AS n, sum(v) AS total, max(note) AS last FROM s GROUP BY k';
runs($clients[0], "CREATE MATERIALIZED VIEW by_key WITH (stream_engine.continuous) AS $by_key", [], 'CREATE MATERIALIZED VIEW', 'a view is made');

# Two transactions are open at any time, of changing clients, and end in either order; some are rolled back.
my $n = 0;
my %servers;
foreach my $turn (1 .. 60)
{
	my @pair = ($clients[ $turn % 4 ], $clients[ ($turn + 1) % 4 ]);
	must($_, 'BEGIN') foreach @pair;
	$servers{ must($_, 'SELECT pg_backend_pid()')->{rows}[0][0] } = 1 foreach @pair;
	foreach my $client (@pair, reverse @pair)
	{
		my @row = ($turn % 4, ++$n, $n % 7, $n * 3 % 100, "note $n");
		must($client, 'SAVEPOINT a') if $turn % 3 == 0;
		must($client, "INSERT INTO $_ (client, n, k, v, ts, note) VALUES (\$1, \$2, \$3, \$4, '2024-01-01', \$5)", \@row) foreach qw(s s_twin);
		must($client, $n % 2 ? 'ROLLBACK TO a' : 'RELEASE a') if $turn % 3 == 0;
	}
	@pair = reverse @pair if $turn % 2;
	must($pair[0], $turn % 5 == 0 ? 'ROLLBACK' : 'COMMIT');
	must($pair[0], 'REFRESH MATERIALIZED VIEW by_key') if $turn % 10 == 1;
	must($pair[1], 'COMMIT');
}
is(scalar keys %servers, 2, 'clients shared two server connections');
runs($clients[3], 'REFRESH MATERIALIZED VIEW by_key', [], 'REFRESH MATERIALIZED VIEW', 'REFRESH by a client that made nothing');
(my $batch = $by_key) =~ s/FROM s /FROM s_twin /;
$node->equals_oracle('by_key', $batch, 'by transaction');

# A CREATE waits for the open writer of another client and keeps its server connection meanwhile.
must($clients[0], 'BEGIN');
must($clients[0], q{INSERT INTO s VALUES (9, 9, 100, 1, '2024-01-01', '')});
$clients[1]->put_run("CREATE MATERIALIZED VIEW late WITH (stream_engine.continuous) AS SELECT k, v FROM s WHERE k >= 100");
$clients[1]->send;
$node->wait_until(q{SELECT count(*) = 1 FROM pg_stat_activity WHERE query LIKE 'CREATE MATERIALIZED VIEW late%' AND state = 'active' AND wait_event IS NOT NULL},
	'CREATE waits');
must($clients[0], q{INSERT INTO s VALUES (9, 9, 101, 1, '2024-01-01', '')});
must($clients[0], 'COMMIT');
is(Wire::outcome(($clients[1]->answers)[2]), 'CREATE MATERIALIZED VIEW', 'CREATE goes on when the writer of another client has committed');
must($clients[2], q{INSERT INTO s VALUES (9, 9, 102, 1, '2024-01-01', '')});
must($clients[0], 'REFRESH MATERIALIZED VIEW late');
runs($clients[1], 'SELECT * FROM late', [], '102|1', 'the view begins where it was made');

# A client that goes away in the middle leaves nothing.
must($clients[0], 'BEGIN');
must($clients[0], q{INSERT INTO s VALUES (9, 9, 103, 1, '2024-01-01', '')});
$clients[0]->abandon;
runs($clients[$_], 'REFRESH MATERIALIZED VIEW late', [], 'REFRESH MATERIALIZED VIEW', "REFRESH after a client went away, $_") foreach 1 .. 3;
runs($clients[1], 'SELECT * FROM late', [], '102|1', '… shows nothing of its transaction');
runs($clients[2], 'DROP MATERIALIZED VIEW late', [], 'DROP MATERIALIZED VIEW', 'DROP by another client');
$_->close foreach @clients[ 1 .. 3 ];
$pooler->{process}->kill_kill;

# ---- By session: one client after the other, with DISCARD ALL between them.

$pooler = start_pooler('session', 1);
my $server;
foreach my $turn (1 .. 3)
{
	my $client = client($pooler);
	my $pid = must($client, 'SELECT pg_backend_pid()')->{rows}[0][0];
	$server //= $pid;
	is($pid, $server, "$turn: the same server connection");
	$client->prepare('put', q{INSERT INTO s VALUES ($1, 1, 200, 1, '2024-01-01', '')});
	$client->execute('put', [$turn]) foreach 1 .. 2;
	must($client, $_) foreach 'BEGIN', 'DECLARE held CURSOR WITH HOLD FOR SELECT client, n FROM s', 'COMMIT', 'FETCH 1 FROM held',
	  'SET timezone = \'Asia/Tokyo\'', 'CREATE TEMP TABLE t AS SELECT * FROM s';
	must($client, "CREATE MATERIALIZED VIEW v$turn WITH (stream_engine.continuous, stream_engine.start = 'earliest') AS SELECT client, k FROM s WHERE k = 200");
	must($client, "REFRESH MATERIALIZED VIEW v$turn");
	runs($client, "SELECT count(*) FROM v$turn", [], 2 * $turn, "$turn: a view in a session that others had");
	$client->close;
}
$pooler->{process}->kill_kill;

$node->sql('DROP FOREIGN TABLE s CASCADE');
is($node->sql('SELECT count(*) FROM stream_engine.jobs'), '0', 'nothing is left');
$node->stop;
done_testing();
