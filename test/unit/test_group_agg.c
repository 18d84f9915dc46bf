/*
 * test/unit/test_group_agg.c
 *		Un-windowed groups: one legal step per changed group and commit, over crashes and reclaim.
 */
#include "groups.h"

static SeOperator *
create(const Model *model, SeOperatorEnv *env)
{
	return se_group_agg_new(((const Groups *) model)->node, env);
}

static void
row_of_group(Model *model, const Step *row)
{
	(void) groups_add((Groups *) model, row);
}

/* Each commit shows all. */
static void
show(Model *model, Table *want)
{
	groups_show_all((Groups *) model);
	groups_show(model, want);
}

static const Definition groups_at_commits = {
	.create = create,.same = se_model_same_key,.once = true,.changed = true,
	.forget = groups_forget,.row = row_of_group,.show = show
};

static Model *
random_model(void)
{
	Groups	   *groups = new_groups(&groups_at_commits, true, 400);

	se_model_random_steps(groups->model.steps, 400, 2 + se_harness_random(60), false, 1);
	return &groups->model;
}

static Model *
random_model_without_keys(void)
{
	Groups	   *groups = new_groups(&groups_at_commits, false, 200);

	se_model_random_steps(groups->model.steps, 200, 3, false, 1);
	return &groups->model;
}

SE_TEST(every_changed_group_makes_one_legal_step_per_commit)
{
	se_model_runs(200, random_model, PLAN_PLAIN);
}

SE_TEST(an_aggregate_without_keys_only_updates_its_row)
{
	se_model_runs(200, random_model_without_keys, PLAN_CRASH | PLAN_RECLAIM);
	SE_CHECK_INT(se_model_seen.inserts, 0);
}

SE_TEST(restores_with_reclaimed_records_show_the_same)
{
	se_model_runs(300, random_model, PLAN_CRASH | PLAN_RECLAIM);
}

SE_TEST(state_of_one_unit_restored_as_two_by_key_group_gives_the_same_rows)
{
	se_model_runs(300, random_model, PLAN_CRASH | PLAN_RECLAIM | PLAN_DIVIDE);
}

SE_TEST(damaged_records_are_errors)
{
	se_model_damage(random_model(), 3000);
}
