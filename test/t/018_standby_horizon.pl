# test/t/018_standby_horizon.pl: a standby keeps the WAL of a view that is not visible yet, because its CREATE has not committed; and keeps no
# WAL when there are no streams.
use strict;
use warnings;
use lib "$ENV{SE_TREE}/test/lib";
use IPC::Run;
use StreamEngine;
use PostgreSQL::Test::Utils;
use Test::More;

my $primary = StreamEngine->new('primary', conf => "max_wal_senders = 4\nhot_standby = on\nwal_keep_size = 0\nmin_wal_size = '32MB'\nmax_wal_size = '64MB'\n");
$primary->sql(q{CREATE FOREIGN TABLE s (id int) SERVER stream_engine; CREATE TABLE twin (id int)});
$primary->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->start;
bless $standby, 'StreamEngine';
my $slot = q{SELECT restart_lsn FROM pg_replication_slots WHERE slot_name = 'stream_engine_standby'};
$standby->wait_until(qq{SELECT count(*) = 1 FROM ($slot) x}, 'the slot of the standby');

# After some passes the slot has followed, if nothing holds it. Reloading the configuration begins one.
sub passes
{
	my ($node) = @_;
	$node->fault_set('standby-pass', 'count');
	foreach my $n (1 .. 4)
	{
		$node->sql('SELECT pg_reload_conf()');
		$node->wait_fault('standby-pass', $n);
	}
	$node->fault_clear;
	return;
}

# Its processes are cancelled and terminated, asleep and at work: the next pass is made, the server goes on.
sub pid_of
{
	my ($type) = @_;
	return $standby->sql("SELECT coalesce(max(pid), 0) FROM pg_stat_activity WHERE backend_type = '$type'");
}
foreach my $function (qw(pg_cancel_backend pg_terminate_backend))
{
	foreach my $type ('stream_engine standby', 'stream_engine standby look')
	{
		my $look = $type =~ /look/;
		$standby->fault_set('standby-look', 'wait', 0, 1) if $look;
		$standby->sql('SELECT pg_reload_conf()');
		$standby->wait_fault('standby-look') if $look;
		$standby->wait_until("SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_type = '$type'", "$type is there");
		my $pid = pid_of($type);
		is($standby->sql("SELECT $function($pid)"), 't', "$function of $type");
		$standby->fault_clear;
		$standby->wait_until("SELECT count(*) = 0 FROM pg_stat_activity WHERE pid = $pid", 'it ended') if $look || $function =~ /terminate/;
		$standby->wait_until(q{SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_type = 'stream_engine standby'}, 'another one is there');
		passes($standby);
		is($standby->sql(qq{SELECT count(*) FROM ($slot) x}), '1', 'the slot is there');
	}
}

# A view is made in a transaction that stays open.
my ($in, $out, $err) = ("BEGIN;\nCREATE MATERIALIZED VIEW v WITH (stream_engine.continuous) AS SELECT id FROM s;\n\\echo made\n", '', '');
my $creator = IPC::Run::start([ 'psql', '-XqAt', '-v', 'ON_ERROR_STOP=1', '-d', $primary->connstr('postgres') ], '<', \$in, '>', \$out, '2>', \$err);
$creator->pump until $out =~ /made/;
my $mark = $primary->sql('SELECT pg_current_wal_insert_lsn()');
for (1 .. 6)
{
	$primary->sql('BEGIN; INSERT INTO twin SELECT generate_series(1, 100); INSERT INTO s SELECT generate_series(1, 100); COMMIT; SELECT pg_switch_wal()');
}
$primary->sql('CHECKPOINT');
$primary->wait_for_catchup('standby', 'replay', $primary->lsn('flush'));
passes($standby);
$standby->sql('CHECKPOINT');
is($standby->sql(qq{SELECT restart_lsn < '$mark' FROM ($slot) x}), 't', 'the slot waits for the transaction that makes the view');

# It commits, but its worker has no time to begin before the primary is gone.
$primary->fault_set('worker-start', 'wait');
$in .= "COMMIT;\n\\echo committed\n\\q\n";
$creator->pump until $out =~ /committed/;
$primary->wait_for_catchup('standby', 'replay', $primary->lsn('flush'));
$primary->kill9_postmaster;
$creator->finish;
$standby->promote;
$standby->refresh('v');
$standby->equals_oracle('v', 'SELECT id FROM twin', 'after the promotion');

# The slot follows when nothing holds it, and goes with the last stream.
$standby->backup('second');
my $next = PostgreSQL::Test::Cluster->new('next');
$next->init_from_backup($standby, 'second', has_streaming => 1);
$next->start;
bless $next, 'StreamEngine';
$next->wait_until(qq{SELECT count(*) = 1 FROM ($slot) x}, 'the slot of the standby');
my $before = $standby->sql('SELECT pg_switch_wal()');
$standby->sql('BEGIN; INSERT INTO twin SELECT generate_series(1, 100); INSERT INTO s SELECT generate_series(1, 100); COMMIT; SELECT pg_switch_wal()');
$standby->refresh('v');
$standby->wait_for_catchup('next', 'replay', $standby->lsn('flush'));
passes($next);
$next->wait_until(qq{SELECT restart_lsn > '$before' FROM ($slot) x}, 'the slot follows');
pass('the slot follows');
foreach my $view (qw(jobs operators sources streams checkpoints errors))
{
	my ($status) = $next->psql('postgres', "SELECT * FROM stream_engine.$view");
	is($status, 0, "$view can be read on a standby");
}
like($next->sql(q{SELECT stream_engine.explain('v')}), qr/Stream s/, 'explain works on a standby');
$standby->sql('DROP FOREIGN TABLE s CASCADE');
$standby->wait_for_catchup('next', 'replay', $standby->lsn('flush'));
$next->sql('SELECT pg_reload_conf()');
$next->wait_until(qq{SELECT count(*) = 0 FROM ($slot) x}, 'the slot goes with the last stream');
pass('the slot goes with the last stream');
$next->stop;
$standby->stop;
done_testing();
