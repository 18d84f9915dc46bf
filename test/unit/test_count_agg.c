/*
 * test/unit/test_count_agg.c
 *		The count aggregate against row numbers: random sizes, slides, batches, full outputs,
 *		snapshots, reclaimed records and restores at any moment.
 */
#include "harness.h"
#include "windowed.h"

#include "base/settings.h"
#include "catalog/pg_type_d.h"
#include "operators/agg_set.h"
#include "operators/count_internal.h"
#include "operators/operators.h"
#include "state/key_group.h"
#include "utils/fmgroids.h"

#define ROWS 500

typedef struct Row
{
	int			key;			/* -1 = NULL */
	int			value;			/* -1 = NULL */
} Row;

/* Input: key, value int4. */
static TupleDesc
input_desc(void)
{
	TupleDesc	desc = CreateTemplateTupleDesc(2);

	TupleDescInitEntry(desc, 1, "k", INT4OID, -1, 0);
	TupleDescInitEntry(desc, 2, "v", INT4OID, -1, 0);
	return desc;
}

static SeCountAggNode *
new_node(int64 size, int64 slide, bool partial)
{
	SeCountAggNode *node = palloc0(sizeof(SeCountAggNode));
	SeNode	   *input = palloc0(sizeof(SeNode));
	TupleDesc	out = CreateTemplateTupleDesc(5);

	TupleDescInitEntry(out, 1, "k", INT4OID, -1, 0);
	TupleDescInitEntry(out, 2, "window_id", INT8OID, -1, 0);
	TupleDescInitEntry(out, 3, "count", INT8OID, -1, 0);
	TupleDescInitEntry(out, 4, "sum", INT8OID, -1, 0);
	TupleDescInitEntry(out, 5, "max", INT4OID, -1, 0);
	input->desc = input_desc();
	node->node.kind = SE_NODE_COUNT_AGG;
	node->node.id = 1;
	node->node.inputs = list_make1(input);
	node->node.desc = out;
	node->size = size;
	node->slide = slide;
	node->partial = partial;
	node->keys = list_make1_int(0);
	node->key_eq = list_make1_oid(96);
	node->calls = list_make3(call(F_COUNT_, NIL), call(F_SUM_INT4, list_make1_int(1)), call(F_MAX_INT4, list_make1_int(1)));
	return node;
}

/* The sink of windowed.h with the window's number as start and end. */
static void
count_sink_push(SeOperator *op, int input, SeBatch *batch)
{
	Sink	   *sink = (Sink *) op;

	for (int i = 0; i < batch->nrows; i++)
	{
		Datum	   *values = se_batch_values(batch, i);
		bool	   *nulls = se_batch_nulls(batch, i);
		Result	   *result;

		if (sink->n == sink->room)
		{
			sink->room = Max(64, sink->room * 2);
			sink->results = sink->results == NULL ? palloc(sink->room * sizeof(Result)) :
				repalloc(sink->results, sink->room * sizeof(Result));
		}
		result = &sink->results[sink->n++];
		result->key = nulls[0] ? -1 : DatumGetInt32(values[0]);
		result->start = result->end = DatumGetInt64(values[1]);
		result->count = DatumGetInt64(values[2]);
		result->sum = nulls[3] ? -1 : DatumGetInt64(values[3]);
		result->max = nulls[4] ? -1 : DatumGetInt32(values[4]);
	}
	if (sink->full_after > 0 && --sink->full_after == 0)
		op->env->output_full = true;
}

static Sink *
new_sink(SeOperatorEnv *env)
{
	static SeOperatorOps ops;
	Sink	   *sink = palloc0(sizeof(Sink));

	ops = sink_ops;
	ops.push = count_sink_push;
	se_op_init(&sink->op, &ops, 2, 1, env, NULL);
	return sink;
}

static SeOperator *
start(const SeCountAggNode *node, SeOperatorEnv *env, Sink *sink, const Log *log)
{
	SeOperator *op = se_count_agg_new(node, env);

	op->next = &sink->op;
	for (int i = 0; log != NULL && i < log->n; i++)
		op->ops->restore(op, log->records[i].data, log->records[i].len);
	op->ops->restored(op);
	return op;
}

/* A window of the rows of a key with numbers from .. to - 1, if it has any. */
static int
define_window(const int *values, int from, int to, int key, int64 window, Result *result)
{
	*result = (Result)
	{
		.start = window,.end = window,.key = key,.sum = -1,.max = -1
	};
	for (int i = Max(from, 0); i < to; i++)
	{
		result->count++;
		if (values[i] < 0)
			continue;
		result->sum = Max(result->sum, 0) + values[i];
		result->max = Max(result->max, values[i]);
	}
	return result->count > 0;
}

/* By the numbers of the rows. `ended`: the input has ended. */
static int
define(const SeCountAggNode *node, const Row *rows, int nrows, bool ended, Result *results)
{
	int		   *values = palloc(nrows * sizeof(int));
	int			count = 0;

	for (int key = -1; key < 100; key++)
	{
		int			n = 0;

		for (int i = 0; i < nrows; i++)
			if (rows[i].key == key)
				values[n++] = rows[i].value;
		if (!node->partial)
		{
			for (int64 window = 0; window * node->slide + node->size <= n; window++)
				count += define_window(values, window * node->slide, window * node->slide + node->size, key, window,
									   &results[count]);
			continue;
		}
		for (int64 window = 0; (window + 1) * node->slide <= n; window++)
			count += define_window(values, (window + 1) * node->slide - node->size, (window + 1) * node->slide, key,
								   window, &results[count]);
		if (ended && n % node->slide != 0)
			count += define_window(values, (n / node->slide + 1) * node->slide - node->size, n, key, n / node->slide,
								   &results[count]);
	}
	qsort(results, count, sizeof(Result), compare_results);
	return count;
}

static void
make_rows(Row *rows, int n, int keys)
{
	for (int i = 0; i < n; i++)
	{
		rows[i].key = (int) se_harness_random(keys) - 1;
		rows[i].value = (int) se_harness_random(50) - 1;
	}
}

static void
fill(SeBatch *batch, const Row *row)
{
	Datum	   *values = se_batch_values(batch, batch->nrows);
	bool	   *nulls = se_batch_nulls(batch, batch->nrows);

	values[0] = Int32GetDatum(row->key);
	nulls[0] = row->key < 0;
	values[1] = Int32GetDatum(row->value);
	nulls[1] = row->value < 0;
	batch->event_time[batch->nrows] = SE_TIME_MIN;
	batch->wm[batch->nrows] = SE_TIME_MIN;
	batch->places[batch->nrows] = (SePlace)
	{
		0, 0
	};
	batch->wm_end = SE_TIME_MIN;
	batch->nrows++;
}

static void
check_results(const SeCountAggNode *node, Sink *sink, const Row *rows)
{
	Result	   *expected = palloc(3 * ROWS * sizeof(Result));
	int			n = define(node, rows, ROWS, true, expected);

	qsort(sink->results, sink->n, sizeof(Result), compare_results);
	SE_CHECK_INT(sink->n, n);
	for (int i = 0; i < Min(n, sink->n); i++)
	{
		Result	   *a = &expected[i];
		Result	   *b = &sink->results[i];

		if (compare_results(a, b) == 0 && a->count == b->count && a->sum == b->sum && a->max == b->max)
			continue;
		fprintf(stderr, "%lld every %lld%s: expected %lld of %d: %lld %lld %d, is %lld of %d: %lld %lld %d\n",
				(long long) node->size, (long long) node->slide, node->partial ? " in part" : "",
				(long long) a->start, a->key, (long long) a->count, (long long) a->sum, a->max,
				(long long) b->start, b->key, (long long) b->count, (long long) b->sum, b->max);
		SE_CHECK_INT(i, -1);
		break;
	}
}

typedef struct Plan
{
	bool		full;			/* the output fills up now and then */
	bool		crash;			/* restores from the last commit now and then */
	bool		reclaim;
} Plan;

static void
run(Plan plan)
{
	int64		slide = 1 + se_harness_random(se_harness_random(3) == 0 ? 40 : 6);
	int64		size = 1 + se_harness_random(se_harness_random(3) == 0 ? 60 : 9);
	SeCountAggNode *node = new_node(size, se_harness_random(4) == 0 ? size : slide, se_harness_random(2) == 0);
	SeOperatorEnv *env = new_env();
	Log			log = {{log_append}};
	Row		   *rows = palloc0(ROWS * sizeof(Row));
	SeBatch    *batch = se_batch_new(CurrentMemoryContext, input_desc(), ROWS);
	Sink	   *sink = new_sink(env);
	SeOperator *op;
	int			most = 1 + se_harness_random(se_harness_random(2) == 0 ? 5 : 200);
	int			at = 0;
	int			committed_at = 0;
	bool		committed_end = false;
	bool		ending = false;
	bool		resuming = false;

	make_rows(rows, ROWS, 1 + se_harness_random(se_harness_random(2) == 0 ? 3 : 40));
	op = start(node, env, sink, NULL);
	commit(op, &log, sink, false);
	for (;;)
	{
		if (plan.full && sink->full_after == 0 && se_harness_random(3) == 0)
			sink->full_after = 1 + se_harness_random(3);
		if (env->output_full || se_harness_random(4) == 0)
		{
			resuming |= env->output_full;
			commit(op, &log, sink, plan.reclaim && se_harness_random(2) == 0);
			committed_at = at;
			committed_end = ending;
		}
		if (plan.crash && se_harness_random(8) == 0)
		{
			env->state_bytes = 0;
			env->output_full = false;
			sink->n = sink->committed;
			sink->op.watermark_in = SE_TIME_MIN;
			op = start(node, env, sink, &log);
			at = committed_at;
			ending = committed_end;
			resuming = true;
		}
		if (resuming && !op->ops->resume(op))
			continue;
		resuming = env->output_full;
		if (resuming)
			continue;
		if (ending)
			break;
		if (at == ROWS)
		{
			ending = true;
			resuming = true;
			se_op_watermark(op, 0, SE_TIME_MAX);
			continue;
		}
		se_batch_reset(batch);
		for (int k = 1 + se_harness_random(most); k > 0 && at < ROWS; k--, at++)
			fill(batch, &rows[at]);
		se_op_push(op, 0, batch);
	}
	op->ops->end(op, 0);
	SE_CHECK(sink->ended);
	SE_CHECK_INT(env->late_rows, 0);
	check_results(node, sink, rows);

	/* Behind the end rows count only where nothing was emitted for it. */
	se_batch_reset(batch);
	fill(batch, &rows[0]);
	batch->wm[0] = batch->wm_end = SE_TIME_MAX;
	op->ended = false;
	se_op_push(op, 0, batch);
	SE_CHECK_INT(env->late_rows, node->partial ? 1 : 0);
}

static void
runs(int times, Plan plan)
{
	MemoryContext old = CurrentMemoryContext;

	for (int i = 0; i < times; i++)
	{
		MemoryContext context = se_stub_context_new(old, "run");

		se_batch_rows = 1 + se_harness_random(8);
		MemoryContextSwitchTo(context);
		run(plan);
		MemoryContextSwitchTo(old);
		MemoryContextDelete(context);
	}
}

SE_TEST(windows_are_those_of_the_row_numbers_whatever_the_batches)
{
	Plan		plan = {false, false, false};

	runs(1000, plan);
}

SE_TEST(a_full_output_only_delays)
{
	Plan		plan = {true, false, false};

	runs(500, plan);
}

SE_TEST(nothing_is_lost_or_double_after_restores)
{
	Plan		plan = {true, true, true};

	runs(1500, plan);
}

/* A million rows of a few keys: what windows took is used again. */
SE_TEST(memory_of_past_windows_is_used_again)
{
	static const int64 shapes[][2] = {{100, 100}, {100, 7}, {1000, 1}, {3, 50}};

	se_batch_rows = 64;
	for (int shape = 0; shape < lengthof(shapes); shape++)
	{
		SeCountAggNode *node = new_node(shapes[shape][0], shapes[shape][1], false);
		SeOperatorEnv *env = new_env();
		Sink	   *sink = new_sink(env);
		SeBatch    *batch = se_batch_new(CurrentMemoryContext, input_desc(), 500);
		SeOperator *op = start(node, env, sink, NULL);
		uint64		held = 0;
		int64		windows = 0;

		for (int i = 0; i < 2000; i++)
		{
			Log			log = {{log_append}};

			se_batch_reset(batch);
			for (int k = 0; k < 500; k++)
			{
				Row			row = {k % 10, 1};

				fill(batch, &row);
			}
			se_op_push(op, 0, batch);
			windows += sink->n;
			sink->n = 0;
			if (i % 50 == 0)
			{
				commit(op, &log, sink, false);
				for (int r = 0; r < log.n; r++)
					pfree(log.records[r].data);
			}
			if (i == 200)
				held = env->state_bytes;
		}
		SE_CHECK_INT(env->state_bytes, held);
		SE_CHECK_INT(windows, 10 * ((100000 - node->size) / node->slide + 1));
	}
}

SE_TEST(state_of_one_unit_restored_as_two_by_key_group_gives_the_same_results)
{
	static const int64 shapes[][2] = {{7, 7}, {7, 3}, {6, 2}};

	se_batch_rows = 3;
	for (int shape = 0; shape < 2 * lengthof(shapes); shape++)
	{
		SeCountAggNode *node = new_node(shapes[shape / 2][0], shapes[shape / 2][1], shape % 2 == 1);
		SeOperatorEnv *env = new_env();
		Sink	   *sink = new_sink(env);
		Log			log = {{log_append}};
		Row		   *rows = palloc0(ROWS * sizeof(Row));
		SeBatch    *batch = se_batch_new(CurrentMemoryContext, input_desc(), ROWS);
		SeOperator *op = start(node, env, sink, NULL);

		make_rows(rows, ROWS, 40);
		for (int i = 0; i < ROWS / 2; i++)
			fill(batch, &rows[i]);
		se_op_push(op, 0, batch);
		commit(op, &log, sink, false);
		for (int unit = 0; unit < 2; unit++)
		{
			SeOperatorEnv *own = new_env();
			SeKeys	   *keys = se_keys_new(input_desc(), node->keys, node->key_eq);
			Log			mine = {{log_append}};
			int			before = sink->n;

			own->unit = unit;
			own->units = 2;
			sink->op.watermark_in = SE_TIME_MIN;
			op = start(node, own, sink, &log);
			op->ops->prepare(op);
			for (int i = 0; i < log.n; i++)
				op->ops->rewrite(op, log.records[i].data, log.records[i].len);
			op->ops->snapshot(op, &mine.writer);
			own->state_bytes = 0;
			op = start(node, own, sink, &mine);
			for (int i = ROWS / 2; i < ROWS; i++)
			{
				int			first = 0;
				Datum		value;
				bool		null;
				uint32		hash;

				se_batch_reset(batch);
				fill(batch, &rows[i]);
				se_keys_prepare(keys, batch, &first, 1, &value, &null, &hash);
				if (se_key_group_is_own(own, hash))
					se_op_push(op, 0, batch);
			}
			se_op_watermark(op, 0, SE_TIME_MAX);
			SE_CHECK(sink->n > before);
		}
		check_results(node, sink, rows);
	}
}

SE_TEST(damaged_records_are_errors)
{
	MemoryContext old = CurrentMemoryContext;

	se_batch_rows = 2;
	for (volatile int shape = 0; shape < 4; shape++)
	{
		SeCountAggNode *node = new_node(7, shape < 2 ? 7 : 3, shape % 2 == 1);
		SeOperatorEnv *env = new_env();
		Sink	   *sink = new_sink(env);
		Log			log = {{log_append}};
		Row		   *rows = palloc(ROWS * sizeof(Row));
		SeBatch    *batch = se_batch_new(CurrentMemoryContext, input_desc(), ROWS);
		SeOperator *op = start(node, env, sink, NULL);

		make_rows(rows, ROWS, 20);
		for (int i = 0; i < ROWS; i++)
		{
			fill(batch, &rows[i]);
			if (i % 50 == 49)
			{
				((SeCountAgg *) op)->meta.dirty = true;
				se_op_push(op, 0, batch);
				commit(op, &log, sink, false);
				se_batch_reset(batch);
			}
		}
		SE_CHECK(log.n > 5);
		for (volatile int i = 0; i < 2000; i++)
		{
			MemoryContext context = se_stub_context_new(old, "damage");
			volatile int damaged = se_harness_random(log.n);
			SeOperator *volatile other;
			volatile int r = 0;

			MemoryContextSwitchTo(context);
			env = new_env();
			env->state_limit = 1 << 20;
			other = se_count_agg_new(node, env);
			other->next = &new_sink(env)->op;
			PG_TRY();
			{
				for (; r < log.n; r++)
				{
					StringInfoData *record = &log.records[r];
					int			len = record->len;
					char	   *copy = palloc(len + 1);

					memcpy(copy, record->data, len);
					if (r == damaged && se_harness_random(3) == 0)
						len = se_harness_random(len);
					else if (r == damaged)
						copy[se_harness_random(len)] ^= 1 << se_harness_random(8);
					other->ops->restore(other, copy, len);
				}
				other->ops->restored(other);
				/* What was taken for good can be gone on with. */
				for (int k = 0; k < 40; k++)
				{
					se_batch_reset(batch);
					fill(batch, &rows[k]);
					se_op_push(other, 0, batch);
				}
				se_op_watermark(other, 0, SE_TIME_MAX);
			}
			PG_CATCH();
			{
				SE_CHECK(se_stub_error_code == ERRCODE_DATA_CORRUPTED ||
						 se_stub_error_code == ERRCODE_OUT_OF_MEMORY);
			}
			PG_END_TRY();
			MemoryContextSwitchTo(old);
			MemoryContextDelete(context);
		}
	}
}
