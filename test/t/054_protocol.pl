# test/t/054_protocol.pl: every command as drivers send it: prepared, with parameters, binary, described, in pipelines, in portions.
use strict;
use warnings;
use StreamEngine;
use Test::More;
use Wire;

my $node = StreamEngine->new('protocol');
my $wire = Wire->new($node);
my ($int8, $int4, $text, $timestamptz, $regclass) = (20, 23, 25, 1184, 2205);

*outcome = \&Wire::outcome;

sub executes
{
	my ($name, $params, $expected, %args) = @_;
	is(outcome($wire->execute($name, $params, %args)), $expected, "$name: $expected");
	return;
}

sub runs
{
	my ($sql, $params, $expected, %args) = @_;
	is(outcome($wire->run($sql, $params, %args)), $expected, $args{what} // "$sql: $expected");
	return;
}

# ---- Commands, prepared once and executed in two rounds: execution changes nothing of what was prepared.

my $query = 'SELECT k, count(*) AS n, sum(v) AS total FROM s GROUP BY k';
my @life = (
	[ 'create stream', 'CREATE FOREIGN TABLE s (k int, v int, ts timestamptz OPTIONS (event_time \'true\')) SERVER stream_engine', 'CREATE FOREIGN TABLE' ],
	[ 'alter stream', 'ALTER FOREIGN TABLE s ADD COLUMN IF NOT EXISTS note text', 'ALTER FOREIGN TABLE' ],
	[ 'explain create', "EXPLAIN CREATE MATERIALIZED VIEW x WITH (stream_engine.continuous) AS SELECT k FROM s WHERE k > 1", undef ],
	[ 'create view', "CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous) AS $query", 'CREATE MATERIALIZED VIEW' ],
	[ 'create again', "CREATE MATERIALIZED VIEW IF NOT EXISTS v WITH (stream_engine.continuous) AS $query", 'CREATE MATERIALIZED VIEW' ],
	[ 'insert', 'INSERT INTO s SELECT i % 3, i, now() FROM generate_series(1, 100) i', 'INSERT 0 100' ],
	[ 'refresh', 'REFRESH MATERIALIZED VIEW v', 'REFRESH MATERIALIZED VIEW' ],
	[ 'select', 'SELECT * FROM v ORDER BY k', '0|33|1683 1|34|1717 2|33|1650' ],
	[ 'comment', 'COMMENT ON MATERIALIZED VIEW v IS \'counts\'', 'COMMENT' ],
	[ 'set', 'ALTER MATERIALIZED VIEW v SET (fillfactor = 50)', 'ALTER MATERIALIZED VIEW' ],
	[ 'rename', 'ALTER MATERIALIZED VIEW v RENAME TO w', 'ALTER MATERIALIZED VIEW' ],
	[ 'rename back', 'ALTER MATERIALIZED VIEW w RENAME TO v', 'ALTER MATERIALIZED VIEW' ],
	[ 'schema', 'ALTER MATERIALIZED VIEW v SET SCHEMA aside', 'ALTER MATERIALIZED VIEW' ],
	[ 'schema back', 'ALTER MATERIALIZED VIEW aside.v SET SCHEMA public', 'ALTER MATERIALIZED VIEW' ],
	[ 'owner', 'ALTER MATERIALIZED VIEW v OWNER TO CURRENT_USER', 'ALTER MATERIALIZED VIEW' ],
	[ 'index', 'CREATE INDEX v_n ON v (n)', 'CREATE INDEX' ],
	[ 'grant', 'GRANT SELECT ON v TO PUBLIC', 'GRANT' ],
	[ 'refresh concurrently', 'REFRESH MATERIALIZED VIEW CONCURRENTLY v', 'REFRESH MATERIALIZED VIEW' ],
	[ 'drop view', 'DROP MATERIALIZED VIEW v', 'DROP MATERIALIZED VIEW' ],
	[ 'drop stream', 'DROP FOREIGN TABLE s', 'DROP FOREIGN TABLE' ]);

$node->sql('CREATE SCHEMA aside');
foreach my $round (1 .. 2)
{
	foreach my $command (@life)
	{
		my ($name, $sql, $expected) = @$command;
		my $described = $round == 1 ? $wire->prepare($name, $sql) : undef;
		my $result = $wire->execute($name);
		is(outcome($result), $expected, "$round: $name") if defined $expected;
		like(outcome($result), qr/rows where \(k > 1\)|k > 1/, "$round: $name") if !defined $expected;
		next unless $described;
		is_deeply($described->{params}, [], "$name has no parameters");
		my $columns = join(' ', map { "$_->{name}:$_->{type}" } @{ $described->{columns} });
		is($columns, $name eq 'select' ? "k:$int4 n:$int8 total:$int8" : $name =~ /explain/ ? "QUERY PLAN:$text" : '', "$name is described");
	}
}
is($node->sql('SELECT count(*) FROM stream_engine.jobs'), '0', 'nothing is left');

# ---- Parameters.

$wire->run('CREATE FOREIGN TABLE s (k int, v int, ts timestamptz OPTIONS (event_time \'true\'), note text) SERVER stream_engine');
$wire->run('CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous) AS SELECT window_start, k, count(*) AS n, sum(v) AS total'
	  . ' FROM s, tumble(ts, interval \'10 seconds\') GROUP BY window_start, window_end, k');
$wire->run('CREATE MATERIALIZED VIEW g WITH (stream_engine.continuous) AS SELECT k, count(*) AS n, max(note) AS last FROM s GROUP BY k');

my $insert = $wire->prepare('insert one', 'INSERT INTO s VALUES ($1, $2, $3, $4)');
is_deeply($insert->{params}, [ $int4, $int4, $timestamptz, $text ], 'parameters of an INSERT have the types of the columns');
# More often than the plan cache makes plans for given values.
executes('insert one', [ $_ % 2, $_, "2024-01-01 00:00:0$_+00", $_ == 3 ? undef : "note $_" ], 'INSERT 0 1') foreach 1 .. 8;
executes('insert one', [ pack('N', 1), pack('N', 9), pack('q>', 757382409 * 1_000_000), 'binary' ], 'INSERT 0 1', params_binary => 1);
executes('insert one', [ 'one', 1, '2024-01-01', 'x' ], '22P02: invalid input syntax for type integer: "one"');
executes('insert one', [ 1, 1, undef, 'x' ], '23502: null value in column "ts", the event time of stream "s"');
$wire->prepare('returning', 'INSERT INTO s (k, v, ts) VALUES ($1, 1, $2) RETURNING k, note');
executes('returning', [ 7, '2024-01-01 00:00:09+00' ], '7|.');

is_deeply($wire->prepare('watermark', 'SELECT stream_engine.emit_watermark($1, $2)')->{params}, [ $regclass, $timestamptz ], 'emit_watermark: types');
executes('watermark', [ 's', '2024-01-01 00:00:10+00' ], '');
$wire->run("REFRESH MATERIALIZED VIEW $_") foreach qw(v g);
runs('SELECT k, n, total FROM v WHERE window_start = $1 ORDER BY k', ['2024-01-01 00:00:00+00'], '0|4|20 1|5|25 7|1|1');
runs('SELECT k, n, last FROM g ORDER BY k', [], '0|4|note 8 1|5|note 7 7|1|.');
runs('SELECT k, count(*), sum(v) FROM s WHERE k = $1 GROUP BY k', [1], '1|5|25', what => 'a stream is read with a parameter');
runs('SELECT window_start FROM tumble($1::timestamptz, $2::interval)', [ '2024-01-01 00:00:14+00', '5 seconds' ], '2024-01-01 00:00:10+00',
	what => 'tumble with parameters');

$wire->prepare('state', 'SELECT stream_engine.wait_state($1, $2, $3)');
$wire->prepare('stop', 'SELECT stream_engine.stop($1)');
$wire->prepare('start', 'SELECT stream_engine.start($1, $2)');
$wire->prepare('wait for', 'SELECT stream_engine.wait_for($1, $2, $3)');
executes('stop', ['v'], '');
executes('state', [ 'v', 'stopped', '3 minutes' ], '');
executes('start', [ 'v', undef ], '');
executes('state', [ 'v', 'running', '3 minutes' ], '');
my $flushed = $wire->run('SELECT pg_current_wal_flush_lsn()')->{rows}[0][0];
$wire->run('INSERT INTO s VALUES (1, 1, now())');
executes('wait for', [ 'v', $flushed, '3 minutes' ], '');
executes('state', [ 'v', 'no state', undef ], '22023: unrecognized state of a continuous view: "no state"');
like(outcome($wire->run('SELECT string_agg(line, chr(10)) FROM stream_engine.explain($1) line', ['v'])), qr/tumble/i, 'explain with a parameter');
is(scalar @{ $wire->run('SELECT view FROM stream_engine.jobs WHERE view = $1::regclass AND state = $2', [ 'v', 'running' ])->{rows} }, 1, 'jobs with parameters');

# What cannot have parameters says so, where it is parsed.
runs('CREATE MATERIALIZED VIEW x WITH (stream_engine.continuous) AS SELECT k FROM s WHERE k = $1::int', [1],
	'0A000: materialized views may not be defined using bound parameters', what => 'a view with a parameter');

# ---- Binary results.

$wire->run('REFRESH MATERIALIZED VIEW g');
my $binary = $wire->run('SELECT k, n, last FROM g WHERE k = 1', [], results_binary => 1);
is_deeply([ unpack('N q> a*', join('', @{ $binary->{rows}[0] })) ], [ 1, 6, 'note 7' ], 'a view read in binary');
$binary = $wire->run('SELECT k, v, note FROM s WHERE v = $1', [ pack('N', 9) ], params_binary => 1, results_binary => 1);
is_deeply([ unpack('N N a*', join('', @{ $binary->{rows}[0] })) ], [ 1, 9, 'binary' ], 'a stream read in binary');

# ---- A prepared statement follows what happens to stream and view.

$wire->prepare('all of g', 'SELECT * FROM g WHERE k = 7');
executes('all of g', [], '7|1|.');
$wire->run('ALTER FOREIGN TABLE s ADD COLUMN more int DEFAULT 5');
executes('insert one', [ 7, 1, '2024-01-01 00:01:00+00', 'new' ], 'INSERT 0 1');
runs('SELECT k, note, more FROM s WHERE k = 7 ORDER BY ts', [], '7|.|5 7|new|5', what => 'a column that came after the statement');
$wire->run('REFRESH MATERIALIZED VIEW g');
executes('all of g', [], '7|2|new');
$wire->run('ALTER MATERIALIZED VIEW g RENAME TO h');
executes('all of g', [], '42P01: relation "g" does not exist');
$wire->run('ALTER MATERIALIZED VIEW h RENAME TO g');
executes('all of g', [], '7|2|new');

# ---- Portals that are read in portions.

$wire->put_run('BEGIN');
$wire->put_parse('portions', 'SELECT v FROM s WHERE k = 1 ORDER BY ts LIMIT 5');
$wire->put_bind('portal', 'portions');
$wire->put_describe('P', 'portal');
$wire->put_execute('portal', 2);
my @results = $wire->sync;
is_deeply($results[5]{columns}, [ { name => 'v', type => $int4 } ], 'a portal over a stream is described');
is($results[6]{suspended}, 1, 'two rows of a stream, and more to come');
is(outcome($results[6]), '1 3', 'the first two');
$wire->run('INSERT INTO s VALUES (1, 100, \'2023-12-31\')');
$wire->put_execute('portal', 2);
$wire->put_execute('portal', 2);
@results = $wire->sync;
is(outcome($results[0]) . ', ' . outcome($results[1]), '5 7, 9', 'the rest, as of its snapshot');
$wire->run('ROLLBACK');

# ---- Pipelines: one Sync after many commands is one transaction, and an error ends it.

sub pipeline
{
	$wire->put_run($_) foreach @_;
	my @each = $wire->sync;
	my @outcomes;
	while (my @three = splice(@each, 0, 3))
	{
		my ($error) = grep { $_->{error} } @three;
		push @outcomes, $error ? outcome($error) : $three[2]{skipped} ? 'skipped' : outcome($three[2]);
	}
	return join(', ', @outcomes);
}

my $create = 'CREATE MATERIALIZED VIEW p WITH (stream_engine.continuous) AS SELECT k, v FROM s';
is(pipeline('INSERT INTO s VALUES (20, 1, now())', 'INSERT INTO s VALUES (20, 2, now())', 'SELECT 1/0', 'INSERT INTO s VALUES (20, 3, now())'),
	'INSERT 0 1, INSERT 0 1, 22012: division by zero, skipped', 'a pipeline with an error');
runs('SELECT count(*) FROM s WHERE k = 20', [], '0', what => '… leaves no row in the stream');
is(pipeline('INSERT INTO s VALUES (20, 1, now())', 'INSERT INTO s VALUES (20, 2, now())'), 'INSERT 0 1, INSERT 0 1', 'a pipeline of INSERTs');
runs('SELECT count(*) FROM s WHERE k = 20', [], '2', what => '… is in the stream');
is(pipeline($create, 'SELECT 1/0'), 'CREATE MATERIALIZED VIEW, 22012: division by zero', 'a pipeline with CREATE and an error');
runs('SELECT to_regclass($1)', ['p'], '.', what => '… leaves no view');
is(pipeline($create, 'INSERT INTO s VALUES (30, 1, now())'), 'CREATE MATERIALIZED VIEW, INSERT 0 1', 'CREATE and INSERT in a pipeline');
is(pipeline('INSERT INTO s VALUES (30, 2, now())', 'COMMIT', 'REFRESH MATERIALIZED VIEW p', 'SELECT v FROM p ORDER BY v'), 'INSERT 0 1, COMMIT, REFRESH MATERIALIZED VIEW, 1 2', 'INSERT, COMMIT and REFRESH in a pipeline');
is(pipeline('INSERT INTO s VALUES (30, 3, now())', 'REFRESH MATERIALIZED VIEW p', 'SELECT v FROM p ORDER BY v'),
	'INSERT 0 1, REFRESH MATERIALIZED VIEW, 1 2', 'REFRESH does not wait for rows of the pipeline it is in');
$wire->run('REFRESH MATERIALIZED VIEW p');
runs('SELECT v FROM p ORDER BY v', [], '1 2 3', what => '… which come when it is committed');

# ---- COPY.

runs('COPY s (k, v, ts) FROM STDIN', [], 'COPY 2', copy => "40\t1\t2024-01-01\n40\t2\t2024-01-01\n");
runs('COPY s (k, v, ts) FROM STDIN', [], '22P02: invalid input syntax for type integer: "x"', copy => "40\tx\t2024-01-01\n", what => 'COPY with a bad row');
is($wire->run('COPY (SELECT v FROM s WHERE k = 40 ORDER BY v) TO STDOUT')->{copied}, "1\n2\n", 'COPY out of a stream');
runs('DROP FOREIGN TABLE s CASCADE', [], 'DROP FOREIGN TABLE');

# ---- The server is none the worse for it.

is($wire->status, 'I', 'no transaction is left open');
is($node->sql('SELECT count(*) FROM stream_engine.jobs'), '0', 'no job is left');
$wire->close;
$node->stop;
done_testing();
