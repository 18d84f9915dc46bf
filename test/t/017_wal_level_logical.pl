# test/t/017_wal_level_logical.pl: wal_level replica and logical, changed there and back, beside foreign logical slots, a decoder and a
# subscription: views are exact, decoders see tables and no stream rows, and neither's slot keeps the other's WAL.
use strict;
use warnings;
use lib "$ENV{SE_TREE}/test/lib";
use StreamEngine;
use PostgreSQL::Test::Utils;
use Test::More;

my $conf = "max_wal_senders = 4\nwal_keep_size = 0\n";
my $node = StreamEngine->new('publisher', conf => $conf);
$node->twin('s', watermark => 'ts');
$node->sql(q{CREATE MATERIALIZED VIEW plain WITH (stream_engine.continuous) AS SELECT client, n, v FROM s;
	CREATE MATERIALIZED VIEW sums WITH (stream_engine.continuous) AS SELECT k, count(*) AS c, sum(v) AS v FROM s GROUP BY k});
my %query = (
	plain => 'SELECT client, n, v FROM s_twin',
	sums => 'SELECT k, count(*), sum(v) FROM s_twin GROUP BY k');

sub same
{
	my ($what) = @_;
	$node->refresh(sort keys %query);
	$node->equals_oracle($_, $query{$_}, $what) foreach sort keys %query;
	return;
}

my $load = $node->start_load('s', clients => 2, transactions => 50);
$node->finish_load($load);
same('wal_level = replica');

# What was written at one level is read at the other.
$node->sql(q{SELECT stream_engine.stop('sums')});
$node->sql(q{SELECT stream_engine.wait_state('sums', 'stopped', '60s')});
$node->write_twin('s', q{SELECT 99, g, g % 20, g, '2024-01-02'::timestamptz, 'replica' FROM generate_series(1, 1000) g});
$node->append_conf('postgresql.conf', "wal_level = logical\n");
$node->restart;
$node->sql(q{SELECT stream_engine.start('sums')});
same('read at wal_level = logical');

# Changes of a kind ('I' an INSERT, 'M' a message) that a decoder sees, of one relation or of any.
sub decoded
{
	my ($kind, $relation) = @_;
	my $where = defined $relation ? qq{AND substring(data FROM 2 FOR 4) = decode(lpad(to_hex('$relation'::regclass::oid::bigint), 8, '0'), 'hex')} : '';
	return $node->sql(qq{SELECT count(*) FROM pg_logical_slot_peek_binary_changes('decoder', NULL, NULL,
		'proto_version', '1', 'publication_names', 'p', 'messages', 'true') WHERE get_byte(data, 0) = ascii('$kind') $where});
}

# A decoder and a subscription look on.
my $subscriber = StreamEngine->new('subscriber', conf => $conf);
$node->sql(q{CREATE TABLE plain_table (id int PRIMARY KEY);
	CREATE PUBLICATION p FOR TABLE plain_table, sums, plain});
$node->sql(q{SELECT pg_create_logical_replication_slot('decoder', 'pgoutput')});
$subscriber->sql(q{CREATE TABLE plain_table (id int PRIMARY KEY);
	CREATE TABLE plain (client int, n bigint, v bigint);
	CREATE TABLE sums (k int, c bigint, v numeric)});
my $connection = $node->connstr . ' dbname=postgres';
$subscriber->sql("CREATE SUBSCRIPTION sub CONNECTION '$connection' PUBLICATION p");
$load = $node->start_load('s', clients => 3, transactions => 60);
$node->sql("INSERT INTO plain_table VALUES ($_)") foreach 1 .. 50;
$node->finish_load($load);
same('beside decoders');
$node->wait_for_catchup('sub');
is($subscriber->sql('SELECT count(*) FROM plain_table'), '50', 'an ordinary table is replicated');
is($subscriber->sql('SELECT k, c, v FROM sums ORDER BY k'), $node->sql('SELECT k, c, v FROM sums ORDER BY k'), 'a result is replicated');
is($subscriber->sql('SELECT count(*), sum(v) FROM plain'), $node->sql('SELECT count(*), sum(v) FROM plain'), 'another, too');
is(decoded('I', 'plain_table'), '50', 'a decoder sees tables');
is(decoded('M'), '0', 'and no stream rows');

# A decoder that stands still holds its own WAL; ours moves.
my $before = $node->sql(q{SELECT restart_lsn FROM pg_replication_slots WHERE slot_name ~ '^stream_engine_'});
for (1 .. 2)
{
	$node->write_twin('s', q{SELECT 98, g, g % 20, g, '2024-01-03'::timestamptz, 'more' FROM generate_series(1, 1000) g});
	$node->sql('SELECT pg_switch_wal()');
}
same('more');
$node->wait_until(qq{SELECT restart_lsn > '$before' FROM pg_replication_slots WHERE slot_name ~ '^stream_engine_'}, 'our slot moves past a decoder that stands still');

# And a crash under both.
$load = $node->start_load('s', clients => 3, transactions => 100);
$node->wait_until(q{SELECT count(*) > 6000 FROM s_twin}, 'load');
$node->kill9_postmaster;
$node->start;
$node->finish_load($load, qr/terminating|closed|server/);
same('after a crash');
$node->sql(q{SELECT pg_logical_emit_message(true, 'theirs', 'x')});
is(decoded('M'), '1', 'of messages only those of others; no stream rows');

# Back again.
$subscriber->sql('DROP SUBSCRIPTION sub');
$node->sql(q{SELECT pg_drop_replication_slot('decoder')});
$node->append_conf('postgresql.conf', "wal_level = replica\n");
$node->restart;
$node->write_twin('s', q{SELECT 97, g, g % 20, g, '2024-01-04'::timestamptz, 'back' FROM generate_series(1, 1000) g});
same('back at wal_level = replica');

# wal_level = minimal with a slot is refused by PostgreSQL itself at the start, and says what to do.
$node->stop;
$node->append_conf('postgresql.conf', "wal_level = minimal\nmax_wal_senders = 0\n");
is($node->start(fail_ok => 1), 0, 'wal_level = minimal with views: the server does not start');
like(slurp_file($node->logfile), qr/physical replication slot "stream_engine_\d+" exists, but "?wal_level"? < "?replica"?/, 'and says why');
$node->append_conf('postgresql.conf', "wal_level = replica\n");
$node->start;
same('the level put right');
$node->stop;
$subscriber->stop;
done_testing();
