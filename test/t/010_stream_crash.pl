
# What a stream holds after kill -9 is what the heap twin holds that was written in the same
# transactions: open writers are gone, commits are there whole, prepared transactions wait.
# A reader that goes on from a stored position loses nothing and sees nothing twice.
use strict;
use warnings;
use StreamEngine;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

my $columns = 'client, n, k, v, ts, note';
my $node = StreamEngine->new('main', conf => "wal_keep_size = '4GB'\nmax_prepared_transactions = 100\n");
$node->twin('events', watermark => q{ts - interval '1 hour'});
$node->sql(q{CREATE TABLE job (round int, position bytea);
	CREATE TABLE job_rows (i bigserial, "row" text, wm timestamptz);
	INSERT INTO job SELECT 0, stream_engine.test_start_mark('events')});

# What a job does in one commit: the rows behind the position, and the new position.
sub advance
{
	my ($round) = @_;
	$node->sql(qq{
		BEGIN ISOLATION LEVEL REPEATABLE READ;
		INSERT INTO job_rows ("row", wm) SELECT "row", wm FROM stream_engine.test_source('events',
			(SELECT position FROM job ORDER BY round DESC LIMIT 1), 100) WHERE place IS NOT NULL;
		INSERT INTO job SELECT $round, end_position FROM stream_engine.test_source_end('events',
			(SELECT position FROM job ORDER BY round DESC LIMIT 1));
		COMMIT;});
	return;
}

my @kills = (0.3, 0.8, 1.5);
for my $round (1 .. @kills)
{
	my $load = $node->start_load('events', clients => 4, transactions => 400, seed => 1000 + $round);

	# A transaction above what readers keep in memory, and one that will never end.
	$node->write_twin('events', q{SELECT 9, g, g % 20, g, '2024-01-01'::timestamptz + g * interval '1 ms', repeat('z', 400)
		FROM generate_series(1, 20000) g});
	my ($in, $out, $err) = ("BEGIN;\nINSERT INTO events SELECT 8, g, 0, 0, '2024-01-01', 'never committed' FROM generate_series(1, 5000) g;\n"
		  . "SELECT 'open';\n", '', '');
	my $writer = IPC::Run::start([ 'psql', '-XqAt', '-d', $node->connstr('postgres') ], '<', \$in, '>', \$out, '2>', \$err);
	$writer->pump until $out =~ /open/;
	advance($round) if $round > 1;

	usleep($kills[ $round - 1 ] * 1_000_000);
	$node->kill9_postmaster;
	$writer->finish;
	$node->start;
	$node->finish_load($load);

	$node->equals_oracle("(SELECT $columns FROM events) e", "SELECT $columns FROM events_twin", "after kill $round");
	is($node->sql(q{SELECT count(*) FROM events WHERE note = 'never committed'}), '0', 'an open writer left nothing');
	is($node->sql(q{SELECT count(*) > 0 FROM events}), 't', 'there are rows');
}
advance(99);
$node->equals_oracle('(SELECT "row" FROM job_rows) e', q{SELECT concat(client, '|', n, '|', k, '|', v, '|', ts, '|', note) FROM events_twin},
	'read in pieces across the crashes');
is($node->sql(q{SELECT count(*) FROM (SELECT wm < lag(wm) OVER (ORDER BY i) AS back FROM job_rows) x WHERE back}), '0',
	'the watermark never went back');

# Writers that died with the server hold nothing back: what is needed begins behind them.
my $before = $node->sql('SELECT pg_current_wal_lsn()');
$node->write_twin('events', q{SELECT 7, 1, 0, 0, '2024-01-01'::timestamptz, 'last'});
is($node->sql(qq{SELECT restart_lsn >= '$before'::pg_lsn FROM stream_engine.test_source_end('events', (SELECT position FROM job ORDER BY round LIMIT 1))}),
	't', 'no dead transaction holds the restart place back');

# A clean restart between the parts of a prepared transaction.
$node->sql(q{BEGIN; INSERT INTO events VALUES (6, 1, 0, 0, '2024-01-01', 'prepared'); PREPARE TRANSACTION 'kept'});
$node->restart;
is($node->sql(q{SELECT count(*) FROM events WHERE note = 'prepared'}), '0', 'prepared is not committed');
$node->sql(q{COMMIT PREPARED 'kept'});
is($node->sql(q{SELECT count(*) FROM events WHERE note = 'prepared'}), '1', 'committed after a restart');
$node->stop;

done_testing();
