# test/t/043_view_retention.pl: the slot keeps the WAL that jobs need, moves on with them, and gives up for stopped ones.
use strict;
use warnings;
use lib "$ENV{SE_TREE}/test/lib";
use StreamEngine;
use Test::More;

my $node = StreamEngine->new('retention', conf => q{
stream_engine.fallback_timeout = '1h'
wal_keep_size = 0
min_wal_size = '32MB'
max_wal_size = '64MB'
stream_engine.restart_delay_min = '10ms'
});

sub slot { return $node->sql(q{SELECT restart_lsn FROM pg_replication_slots WHERE slot_name ~ '^stream_engine_'}); }

# Some segments of WAL that are none of our business.
sub fill_wal
{
	my ($segments) = @_;
	$node->sql('CREATE TABLE IF NOT EXISTS other (t text)');
	$node->sql(q{INSERT INTO other SELECT repeat('x', 1000) FROM generate_series(1, 1000); SELECT pg_switch_wal()}) foreach 1 .. $segments;
	return;
}

$node->sql(q{
	CREATE FOREIGN TABLE s (id int) SERVER stream_engine;
	CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous) AS SELECT id FROM s});

# It follows a job that reads.
my $before = slot();
$node->sql(q{INSERT INTO s SELECT generate_series(1, 1000)});
fill_wal(2);
$node->sql(q{INSERT INTO s VALUES (1001)});
$node->refresh('v');
$node->wait_until(qq{SELECT restart_lsn > '$before' FROM pg_replication_slots}, 'the slot follows the job');
pass('the slot follows the job');

# An open writer holds it: a restart would need the writer's rows.
$node->sql(q{BEGIN; INSERT INTO s VALUES (2001); PREPARE TRANSACTION 'open'});
my $open = $node->sql('SELECT pg_current_wal_lsn()');
fill_wal(6);
$node->sql(q{INSERT INTO s VALUES (1002)});
$node->refresh('v');
$node->sql('CHECKPOINT');
$node->sql(qq{SELECT stream_engine.stop('v')});
$node->sql(q{SELECT stream_engine.wait_state('v', 'stopped', '60s')});
$node->sql(qq{SELECT stream_engine.start('v')});
$node->refresh('v');
is($node->sql(qq{SELECT restart_lsn <= '$open' FROM pg_replication_slots}), 't', 'an open writer holds the slot');
$node->kill9_postmaster;
$node->start;
$node->sql(q{COMMIT PREPARED 'open'});
$node->refresh('v');
is($node->sql(q{SELECT count(*), count(*) FILTER (WHERE id = 2001) FROM v}), '1003|1', 'after a crash its row arrives once');

# A job whose stream gets no rows does not hold the WAL for ever: its position goes along.
$before = $node->sql('SELECT pg_current_wal_lsn()');
fill_wal(6);
$node->wait_until(qq{SELECT restart_lsn > '$before' FROM pg_replication_slots}, 'the position of an idle job follows');
pass('the position of an idle job follows');

# A stopped job keeps what it needs ...
$node->sql(q{SELECT stream_engine.stop('v')});
$node->sql(q{SELECT stream_engine.wait_state('v', 'stopped', '60s')});
$node->sql(q{INSERT INTO s VALUES (3001)});
$before = slot();
fill_wal(6);
$node->sql('CHECKPOINT');
is(slot(), $before, 'a stopped job keeps its WAL');

# ... up to max_retained_wal; then its next start says what is missing.
$node->append_conf('postgresql.conf', "stream_engine.max_retained_wal = '32MB'");
$node->sql('SELECT pg_reload_conf()');
$node->sql(q{CREATE MATERIALIZED VIEW w WITH (stream_engine.continuous) AS SELECT id FROM s});
$node->wait_until(qq{SELECT restart_lsn > '$before' FROM pg_replication_slots}, 'the stopped job gave its WAL up');
fill_wal(6);
$node->sql('CHECKPOINT');
fill_wal(2);
$node->sql('CHECKPOINT');
$node->sql(q{SELECT stream_engine.start('v')});
$node->sql(q{SELECT stream_engine.wait_state('v', 'failed', '60s')});
like($node->sql(q{SELECT sqlstate, message FROM stream_engine.job_errors WHERE job = 'v'::regclass}),
	qr{^58P01\|.*[0-9A-F]+/[0-9A-F]+}, 'a job that lost WAL names the range and stops');
$node->sql(q{INSERT INTO s VALUES (4001)});
$node->refresh('w');
is($node->sql('SELECT * FROM w'), '4001', 'another view goes on');

# The slot of a dropped database goes too.
$node->sql('CREATE DATABASE two');
$node->install('two');
$node->sql(q{CREATE FOREIGN TABLE s (id int) SERVER stream_engine;
	CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous) AS SELECT id FROM s;}, 'two');
$node->wait_until(q{SELECT count(*) = 2 FROM pg_replication_slots}, 'a slot for the second database');
$node->sql('DROP DATABASE two WITH (FORCE)');
$node->wait_until(q{SELECT count(*) = 1 FROM pg_replication_slots}, 'the slot of a dropped database goes');
pass('the slot of a dropped database goes');

$node->stop;
done_testing();
