# test/t/023_stream_dump.pl: streams come back from pg_dump as they were, watermarks and all, and take rows at once.
use strict;
use warnings;
use lib "$ENV{SE_TREE}/test/lib";
use StreamEngine;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = StreamEngine->new('dump');
my $file = PostgreSQL::Test::Utils::tempdir . '/dump.sql';

sub dump_of
{
	my ($database) = @_;
	command_ok([ "pg_dump", "-d", $node->connstr($database), '-f', $file ], "dump of $database");
	return slurp_file($file) =~ s/^\\(un)?restrict .*$//gmr;
}

$node->sql("CREATE DATABASE $_") for qw(origin copy);
$node->sql('CREATE EXTENSION stream_engine', 'origin');
$node->sql(q{
	CREATE SCHEMA tools;
	CREATE FUNCTION tools.lag() RETURNS interval LANGUAGE sql IMMUTABLE AS $$ SELECT interval '3 seconds' $$;
	CREATE TYPE pair AS (a int, b text);
	CREATE TABLE p (k int, ts timestamptz, x pair) PARTITION BY RANGE (k);
	SET search_path = tools, public;
	CREATE FOREIGN TABLE public.s (ts timestamptz OPTIONS (event_time 'true') DEFAULT now(), k int CHECK (k > 0), "Odd" numeric, x pair)
	  SERVER stream_engine OPTIONS (watermark 'ts - lag()', timezone 'Europe/Berlin');
	CREATE FOREIGN TABLE public.p1 PARTITION OF p FOR VALUES FROM (0) TO (10) SERVER stream_engine;
	ALTER FOREIGN TABLE s DROP "Odd", ADD n int DEFAULT 5;
	INSERT INTO s (k) VALUES (1)}, 'origin');

my $dump = dump_of('origin');
like($dump, qr/watermark '\(ts - tools\.lag\(\)\)'/, 'the watermark is dumped with the names it needs');
unlike($dump, qr/stream_layouts/, 'layouts are not dumped: they describe WAL, which no dump holds');

# As psql does it for everybody: an empty search_path, the first error ends it.
command_ok([ "psql", "-Xq", "-v", "ON_ERROR_STOP=1", "-d", $node->connstr("copy"), '-f', $file ], 'restored');
is(dump_of('copy'), $dump, 'the copy dumps the same');

is($node->sql('SELECT stream::text, id FROM stream_engine.stream_layouts ORDER BY 1', 'copy'), "p1|1\ns|1", 'every stream has its layout');
is($node->sql(q{SELECT stream_engine.check_stream('s')}, 'copy'), '', 'the options are right');
is($node->sql('SELECT count(*) FROM s', 'copy'), '0', 'rows are the log of another database');
$node->sql(q{INSERT INTO s (k, x) VALUES (2, '(1,one)'); INSERT INTO p VALUES (3, now(), '(2,two)')}, 'copy');
is($node->sql('SELECT k, x, n FROM s UNION ALL SELECT k, x, NULL FROM p', 'copy'), "2|(1,one)|5\n3|(2,two)|", 'and takes rows');
is($node->sql('SELECT k, n FROM s', 'origin'), '1|5', 'the origin is untouched');
like($node->sql_error('DROP FUNCTION tools.lag()', 'copy'), qr/foreign table s depends on function/, 'dependencies are back');

$node->stop;
done_testing();
