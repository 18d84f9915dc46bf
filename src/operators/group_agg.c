/*
 * operators/group_agg.c
 *		GROUP BY without a window: one row per group, kept up to date.
 *
 * Rows only change the groups' accumulators. The commit asks (prepare) for what
 * changed since the last one: one row per changed group, +I the first time, +U later,
 * so a group's row changes once per commit however many rows came. Whether a group's
 * row is in the result is part of its state.
 *
 * Without keys there is one group from the start on, and its row was put into the
 * result when the view was created.
 *
 * Memory: everything in one home (agg_set.h). Groups are never forgotten.
 */
#include "postgres.h"

#include "base/fault.h"
#include "base/settings.h"
#include "operators/agg_set.h"
#include "operators/group_adopt.h"
#include "operators/keyed_rows.h"
#include "operators/meta_record.h"
#include "operators/operators.h"
#include "state/key_group.h"
#include "utils/memutils.h"

typedef struct SeGroupAgg
{
	SeOperator	op;

	/* settings: never change */
	const SeGroupAggNode *node;
	SeAggSet   *set;
	SeKeys	   *keys;

	/* state */
	SeAggHome  *home;
	bool		adopted;		/* since the last snapshot: dirty is not all that is to be emitted */
	uint32		snapshots;		/* number of the last one */

	/* memory: per batch */
	MemoryContext scratch;
	SeBatch    *out;
	SeKeyedRows keyed;
} SeGroupAgg;

/* Every record begins so; its kind and contents follow (agg_set.h). */
static const uint8 record_prefix[1] = {SE_STATE_VERSION};

static void group_agg_push(SeOperator *op, int input, SeBatch *batch);
static void group_agg_prepare(SeOperator *op);
static void group_agg_snapshot(SeOperator *op, SeSnapshotWriter *writer);
static Size group_agg_rewrite(SeOperator *op, const void *record, Size len);
static void group_agg_restore(SeOperator *op, const void *record, Size len);
static void group_agg_restored(SeOperator *op);
static void group_agg_adopt(SeOperator *op, SeOperator *from);
static void emit_group(SeGroupAgg *agg, SeEntry *entry);
static void flush(SeGroupAgg *agg);
static void publish(SeGroupAgg *agg);

static const SeOperatorOps group_agg_ops = {
	.name = "group aggregate",
	.push = group_agg_push,
	.prepare = group_agg_prepare,
	.snapshot = group_agg_snapshot,
	.rewrite = group_agg_rewrite,
	.restore = group_agg_restore,
	.restored = group_agg_restored,
	.adopt = group_agg_adopt,
};

SeOperator *
se_group_agg_new(const SeGroupAggNode *node, SeOperatorEnv *env)
{
	SeGroupAgg *agg = palloc0(sizeof(SeGroupAgg));
	TupleDesc	input = ((SeNode *) linitial(node->node.inputs))->desc;

	se_op_init(&agg->op, &group_agg_ops, node->node.id, 1, env, node->node.desc);
	agg->node = node;
	agg->set = se_agg_set_new(node->calls, input, env);
	agg->keys = se_keys_new(input, node->keys, node->key_eq);
	se_keyed_rows_init(&agg->keyed, agg->keys);
	agg->home = se_agg_home_new(agg->set, agg->keys, agg->set->payload_size);
	agg->scratch = AllocSetContextCreate(CurrentMemoryContext, "stream_engine group aggregate",
										 ALLOCSET_DEFAULT_SIZES);
	agg->out = se_batch_new(CurrentMemoryContext, node->node.desc, Max(se_batch_rows, 1));
	return &agg->op;
}

static void
group_agg_push(SeOperator *op, int input, SeBatch *batch)
{
	SeGroupAgg *agg = (SeGroupAgg *) op;
	MemoryContext old;
	int			n = batch->nrows;

	if (!batch->append_only)
		elog(ERROR, "group aggregate got rows that change others");
	Assert(!agg->adopted);
	if (n > 0)
	{
		se_env_state_touched(op->env);
		se_keyed_rows_need(&agg->keyed, n);
		op->env->current_batch = batch;
		op->env->current_row = -1;
		old = MemoryContextSwitchTo(agg->scratch);
		se_keyed_rows_prepare_from(&agg->keyed, batch, 0, n);
		se_keyed_rows_get(&agg->keyed, agg->home->table, n);
		se_table_touch_rows(agg->home->table, agg->keyed.entries, n);
		se_agg_set_apply(agg->set, agg->home, batch, agg->keyed.rows, agg->keyed.accs, n);
		MemoryContextSwitchTo(old);
		MemoryContextReset(agg->scratch);
		op->env->current_batch = NULL;
		publish(agg);
	}
	if (batch->wm_end > op->watermark_in)
		se_op_forward_watermark(op, 0, batch->wm_end);
}

/* The net change of every group that changed since the last commit. */
static void
group_agg_prepare(SeOperator *op)
{
	SeGroupAgg *agg = (SeGroupAgg *) op;
	SeTable    *table = agg->home->table;

	for (uint32 i = 0; i < table->ndirty; i++)
	{
		SeEntry    *entry = se_table_entry(table, table->dirty[i]);

		if (!agg->adopted || (entry->flags & SE_ENTRY_STALE) || !(entry->flags & SE_ENTRY_EMITTED))
			emit_group(agg, entry);
	}
	flush(agg);
	se_agg_home_prepare(agg->set, agg->home);
	MemoryContextReset(agg->scratch);
}

static void
emit_group(SeGroupAgg *agg, SeEntry *entry)
{
	SeBatch    *out = agg->out;
	int			nkeys = agg->keys->n;
	int			row = out->nrows;
	Datum	   *values = se_batch_values(out, row);
	bool	   *nulls = se_batch_nulls(out, row);
	MemoryContext old = MemoryContextSwitchTo(out->arena);

	memcpy(values, se_entry_keys(agg->home->table, entry), nkeys * sizeof(Datum));
	memcpy(nulls, entry->nulls, nkeys * sizeof(bool));
	se_agg_set_final(agg->set, agg->home, se_entry_payload(agg->home->table, entry),
					 values + nkeys, nulls + nkeys);
	MemoryContextSwitchTo(old);

	se_batch_stamp(out, row, (entry->flags & SE_ENTRY_EMITTED) ? SE_ROW_UPDATE_AFTER : SE_ROW_INSERT,
				   SE_TIME_MIN, agg->op.watermark_out);
	entry->flags = (entry->flags | SE_ENTRY_EMITTED) & ~SE_ENTRY_STALE;
	out->nrows++;
	if (out->nrows == out->capacity)
		flush(agg);
}

static void
flush(SeGroupAgg *agg)
{
	if (agg->out->nrows == 0)
		return;
	agg->out->append_only = false;
	agg->out->wm_end = agg->op.watermark_out;
	se_op_emit(&agg->op, agg->out);
	se_batch_reset(agg->out);
}

static void
group_agg_snapshot(SeOperator *op, SeSnapshotWriter *writer)
{
	SeGroupAgg *agg = (SeGroupAgg *) op;

	if (agg->home->table->ndirty == 0 && agg->home->again == NIL)
		return;
	agg->snapshots++;
	agg->adopted = false;
	se_agg_home_snapshot(agg->set, agg->home, op, writer, agg->snapshots,
						 record_prefix, sizeof(record_prefix));
}

static Size
group_agg_rewrite(SeOperator *op, const void *record, Size len)
{
	SeGroupAgg *agg = (SeGroupAgg *) op;

	if (len > 1 && ((const uint8 *) record)[1] == SE_SORT_META)
		return 0;
	return se_agg_home_rewrite(agg->set, agg->home, record, len, sizeof(record_prefix));
}

static void
group_agg_restore(SeOperator *op, const void *record, Size len)
{
	SeGroupAgg *agg = (SeGroupAgg *) op;
	SeRecordReader reader = se_record_reader(record, len);
	MemoryContext old = MemoryContextSwitchTo(agg->scratch);
	uint8		kind;

	kind = se_meta_record_sort(&reader);
	if (kind != SE_SORT_META)	/* from when rows were held back (group_held.c) */
		se_agg_home_restore(agg->set, agg->home, kind, &reader, &agg->snapshots);
	MemoryContextSwitchTo(old);
	MemoryContextReset(agg->scratch);
}

/*
 * The one group of an aggregate without keys is there before any row. What was held back
 * before comes with the next commit.
 */
static void
group_agg_restored(SeOperator *op)
{
	SeGroupAgg *agg = (SeGroupAgg *) op;

	if (agg->keys->n == 0)
	{
		uint32		hash = se_keys_hash(agg->keys, NULL, NULL);

		if (se_key_group_is_own(op->env, hash))
			se_table_get(agg->home->table, hash, NULL, NULL)->flags |= SE_ENTRY_EMITTED;
	}
	for (uint32 i = 0; i < agg->home->table->nentries; i++)
	{
		SeEntry    *entry = se_table_entry(agg->home->table, i);

		if ((entry->flags & SE_ENTRY_USED) && (entry->flags & SE_ENTRY_STALE))
		{
			/* Other options held it back: no row may come any more. */
			se_table_touch_rows(agg->home->table, &entry, 1);
			op->env->commit_wanted = true;
		}
		entry->flags &= ~SE_ENTRY_STALE;
	}
	publish(agg);
}

/* Groups that expired until now. */
static void
group_agg_adopt(SeOperator *op, SeOperator *from)
{
	SeGroupAgg *agg = (SeGroupAgg *) op;

	se_group_adopt_living(agg->set, agg->home, ((SeNode *) linitial(agg->node->node.inputs))->desc, from);
	agg->adopted = true;
	publish(agg);
}

bool
se_group_agg_groups(SeOperator *op, SeAggSet **set, SeAggHome **home)
{
	if (op->ops->adopt != group_agg_adopt)
		return false;
	*set = ((SeGroupAgg *) op)->set;
	*home = ((SeGroupAgg *) op)->home;
	return true;
}

static void
publish(SeGroupAgg *agg)
{
	agg->op.state_bytes = se_arena_bytes(agg->home->arena) + agg->home->live_bytes;
	agg->op.state_entries = agg->home->table->nused;
}
