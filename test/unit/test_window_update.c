/*
 * test/unit/test_window_update.c
 *		Windows whose results change, against the definition of what is to be seen at each commit:
 *		random windows, modes, lateness, batches, ticks, full outputs, restores and reclaimed records.
 */
#include "windows.h"

static const Definition windows_updating = {
	.create = windows_create,.same = se_model_same_window,.once = true,.changed = true,.leaves_nothing = true,
	.forget = windows_forget,.row = windows_row,.reach = windows_reach,.tick = windows_tick,.show = windows_show,
	.describe = windows_describe,.newer_tail = 16	/* from when results did not change */
};

static SeEmit
random_emit(void)
{
	SeEmit		emit = {0};

	for (;;)
	{
		memset(&emit, 0, sizeof(emit));
		emit.given = true;
		if (se_harness_random(3) == 0)
			emit.on_update = true;
		else
		{
			if (se_harness_random(2) == 0)
				emit.early = 1 + se_harness_random(20);
			emit.early_clock = emit.early > 0 && se_harness_random(3) == 0;
			if (se_harness_random(2) == 0)
				emit.every = 1 + se_harness_random(4);
		}
		if (se_harness_random(3) != 0)
		{
			emit.lateness = 1 + se_harness_random(60);
			if (se_harness_random(2) == 0)
				emit.late = 1 + se_harness_random(20);
		}
		if (se_emit_is_updating(&emit))
			return emit;
	}
}

static Model *
random_model(void)
{
	SeWindow	window = random_window(false);
	bool		sliced = window.kind == SE_WINDOW_TUMBLE && se_harness_random(2) == 0;
	bool		by_start = se_window_starts_repeat(&window) && se_harness_random(2) == 0;
	Windows    *windows = new_windows(&windows_updating, window, random_emit(), sliced, by_start, 200);

	se_model_random_steps(windows->model.steps, 200, 5, true, unit);
	return &windows->model;
}

SE_TEST(each_commit_shows_what_the_definition_says_whatever_the_batches)
{
	se_model_runs(500, random_model, PLAN_PLAIN);
}

SE_TEST(a_full_output_only_delays)
{
	se_model_runs(200, random_model, PLAN_FULL);
}

SE_TEST(restores_at_any_commit_show_the_same)
{
	se_model_runs(400, random_model, PLAN_CRASH);
}

SE_TEST(restores_inside_emissions_with_reclaimed_records_show_the_same)
{
	se_model_runs(600, random_model, PLAN_FULL | PLAN_CRASH | PLAN_RECLAIM);
}

SE_TEST(state_of_one_unit_restored_as_two_by_key_group_shows_the_same)
{
	se_model_runs(400, random_model, PLAN_FULL | PLAN_CRASH | PLAN_RECLAIM | PLAN_DIVIDE);
}

SE_TEST(damaged_records_are_errors)
{
	SeEmit		emit = {.given = true,.early = 20,.late = 5,.lateness = 40};
	SeWindow	window = {SE_WINDOW_HOP, 20, 5, 0};
	Windows    *windows = new_windows(&windows_updating, window, emit, false, false, 250);

	unit = 1;
	se_model_random_steps(windows->model.steps, 250, 6, true, unit);
	se_model_damage(&windows->model, 3000);
}
