/*
 * test/unit/test_session_agg.c
 *		The session aggregate against the definition of its result: random rows, gaps, batches,
 *		full outputs, snapshots, reclaimed records, generations and restores at any moment.
 */
#include "sessions.h"

#include "base/settings.h"
#include "time/gap.h"

static const Definition sessions_once = {
	.create = sessions_create,.behind = 1,.disturb = begin_generation,
	.forget = sessions_forget,.row = sessions_row,.reach = sessions_reach,.show = sessions_show,
	.describe = sessions_describe
};

static Model *
random_model(void)
{
	Sessions   *sessions = new_sessions(&sessions_once, (int64) se_harness_random(12) - 1, 400);

	se_model_random_steps(sessions->model.steps, 400, 2 + se_harness_random(60), false, 1);
	return &sessions->model;
}

SE_TEST(results_are_those_of_the_definition_whatever_the_batches)
{
	se_model_runs(400, random_model, PLAN_PLAIN);
}

SE_TEST(a_full_output_only_delays)
{
	se_model_runs(200, random_model, PLAN_FULL);
}

SE_TEST(nothing_is_lost_or_double_after_restores)
{
	se_model_runs(600, random_model, PLAN_FULL | PLAN_CRASH | PLAN_RECLAIM);
}

SE_TEST(sessions_move_to_the_next_generation_also_over_restores)
{
	generations_begun = 0;
	se_model_runs(600, random_model, PLAN_FULL | PLAN_CRASH | PLAN_RECLAIM | PLAN_DISTURB);
	SE_CHECK(generations_begun > 600);
}

SE_TEST(state_of_one_unit_restored_as_two_by_key_group_gives_the_same_results)
{
	int			plan = PLAN_FULL | PLAN_CRASH | PLAN_RECLAIM | PLAN_DISTURB | PLAN_DIVIDE;

	se_model_runs(300, random_model, plan);
}

/* Sessions of many keys come and go: what they took is used again. */
SE_TEST(memory_of_closed_sessions_comes_back)
{
	Run		   *run = se_model_start(&new_sessions(&sessions_once, 10, 0)->model);
	SeOperatorEnv *env = run->units[0].env;
	uint64		most = 0;

	se_batch_rows = 64;
	for (int i = 0; i < 3000; i++)
	{
		Step		rows[100];

		for (int k = 0; k < 100; k++)
		{
			Step		row = {i * 100 + k, 1, i, 10, i - 1};

			rows[k] = row;
		}
		run->table.n = 0;
		se_model_push(run, rows, 100, i);
		if (i == 300)
			most = env->state_bytes;
		if (i > 300)
			SE_CHECK(env->state_bytes < 2 * most);
	}
	SE_CHECK(run->units[0].op->state_entries > 0 && run->units[0].op->state_entries < 2000);
}

/* One key with many open sessions: found by bisection, joined by one row. */
SE_TEST(a_row_joins_all_sessions_it_touches)
{
	Run		   *run = se_model_start(&new_sessions(&sessions_once, -1, 0)->model);
	SeOperator *op = run->units[0].op;
	Step		rows[100];

	for (int i = 0; i < 100; i++)
	{
		Step		row = {7, 1, (i * 37 % 100) * 10, 5, SE_TIME_MIN};

		rows[i] = row;
	}
	se_model_push(run, rows, 100, SE_TIME_MIN);
	SE_CHECK_INT(op->state_entries, 100);
	/* [95, 100] touches [90, 95] and [100, 105], and nothing else */
	rows[0].ts = 95;
	se_model_push(run, rows, 1, SE_TIME_MIN);
	SE_CHECK_INT(op->state_entries, 99);
	rows[0].ts = 200;
	rows[0].gap = 300;
	se_model_push(run, rows, 1, SE_TIME_MIN);
	SE_CHECK_INT(op->state_entries, 69);
	se_model_watermark(run, SE_TIME_MAX);
	SE_CHECK_INT(run->table.n, 69);
	for (int i = 0; i < run->table.n; i++)
	{
		Result	   *row = &run->table.rows[i];

		SE_CHECK_INT(row->count, row->start == 90 ? 3 : row->start == 200 ? 32 : 1);
		SE_CHECK_INT(row->end, row->start == 90 ? 105 : row->start == 200 ? 505 : row->start + 5);
	}
}

/* Rows of one key from a batch's arrays, 1000 at a time. */
static void
push_times(Run *run, int n, SeTime (*time) (int i, int n, int order), int order)
{
	Step		rows[1000];
	int			k = 0;

	for (int i = 0; i < n; i++)
	{
		Step		row = {7, 1, time(i, n, order), 0, SE_TIME_MIN};

		rows[k++] = row;
		if (k < 1000 && i + 1 < n)
			continue;
		se_model_push(run, rows, k, SE_TIME_MIN);
		k = 0;
	}
}

/* Every tenth: upwards, downwards, across. */
static SeTime
tenth(int i, int n, int order)
{
	return (order == 0 ? i : order == 1 ? n - i : (int64) i * 40009 % n) * 10;
}

/* Between every second pair of these, from the middle on. */
static SeTime
between(int i, int n, int order)
{
	return (SeTime) (i + n / 2) * 20 + 5;
}

/* One key with very many open sessions, whatever the order of their rows: this ends soon, and in order. */
SE_TEST(a_key_may_have_very_many_open_sessions)
{
	const int	n = 100003;		/* a prime */

	for (int order = 0; order < 3; order++)
	{
		Run		   *run = se_model_start(&new_sessions(&sessions_once, 5, 0)->model);
		SeOperator *op = run->units[0].op;
		uint64		most;

		se_batch_rows = 1000;
		push_times(run, n, tenth, order);
		SE_CHECK_INT(op->state_entries, n);
		most = op->state_bytes;
		push_times(run, n / 4, between, order);
		SE_CHECK_INT(op->state_entries, n - n / 4);
		SE_CHECK(op->state_bytes < 2 * most);
		se_model_watermark(run, SE_TIME_MAX);
		SE_CHECK_INT(run->table.n, n - n / 4);
		for (int i = 1; i < run->table.n; i++)
			SE_CHECK(run->table.rows[i - 1].end < run->table.rows[i].start);
	}
}

SE_TEST(damaged_records_are_errors)
{
	Sessions   *sessions = new_sessions(&sessions_once, -1, 400);

	se_model_random_steps(sessions->model.steps, 400, 20, false, 1);
	se_model_damage(&sessions->model, 3000);
}

SE_TEST(gaps_have_a_fixed_length)
{
	Interval	days = {.time = 5,.day = 2,.month = 0};
	Interval	zero = {0};
	Interval	negative = {.time = -1};
	Interval	months = {.month = 1};

	SE_CHECK_INT(se_gap_usecs(&days), 2 * USECS_PER_DAY + 5);
	SE_CHECK_INT(se_gap_usecs(&zero), 0);
	for (int i = 0; i < 2; i++)
	{
		se_stub_error_code = 0;
		PG_TRY();
		{
			se_gap_usecs(i == 0 ? &negative : &months);
		}
		PG_CATCH();
		{
		}
		PG_END_TRY();
		SE_CHECK_INT(se_stub_error_code, ERRCODE_INVALID_PARAMETER_VALUE);
	}
}
