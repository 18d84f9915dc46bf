/*
 * test/unit/test_group_held.c
 *		Un-windowed groups whose rows are held back, against the definition of what is to be seen at
 *		each commit: random modes, batches, watermarks, ticks, restores and reclaimed records.
 */
#include "harness.h"

#include "base/settings.h"
#include "catalog/pg_type_d.h"
#include "operators/operators.h"
#include "utils/fmgroids.h"

#define KEYS 6
#define ROWS 200

/* The result table. */
typedef struct Table
{
	int64		count[KEYS];	/* 0 = no row */
	int64		sum[KEYS];
} Table;

typedef struct Sink
{
	SeOperator	op;
	Table		table;
	Table		saved;
	bool		crashes;
	int			seen[KEYS];		/* since the last commit */
} Sink;

static void
sink_push(SeOperator *op, int input, SeBatch *batch)
{
	Sink	   *sink = (Sink *) op;

	for (int i = 0; i < batch->nrows; i++)
	{
		Datum	   *values = se_batch_values(batch, i);
		bool	   *nulls = se_batch_nulls(batch, i);
		int			key = nulls[0] ? 0 : DatumGetInt32(values[0]);

		if (!sink->crashes)
			SE_CHECK_INT(batch->kinds[i], sink->table.count[key] > 0 ? SE_ROW_UPDATE_AFTER : SE_ROW_INSERT);
		SE_CHECK_INT(sink->seen[key]++, 0);
		sink->table.count[key] = DatumGetInt64(values[1]);
		sink->table.sum[key] = nulls[2] ? -1 : DatumGetInt64(values[2]);
	}
}

static void
sink_watermark(SeOperator *op, int input, SeTime h)
{
	op->watermark_in = Max(op->watermark_in, h);
}

static void
sink_idle(SeOperator *op, int input, bool idle)
{
}

static void
sink_timer(SeOperator *op, SeTime now)
{
}

static void
sink_end(SeOperator *op, int input)
{
}

static const SeOperatorOps sink_ops = {
	.name = "sink",.push = sink_push,.watermark = sink_watermark,.idle = sink_idle,.timer = sink_timer,
	.end = sink_end
};

typedef struct Log
{
	SeSnapshotWriter writer;	/* first */
	StringInfoData records[20000];
	int			n;
} Log;

static void
log_append(SeSnapshotWriter *writer, int operator_id, const void *bytes, Size len)
{
	Log		   *log = (Log *) writer;

	SE_CHECK(log->n < lengthof(log->records));
	initStringInfo(&log->records[log->n]);
	appendBinaryStringInfo(&log->records[log->n], bytes, (int) len);
	log->n++;
}

static void
commit(SeOperator *op, Log *log, Sink *sink, bool reclaim)
{
	int			gone = reclaim ? log->n / 2 : 0;

	op->ops->prepare(op);
	for (int i = 0; i < gone; i++)
		op->ops->rewrite(op, log->records[i].data, log->records[i].len);
	memmove(log->records, log->records + gone, (log->n - gone) * sizeof(StringInfoData));
	log->n -= gone;
	op->snapshotting = true;
	op->ops->snapshot(op, &log->writer);
	op->snapshotting = false;
	sink->saved = sink->table;
	memset(sink->seen, 0, sizeof(sink->seen));
}

static SeAggCall *
call(Oid function, List *args)
{
	SeAggCall  *result = palloc0(sizeof(SeAggCall));

	result->aggref = palloc0(sizeof(Aggref));
	((Node *) result->aggref)->type = T_Aggref;
	result->aggref->aggfnoid = function;
	result->args = args;
	result->filter = -1;
	result->method = SE_AGG_NATIVE;
	return result;
}

static SeGroupAggNode *
new_node(SeEmit emit)
{
	SeGroupAggNode *node = palloc0(sizeof(SeGroupAggNode));
	SeNode	   *input = palloc0(sizeof(SeNode));
	TupleDesc	out = CreateTemplateTupleDesc(3);

	input->desc = CreateTemplateTupleDesc(2);
	TupleDescInitEntry(input->desc, 1, "k", INT4OID, -1, 0);
	TupleDescInitEntry(input->desc, 2, "v", INT4OID, -1, 0);
	TupleDescInitEntry(out, 1, "k", INT4OID, -1, 0);
	TupleDescInitEntry(out, 2, "count", INT8OID, -1, 0);
	TupleDescInitEntry(out, 3, "sum", INT8OID, -1, 0);
	node->node.kind = SE_NODE_GROUP_AGG;
	node->node.id = 1;
	node->node.inputs = list_make1(input);
	node->node.desc = out;
	node->keys = list_make1_int(0);
	node->key_eq = list_make1_oid(96);
	node->calls = list_make2(call(F_COUNT_, NIL), call(F_SUM_INT4, list_make1_int(1)));
	node->emit = emit;
	return node;
}

static SeOperator *
start(const SeGroupAggNode *node, SeOperatorEnv *env, Sink *sink, const Log *log)
{
	SeOperator *op = se_group_held_new(node, env);

	op->next = &sink->op;
	for (int i = 0; log != NULL && i < log->n; i++)
		op->ops->restore(op, log->records[i].data, log->records[i].len);
	op->ops->restored(op);
	return op;
}

typedef struct Model
{
	Table		now;
	Table		shown;
	SeTime		wm;
	int64		tick;
	int			at;
} Model;

static void
show(Model *model)
{
	model->shown = model->now;
}

static void
reach(Model *model, const SeEmit *emit, SeTime wm)
{
	if (wm <= model->wm)
		return;
	if (emit->early > 0 && !emit->early_clock)
	{
		bool		crossed = model->wm == SE_TIME_MIN;

		for (SeTime t = model->wm + 1; !crossed && t <= wm; t++)
			crossed = se_window_align(t, emit->early, 0) == t;
		if (crossed)
			show(model);
	}
	model->wm = wm;
}

static void
run(SeEmit emit, bool crashes, bool reclaim)
{
	SeGroupAggNode *node = new_node(emit);
	SeOperatorEnv *env = palloc0(sizeof(SeOperatorEnv));
	Sink	   *sink = palloc0(sizeof(Sink));
	Log		   *log = palloc0(sizeof(Log));
	SeBatch    *batch = se_batch_new(CurrentMemoryContext, ((SeNode *) linitial(node->node.inputs))->desc, ROWS);
	SeTime		wm[ROWS + 1];
	int			keys[ROWS];
	SeTime		ticks[ROWS];
	SeTime		now = 0;
	Model		model = {.wm = SE_TIME_MIN};
	Model		saved;
	SeOperator *op;

	log->writer.append = log_append;
	env->memory = CurrentMemoryContext;
	env->state_limit = UINT64CONST(1) << 30;
	sink->crashes = crashes;
	wm[0] = SE_TIME_MIN;
	for (int i = 0; i < ROWS; i++)
	{
		keys[i] = (int) se_harness_random(KEYS);
		wm[i + 1] = se_harness_random(3) != 0 ? wm[i] : wm[i] == SE_TIME_MIN ? -50 : wm[i] + 1 + se_harness_random(6);
		now += se_harness_random(12);
		ticks[i] = se_harness_random(5) == 0 ? now : 0;
	}
	se_op_init(&sink->op, &sink_ops, 2, 1, env, NULL);
	op = start(node, env, sink, NULL);
	commit(op, log, sink, false);
	saved = model;
	while (model.at < ROWS)
	{
		SeTime		tick = 0;

		if (se_harness_random(4) == 0)
		{
			commit(op, log, sink, reclaim && se_harness_random(2) == 0);
			SE_CHECK(memcmp(&sink->table, &model.shown, sizeof(Table)) == 0);
			saved = model;
		}
		if (crashes && se_harness_random(6) == 0)
		{
			model = saved;
			sink->table = sink->saved;
			memset(sink->seen, 0, sizeof(sink->seen));
			sink->op.watermark_in = SE_TIME_MIN;
			env->state_bytes = 0;
			op = start(node, env, sink, log);
		}
		se_batch_reset(batch);
		for (int k = se_harness_random(20); k >= 0 && model.at < ROWS && tick == 0; k--, model.at++)
		{
			int			i = batch->nrows++;
			int			key = keys[model.at];

			se_batch_values(batch, i)[0] = Int32GetDatum(key);
			se_batch_nulls(batch, i)[0] = key == 0;
			se_batch_values(batch, i)[1] = Int32GetDatum(model.at);
			se_batch_nulls(batch, i)[1] = false;
			batch->wm[i] = wm[model.at];
			batch->wm_end = wm[model.at + 1];

			reach(&model, &emit, wm[model.at]);
			model.now.count[key]++;
			model.now.sum[key] += model.at;
			if (emit.every > 0 && model.now.count[key] % emit.every == 0)
			{
				model.shown.count[key] = model.now.count[key];
				model.shown.sum[key] = model.now.sum[key];
			}
			tick = ticks[model.at];
		}
		se_op_push(op, 0, batch);
		reach(&model, &emit, batch->wm_end);
		if (tick == 0)
			continue;
		se_op_timer(op, tick);
		if (emit.early_clock && se_window_align(tick, emit.early, 0) > model.tick)
		{
			model.tick = se_window_align(tick, emit.early, 0);
			show(&model);
		}
	}
	commit(op, log, sink, false);
	SE_CHECK(memcmp(&sink->table, &model.shown, sizeof(Table)) == 0);

	/* The end of the input shows everything, and what comes after it too. */
	se_op_watermark(op, 0, SE_TIME_MAX);
	commit(op, log, sink, false);
	SE_CHECK(memcmp(&sink->table, &model.now, sizeof(Table)) == 0);
	se_batch_reset(batch);
	batch->nrows = 1;
	se_batch_values(batch, 0)[0] = Int32GetDatum(1);
	se_batch_nulls(batch, 0)[0] = false;
	se_batch_values(batch, 0)[1] = Int32GetDatum(0);
	se_batch_nulls(batch, 0)[1] = false;
	batch->wm[0] = batch->wm_end = SE_TIME_MAX;
	se_op_push(op, 0, batch);
	commit(op, log, sink, false);
	SE_CHECK_INT(sink->table.count[1], model.now.count[1] + 1);
}

static void
runs(int times, bool crashes, bool reclaim)
{
	MemoryContext old = CurrentMemoryContext;

	for (int i = 0; i < times; i++)
	{
		MemoryContext context = se_stub_context_new(old, "run");
		SeEmit		emit = {0};

		MemoryContextSwitchTo(context);
		if (se_harness_random(3) != 0)
			emit.early = 1 + se_harness_random(20);
		emit.early_clock = emit.early > 0 && se_harness_random(2) == 0;
		if (emit.early == 0 || se_harness_random(2) == 0)
			emit.every = 1 + se_harness_random(5);
		run(emit, crashes, reclaim);
		MemoryContextSwitchTo(old);
		MemoryContextDelete(context);
	}
}

SE_TEST(each_commit_shows_what_the_definition_says_whatever_the_batches)
{
	runs(300, false, false);
}

SE_TEST(restores_with_reclaimed_records_show_the_same)
{
	runs(400, true, true);
}
