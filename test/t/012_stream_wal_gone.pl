
# I3: a job whose WAL is gone stops with an error that names the missing range; when the
# segments are copied back it goes on. A SELECT returns what is still there.
use strict;
use warnings;
use File::Copy;
use StreamEngine;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = StreamEngine->new('main', conf => "max_wal_size = '32MB'\nmin_wal_size = '32MB'\nwal_keep_size = 0\n");
my $wal = $node->data_dir . '/pg_wal';
my $kept = PostgreSQL::Test::Utils::tempdir;

$node->sql(q{CREATE FOREIGN TABLE s (a int) SERVER stream_engine;
	CREATE TABLE start_at AS SELECT stream_engine.test_start_mark('s') AS p;
	INSERT INTO s SELECT generate_series(1, 1000)});
my $job = q{SELECT count("row"), sum("row"::int) FROM stream_engine.test_source('s', (SELECT p FROM start_at), 256)};
is($node->sql($job), '1000|500500', 'the job reads while the WAL is there');

my $first = $node->sql('SELECT pg_walfile_name(pg_current_wal_insert_lsn())');
for (1 .. 6)
{
	$node->sql(q{SELECT pg_switch_wal(); CREATE TABLE x AS SELECT 1; DROP TABLE x;});
	copy("$wal/$first", "$kept/$first") or die "copy: $!" if !-e "$kept/$first";
	$node->sql('CHECKPOINT');
}
ok(!-e "$wal/$first", 'the checkpointer removed the segment');
$node->sql('INSERT INTO s VALUES (-1)');

my $error = $node->sql_error("\\set VERBOSITY verbose\n$job");
like($error, qr/58P01: WAL needed to read a stream is gone: range [0-9A-F]+\/[0-9A-F]+ to [0-9A-F]+\/[0-9A-F]+/, 'the error names the range');
like($error, qr/HINT:.*archive/, 'and what to do');
is($node->sql('SELECT count(*), sum(a) FROM s'), '1|-1', 'a SELECT returns what is retained');

# What lies between was removed as well: bring back nothing but the first segment.
copy("$kept/$first", "$wal/$first") or die "copy: $!";
$error = $node->sql_error($job);
like($error, qr/WAL needed to read a stream is gone: range/, 'a hole behind it is still a hole');
unlink "$wal/$first";
$node->stop;

# All segments back: as after a restore from an archive.
$node = StreamEngine->new('archive', conf => "max_wal_size = '32MB'\nmin_wal_size = '32MB'\nwal_keep_size = 0\n");
$wal = $node->data_dir . '/pg_wal';
$node->sql(q{CREATE FOREIGN TABLE s (a int) SERVER stream_engine;
	CREATE TABLE start_at AS SELECT stream_engine.test_start_mark('s') AS p;
	INSERT INTO s SELECT generate_series(1, 1000)});
my %segments;
for (1 .. 6)
{
	my $segment = $node->sql('SELECT pg_walfile_name(pg_current_wal_insert_lsn())');
	$node->sql(q{SELECT pg_switch_wal(); CREATE TABLE x AS SELECT 1; DROP TABLE x;});
	copy("$wal/$segment", "$kept/$segment") or die "copy: $!";
	$segments{$segment} = 1;
	$node->sql('CHECKPOINT');
}
$node->sql_error($job);
foreach my $segment (keys %segments)
{
	next if -e "$wal/$segment";
	copy("$kept/$segment", "$wal/$segment") or die "copy: $!";
}
is($node->sql($job), '1000|500500', 'with the segments back the job goes on');
$node->stop;
done_testing();
