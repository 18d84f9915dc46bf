# test/t/048_view_sessions.pl: sessions over errors, ends and crashes where they join and where they fire; a firing of many in small commits.
use strict;
use warnings;
use lib "$ENV{SE_TREE}/test/lib";
use PostgreSQL::Test::Utils;
use StreamEngine;
use Test::More;

my $node = StreamEngine->new('sessions', conf => "stream_engine.checkpoint_interval = '20ms'\nstream_engine.restart_delay_min = '10ms'\n");
$node->sql(q{
	CREATE FOREIGN TABLE s (id int, k int, ts timestamptz OPTIONS (event_time 'true')) SERVER stream_engine OPTIONS (watermark 'ts - interval ''10 min''');
	CREATE TABLE twin (id int, k int, ts timestamptz);
	CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous) AS
		SELECT k, window_start, window_end, count(*) AS c, array_agg(id ORDER BY id) AS ids FROM s, session(ts, '10 s') GROUP BY k, window_start, window_end;
	CREATE VIEW islands AS
		SELECT k, min(ts) AS ws, max(ts) + interval '10 s' AS we, count(*) AS c, array_agg(id ORDER BY id) AS ids
		FROM (SELECT *, sum(new) OVER (PARTITION BY k ORDER BY ts, id) AS island
		      FROM (SELECT *, CASE WHEN ts - lag(ts) OVER (PARTITION BY k ORDER BY ts, id) <= interval '10 s' THEN 0 ELSE 1 END AS new FROM twin) x) y
		GROUP BY k, island});

my $next = 1;

# Rows of 500 keys out of order, so that sessions are bridged; the server may crash in it.
sub write_rows
{
	my $first = $next;
	my $last = $next + 5999;
	my ($status) = $node->psql('postgres', qq{BEGIN;
		INSERT INTO twin SELECT i, i % 500, timestamptz '2024-01-01' + (i / 500) * interval '12 s' + (hashint4(i) & 31) * interval '1 s' FROM generate_series($first, $last) i;
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
	$node->refresh('v');
	# What is over by the watermark is there, whole; nothing else is.
	$node->equals_oracle('v', q{SELECT * FROM islands WHERE we < (SELECT max(ts) FROM twin) - interval '10 min'}, $what);
	return;
}

foreach my $point (qw(session-join session-fire))
{
	foreach my $action (qw(error fatal crash))
	{
		my $died = $action eq 'crash' ? qr/terminated by signal 9/ : qr/fault point "\Q$point\E"/;
		my $log = -s $node->logfile;
		my $end = time + 120;

		$node->fault_set($point, $action, 3, 1);
		while (slurp_file($node->logfile, $log) !~ $died && time < $end)
		{
			write_rows();
			$node->psql('postgres', 'REFRESH MATERIALIZED VIEW v');
		}
		like(slurp_file($node->logfile, $log), $died, "$action at $point happened");
		$node->wait_ready;
		$node->fault_clear;
		write_rows();
		compare("after $action at $point");
	}
}
# The output is full after each batch of results.
write_rows() foreach 1 .. 3;
my $commits = $node->sql('SELECT commits FROM stream_engine.checkpoints');
$node->fault_set('sink-always-full', 'skip');
$node->sql(q{SELECT stream_engine.emit_watermark('s', 'infinity')});
$node->refresh('v');
$node->equals_oracle('v', 'SELECT * FROM islands', 'all sessions, fired in many commits');
cmp_ok($node->sql('SELECT commits FROM stream_engine.checkpoints'), '>', $commits + 5, 'there were many');
$node->stop;
done_testing();
