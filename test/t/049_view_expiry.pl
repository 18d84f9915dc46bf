# test/t/049_view_expiry.pl: groups that are forgotten and rows that are deleted because of their age, over kill -9 and errors.
use strict;
use warnings;
use lib "$ENV{SE_TREE}/test/lib";
use PostgreSQL::Test::Utils;
use StreamEngine;
use Test::More;

my $seed = $ENV{SEED} || int(rand(1_000_000));
note("expiry with seed $seed (SEED=$seed repeats them)");
srand($seed);
my $node = StreamEngine->new('expiry',
	conf => "stream_engine.checkpoint_interval = '20ms'\nstream_engine.restart_delay_min = '10ms'\nstream_engine.tick_interval = '50ms'\n");
$node->sql(q{
	CREATE FOREIGN TABLE s (id int, k int, ts timestamptz OPTIONS (event_time 'true')) SERVER stream_engine OPTIONS (watermark 'ts - interval ''15 s''');
	CREATE TABLE twin (id int, k int, ts timestamptz)});

# Each shows at any place of the log what it would without a crash.
my $group = q{SELECT k, count(*) AS c, sum(id) AS sum, array_agg(id) AS ids, count(DISTINCT id % 7) AS d, stddev(id::numeric) AS dev FROM s GROUP BY k};
my %views = (
	kept => [ $group, q{stream_engine.state_ttl = '40 s on ts'} ],
	deleted => [ $group, q{stream_engine.state_ttl = '40 s on ts', stream_engine.ttl_delete} ],
	few => [ "$group HAVING count(*) < 4", q{stream_engine.state_ttl = '40 s on ts', stream_engine.ttl_delete} ],
	clock => [ $group, q{stream_engine.state_ttl = '150 ms'} ]);
my @views = sort keys %views;
my $windows = q{SELECT window_end, k, count(*) AS c FROM %s, tumble(ts, '10 s') GROUP BY window_end, k};
$node->sql("CREATE MATERIALIZED VIEW $_ WITH (stream_engine.continuous, $views{$_}[1]) AS $views{$_}[0]") foreach @views;
# Running only while nothing crashes.
$node->sql("CREATE MATERIALIZED VIEW again_$_ WITH (stream_engine.continuous, $views{$_}[1]) AS $views{$_}[0] WITH NO DATA") foreach @views;
$node->sql(q{CREATE MATERIALIZED VIEW retained WITH (stream_engine.continuous, stream_engine.retention = '1 min') AS } . sprintf($windows, 's'));

my $next = 1;

# Rows of keys that come for a while and go, some of them late; the server may crash in it.
sub write_rows
{
	my $first = $next;
	my $last = $next + 999;
	my ($status) = $node->psql('postgres', qq{BEGIN;
		INSERT INTO twin SELECT i, CASE WHEN hashint4(i) % 50 = 0 THEN -i ELSE i / 400 + (hashint4(i + $seed) & 127) * 3 END, timestamptz '2024-01-01' + (i / 50) * interval '1 s' -
			CASE WHEN hashint4(i) % 50 = 0 THEN 70 ELSE hashint4(i) & 15 END * interval '1 s' FROM generate_series($first, $last) i;
		INSERT INTO s SELECT * FROM twin WHERE id BETWEEN $first AND $last ORDER BY id;
		COMMIT}, on_error_stop => 1);
	$node->wait_ready if $status != 0;
	my $written;
	while (($status, $written) = $node->psql('postgres', 'SELECT coalesce(max(id), 0) FROM twin') and $status != 0)
	{
		$node->wait_ready;
	}
	$next = $written + 1;
	return;
}

sub compare
{
	my ($what) = @_;

	$node->refresh(@views);
	$node->sql("SELECT stream_engine.start('again_$_')") foreach @views;
	$node->refresh(map { "again_$_" } @views);
	$node->equals_oracle($_, "SELECT * FROM again_$_", "as without crashes: $_ $what") foreach @views;
	$node->sql("SELECT stream_engine.stop('again_$_')") foreach @views;
	$node->sql("SELECT stream_engine.wait_state('again_$_', 'stopped', '120s')") foreach @views;

	# What is not old is there, what is there is right, and the rows are counted.
	$node->refresh('retained');
	my $query = sprintf($windows, 'twin') . " HAVING window_end <= (SELECT max(ts) - interval '15 s' FROM twin)";
	$node->poll_query_until('postgres', q{SELECT min(window_end) > (SELECT max(ts) - interval '75 s' FROM twin) FROM retained});
	is($node->sql(q{SELECT count(*) = (SELECT result_rows FROM stream_engine.job_positions WHERE job = 'retained'::regclass) FROM retained}), 't',
		"the rows are counted $what");
	is($node->sql(qq{SELECT count(*) FROM (SELECT window_end, k FROM retained EXCEPT SELECT window_end, k FROM ($query) q) d}), '0', "no other rows $what");
	is($node->sql(qq{SELECT count(*) FROM (SELECT window_end, k FROM ($query) q
		WHERE window_end > (SELECT max(ts) - interval '60 s' FROM twin) EXCEPT SELECT window_end, k FROM retained) d
		WHERE NOT EXISTS (SELECT FROM twin WHERE ts < window_end AND ts >= window_end - interval '10 s' AND twin.k = d.k
			AND id IN (SELECT id FROM twin WHERE hashint4(id) % 50 = 0))}), '0', "all rows that are not old $what");
	return;
}

write_rows();
compare('at first');
foreach my $point (qw(sink-insert sink-retire commit-after-results state-put))
{
	foreach my $action (qw(error crash))
	{
		my $died = $action eq 'crash' ? qr/terminated by signal 9/ : qr/fault point "\Q$point\E"/;
		my $log = -s $node->logfile;
		my $end = time + 120;

		$node->fault_set($point, $action, 1 + int(rand(20)), 1);
		while (slurp_file($node->logfile, $log) !~ $died && time < $end)
		{
			write_rows();
			$node->psql('postgres', "REFRESH MATERIALIZED VIEW $_") foreach @views;
		}
		like(slurp_file($node->logfile, $log), $died, "$action at $point happened");
		$node->wait_ready;
		$node->fault_clear;
		write_rows();
		compare("after $action at $point");
	}
}
foreach my $moment (1 .. 2)
{
	write_rows() foreach 1 .. 2;
	$node->kill9_postmaster;
	$node->start;
	compare("after kill -9, $moment");
}

# All expire at once, and the server dies while their rows are deleted.
$node->sql(q{SELECT stream_engine.emit_watermark('s', '2030-01-01')});
$node->kill9_postmaster;
$node->start;
$node->refresh('deleted', 'retained');
is($node->sql('SELECT count(*) FROM deleted'), '0', 'all rows of forgotten groups are deleted');
ok($node->poll_query_until('postgres', 'SELECT count(*) = 0 FROM retained'), 'all old rows are deleted');
is($node->sql(q{SELECT state_entries FROM stream_engine.jobs WHERE view = 'deleted'::regclass}), '0', 'nothing is remembered');
is($node->sql(q{SELECT bool_and(j.late_rows = a.late_rows) || ' ' || (max(j.late_rows) > 10)
	FROM stream_engine.jobs j JOIN stream_engine.jobs a ON a.view::text = 'again_' || j.view::text}), 'true true', 'the counters are those without crashes');
$node->stop;
done_testing();
