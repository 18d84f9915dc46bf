# test/t/065_side_surroundings.pl: the table of late rows and the dead letters in a dump, under locks, and in a deadlock.
use strict;
use warnings;
use lib "$ENV{SE_TREE}/test/lib";
use StreamEngine;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = StreamEngine->new('side', conf => "stream_engine.checkpoint_interval = '10ms'\n");
my $dump = PostgreSQL::Test::Utils::tempdir . '/dump.sql';

$node->sql(q{
	CREATE FOREIGN TABLE s (id int, x int, ts timestamptz OPTIONS (event_time 'true')) SERVER stream_engine OPTIONS (watermark 'ts');
	CREATE MATERIALIZED VIEW w WITH (stream_engine.continuous, stream_engine.on_error = dead_letter, stream_engine.late_output = late_w) AS
		SELECT window_end, sum(1 / x) FROM s, tumble(ts, '1 min') GROUP BY 1;
	INSERT INTO s VALUES (1, 1, '2024-01-01 00:10'), (2, 0, '2024-01-01 00:10'), (3, 1, '2024-01-01 00:00')});
$node->refresh('w');

# A dump has the table, the letters, and the view that writes into them when it is resumed.
command_ok(['pg_dump', '-f', $dump, $node->connstr('postgres')], 'dumped');
$node->sql('CREATE DATABASE copy');
command_ok(['psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-f', $dump, $node->connstr('copy')], 'restored');
is($node->sql(q{SELECT id, late_view FROM late_w}, 'copy'), '3|public.w', 'late rows are there');
is($node->sql(q{SELECT view, sqlstate, "row" ->> 'id' FROM stream_engine.dead_letters}, 'copy'), 'w|22012|2', 'letters too');
$node->sql(q{SELECT stream_engine.resume_restored('w', 'continue'); INSERT INTO s VALUES (5, 1, '2024-01-01 00:00'), (6, 0, '2024-01-01 00:00')}, 'copy');
$node->sql('REFRESH MATERIALIZED VIEW w', 'copy');
is($node->sql(q{SELECT string_agg(id::text, ' ' ORDER BY id) FROM late_w}, 'copy'), '3 5', 'and go on');
is($node->sql(q{SELECT string_agg("row" ->> 'id', ' ' ORDER BY id) FROM stream_engine.dead_letters}, 'copy'), '2 6', 'as do letters');
like($node->sql_error('DROP TABLE late_w', 'copy'), qr/table w depends on table late_w/, 'the view depends on its table again');
$node->sql('ALTER TABLE late_w RENAME TO older; REFRESH MATERIALIZED VIEW w', 'copy');
$node->sql(q{INSERT INTO s VALUES (7, 1, '2024-01-01 00:00')}, 'copy');
$node->sql('REFRESH MATERIALIZED VIEW w', 'copy');
is($node->sql(q{SELECT string_agg(id::text, ' ' ORDER BY id) FROM older}, 'copy'), '3 5 7', 'renamed it is found');

# A dump of which only the view is restored says what is missing.
$node->sql('CREATE DATABASE part');
command_ok(['pg_dump', '-f', $dump, '--exclude-table-data=late_w', '-T', 'late_w', $node->connstr('postgres')], 'dumped without the table');
command_ok(['psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-f', $dump, $node->connstr('part')], 'restored without it');
like($node->sql_error(q{SELECT stream_engine.resume_restored('w', 'continue')}, 'part'), qr/table "public.late_w" of option stream_engine.late_output does not exist/, 'cannot go on without it');

# Somebody holds a lock on the table: the view waits and says for what; who would wait for himself is told.
my $holder = $node->background_psql('postgres', on_error_stop => 0);
$holder->query_safe('BEGIN; LOCK TABLE late_w IN SHARE MODE');
$node->sql(q{INSERT INTO s VALUES (8, 1, '2024-01-01 00:00')});
$node->sql(q{SELECT stream_engine.wait_state('w', 'waiting', '60s')});
like($node->sql('SELECT error FROM stream_engine.jobs'), qr/cannot commit while process \d+ holds a lock on the table of its late rows/, 'it says what it waits for');
$holder->query('REFRESH MATERIALIZED VIEW w');
like($holder->{stderr}, qr/deadlock detected/, 'a deadlock is seen');
$holder->quit;
$node->refresh('w');
is($node->sql(q{SELECT string_agg(id::text, ' ' ORDER BY id) FROM late_w}), '3 8', 'and goes on');
is($node->sql(q{SELECT failures FROM stream_engine.jobs}), '0', 'without a failure');

# Without its table the view goes, as whoever says CASCADE wants it.
$node->sql('DROP TABLE late_w CASCADE');
is($node->sql('SELECT count(*) FROM stream_engine.jobs'), '0', 'dropped with its table');
is($node->sql('SELECT count(*) FROM stream_engine.dead_letter_rows'), '0', 'and its letters');

$node->stop;
done_testing();
