# test/t/059_view_alter_options.pl: options altered among rows, and the worker dies around the mark: each row counts under those of its place.
#
# A window takes late rows for 0, 5 or 20 seconds, results come in ways that change, and rows that
# fail are dropped or kept: all of it altered again and again, in transactions of its own and among the rows of
# one. At every point round a mark a worker dies; what was final stays, and the twin knows what was said when.
use strict;
use warnings;
use lib "$ENV{SE_TREE}/test/lib";
use StreamEngine;
use PostgreSQL::Test::Utils;
use Test::More;

srand($ENV{SEED} // 4711);
my $node = StreamEngine->new('alter', conf => "stream_engine.restart_delay_min = '1ms'\nstream_engine.checkpoint_interval = '20ms'\n");

$node->sql(q{
SET client_min_messages = warning;
CREATE FOREIGN TABLE s (n int, k int, ts timestamptz OPTIONS (event_time 'true')) SERVER stream_engine OPTIONS (watermark 'ts - interval ''1 second''');
CREATE TABLE twin (n int, k int, ts timestamptz, lateness interval, kept bool);
CREATE TABLE said (lateness interval, kept bool);
INSERT INTO said VALUES ('0', false);
CREATE MATERIALIZED VIEW t WITH (stream_engine.continuous) AS
  SELECT window_start, window_end, k, count(*) AS rows, sum(n) AS total FROM s, tumble(ts, interval '10 seconds') GROUP BY window_start, window_end, k;
CREATE MATERIALIZED VIEW h WITH (stream_engine.continuous, stream_engine.emit = on_update) AS
  SELECT window_end, count(*) AS rows, sum(n) AS total FROM s, hop(ts, interval '4 seconds', interval '10 seconds') GROUP BY window_end;
CREATE MATERIALIZED VIEW e WITH (stream_engine.continuous, stream_engine.on_error = skip) AS SELECT n, 100 / k AS part FROM s;

CREATE PROCEDURE alter_all(emit text, late interval, keep bool) LANGUAGE plpgsql AS $$
DECLARE
	v text;
BEGIN
	UPDATE said SET lateness = late, kept = keep;
	FOREACH v IN ARRAY ARRAY['t', 'h'] LOOP
		EXECUTE format('ALTER MATERIALIZED VIEW %I SET (stream_engine.emit = %L, stream_engine.allowed_lateness = %L)', v, emit, late);
	END LOOP;
	EXECUTE format('ALTER MATERIALIZED VIEW e SET (stream_engine.on_error = %s)', CASE WHEN keep THEN 'dead_letter' ELSE 'skip' END);
END $$;

CREATE PROCEDURE write(rows int, emit text DEFAULT NULL, late interval DEFAULT NULL, keep bool DEFAULT NULL) LANGUAGE plpgsql AS $$
DECLARE
	i int = coalesce((SELECT max(n) FROM twin), 0);
BEGIN
	FOR row IN 1 .. rows LOOP
		i = i + 1;
		IF row = rows / 2 AND emit IS NOT NULL THEN
			CALL alter_all(emit, late, keep);
		END IF;
		INSERT INTO twin SELECT i, i * 7 % 5, timestamptz '2024-01-01' + (i / 4 - i * i % 23) * interval '0.9 second', lateness, kept FROM said;
		INSERT INTO s SELECT n, k, ts FROM twin WHERE n = i;
	END LOOP;
END $$;

-- A row is late for what ends by its watermark less the lateness; and for what was given up behind a row before it.
CREATE VIEW judged AS
  SELECT n, k, ts, greatest(wm - lateness, max(h - lateness) OVER (ORDER BY n ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)) AS horizon
  FROM (SELECT *, max(ts - interval '1 second') OVER (ORDER BY n) AS h,
               coalesce(max(ts - interval '1 second') OVER (ORDER BY n ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), '-infinity') AS wm FROM twin) w;
CREATE VIEW reached AS SELECT max(ts - interval '21 seconds') FROM twin;
CREATE VIEW t_final AS SELECT * FROM t WHERE window_end <= (TABLE reached);
CREATE VIEW h_final AS SELECT * FROM h WHERE window_end <= (TABLE reached);
});

my %query = (
	t => q{SELECT window_start, window_end, k, count(*) AS rows, sum(n) AS total FROM judged, tumble(ts, interval '10 seconds') WHERE window_end > horizon GROUP BY 1, 2, 3},
	h => q{SELECT window_end, count(*) AS rows, sum(n) AS total FROM judged, hop(ts, interval '4 seconds', interval '10 seconds') WHERE window_end > horizon GROUP BY 1},
	e => 'SELECT n, 100 / k AS part FROM twin WHERE k <> 0');
my @emit = ('on_close', 'on_update', 'early 2 seconds', 'every 3 rows', 'early 3 s, late 2 s');

# What is said at random; a late interval needs lateness.
sub said
{
	my $late = ('0', '5 s', '20 s')[ int(rand(3)) ];
	my $emit = $emit[ int(rand($late eq '0' ? 4 : 5)) ];
	return ("'$emit', '$late'", int(rand(2)) ? 'true' : 'false');
}

sub check
{
	my ($what) = @_;
	# Of windows, what is final by the watermark and the longest lateness: late results may be collected up to then.
	$node->refresh(qw(t h e));
	foreach my $view (qw(t h))
	{
		$node->equals_oracle("${view}_final", "SELECT * FROM ($query{$view}) q WHERE window_end <= (TABLE reached)", $what);
	}
	$node->equals_oracle('e', $query{e}, $what);
	is($node->sql(q{SELECT array_agg(((row::jsonb)->>'n')::int ORDER BY ((row::jsonb)->>'n')::int) FROM stream_engine.dead_letters}),
		$node->sql('SELECT array_agg(n ORDER BY n) FROM twin WHERE k = 0 AND kept'), "rows kept: $what");
	return;
}

$node->sql('CALL write(50)');
foreach my $point (qw(options-met options-taken commit-before-position commit-done worker-start worker-restored round-begin))
{
	foreach my $action (qw(error fatal crash))
	{
		my $what = "$action at $point";
		my ($how, $keep) = said();
		my ($then, $keep_then) = said();

		# Workers begin all the time: each with batches of this many rows.
		my $batch = (1, 7, 1000)[ int(rand(3)) ];
		$node->sql($_) foreach "ALTER SYSTEM SET stream_engine.batch_rows = $batch", 'SELECT pg_reload_conf()';
		$what .= ", batches of $batch";
		$node->fault_set($point, $action, int(rand(3)), 1);
		# The crash may take this session with it: then neither the rows nor the options are there.
		$node->psql('postgres', "CALL write(8, $how, $keep)");
		$node->psql('postgres', "CALL alter_all($then, $keep_then)");
		$node->psql('postgres', 'CALL write(6)');
		$node->wait_ready;
		($how, $keep) = said();
		$node->psql('postgres', "BEGIN; CALL write(5, $then, $keep_then); CALL write(5, $how, $keep); COMMIT");
		$node->wait_ready;
		$node->refresh(qw(t h e));
		$node->fault_clear($point);
		check($what);
	}
}
foreach my $round (1 .. 4)
{
	my ($how, $keep) = said();

	for my $i (1 .. 3)
	{
		$node->sql("CALL write(8, $how, $keep)");
		($how, $keep) = said();
		$node->sql("CALL alter_all($how, $keep)");
	}
	$node->kill9_postmaster;
	$node->start;
	check("kill -9, round $round");
}
$node->sql(q{SELECT stream_engine.emit_watermark('s', 'infinity')});
$node->refresh(qw(t h));
$node->equals_oracle($_, $query{$_}, 'at the end') foreach qw(t h);
is($node->sql(q{SELECT string_agg(view::text || next_options::text, ' ') FROM stream_engine.jobs}), '', 'all that was asked for counts');

# A dump takes along what counts and what comes. The mark is not in the log of the copy: there, all that was asked for counts.
$node->sql(q{CREATE FOREIGN TABLE d (n int, ts timestamptz OPTIONS (event_time 'true')) SERVER stream_engine OPTIONS (watermark 'ts');
CREATE MATERIALIZED VIEW dumped WITH (stream_engine.continuous) AS SELECT window_end, count(*) AS rows FROM d, tumble(ts, interval '10 seconds') GROUP BY window_end;
INSERT INTO d VALUES (1, '2024-01-01 00:00:01'), (2, '2024-01-01 00:00:11')});
$node->refresh('dumped');
$node->fault_set('source-poll', 'wait');
$node->sql(q{INSERT INTO d VALUES (3, '2024-01-01 00:00:05')});
$node->wait_fault('source-poll');
$node->sql(q{ALTER MATERIALIZED VIEW dumped SET (stream_engine.allowed_lateness = '1 hour')});
my $options = q{SELECT options @> '{"allowed_lateness=1 h"}', next_options @> '{"allowed_lateness=1 h"}', state FROM stream_engine.jobs WHERE view = 'dumped'::regclass};
my $file = PostgreSQL::Test::Utils::tempdir . '/dump.sql';
is($node->sql($options), 'f|t|running', 'asked for, and not in effect yet');
command_ok([ 'pg_dump', '-d', $node->connstr('postgres'), '-f', $file ], 'pg_dump');
$node->fault_clear('source-poll');
$node->refresh('dumped');
is($node->sql($options), 't||running', 'in effect');
is($node->sql('SELECT * FROM dumped ORDER BY 1'), '2024-01-01 00:00:10+00|1', 'the row before the mark is late');
$node->sql('CREATE DATABASE copy');
command_ok([ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('copy'), '-f', $file ], 'restored');
is($node->sql($options, 'copy'), 'f|t|dormant', 'the copy has both');
$node->sql(q{SELECT stream_engine.resume_restored('dumped', 'continue'); SELECT stream_engine.wait_state('dumped', 'running')}, 'copy');
is($node->sql($options, 'copy'), 't||running', 'all that was asked for counts where it goes on');
$node->sql(q{INSERT INTO d VALUES (4, '2024-01-01 00:00:06'); REFRESH MATERIALIZED VIEW dumped}, 'copy');
is($node->sql('SELECT * FROM dumped ORDER BY 1', 'copy'), '2024-01-01 00:00:10+00|1', 'what was final stays so');
$node->sql(q{INSERT INTO d VALUES (5, '2024-01-01 00:00:21'), (6, '2024-01-01 00:00:12'); REFRESH MATERIALIZED VIEW dumped}, 'copy');
is($node->sql('SELECT * FROM dumped ORDER BY 1', 'copy'), "2024-01-01 00:00:10+00|1\n2024-01-01 00:00:20+00|2", 'and what was open takes late rows');
$node->sql(q{ALTER MATERIALIZED VIEW dumped RESET (stream_engine.allowed_lateness); REFRESH MATERIALIZED VIEW dumped}, 'copy');

$node->stop;
done_testing();
