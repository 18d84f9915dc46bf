
# I3: a job whose WAL is gone stops with an error that names the missing range; when the
# segments are copied back from the archive it goes on. A SELECT returns what is still there.
use strict;
use warnings;
use File::Copy;
use StreamEngine;
use PostgreSQL::Test::Utils;
use Test::More;

my $archive = PostgreSQL::Test::Utils::tempdir;
my $node = StreamEngine->new('main', conf => "max_wal_size = '32MB'\nmin_wal_size = '32MB'\nwal_keep_size = 0\n"
	  . "archive_mode = on\narchive_command = 'cp %p $archive/%f'\n");
my $wal = $node->data_dir . '/pg_wal';

$node->sql(q{CREATE FOREIGN TABLE s (a int) SERVER stream_engine;
	CREATE TABLE start_at AS SELECT stream_engine.test_start_mark('s') AS p;
	INSERT INTO s SELECT generate_series(1, 1000)});
my $job = q{SELECT count("row"), sum("row"::int) FROM stream_engine.test_source('s', (SELECT p FROM start_at), 256)};
is($node->sql($job), '1000|500500', 'the job reads while the WAL is there');

# Segments go when they are archived and a checkpoint needs them no more.
my @segments;
for (1 .. 6)
{
	push @segments, $node->sql('SELECT pg_walfile_name(pg_current_wal_insert_lsn())');
	$node->sql(q{CREATE TABLE x AS SELECT 1; DROP TABLE x; SELECT pg_switch_wal();});
	$node->wait_until("SELECT last_archived_wal >= '$segments[-1]' FROM pg_stat_archiver", 'archived');
	$node->sql('CHECKPOINT');
}
ok(!-e "$wal/$segments[0]", 'the checkpointer removed the segment');
$node->sql('INSERT INTO s VALUES (-1)');

my $error = $node->sql_error("\\set VERBOSITY verbose\n$job");
like($error, qr/58P01: WAL needed to read a stream is gone: range [0-9A-F]+\/[0-9A-F]+ to [0-9A-F]+\/[0-9A-F]+/, 'the error names the range');
my $missing = join(', ', $segments[0] . ($segments[-1] eq $segments[0] ? '' : " to $segments[-1]"));
like($error, qr/DETAIL:  Missing in pg_wal: $missing\./, 'and the segments');
like($error, qr/HINT:.*archive/, 'and what to do');
is($node->sql('SELECT count(*), sum(a) FROM s'), '1|-1', 'a SELECT returns what is retained');

sub bring_back
{
	my ($segment) = @_;
	return if -e "$wal/$segment";
	copy("$archive/$segment", "$wal/$segment") or die "copy of $segment: $!";
	return;
}

bring_back($segments[0]);
$error = $node->sql_error($job);
like($error, qr/WAL needed to read a stream is gone: range/, 'a hole behind it is still a hole');
like($error, qr/DETAIL:  Missing in pg_wal: $segments[1] to $segments[-1]\./, 'the segments of the hole are named');
bring_back($_) foreach @segments;
is($node->sql($job), '1001|500499', 'with all segments back the job goes on');
$node->stop;
done_testing();
