# Millions of rows in one transaction: by one statement, by COPY, by many statements, to partitions in turn, in subtransactions.
# Writer, workers and a reading session hold bounded memory, and every view equals its query.
use strict;
use warnings;
use StreamEngine;
use Test::More;

# SE_ROWS=10000000 for the long run.
my $rows = $ENV{SE_ROWS} // 300_000;
my $mb = 1024 * 1024;
my $node = StreamEngine->new('main', conf => "max_wal_size = '4GB'\nautovacuum = off\nwork_mem = '4MB'\n");

sub own_memory
{
	my ($pid) = @_;
	open my $fh, '<', "/proc/$pid/status" or return 0;
	while (<$fh>) { return $1 * 1024 if /^RssAnon:\s+(\d+) kB/; }
	return 0;
}

# The most that a session and the views' workers held while it ran a script.
sub highest
{
	my ($name, $script) = @_;
	my %pids = map { split /\|/ } split /\n/, $node->sql(q{SELECT view, pid FROM stream_engine.jobs WHERE pid IS NOT NULL});
	my %most;
	my $began = time;
	my $file = PostgreSQL::Test::Utils::tempdir() . '/large.sql';
	PostgreSQL::Test::Utils::append_to_file($file, "SET application_name = 'session';\n$script");
	my ($out, $err) = ('', '');
	my $session = IPC::Run::start([ 'psql', '-XqAt', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('postgres'), '-f', $file ], '>', \$out, '2>', \$err);
	while ($session->pumpable)
	{
		my $pid = $pids{session} // $node->sql(q{SELECT coalesce(max(pid)::text, '') FROM pg_stat_activity WHERE application_name = 'session'});
		$pids{session} = $pid if $pid ne '';
		foreach my $who (keys %pids)
		{
			my $now = own_memory($pids{$who});
			$most{$who} = $now if $now > ($most{$who} // 0);
		}
		select(undef, undef, undef, 0.02);
		$session->pump_nb;
	}
	ok($session->finish, "$name: ran in " . (time - $began) . ' s') or diag($err);
	unlink $file;
	cmp_ok($most{$_}, '<', 40 * $mb, sprintf('%s: %s held at most %.1f MB', $name, $_, $most{$_} / $mb)) foreach sort keys %most;
	return;
}

$node->sql(q{
	CREATE TABLE parts (id bigint, k int, note text) PARTITION BY LIST (k);
	CREATE FOREIGN TABLE s (id bigint, k int, note text) SERVER stream_engine;
	ALTER TABLE parts ATTACH PARTITION s FOR VALUES IN (0);
	CREATE FOREIGN TABLE s1 PARTITION OF parts FOR VALUES IN (1) SERVER stream_engine;
	CREATE FOREIGN TABLE s2 PARTITION OF parts FOR VALUES IN (2) SERVER stream_engine;
	CREATE MATERIALIZED VIEW every WITH (stream_engine.continuous) AS SELECT id, note FROM s WHERE id % 1000 = 0;
	CREATE MATERIALIZED VIEW grouped WITH (stream_engine.continuous) AS SELECT id % 10 AS g, count(*) AS c, sum(id) AS s, max(note) AS m FROM s GROUP BY id % 10;
	CREATE MATERIALIZED VIEW routed WITH (stream_engine.continuous) AS SELECT count(*) AS c, sum(id) AS s FROM s1;
});
my $tenth = int($rows / 10);
my $few = int($rows / 100);
my $refresh = join('', map { "REFRESH MATERIALIZED VIEW $_;\n" } qw(every grouped routed));
my $row = q{g, 0, repeat(chr(97 + (g % 26)::int), 30)};

highest('one statement', "INSERT INTO s SELECT $row FROM generate_series(1, $rows) g;\n$refresh");
highest('COPY', "COPY s FROM PROGRAM 'seq 1 $rows | awk ''{ print \$1 \"\\t0\\tcopied\" }''';\n$refresh");
highest('many statements', "DO \$\$ BEGIN FOR g IN 1 .. $tenth LOOP INSERT INTO s VALUES ($row); END LOOP; END \$\$;\n$refresh");
highest('streams that take turns', "INSERT INTO parts SELECT g, g % 3, 'routed' FROM generate_series(1, $rows) g;\n$refresh");
highest('subtransactions', "DO \$\$ BEGIN FOR g IN 1 .. $few LOOP BEGIN INSERT INTO s VALUES ($row); IF g % 7 = 0 THEN RAISE division_by_zero; END IF;"
	. " EXCEPTION WHEN division_by_zero THEN NULL; END; END LOOP; END \$\$;\n$refresh");
highest('rolled back', "BEGIN;\nINSERT INTO s SELECT $row FROM generate_series(1, $rows) g;\nROLLBACK;\n$refresh");
highest('a SELECT', "SELECT count(*), max(note) FROM s;\n");
highest('from a stream into a stream', "INSERT INTO s1 SELECT id, 1, note FROM s;\n$refresh");

my $routed = int($rows / 3);
my $expected = 2 * $rows + $tenth + $routed + $few - int($few / 7);
is($node->sql('SELECT sum(c) FROM grouped'), $expected, 'all rows were read, and none that was rolled back');
is($node->sql(q{SELECT count(*) FROM (SELECT id % 10, count(*), sum(id), max(note) FROM s GROUP BY 1 EXCEPT SELECT * FROM grouped) x}), 0, 'grouped equals its query');
is($node->sql(q{SELECT count(*) FROM (SELECT id, note FROM s WHERE id % 1000 = 0 EXCEPT ALL SELECT * FROM every) x}), 0, 'every equals its query');
is($node->sql(q{SELECT (SELECT count(*) FROM s1) = c AND c = } . $expected . q{ + (SELECT count(*) FROM generate_series(1, } . $rows . q{) g WHERE g % 3 = 1) FROM routed}), 't', 'routed equals its query');
is($node->sql(q{SELECT rows FROM stream_engine.streams WHERE stream = 's'::regclass}), $expected, 'and so does the view streams');
$node->stop;
done_testing();
