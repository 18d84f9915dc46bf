# test/t/014_standby_failover.pl: continuous views over a failover: the standby keeps the WAL they need, results can be read there,
# and after kill -9 of the primary under load and a promotion every view equals its query over what the standby has. The old
# primary follows the new one after pg_rewind.
use strict;
use warnings;
use lib "$ENV{SE_TREE}/test/lib";
use StreamEngine;
use PostgreSQL::Test::Utils;
use Test::More;

my $conf = q{
max_wal_senders = 4
hot_standby = on
wal_keep_size = 0
min_wal_size = '32MB'
max_wal_size = '64MB'
wal_log_hints = on
stream_engine.checkpoint_interval = '20ms'
};
my $primary = StreamEngine->new('primary', conf => $conf);
$primary->twin('s', watermark => 'ts');
$primary->sql(q{
	CREATE MATERIALIZED VIEW plain WITH (stream_engine.continuous) AS SELECT client, n, v FROM s;
	CREATE MATERIALIZED VIEW sums WITH (stream_engine.continuous) AS SELECT k, count(*) AS c, sum(v) AS v FROM s GROUP BY k;
	CREATE MATERIALIZED VIEW stopped WITH (stream_engine.continuous) AS SELECT client, n FROM s;
	CREATE TABLE other (t text)});
my %query = (
	plain => 'SELECT client, n, v FROM s_twin',
	sums => 'SELECT k, count(*), sum(v) FROM s_twin GROUP BY k',
	stopped => 'SELECT client, n FROM s_twin');

sub standby_of
{
	my ($name, $from) = @_;
	my $standby = PostgreSQL::Test::Cluster->new($name);
	$standby->init_from_backup($from, 'base', has_streaming => 1);
	$standby->start;
	return bless $standby, 'StreamEngine';
}

# Some segments of WAL that are none of our business.
sub fill_wal
{
	my ($node, $segments) = @_;
	$node->sql(q{INSERT INTO other SELECT repeat('x', 1000) FROM generate_series(1, 1000); SELECT pg_switch_wal()}) foreach 1 .. $segments;
	return;
}

my $slot = q{SELECT restart_lsn FROM pg_replication_slots WHERE slot_name = 'stream_engine_standby'};

$primary->backup('base');
my $standby = standby_of('standby', $primary);
$standby->wait_until(qq{SELECT count(*) = 1 FROM ($slot) x}, 'the slot of the standby');

# A standby has no WAL from before its backup: it says that the views still need some.
my $log = $standby->logfile;
$standby->wait_until('SELECT ' . (slurp_file($log) =~ /is not on this standby/ ? 'true' : 'false'), 'the warning')
  while slurp_file($log) !~ /is not on this standby/;
like(slurp_file($log), qr/WAL that continuous views need after a promotion is not on this standby.*\n.*Missing in pg_wal: 000000010000000000000001/,
	'the standby says that WAL is missing');
$primary->write_twin('s', q{SELECT 9, g, g % 20, g, '2024-01-01'::timestamptz, 'first' FROM generate_series(1001, 1100) g});
$primary->refresh(sort keys %query);

# One view is stopped early; its WAL must survive the checkpoints of both servers.
$primary->sql(q{SELECT stream_engine.stop('stopped')});
$primary->sql(q{SELECT stream_engine.wait_state('stopped', 'stopped', '60s')});
$primary->write_twin('s', q{SELECT 9, g, g % 20, g, '2024-01-01'::timestamptz, 'before' FROM generate_series(1, 1000) g});
my $from = $primary->sql('SELECT pg_current_wal_lsn()');
fill_wal($primary, 8);
$primary->refresh('plain', 'sums');
$primary->sql('CHECKPOINT');
$primary->wait_for_catchup('standby', 'replay', $primary->lsn('flush'));
$standby->sql('CHECKPOINT');

# What a standby shows.
$standby->wait_until(q{SELECT sum(c) = 1100 FROM sums}, 'results arrive');
is($standby->sql('SELECT count(*), sum(n) FROM plain'), '1100|605550', 'results can be read on the standby');
is($standby->sql('SELECT count(*) FROM s'), '1100', 'and streams');
is($standby->sql(q{SELECT view, state, error FROM stream_engine.jobs ORDER BY view::text}),
	join("\n", 'plain|waiting|the server is a standby: the view goes on when it is promoted',
		'stopped|stopped|', 'sums|waiting|the server is a standby: the view goes on when it is promoted'), 'jobs says why they do not run');
is($standby->sql(q{SELECT count(*) FROM stream_engine.sources}), '3', 'sources can be read');
like($standby->sql_error('REFRESH MATERIALIZED VIEW plain'), qr/recovery/, 'REFRESH is refused');
like($standby->sql_error(q{SELECT stream_engine.wait_for('plain', '0/1', '1s')}), qr/cannot execute .* during recovery/, 'wait_for is refused');
like($standby->sql_error(q{SELECT stream_engine.wait_state('plain', 'running', '1ms')}), qr/cannot execute .* during recovery/, 'wait_state is refused');
like($standby->sql_error(q{SELECT stream_engine.stop('plain')}), qr/read-only|recovery/, 'stop is refused');
like($standby->sql_error('DROP MATERIALIZED VIEW plain'), qr/read-only|recovery/, 'DROP is refused');
like($standby->sql_error(q{INSERT INTO s VALUES (1, 1, 1, 1, now(), '')}), qr/read-only|recovery/, 'INSERT is refused');
is($standby->sql(qq{SELECT restart_lsn <= '$from' AND restart_lsn <= (SELECT min(restart_lsn) FROM stream_engine.sources) FROM ($slot) x}), 't',
	'the slot keeps the WAL of the stopped view');

# kill -9 under load, with a transaction open and one prepared.
my $load = $primary->start_load('s', clients => 3, transactions => 300);
$primary->sql(q{BEGIN;
	INSERT INTO s_twin VALUES (8, 1, 1, 1, '2024-01-01', 'across');
	INSERT INTO s VALUES (8, 1, 1, 1, '2024-01-01', 'across');
	PREPARE TRANSACTION 'across'});
$primary->wait_until(q{SELECT count(*) > 3000 FROM s_twin}, 'some load');
$primary->kill9_postmaster;
$_->{handle}->finish foreach @{ $load->{sessions} };
$standby->promote;
$standby->sql(q{COMMIT PREPARED 'across'});
foreach my $gid (split /\n/, $standby->sql('SELECT gid FROM pg_prepared_xacts'))
{
	$standby->sql("ROLLBACK PREPARED '$gid'");
}
cmp_ok($standby->sql('SELECT count(*) FROM s_twin'), '>', 1000, 'the standby has some of the load');
$standby->refresh('plain', 'sums');
$standby->equals_oracle($_, $query{$_}, 'after the promotion') foreach qw(plain sums);
$standby->sql(q{SELECT stream_engine.start('stopped')});
$standby->refresh('stopped');
$standby->equals_oracle('stopped', $query{stopped}, 'stopped long before the promotion');
$standby->wait_until(q{SELECT array_agg(slot_name::text) = ARRAY['stream_engine_' || (SELECT oid FROM pg_database WHERE datname = 'postgres')]
	FROM pg_replication_slots}, 'the coordinator has taken over');
pass('the slot of the database has replaced that of the standby');

# Life goes on, and over a crash.
$standby->write_twin('s', q{SELECT 7, g, g % 20, g, '2024-01-02'::timestamptz, 'after' FROM generate_series(1, 1000) g});
$standby->kill9_postmaster;
$standby->start;
$standby->refresh(sort keys %query);
$standby->equals_oracle($_, $query{$_}, 'after a crash of the promoted server') foreach sort keys %query;

# The old primary has rows that nobody else has; rewound, it follows.
$primary->start;
$primary->stop;
$standby->sql('CHECKPOINT');
command_ok([ 'pg_rewind', '--target-pgdata', $primary->data_dir, '--source-server', $standby->connstr('postgres') ], 'pg_rewind');
# It has brought the other server's configuration.
my $port = $primary->port;
$primary->append_conf('postgresql.conf', "port = $port\n");
$primary->enable_streaming($standby);
$primary->set_standby_mode;
$primary->start;
$standby->write_twin('s', q{SELECT 6, g, g % 20, g, '2024-01-03'::timestamptz, 'rewound' FROM generate_series(1, 1000) g});
$standby->refresh(sort keys %query);
$standby->wait_for_catchup('primary', 'replay', $standby->lsn('flush'));
$primary->equals_oracle($_, $query{$_}, 'on the rewound primary') foreach sort keys %query;
$primary->wait_until(qq{SELECT count(*) = 1 FROM ($slot) x}, 'the slot of the rewound primary');
is($primary->sql('SELECT count(*) FROM pg_replication_slots'), '1', 'the rewound primary has the slot of a standby');

# And back, in good order.
$standby->stop;
$primary->promote;
$primary->write_twin('s', q{SELECT 5, g, g % 20, g, '2024-01-04'::timestamptz, 'back' FROM generate_series(1, 1000) g});
$primary->refresh(sort keys %query);
$primary->equals_oracle($_, $query{$_}, 'after the promotion of the old primary') foreach sort keys %query;

# After a switch in good order the former primary follows as it is; its slot as a primary goes.
$standby->enable_streaming($primary);
$standby->set_standby_mode;
$standby->start;
$primary->write_twin('s', q{SELECT 4, g, g % 20, g, '2024-01-05'::timestamptz, 'switched' FROM generate_series(1, 1000) g});
$primary->refresh(sort keys %query);
$primary->wait_for_catchup('standby', 'replay', $primary->lsn('flush'));
$standby->equals_oracle($_, $query{$_}, 'on the former primary') foreach sort keys %query;
$standby->wait_until(q{SELECT array_agg(slot_name::text) = '{stream_engine_standby}' FROM pg_replication_slots}, 'the slot of the database goes');
pass('the former primary has the slot of a standby');
$standby->stop;
$primary->stop;
done_testing();
