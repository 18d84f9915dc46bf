/*
 * test/unit/harness.c
 *		Runs the tests of one program and prints one line for each.
 */
#include "harness.h"

#include <stdio.h>
#include <unistd.h>

#define MAX_TESTS 500

static struct
{
	const char *name;
	void		(*run) (void);
}			tests[MAX_TESTS];
static int	ntests = 0;
static int	failures = 0;		/* of the running test */
static uint64 random_state;

void
se_harness_register(const char *name, void (*test) (void))
{
	if (ntests == MAX_TESTS)
		abort();
	tests[ntests].name = name;
	tests[ntests++].run = test;
}

void
se_harness_check(bool ok, const char *file, int line, const char *what)
{
	if (ok)
		return;
	printf("%s:%d: not true: %s\n", file, line, what);
	failures++;
}

void
se_harness_check_int(int64 got, int64 want, const char *file, int line, const char *what)
{
	if (got == want)
		return;
	printf("%s:%d: %s is %lld, not %lld\n", file, line, what, (long long) got, (long long) want);
	failures++;
}

void
se_harness_check_str(const char *got, const char *want, const char *file, int line, const char *what)
{
	if (got != NULL && strcmp(got, want) == 0)
		return;
	printf("%s:%d: %s is \"%s\", not \"%s\"\n", file, line, what, got ? got : "(null)", want);
	failures++;
}

/* The five characters of an SQLSTATE as errcode() packs them. */
static int
pack_sqlstate(const char *s)
{
	return MAKE_SQLSTATE(s[0], s[1], s[2], s[3], s[4]);
}

void
se_harness_check_error(bool raised, const char *sqlstate, const char *file, int line, const char *what)
{
	if (!raised)
		printf("%s:%d: no error from %s\n", file, line, what);
	else if (se_stub_error_code != pack_sqlstate(sqlstate))
		printf("%s:%d: not the error %s but: %s\n", file, line, sqlstate, se_stub_error_message);
	else
		return;
	failures++;
}

bool
se_harness_has_failed(void)
{
	return failures > 0;
}

uint32
se_harness_random(uint32 n)
{
	/* xorshift64*: good enough to vary inputs, and the same everywhere */
	random_state ^= random_state >> 12;
	random_state ^= random_state << 25;
	random_state ^= random_state >> 27;
	return (uint32) ((random_state * UINT64CONST(2685821657736338717)) >> 32) % n;
}

/* One test in a context of its own; an ERROR nobody expected is a failure. */
static void
run_test(int i)
{
	MemoryContext own = se_stub_context_new(TopMemoryContext, tests[i].name);

	failures = 0;
	random_state = UINT64CONST(88172645463325252);
	MemoryContextSwitchTo(own);
	PG_TRY();
	{
		tests[i].run();
	}
	PG_CATCH();
	{
		printf("unexpected error: %s\n", se_stub_error_message);
		failures++;
	}
	PG_END_TRY();
	MemoryContextSwitchTo(TopMemoryContext);
	MemoryContextDelete(own);
}

int
main(int argc, char **argv)
{
	const char *program = strrchr(argv[0], '/');
	int			failed = 0;

	program = program ? program + 1 : argv[0];
	setvbuf(stdout, NULL, _IOLBF, 0);
	TopMemoryContext = se_stub_context_new(NULL, "TopMemoryContext");
	TopTransactionContext = se_stub_context_new(TopMemoryContext, "TopTransactionContext");
	CurTransactionContext = TopTransactionContext;
	for (int i = 0; i < ntests; i++)
	{
		if (argc > 1 && strcmp(argv[1], tests[i].name) != 0)
			continue;
		alarm(120);				/* a test that hangs ends the program */
		run_test(i);
		printf("%s - %s %s\n", failures ? "not ok" : "ok", program, tests[i].name);
		failed += failures != 0;
	}
	MemoryContextDelete(TopMemoryContext);
	return failed ? 1 : 0;
}
