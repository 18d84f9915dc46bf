/*
 * test/unit/test_window_adopt.c
 *		Windows in slices that become whole windows, whose results change, at any moment: at each commit they show what the
 *		definition says; over random windows, modes, batches, full outputs and restores.
 */
#include "windows.h"

/* In slices, until they are altered. */
static bool
alter(Model *model, int at)
{
	Windows    *windows = (Windows *) model;
	SeWindowAggNode *node;

	if (!model->append || at == 0)
		return false;
	node = palloc(sizeof(SeWindowAggNode));
	*node = *windows->node;
	node->emit = windows->next_emit;
	set_sliced(node, false);
	windows->node = node;
	windows->altered = at;
	model->node = &node->node;
	model->carried = &node->window;
	model->append = false;
	return true;
}

static const Definition windows_altered = {
	.create = windows_create,.same = se_model_same_window,.once = true,.alter = alter,.adopts = true,
	.forget = windows_forget,.row = windows_row,.reach = windows_reach,.show = windows_show,
	.describe = windows_describe
};

/* Of windows that take no late rows: at the end they are what they would be otherwise. */
static SeEmit
random_emit(void)
{
	SeEmit		emit = {.given = true};

	switch (se_harness_random(4))
	{
		case 0:
			emit.on_update = true;
			break;
		case 1:
			emit.early = (1 + se_harness_random(20)) * unit;
			break;
		case 2:
			emit.every = 1 + se_harness_random(4);
			break;
		default:
			emit.kept = true;
			break;
	}
	return emit;
}

static Model *
new_altered(SeWindow window, SeEmit emit)
{
	Windows    *windows = new_windows(&windows_altered, window, when_over, true, false, 250);

	windows->model.append = true;
	windows->next_emit = emit;
	windows->altered = 250;
	se_model_random_steps(windows->model.steps, 250, 6, false, unit);
	return &windows->model;
}

static Model *
random_model(void)
{
	SeWindow	window = random_window(se_harness_random(2) == 0);

	while (window.kind == SE_WINDOW_TUMBLE)
		window = random_window(se_harness_random(2) == 0);
	return new_altered(window, random_emit());
}

SE_TEST(windows_in_slices_become_whole_at_any_moment)
{
	se_model_runs(300, random_model, PLAN_FULL | PLAN_RECLAIM | PLAN_ALTER);
	SE_CHECK(se_model_seen.alters > 200);
}

SE_TEST(what_was_taken_over_is_saved_whole)
{
	se_model_runs(300, random_model, PLAN_FULL | PLAN_RECLAIM | PLAN_CRASH | PLAN_ALTER);
	SE_CHECK(se_model_seen.alters > 200);
}

/* Memory is counted, and an error says which it is. */
SE_TEST(whole_windows_that_do_not_fit_are_an_error)
{
	SeWindow	window = {SE_WINDOW_HOP, 60, 1, 0};
	SeEmit		emit = {.on_update = true};
	Model	   *model;
	Run		   *run;
	SeOperatorEnv *env;

	unit = 1;
	model = new_altered(window, emit);
	run = se_model_start(model);
	env = run->units[0].env;
	se_model_push(run, model->steps, 100, model->steps[100].wm);
	se_model_commit(run, false);
	env->state_limit = env->state_bytes + 4096;
	SE_CHECK(alter(model, 100));
	SE_CHECK_ERROR("53200", se_model_adopt(run));
	SE_CHECK(env->over_limit);
}
