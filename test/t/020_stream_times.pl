# test/t/020_stream_times.pl: bad event times under load while the server is killed: every row is in the stream, passed,
# counted or a dead letter, with its transaction; no view's watermark is moved by one. A standby tells the same times.
use strict;
use warnings;
use lib "$ENV{SE_TREE}/test/lib";
use PostgreSQL::Test::Utils;
use StreamEngine;
use Test::More;

my $node = StreamEngine->new('times', conf => q{
stream_engine.checkpoint_interval = '20ms'
stream_engine.restart_delay_min = '10ms'
restart_after_crash = on
max_wal_senders = 4
wal_keep_size = '1GB'
hot_standby = on
});
$node->sql(q{
	CREATE FOREIGN TABLE s (client int, n int, ts timestamptz OPTIONS (event_time 'true')) SERVER stream_engine
		OPTIONS (watermark 'ts - interval ''30 days''', null_time 'drop', infinite_time 'dead_letter', max_future '1 day', future_time 'pass');
	CREATE TABLE twin (client int, n int, ts timestamptz);
	CREATE MATERIALIZED VIEW windows WITH (stream_engine.continuous) AS
		SELECT client, window_start, count(*) AS c, sum(n) AS s FROM s, tumble(ts, '1 minute') GROUP BY client, window_start;
	CREATE MATERIALIZED VIEW stamps WITH (stream_engine.continuous) AS SELECT client, n, ts, current_watermark('s') AS h FROM s;

	-- rows of which about one in five is bad, in transactions some of which are rolled back, in part or whole
	CREATE PROCEDURE produce(me int, first int, transactions int) LANGUAGE plpgsql AS $$
	DECLARE k int := first;
	BEGIN
		FOR i IN 1 .. transactions LOOP
			BEGIN
				WITH rows AS (
					SELECT me AS client, k + g AS n, CASE (k + g) * 7919 % 23
						WHEN 1 THEN NULL WHEN 2 THEN 'infinity' WHEN 3 THEN '2100-01-01'::timestamptz + g * interval '1 s' WHEN 4 THEN '-infinity'
						ELSE '2024-01-01'::timestamptz + (k + g - (k + g) * 31 % 17) * interval '1 s' END AS ts
					FROM generate_series(1, 8) g),
				written AS (INSERT INTO s SELECT * FROM rows ORDER BY n)
				INSERT INTO twin SELECT * FROM rows;
				IF i % 7 = 3 THEN
					RAISE EXCEPTION 'not these';
				END IF;
			EXCEPTION WHEN raise_exception THEN
				NULL;
			END;
			k := k + 8;
			IF i % 11 = 5 THEN ROLLBACK; ELSE COMMIT; END IF;
		END LOOP;
	END $$;
});

# The clients of a round are killed with their server.
foreach my $round (0 .. 3)
{
	my @clients;
	foreach my $client (1 .. 4)
	{
		my ($in, $out) = ('', '');
		push @clients, IPC::Run::start([ 'psql', '-XqAt', '-d', $node->connstr('postgres'), '-c', 'SET client_min_messages = error',
			'-c', "CALL produce($client, $round * 100000, " . ($round == 3 ? 60 : 100000) . ")" ], '<', \$in, '>', \$out, '2>', \$out);
	}
	if ($round < 3)
	{
		my $rows = 1000 * ($round + 1);
		$node->wait_until("SELECT count(*) > $rows FROM twin", "rows come in round $round");
		if ($round == 1) { $node->kill9($node->wait_worker('stream_engine task')); $node->wait_ready; }
		else { $node->kill9_postmaster; $node->start; }
	}
	foreach my $client (@clients) { eval { $client->finish }; }
}
$node->wait_ready;

my %expected = (
	s => q{SELECT client, n, ts FROM twin WHERE isfinite(ts)},
	stamps => q{SELECT client, n, ts FROM twin WHERE isfinite(ts)});
$node->refresh('windows', 'stamps');
foreach my $what (sort keys %expected)
{
	my $have = "SELECT client, n, ts FROM $what";
	is($node->sql("SELECT count(*) FROM (($have EXCEPT ALL $expected{$what}) UNION ALL ($expected{$what} EXCEPT ALL $have)) d"), '0',
		"$what: the rows that were not left out, and no other");
}
cmp_ok($node->sql(q{SELECT count(*) FROM twin WHERE ts > '2090-01-01' AND isfinite(ts)}), '>', 50, 'rows were passed');
is($node->sql('SELECT coalesce(sum(rows), 0) FROM stream_engine.dropped_rows'), $node->sql('SELECT count(*) FROM twin WHERE ts IS NULL'),
	'dropped rows are counted, each once');
cmp_ok($node->sql('SELECT count(*) FROM stream_engine.dropped_row_counts'), '<=', 20, 'by about as many counts as there were sessions');
is($node->sql(q{SELECT count(*) FROM (
		(SELECT ("row"->>'client')::int, ("row"->>'n')::int, ("row"->>'ts')::timestamptz FROM stream_engine.dead_letters EXCEPT ALL
		 SELECT client, n, ts FROM twin WHERE NOT isfinite(ts)) UNION ALL
		(SELECT client, n, ts FROM twin WHERE NOT isfinite(ts) EXCEPT ALL
		 SELECT ("row"->>'client')::int, ("row"->>'n')::int, ("row"->>'ts')::timestamptz FROM stream_engine.dead_letters)) d}),
	'0', 'dead letters are the infinite ones');
my $watermark = $node->sql(q{SELECT max(ts) - interval '30 days' FROM twin WHERE ts < '2090-01-01' AND isfinite(ts)});
is($node->sql(q{SELECT DISTINCT watermark FROM stream_engine.jobs}), $watermark, 'no passed row has moved a watermark');
is($node->sql(q{SELECT current_watermark('s')}), $watermark, 'nor that of the stream');
is($node->sql(q{SELECT count(*) FROM stamps WHERE h > (SELECT watermark FROM stream_engine.jobs LIMIT 1)}), '0', 'nor anybody\'s stamp');

# A standby says the same of time as its primary, and goes on when it is promoted.
my $times = q{SELECT current_watermark('s'), (SELECT sum(rows) FROM stream_engine.lateness('s')) > 0,
	(SELECT string_agg(reader || ' ' || watermark, ', ' ORDER BY reader::text) FROM stream_engine.watermarks),
	(SELECT string_agg(view || ' ' || watermark, ', ' ORDER BY view::text) FROM stream_engine.sources),
	(SELECT string_agg(view || ' ' || watermark, ', ' ORDER BY view::text) FROM stream_engine.jobs)};
$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->start;
bless $standby, 'StreamEngine';
$node->sql(q{INSERT INTO s VALUES (9, 9, '2024-06-01'), (9, 10, '2100-01-01')});
$node->refresh('windows', 'stamps');
$node->wait_for_catchup($standby);
$standby->wait_until(q{SELECT current_watermark('s') = '2024-05-02 00:00+00'}, 'the row is replayed');
$standby->wait_until(q{SELECT count(*) = 2 FROM stream_engine.watermarks WHERE watermark = '2024-05-02 00:00+00'}, 'the views\' positions are');
is($standby->sql($times), $node->sql($times), 'a standby says the same of time');
like($standby->sql(q{SELECT string_agg(DISTINCT held_back_by, ' ') FROM stream_engine.watermarks}), qr/does not run/, 'and that its views do not run');
$node->stop;
$standby->promote;
$standby->sql(q{INSERT INTO s VALUES (9, 11, '2024-07-01'), (9, 12, '2100-01-01'), (9, 13, NULL)});
is($standby->sql(q{SELECT current_watermark('s')}), '2024-06-01 00:00:00+00', 'promoted, it goes on');
$standby->sql(q{INSERT INTO twin VALUES (9, 9, '2024-06-01'), (9, 10, '2100-01-01'), (9, 11, '2024-07-01'), (9, 12, '2100-01-01');
	SELECT stream_engine.emit_watermark('s', 'infinity')});
$standby->refresh('windows');
my $windows = q{SELECT client, window_start, count(*), sum(n) FROM twin, tumble(ts, '1 minute') WHERE isfinite(ts) GROUP BY 1, 2};
is($standby->sql("SELECT count(*) FROM ((TABLE windows EXCEPT ALL ($windows)) UNION ALL (($windows) EXCEPT ALL TABLE windows)) d"), '0',
	'at the end of the input every window is there, those of passed rows too');
$standby->stop;
done_testing();
