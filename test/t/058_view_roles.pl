# test/t/058_view_roles.pl: roles that log in themselves, without superuser, in a database where PUBLIC may do nothing; over restarts of the server.
use strict;
use warnings;
use StreamEngine;
use Test::More;

my $node = StreamEngine->new('roles');

# What a role that has logged in gets: its output, or its error.
sub as
{
	my ($role, $query) = @_;
	my ($status, $out, $err) = $node->psql('app', $query, extra_params => [ '-U', $role ], on_error_stop => 1);

	return $status == 0 ? $out : $err;
}

$node->sql(q{CREATE ROLE owner LOGIN});
$node->sql(q{CREATE ROLE alice LOGIN});
$node->sql(q{CREATE ROLE writer LOGIN});
$node->sql(q{CREATE ROLE reader LOGIN});
$node->sql(q{CREATE DATABASE app OWNER owner});
$node->sql(q{REVOKE ALL ON DATABASE app FROM PUBLIC; GRANT CONNECT ON DATABASE app TO alice, writer, reader});
$node->sql(q{REVOKE ALL ON SCHEMA public FROM PUBLIC; GRANT USAGE ON SCHEMA public TO alice, writer, reader}, 'app');

like(as('owner', 'CREATE EXTENSION stream_engine'), qr/permission denied to create extension "stream_engine".*superuser/s,
	'the owner of a database does not create the extension');
$node->sql('CREATE EXTENSION stream_engine', 'app');
like(as('owner', 'DROP EXTENSION stream_engine'), qr/must be owner of extension stream_engine/, 'nor drops it');
like(as('alice', 'CREATE FOREIGN TABLE public.s (k int) SERVER stream_engine'), qr/permission denied for schema public/, 'no stream where nothing may be created');

as('owner', 'CREATE SCHEMA alice; GRANT ALL ON SCHEMA alice TO alice; GRANT USAGE ON SCHEMA alice TO writer, reader');
is(as('alice', q{
	CREATE FOREIGN TABLE s (k int, v int, t timestamptz OPTIONS (event_time 'true')) SERVER stream_engine OPTIONS (watermark 't');
	CREATE MATERIALIZED VIEW totals WITH (stream_engine.continuous) AS SELECT k, sum(v) AS total FROM s GROUP BY k;
	CREATE MATERIALIZED VIEW minutes WITH (stream_engine.continuous) AS
	    SELECT window_end, count(*) AS n FROM s, tumble(t, interval '1 minute') GROUP BY window_end;
	GRANT INSERT ON s TO writer;
	GRANT SELECT ON totals TO reader;
}), '', 'a role creates a stream and views in its own schema');

# the writer has INSERT and nothing else, the reader SELECT on one result
is(as('writer', q{INSERT INTO alice.s VALUES (1, 10, '2024-01-01 00:00:10'), (2, 20, '2024-01-01 00:00:20')}), '', 'INSERT writes rows');
is(as('writer', q{SELECT stream_engine.emit_watermark('alice.s', '2024-01-01 00:01:00')}), '', 'and a watermark');
like(as('writer', 'SELECT * FROM alice.s'), qr/permission denied for foreign table s/, 'but reads nothing');
like(as('reader', q{SELECT stream_engine.emit_watermark('alice.s', now())}), qr/permission denied for foreign table s/, 'no watermark without INSERT');
is(as('alice', 'REFRESH MATERIALIZED VIEW totals; REFRESH MATERIALIZED VIEW minutes; SELECT * FROM totals ORDER BY k; SELECT n FROM minutes'),
	"1|10\n2|20\n2", 'the owner refreshes and reads');
is(as('reader', q{SELECT stream_engine.wait_for('alice.totals', pg_current_wal_lsn()); SELECT * FROM alice.totals ORDER BY k}), "\n1|10\n2|20", 'a reader waits and reads');
like(as('reader', 'REFRESH MATERIALIZED VIEW alice.totals'), qr/must be owner of materialized view totals|permission denied/, 'a reader does not refresh');
like(as('reader', 'SELECT * FROM alice.minutes'), qr/permission denied for table minutes/, 'nor reads what is not granted');
like(as('reader', q{SELECT stream_engine.explain('alice.minutes')}), qr/permission denied/, 'nor explains it');
is(as('reader', q{SELECT count(*), count(state), count(pid) FROM stream_engine.jobs}), '2|0|2', 'monitoring shows a stranger names, owners and processes');
is(as('alice', q{SELECT count(*), count(state) FROM stream_engine.jobs}), '2|2', 'and the owner all');
is(as('owner', q{SELECT count(state) FROM stream_engine.jobs}), '0', 'to own the database is not to own the views');

# the owner's hand
is(as('alice', q{
	SELECT stream_engine.stop('totals');
	SELECT stream_engine.wait_state('totals', 'stopped');
	SELECT stream_engine.start('totals');
	SELECT stream_engine.wait_state('totals', 'running');
	ALTER MATERIALIZED VIEW totals SET (stream_engine.checkpoint_interval = '10ms');
	CREATE INDEX ON totals (total);
}), "\n\n\n", 'it is stopped, started and altered');

# the role changes its name and may not log in: the view goes on, over a restart of the server
$node->sql('ALTER ROLE alice RENAME TO carol');
$node->sql(q{ALTER ROLE carol NOLOGIN CONNECTION LIMIT 0; REVOKE CONNECT ON DATABASE app FROM carol});
like(as('carol', 'SELECT 1'), qr/is not permitted to log in/, 'the role cannot log in');
as('writer', q{INSERT INTO alice.s VALUES (1, 5, '2024-01-01 00:01:10')});
$node->restart;
as('writer', q{INSERT INTO alice.s VALUES (2, 5, '2024-01-01 00:02:10')});
$node->sql('REFRESH MATERIALIZED VIEW alice.totals; REFRESH MATERIALIZED VIEW alice.minutes', 'app');
is(as('reader', 'SELECT * FROM alice.totals ORDER BY k'), "1|15\n2|25", 'its views go on after a restart');
is($node->sql('SELECT view, owner, state FROM stream_engine.jobs ORDER BY view::text', 'app'), "alice.minutes|carol|running\nalice.totals|carol|running", 'under its new name');
like($node->sql_error('DROP ROLE carol'), qr/cannot be dropped because some objects depend on it/, 'the role cannot be dropped');

# what is taken away while the server is down counts when it is up
$node->sql('GRANT CREATE ON SCHEMA alice TO writer; ALTER FOREIGN TABLE alice.s OWNER TO writer', 'app');
$node->restart;
$node->sql(q{SELECT stream_engine.wait_state('alice.totals', 'failed')}, 'app');
like($node->sql(q{SELECT error FROM stream_engine.jobs WHERE view = 'alice.totals'::regclass}, 'app'), qr/permission denied for foreign table s/,
	'a view whose owner may not read the stream any more stops');
$node->sql(q{GRANT SELECT ON alice.s TO carol; SELECT stream_engine.start(view) FROM stream_engine.jobs}, 'app');
as('writer', q{INSERT INTO alice.s VALUES (1, 1, '2024-01-01 00:03:10')});
$node->sql(q{SELECT stream_engine.wait_state(view, 'running') FROM stream_engine.jobs; REFRESH MATERIALIZED VIEW alice.totals}, 'app');
is(as('reader', 'SELECT * FROM alice.totals ORDER BY k'), "1|16\n2|25", 'and goes on when it may');

$node->stop;
done_testing();
