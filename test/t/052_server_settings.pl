# test/t/052_server_settings.pl: a server that cannot keep WAL for a view says so at CREATE, and what to change.
use strict;
use warnings;
use lib "$ENV{SE_TREE}/test/lib";
use StreamEngine;
use Test::More;

my $node = StreamEngine->new('settings', conf => "max_replication_slots = 0\n");
$node->sql('CREATE FOREIGN TABLE s (id int) SERVER stream_engine');
my $create = 'CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous) AS SELECT id FROM s';

like($node->sql_error($create), qr/max_replication_slots is 0.*HINT:  Set max_replication_slots/s, 'no replication slots');

$node->append_conf('postgresql.conf', "max_replication_slots = 4\nwal_level = minimal\nmax_wal_senders = 0\n");
$node->restart;
$node->sql('INSERT INTO s VALUES (1)');
like($node->sql_error($create), qr/wal_level is minimal.*HINT:  Set wal_level = replica/s, 'wal_level = minimal');

# Nothing of the view is left, and with the settings right it is made.
$node->append_conf('postgresql.conf', "wal_level = replica\n");
$node->restart;
$node->sql($create);
$node->sql('INSERT INTO s VALUES (2)');
$node->refresh('v');
is($node->sql('SELECT id FROM v'), '2', 'with the right settings the view runs');

done_testing();
