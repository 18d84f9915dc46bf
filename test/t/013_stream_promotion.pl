
# A standby shows a stream as it shows tables; after a promotion reading goes on across the
# change of timeline, and writers the old primary took with it are forgotten.
use strict;
use warnings;
use StreamEngine;
use PostgreSQL::Test::Utils;
use Test::More;

my $primary = StreamEngine->new('primary', conf => "max_wal_senders = 4\nwal_keep_size = '1GB'\nhot_standby = on\n");
$primary->sql(q{CREATE FOREIGN TABLE s (a int, ts timestamptz OPTIONS (event_time 'true')) SERVER stream_engine OPTIONS (watermark 'ts');
	CREATE TABLE twin (a int, ts timestamptz)});
# The backup has no WAL from before it.
$primary->backup('base');
$primary->sql(q{CREATE TABLE start_at AS SELECT stream_engine.test_start_mark('s') AS p});
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->start;
bless $standby, 'StreamEngine';

sub rows
{
	my ($node, $from, $to) = @_;
	$node->sql(qq{BEGIN;
		INSERT INTO s SELECT g, '2024-01-01'::timestamptz + g * interval '1 s' FROM generate_series($from, $to) g;
		INSERT INTO twin SELECT g, '2024-01-01'::timestamptz + g * interval '1 s' FROM generate_series($from, $to) g;
		COMMIT});
	return;
}

sub same
{
	my ($node, $what) = @_;
	is($node->sql(q{SELECT count(*) FROM (SELECT * FROM s EXCEPT ALL SELECT * FROM twin) x}), '0', "$what: nothing more");
	is($node->sql(q{SELECT count(*) FROM (SELECT * FROM twin EXCEPT ALL SELECT * FROM s) x}), '0', "$what: nothing missing");
	return;
}

rows($primary, 1, 3000);
# A writer that is open when the primary goes; the next commit flushes its rows.
my ($in, $out, $err) = ("BEGIN;\nINSERT INTO s SELECT -g, '2024-01-01' FROM generate_series(1, 5000) g;\nSELECT 'open';\n", '', '');
my $writer = IPC::Run::start([ 'psql', '-XqAt', '-d', $primary->connstr('postgres') ], '<', \$in, '>', \$out, '2>', \$err);
$writer->pump until $out =~ /open/;
$primary->sql(q{BEGIN; INSERT INTO s VALUES (7000, '2024-01-02'); INSERT INTO twin VALUES (7000, '2024-01-02'); PREPARE TRANSACTION 'across'});
rows($primary, 3001, 3010);
$primary->wait_for_catchup('standby', 'replay', $primary->lsn('flush'));

is($standby->sql('SELECT pg_is_in_recovery()'), 't', 'the standby is one');
same($standby, 'on the standby');
is($standby->sql('SELECT count(*) FROM s'), '3010', 'committed rows, no others');

$primary->kill9_postmaster;
$writer->finish;
$standby->promote;
rows($standby, 3011, 6000);
$standby->sql(q{COMMIT PREPARED 'across'});
same($standby, 'after the promotion');
my $job = q{SELECT count("row"), max(wm) FROM stream_engine.test_source('s', (SELECT p FROM start_at), 100, %s)};
is($standby->sql(sprintf $job, 'false'), '6001|2024-01-02 00:00:00+00', 'a job reads across the promotion');
is($standby->sql(sprintf $job, 'true'), '6001|2024-01-02 00:00:00+00', 'from any stored position');
is($standby->sql(q{SELECT get_byte(p, 4), get_byte(end_position, 4) FROM start_at, stream_engine.test_source_end('s', p)}),
	'1|2', 'positions name their timelines');
like($standby->sql_error(q{SELECT * FROM start_at, stream_engine.test_source_end('s', set_byte(p, 4, 9))}),
	qr/of timeline 9 is not in this server's history/, 'a position of another history is refused');
$standby->stop;
done_testing();
