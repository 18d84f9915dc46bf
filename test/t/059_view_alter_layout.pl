# test/t/059_view_alter_layout.pl: options under which the state is kept in another way, and the worker dies while it converts it.
#
# Windows in slices become whole ones at the mark of an ALTER. Whoever dies before that commit leaves the former state and
# the former options, and the mark is met again; whoever dies after it finds the new ones. So each row counts under the
# options of its place, and what was final stays.
use strict;
use warnings;
use StreamEngine;
use PostgreSQL::Test::Utils;
use Test::More;

srand($ENV{SEED} // 4711);
my $node = StreamEngine->new('layout', conf => "stream_engine.restart_delay_min = '1ms'\nstream_engine.checkpoint_interval = '20ms'\n");

$node->sql(q{
CREATE FOREIGN TABLE s (n int, k int, ts timestamptz OPTIONS (event_time 'true')) SERVER stream_engine OPTIONS (watermark 'ts - interval ''8 seconds''');
CREATE TABLE twin (n int, k int, ts timestamptz, lateness interval);

CREATE PROCEDURE alter_all(emit text, late interval) LANGUAGE plpgsql AS $$
DECLARE
	v text;
BEGIN
	FOREACH v IN ARRAY ARRAY['h', 'c'] LOOP
		EXECUTE format('ALTER MATERIALIZED VIEW %I SET (stream_engine.emit = %L, stream_engine.allowed_lateness = %L)', v, emit, late);
	END LOOP;
END $$;

-- One transaction, with the ALTER in the middle of its rows.
CREATE PROCEDURE write(rows int, emit text DEFAULT NULL, late interval DEFAULT NULL) LANGUAGE plpgsql AS $$
DECLARE
	last int = coalesce((SELECT max(n) FROM twin), 0);
	lateness interval = coalesce((SELECT t.lateness FROM twin t ORDER BY n DESC LIMIT 1), '0');
BEGIN
	FOR i IN last + 1 .. last + rows LOOP
		IF i = last + rows / 2 AND emit IS NOT NULL THEN
			CALL alter_all(emit, late);
			lateness = late;
		END IF;
		INSERT INTO twin VALUES (i, i * 7 % 5, timestamptz '2024-01-01' + (i / 4 - i * i % 23) * interval '0.9 second', lateness);
		INSERT INTO s SELECT n, k, ts FROM twin WHERE n = i;
	END LOOP;
END $$;

-- A row is late for what ends by its watermark less the lateness; and for what was given up behind a row before it.
CREATE VIEW judged AS
  SELECT n, k, ts, greatest(wm - lateness, max(h - lateness) OVER (ORDER BY n ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)) AS horizon
  FROM (SELECT *, max(ts - interval '8 seconds') OVER (ORDER BY n) AS h,
               coalesce(max(ts - interval '8 seconds') OVER (ORDER BY n ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), '-infinity') AS wm FROM twin) w;
});

my %aggregates = (
	h => [ q{count(*) AS rows, sum(n) AS total, variance(n) AS v}, q{hop(ts, interval '4 seconds', interval '10 seconds')} ],
	c => [ q{count(*) AS rows, max(n::text) AS top, avg(n) AS a}, q{cumulate(ts, interval '3 seconds', interval '12 seconds')} ]);

sub query
{
	my ($view, $source, $condition) = @_;
	my ($what, $windows) = @{ $aggregates{$view} };
	return "SELECT window_start, window_end, k, $what FROM $source, $windows WHERE $condition GROUP BY window_start, window_end, k";
}

sub create
{
	$node->sql('CREATE MATERIALIZED VIEW ' . $_ . ' WITH (stream_engine.continuous) AS ' . query($_, 's', 'true')) foreach qw(h c);
	return;
}

# Everything is final, and right.
sub finish
{
	my ($what) = @_;
	$node->sql(q{SELECT stream_engine.emit_watermark('s', 'infinity')});
	$node->refresh(qw(h c));
	$node->equals_oracle($_, query($_, 'judged', 'window_end > horizon'), $what) foreach qw(h c);
	is($node->sql(q{SELECT count(*) FROM stream_engine.jobs WHERE next_options IS NOT NULL OR NOT options && '{emit=on_close,emit=on_update,emit=early 2 s,emit=every 3 rows}'}),
		'0', "all that was asked for counts: $what");
	is($node->sql(q{SELECT count(*) FROM stream_engine.jobs WHERE view IN ('h'::regclass, 'c'::regclass) AND state = 'running'}), '2', "both run: $what");
	return;
}

sub drop
{
	$node->sql('DROP MATERIALIZED VIEW h; DROP MATERIALIZED VIEW c; TRUNCATE twin');
	return;
}

# What is said at random; late results come with each commit.
my @emit = ("'on_update', '0'", "'early 2 seconds', '0'", "'every 3 rows', '0'", "'on_close', '5 s'", "'on_update', '20 s'", "'early 2 s', '7 s'");

sub said
{
	return $emit[ int(rand(@emit)) ];
}

# What the log says so far about a point having acted.
sub acted
{
	my ($point, $action) = @_;
	my $log = slurp_file($node->logfile);
	return scalar(() = $log =~ /fault point "\Q$point\E"/g) if $action ne 'crash';
	return scalar(() = $log =~ /terminated by signal 9/g);
}

foreach my $point (qw(convert-begin convert-adopted convert-commit options-taken commit-begin commit-before-position worker-restored))
{
	foreach my $action (qw(error fatal crash))
	{
		my $how = said();
		my $batch = (1, 7, 1000)[ int(rand(3)) ];
		my $what = "$action at $point, $how, batches of $batch";

		$node->sql($_) foreach "ALTER SYSTEM SET stream_engine.batch_rows = $batch", 'SELECT pg_reload_conf()';
		create();
		$node->sql('CALL write(20)') foreach 1 .. 3;
		$node->refresh(qw(h c));
		my $before = acted($point, $action);
		$node->fault_set($point, $action, 0, 1 + int(rand(2)));
		$node->psql('postgres', "CALL write(10, $how)");
		$node->wait_ready;
		# A crash at an earlier commit has taken the session with it: then it is said once more.
		$node->psql('postgres', "CALL write(10, $how)")
		  if $node->sql(q{SELECT count(*) FROM stream_engine.jobs WHERE coalesce(next_options, options) = '{continuous=true}'}) ne '0';
		$node->wait_ready;
		$node->psql('postgres', 'CALL write(20)');
		$node->wait_ready;
		$node->refresh(qw(h c));
		cmp_ok(acted($point, $action), '>', $before, "happened: $what");
		$node->fault_clear;
		$node->sql('CALL write(20)');
		finish($what);
		drop();
	}
}

foreach my $point (qw(options-met convert-adopted convert-commit worker-restored))
{
	my $how = said();

	create();
	$node->sql('CALL write(20)') foreach 1 .. 3;
	# Before the state is converted, when it is in memory, when it is in chunks, after that.
	$node->fault_set($point, 'wait');
	$node->sql("CALL write(10, $how)");
	$node->sql('CALL write(10)');
	$node->wait_fault($point);
	$node->kill9_postmaster;
	$node->start;
	$node->sql('CALL write(20)');
	finish("kill -9 of all at $point: $how");
	drop();
}

# A dump has the state as it was written, and the options that come: where it goes on they are a mark of that log.
create();
my $tumbled = q{SELECT window_end, count(*) AS rows FROM %s, tumble(ts, interval '10 seconds') WHERE %s GROUP BY window_end};
$node->sql('CREATE MATERIALIZED VIEW t WITH (stream_engine.continuous, stream_engine.emit = on_update) AS ' . sprintf($tumbled, 's', 'true'));
$node->sql('CALL write(20)') foreach 1 .. 4;
$node->refresh(qw(h c t));
$node->sql('SELECT stream_engine.stop(view) FROM stream_engine.jobs');
$node->sql(q{SELECT stream_engine.wait_state(view, 'stopped') FROM stream_engine.jobs});
$node->sql(q{CALL alter_all('on_update', '5 s')});
my $options = q{SELECT count(*) FROM stream_engine.jobs WHERE options = '{continuous=true}' AND next_options @> '{emit=on_update}'};
is($node->sql($options), '2', 'asked for, and not in effect yet');
my $file = PostgreSQL::Test::Utils::tempdir . '/dump.sql';
command_ok([ 'pg_dump', '-d', $node->connstr('postgres'), '-f', $file ], 'pg_dump');
$node->sql('CREATE DATABASE copy');
command_ok([ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('copy'), '-f', $file ], 'restored');
is($node->sql($options, 'copy'), '2', 'the copy has both');
like($node->sql_error(q{ALTER MATERIALIZED VIEW h SET (stream_engine.allowed_lateness = '20 s')}, 'copy'),
	qr/cannot be changed like this while it is dormant/, 'a dormant view cannot be altered to what its state must be converted for');
$node->sql(q{ALTER MATERIALIZED VIEW c RESET (stream_engine.emit, stream_engine.allowed_lateness)}, 'copy');
$node->sql(q{ALTER MATERIALIZED VIEW t RESET (stream_engine.emit)}, 'copy');
$node->sql(q{SELECT stream_engine.resume_restored(view, 'continue') FROM stream_engine.jobs}, 'copy');
$node->sql(q{SELECT stream_engine.start(view) FROM stream_engine.jobs}, 'copy');
$node->sql(q{INSERT INTO twin SELECT n + 1, k, ts, '5 s' FROM twin ORDER BY n DESC LIMIT 1; INSERT INTO s SELECT n, k, ts FROM twin ORDER BY n DESC LIMIT 1; CALL write(20)}, 'copy');
$node->sql(q{SELECT stream_engine.emit_watermark('s', 'infinity'); REFRESH MATERIALIZED VIEW h; REFRESH MATERIALIZED VIEW c; REFRESH MATERIALIZED VIEW t}, 'copy');

sub differences
{
	my ($view, $query) = @_;
	return $node->sql("SELECT count(*) FROM ((TABLE $view EXCEPT ALL $query) UNION ALL ($query EXCEPT ALL TABLE $view)) d", 'copy');
}

is(differences('h', query('h', 'judged', 'window_end > horizon')), '0', 'the copy has converted what the mark that was left behind asked for');
$node->sql(q{UPDATE twin SET lateness = '0'}, 'copy');
is(differences('c', query('c', 'judged', 'window_end > horizon')), '0', 'what was taken back meanwhile is not converted');
is(differences('t', sprintf($tumbled, 'judged', 'window_end > horizon')), '0', 'early rows that were there are updated, and no others come');
is($node->sql('SELECT options FROM stream_engine.jobs ORDER BY view::text', 'copy'),
	"{continuous=true}\n{continuous=true,emit=on_update,\"allowed_lateness=5 s\"}\n{continuous=true,updating=true}", 'as asked for');

$node->stop;
done_testing();
