# test/t/062_waiting_states.pl: when the server lacks something, views say what, and go on by themselves when it is there:
# places of stream_engine.max_jobs, background workers, replication slots.
use strict;
use warnings;
use lib "$ENV{SE_TREE}/test/lib";
use StreamEngine;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = StreamEngine->new('waiting', conf => q{
max_replication_slots = 1
max_wal_senders = 0
stream_engine.max_jobs = 2
});

sub create
{
	my ($view) = @_;
	return "CREATE MATERIALIZED VIEW $view WITH (stream_engine.continuous) AS SELECT id FROM s";
}

sub state
{
	my ($view) = @_;
	return $node->sql(qq{SELECT state, error FROM stream_engine.jobs WHERE view = '$view'::regclass});
}

# A session that refreshes a view in the background, and what it was told.
sub start_refresh
{
	my ($view) = @_;
	my %refresh = (out => '', err => '');
	$refresh{handle} = IPC::Run::start([ 'psql', '-XqAt', '-d', $node->connstr('postgres'), '-c', "REFRESH MATERIALIZED VIEW $view" ],
		'>', \$refresh{out}, '2>', \$refresh{err});
	$refresh{handle}->pump until $refresh{err} =~ /HINT/;
	return \%refresh;
}

# No replication slot is free: CREATE says so, and leaves nothing.
$node->sql('CREATE FOREIGN TABLE s (id int) SERVER stream_engine');
$node->sql(q{SELECT pg_create_physical_replication_slot('other')});
like($node->sql_error(create('v1')), qr/all replication slots are in use.*HINT:.*max_replication_slots/s, 'no slot is free');
is($node->sql(q{SELECT count(*) FROM stream_engine.jobs}), '0', 'nothing is left of the view');
$node->sql(q{SELECT pg_drop_replication_slot('other')});
$node->sql(create('v1'));
$node->sql('INSERT INTO s VALUES (1)');
$node->refresh('v1');
is($node->sql('SELECT * FROM v1'), '1', 'with a free slot the view runs');

# Somebody drops the slot and takes its place: the view runs, and shows that its WAL is not kept.
$node->sql(q{SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots;
	SELECT pg_create_physical_replication_slot('other')});
$node->sql(q{SELECT stream_engine.stop('v1')});
$node->sql(q{SELECT stream_engine.wait_state('v1', 'stopped', '60s')});
$node->sql(q{SELECT stream_engine.start('v1')});
$node->wait_until(q{SELECT state = 'running' AND error_sqlstate = '53400' AND error = 'all replication slots are in use' FROM stream_engine.jobs},
	'the view shows that its WAL is not kept');
$node->sql('INSERT INTO s VALUES (2)');
$node->refresh('v1');
is($node->sql('SELECT count(*) FROM v1'), '2', 'it runs all the same');
$node->sql(q{SELECT pg_drop_replication_slot('other')});
$node->wait_until(q{SELECT error IS NULL FROM stream_engine.jobs}, 'the slot is made as soon as one is free');
is($node->sql(q{SELECT slot_name = 'stream_engine_' || (SELECT oid FROM pg_database WHERE datname = current_database()) FROM pg_replication_slots}),
	't', 'it is ours');

# More views than stream_engine.max_jobs.
$node->sql(create('v2'));
$node->refresh('v2');
$node->sql(create('v3'));
$node->sql(q{SELECT stream_engine.wait_state('v3', 'waiting', '60s')});
is(state('v3'), 'waiting|all places for continuous views are taken: raise stream_engine.max_jobs, or drop views', 'max_jobs: the view waits and says for what');
$node->sql('INSERT INTO s VALUES (3)');
my $refresh = start_refresh('v3');
like($refresh->{err}, qr/WARNING:  continuous view "v3" is waiting.*raise stream_engine.max_jobs/s, 'REFRESH says why it waits');
$node->sql('DROP MATERIALIZED VIEW v2');
$refresh->{handle}->finish;
is($node->sql('SELECT id FROM v3'), '3', 'when a place is free the view begins at its creation');

# Fewer background workers than views: ours and PostgreSQL's launcher and the coordinator leave one.
$node->append_conf('postgresql.conf', "stream_engine.max_jobs = 10\nmax_worker_processes = 4\nmax_parallel_workers = 0\n");
$node->restart;
$node->wait_until(q{SELECT array_agg(state ORDER BY state) = ARRAY['running', 'waiting'] FROM stream_engine.jobs}, 'one worker for two views');
my ($running, $waiting) = map { $node->sql("SELECT view FROM stream_engine.jobs WHERE state = '$_'") } qw(running waiting);
is(state($waiting), 'waiting|no background worker is free: raise max_worker_processes', 'the view waits and says for what');
$refresh = start_refresh($waiting);
like($refresh->{err}, qr/WARNING:  continuous view "$waiting" is waiting.*raise max_worker_processes/s, 'REFRESH says why it waits');
$node->sql(qq{SELECT stream_engine.stop('$running')});
$refresh->{handle}->finish;
is(state($waiting), 'running|', 'a worker that is free is taken');

# Not even one for the coordinator.
$node->append_conf('postgresql.conf', "max_worker_processes = 2\n");
$node->restart;
$node->wait_until(qq{SELECT state = 'waiting' AND error = 'no background worker is free for the coordinator: raise max_worker_processes'
	FROM stream_engine.jobs WHERE view = '$waiting'::regclass}, 'no coordinator');
$node->append_conf('postgresql.conf', "max_worker_processes = 1\n");
$node->restart;
is(state($waiting), 'waiting|the launcher of stream_engine does not run: max_worker_processes may be too small', 'no launcher');
$node->append_conf('postgresql.conf', "max_worker_processes = 10\n");
$node->restart;
$node->sql(qq{SELECT stream_engine.start('$running')});
$node->sql('INSERT INTO s VALUES (4)');
$node->refresh('v1', 'v3');
is($node->sql('SELECT count(*) FROM v1'), '4', 'with workers everything goes on');
is($node->sql('SELECT count(*) FROM v3'), '2', 'with workers everything goes on');

# Not preloaded: reading tables works, the rest says what to do.
$node->append_conf('postgresql.conf', "shared_preload_libraries = ''\n");
$node->restart;
is($node->sql('SELECT count(*) FROM v1'), '4', 'not preloaded: results can be read');
like($node->sql_error(create('v4')), qr/unrecognized parameter namespace "stream_engine"/, 'not preloaded: CREATE');
like($node->sql_error('INSERT INTO s VALUES (5)'), qr/must be loaded via shared_preload_libraries.*HINT/s, 'not preloaded: INSERT');
like($node->sql_error('SELECT * FROM stream_engine.jobs'), qr/must be loaded via shared_preload_libraries.*HINT/s, 'not preloaded: jobs');
like($node->sql_error(q{SELECT stream_engine.stop('v1')}), qr/must be loaded via shared_preload_libraries.*HINT/s, 'not preloaded: stop');
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'stream_engine'\n");
$node->restart;
$node->sql('INSERT INTO s VALUES (6)');
$node->refresh('v1', 'v3');
is($node->sql('SELECT count(*), max(id) FROM v1'), '5|6', 'preloaded again, the views go on');

$node->stop;
done_testing();
