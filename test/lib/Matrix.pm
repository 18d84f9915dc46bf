
=head1 NAME

Matrix - views of many kinds with many options over one input, while the server dies at random moments between its rows

=head1 SYNOPSIS

  my $matrix = Matrix->new('windows', setup => 'CREATE FOREIGN TABLE s …; CREATE TABLE twin (id int, …)',
      rows => sub { my ($first, $last) = @_; return 'INSERT INTO twin …; INSERT INTO s …' });
  $matrix->cell(tumble_early => options => q{emit = 'early 7 s'}, query => 'SELECT … FROM s, tumble(…) …',
      now => 'SELECT …', final => 'SELECT …');
  $matrix->run(rounds => 6, transactions => 40);

A round writes rows in small transactions, kills something at a random row, and then compares each cell. From round to round workers read
batches of 1, 7 and 1000 rows. At the end the input ends.

=cut

package Matrix;

use strict;
use warnings;
use IPC::Run;
use PostgreSQL::Test::Utils;
use StreamEngine;
use Test::More;
use Time::HiRes qw(usleep);

=over

=item Matrix->new(name, setup => SQL, rows => sub { (first, last) → SQL }, stamp => SQL, before => sub { … }, after => SQL, infinity => SQL or sub { … }, conf => "…")

setup makes the streams and table twin, whose column id numbers the rows from 1. stamp, or what it returns for the node, is run before each comparison: it makes what the oracles read;
before, called with the matrix and 'now' or 'final', and after go round it. infinity ends the input.

=cut

sub new
{
	my ($class, $name, %args) = @_;
	my $self = bless { %args, cells => {}, next => 1, moved => {} }, $class;

	$self->{seed} = $ENV{SEED} || int(rand(1_000_000));
	note("$name with seed $self->{seed} (SEED=$self->{seed} repeats them)");
	srand($self->{seed});
	$self->{node} = StreamEngine->new($name, conf => <<"CONF" . ($args{conf} // ''));
max_worker_processes = 160
stream_engine.max_jobs = 150
stream_engine.checkpoint_interval = '20ms'
stream_engine.restart_delay_min = '10ms'
stream_engine.tick_interval = '50ms'
CONF
	$self->{node}->sql($args{setup});
	return $self;
}

=item $matrix->cell(view, options => …, query => …, …)

What it must hold: now, after a REFRESH (with eventually: a while after it); final, at the end of the input. With again => 'now', 'final' or 'both' it
must then hold what a view holds that reads the same while nothing crashes. holds_back is a query of all that may come: at some time the rows must be others. wrong must be empty after
a REFRESH. rows says which part of the view is compared. Options have no prefix.

=cut

sub cell
{
	my ($self, $view, %cell) = @_;
	my $options = join(', ', 'stream_engine.continuous', map { "stream_engine.$_" } @{ $cell{options} });

	$cell{rows} //= "SELECT * FROM $view";
	$self->{cells}{$view} = \%cell;
	$self->{node}->sql("CREATE MATERIALIZED VIEW $view WITH ($options) AS $cell{query}");
	$self->{node}->sql("CREATE MATERIALIZED VIEW again_$view WITH ($options) AS $cell{query} WITH NO DATA") if $cell{again};
	return;
}

=item $matrix->write(transactions [, at])

Small transactions of rows, each twice as long as the other at most times; with at, returns when as many are written and the session goes on. finish() ends it.

=cut

sub begin_rows
{
	my ($self, $transactions) = @_;
	my $script = '';
	my $id = $self->{next};

	foreach (1 .. $transactions)
	{
		my $last = $id + int(rand(rand() < 0.2 ? 60 : 8));
		$script .= 'BEGIN; ' . $self->{rows}->($id, $last) . "; COMMIT;\nSELECT 'wrote ' || $last;\n";
		$id = $last + 1;
	}
	my $file = "$PostgreSQL::Test::Utils::tmp_check/rows_$id.sql";
	append_to_file($file, $script);
	$self->{out} = $self->{err} = '';
	$self->{writer} = IPC::Run::start([ 'psql', '-XqAt', '-v', 'ON_ERROR_STOP=1', '-d', $self->{node}->connstr('postgres'), '-f', $file ],
		'>', \$self->{out}, '2>', \$self->{err}, IPC::Run::timeout($StreamEngine::timeout));
	return;
}

# Until so many of its transactions are acknowledged.
sub pump_rows
{
	my ($self, $acknowledged) = @_;

	$self->{writer}->pump while $self->{writer}->pumpable && (() = $self->{out} =~ /wrote \d+\n/g) < $acknowledged;
	return;
}

sub end_rows
{
	my ($self) = @_;
	my $node = $self->{node};

	eval { $self->{writer}->finish; 1 } or fail("the writer ended: $@");
	unlike($self->{err}, qr/ERROR:/, 'the writer met no error');
	$node->wait_ready;
	my $acknowledged = $self->{out} =~ /.*wrote (\d+)\n/s ? $1 : 0;
	my $written = $node->sql('SELECT coalesce(max(id), 0) FROM twin');
	cmp_ok($written, '>=', $acknowledged, 'nothing acknowledged is lost');
	$self->{next} = $written + 1;
	return;
}

# What dies; the postmaster with all, or one worker, for which the server restarts all.
sub die_somehow
{
	my ($self, $round) = @_;
	my $node = $self->{node};

	usleep(int(rand(20_000)));
	if ($round % 3 == 0)
	{
		# It may have gone by itself, to begin anew.
		my ($pid, @pids);
		do
		{
			$node->wait_worker('stream_engine task');
			@pids = $node->worker_pids('stream_engine task');
			$pid = $pids[ rand @pids ];
		} until $pid && kill 'KILL', $pid;
		StreamEngine::wait_gone($pid);
		$node->wait_ready;
		return 'kill -9 of a worker';
	}
	$node->kill9_postmaster;
	$node->start;
	return 'kill -9 of the postmaster';
}

# The cells of which a query, made of view and cell, is not empty.
sub differing
{
	my ($self, $make, @views) = @_;
	my $script = join('', map { my $query = $make->($_, $self->{cells}{$_}); "SELECT '$_' WHERE EXISTS ($query);\n" } @views);

	return @views ? split(/\n/, $self->{node}->sql("SET max_parallel_workers_per_gather = 0;\n$script")) : ();
}

sub differences
{
	my ($left, $right) = @_;
	return "(($left) EXCEPT ALL ($right)) UNION ALL (($right) EXCEPT ALL ($left))";
}

=item $matrix->compare(what, 'now' or 'final')

=cut

sub compare
{
	my ($self, $what, $when) = @_;
	my ($node, $cells) = ($self->{node}, $self->{cells});
	my @views = sort keys %$cells;
	my $make = sub { my ($view, $cell) = @_; return differences($cell->{rows}, $cell->{$when}) };

	my $stamp = $self->{stamp};
	$self->{before}->($self, $when) if $self->{before};
	$node->sql(ref $stamp ? $stamp->($node) : $stamp) if defined $stamp;
	$node->refresh_all(@views);
	# One wait for all: a script whose views are wrong must end in time.
	my @late = grep { $cells->{$_}{eventually} && $cells->{$_}{$when} } @views;
	$node->wait_until('SELECT ' . join("\n AND ", map { 'NOT EXISTS (' . $make->($_, $cells->{$_}) . ')' } @late), "@late $what") if @late;
	my @checked = grep { $cells->{$_}{$when} } @views;
	my @bad = $self->differing($make, @checked);
	is("@bad", '', scalar(@checked) . " views equal their queries: $what");
	$node->equals_oracle("($cells->{$_}{rows}) x", $cells->{$_}{$when}, "$_ $what") foreach @bad[ 0 .. ($#bad < 2 ? $#bad : 2) ];
	if ($when eq 'now')
	{
		my @wrong = grep { $cells->{$_}{wrong} } @views;
		@bad = $self->differing(sub { return $_[1]{wrong} }, @wrong);
		is("@bad", '', scalar(@wrong) . " views have nothing that is wrong: $what") if @wrong;
		diag($node->sql($cells->{$_}{wrong} . ' LIMIT 10')) foreach @bad[ 0 .. ($#bad < 2 ? $#bad : 2) ];
		$self->{moved}{$_} = 1 foreach $self->differing(sub { my ($view, $cell) = @_; return differences($cell->{rows}, $cell->{holds_back}) },
			grep { $cells->{$_}{holds_back} } @views);
	}

	my @again = grep { $cells->{$_}{again} } @views;
	if (@again)
	{
		$node->sql(join('', map { "SELECT stream_engine.start('again_$_');\n" } @again));
		$node->refresh_all(map { "again_$_" } @again);
		@bad = $self->differing(sub { my ($view, $cell) = @_; return differences($cell->{rows}, $cell->{rows} =~ s/\b\Q$view\E\b/again_$view/gr) },
			grep { $cells->{$_}{again} =~ /both|$when/ } @again);
		is("@bad", '', "views are what they are without crashes: $what");
		$node->equals_oracle($_, "SELECT * FROM again_$_", "$_ $what") foreach @bad[ 0 .. ($#bad < 2 ? $#bad : 2) ];
		$node->sql(join('', map { "SELECT stream_engine.stop('again_$_');\n" } @again));
		$node->sql(join('', map { "SELECT stream_engine.wait_state('again_$_', 'stopped', '120s');\n" } @again));
	}
	$node->sql($self->{after}) if defined $self->{after};
	return;
}

=item $matrix->run(rounds => n, transactions => n, arm => sub { (round) }, moment => sub { (round) → what was done })

arm comes before the rows of a round, moment in place of a death by kill -9.

=cut

sub run
{
	my ($self, %args) = @_;
	my $cells = $self->{cells};
	my $rounds = $ENV{ROUNDS} || $args{rounds};
	my $node;

	foreach my $round (1 .. $rounds)
	{
		my $batch = (7, 1, 1000)[ $round % 3 ];
		$self->{node}->sql("ALTER SYSTEM SET stream_engine.batch_rows = $batch");
		$args{arm}->($round) if $args{arm};
		$self->begin_rows($args{transactions});
		$self->pump_rows(1 + int(rand($args{transactions} - 1)));
		my $how = $args{moment} ? $args{moment}->($round) : $self->die_somehow($round);
		$self->end_rows;
		$self->compare("round $round, $how, then batches of $batch", 'now');
	}
	$self->begin_rows($args{transactions});
	$self->end_rows;
	$node = $self->{node};
	ref $self->{infinity} ? $self->{infinity}->($self) : $node->sql($self->{infinity});
	$node->kill9_postmaster;
	$node->start;
	$self->compare('at the end of the input', 'final');
	is(join(' ', grep { $cells->{$_}{holds_back} && !$self->{moved}{$_} } sort keys %$cells), '', 'each mode that holds results back did');
	is($node->sql(q{SELECT string_agg(j.view::text, ' ') FROM stream_engine.jobs j JOIN stream_engine.jobs a ON a.view::text = 'again_' || j.view::text
		WHERE (j.late_rows, j.late_pairs) IS DISTINCT FROM (a.late_rows, a.late_pairs)}), '', 'counters are those without crashes');
	foreach my $view (grep { defined $cells->{$_}{late} } sort keys %$cells)
	{
		is($node->sql("SELECT late_rows || ' ' || late_pairs FROM stream_engine.jobs WHERE view = '$view'::regclass"), $node->sql($cells->{$view}{late}), "late rows of $view");
	}
	# A worker may have been told to go, as one that waits for a standby when its server dies.
	is($node->sql(q{SELECT string_agg(DISTINCT view || ': ' || message, E'\n') FROM stream_engine.errors WHERE sqlstate NOT LIKE '57P0_'}), '', 'no view met an error');
	return;
}

=back

=cut

1;
