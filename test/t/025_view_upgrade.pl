# test/t/025_view_upgrade.pl: drain() lets views reflect all rows there are and turns new ones away; after pg_upgrade views go on.
use strict;
use warnings;
use lib "$ENV{SE_TREE}/test/lib";
use StreamEngine;
use Cwd;
use PostgreSQL::Test::Utils;
use Test::More;

# The installation to upgrade from: this one, or one of another major version (test/upgrade).
my $from = $ENV{SE_UPGRADE_FROM};
my $node = StreamEngine->new('old', install_path => $from);
my %query = (
	sums => 'SELECT k, count(*) AS c, sum(v) AS s FROM %s GROUP BY k',
	colors => 'SELECT color, count(*) AS c, variance(v) AS d FROM %s GROUP BY color',
	wins => 'SELECT window_start, color, count(*) AS c, array_agg(v ORDER BY v) AS vs FROM %s, tumble(ts, interval \'1 minute\') GROUP BY window_start, window_end, color',
);

# A session of its own; ->query gives it SQL that must work, ->query_until does not wait for the end.
sub session
{
	my $session = $node->background_psql($_[0] // 'postgres', on_error_stop => 0);
	return $session;
}

sub write_rows
{
	my ($from, $to, $server) = @_;
	($server // $node)->sql(join ';', map { "INSERT INTO $_ SELECT n, n % 7, n % 11, (enum_range(NULL::color))[1 + n % 3], '2024-01-01'::timestamptz + n * interval '1 second' FROM generate_series($from, $to) n" } qw(s s_twin));
	return;
}

sub are_right
{
	my ($what, $server) = @_;
	$server //= $node;
	foreach my $view (sort keys %query)
	{
		my $query = sprintf($query{$view}, 's_twin');
		$query = "SELECT * FROM ($query) q WHERE window_start + interval '1 minute' <= (SELECT max(ts) FROM s_twin)" if $view eq 'wins';
		$server->equals_oracle($view, $query, $what);
	}
	return;
}

# Sessions that wait for what drain waits for.
sub drain_waits
{
	return $node->wait_until(q{SELECT count(*) = 1 FROM pg_stat_activity WHERE query LIKE '%stream_engine.drain(%' AND wait_event_type = 'Lock'}, 'drain waits');
}

$node->sql(q{
	CREATE TYPE color AS ENUM ('red', 'green', 'blue');
	CREATE FOREIGN TABLE s (n bigint, k int, v int, color color, ts timestamptz OPTIONS (event_time 'true'))
	  SERVER stream_engine OPTIONS (watermark 'ts');
	CREATE TABLE s_twin (n bigint, k int, v int, color color, ts timestamptz);
	CREATE FOREIGN TABLE other (n bigint) SERVER stream_engine;
	CREATE ROLE nobody;
	CREATE DATABASE neighbour;
});
$node->install('neighbour');
$node->sql('CREATE FOREIGN TABLE s (n bigint) SERVER stream_engine', 'neighbour');
$node->sql("CREATE MATERIALIZED VIEW $_ WITH (stream_engine.continuous) AS " . sprintf($query{$_}, 's')) foreach sort keys %query;
write_rows(1, 500);

# Who has written is waited for, who has not is turned away at once; a commit is not lost.
my $writer = session();
$writer->query_safe(q{BEGIN; INSERT INTO s SELECT 501, 501 % 7, 501 % 11, (enum_range(NULL::color))[1 + 501 % 3], '2024-01-01'::timestamptz + interval '501 s'});
my $drain = session();
$drain->query_until(qr/started/, "\\echo started\nSELECT stream_engine.drain();\n\\echo drained\n");
drain_waits();
like($node->sql_error('INSERT INTO s VALUES (0)'), qr/stream "s" takes no rows.*are being drained.*undrain/s, 'new writers are turned away');
like($node->sql_error('INSERT INTO other VALUES (0)'), qr/stream "other" takes no rows/, 'on all streams');
like($node->sql_error("SELECT stream_engine.emit_watermark('s', 'infinity')"), qr/takes no rows/, 'marks too');
$node->sql('INSERT INTO s VALUES (1)', 'neighbour');
$writer->query_safe('COMMIT');
$writer->quit;
$drain->query_until(qr/drained/, '');
$drain->quit;
$node->sql(q{INSERT INTO s_twin SELECT 501, 501 % 7, 501 % 11, (enum_range(NULL::color))[1 + 501 % 3], '2024-01-01'::timestamptz + interval '501 s'});
are_right('drained');
is($node->sql('SELECT count(*), min(role) FROM stream_engine.drained'), '1|postgres', 'it can be seen');

# It lasts.
like($node->sql_error('INSERT INTO s VALUES (0)'), qr/takes no rows.*are drained/s, 'drained');
$node->restart;
like($node->sql_error('COPY s FROM PROGRAM \'echo 0\''), qr/takes no rows/, 'after a restart');
$node->kill9_postmaster;
$node->start;
like($node->sql_error('INSERT INTO s VALUES (0)'), qr/takes no rows/, 'after a crash');
my $old = session();
my ($out, $failed) = $old->query('INSERT INTO s VALUES (0)');
isnt($failed, 0, 'a session is told so');
$old->{stderr} = '';
$node->sql('SELECT stream_engine.undrain()');
is($node->sql('SELECT count(*) FROM stream_engine.drained'), '0', 'undrained');
$old->query_safe('INSERT INTO other VALUES (1)');
$old->quit;
write_rows(502, 600);
$node->refresh(sort keys %query);
are_right('undrained');

# What fails changes nothing.
$node->sql("BEGIN; INSERT INTO other VALUES (1); PREPARE TRANSACTION 'writer'");
like($node->sql_error("SET lock_timeout = '300ms'; SELECT stream_engine.drain()"), qr/lock timeout/, 'a prepared writer is waited for');
write_rows(601, 610);
$node->sql("COMMIT PREPARED 'writer'");
like($node->sql_error('BEGIN; INSERT INTO s VALUES (0, 0, 0, NULL, now()); SELECT stream_engine.drain()'), qr/transaction that has written to a stream/, 'one\'s own rows');
like($node->sql_error('SET ROLE nobody; SELECT stream_engine.drain()'), qr/must be owner of database/, 'who may not');
like($node->sql_error('SET ROLE nobody; SELECT stream_engine.undrain()'), qr/must be owner of database/, 'who may not undo');
$node->sql('BEGIN; SELECT stream_engine.drain(); ROLLBACK');
$node->sql("SELECT stream_engine.stop('sums')");
like($node->sql_error('SELECT stream_engine.drain()'), qr/not all continuous views.*public\.sums is stopped.*leave_out_stopped/s, 'a stopped view');
write_rows(611, 620);
$node->sql('SET client_min_messages = error; SELECT stream_engine.drain(leave_out_stopped => true)');
$node->sql("SELECT stream_engine.undrain(); SELECT stream_engine.start('sums')");
$node->refresh(sort keys %query);
are_right('after what failed');

# Another cluster, whose WAL is another one.
$node->sql('SELECT stream_engine.drain()');
$node->sql('SELECT stream_engine.drain()', 'neighbour');
are_right('drained to be upgraded');
$node->stop;
my $new = StreamEngine->new('new', start => 0);
my ($bin) = run_command([ 'pg_config', '--bindir' ]);
my $old_bin = defined $from ? "$from/bin" : $bin;
local $ENV{LD_LIBRARY_PATH} = "$from/lib" if defined $from;
my $other_major = $new->pg_version->major ne $node->pg_version->major;
my $here = getcwd;
my $sockets = PostgreSQL::Test::Utils::tempdir_short();
chdir $sockets or die;
my ($said, $trouble) = run_command([ "$bin/pg_upgrade", '--no-sync', '-b', $old_bin, '-B', $bin, '-d', $node->data_dir, '-D', $new->data_dir,
	'-p', $node->port, '-P', $new->port, '-s', $sockets ]);
like($said, qr/Upgrade Complete/, 'pg_upgrade') or diag($trouble, map { slurp_file($_) =~ /(error:.{0,500})/s } glob $new->data_dir . '/pg_upgrade_output.d/*/log/*dump*.log');
chdir $here;
$new->start;
are_right('upgraded', $new);
like($new->sql_error('INSERT INTO s VALUES (0)'), qr/takes no rows/, 'still drained, so that no row comes before views go on');
foreach my $view (sort keys %query)
{
	$new->sql("SELECT stream_engine.wait_state('$view', 'dormant', '3 minutes')");
	if ($view eq 'colors' && $other_major)
	{
		like($new->sql_error("SELECT * FROM stream_engine.resume_restored('colors', 'continue')"), qr/aggregate functions of PostgreSQL \d+ have serialised.*'restart'/s,
			'state of another major version that may be read differently');
		$new->sql("SELECT * FROM stream_engine.resume_restored('colors', 'restart')");
	}
	else
	{
		is($new->sql("SELECT stream FROM stream_engine.resume_restored('$view', 'continue')"), 's', "$view goes on");
	}
}
$query{colors} =~ s/FROM %s/FROM (SELECT * FROM %s WHERE n > 620) t/ if $other_major;
$new->sql('SELECT stream_engine.undrain()');
write_rows(621, 900, $new);
$new->refresh(sort keys %query);
are_right('gone on', $new);
like($new->sql_error('DROP INDEX sums_key'), qr/cannot drop index/, 'its parts are one');
$new->sql('SELECT stream_engine.undrain()', 'neighbour');
$new->sql('INSERT INTO s VALUES (1)', 'neighbour');
$new->sql('DROP FOREIGN TABLE s CASCADE');
is($new->sql(q{SELECT count(*) FROM pg_class WHERE relname IN ('sums', 'colors', 'wins')}), '0', 'and go with their stream');
$new->stop;
done_testing();
