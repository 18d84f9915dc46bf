# test/t/063_many_databases.pl: more databases than can use stream_engine at once are no obstacle, as long as they do not use it.
use strict;
use warnings;
use lib "$ENV{SE_TREE}/test/lib";
use StreamEngine;
use Test::More;

my $node = StreamEngine->new('many', conf => "autovacuum = off\n");
$node->sql(join('', map { "CREATE DATABASE other$_ TEMPLATE template0;\n" } 1 .. 65));
$node->sql('CREATE DATABASE used');
$node->install('used');
$node->restart;
$node->sql(q{CREATE FOREIGN TABLE s (id int) SERVER stream_engine;
	CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous) AS SELECT id FROM s}, 'used');
$node->sql('INSERT INTO s VALUES (1); REFRESH MATERIALIZED VIEW v', 'used');
is($node->sql('SELECT * FROM v', 'used'), '1', 'the last of many databases runs a view');
unlike(PostgreSQL::Test::Utils::slurp_file($node->logfile), qr/at most \d+ databases/, 'nobody was turned away');
$node->stop('immediate');
done_testing();
