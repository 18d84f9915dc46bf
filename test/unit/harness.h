/*
 * test/unit/harness.h
 *		C unit tests without a server: SE_TEST, the checks, and how an ERROR is expected.
 *
 * A test file is test/unit/test_NAME.c. It is linked with all objects of the extension
 * and with test/unit/stubs.c, which has memory contexts, lists, tuple descriptors and
 * ereport on top of malloc. A backend function without a stub ends the test program
 * with its name: add it to stubs.c if it can be small and true, else the behaviour
 * belongs into an SQL test. Valgrind sees every palloc.
 *
 *		SE_TEST(a_row_at_the_end_of_a_window_is_in_the_next)
 *		{
 *			SE_CHECK_INT(window_of(10), 2);
 *			SE_CHECK_ERROR("22008", window_of(PG_INT64_MAX));
 *		}
 */
#ifndef SE_TEST_HARNESS_H
#define SE_TEST_HARNESS_H

#include "postgres.h"

#include "base/se.h"
#include "utils/memutils.h"

/* A test; its name is what it shows. Runs with an own context that is deleted afterwards. */
#define SE_TEST(name) \
	static void name(void); \
	static void __attribute__((constructor)) \
	CppConcat(register_, name) (void) \
	{ \
		se_harness_register(#name, name); \
	} \
	static void \
	name(void)

/* Each counts a failure with the place and the values, and goes on. */
#define SE_CHECK(condition) \
	se_harness_check((condition), __FILE__, __LINE__, #condition)
#define SE_CHECK_INT(got, want) \
	se_harness_check_int((int64) (got), (int64) (want), __FILE__, __LINE__, #got)
#define SE_CHECK_STR(got, want) \
	se_harness_check_str((got), (want), __FILE__, __LINE__, #got)

/* The statement must raise an ERROR with this SQLSTATE. */
#define SE_CHECK_ERROR(sqlstate, ...) \
	do { \
		volatile bool raised_ = false; \
		PG_TRY(); \
		{ \
			__VA_ARGS__; \
		} \
		PG_CATCH(); \
		{ \
			raised_ = true; \
		} \
		PG_END_TRY(); \
		se_harness_check_error(raised_, sqlstate, __FILE__, __LINE__, #__VA_ARGS__); \
	} while (0)

extern void se_harness_register(const char *name, void (*test) (void));
extern void se_harness_check(bool ok, const char *file, int line, const char *what);
extern void se_harness_check_int(int64 got, int64 want, const char *file, int line, const char *what);
extern void se_harness_check_str(const char *got, const char *want, const char *file, int line, const char *what);
extern void se_harness_check_error(bool raised, const char *sqlstate, const char *file, int line, const char *what);

/* Has a check of this test failed? */
extern bool se_harness_has_failed(void);

/* A reproducible random number below n: one sequence per test, the same in every run. */
extern uint32 se_harness_random(uint32 n);

/* What the last ERROR said. */
extern int	se_stub_error_code;
extern char se_stub_error_message[1024];

/* A context of the stubs, and bytes taken from it and its children. */
extern MemoryContext se_stub_context_new(MemoryContext parent, const char *name);

/*
 * A time zone whose clock changes at n times, in seconds since 1970: by offsets[i]
 * seconds before at[i], by offsets[n] after the last. pg_tzset finds it by its name.
 * Kept for ever, as PostgreSQL's own are.
 */
extern struct pg_tz *se_stub_zone(const char *name, int n, const int64 *at, const int64 *offsets);

#endif							/* SE_TEST_HARNESS_H */
