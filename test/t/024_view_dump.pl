# test/t/024_view_dump.pl: continuous views come back from pg_dump with results, state and positions, and go on when they are resumed.
use strict;
use warnings;
use lib "$ENV{SE_TREE}/test/lib";
use StreamEngine;
use PostgreSQL::Test::Utils;
use Test::More;

my $dir = PostgreSQL::Test::Utils::tempdir;
my $node = StreamEngine->new('origin');
my $other = StreamEngine->new('other');

# Each view with its query over the stream or its twin; the last seven keep state that is not in their result.
my %query = (
	sums => 'SELECT k, count(*) AS c, sum(v) AS s, min(note) AS first FROM %s GROUP BY k',
	big => 'SELECT n, v FROM %s WHERE v > 0',
	total => 'SELECT count(*) AS c, sum(v) AS s FROM %s',
	words => 'SELECT k % 3 AS k, string_agg(note, \',\' ORDER BY n) AS notes, count(DISTINCT v) AS d FROM %s GROUP BY k % 3',
	wins => 'SELECT k % 2 AS k, window_start, count(*) AS c, avg(v) AS a FROM %s, tumble(ts, interval \'1 minute\') GROUP BY k % 2, window_start, window_end',
	fives => 'SELECT k, window_id, count(*) AS c, sum(v) AS s, string_agg(note, \',\') AS notes FROM %s, count_window(5, 3) GROUP BY k, window_id',
	visits => 'SELECT k, window_start, window_end, count(*) AS c FROM %s, session(ts, interval \'10 seconds\') GROUP BY k, window_start, window_end',
	calls => 'SELECT k, window_start, window_end, count(*) AS c FROM %s, session(ts, interval \'10 seconds\') GROUP BY k, window_start, window_end',
	living => 'SELECT k, count(*) AS c, array_agg(v ORDER BY n) AS vs FROM %s GROUP BY k',
	retained => 'SELECT k % 2 AS k, window_end, count(*) AS c FROM %s, tumble(ts, interval \'1 minute\') GROUP BY k % 2, window_end',
);
my %options = (living => q{, stream_engine.state_ttl = '30000 days on ts'}, retained => q{, stream_engine.retention = '30000 days'}, calls => q{, stream_engine.emit = 'on_update', stream_engine.allowed_lateness = '1 hour'});

sub tool
{
	my ($what, @command) = @_;
	return command_ok(\@command, $what);
}

sub new_database
{
	my ($database, $server) = @_;
	($server // $node)->sql("DROP DATABASE IF EXISTS $database WITH (FORCE)");
	($server // $node)->sql("CREATE DATABASE $database");
	return ($server // $node)->connstr($database);
}

# Rows numbered from..to by one session, each transaction's in both tables.
sub write_rows
{
	my ($database, $from, $to, $server) = @_;
	($server // $node)->sql(qq{
		BEGIN;
		INSERT INTO s_twin SELECT n, n % 7, n % 11 - 5, '2024-01-01'::timestamptz + n * interval '1 second', 'w' || n % 13 FROM generate_series($from, $to) n;
		INSERT INTO s SELECT n, n % 7, n % 11 - 5, '2024-01-01'::timestamptz + n * interval '1 second', 'w' || n % 13 FROM generate_series($from, $to) n;
		COMMIT}, $database);
	return;
}

# What the query returns over the rows that the view's copy reflects and those behind $resumed. Windows that are open are not in the view.
sub is_right
{
	my ($view, $database, $upto, $resumed, $what, $server) = @_;
	my $rows = "(SELECT * FROM s_twin WHERE n <= $upto OR n > $resumed) twin";
	my $query = sprintf(($query{$view} =~ s/% /%% /gr), $rows);

	$query = "SELECT * FROM ($query) q WHERE window_start + interval '1 minute' <= (SELECT max(ts) FROM $rows) - interval '10 seconds'"
	  if $view eq 'wins';
	$query = "SELECT * FROM ($query) q WHERE window_end <= (SELECT max(ts) FROM $rows) - interval '10 seconds'"
	  if $view eq 'retained';
	# No plain query has sessions: each key has a row every 7 seconds, but for the gap where the view was resumed.
	$query = "SELECT k, min(ts), max(ts) + interval '10 seconds', count(*) FROM $rows GROUP BY k, n > $resumed HAVING max(ts) + interval '10 seconds' <= (SELECT max(ts) FROM $rows) - interval '10 seconds'"
	  if $view eq 'visits';
	$query = "SELECT k, min(ts), max(ts) + interval '10 seconds', count(*) FROM $rows GROUP BY k, n > $resumed" if $view eq 'calls';
	# Nor count windows: they are row numbers.
	$query = "SELECT k, window_id, count(*), sum(v), string_agg(note, ',' ORDER BY n)
		FROM (SELECT *, row_number() OVER (PARTITION BY k ORDER BY n) AS at, count(*) OVER (PARTITION BY k) AS total FROM $rows) r, generate_series(greatest(0, (at - 5) / 3), (at - 1) / 3) window_id
		WHERE at > window_id * 3 AND at <= window_id * 3 + 5 AND total >= window_id * 3 + 5 GROUP BY k, window_id"
	  if $view eq 'fives';
	return is(($server // $node)->sql(qq{
		SELECT 'only in view' AS w, d::text FROM (SELECT * FROM $view EXCEPT ALL $query) d
		UNION ALL SELECT 'missing', d::text FROM (($query) EXCEPT ALL SELECT * FROM $view) d ORDER BY 2 LIMIT 10}, $database),
		'', "$what: $view");
}

# How many rows of the stream a dormant view reflects: its position's counter, as restored.
sub reflected
{
	my ($view, $database, $server) = @_;
	return ($server // $node)->sql("SELECT rows_in FROM stream_engine.sources WHERE view = '$view'::regclass", $database);
}

sub refresh
{
	my ($database, $server) = @_;
	($server // $node)->sql("REFRESH MATERIALIZED VIEW $_", $database) foreach sort keys %query;
	return;
}

# All views of a copy are dormant, say so, and are resumed; then rows come, and the oracle is asked.
sub resume_all
{
	my ($database, $rows, $what, $server) = @_;
	my $next = 10_000_000;
	my %upto;

	foreach my $view (sort keys %query)
	{
		($server // $node)->sql("SELECT stream_engine.wait_state('$view', 'dormant', '3 minutes')", $database);
		$upto{$view} = reflected($view, $database, $server);
		is($upto{$view}, $rows, "$what: $view is complete") if defined $rows;
		is_right($view, $database, $upto{$view}, $next, "$what, dormant", $server);
		like(($server // $node)->sql("SELECT * FROM stream_engine.resume_restored('$view', 'continue')", $database),
			qr{^s\|[0-9A-F]+/[0-9A-F]+( \+\d+)?\|20\d\d-}, "$what: $view is resumed and says where it stands");
	}
	write_rows($database, $next + 1, $next + 500, $server);
	refresh($database, $server);
	is_right($_, $database, $upto{$_}, $next, "$what, resumed", $server) foreach sort keys %query;
	return;
}

new_database('origin');
$node->install('origin');
$node->sql(q{
	CREATE ROLE alice;
	GRANT CREATE ON SCHEMA public TO alice;
	CREATE FOREIGN TABLE s (n bigint, k int, v int, ts timestamptz OPTIONS (event_time 'true'), note text)
	  SERVER stream_engine OPTIONS (watermark 'ts - interval ''10 seconds''');
	CREATE TABLE s_twin (n bigint, k int, v int, ts timestamptz, note text);
	GRANT ALL ON s TO alice;
}, 'origin');
$other->sql('CREATE ROLE alice');
$node->sql("CREATE MATERIALIZED VIEW $_ WITH (stream_engine.continuous, stream_engine.checkpoint_interval = '20ms'" . ($options{$_} // '') . ") AS " . sprintf($query{$_} =~ s/% /%% /gr, 's'), 'origin')
  foreach sort keys %query;
$node->sql(q{
	ALTER MATERIALIZED VIEW sums OWNER TO alice;
	ALTER MATERIALIZED VIEW sums SET (stream_engine.state_memory = '100MB');
	CREATE INDEX big_v ON big (v);
	CREATE INDEX retained_y ON retained (window_end);
	CREATE INDEX retained_z ON retained (window_end DESC);
	COMMENT ON MATERIALIZED VIEW big IS 'the big ones';
	GRANT SELECT ON big TO PUBLIC;
	CREATE TABLE seen (n bigint);
	CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO public.seen VALUES (NEW.n); RETURN NULL; END $$;
	CREATE TRIGGER see AFTER INSERT ON big FOR EACH ROW WHEN (NEW.v = 5) EXECUTE FUNCTION see();
}, 'origin');
write_rows('origin', 1, 1000);
write_rows('origin', 1001, 1003);
refresh('origin');

# Plain, into the same cluster.
my $copy = new_database('copy');
tool('pg_dump', 'pg_dump', '-d', $node->connstr('origin'), '-f', "$dir/plain.sql");
tool('psql restores it', 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-d', $copy, '-f', "$dir/plain.sql");
$node->sql("SELECT stream_engine.wait_state('sums', 'dormant', '3 minutes')", 'copy');
like($node->sql("SELECT error FROM stream_engine.jobs WHERE view = 'sums'::regclass", 'copy'), qr/resume_restored/, 'jobs says what to do');
like($node->sql_error("SELECT stream_engine.start('sums')", 'copy'), qr/is dormant.*resume_restored/s, 'and so does start');
resume_all('copy', 1003, 'plain');
is($node->sql(q{SELECT options FROM stream_engine.job_catalog WHERE job = 'sums'::regclass}, 'copy'),
	'{continuous=true,checkpoint_interval=20ms,state_memory=102400kB}', 'options are kept');
is($node->sql(q{SELECT r.relowner::regrole, d.relowner::regrole FROM stream_engine.job_catalog j, pg_class r, pg_class d
	WHERE r.oid = j.job AND d.oid = j.definition AND j.job = 'sums'::regclass}, 'copy'), 'alice|alice', 'and owners');
is($node->sql(q{SELECT obj_description('big'::regclass), to_regclass('big_v') IS NOT NULL, has_table_privilege('alice', 'big', 'SELECT')}, 'copy'),
	'the big ones|t|t', 'comment, index and grant are there');
is($node->sql('SELECT count(*) = (SELECT count(*) FROM big WHERE v = 5) FROM seen', 'copy'), 't', 'the trigger saw each row once');
like($node->sql_error('DELETE FROM big', 'copy'), qr/maintained by stream_engine/, 'a resumed result is guarded');
like($node->sql_error('DROP INDEX sums_key', 'copy'), qr/cannot drop index sums_key/, 'the key index is a part again');
like($node->sql_error("SELECT * FROM stream_engine.resume_restored('sums', 'continue')", 'copy'), qr/"sums" is not dormant/, 'a view is resumed once');
$node->sql('ALTER MATERIALIZED VIEW retained RESET (stream_engine.retention)', 'copy');
is($node->sql(q{SELECT indexrelid::regclass FROM pg_index WHERE indrelid = 'retained'::regclass ORDER BY 1::text}, 'copy'),
	"retained_y\nretained_z", 'indexes of the user are not taken for that of the option');
$node->sql('DROP FOREIGN TABLE s CASCADE', 'copy');
is($node->sql(q{SELECT count(*) FROM pg_class WHERE relnamespace IN ('stream_engine_definitions'::regnamespace) OR relname IN ('sums', 'big', 'wins')}, 'copy'),
	'0', 'views go with their stream');
is_right($_, 'origin', 1003, 1003, 'the origin is untouched') foreach sort keys %query;

# Into the same database after a DROP: the rows in its log are of streams that are gone.
tool('pg_dump of what will be dropped', 'pg_dump', '-Fc', '-d', $node->connstr('origin'), '-f', "$dir/same");
tool('restored', 'pg_restore', '-e', '-d', new_database('copy'), "$dir/same");
$node->sql("SELECT * FROM stream_engine.resume_restored('$_', 'continue')", 'copy') foreach sort keys %query;
tool('pg_dump', 'pg_dump', '-Fc', '-d', $copy, '-f', "$dir/same2");
write_rows('copy', 2001, 2100);
$node->sql('DROP EXTENSION stream_engine CASCADE; DROP SCHEMA public CASCADE; CREATE SCHEMA public', 'copy');
tool('restored into the same database', 'pg_restore', '-e', '-d', $copy, "$dir/same2");
resume_all('copy', 1003, 'same database');

# A single result is a table.
new_database('copy');
tool('pg_dump of a result', 'pg_dump', '-t', 'big', '-d', $node->connstr('origin'), '-f', "$dir/table.sql");
$node->sql('CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$', 'copy');
tool('restored without the extension', 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-d', $copy, '-f', "$dir/table.sql");
is($node->sql('SELECT count(*) > 400 FROM big; DELETE FROM big; DROP TABLE big', 'copy'), 't', 'a result alone is a table');

# By roles that are no superusers: what views remember is nobody's to read who may not read everything.
$node->sql('CREATE ROLE dumper LOGIN; GRANT pg_read_all_data TO dumper; CREATE ROLE owner LOGIN; ALTER DATABASE copy OWNER TO owner; CREATE EXTENSION stream_engine', 'copy');
tool('pg_dump by a reader of all data', 'pg_dump', '-U', 'dumper', '-d', $node->connstr('origin'), '-f', "$dir/dumper.sql");
command_fails_like([ 'pg_dump', '-U', 'owner', '-d', $copy, '-f', "$dir/owner.sql" ], qr/permission denied for (table job_catalog|sequence dead_letter_ids)/, 'an owner may not');
tool('but without the state', 'pg_dump', '-U', 'owner', '-N', 'stream_engine', '-d', $copy, '-f', "$dir/owner.sql");
tool('restored', 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-d', new_database('copy'), '-f', "$dir/dumper.sql");
resume_all('copy', 1003, 'dumped by a reader of all data');

# Custom format, into another cluster.
tool('pg_dump -Fc', 'pg_dump', '-Fc', '-d', $node->connstr('origin'), '-f', "$dir/custom");
tool('pg_restore', 'pg_restore', '-e', '-d', new_database('copy', $other), "$dir/custom");
resume_all('copy', 1003, 'custom', $other);

# Directory format, in parallel.
tool('pg_dump -Fd -j2', 'pg_dump', '-Fd', '-j2', '-d', $node->connstr('origin'), '-f', "$dir/directory");
tool('pg_restore -j2', 'pg_restore', '-j2', '-d', new_database('copy'), "$dir/directory");
resume_all('copy', 1003, 'directory');

# By sections: nothing before the last may lead astray.
new_database('copy');
tool('pre-data', 'pg_restore', '-e', '--section=pre-data', '-d', $copy, "$dir/custom");
tool('data', 'pg_restore', '-e', '--section=data', '-d', $copy, "$dir/custom");
like($node->sql_error("SELECT * FROM stream_engine.resume_restored('sums', 'continue')", 'copy'),
	qr/has no unique index.*post-data.*\(k\) NULLS NOT DISTINCT/s, 'a result without its key index is not resumed');
tool('post-data', 'pg_restore', '-e', '--section=post-data', '-d', $copy, "$dir/custom");
resume_all('copy', 1003, 'sections');

# Without data, then with it: as many do it.
new_database('copy');
tool('pg_dump -s', 'pg_dump', '-s', '-d', $node->connstr('origin'), '-f', "$dir/schema.sql");
tool('pg_dump -a', 'pg_dump', '-a', '-d', $node->connstr('origin'), '-f', "$dir/data.sql");
tool('schema first', 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-d', $copy, '-f', "$dir/schema.sql");
tool('then data', 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-d', $copy, '-f', "$dir/data.sql");
is($node->sql('SELECT count(*) FROM stream_engine.jobs', 'copy'), scalar(keys %query), 'all views are there');
is_right('wins', 'copy', 1003, 1003, 'schema and data apart');

# Without data.
new_database('copy');
tool('schema alone', 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-d', $copy, '-f', "$dir/schema.sql");
like($node->sql_error("SELECT * FROM stream_engine.resume_restored('sums', 'continue')", 'copy'),
	qr/"sums" cannot continue.*positions.*not restored.*'restart'/s, 'there is nothing to continue from');
is($node->sql(q{BEGIN; DROP TABLE big; SELECT to_regclass('stream_engine_definitions."public.big"') IS NULL; ROLLBACK}, 'copy'), 't',
	'a table that would be a view is dropped with its query');
foreach my $view (sort keys %query)
{
	is($node->sql("SELECT * FROM stream_engine.resume_restored('$view', 'restart')", 'copy'), 's|||', "$view begins anew");
}
write_rows('copy', 1, 300);
refresh('copy');
is_right($_, 'copy', 0, 0, 'begun anew') foreach sort keys %query;
is($node->sql(q{SELECT options FROM stream_engine.job_catalog WHERE job = 'sums'::regclass}, 'copy'),
	'{continuous=true,checkpoint_interval=20ms,state_memory=102400kB}', 'options are in the schema');

# Begun anew from a full dump: what was there is gone.
new_database('copy');
tool('restored in one transaction, to begin anew', 'pg_restore', '-e', '-1', '-d', $copy, "$dir/custom");
$node->sql("SELECT * FROM stream_engine.resume_restored('$_', 'restart'); TRUNCATE s_twin", 'copy') foreach sort keys %query;
write_rows('copy', 1, 300);
refresh('copy');
is_right($_, 'copy', 0, 0, 'emptied and begun anew') foreach sort keys %query;

# What does not belong together is refused.
new_database('copy');
tool('pg_dump without the rows of a result', 'pg_dump', '--exclude-table-data=sums', '-d', $node->connstr('origin'), '-f', "$dir/part.sql");
tool('restored', 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-d', $copy, '-f', "$dir/part.sql");
like($node->sql_error("SELECT * FROM stream_engine.resume_restored('sums', 'continue')", 'copy'),
	qr/"sums" cannot continue.*It has 0 rows, and had 7.*Restore the whole dump/s, 'results that are not there');
$node->sql('INSERT INTO big VALUES (1, 1)', 'copy');
like($node->sql_error("SELECT * FROM stream_engine.resume_restored('big', 'continue')", 'copy'), qr/It has 4\d\d rows, and had 4\d\d/, 'rows that are not the view\'s');
$node->sql(q{DELETE FROM stream_engine.state_chunks WHERE job = 'words'::regclass}, 'copy');
like($node->sql_error("SELECT * FROM stream_engine.resume_restored('words', 'continue')", 'copy'), qr/state was not restored/, 'state that is not there');
like($node->sql_error("SELECT * FROM stream_engine.resume_restored('total', 'go')", 'copy'), qr/invalid mode.*'continue'.*'restart'/s, 'a mode that is none');
like($node->sql_error("SELECT * FROM stream_engine.resume_restored('s_twin', 'restart')", 'copy'), qr/"s_twin" is not a continuous view/, 'a table');
like($node->sql_error("SET ROLE alice; SELECT * FROM stream_engine.resume_restored('total', 'restart')", 'copy'), qr/must be owner/, 'another\'s view');
$node->sql(q{ALTER VIEW stream_engine_definitions."public.total" OWNER TO alice; GRANT SELECT ON stream_engine_definitions."public.sums" TO PUBLIC}, 'copy');
like($node->sql_error("SELECT * FROM stream_engine.resume_restored('total', 'restart')", 'copy'),
	qr/query of continuous view "total" belongs to another role/, 'nobody resumes the query of another role');
$node->sql(q{ALTER VIEW stream_engine_definitions."public.total" OWNER TO postgres}, 'copy');
$node->sql("SET ROLE alice; SELECT * FROM stream_engine.resume_restored('sums', 'restart')", 'copy');
is($node->sql(q{SELECT relacl FROM pg_class WHERE relname = 'public.sums'}, 'copy'), '', 'its definition is for its owner only');
$node->sql('BEGIN; DROP MATERIALIZED VIEW total; ROLLBACK; DROP MATERIALIZED VIEW total', 'copy');
is($node->sql(q{SELECT to_regclass('stream_engine_definitions."public.total"') IS NULL}, 'copy'), 't', 'a dormant view is dropped with its definition');
$node->sql(q{CREATE SCHEMA away; ALTER TABLE words SET SCHEMA away; DROP SCHEMA away CASCADE}, 'copy');
is($node->sql(q{SELECT to_regclass('stream_engine_definitions."public.words"') IS NULL}, 'copy'), 't', 'also with its schema');

like($node->sql_error('CREATE TABLE mine (); CREATE TRIGGER t BEFORE INSERT ON mine FOR EACH ROW EXECUTE FUNCTION stream_engine.take_restored_row(); INSERT INTO mine DEFAULT VALUES', 'copy'),
	qr/trigger of stream_engine's own tables/, 'a trigger of ours is nobody else\'s');

# One view left out, one query left out: the others are as they were.
new_database('copy');
tool('pg_dump --inserts without a view and a definition', 'pg_dump', '--inserts', '-T', 'words', '-T', 'stream_engine_definitions."public.total"', '-d', $node->connstr('origin'), '-f', "$dir/part.sql");
tool('restored', 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-d', $copy, '-f', "$dir/part.sql");
is($node->sql("SELECT view FROM stream_engine.jobs ORDER BY view::text", 'copy'), "big\ncalls\nfives\nliving\nretained\nsums\ntotal\nvisits\nwins", 'the others are views');
like($node->sql_error("SELECT * FROM stream_engine.resume_restored('total', 'restart')", 'copy'), qr/query of continuous view "total" was not restored/, 'a view without query');
$node->sql('DROP MATERIALIZED VIEW total', 'copy');
$node->sql("SELECT * FROM stream_engine.resume_restored('wins', 'continue')", 'copy');
write_rows('copy', 2001, 2200);
$node->sql('REFRESH MATERIALIZED VIEW wins', 'copy');
is_right('wins', 'copy', 1003, 1003, 'the rest of a dump');
new_database('copy');
tool('pg_dump of a schema', 'pg_dump', '-n', 'public', '-e', 'stream_engine', '-d', $node->connstr('origin'), '-f', "$dir/part.sql");
# It has CREATE SCHEMA public, which fails.
tool('restored', 'psql', '-Xq', '-d', $copy, '-f', "$dir/part.sql");
like($node->sql_error("SELECT * FROM stream_engine.resume_restored('sums', 'restart')", 'copy'), qr/query of continuous view "sums" was not restored/, 'all queries left out');
$node->sql('DROP MATERIALIZED VIEW sums', 'copy');

# State of an enum is saved with labels: OIDs are others after a restore, names after a RENAME.
$node->sql(q{
	CREATE TYPE color AS ENUM ('red', 'green', 'blue');
	CREATE DOMAIN tint AS color;
	CREATE FOREIGN TABLE c (n int, color color, tint tint) SERVER stream_engine;
	CREATE MATERIALIZED VIEW colors WITH (stream_engine.continuous) AS
	  SELECT color, count(*), min(tint::color) AS least, max(color) AS most, count(DISTINCT tint) AS kinds,
	         array_agg(tint ORDER BY n) AS tints FROM c GROUP BY color;
	CREATE MATERIALIZED VIEW pairs WITH (stream_engine.continuous) AS SELECT ARRAY[color] AS colors, count(*) FROM c GROUP BY ARRAY[color];
	INSERT INTO c VALUES (1, 'red', 'blue'), (2, 'green', 'green'), (3, 'red', 'green')}, 'origin');
$node->sql("REFRESH MATERIALIZED VIEW $_", 'origin') foreach qw(colors pairs);
$node->sql("ALTER TYPE color RENAME VALUE 'green' TO 'x'; ALTER TYPE color RENAME VALUE 'blue' TO 'green'; ALTER TYPE color RENAME VALUE 'x' TO 'blue'; SELECT stream_engine.stop('colors')", 'origin');
$node->sql("SELECT stream_engine.wait_state('colors', 'stopped'); SELECT stream_engine.start('colors'); INSERT INTO c VALUES (4, 'red', 'blue')", 'origin');
$node->sql('REFRESH MATERIALIZED VIEW colors', 'origin');
is($node->sql('SELECT color, count, least, most, tints FROM colors ORDER BY 1', 'origin'), "red|3|blue|red|{green,blue,blue}\nblue|1|blue|blue|{blue}",
	'renamed labels are the same values');
$node->sql("ALTER TYPE color RENAME VALUE 'green' TO 'x'; ALTER TYPE color RENAME VALUE 'blue' TO 'green'; ALTER TYPE color RENAME VALUE 'x' TO 'blue'", 'origin');
tool('pg_dump with an enum', 'pg_dump', '-d', $node->connstr('origin'), '-f', "$dir/enum.sql");
new_database('copy');
$node->sql(q{CREATE TYPE shift AS ENUM ('other', 'oids')}, 'copy');
tool('restored', 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-d', $copy, '-f', "$dir/enum.sql");
like($node->sql_error("SELECT * FROM stream_engine.resume_restored('pairs', 'continue')", 'copy'), qr/values of type color\[\], which are stored by OIDs/, 'arrays of enums cannot continue after a dump');
$node->sql("SELECT * FROM stream_engine.resume_restored('pairs', 'restart'); SELECT * FROM stream_engine.resume_restored('colors', 'continue');
	INSERT INTO c VALUES (5, 'green', 'red'), (6, 'blue', 'red')", 'copy');
$node->sql("REFRESH MATERIALIZED VIEW $_", 'copy') foreach qw(colors pairs);
is($node->sql('SELECT color, count, least, most, tints FROM colors ORDER BY 1', 'copy'),
	"red|3|green|red|{blue,green,green}\ngreen|2|red|green|{green,red}\nblue|1|red|blue|{red}", 'enums continue');
is($node->sql('TABLE pairs ORDER BY 1', 'copy'), "{green}|1\n{blue}|1", 'others begin anew');
foreach my $again (1, 2)
{
	$node->sql("SELECT stream_engine.stop('colors')", 'copy');
	$node->sql("SELECT stream_engine.wait_state('colors', 'stopped'); SELECT stream_engine.start('colors'); INSERT INTO c VALUES ($again + 6, 'blue', 'blue')", 'copy');
	$node->sql('REFRESH MATERIALIZED VIEW colors', 'copy');
}
is($node->sql('SELECT color, count, tints FROM colors ORDER BY 1', 'copy'), "red|3|{blue,green,green}\ngreen|2|{green,red}\nblue|3|{red,blue,blue}", 'and again, from state of both databases');
$node->sql('DROP DATABASE copy WITH (FORCE)');
$node->sql('CREATE DATABASE copy TEMPLATE origin');
$node->sql("SELECT * FROM stream_engine.resume_restored('$_', 'continue')", 'copy') foreach qw(colors pairs);
$node->sql("INSERT INTO c VALUES (5, 'green', 'red')", 'copy');
$node->sql("REFRESH MATERIALIZED VIEW $_", 'copy') foreach qw(colors pairs);
is($node->sql('SELECT color, count, tints FROM colors ORDER BY 1', 'copy'), "red|3|{blue,green,green}\ngreen|2|{green,red}", 'in a copied database they go on');
is($node->sql('TABLE pairs ORDER BY 1', 'copy'), "{red}|3\n{green}|2", 'arrays too');
resume_all('copy', 1003, 'copied database');
$node->sql('DROP FOREIGN TABLE c CASCADE', 'origin');

# Under load, whatever the moment: results, state and position of each view are those of one commit.
$node->sql('CREATE PROCEDURE load(f bigint, t bigint) LANGUAGE plpgsql AS $$ BEGIN
	FOR i IN f .. t LOOP
		INSERT INTO s_twin VALUES (i, i % 7, i % 11 - 5, timestamptz \'2024-01-01\' + i * interval \'1 second\', \'w\' || i % 13);
		INSERT INTO s VALUES (i, i % 7, i % 11 - 5, timestamptz \'2024-01-01\' + i * interval \'1 second\', \'w\' || i % 13);
		COMMIT;
		EXIT WHEN EXISTS (SELECT FROM enough);
	END LOOP; END $$; CREATE TABLE enough ()', 'origin');
my ($out, $err) = ('', '');
my $load = IPC::Run::start([ 'psql', '-XqAt', '-d', $node->connstr('origin'), '-c', 'CALL load(1004, 5000000)' ], '>', \$out, '2>', \$err);
$node->wait_until(q{SELECT count(*) > 0 FROM pg_stat_activity WHERE query LIKE 'CALL load%' AND pid <> pg_backend_pid()}, 'the load runs');
foreach my $round (1 .. 3)
{
	tool("pg_dump under load, $round", 'pg_dump', '-Fd', '-j2', '-d', $node->connstr('origin'), '-f', "$dir/load$round");
	is($node->sql(q{SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'CALL load%' AND state = 'active' AND pid <> pg_backend_pid()}), '1', 'the load still runs');
}
$node->sql('INSERT INTO enough DEFAULT VALUES', 'origin');
$load->finish;
is($err, '', 'writers do not notice a dump');
foreach my $round (1 .. 3)
{
	my $server = $round == 2 ? $other : $node;
	new_database('copy', $server);
	tool("restored, $round", 'pg_restore', '-e', '-j2', '-d', $server->connstr('copy'), "$dir/load$round");
	resume_all('copy', undef, "load $round", $server);
}

# The whole cluster.
refresh('origin');
my $rows = $node->sql('SELECT max(n) FROM s_twin', 'origin');
$node->sql('DROP DATABASE copy');
tool('pg_dumpall', 'pg_dumpall', '-d', $node->connstr('postgres'), '-f', "$dir/all.sql");
$other->sql('DROP DATABASE copy WITH (FORCE)');
$other->sql('DROP EXTENSION stream_engine CASCADE');
# Roles that are there already make errors.
tool('all databases restored', 'psql', '-Xq', '-d', $other->connstr('postgres'), '-f', "$dir/all.sql");
resume_all('origin', $rows, 'pg_dumpall', $other);

$_->stop foreach $node, $other;
done_testing();
