/*
 * test/unit/test_group_held.c
 *		Un-windowed groups whose rows are held back, against the definition of what is to be seen at
 *		each commit: random modes, batches, watermarks, ticks, restores and reclaimed records.
 */
#include "groups.h"

static SeOperator *
create(const Model *model, SeOperatorEnv *env)
{
	return se_group_held_new(((const Groups *) model)->node, env);
}

static void
row_of_group(Model *model, const Step *row)
{
	Groups	   *groups = (Groups *) model;
	Result	   *group = groups_add(groups, row);

	if (groups->node->emit.every > 0 && group->count % groups->node->emit.every == 0)
		groups_show_one(groups, group);
}

/* Is there a multiple of the interval in (after, upto]? */
static bool
is_crossed(int64 interval, SeTime after, SeTime upto)
{
	if (after == SE_TIME_MIN || upto == SE_TIME_MAX)
		return true;
	for (SeTime t = after + 1; t <= upto; t++)
		if (se_window_align(t, interval, 0) == t)
			return true;
	return false;
}

static void
reach(Model *model, SeTime wm)
{
	Groups	   *groups = (Groups *) model;
	const SeEmit *emit = &groups->node->emit;

	if (emit->early > 0 && !emit->early_clock && is_crossed(emit->early, model->wm, wm))
		groups_show_all(groups);
}

static void
tick(Model *model, SeTime now)
{
	Groups	   *groups = (Groups *) model;
	const SeEmit *emit = &groups->node->emit;

	if (!emit->early_clock || se_window_align(now, emit->early, 0) <= groups->clock)
		return;
	groups->clock = se_window_align(now, emit->early, 0);
	groups_show_all(groups);
}

/* The end of the input shows everything, and what comes after it too. */
static void
show(Model *model, Table *want)
{
	Groups	   *groups = (Groups *) model;

	if (model->wm == SE_TIME_MAX)
		groups_show_all(groups);
	groups_show(model, want);
}

static const char *
describe(const Model *model)
{
	return se_emit_print(&((const Groups *) model)->node->emit);
}

static const Definition groups_held_back = {
	.create = create,.same = se_model_same_key,.once = true,.changed = true,
	.forget = groups_forget,.row = row_of_group,.reach = reach,.tick = tick,.show = show,.describe = describe
};

static Model *
random_model(void)
{
	Groups	   *groups = new_groups(&groups_held_back, se_harness_random(8) != 0, 200);
	SeEmit	   *emit = &groups->node->emit;

	if (se_harness_random(3) != 0)
		emit->early = 1 + se_harness_random(20);
	emit->early_clock = emit->early > 0 && se_harness_random(2) == 0;
	if (emit->early == 0 || se_harness_random(2) == 0)
		emit->every = 1 + se_harness_random(5);
	se_model_random_steps(groups->model.steps, 200, 6, true, 1);
	return &groups->model;
}

SE_TEST(each_commit_shows_what_the_definition_says_whatever_the_batches)
{
	se_model_runs(300, random_model, PLAN_PLAIN);
}

SE_TEST(restores_with_reclaimed_records_show_the_same)
{
	se_model_runs(400, random_model, PLAN_CRASH | PLAN_RECLAIM);
}

SE_TEST(state_of_one_unit_restored_as_two_by_key_group_shows_the_same)
{
	se_model_runs(400, random_model, PLAN_CRASH | PLAN_RECLAIM | PLAN_DIVIDE);
}

SE_TEST(damaged_records_are_errors)
{
	se_model_damage(random_model(), 3000);
}
