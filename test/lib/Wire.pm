
=head1 NAME

Wire - a client that speaks PostgreSQL's protocol message by message, as drivers do: prepared statements with
parameters, text and binary, Describe, portals that stop after some rows, pipelines, COPY

=head1 SYNOPSIS

  use Wire;
  my $wire = Wire->new($node);
  $wire->prepare('get', 'SELECT * FROM t WHERE k = $1');
  my $result = $wire->execute('get', [42]);                # {tag => 'SELECT 1', rows => [['42', …]]}
  my $error = $wire->execute('get', ['no number'])->{error}; # {C => '22P02', M => 'invalid input …', …}

  $wire->put_parse('', 'SELECT 1');                        # put_…: into the pipeline, nothing is sent
  $wire->put_bind('', '');
  $wire->put_execute('');
  my @results = $wire->sync;                               # one per message that was put, in order

=cut

package Wire;

use strict;
use warnings;
use IO::Select;
use IO::Socket::UNIX;

# Seconds after which a server that says nothing is a failure.
our $timeout = 180;

=head2 Wire->new(node, database => 'postgres', user => 'postgres', host => directory, port => n)

A connection over the socket of a server of the tests; host and port only if it is not the node's own.

=cut

sub new
{
	my ($class, $node, %args) = @_;
	my $host = $args{host} // $node->host;
	my $port = $args{port} // $node->port;
	my $self = bless { out => '', in => '', notices => [] }, $class;
	my $startup = pack('N', 196608)
	  . join("\0", user => $args{user} // 'postgres', database => $args{database} // 'postgres', '', '');

	$self->{socket} = IO::Socket::UNIX->new(Peer => "$host/.s.PGSQL.$port") or die "no connection to $host, port $port: $!";
	$self->{out} = pack('N', length($startup) + 4) . $startup;
	$self->push_out;
	while (1)
	{
		my ($type, $body) = $self->message;
		die 'connection refused: ' . error_fields($body)->{M} if $type eq 'E';
		last if $type eq 'Z';
	}
	return $self;
}

=head2 put_parse(name, sql, type oids …), put_bind(portal, name, [params], params_binary => 0, results_binary => 0), put_describe('S' or 'P', name), put_execute(portal, max rows = all), put_close('S' or 'P', name)

=cut

sub put
{
	my ($self, $type, $body) = @_;
	$self->{out} .= $type . pack('N', length($body) + 4) . $body;
	push @{ $self->{expect} }, $type;
	return;
}

sub put_parse
{
	my ($self, $name, $sql, @types) = @_;
	return $self->put('P', "$name\0$sql\0" . pack('n N*', scalar @types, @types));
}

sub put_bind
{
	my ($self, $portal, $name, $params, %args) = @_;
	my $body = "$portal\0$name\0" . pack('n n n', 1, $args{params_binary} // 0, scalar @{ $params // [] });

	$body .= defined $_ ? pack('N/a*', $_) : pack('N', 0xffffffff) foreach @{ $params // [] };
	return $self->put('B', $body . pack('n n', 1, $args{results_binary} // 0));
}

sub put_describe { my ($self, $kind, $name) = @_; return $self->put('D', "$kind$name\0"); }

sub put_execute { my ($self, $portal, $max) = @_; return $self->put('E', "$portal\0" . pack('N', $max // 0)); }

sub put_close { my ($self, $kind, $name) = @_; return $self->put('C', "$kind$name\0"); }

=head2 @results = sync(copy => data)

Sends what was put and a Sync, and reads all answers. Each message that was put has one result, a hash:

  error     {C => SQLSTATE, M => message, D => detail, H => hint, P => position}; the messages after it have {skipped => 1}
  tag       of a command that ended; suspended => 1 of a portal that has more rows
  rows      [[values]], undef for NULL
  columns   [{name, type}] of Describe; empty for what returns no rows; params  [type oids]

copy is what a COPY … FROM STDIN is given; a COPY … TO STDOUT has {copied}.

=cut

sub sync
{
	my ($self, %args) = @_;
	$self->send;
	return $self->answers(%args);
}

=head2 send, @results = answers(copy => data)

sync in two halves, for what has to wait for another session.

=cut

sub send
{
	my ($self) = @_;
	$self->{out} .= 'S' . pack('N', 4);
	$self->push_out;
	return;
}

sub answers
{
	my ($self, %args) = @_;
	my @expect = @{ $self->{expect} // [] };
	my @results;
	my $result = {};

	$self->{expect} = [];

	while (1)
	{
		my ($type, $body) = $self->message;

		if ($type eq 'Z') { $self->{status} = $body; last; }
		elsif ($type eq 'D') { push @{ $result->{rows} }, row($body); }
		elsif ($type eq 'd') { $result->{copied} .= $body; }
		elsif ($type eq 't') { (undef, my @oids) = unpack('n N*', $body); $result->{params} = \@oids; }
		elsif ($type eq 'G')
		{
			# The Sync that was sent with the Execute is ignored once copying began.
			$self->{out} = 'd' . pack('N', length($args{copy}) + 4) . $args{copy} . 'c' . pack('N', 4) . 'S' . pack('N', 4);
			$self->push_out;
		}
		elsif ($type =~ /[123CsITnE]/)
		{
			$result->{tag} = $body =~ s/\0$//r if $type eq 'C';
			$result->{suspended} = 1 if $type eq 's';
			$result->{columns} = $type eq 'T' ? columns($body) : [] if $type =~ /[Tn]/;
			$result->{error} = error_fields($body) if $type eq 'E';
			push @results, $result;
			$result = {};
		}
	}
	push @results, { skipped => 1 } while @results < @expect;
	return @results;
}

=head2 prepare(name, sql, type oids …)

Parse and Describe; the result has params and columns. Dies on an error.

=cut

sub prepare
{
	my ($self, $name, $sql, @types) = @_;
	$self->put_parse($name, $sql, @types);
	$self->put_describe('S', $name);
	my ($parsed, $described) = $self->sync;
	my $error = $parsed->{error} // $described->{error};

	die "cannot prepare $sql: $error->{C} $error->{M}" if $error;
	return $described;
}

=head2 execute(name, [params], as put_bind, copy => data, max => rows)

Bind and Execute; the result has tag and rows, or error.

=cut

sub execute
{
	my ($self, $name, $params, %args) = @_;
	$self->put_bind('', $name, $params, %args);
	$self->put_execute('', $args{max});
	my ($bound, $executed) = $self->sync(%args);
	return $bound->{error} ? $bound : $executed;
}

=head2 run(sql, [params], …)

prepare without a name, and execute.

=cut

sub run
{
	my ($self, $sql, $params, %args) = @_;
	$self->put_run($sql, $params, %args);
	my ($parsed, $bound, $executed) = $self->sync(%args);
	return $parsed->{error} ? $parsed : $bound->{error} ? $bound : $executed;
}

sub put_run
{
	my ($self, $sql, $params, %args) = @_;
	$self->put_parse('', $sql);
	$self->put_bind('', '', $params, %args);
	$self->put_execute('', $args{max});
	return;
}

=head2 outcome(result)

What came of a statement, as one string: rows (NULL is a dot), the tag, or the error.

=cut

sub outcome
{
	my ($result) = @_;
	return "$result->{error}{C}: $result->{error}{M}" if $result->{error};
	return join(' ', map { join('|', map { $_ // '.' } @$_) } @{ $result->{rows} }) if $result->{rows};
	return $result->{tag};
}

=head2 close, abandon (as a client that dies), status (I, T or E of the transaction), notices

=cut

sub close
{
	my ($self) = @_;
	$self->{out} .= 'X' . pack('N', 4);
	$self->push_out;
	$self->{socket}->close;
	return;
}

sub abandon { $_[0]->{socket}->close; return; }

sub status { return $_[0]->{status}; }

sub notices { my @notices = @{ $_[0]->{notices} }; $_[0]->{notices} = []; return @notices; }

# ---- bytes

sub push_out
{
	my ($self) = @_;

	while (length $self->{out})
	{
		my $n = $self->{socket}->syswrite($self->{out}) // die "the server is gone: $!";
		substr($self->{out}, 0, $n, '');
	}
	return;
}

sub need
{
	my ($self, $bytes) = @_;

	while (length $self->{in} < $bytes)
	{
		die "no answer in $timeout s" unless IO::Select->new($self->{socket})->can_read($timeout);
		$self->{socket}->sysread($self->{in}, 65536, length $self->{in}) or die 'the server closed the connection';
	}
	return;
}

# The next message that is an answer to something.
sub message
{
	my ($self) = @_;

	while (1)
	{
		$self->need(5);
		my ($type, $length) = unpack('a N', $self->{in});
		$self->need($length + 1);
		my $body = substr(substr($self->{in}, 0, $length + 1, ''), 5);

		if ($type eq 'N') { push @{ $self->{notices} }, error_fields($body); next; }
		next if $type =~ /[SKRAcH]/;
		return ($type, $body);
	}
}

sub error_fields
{
	my ($body) = @_;
	return { map { substr($_, 0, 1) => substr($_, 1) } grep { length } split /\0/, $body };
}

sub row
{
	my ($body) = @_;
	my $count = unpack('n', substr($body, 0, 2, ''));
	my @values;

	for (1 .. $count)
	{
		my $length = unpack('N', substr($body, 0, 4, ''));
		push @values, $length == 0xffffffff ? undef : substr($body, 0, $length, '');
	}
	return \@values;
}

sub columns
{
	my ($body) = @_;
	my $count = unpack('n', substr($body, 0, 2, ''));
	my @columns;

	for (1 .. $count)
	{
		$body =~ s/^([^\0]*)\0//s or die 'bad RowDescription';
		my $name = $1;
		my (undef, undef, $type) = unpack('N n N', substr($body, 0, 18, ''));
		push @columns, { name => $name, type => $type };
	}
	return \@columns;
}

1;
