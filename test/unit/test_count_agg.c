/*
 * test/unit/test_count_agg.c
 *		The count aggregate against row numbers: random sizes, slides, batches, full outputs,
 *		snapshots, reclaimed records and restores at any moment.
 */
#include "model.h"

#include "base/settings.h"
#include "operators/count_internal.h"
#include "operators/operators.h"

#define ROWS 400
#define KEYS 40

typedef struct Counts
{
	Model		model;			/* first */
	SeCountAggNode *node;
	const Step *rows[ROWS];		/* that count */
	int			n;
} Counts;

static SeOperator *
counts_create(const Model *model, SeOperatorEnv *env)
{
	return se_count_agg_new(((const Counts *) model)->node, env);
}

static void
counts_forget(Model *model)
{
	((Counts *) model)->n = 0;
}

/* Behind the end rows count only where nothing was emitted for it. */
static void
counts_row(Model *model, const Step *row)
{
	Counts	   *counts = (Counts *) model;

	if (row->wm == SE_TIME_MAX && counts->node->partial)
	{
		model->late_rows++;
		model->late_pairs++;
	}
	else
		counts->rows[counts->n++] = row;
}

/* The window of the rows of a key with numbers from .. to - 1, if it has any. */
static void
show_window(Table *want, const Step *const *rows, int from, int to, int64 window)
{
	Result		result;

	for (int i = Max(from, 0); i < to; i++)
	{
		Result		row = se_model_result(rows[i], window, window);

		if (i == Max(from, 0))
			result = row;
		else
			se_model_add(&result, &row);
	}
	if (Max(from, 0) < to)
		se_model_put(want, want->n, &result);
}

/* By the numbers of the rows. */
static void
counts_show(Model *model, Table *want)
{
	Counts	   *counts = (Counts *) model;
	int			size = (int) counts->node->size;
	int			slide = (int) counts->node->slide;
	const Step **rows = palloc(ROWS * sizeof(Step *));

	for (int key = -1; key < KEYS; key++)
	{
		int			n = 0;

		for (int i = 0; i < counts->n; i++)
		{
			if (counts->rows[i]->key == key)
				rows[n++] = counts->rows[i];
		}
		if (!counts->node->partial)
		{
			for (int window = 0; window * slide + size <= n; window++)
				show_window(want, rows, window * slide, window * slide + size, window);
			continue;
		}
		for (int window = 0; (window + 1) * slide <= n; window++)
			show_window(want, rows, (window + 1) * slide - size, (window + 1) * slide, window);
		if (model->wm == SE_TIME_MAX && n % slide != 0)
			show_window(want, rows, (n / slide + 1) * slide - size, n, n / slide);
	}
	pfree(rows);
}

static const char *
counts_describe(const Model *model)
{
	const SeCountAggNode *node = ((const Counts *) model)->node;

	return psprintf("%lld every %lld%s", (long long) node->size, (long long) node->slide,
					node->partial ? " in part" : "");
}

/* The next commit saves all there is about the operator, too. */
static void
save_meta(SeOperator *op)
{
	((SeCountAgg *) op)->meta.dirty = true;
}

static const Definition by_row_number = {
	.create = counts_create,.disturb = save_meta,
	.forget = counts_forget,.row = counts_row,.show = counts_show,.describe = counts_describe
};

static Counts *
new_counts(int64 size, int64 slide, bool partial, int keys)
{
	Counts	   *counts = palloc0(sizeof(Counts));
	SeCountAggNode *node = palloc0(sizeof(SeCountAggNode));

	se_model_init(&counts->model, &by_row_number, &node->node, SE_NODE_COUNT_AGG, 1, ROWS);
	counts->node = node;
	node->size = size;
	node->slide = slide;
	node->partial = partial;
	node->keys = list_make1_int(0);
	node->key_eq = list_make1_oid(96);
	node->calls = se_model_calls();
	se_model_random_steps(counts->model.steps, ROWS, keys, false, 1);
	return counts;
}

static Model *
random_model(void)
{
	int64		slide = 1 + se_harness_random(se_harness_random(3) == 0 ? 40 : 6);
	int64		size = 1 + se_harness_random(se_harness_random(3) == 0 ? 60 : 9);

	return &new_counts(size, se_harness_random(4) == 0 ? size : slide, se_harness_random(2) == 0,
					   1 + se_harness_random(se_harness_random(2) == 0 ? 3 : KEYS))->model;
}

SE_TEST(windows_are_those_of_the_row_numbers_whatever_the_batches)
{
	se_model_runs(1000, random_model, PLAN_PLAIN);
}

SE_TEST(a_full_output_only_delays)
{
	se_model_runs(500, random_model, PLAN_FULL);
}

SE_TEST(nothing_is_lost_or_double_after_restores)
{
	se_model_runs(1500, random_model, PLAN_FULL | PLAN_CRASH | PLAN_RECLAIM | PLAN_DISTURB);
}

SE_TEST(state_of_one_unit_restored_as_two_by_key_group_gives_the_same_results)
{
	se_model_runs(400, random_model, PLAN_FULL | PLAN_CRASH | PLAN_RECLAIM | PLAN_DIVIDE);
}

/* A million rows of a few keys: what windows took is used again. */
SE_TEST(memory_of_past_windows_is_used_again)
{
	static const int64 shapes[][2] = {{100, 100}, {100, 7}, {1000, 1}, {3, 50}};

	se_batch_rows = 64;
	for (int shape = 0; shape < lengthof(shapes); shape++)
	{
		Counts	   *counts = new_counts(shapes[shape][0], shapes[shape][1], false, 1);
		Run		   *run = se_model_start(&counts->model);
		Step		rows[500];
		uint64		held = 0;
		int64		windows = 0;

		for (int k = 0; k < 500; k++)
		{
			Step		row = {k % 10, 1,.wm = SE_TIME_MIN};

			rows[k] = row;
		}
		for (int i = 0; i < 2000; i++)
		{
			se_model_push(run, rows, 500, SE_TIME_MIN);
			windows += run->table.n;
			run->table.n = 0;
			if (i % 50 == 0)
			{
				se_model_commit(run, false);
				se_model_forget_log(run);
			}
			if (i == 200)
				held = run->units[0].env->state_bytes;
		}
		SE_CHECK_INT(run->units[0].env->state_bytes, held);
		SE_CHECK_INT(windows, 10 * ((100000 - counts->node->size) / counts->node->slide + 1));
	}
}

SE_TEST(damaged_records_are_errors)
{
	for (int shape = 0; shape < 4; shape++)
		se_model_damage(&new_counts(7, shape < 2 ? 7 : 3, shape % 2 == 1, 20)->model, 2000);
}
