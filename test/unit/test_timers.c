/*
 * test/unit/test_timers.c
 *		The heap of timers: what is due first comes first, whatever was added, delayed and swept.
 */
#include "harness.h"

#include "state/timers.h"

#define THINGS 20000

typedef struct Thing
{
	SeTime		due;
	bool		kept;
	bool		done;
}			Thing;

static bool
keep(void *what)
{
	return ((Thing *) what)->kept;
}

SE_TEST(timers_come_in_order)
{
	SeOperatorEnv *env = palloc0(sizeof(SeOperatorEnv));
	Thing	   *things = palloc0(THINGS * sizeof(Thing));
	SeArena    *arena;
	SeTimers	timers;
	SeTime		now = SE_TIME_MIN;
	int			left = 0;

	env->memory = CurrentMemoryContext;
	env->state_limit = 1 << 20;
	arena = se_arena_new(env);
	se_timers_init(&timers, arena);
	SE_CHECK(se_timers_first(&timers) == SE_TIME_MAX);
	/* Many wait, so that there is a far part; then more come than go. */
	for (int i = 0; i < THINGS; i++)
	{
		things[i].due = (SeTime) se_harness_random(100000) + (now == SE_TIME_MIN ? 0 : now);
		things[i].kept = true;
		se_timers_add(&timers, things[i].due, &things[i]);
		left++;
		/* Now and then the first one turns out to be due later, or is done. */
		while (timers.n > 0 && se_harness_random(5) < 2)
		{
			Thing	   *first = timers.timers[0].what;

			SE_CHECK(se_timers_first(&timers) >= now);
			SE_CHECK_INT(se_timers_first(&timers), first->due);
			now = first->due;
			if (se_harness_random(2) == 0)
			{
				first->due += se_harness_random(50000);
				se_timers_delay_first(&timers, first->due);
			}
			else
			{
				first->done = true;
				se_timers_remove_first(&timers);
				left--;
			}
		}
	}
	SE_CHECK_INT(timers.n + timers.nfar, left);
	for (int i = 0; i < THINGS; i++)
	{
		if (!things[i].done && se_harness_random(3) == 0)
		{
			things[i].kept = false;
			left--;
		}
	}
	se_timers_sweep(&timers, keep);
	SE_CHECK_INT(timers.n + timers.nfar, left);
	while (timers.n > 0)
	{
		Thing	   *first = timers.timers[0].what;

		SE_CHECK(first->kept && !first->done);
		SE_CHECK(first->due >= now);
		now = first->due;
		first->done = true;
		se_timers_remove_first(&timers);
	}
	for (int i = 0; i < THINGS; i++)
		SE_CHECK(things[i].done || !things[i].kept);
	se_arena_free(arena);
	SE_CHECK_INT(env->state_bytes, 0);
}

SE_TEST(the_limit_is_an_error_before_anything_is_changed)
{
	SeOperatorEnv *env = palloc0(sizeof(SeOperatorEnv));
	SeTimers	timers;
	volatile uint32 n = 0;

	env->memory = CurrentMemoryContext;
	env->state_limit = 10000;
	se_timers_init(&timers, se_arena_new(env));
	PG_TRY();
	{
		for (;;)
		{
			se_timers_add(&timers, 1000 - (SeTime) n, env);
			n++;
		}
	}
	PG_CATCH();
	{
		SE_CHECK_INT(se_stub_error_code, ERRCODE_OUT_OF_MEMORY);
	}
	PG_END_TRY();
	SE_CHECK(n > 100);
	SE_CHECK_INT(timers.n + timers.nfar, n);
	SE_CHECK_INT(se_timers_first(&timers), 1000 - (SeTime) n + 1);
}
