# test/t/016_view_recovery.pl: base backups and point-in-time recovery: views go on exactly when the WAL from their place on is there;
# when it is not, the error names the segments, and after they are copied from the archive the views go on.
use strict;
use warnings;
use lib "$ENV{SE_TREE}/test/lib";
use File::Copy;
use StreamEngine;
use PostgreSQL::Test::Utils;
use Test::More;

my $primary = StreamEngine->new('primary', conf => "max_wal_senders = 4\nwal_keep_size = 0\nmin_wal_size = '32MB'\nmax_wal_size = '64MB'\n"
	  . "stream_engine.checkpoint_interval = '20ms'\n");
$primary->stop;
$primary->enable_archiving;
$primary->start;
$primary->twin('s', watermark => 'ts');
$primary->sql(q{
	CREATE MATERIALIZED VIEW plain WITH (stream_engine.continuous) AS SELECT client, n, v FROM s;
	CREATE MATERIALIZED VIEW sums WITH (stream_engine.continuous) AS SELECT k, count(*) AS c, sum(v) AS v FROM s GROUP BY k;
	CREATE MATERIALIZED VIEW minutes WITH (stream_engine.continuous) AS
		SELECT window_start, window_end, k, count(*) AS c FROM s, tumble(ts, interval '1 minute') GROUP BY window_start, window_end, k;
	CREATE MATERIALIZED VIEW stopped WITH (stream_engine.continuous) AS SELECT client, n FROM s});
my %query = (
	plain => 'SELECT client, n, v FROM s_twin',
	sums => 'SELECT k, count(*), sum(v) FROM s_twin GROUP BY k',
	minutes => q{SELECT date_trunc('minute', ts), date_trunc('minute', ts) + interval '1 minute', k, count(*) FROM s_twin
		WHERE date_trunc('minute', ts) + interval '1 minute' <= (SELECT max(ts) FROM s_twin) GROUP BY 1, 2, 3},
	stopped => 'SELECT client, n FROM s_twin');
my @running = qw(minutes plain sums);

my $written = 0;
sub rows
{
	my ($node, $client) = @_;
	my $from = $written;
	$written += 1000;
	$node->write_twin('s', qq{SELECT $client, g, g % 20, g, '2024-01-01'::timestamptz + g * interval '1 s', 'x' FROM generate_series($from, $written - 1) g});
	return;
}

sub same
{
	my ($node, $what, @views) = @_;
	$node->refresh(@views);
	$node->equals_oracle($_, $query{$_}, $what) foreach @views;
	return;
}

sub switch_wal
{
	my ($node) = @_;
	$node->sql('CREATE TABLE x AS SELECT 1; DROP TABLE x; SELECT pg_switch_wal()');
	return;
}

# What happens after the backup: one view is stopped, then two places to recover to.
$primary->backup('base');
rows($primary, 1);
$primary->refresh(@running, 'stopped');
$primary->sql(q{SELECT stream_engine.stop('stopped')});
$primary->sql(q{SELECT stream_engine.wait_state('stopped', 'stopped', '60s')});
rows($primary, 2);
switch_wal($primary) foreach 1 .. 3;
rows($primary, 3);
$primary->refresh(@running);
rows($primary, 4);
my $here = $primary->sql('SELECT clock_timestamp()');
$primary->sql(q{SELECT pg_create_restore_point('here')});
rows($primary, 5);
switch_wal($primary) foreach 1 .. 2;
rows($primary, 6);
$primary->refresh(@running);
my $end = $primary->sql('SELECT pg_current_wal_lsn()');
my $last = $primary->sql('SELECT pg_walfile_name(pg_current_wal_lsn())');
switch_wal($primary) foreach 1 .. 2;
$primary->wait_until("SELECT last_archived_wal >= '$last' FROM pg_stat_archiver", 'archived');
my $archive = $primary->archive_dir;

sub recover
{
	my ($name, $conf) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init_from_backup($primary, 'base', has_restoring => 1, standby => 0);
	$node->append_conf('postgresql.conf', "archive_mode = off\n$conf");
	$node->start;
	return bless $node, 'StreamEngine';
}

sub wait_recovered
{
	my ($node) = @_;
	$node->wait_until('SELECT NOT pg_is_in_recovery()', 'recovery is over');
	return;
}

# To a name, with WAL enough kept: everything goes on by itself.
my $node = recover('by_name', "recovery_target_name = 'here'\nrecovery_target_action = promote\nwal_keep_size = '1GB'\n");
wait_recovered($node);
is($node->sql('SELECT count(*), max(client) FROM s_twin'), '4000|4', 'recovered to the name');
same($node, 'recovered to a name', @running);
$node->sql(q{SELECT stream_engine.start('stopped')});
same($node, 'recovered to a name', 'stopped');
rows($node, 7);
same($node, 'and goes on', sort keys %query);
$node->stop;

# To a time, with a pause to look around, which is the default: meanwhile a slot is made that keeps what the views need.
$node = recover('by_time', "recovery_target_time = '$here'\nwal_keep_size = 0\n");
$node->wait_until('SELECT pg_is_wal_replay_paused()', 'the target is reached');
is($node->sql('SELECT count(*), max(client) FROM s_twin'), '4000|4', 'recovered to the time');
$node->wait_until(q{SELECT restart_lsn <= (SELECT min(restart_lsn) FROM stream_engine.sources)
	FROM pg_replication_slots WHERE slot_name = 'stream_engine_standby'}, 'the slot keeps what the views need');
$node->sql('SELECT pg_wal_replay_resume()');
wait_recovered($node);
$node->sql(q{SELECT stream_engine.start('stopped')});
same($node, 'recovered to a time', sort keys %query);
rows($node, 8);
same($node, 'and goes on', sort keys %query);
$node->stop;

# To an LSN, with nothing that keeps WAL: the view whose place is far back misses segments, the others go on.
$node = recover('by_lsn', "recovery_target_lsn = '$end'\nrecovery_target_action = promote\nhot_standby = off\nwal_keep_size = 0\n");
wait_recovered($node);
is($node->sql('SELECT count(*) FROM s_twin'), '6000', 'recovered to the LSN');
same($node, 'recovered to an LSN', @running);
$node->sql(q{SELECT stream_engine.start('stopped')});
$node->sql(q{SELECT stream_engine.wait_state('stopped', 'failed', '60s')});
my $error = $node->sql(q{SELECT sqlstate, message, detail FROM stream_engine.errors WHERE view = 'stopped'::regclass});
like($error, qr/^58P01\|WAL needed to read a stream is gone: range .*\|Missing in pg_wal: [0-9A-F]{24}/, 'the error names the segments');

# Copy the segments that the error names, and nothing else.
sub bring_back
{
	my ($to, $dir, $text) = @_;
	my $n = 0;
	die "no segments in: $text" if $text !~ /pg_wal: (.*)\./;
	foreach my $run (split /, /, $1)
	{
		my ($first, $to_last) = split / to /, $run;
		my ($timeline, $from) = ($first =~ /^(.{8})(.{16})$/);
		my $until = substr($to_last // $first, 8);
		foreach my $file (sort glob "$dir/$timeline????????????????")
		{
			my $segment = substr($file, -16);
			next if $segment lt $from || $segment gt $until;
			copy($file, $to->data_dir . "/pg_wal/$timeline$segment") or die "copy of $file: $!";
			$n++;
		}
	}
	return $n;
}

cmp_ok(bring_back($node, $archive, $error), '>=', 1, 'copied from the archive');
# A checkpoint in between does not take them away again.
$node->sql('CHECKPOINT');
$node->sql(q{SELECT stream_engine.start('stopped')});
same($node, 'with the segments from the archive', 'stopped');
rows($node, 9);
same($node, 'and goes on', sort keys %query);
$node->stop;

# A base backup on its own: it brings no WAL from before it, where the places of these views are.
$primary->sql(q{SELECT stream_engine.start('stopped')});
$primary->refresh('stopped');
$primary->backup('alone');
my $alone = PostgreSQL::Test::Cluster->new('alone');
$alone->init_from_backup($primary, 'alone');
$alone->append_conf('postgresql.conf', "archive_mode = off\n");
$alone->start;
bless $alone, 'StreamEngine';
$alone->sql(qq{SELECT stream_engine.wait_state('$_', 'failed', '60s')}) foreach sort keys %query;
$error = $alone->sql(q{SELECT detail FROM stream_engine.errors WHERE view = 'plain'::regclass ORDER BY seq DESC LIMIT 1});
like($error, qr/^Missing in pg_wal: [0-9A-F]{24}( to [0-9A-F]{24})?\.$/, 'the error names the segments from before the backup');
cmp_ok(bring_back($alone, $primary->data_dir . '/pg_wal', $error), '>=', 1, 'copied from the original server');
$alone->sql(qq{SELECT stream_engine.start('$_')}) foreach sort keys %query;
same($alone, 'a base backup', sort keys %query);
rows($alone, 10);
same($alone, 'and goes on', sort keys %query);
$alone->stop;

# And one while rows come: what the backup holds of a view is what its results say.
my $load = $primary->start_load('s', clients => 2, transactions => 150);
$primary->wait_until(q{SELECT count(*) > 7000 FROM s_twin}, 'some load');
$primary->backup('under_load');
$primary->finish_load($load);
my $under_load = PostgreSQL::Test::Cluster->new('under_load');
$under_load->init_from_backup($primary, 'under_load');
$under_load->append_conf('postgresql.conf', "archive_mode = off\nwal_keep_size = '1GB'\n");
$under_load->start;
bless $under_load, 'StreamEngine';
$under_load->sql("ROLLBACK PREPARED '$_'") foreach split /\n/, $under_load->sql('SELECT gid FROM pg_prepared_xacts');
foreach my $view (qw(plain stopped sums))
{
	$under_load->wait_until(qq{SELECT state IN ('running', 'failed') FROM stream_engine.jobs WHERE view = '$view'::regclass}, "$view is decided");
	next if $under_load->sql(qq{SELECT state FROM stream_engine.jobs WHERE view = '$view'::regclass}) ne 'failed';
	$error = $under_load->sql(qq{SELECT detail FROM stream_engine.errors WHERE view = '$view'::regclass ORDER BY seq DESC LIMIT 1});
	bring_back($under_load, $primary->data_dir . '/pg_wal', $error);
	$under_load->sql(qq{SELECT stream_engine.start('$view')});
}
same($under_load, 'a base backup taken under load', qw(plain stopped sums));
$under_load->stop;
$primary->stop;
done_testing();
