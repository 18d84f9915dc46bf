# A million groups: a crash inside their firing, a commit of ten changed ones, and the bound on memory.
use strict;
use warnings;
use StreamEngine;
use Test::More;

my $groups = $ENV{SE_GROUPS} // 1_000_000;
my $node = StreamEngine->new('main', conf => "max_wal_size = '4GB'\nfull_page_writes = off\nautovacuum = off\nstream_engine.restart_delay_min = '10ms'\n");
$node->sql(q{CREATE FOREIGN TABLE s (k int, v int, ts timestamptz OPTIONS (event_time 'true')) SERVER stream_engine;
	CREATE TABLE twin (k int, v int)});
$node->sql(q{CREATE MATERIALIZED VIEW w WITH (stream_engine.continuous) AS
	SELECT window_start, k, count(*) AS c, sum(v) AS total FROM s, tumble(ts, interval '1 hour') GROUP BY window_start, window_end, k});
# Its groups are never shown, so that a commit of it is state and position alone.
$node->sql(q{CREATE MATERIALIZED VIEW quiet WITH (stream_engine.continuous) AS
	SELECT k, count(*) AS c, sum(v) AS total FROM s GROUP BY k HAVING count(*) < 0});

$node->sql(qq{BEGIN; INSERT INTO twin SELECT g, g % 1000 FROM generate_series(1, $groups) g;
	INSERT INTO s SELECT g, g % 1000, '2024-01-01 00:10' FROM generate_series(1, $groups) g; COMMIT});
$node->refresh('w', 'quiet');
my $state = $node->sql(q{SELECT state_bytes, state_entries FROM stream_engine.jobs WHERE view = 'w'::regclass});
my ($bytes, $entries) = split /\|/, $state;
is($entries, $groups, 'every group is an entry');
cmp_ok($bytes, '>', 16 * $groups, "its state is counted ($bytes bytes)");

# Ten of the groups change: what the commit writes.
$node->refresh('w', 'quiet');
my $before = $node->sql('SELECT pg_current_wal_insert_lsn()');
$node->sql(q{BEGIN; INSERT INTO twin SELECT g, 1 FROM generate_series(1, 10) g; INSERT INTO s SELECT g, 1, '2024-01-01 00:20' FROM generate_series(1, 10) g; COMMIT});
$node->refresh('w', 'quiet');
my $written = $node->sql(qq{SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '$before')});
# Two views, the rows themselves, the marks and the twin: all of it stays under what one view may take.
cmp_ok($written, '<', 16 * 1024, "two commits with ten of $groups groups changed wrote $written bytes of WAL");

# kill -9 in the middle of the firing, twice.
foreach my $time (1 .. 2)
{
	$node->fault_set('window-fire-group', 'crash', int($groups / 512 / 3), 1);
	$node->sql(q{SELECT stream_engine.emit_watermark('s', '2024-01-01 01:00')}) if $time == 1;
	my $end = time + 120;
	my $log = sub { scalar(() = PostgreSQL::Test::Utils::slurp_file($node->logfile) =~ /terminated by signal 9/g) };
	select(undef, undef, undef, 0.05) while $log->() < $time && time < $end;
	is($log->(), $time, "the worker died inside the firing ($time)");
	$node->wait_ready;
}
$node->refresh('w');
is($node->sql('SELECT count(*), sum(c), sum(total) FROM w'), $node->sql('SELECT count(DISTINCT k), count(*), sum(v) FROM twin'),
	'every group was emitted once');
is($node->sql('SELECT count(*) FROM (SELECT k FROM w GROUP BY k HAVING count(*) > 1) d'), '0', 'and none twice');
is($node->sql(q{SELECT state_entries FROM stream_engine.jobs WHERE view = 'w'::regclass}), '0', 'the window is forgotten');

# The bound: state of one and a half times the limit stops that view with a clear error, and no other.
$node->sql(q{CREATE MATERIALIZED VIEW bounded WITH (stream_engine.continuous, stream_engine.state_memory = '16MB') AS
	SELECT k, count(*) AS c FROM s GROUP BY k});
my $enough = int(24 * 1024 * 1024 / ($bytes / $groups));
$node->sql(qq{BEGIN; INSERT INTO twin SELECT g, 0 FROM generate_series(1, $enough) g;
	INSERT INTO s SELECT g, 0, '2024-01-01 02:00' FROM generate_series(1, $enough) g; COMMIT});
$node->wait_until(q{SELECT EXISTS (SELECT FROM stream_engine.errors WHERE view = 'bounded'::regclass AND sqlstate = '53200')}, 'an error about memory');
like($node->sql(q{SELECT message FROM stream_engine.errors WHERE view = 'bounded'::regclass ORDER BY seq LIMIT 1}), qr/memory/, 'which says so');
$node->refresh('quiet');
is($node->sql(q{SELECT state FROM stream_engine.jobs WHERE view = 'quiet'::regclass}), 'running', 'the other view goes on');
$node->stop;
done_testing();
