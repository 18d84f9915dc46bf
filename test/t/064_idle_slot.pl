# test/t/064_idle_slot.pl: PostgreSQL 18 and newer give up idle replication slots; that of a stopped view's database is none.
use strict;
use warnings;
use StreamEngine;
use Test::More;

my $node = StreamEngine->new('idle');
plan skip_all => 'idle_replication_slot_timeout came with PostgreSQL 18' if $node->pg_version < 18;

$node->sql('CREATE FOREIGN TABLE s (k int) SERVER stream_engine');
$node->sql('CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous) AS SELECT k, count(*) AS n FROM s GROUP BY k');
$node->sql(q{SELECT stream_engine.stop('v'); SELECT stream_engine.wait_state('v', 'stopped'); INSERT INTO s VALUES (1)});
$node->append_conf('postgresql.conf', "idle_replication_slot_timeout = '12s'\n");
$node->reload;
$node->wait_until(q{SELECT current_setting('idle_replication_slot_timeout') = '12s'}, 'the setting');

# Nobody does anything for longer than that, and a checkpoint looks for idle slots.
my $began = $node->sql('SELECT clock_timestamp()');
$node->wait_until("SELECT clock_timestamp() > timestamptz '$began' + interval '15 seconds'", 'the time');
$node->sql('CHECKPOINT; SELECT pg_switch_wal(); CHECKPOINT');
is($node->sql('SELECT wal_status, invalidation_reason FROM pg_replication_slots'), 'reserved|', 'the slot is kept');
$node->sql(q{SELECT stream_engine.start('v')});
$node->refresh('v');
is($node->sql('SELECT * FROM v'), '1|1', 'the stopped view goes on with nothing missing');

$node->stop;
done_testing();
