# test/t/061_slot_overrun.pl: max_slot_wal_keep_size takes WAL that a view still needs: the view stops with an error that names the segments,
# never skips, and goes on exactly when they are back; other views go on, and the slot is made anew.
use strict;
use warnings;
use lib "$ENV{SE_TREE}/test/lib";
use File::Copy;
use StreamEngine;
use PostgreSQL::Test::Utils;
use Test::More;

my $archive = PostgreSQL::Test::Utils::tempdir;
my $node = StreamEngine->new('overrun', conf => "wal_keep_size = 0\nmin_wal_size = '32MB'\nmax_wal_size = '64MB'\nmax_slot_wal_keep_size = '32MB'\n"
	  . "archive_mode = on\narchive_command = 'cp %p $archive/%f'\nstream_engine.checkpoint_interval = '20ms'\n");
my $wal = $node->data_dir . '/pg_wal';

# Segments beyond max_slot_wal_keep_size, archived and then removed by a checkpoint.
sub overrun
{
	my $last;
	for (1 .. 6)
	{
		$last = $node->sql('SELECT pg_walfile_name(pg_current_wal_insert_lsn())');
		$node->sql(q{INSERT INTO t VALUES (1); SELECT pg_switch_wal()});
		$node->refresh('other');
	}
	$node->wait_until("SELECT last_archived_wal >= '$last' FROM pg_stat_archiver", 'archived');
	$node->sql('CHECKPOINT');
	return;
}

$node->sql(q{
	CREATE FOREIGN TABLE s (id int) SERVER stream_engine;
	CREATE FOREIGN TABLE t (id int) SERVER stream_engine;
	CREATE TABLE twin (id int);
	CREATE MATERIALIZED VIEW slow WITH (stream_engine.continuous) AS SELECT count(*), sum(id) FROM s;
	CREATE MATERIALIZED VIEW stopped WITH (stream_engine.continuous) AS SELECT id FROM s;
	CREATE MATERIALIZED VIEW other WITH (stream_engine.continuous) AS SELECT id FROM t});

sub rows
{
	my ($from, $to) = @_;
	$node->sql(qq{BEGIN; INSERT INTO twin SELECT generate_series($from, $to); INSERT INTO s SELECT generate_series($from, $to); COMMIT});
	return;
}

# One view is stopped, another meets a lock on its result; the third is quick.
rows(1, 1000);
$node->refresh('slow', 'stopped', 'other');
$node->sql(q{SELECT stream_engine.stop('stopped')});
$node->sql(q{SELECT stream_engine.wait_state('stopped', 'stopped', '60s')});
my ($in, $out, $err) = ("BEGIN; LOCK TABLE slow IN SHARE MODE;\\echo locked\n", '', '');
my $locker = IPC::Run::start([ 'psql', '-XqAt', '-d', $node->connstr('postgres') ], '<', \$in, '>', \$out, '2>', \$err);
$locker->pump until $out =~ /locked/;
rows(1001, 2000);
$node->sql(q{SELECT stream_engine.wait_state('slow', 'waiting', '60s')});
overrun();
is($node->sql('SELECT count(*) FROM other'), '6', 'a view that keeps up goes on');
like(slurp_file($node->logfile), qr/invalidating .*slot "stream_engine_\d+"/, 'the slot has lost WAL');

# The worker has read its rows before the WAL went; its successor has not.
my $pid = $node->sql(q{SELECT pid FROM stream_engine.jobs WHERE view = 'slow'::regclass});
$node->sql("SELECT pg_terminate_backend($pid)") if $pid ne '';
$in .= "COMMIT;\n\\q\n";
$locker->finish;
$node->sql(q{SELECT stream_engine.start('stopped')});
$node->sql(qq{SELECT stream_engine.wait_state('$_', 'failed', '60s')}) foreach qw(slow stopped);
my %error = map { $_ => $node->sql(qq{SELECT sqlstate, message, detail FROM stream_engine.errors WHERE view = '$_'::regclass ORDER BY seq DESC LIMIT 1}) } qw(slow stopped);
like($error{$_}, qr/^58P01\|WAL needed to read a stream is gone.*\|Missing in pg_wal: [0-9A-F]{24}/, "$_ names the segments that are missing") foreach qw(slow stopped);
is($node->sql('SELECT * FROM slow'), '1000|500500', 'nothing was skipped');

# The slot is a good one again, for the view that keeps up.
$node->wait_until(q{SELECT wal_status <> 'lost' FROM pg_replication_slots}, 'the slot is made anew');
overrun();
is($node->sql('SELECT count(*) FROM other'), '12', 'a view that keeps up goes on');

# With more WAL allowed and the segments from the archive the others go on.
$node->append_conf('postgresql.conf', 'max_slot_wal_keep_size = -1');
$node->sql('SELECT pg_reload_conf()');
rows(2001, 3000);
$node->wait_until(q{SELECT restart_lsn <= (SELECT min(restart_lsn) FROM stream_engine.sources) FROM pg_replication_slots},
	'the slot keeps what comes back');
foreach my $file (glob "$archive/????????????????????????")
{
	my ($name) = $file =~ /([0-9A-F]{24})$/;
	copy($file, "$wal/$name") if defined $name && !-e "$wal/$name";
}
$node->sql('CHECKPOINT');
$node->sql(qq{SELECT stream_engine.start('$_')}) foreach qw(slow stopped);
$node->refresh('slow', 'stopped', 'other');
$node->equals_oracle('slow', 'SELECT count(*), sum(id) FROM twin', 'with the segments from the archive');
$node->equals_oracle('stopped', 'SELECT id FROM twin', 'with the segments from the archive');
$node->stop;
done_testing();
