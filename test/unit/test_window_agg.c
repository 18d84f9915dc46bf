/*
 * test/unit/test_window_agg.c
 *		The window aggregate against the definition of its result: random rows, windows, batches,
 *		full outputs, snapshots, reclaimed records and restores at any moment.
 */
#include "windows.h"

#include "base/settings.h"

static const Definition windows_once = {
	.create = windows_create,.leaves_nothing = true,
	.forget = windows_forget,.row = windows_row,.reach = windows_reach,.show = windows_show,
	.describe = windows_describe
};

static Model *
random_model(void)
{
	SeWindow	window = random_window(se_harness_random(2) == 0);
	bool		sliced = se_harness_random(4) != 0;
	bool		by_start = !sliced && se_window_starts_repeat(&window) && se_harness_random(2) == 0;
	Windows    *windows = new_windows(&windows_once, window, when_over, sliced, by_start, 250);

	se_model_random_steps(windows->model.steps, 250, 6, false, unit);
	return &windows->model;
}

SE_TEST(results_are_those_of_the_definition_whatever_the_batches)
{
	se_model_runs(400, random_model, PLAN_PLAIN);
}

SE_TEST(a_full_output_only_delays)
{
	se_model_runs(150, random_model, PLAN_FULL);
}

SE_TEST(nothing_is_lost_or_double_after_restores)
{
	se_model_runs(600, random_model, PLAN_CRASH);
}

SE_TEST(restores_inside_firings_with_reclaimed_records)
{
	se_model_runs(1000, random_model, PLAN_FULL | PLAN_CRASH | PLAN_RECLAIM);
}

SE_TEST(state_of_one_unit_restored_as_two_by_key_group_gives_the_same_results)
{
	se_model_runs(300, random_model, PLAN_FULL | PLAN_CRASH | PLAN_RECLAIM | PLAN_DIVIDE);
}

/* The zone database changed meanwhile: windows that are one slice go on, merged ones cannot. */
SE_TEST(slices_cut_under_other_rules_of_the_zone_are_refused_where_they_would_be_merged)
{
	int64		at[] = {(POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * SECS_PER_DAY};
	int64		before[] = {0, 7};
	int64		after[] = {0, 3};
	SeWindow	window = {SE_WINDOW_TUMBLE, 20 * USECS_PER_SEC, 20 * USECS_PER_SEC, 0};
	Step		row = {1, 5, 30 * USECS_PER_SEC, 0, SE_TIME_MIN};

	for (volatile int merged = 0; merged < 2; merged++)
	{
		Windows    *windows;
		Run		   *run;

		window.kind = merged ? SE_WINDOW_HOP : SE_WINDOW_TUMBLE;
		window.slide = merged ? 10 * USECS_PER_SEC : window.size;
		window.calendar.zone = se_stub_zone("zone", 1, at, before);
		windows = new_windows(&windows_once, window, when_over, true, false, 0);
		run = se_model_start(&windows->model);
		se_model_push(run, &row, 1, SE_TIME_MIN);
		se_model_commit(run, false);

		windows->node->window.calendar.zone = se_stub_zone("zone", 1, at, after);
		if (merged)
		{
			SE_CHECK_ERROR("55000", se_model_restart(run));
			continue;
		}
		se_model_restart(run);
		se_model_watermark(run, SE_TIME_MAX);
		SE_CHECK_INT(run->table.n, 1);
		SE_CHECK_INT(run->table.rows[0].start, 13 * USECS_PER_SEC);
		SE_CHECK_INT(run->table.rows[0].end, 33 * USECS_PER_SEC);
	}
}

SE_TEST(damaged_records_are_errors)
{
	SeWindow	window = {SE_WINDOW_HOP, 20, 5, 0};
	Windows    *windows = new_windows(&windows_once, window, when_over, true, false, 250);

	unit = 1;
	se_model_random_steps(windows->model.steps, 250, 6, false, unit);
	se_model_damage(&windows->model, 3000);
}
