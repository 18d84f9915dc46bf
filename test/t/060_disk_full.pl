# test/t/060_disk_full.pl: full disks: the result, the state, the replication slot, the WAL. Views wait with the error and go on by themselves when
# there is room again, losing and doubling nothing.
use strict;
use warnings;
use lib "$ENV{SE_TREE}/test/lib";

# File systems of our own, small ones, need a name space in which we may mount.
BEGIN
{
	my @unshare = qw(unshare --user --mount --map-current-user --keep-caps);
	if (!$ENV{SE_OWN_MOUNTS} && system(join(' ', @unshare) . ' mount -t tmpfs -o size=1m none /mnt 2>/dev/null') == 0)
	{
		$ENV{SE_OWN_MOUNTS} = 1;
		exec @unshare, $^X, (map { "-I$_" } @INC), $0;
	}
}
use File::Copy;
use StreamEngine;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = StreamEngine->new('full', conf => q{
autovacuum = off
wal_keep_size = 0
min_wal_size = '32MB'
max_wal_size = '64MB'
stream_engine.restart_delay_max = '200ms'
stream_engine.checkpoint_interval = '20ms'
});
$node->twin('s', watermark => 'ts');
my %query = (
	plain => 'SELECT client, n, note FROM s_twin',
	sums => 'SELECT n, count(*), sum(v) FROM s_twin GROUP BY n');
$node->sql(q{
	CREATE MATERIALIZED VIEW plain WITH (stream_engine.continuous) AS SELECT client, n, note FROM s;
	CREATE MATERIALIZED VIEW sums WITH (stream_engine.continuous) AS SELECT n, count(*) AS c, sum(v) AS v FROM s GROUP BY n});

my $written = 0;
sub rows
{
	my ($count) = @_;
	my $from = $written;
	$written += $count;
	$node->write_twin('s', qq{SELECT 1, g, g % 20, g, '2024-01-01'::timestamptz + g * interval '1 s', repeat('x', 200)
		FROM generate_series($from, $written - 1) g});
	return;
}

sub same
{
	my ($what) = @_;
	$node->refresh(sort keys %query);
	$node->equals_oracle($_, $query{$_}, $what) foreach sort keys %query;
	return;
}

# At every place of a commit that writes, the error of a full disk: the view is restarted until there is room.
rows(100);
same('with room');
foreach my $point (qw(commit-after-state commit-after-results commit-before-position))
{
	$node->fault_set($point, 'full');
	rows(100);
	$node->wait_fault($point, 4);
	$node->wait_until(qq{SELECT state IN ('restarting', 'starting', 'running') AND error_sqlstate = '53100' AND error ~ 'No space left'
		FROM stream_engine.jobs WHERE view = 'sums'::regclass}, "$point: the view shows the error");
	$node->fault_clear($point);
	same("after $point");
}

# The slot cannot be saved: views run on and show it; no WAL is let go that a crash would need.
$node->fault_set('slot-save', 'full');
my $slot = $node->sql('SELECT restart_lsn FROM pg_replication_slots');
rows(1000);
$node->sql('SELECT pg_switch_wal()');
rows(1000);
$node->wait_until(q{SELECT bool_and(state = 'running' AND error_sqlstate = '53100') FROM stream_engine.jobs}, 'the views show it');
same('while the slot cannot be saved');
is($node->sql('SELECT restart_lsn FROM pg_replication_slots'), $slot, 'the slot stands still');
$node->kill9_postmaster;
$node->start;
$node->fault_clear;
rows(100);
same('after a crash with a slot that had not moved');
$node->wait_until(qq{SELECT restart_lsn > '$slot' FROM pg_replication_slots}, 'the slot moves on');

SKIP:
{
	skip 'cannot mount a file system here', 1 if !$ENV{SE_OWN_MOUNTS};

	# A small file system for the result and the state, with a file that takes what is left of it.
	my $small = PostgreSQL::Test::Utils::tempdir;
	system('mount', '-t', 'tmpfs', '-o', 'size=8m', 'none', $small) == 0 or die 'mount';
	mkdir "$small/space";
	sub fill
	{
		my ($dir) = @_;
		open my $fh, '>', "$dir/ballast" or die "$dir/ballast: $!";
		my $block = 'x' x 4096;
		while (defined syswrite($fh, $block)) { }
		close $fh;
		return;
	}
	$node->sql("CREATE TABLESPACE small LOCATION '$small/space'");
	foreach my $table (qw(plain stream_engine.state_chunks))
	{
		my $view = $table eq 'plain' ? 'plain' : 'sums';
		$node->sql("ALTER TABLE $table SET TABLESPACE small");
		same("$table on a small file system");
		fill($small);
		rows(2000);
		$node->wait_until(qq{SELECT state IN ('restarting', 'starting', 'running') AND error_sqlstate = '53100' FROM stream_engine.jobs
			WHERE view = '$view'::regclass}, "no room for $table");
		my $other = $view eq 'plain' ? 'sums' : 'plain';
		$node->refresh($other);
		$node->equals_oracle($other, $query{$other}, "no room for $table, the other view goes on");
		$node->stop;
		$node->start;
		$node->wait_until(qq{SELECT failures >= 2 AND error_sqlstate = '53100' FROM stream_engine.jobs WHERE view = '$view'::regclass}, "no room for $table after a restart");
		unlink "$small/ballast";
		same("with room for $table");
		$node->sql("ALTER TABLE $table SET TABLESPACE pg_default");
	}

	# The WAL itself: PostgreSQL goes down, as it always does; with room again views go on exactly.
	my $wal = PostgreSQL::Test::Utils::tempdir;
	system('mount', '-t', 'tmpfs', '-o', 'size=160m', 'none', $wal) == 0 or die 'mount';
	$node->stop;
	my $pg_wal = $node->data_dir . '/pg_wal';
	system('cp', '-a', "$pg_wal/.", $wal) == 0 or die 'cp';
	system('rm', '-rf', $pg_wal) == 0 && symlink($wal, $pg_wal) or die 'symlink';
	chmod 0700, $wal;
	$node->start;
	same('WAL on a small file system');
	fill($wal);
	my ($status, $acknowledged) = (0, 0);
	while ($acknowledged < 1_000_000)
	{
		($status) = $node->psql('postgres', q{INSERT INTO s SELECT 2, g, 1, g, '2024-01-01', repeat('x', 1000) FROM generate_series(1, 5000) g});
		last if $status != 0;
		$acknowledged += 5000;
	}
	isnt($status, 0, 'the WAL has no room');
	PostgreSQL::Test::Utils::system_log('pg_ctl', '-D', $node->data_dir, '-m', 'immediate', 'stop');
	unlink "$wal/ballast";
	$node->{_pid} = undef;
	$node->start;
	$node->sql(q{INSERT INTO s_twin (client, n, k, v, ts, note) SELECT client, n, k, v, ts, note FROM s WHERE client = 2});
	rows(1000);
	same('with room for WAL');
	cmp_ok($node->sql('SELECT count(*) FROM plain WHERE client = 2'), '>=', $acknowledged, 'no acknowledged row is lost');
}
$node->stop;
done_testing();
