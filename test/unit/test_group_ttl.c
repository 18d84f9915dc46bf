/*
 * test/unit/test_group_ttl.c
 *		Groups that expire, against their definition, over crashes, reclaim and many generations.
 */
#include "groups.h"

#include "base/settings.h"
#include "operators/group_ttl_internal.h"

#define KEYS 60
#define TTL 100

/* A group, and the row of the result. */
typedef struct Mortal
{
	bool		alive;
	SeTime		expires;
	Result		now;
	Result		row;			/* count 0 = none */
} Mortal;

typedef struct Mortals
{
	Groups		groups;			/* first */
	SeTime		clock;
	Mortal		of_key[KEYS];	/* of NULL first */
} Mortals;

static SeOperator *
create(const Model *model, SeOperatorEnv *env)
{
	return se_group_ttl_new(((const Groups *) model)->node, env);
}

static void
forget(Model *model)
{
	Mortals    *mortals = (Mortals *) model;

	memset(mortals->of_key, 0, sizeof(mortals->of_key));
	mortals->clock = SE_TIME_MIN;
}

static void
reach_clock(Mortals *mortals, SeTime now)
{
	mortals->clock = Max(mortals->clock, now);
}

static void
reach(Model *model, SeTime wm)
{
	if (((Groups *) model)->node->ttl == SE_TTL_EVENT)
		reach_clock((Mortals *) model, wm);
}

static void
tick(Model *model, SeTime now)
{
	if (((Groups *) model)->node->ttl == SE_TTL_PROCESSING)
		reach_clock((Mortals *) model, now);
}

/* What state_ttl says. */
static void
row_of_group(Model *model, const Step *row)
{
	Mortals    *mortals = (Mortals *) model;
	Mortal	   *mortal = &mortals->of_key[row->key + 1];
	Result		it = se_model_result(row, 0, 0);

	tick(model, row->ts);
	if (!mortal->alive || mortal->expires <= mortals->clock)
	{
		mortal->alive = row->ts + TTL > mortals->clock;
		if (!mortal->alive)
		{
			model->late_rows++;
			model->late_pairs++;
			return;
		}
		mortal->expires = row->ts + TTL;
		mortal->now = it;
	}
	else
		se_model_add(&mortal->now, &it);
	mortal->expires = Max(mortal->expires, row->ts + TTL);
	mortal->row = mortal->now;
}

/* With ttl_delete without the expired. */
static void
show(Model *model, Table *want)
{
	Mortals    *mortals = (Mortals *) model;

	model->entries = 0;
	for (int i = 0; i < KEYS; i++)
	{
		Mortal	   *mortal = &mortals->of_key[i];

		mortal->alive &= mortal->expires > mortals->clock;
		model->entries += mortal->alive;
		if (!mortal->alive && mortals->groups.node->ttl_delete)
			mortal->row.count = 0;
		if (mortal->row.count > 0)
			se_model_put(want, want->n, &mortal->row);
	}
}

static uint32 generations;

static void
watch_generation(SeOperator *op)
{
	generations = Max(generations, ((SeGroupTtl *) op)->current->number);
}

/* A group that begins anew while its row stays is a new one. */
static const Definition mortal_groups = {
	.create = create,.same = se_model_same_key,.once = true,.any_insert = true,.disturb = watch_generation,
	.forget = forget,.row = row_of_group,.reach = reach,.tick = tick,.show = show
};

/* One that came and went between two commits may have a row from before there was ttl_delete. */
static const Definition mortal_rows = {
	.create = create,.same = se_model_same_key,.once = true,.any_delete = true,.disturb = watch_generation,
	.forget = forget,.row = row_of_group,.reach = reach,.tick = tick,.show = show
};

static Model *
new_mortals(SeTtl ttl, bool delete, int nsteps)
{
	Mortals    *mortals = palloc0(sizeof(Mortals));
	Groups	   *groups = new_groups(delete ? &mortal_rows : &mortal_groups, true, nsteps);

	mortals->groups = *groups;
	mortals->groups.model.rows_tick = ttl == SE_TTL_PROCESSING;
	groups->node->ttl = ttl;
	groups->node->ttl_usecs = TTL;
	groups->node->ttl_delete = delete;
	groups->node->time_column = COLUMN_TS;
	return &mortals->groups.model;
}

/* By event time rows come about when they should, by processing time exactly then. Times without rows, too. */
static Model *
random_model(SeTtl ttl, bool delete)
{
	int			n = 6000;
	Model	   *model = new_mortals(ttl, delete, n);
	SeTime		clock = 1000;

	for (int i = 0; i <= n; i++)
	{
		Step	   *step = &model->steps[i];

		step->key = (int) se_harness_random(i % 1500 < 750 ? KEYS : 5) - 1;
		step->value = (int) se_harness_random(50) - 1;
		step->wm = ttl == SE_TTL_EVENT ? clock : SE_TIME_MIN;
		step->ts = clock;
		if (ttl == SE_TTL_EVENT)
			step->ts += 20 - (int) se_harness_random(se_harness_random(10) == 0 ? 300 : 40);
		if (se_harness_random(40) == 0 || i == n)
		{
			clock += se_harness_random(se_harness_random(5) == 0 ? 3 * TTL : 20);
			step->kind = ttl == SE_TTL_EVENT || i == n ? STEP_WATERMARK : STEP_TICK;
			step->now = clock;
		}
		else if (se_harness_random(4) == 0)
			clock += se_harness_random(30);
	}
	return model;
}

static Model *
random_event(void)
{
	return random_model(SE_TTL_EVENT, false);
}

static Model *
random_event_delete(void)
{
	return random_model(SE_TTL_EVENT, true);
}

static Model *
random_processing(void)
{
	return random_model(SE_TTL_PROCESSING, false);
}

static Model *
random_processing_delete(void)
{
	return random_model(SE_TTL_PROCESSING, true);
}

static void
runs(Model *(*model) (void), bool late, bool delete)
{
	generations = 0;
	se_model_runs(4, model, PLAN_DISTURB);
	se_model_runs(6, model, PLAN_CRASH | PLAN_RECLAIM | PLAN_DISTURB);
	SE_CHECK(late ? se_model_seen.late_rows > 100 : se_model_seen.late_rows == 0);
	SE_CHECK(delete ? se_model_seen.deletes > 1000 : se_model_seen.deletes == 0);
	SE_CHECK(generations > 1);
}

SE_TEST(groups_by_event_time_begin_anew_after_their_time)
{
	runs(random_event, true, false);
}

SE_TEST(rows_of_groups_that_expire_by_event_time_are_deleted)
{
	runs(random_event_delete, true, true);
}

SE_TEST(groups_by_processing_time_begin_anew_after_their_time)
{
	runs(random_processing, false, false);
}

SE_TEST(rows_of_groups_that_expire_by_processing_time_are_deleted)
{
	runs(random_processing_delete, false, true);
}

SE_TEST(state_of_one_unit_restored_as_two_by_key_group_expires_alike)
{
	int			plan = PLAN_CRASH | PLAN_RECLAIM | PLAN_DIVIDE;

	se_model_runs(4, random_event, plan);
	se_model_runs(4, random_event_delete, plan);
	se_model_runs(4, random_processing, plan);
	se_model_runs(4, random_processing_delete, plan);
}

/* How a row at `now` finds key 0: the count of its group. */
static int64
count_at(Run *run, SeTime now)
{
	Step		row = {0, 1, now,.wm = SE_TIME_MIN};

	se_model_push(run, &row, 1, SE_TIME_MIN);
	se_model_commit(run, true);
	return run->table.rows[0].count;
}

SE_TEST(a_group_written_at_a_time_is_gone_at_exactly_that_time_and_the_ttl)
{
	Run		   *run = se_model_start(new_mortals(SE_TTL_PROCESSING, false, 0));

	SE_CHECK_INT(count_at(run, 4000), 1);
	SE_CHECK_INT(count_at(run, 4000 + TTL - 1), 2);
	SE_CHECK_INT(count_at(run, 4000 + TTL), 3);
	SE_CHECK_INT(count_at(run, 4000 + 2 * TTL), 1);
	/* Not brought to life again out of a checkpoint that had it. */
	se_model_restart(run);
	SE_CHECK_INT(count_at(run, 4000 + 3 * TTL), 1);
	se_model_restart(run);
	SE_CHECK_INT(count_at(run, 4000 + 4 * TTL - 1), 2);
}

SE_TEST(a_ttl_beyond_the_end_of_time_ends_with_the_input)
{
	Model	   *model = new_mortals(SE_TTL_PROCESSING, false, 0);
	Run		   *run;
	SeOperator *op;

	((Groups *) model)->node->ttl_usecs = PG_INT64_MAX;
	run = se_model_start(model);
	op = run->units[0].op;
	SE_CHECK_INT(count_at(run, 4000), 1);
	SE_CHECK_INT(count_at(run, PG_INT64_MAX - 3), 2);
	op->ops->timer(op, PG_INT64_MAX - 2);
	SE_CHECK(!op->env->commit_wanted);
	SE_CHECK_INT(count_at(run, PG_INT64_MAX - 2), 3);
	op->ops->timer(op, SE_TIME_MAX);
	SE_CHECK(op->env->commit_wanted);
	SE_CHECK_INT(count_at(run, SE_TIME_MAX), 1);
}

/* 64 rows of keys that come only once. */
static void
push_new_keys(Run *run, int number, SeTime clock)
{
	Step		rows[64];

	for (int i = 0; i < 64; i++)
	{
		Step		row = {number * 64 + i, 1, clock,.wm = clock};

		rows[i] = row;
	}
	se_model_push(run, rows, 64, clock);
}

/* Every key once and never again: what is held stays as it is. */
SE_TEST(memory_of_expired_groups_comes_back)
{
	Run		   *run = se_model_start(new_mortals(SE_TTL_EVENT, true, 0));
	SeOperator *op = run->units[0].op;
	SeTime		clock = 1000;
	uint64		early = 0;
	uint64		late = 0;

	run->deaf = true;
	for (int i = 0; i < 5000; i++, clock += 2)
	{
		push_new_keys(run, i, clock);
		se_model_commit(run, true);
		if (i < 1000)
			early = Max(early, op->env->state_bytes);
		else
			late = Max(late, op->env->state_bytes);
	}
	SE_CHECK(late <= early * 5 / 4);
	SE_CHECK(op->state_entries <= (TTL / 2 + 2) * 64);

	/* An idle stream: only the watermark goes on. */
	se_model_watermark(run, clock + 2 * TTL);
	SE_CHECK(op->env->commit_wanted);
	while (op->env->commit_wanted)
		se_model_commit(run, true);
	SE_CHECK_INT(op->state_entries, 0);
	SE_CHECK(op->env->state_bytes < early / 10);
}

/* More expire at once than a commit deletes. */
SE_TEST(deletes_are_spread_over_commits_and_survive_a_crash_between_them)
{
	Run		   *run = se_model_start(new_mortals(SE_TTL_EVENT, true, 0));
	SeOperatorEnv *env = run->units[0].env;
	int			keys = 64 * 500;
	int			commits = 0;
	int			deleted = 0;

	run->deaf = true;
	for (int i = 0; i < keys / 64; i++)
		push_new_keys(run, i, 1000);
	se_model_commit(run, true);
	SE_CHECK_INT(run->emitted, keys);
	se_model_commit(run, true);
	se_model_watermark(run, 1000 + TTL);
	do
	{
		se_model_commit(run, true);
		commits++;
		deleted += run->emitted;
		SE_CHECK(run->emitted <= 10000);
		SE_CHECK_INT(env->unreflected, deleted < keys);
		se_model_restart(run);
	} while (env->commit_wanted && commits < 100);
	SE_CHECK_INT(deleted, keys);
	SE_CHECK(commits >= 4);
}

SE_TEST(damaged_records_are_errors)
{
	se_model_damage(random_event_delete(), 3000);
}
