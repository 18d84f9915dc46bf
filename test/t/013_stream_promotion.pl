
# A standby shows a stream as it shows tables; after a promotion reading goes on across the
# change of timeline, and writers the old primary took with it are forgotten. So are the marks of the clock read:
# windows that it closes are the same as those of a server that stayed, whatever the new server's clock says.
use strict;
use warnings;
use StreamEngine;
use PostgreSQL::Test::Utils;
use Test::More;

my $primary = StreamEngine->new('primary', conf => "max_wal_senders = 4\nwal_keep_size = '1GB'\nhot_standby = on\nstream_engine.tick_interval = '50ms'\n");
$primary->sql(q{CREATE FOREIGN TABLE s (a int, ts timestamptz OPTIONS (event_time 'true')) SERVER stream_engine OPTIONS (watermark 'ts');
	CREATE TABLE twin (a int, ts timestamptz);
	CREATE FOREIGN TABLE p (a int) SERVER stream_engine;
	CREATE FOREIGN TABLE quiet (ts timestamptz OPTIONS (event_time 'true')) SERVER stream_engine
		OPTIONS (watermark 'ts', idle_timeout '200 ms', idle_action 'advance')});
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

my $windows = q{SELECT window_start, window_end, count(*) AS n, sum(a) AS sum FROM p, tumble(%s, '100 ms') GROUP BY 1, 2};
$primary->sql(sprintf(qq{CREATE MATERIALIZED VIEW by_clock WITH (stream_engine.continuous) AS $windows;}, 'proctime()') . q{
	CREATE MATERIALIZED VIEW times WITH (stream_engine.continuous) AS SELECT a, proctime() AS at FROM p;
	CREATE MATERIALIZED VIEW silence WITH (stream_engine.continuous) AS
		SELECT window_start, count(*) AS n FROM quiet, tumble(ts, '1 s') GROUP BY window_start, window_end});
sub by_clock { my ($node, @a) = @_; $node->sql(join '', map { "INSERT INTO p VALUES ($_);" } @a); return; }
by_clock($primary, 1 .. 50);
$primary->sql(q{INSERT INTO quiet VALUES ('2024-01-01')});
$primary->wait_until('SELECT count(*) = 1 FROM silence', 'an idle stream closes its window');
$primary->wait_until('SELECT count(*) > 0 FROM by_clock', 'the clock closes windows');
$primary->sql(q{INSERT INTO quiet VALUES ('2024-01-02')});
by_clock($primary, 51 .. 60);

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
my $job = q{SELECT count("row") FILTER (WHERE "row" <> 'tick'), max(wm) FROM stream_engine.test_source('s', (SELECT p FROM start_at), 100, %s)};
is($standby->sql(sprintf $job, 'false'), '6001|2024-01-02 00:00:00+00', 'a job reads across the promotion');
is($standby->sql(sprintf $job, 'true'), '6001|2024-01-02 00:00:00+00', 'from any stored position');
is($standby->sql(q{SELECT get_byte(p, 4), get_byte(end_position, 4) FROM start_at, stream_engine.test_source_end('s', p)}),
	'1|2', 'positions name their timelines');
like($standby->sql_error(q{SELECT * FROM start_at, stream_engine.test_source_end('s', set_byte(p, 4, 9))}),
	qr/of timeline 9 is not in this server's history/, 'a position of another history is refused');

# The new server's clock is an hour behind. Processing time stands still, then goes on with it.
$standby->sql(q{SELECT stream_engine.test_clock_set(clock_timestamp() - interval '1 hour')});
by_clock($standby, 61 .. 70);
$standby->sql(q{SELECT stream_engine.test_clock_set(NULL)});
by_clock($standby, 71 .. 80);
my $end = $standby->sql('SELECT clock_timestamp()');
$standby->wait_until(qq{SELECT watermark > '$end'::timestamptz + interval '1 s' FROM stream_engine.sources WHERE view = 'by_clock'::regclass},
	'the clock has passed the last windows');
$standby->refresh('times', 'by_clock');
is($standby->sql('SELECT count(*), count(DISTINCT a), max(a) FROM times'), '80|80|80', 'each row once');
is($standby->sql('SELECT count(*) FROM times t JOIN times u ON t.a < u.a AND t.at > u.at'), '0', 'processing time never goes back');
my $oracle = sprintf($windows, 'at') =~ s/FROM p,/FROM times,/r;
is($standby->sql(qq{SELECT count(*) FROM ((TABLE by_clock EXCEPT ALL ($oracle)) UNION ALL (($oracle) EXCEPT ALL TABLE by_clock)) d}),
	'0', 'windows over processing time equal the query over the times');
$standby->wait_until('SELECT count(*) = 2 FROM silence', 'the window that was open closes by the new clock');
is($standby->sql('SELECT string_agg(n::text, $$ $$) FROM silence'), '1 1', 'with its row once');
is($standby->sql('SELECT sum(late_rows) FROM stream_engine.jobs'), '0', 'no row was late');
$standby->stop;
done_testing();
