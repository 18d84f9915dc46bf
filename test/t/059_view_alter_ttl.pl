# test/t/059_view_alter_ttl.pl: views get a state_ttl and lose it among rows, and the worker dies while their groups go over.
#
# By event time each group is what the rows and changes of its life make of it; by the clock, with a day to live, none
# is forgotten here. What is said stands in a table, in the transaction that says it: so after a crash both know the same.
use strict;
use warnings;
use lib "$ENV{SE_TREE}/test/lib";
use StreamEngine;
use PostgreSQL::Test::Utils;
use Test::More;

srand($ENV{SEED} // 4711);
my $node = StreamEngine->new('alter_ttl', conf => "stream_engine.restart_delay_min = '1ms'\nstream_engine.checkpoint_interval = '20ms'\n");

$node->sql(q{
SET client_min_messages = warning;
CREATE FOREIGN TABLE s (n int, k int, ts timestamptz OPTIONS (event_time 'true')) SERVER stream_engine OPTIONS (watermark 'ts - interval ''1 second''');
CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous) AS
  SELECT k, count(*) AS c, sum(n) AS total, count(DISTINCT n % 5) AS d, array_agg(n) AS list, stddev(n::numeric) AS dev FROM s GROUP BY k;
-- Rows; or from then on groups are forgotten by event time, are kept, and whether the rows of the forgotten are deleted.
CREATE TABLE happened (n serial, k int, ts timestamptz, ttl interval, is_deleted bool);
CREATE TABLE groups (k int, over timestamptz, list int[]);
CREATE TABLE defined (k int, list int[]);
CREATE VIEW should AS SELECT k, count(*) AS c, sum(n) AS total, count(DISTINCT n % 5) AS d, array_agg(n ORDER BY o) AS list, stddev(n::numeric) AS dev
  FROM defined, unnest(list) WITH ORDINALITY u (n, o) GROUP BY k;

CREATE FUNCTION define() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	h happened;
	stamp timestamptz = '-infinity';
	life interval;
	deletes bool = false;
	horizon timestamptz = '-infinity';
BEGIN
	TRUNCATE groups, defined;
	FOR h IN SELECT * FROM (TABLE happened UNION ALL SELECT NULL, NULL, NULL, NULL, NULL) x ORDER BY n NULLS LAST LOOP
		IF life IS NOT NULL THEN
			DELETE FROM defined d USING groups g WHERE deletes AND g.k = d.k AND g.over <= stamp;
			DELETE FROM groups WHERE over <= stamp;
		END IF;
		IF h.k IS NULL THEN
			UPDATE groups SET over = CASE WHEN h.ttl IS NOT NULL THEN stamp + h.ttl END WHERE life IS NULL OR h.ttl IS NULL;
			life = h.ttl;
			deletes = h.is_deleted;
		ELSIF life IS NULL OR h.ts + life > stamp OR EXISTS (SELECT FROM groups g WHERE g.k = h.k) THEN
			INSERT INTO groups SELECT h.k, NULL, '{}' WHERE NOT EXISTS (SELECT FROM groups g WHERE g.k = h.k);
			UPDATE groups g SET list = g.list || h.n, over = greatest(g.over, h.ts + life) WHERE g.k = h.k;
			DELETE FROM defined d WHERE d.k = h.k;
			INSERT INTO defined SELECT g.k, g.list FROM groups g WHERE g.k = h.k;
		END IF;
		stamp = greatest(stamp, h.ts - interval '1 second');
	END LOOP;
END $$;

CREATE PROCEDURE change(how text) LANGUAGE plpgsql AS $$
DECLARE
	life interval = substring(how FROM '''(.*) on ts''');
BEGIN
	INSERT INTO happened (ttl, is_deleted) VALUES (life, how ~ 'delete');
	EXECUTE 'ALTER MATERIALIZED VIEW v RESET (stream_engine.state_ttl, stream_engine.ttl_delete, stream_engine.emit)' || CASE WHEN how = '' THEN '' ELSE ', SET (' || how || ')' END;
END $$;
-- Time goes on by a second each fourth row; a change stands in the middle.
CREATE PROCEDURE write(rows int, how text DEFAULT NULL) LANGUAGE plpgsql AS $$
DECLARE
	i int = coalesce((SELECT max(n) FROM happened), 0);
BEGIN
	FOR row IN 1 .. rows LOOP
		IF row = rows / 2 AND how IS NOT NULL THEN
			CALL change(how);
		END IF;
		WITH new AS (INSERT INTO happened (k, ts) VALUES ((i + row) * 7 % 11 + (i + row) / 40, timestamptz '2024-01-01' + ((i + row) / 4 - (i + row) * (i + row) % 13) * interval '1 second') RETURNING *)
		INSERT INTO s SELECT n, k, ts FROM new;
	END LOOP;
END $$;
});

my @kinds = ('', q{stream_engine.emit = 'every 5 rows'}, q{stream_engine.state_ttl = '6 s on ts'}, q{stream_engine.state_ttl = '9 s on ts', stream_engine.ttl_delete},
	q{stream_engine.state_ttl = '1 day'}, q{stream_engine.state_ttl = '2 days', stream_engine.ttl_delete});

# Each change is to another kind of state than the one before, quoted.
my $kind = 0;

sub other
{
	my $next;
	do { $next = int(rand(scalar(@kinds))) } while (int($next / 2) == int($kind / 2));
	$kind = $next;
	return q{$$} . $kinds[$kind] . q{$$};
}

# What is held back is shown when it is not any more.
sub check
{
	my ($what) = @_;
	$node->sql('CALL change(' . other() . ')') while $kinds[$kind] =~ /every/ or $kinds[$kind] eq '';
	$node->sql(q{BEGIN; CALL write(8); COMMIT});
	$node->refresh('v');
	$node->sql('SELECT define()');
	$node->equals_oracle('v', 'SELECT * FROM should', $what);
	return;
}

$node->sql('CALL write(60)');
check('at first');
foreach my $point (qw(convert-begin convert-adopted convert-commit options-met options-taken commit-after-state commit-before-position state-put worker-restored round-begin))
{
	foreach my $action (qw(error fatal crash))
	{
		my $what = "$action at $point";

		# Workers begin all the time: each with batches of this many rows.
		my $batch = (1, 7, 1000)[ int(rand(3)) ];
		$node->sql($_) foreach "ALTER SYSTEM SET stream_engine.batch_rows = $batch", 'SELECT pg_reload_conf()';
		$what .= ", batches of $batch";
		my $before = -s $node->logfile;
		$node->fault_set($point, $action, int(rand(2)), 1);
		# The crash may take this session with it: then neither the rows nor the options are there.
		$node->psql('postgres', 'CALL write(20, ' . other() . ')');
		$node->psql('postgres', 'CALL change(' . other() . ')');
		$node->psql('postgres', 'CALL write(10)');
		$node->wait_ready;
		$node->psql('postgres', 'BEGIN; CALL write(10, ' . other() . '); CALL write(10, ' . other() . '); COMMIT');
		$node->wait_ready;
		$node->refresh('v');
		like(slurp_file($node->logfile, $before), $action eq 'crash' ? qr/terminated by signal 9/ : qr/fault point "\Q$point\E"/, "$what happened");
		$node->fault_clear($point);
		check($what);
	}
}
foreach my $round (1 .. 4)
{
	$node->sql('CALL write(20, ' . other() . ')') foreach 1 .. 2;
	$node->kill9_postmaster;
	$node->start;
	$node->sql('CALL write(20)');
	check("after kill -9, $round");
}
is($node->sql(q{SELECT state FROM stream_engine.jobs}), 'running', 'the view runs');
cmp_ok($node->sql('SELECT count(*) FROM happened WHERE k IS NULL'), '>', 100, 'often changed');
$node->stop;
done_testing();
