
=head1 NAME

StreamEngine - what TAP tests of stream_engine share: servers, twins, fault points, load, the oracle

=head1 SYNOPSIS

  use StreamEngine;
  my $node = StreamEngine->new('main');
  $node->twin('events');                                 # stream "events", heap "events_twin"
  $node->sql('CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous) AS SELECT …');
  my $load = $node->start_load('events', clients => 4, transactions => 200);
  $node->kill9_postmaster; $node->start;
  $node->finish_load($load);
  $node->equals_oracle('v', 'SELECT … FROM events_twin …', 'after the crash');

=cut

package StreamEngine;

use strict;
use warnings;
use parent -norequire, 'PostgreSQL::Test::Cluster';
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep time);

# Seconds after which a wait is a failure. Nothing passes because of it.
our $timeout = $ENV{SE_TIMEOUT} // 180;

=head2 Servers

=over

=item StreamEngine->new(name, conf => "…", start => 0, install_path => "/of/another/postgresql")

A running server (unless start => 0) with the settings of test/stream_engine.conf and those
given, and the extension with the SQL functions of test builds in database postgres.

=cut

sub new
{
	my ($class, $name, %args) = @_;
	my $self = PostgreSQL::Test::Cluster->new($name, defined $args{install_path} ? (install_path => $args{install_path}) : ());

	bless $self, $class;
	$self->init(extra => [ '-N', '--locale=C.UTF-8', '--encoding=UTF8' ]);
	$self->append_conf('postgresql.conf', slurp_file("$ENV{SE_TREE}/test/stream_engine.conf"));
	# PostgreSQL's own test settings switch off what we want to see.
	$self->append_conf('postgresql.conf', "restart_after_crash = on\nlog_statement = none\n");
	$self->append_conf('postgresql.conf', $args{conf}) if defined $args{conf};
	if ($args{start} // 1)
	{
		$self->start;
		$self->install('postgres');
	}
	return $self;
}

=item $node->install(database)

The extension and its test functions in a database.

=cut

sub install
{
	my ($self, $database) = @_;
	$self->sql('SET client_min_messages = warning; CREATE EXTENSION stream_engine', $database);
	$self->sql(slurp_file("$ENV{SE_TREE}/test/lib/test_support.sql"), $database);
	return;
}

=item $node->psql(…)

As Cluster's. A server that refuses the connection before the query is written is an error as others are, not the end of the test.

=cut

sub psql
{
	my ($self, $database, $query, %params) = @_;
	my @result;

	return wantarray ? @result : $result[0] if eval { @result = $self->SUPER::psql($database, $query, %params); 1 };
	die $@ if $params{on_error_die} || $@ !~ /Broken pipe/;
	return wantarray ? (2, '', $@) : 2;
}

=item $node->sql(query, database = postgres)

The result as psql -At prints it; the test dies on an error.

=cut

sub sql
{
	my ($self, $query, $database) = @_;
	return $self->safe_psql($database // 'postgres', $query);
}

=item $node->sql_error(query)

The error message of a query that must fail; a failed check and '' if it does not.

=cut

sub sql_error
{
	my ($self, $query, $database) = @_;
	my ($status, $out, $err) = $self->psql($database // 'postgres', $query);
	isnt($status, 0, "fails: $query") or return '';
	return $err;
}

=item $node->wait_until(query, what)

Ask until the query answers t: for what has no wait function, such as a process that must be gone.

=cut

sub wait_until
{
	my ($self, $query, $what) = @_;
	my $end = time + $timeout;
	my ($status, $out, $err);

	while (time < $end)
	{
		($status, $out, $err) = $self->psql('postgres', $query);
		return 1 if $status == 0 && $out eq 't';
		usleep(50_000);
	}
	fail('waited in vain: ' . ($what // $query));
	diag("last answer: $out $err");
	return 0;
}

=item $node->wait_ready

Until the server takes connections again after a crash restart.

=cut

sub wait_ready
{
	my ($self) = @_;
	return $self->wait_until(q{SELECT true}, 'server is back');
}

=item $node->refresh(view, …)

REFRESH: all that was committed before is in the views afterwards.

=cut

sub refresh
{
	my ($self, @views) = @_;
	$self->sql("REFRESH MATERIALIZED VIEW $_") foreach @views;
	return;
}

=item $node->refresh_all(view, …)

The same, of many views in one session.

=cut

sub refresh_all
{
	my ($self, @views) = @_;
	$self->sql(join('', map { "REFRESH MATERIALIZED VIEW $_;\n" } @views));
	return;
}

=back

=head2 Processes

=over

=item $node->worker_pids(pattern)

Process ids of our background workers whose backend_type or application_name matches (SQL LIKE).

=cut

sub worker_pids
{
	my ($self, $pattern) = @_;
	$pattern //= 'stream_engine%';
	return split /\n/, $self->sql(qq{
		SELECT pid FROM pg_stat_activity
		WHERE backend_type LIKE 'stream_engine%'
		  AND (backend_type LIKE '$pattern' OR application_name LIKE '$pattern') ORDER BY pid});
}

=item $node->wait_worker(pattern)

Until such a process runs; its pid.

=cut

sub wait_worker
{
	my ($self, $pattern) = @_;
	$self->wait_until(qq{
		SELECT count(*) > 0 FROM pg_stat_activity
		WHERE backend_type LIKE 'stream_engine%'
		  AND (backend_type LIKE '$pattern' OR application_name LIKE '$pattern')}, "a process like $pattern");
	return ($self->worker_pids($pattern))[0];
}

=item $node->kill9(pid)

kill -9 of one process of the server; returns when it is gone.

=cut

sub kill9
{
	my ($self, $pid) = @_;
	kill 'KILL', $pid or die "no process $pid";
	wait_gone($pid);
	return;
}

=item $node->kill9_postmaster

kill -9 of the postmaster. Returns the seconds until no process of ours was left; start() goes on.

=cut

sub kill9_postmaster
{
	my ($self) = @_;
	my @pids = $self->server_processes;
	my $began = time;

	$self->kill9_quietly;
	wait_gone($_) foreach @pids;
	return time - $began;
}

# The postmaster's children, from the process table: it works while nobody can connect.
sub server_processes
{
	my ($self) = @_;
	my $pid = $self->{_pid};
	my @pids;

	foreach my $stat (glob '/proc/[0-9]*/stat')
	{
		open my $fh, '<', $stat or next;
		my $line = <$fh> // '';
		close $fh;
		push @pids, $1 if $line =~ /^(\d+) \(.*\) \S (\d+) / && $2 == $pid;
	}
	return @pids;
}

# As Cluster's kill9, which also forgets the pid.
sub kill9_quietly
{
	my ($self) = @_;
	my $pid = $self->{_pid};
	kill 'KILL', $pid;
	wait_gone($pid);
	# A new postmaster minds even a dead one that init has not yet taken off the process table.
	usleep(10_000) while kill 0, $pid;
	$self->{_pid} = undef;
	return;
}

# Until a process is gone (or a zombie nobody has waited for).
sub wait_gone
{
	my ($pid) = @_;
	my $end = time + 60;

	while (time < $end)
	{
		open my $fh, '<', "/proc/$pid/stat" or return 1;
		my $line = <$fh> // '';
		close $fh;
		return 1 if $line eq '' || $line =~ /^\d+ \(.*\) Z/;
		usleep(10_000);
	}
	fail("process $pid is still there");
	return 0;
}

=back

=head2 Fault points

=over

=item $node->fault_set(name, action, after = 0, times = -1), fault_clear([name]), fault_reached(name), wait_fault(name, n = 1)

See base/fault.h. wait_fault returns when the point was passed n times.

=cut

sub fault_set
{
	my ($self, $name, $action, $after, $times) = @_;
	$after //= 0;
	$times //= -1;
	$self->sql("SELECT stream_engine.test_fault_set('$name', '$action', $after, $times)");
	return;
}

sub fault_clear
{
	my ($self, $name) = @_;
	$self->sql('SELECT stream_engine.test_fault_clear(' . (defined $name ? "'$name'" : 'NULL') . ')');
	return;
}

sub fault_reached
{
	my ($self, $name) = @_;
	my $n = $self->sql("SELECT stream_engine.test_fault_reached('$name')");
	return $n eq '' ? 0 : $n;
}

sub wait_fault
{
	my ($self, $name, $n) = @_;
	$n //= 1;
	return $self->wait_until("SELECT coalesce(stream_engine.test_fault_reached('$name'), 0) >= $n",
		"fault point $name reached");
}

=back

=head2 Streams with a twin

=over

=item $node->twin(name, watermark => 'ts - interval ''1 hour''')

A stream (client int, n bigint, k int, v bigint, ts timestamptz, note text) and a heap NAME_twin
of the same columns and an arrival ordinal. NAME_beside is a stream that takes turns with it under load. Without watermark only emit_watermark moves it.

=cut

sub twin
{
	my ($self, $name, %args) = @_;
	my $options = '';

	if (defined $args{watermark})
	{
		(my $quoted = $args{watermark}) =~ s/'/''/g;
		$options = "OPTIONS (watermark '$quoted')";
	}
	$self->sql(qq{
		CREATE FOREIGN TABLE $name (client int, n bigint, k int, v bigint,
			ts timestamptz OPTIONS (event_time 'true'), note text) SERVER stream_engine $options;
		CREATE TABLE ${name}_twin (client int, n bigint, k int, v bigint, ts timestamptz, note text,
			arrival bigint GENERATED ALWAYS AS IDENTITY);
		CREATE FOREIGN TABLE ${name}_beside (client int) SERVER stream_engine;
	});
	return;
}

=item $node->write_twin(name, select)

The rows of a query (client, n, k, v, ts, note), in its order, into both in one transaction.

=cut

sub write_twin
{
	my ($self, $name, $select) = @_;
	$self->sql(qq{
		BEGIN;
		CREATE TEMP TABLE rows_ (o bigint GENERATED ALWAYS AS IDENTITY, client int, n bigint, k int, v bigint,
			ts timestamptz, note text) ON COMMIT DROP;
		INSERT INTO rows_ (client, n, k, v, ts, note) $select;
		INSERT INTO ${name}_twin SELECT client, n, k, v, ts, note FROM rows_ ORDER BY o;
		INSERT INTO $name SELECT client, n, k, v, ts, note FROM rows_ ORDER BY o;
		COMMIT;
	});
	return;
}

=item $node->equals_oracle(view, query, what)

The check that matters: the view's rows and the query's, as multisets. Shows the first differences.

=cut

sub equals_oracle
{
	my ($self, $view, $query, $what) = @_;
	my $name = $view =~ s/'/''/gr;
	my $differences = $self->sql(qq{
		SET timezone = 'UTC';
		WITH v AS (SELECT * FROM $view), q AS ($query)
		SELECT 'only in $name: ' || d::text FROM (SELECT * FROM v EXCEPT ALL SELECT * FROM q) d
		UNION ALL
		SELECT 'missing in $name: ' || d::text FROM (SELECT * FROM q EXCEPT ALL SELECT * FROM v) d
		LIMIT 20});
	my $ok = is($differences, '', "$view equals its query: " . ($what // ''));
	diag($self->sql("SELECT count(*) || ' rows in $name' FROM $view")) if !$ok;
	return $ok;
}

=back

=head2 Load

=over

=item $node->start_load(name, clients => 4, transactions => 100, seed => n)

Sessions that write random transactions to stream and twin alike: single rows, many rows, COPY,
rolled back, with nested savepoints kept and dropped, prepared and committed or rolled back
later. A session that loses its connection ends. Returns a handle for finish_load.

=item $node->finish_load(handle [, expected => qr/…/])

Waits for the sessions and resolves prepared transactions that a crash left open. SQL errors of the
sessions are failed checks, unless they match what is expected.

=cut

# One random piece of work, as the same rows for stream and twin.
sub random_rows
{
	my ($name, $client, $state, $count) = @_;
	my @rows;

	for (1 .. $count)
	{
		my $n = $state->{n}++;
		push @rows, [ $client, $n, int(rand(20)), int(rand(1000)) - 500,
			sprintf('2024-01-01 %02d:%02d:%02d.%03d+00', int($n / 3600) % 24, int($n / 60) % 60, $n % 60, int(rand(1000))),
			'x' x int(rand(40)) ];
	}
	return @rows;
}

sub insert_both
{
	my ($name, @rows) = @_;
	my $values = join(', ', map { "($_->[0], $_->[1], $_->[2], $_->[3], '$_->[4]', '$_->[5]')" } @rows);
	# Between the two the transaction is open for a moment, as a client's with work of its own would be.
	my $pause = rand() < 0.5 ? 'SELECT pg_sleep(' . int(rand(8)) / 1000 . ");\n" : '';
	return "INSERT INTO ${name}_twin (client, n, k, v, ts, note) VALUES $values;\n${pause}INSERT INTO $name VALUES $values;\n";
}

sub copy_both
{
	my ($name, @rows) = @_;
	my $data = join('', map { join("\t", @$_) . "\n" } @rows) . "\\.\n";
	return "COPY ${name}_twin (client, n, k, v, ts, note) FROM STDIN;\n$data" . "COPY $name FROM STDIN;\n$data";
}

# The script of one session.
sub load_script
{
	my ($name, $client, $transactions, $tag) = @_;
	my $state = { n => 1 };
	my @prepared;
	my $script = "SET application_name = 'load $client';\n";

	for my $t (1 .. $transactions)
	{
		my $kind = int(rand(8));
		my $end = rand() < 0.2 ? 'ROLLBACK' : 'COMMIT';

		if ($kind <= 2)
		{
			$script .= "BEGIN;\n" . insert_both($name, random_rows($name, $client, $state, 1)) . "COMMIT;\n";
		}
		elsif ($kind == 3)
		{
			$script .= "BEGIN;\n" . insert_both($name, random_rows($name, $client, $state, 1 + int(rand(200)))) . "$end;\n";
		}
		elsif ($kind == 4)
		{
			$script .= "BEGIN;\n" . copy_both($name, random_rows($name, $client, $state, 1 + int(rand(500)))) . "$end;\n";
		}
		elsif ($kind <= 6)
		{
			# rows of another stream between make gaps in the messages of this one
			my $beside = "INSERT INTO ${name}_beside VALUES ($client);\n";
			$script .= "BEGIN;\n" . insert_both($name, random_rows($name, $client, $state, 2)) . $beside
			  . insert_both($name, random_rows($name, $client, $state, 2)) . $beside . $beside
			  . insert_both($name, random_rows($name, $client, $state, 1)) . "SAVEPOINT a;\n"
			  . insert_both($name, random_rows($name, $client, $state, 3)) . "SAVEPOINT b;\n"
			  # the end of a subtransaction writes its rows to the log, where a rollback must find them
			  . (rand() < 0.5 ? copy_both($name, random_rows($name, $client, $state, 3))
				: "SAVEPOINT c;\n" . copy_both($name, random_rows($name, $client, $state, 3)) . "RELEASE c;\n")
			  . (rand() < 0.5 ? "ROLLBACK TO b;\n" : "RELEASE b;\n")
			  . (rand() < 0.3 ? "ROLLBACK TO a;\n" : '')
			  . insert_both($name, random_rows($name, $client, $state, 1)) . "$end;\n";
		}
		else
		{
			my $gid = "$tag $client $t";
			$script .= "BEGIN;\n" . insert_both($name, random_rows($name, $client, $state, 5)) . "PREPARE TRANSACTION '$gid';\n";
			push @prepared, $gid;
		}
		if (@prepared > 2 || ($t == $transactions && @prepared))
		{
			$script .= (rand() < 0.7 ? 'COMMIT' : 'ROLLBACK') . " PREPARED '$_';\n" foreach @prepared;
			@prepared = ();
		}
	}
	return $script;
}

my $loads = 0;

sub start_load
{
	my ($self, $name, %args) = @_;
	my $clients = $args{clients} // 4;
	my $seed = $args{seed} // int(rand(1_000_000));
	my %load = (sessions => [], tag => 'load' . ++$loads);

	note("load with seed $seed");
	srand($seed);
	for my $client (1 .. $clients)
	{
		my $file = "$PostgreSQL::Test::Utils::tmp_check/$load{tag}_$client.sql";
		PostgreSQL::Test::Utils::append_to_file($file,
			load_script($name, $client + 100 * $loads, $args{transactions} // 100, $load{tag}));
		my ($out, $err) = ('', '');
		my $handle = IPC::Run::start(
			[ 'psql', '-XqAt', '-d', $self->connstr('postgres'), '-f', $file ], '>', \$out, '2>', \$err);
		push @{ $load{sessions} }, { handle => $handle, err => \$err };
	}
	return \%load;
}

sub finish_load
{
	my ($self, $load, $expected) = @_;

	foreach my $session (@{ $load->{sessions} })
	{
		$session->{handle}->finish;
		my $err = ${ $session->{err} };
		# A lost connection is what crash tests are about; an SQL error is not.
		my @errors = grep { /ERROR:/ && !/prepared transaction with identifier/ && !($expected && $err =~ $expected) } split /\n/, $err;
		is(join("\n", @errors[ 0 .. ($#errors > 4 ? 4 : $#errors) ]), '', 'sessions saw no error');
	}
	$self->wait_ready;
	foreach my $gid (split /\n/, $self->sql('SELECT gid FROM pg_prepared_xacts ORDER BY gid'))
	{
		$self->sql((rand() < 0.5 ? 'COMMIT' : 'ROLLBACK') . " PREPARED '$gid'");
	}
	return;
}

=back

=cut

1;
