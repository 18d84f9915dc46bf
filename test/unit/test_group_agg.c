/*
 * test/unit/test_group_agg.c
 *		Un-windowed groups: one legal step per changed group and commit, over crashes and reclaim.
 */
#include "harness.h"

#include "base/settings.h"
#include "catalog/pg_type_d.h"
#include "flow/kind_check.h"
#include "operators/operators.h"
#include "state/key.h"
#include "state/key_group.h"
#include "utils/fmgroids.h"

#define KEYS 40

/* The result table, and what its rows' kinds say. */
typedef struct Sink
{
	SeOperator	op;
	SeKindCheck *check;
	int64		counts[KEYS + 1];	/* last: the NULL key */
	int64		sums[KEYS + 1];
	int			emitted;		/* since the last commit */
	bool		seen[KEYS + 1];
} Sink;

static void
sink_push(SeOperator *op, int input, SeBatch *batch)
{
	Sink	   *sink = (Sink *) op;

	SE_CHECK(!batch->append_only);
	for (int i = 0; i < batch->nrows; i++)
	{
		bool global = batch->ncolumns == 2;
		Datum	   *values = se_batch_values(batch, i);
		bool	   *nulls = se_batch_nulls(batch, i);
		int			key = global ? 0 : nulls[0] ? KEYS : DatumGetInt32(values[0]);
		const char *wrong = se_kind_check_step(sink->check, &key, sizeof(key), batch->kinds[i]);

		SE_CHECK_STR(wrong == NULL ? "" : wrong, "");
		SE_CHECK(!sink->seen[key]); /* once per commit */
		sink->seen[key] = true;
		sink->counts[key] = DatumGetInt64(values[global ? 0 : 1]);
		sink->sums[key] = nulls[global ? 1 : 2] ? -1 : DatumGetInt64(values[global ? 1 : 2]);
		sink->emitted++;
	}
}

static void
sink_watermark(SeOperator *op, int input, SeTime h)
{
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
new_node(bool keys)
{
	SeGroupAggNode *node = palloc0(sizeof(SeGroupAggNode));
	SeNode	   *input = palloc0(sizeof(SeNode));
	TupleDesc	out = CreateTemplateTupleDesc(keys ? 3 : 2);

	input->desc = CreateTemplateTupleDesc(2);
	TupleDescInitEntry(input->desc, 1, "k", INT4OID, -1, 0);
	TupleDescInitEntry(input->desc, 2, "v", INT4OID, -1, 0);
	if (keys)
		TupleDescInitEntry(out, 1, "k", INT4OID, -1, 0);
	TupleDescInitEntry(out, keys ? 2 : 1, "count", INT8OID, -1, 0);
	TupleDescInitEntry(out, keys ? 3 : 2, "sum", INT8OID, -1, 0);
	node->node.kind = SE_NODE_GROUP_AGG;
	node->node.id = 1;
	node->node.inputs = list_make1(input);
	node->node.desc = out;
	node->keys = keys ? list_make1_int(0) : NIL;
	node->key_eq = keys ? list_make1_oid(96) : NIL;
	node->calls = list_make2(call(F_COUNT_, NIL), call(F_SUM_INT4, list_make1_int(1)));
	return node;
}

static SeOperator *
start(const SeGroupAggNode *node, SeOperatorEnv *env, Sink *sink, const Log *log)
{
	SeOperator *op = se_group_agg_new(node, env);

	op->next = &sink->op;
	for (int i = 0; i < log->n; i++)
		op->ops->restore(op, log->records[i].data, log->records[i].len);
	op->ops->restored(op);
	return op;
}

static void
commit(SeOperator *op, Log *log, Sink *sink)
{
	int			gone = se_harness_random(3) == 0 ? se_harness_random(log->n + 1) : 0;

	memset(sink->seen, 0, sizeof(sink->seen));
	sink->emitted = 0;
	op->ops->prepare(op);
	for (int i = 0; i < gone; i++)
		op->ops->rewrite(op, log->records[i].data, log->records[i].len);
	memmove(log->records, log->records + gone, (log->n - gone) * sizeof(StringInfoData));
	log->n -= gone;
	op->ops->snapshot(op, &log->writer);
	op->ops->checkpoint_done(op);
}

static void
run(bool keys)
{
	SeGroupAggNode *node = new_node(keys);
	SeOperatorEnv *env = palloc0(sizeof(SeOperatorEnv));
	Sink	   *sink = palloc0(sizeof(Sink));
	Log		   *log = palloc0(sizeof(Log));
	SeBatch    *batch = se_batch_new(CurrentMemoryContext, ((SeNode *) linitial(node->node.inputs))->desc, 64);
	int64		counts[KEYS + 1] = {0};
	int64		sums[KEYS + 1] = {0};
	bool		committed = true;
	SeOperator *op;

	env->memory = CurrentMemoryContext;
	env->state_limit = UINT64CONST(1) << 30;
	log->writer.append = log_append;
	se_op_init(&sink->op, &sink_ops, 2, 1, env, NULL);
	sink->check = se_kind_check_new(CurrentMemoryContext, true);
	if (!keys)
	{
		int			key = 0;

		/* CREATE put the row there. */
		se_kind_check_present(sink->check, &key, sizeof(key));
		sink->sums[0] = -1;
	}
	op = start(node, env, sink, log);
	for (int round = 0; round < 300; round++)
	{
		/* What is lost with a crash is read again: nothing, if all was committed. */
		if (committed && se_harness_random(5) == 0)
		{
			env->state_bytes = 0;
			op = start(node, env, sink, log);
		}
		se_batch_reset(batch);
		for (int k = se_harness_random(64); k > 0; k--)
		{
			Datum	   *values = se_batch_values(batch, batch->nrows);
			bool	   *nulls = se_batch_nulls(batch, batch->nrows);
			int			key = se_harness_random(KEYS + 1);
			int			value = se_harness_random(100);

			values[0] = Int32GetDatum(key);
			nulls[0] = key == KEYS;
			values[1] = Int32GetDatum(value);
			nulls[1] = value == 0;
			batch->wm[batch->nrows] = batch->wm_end;
			batch->event_time[batch->nrows] = 0;
			batch->nrows++;
			counts[keys ? key : 0]++;
			sums[keys ? key : 0] += value;
		}
		se_op_push(op, 0, batch);
		committed = se_harness_random(2) == 0;
		if (!committed)
			continue;
		commit(op, log, sink);
		for (int key = 0; key < (keys ? KEYS + 1 : 1); key++)
		{
			SE_CHECK_INT(sink->counts[key], counts[key]);
			SE_CHECK_INT(Max(sink->sums[key], 0), sums[key]);
		}
		/* A commit without changes emits nothing. */
		commit(op, log, sink);
		SE_CHECK_INT(sink->emitted, 0);
	}
	SE_CHECK(se_kind_check_rest(sink->check) == NULL);
}

SE_TEST(every_changed_group_makes_one_legal_step_per_commit)
{
	se_batch_rows = 7;
	run(true);
}

SE_TEST(an_aggregate_without_keys_only_updates_its_row)
{
	se_batch_rows = 1;
	run(false);
}

/* Rows of all keys, `times` times; only those a unit owns reach it. */
static void
push_keys(SeOperator *op, const SeGroupAggNode *node, int times)
{
	TupleDesc	input = ((SeNode *) linitial(node->node.inputs))->desc;
	SeKeys	   *keys = se_keys_new(input, node->keys, node->key_eq);
	SeBatch    *batch = se_batch_new(CurrentMemoryContext, input, 1);

	for (int i = 0; i < times * (KEYS + 1); i++)
	{
		int			row = 0;
		Datum		value;
		bool		null;
		uint32		hash;

		se_batch_reset(batch);
		se_batch_values(batch, 0)[0] = Int32GetDatum(i % (KEYS + 1));
		se_batch_nulls(batch, 0)[0] = i % (KEYS + 1) == KEYS;
		se_batch_values(batch, 0)[1] = Int32GetDatum(3);
		se_batch_nulls(batch, 0)[1] = false;
		batch->wm[0] = batch->wm_end;
		batch->event_time[0] = 0;
		batch->nrows = 1;
		se_keys_prepare(keys, batch, &row, 1, &value, &null, &hash);
		if (se_key_group_is_own(op->env, hash))
			se_op_push(op, 0, batch);
	}
}

SE_TEST(state_of_one_unit_restored_as_two_by_key_group_gives_the_same_rows)
{
	SeGroupAggNode *node = new_node(true);
	SeOperatorEnv *env = palloc0(sizeof(SeOperatorEnv));
	Sink	   *sink = palloc0(sizeof(Sink));
	Log		   *log = palloc0(sizeof(Log));
	int64		entries = 0;
	SeOperator *op;

	se_batch_rows = 5;
	env->memory = CurrentMemoryContext;
	env->state_limit = UINT64CONST(1) << 30;
	log->writer.append = log_append;
	se_op_init(&sink->op, &sink_ops, 2, 1, env, NULL);
	sink->check = se_kind_check_new(CurrentMemoryContext, true);
	op = start(node, env, sink, log);
	push_keys(op, node, 4);
	commit(op, log, sink);

	/* One result for both: the kinds must go on as they would have in one unit. */
	memset(sink->seen, 0, sizeof(sink->seen));
	for (int unit = 0; unit < 2; unit++)
	{
		SeOperatorEnv *own = palloc0(sizeof(SeOperatorEnv));
		Log		   *mine = palloc0(sizeof(Log));

		*own = *env;
		own->state_bytes = 0;
		own->unit = unit;
		own->units = 2;
		mine->writer.append = log_append;
		op = start(node, own, sink, log);
		op->ops->prepare(op);
		for (int i = 0; i < log->n; i++)
			op->ops->rewrite(op, log->records[i].data, log->records[i].len);
		op->ops->snapshot(op, &mine->writer);

		own->state_bytes = 0;
		op = start(node, own, sink, mine);
		SE_CHECK(op->state_entries > 0 && op->state_entries < KEYS + 1);
		entries += op->state_entries;
		push_keys(op, node, 5);
		memset(sink->seen, 0, sizeof(sink->seen));
		sink->emitted = 0;
		op->ops->prepare(op);
		SE_CHECK_INT(sink->emitted, op->state_entries);
	}
	SE_CHECK_INT(entries, KEYS + 1);
	for (int key = 0; key <= KEYS; key++)
	{
		SE_CHECK_INT(sink->counts[key], 9);
		SE_CHECK_INT(sink->sums[key], 27);
	}
	SE_CHECK(se_kind_check_rest(sink->check) == NULL);
}
