/*
 * operators/group_held.c
 *		GROUP BY without a window whose rows are held back: emitted now and then, not with each commit.
 *
 * What is emitted are the *stale* groups (stale.h): with `early` when the watermark passes
 * a multiple of the interval, or when the clock does, at a tick mark; with `every` a group
 * at its n-th, 2n-th … row. When the input has ended (a watermark of 'infinity') all are, and from
 * then on with each commit, as in group_agg.c. When follows from the log alone (I4); what
 * waits for the commit is the newest row of each group.
 *
 * Records: version (1), then a kind: those of operators/agg_set.h; or
 *
 *	M	the operator: 4 number of the snapshot, 8 watermark, 8 the clock's last interval that
 *		was emitted, counted from the epoch. The newest counts.
 *
 * Without M they are records of group_agg.c, and may become so again.
 *
 * Runs in: task worker.
 */
#include "postgres.h"

#include "base/fault.h"
#include "base/settings.h"
#include "operators/agg_set.h"
#include "operators/counted.h"
#include "operators/group_adopt.h"
#include "operators/keyed_rows.h"
#include "operators/meta_record.h"
#include "operators/operators.h"
#include "state/key_group.h"
#include "time/window.h"
#include "utils/memutils.h"

typedef struct SeGroupHeld
{
	SeOperator	op;

	/* settings: never change */
	const SeGroupAggNode *node;
	SeAggSet   *set;
	SeKeys	   *keys;

	/* state */
	SeAggHome  *home;
	SeTime		reached;		/* watermark */
	SeTime		early_tick;
	SeMetaRecord meta;

	/* derived */
	SeStale		stale;
	SeTime		boundary;		/* the watermark that emits */
	SeNetRows	net;

	/* memory: per batch, or per row */
	MemoryContext scratch;
	MemoryContext row_scratch;
	SeKeyedRows keyed;
	SeEntry   **due;			/* per row: groups whose count of rows says so */
	Datum	   *out_values;
	bool	   *out_nulls;
} SeGroupHeld;

static const uint8 record_prefix[1] = {SE_STATE_VERSION};

static void group_held_push(SeOperator *op, int input, SeBatch *batch);
static void group_held_watermark(SeOperator *op, int input, SeTime h);
static void group_held_timer(SeOperator *op, SeTime now);
static void group_held_prepare(SeOperator *op);
static void group_held_snapshot(SeOperator *op, SeSnapshotWriter *writer);
static Size group_held_rewrite(SeOperator *op, const void *record, Size len);
static void group_held_restore(SeOperator *op, const void *record, Size len);
static void group_held_restored(SeOperator *op);
static void group_held_adopt(SeOperator *op, SeOperator *from);
static void apply_rows(SeGroupHeld *agg, SeBatch *batch, int from, int to);
static void reach(SeGroupHeld *agg, SeTime h);
static SeTime next_boundary(const SeGroupHeld *agg);
static void emit_stale(SeGroupHeld *agg);
static void emit_group(void *arg, SeEntry *entry);
static void read_meta(SeGroupHeld *agg, SeRecordReader *reader);
static void publish(SeGroupHeld *agg);

static const SeOperatorOps group_held_ops = {
	.name = "group aggregate",
	.push = group_held_push,
	.watermark = group_held_watermark,
	.timer = group_held_timer,
	.prepare = group_held_prepare,
	.snapshot = group_held_snapshot,
	.rewrite = group_held_rewrite,
	.restore = group_held_restore,
	.restored = group_held_restored,
	.adopt = group_held_adopt,
};

SeOperator *
se_group_held_new(const SeGroupAggNode *node, SeOperatorEnv *env)
{
	SeGroupHeld *agg = palloc0(sizeof(SeGroupHeld));
	TupleDesc	input = ((SeNode *) linitial(node->node.inputs))->desc;

	se_op_init(&agg->op, &group_held_ops, node->node.id, 1, env, node->node.desc);
	agg->node = node;
	agg->set = se_agg_set_new(node->calls, input, env);
	agg->keys = se_keys_new(input, node->keys, node->key_eq);
	se_keyed_rows_init(&agg->keyed, agg->keys);
	agg->home = se_agg_home_new_updating(agg->set, agg->keys);
	agg->reached = SE_TIME_MIN;
	agg->boundary = next_boundary(agg);
	se_net_rows_init(&agg->net, &agg->op);
	agg->scratch = AllocSetContextCreate(CurrentMemoryContext, "stream_engine group aggregate",
										 ALLOCSET_DEFAULT_SIZES);
	agg->row_scratch = AllocSetContextCreate(CurrentMemoryContext, "stream_engine group",
											 ALLOCSET_DEFAULT_SIZES);
	agg->out_values = palloc(node->node.desc->natts * sizeof(Datum));
	agg->out_nulls = palloc(node->node.desc->natts * sizeof(bool));
	return &agg->op;
}

/* Rows, cut where the watermark stamped on one emits what those before it left. */
static void
group_held_push(SeOperator *op, int input, SeBatch *batch)
{
	SeGroupHeld *agg = (SeGroupHeld *) op;
	int			from = 0;

	if (!batch->append_only)
		elog(ERROR, "group aggregate got rows that change others");
	if (se_keyed_rows_need(&agg->keyed, batch->nrows))
		agg->due = MemoryContextAlloc(agg->keyed.memory, batch->nrows * sizeof(SeEntry *));
	while (from < batch->nrows)
	{
		int			to = from;

		while (to < batch->nrows && (batch->wm[to] < agg->boundary || batch->wm[to] <= agg->reached))
			to++;
		apply_rows(agg, batch, from, to);
		if (to < batch->nrows)
			reach(agg, batch->wm[to]);
		from = to;
	}
	publish(agg);
	if (batch->wm_end > op->watermark_in)
		group_held_watermark(op, input, batch->wm_end);
}

static void
apply_rows(SeGroupHeld *agg, SeBatch *batch, int from, int to)
{
	SeOperatorEnv *env = agg->op.env;
	SeCounted	counted = {agg->set, agg->home, &agg->stale, agg->node->emit.every, emit_group, agg};
	int			n = to - from;
	MemoryContext old;

	if (n == 0)
		return;
	se_env_state_touched(env);
	env->current_batch = batch;
	env->current_row = -1;
	old = MemoryContextSwitchTo(agg->scratch);
	se_keyed_rows_prepare_from(&agg->keyed, batch, from, n);
	se_keyed_rows_get(&agg->keyed, agg->home->table, n);
	se_table_touch_rows(agg->home->table, agg->keyed.entries, n);
	se_counted_apply(&counted, batch, agg->keyed.rows, agg->keyed.entries, agg->keyed.accs, n, agg->due);
	MemoryContextSwitchTo(old);
	MemoryContextReset(agg->scratch);
	env->current_batch = NULL;
}

static void
group_held_watermark(SeOperator *op, int input, SeTime h)
{
	reach((SeGroupHeld *) op, h);
	se_op_forward_watermark(op, input, h);
}

static void
reach(SeGroupHeld *agg, SeTime h)
{
	if (h >= agg->boundary)
		emit_stale(agg);
	if (h <= agg->reached)
		return;
	agg->reached = h;
	agg->meta.dirty = true;
	agg->boundary = next_boundary(agg);
}

/* The first watermark after the one reached that emits; that of the end does in any case. */
static SeTime
next_boundary(const SeGroupHeld *agg)
{
	const SeEmit *emit = &agg->node->emit;
	SeTime		aligned;

	if (emit->early == 0 || emit->early_clock)
		return SE_TIME_MAX;
	if (agg->reached == SE_TIME_MIN)
		return SE_TIME_MIN + 1;
	aligned = se_window_align(agg->reached, emit->early, 0);
	return aligned > SE_TIME_MAX - emit->early ? SE_TIME_MAX : aligned + emit->early;
}

/* Processing time goes on: once per interval of the clock. */
static void
group_held_timer(SeOperator *op, SeTime now)
{
	SeGroupHeld *agg = (SeGroupHeld *) op;
	const SeEmit *emit = &agg->node->emit;

	SeTime		at = emit->early_clock ? se_window_align(now, emit->early, 0) : SE_TIME_MIN;

	if (at > agg->early_tick)
	{
		agg->early_tick = at;
		agg->meta.dirty = true;
		emit_stale(agg);
	}
	se_op_forward_timer(op, now);
}

static void
emit_stale(SeGroupHeld *agg)
{
	SeEntry    *entry;

	while ((entry = se_stale_take(&agg->stale, agg->home->table)) != NULL)
		emit_group(agg, entry);
}

static void
emit_group(void *arg, SeEntry *entry)
{
	SeGroupHeld *agg = arg;
	SeTable    *table = agg->home->table;
	char	   *payload = se_entry_payload(table, entry);
	int			nkeys = agg->keys->n;
	MemoryContext old = MemoryContextSwitchTo(agg->row_scratch);

	se_env_state_touched(agg->op.env);
	memcpy(agg->out_values, se_entry_keys(table, entry), nkeys * sizeof(Datum));
	memcpy(agg->out_nulls, entry->nulls, nkeys * sizeof(bool));
	se_agg_set_final(agg->set, agg->home, payload, agg->out_values + nkeys, agg->out_nulls + nkeys);
	se_net_rows_put(&agg->net, &se_agg_emit_header(agg->set, payload)->net,
					(entry->flags & SE_ENTRY_EMITTED) ? SE_ROW_UPDATE_AFTER : SE_ROW_INSERT,
					SE_TIME_MIN, agg->out_values, agg->out_nulls);
	MemoryContextSwitchTo(old);
	MemoryContextReset(agg->row_scratch);

	entry->flags = (entry->flags | SE_ENTRY_EMITTED) & ~SE_ENTRY_STALE;
	se_table_touch_rows(table, &entry, 1);
}

static void
group_held_prepare(SeOperator *op)
{
	SeGroupHeld *agg = (SeGroupHeld *) op;

	if (agg->reached == SE_TIME_MAX)
		emit_stale(agg);
	se_net_rows_flush(&agg->net);
	se_agg_home_prepare(agg->set, agg->home);
	MemoryContextReset(agg->scratch);
}

static void
group_held_snapshot(SeOperator *op, SeSnapshotWriter *writer)
{
	SeGroupHeld *agg = (SeGroupHeld *) op;
	StringInfoData out;

	if (agg->home->table->ndirty == 0 && agg->home->again == NIL && !agg->meta.dirty)
		return;
	agg->meta.snapshots++;
	se_agg_home_snapshot(agg->set, agg->home, op, writer, agg->meta.snapshots,
						 record_prefix, sizeof(record_prefix));
	if (!agg->meta.dirty)
		return;
	se_meta_record_begin(&agg->meta, &out);
	se_record_put_i64(&out, agg->reached);
	se_record_put_i64(&out, agg->early_tick);
	se_meta_record_append(&agg->meta, &out, op, writer);
}

static Size
group_held_rewrite(SeOperator *op, const void *record, Size len)
{
	SeGroupHeld *agg = (SeGroupHeld *) op;
	SeRecordReader reader = se_record_reader(record, len);

	if (se_meta_record_sort(&reader) == SE_SORT_META)
		return se_meta_record_rewrite(&agg->meta, &reader, len);
	return se_agg_home_rewrite(agg->set, agg->home, record, len, sizeof(record_prefix));
}

static void
group_held_restore(SeOperator *op, const void *record, Size len)
{
	SeGroupHeld *agg = (SeGroupHeld *) op;
	SeRecordReader reader = se_record_reader(record, len);
	MemoryContext old = MemoryContextSwitchTo(agg->scratch);
	uint8		kind;

	kind = se_meta_record_sort(&reader);
	if (kind == SE_SORT_META)
		read_meta(agg, &reader);
	else
		se_agg_home_restore(agg->set, agg->home, kind, &reader, &agg->meta.snapshots);
	MemoryContextSwitchTo(old);
	MemoryContextReset(agg->scratch);
}

static void
read_meta(SeGroupHeld *agg, SeRecordReader *reader)
{
	se_meta_record_read(&agg->meta, reader);
	agg->reached = se_record_i64(reader);
	agg->early_tick = se_record_i64(reader);
	if (reader->next != reader->end)
		se_record_corrupted();
}

/* The one group of an aggregate without keys is there before any row, and its row is in the result. */
static void
group_held_restored(SeOperator *op)
{
	SeGroupHeld *agg = (SeGroupHeld *) op;

	if (agg->keys->n == 0)
	{
		uint32		hash = se_keys_hash(agg->keys, NULL, NULL);

		if (se_key_group_is_own(op->env, hash))
			se_table_get(agg->home->table, hash, NULL, NULL)->flags |= SE_ENTRY_EMITTED;
	}
	se_stale_restore(&agg->stale, agg->home->table, agg->home->memory);
	agg->boundary = next_boundary(agg);
	publish(agg);
}

/* Groups that expired until now. */
static void
group_held_adopt(SeOperator *op, SeOperator *from)
{
	SeGroupHeld *agg = (SeGroupHeld *) op;

	se_group_adopt_living(agg->set, agg->home, ((SeNode *) linitial(agg->node->node.inputs))->desc, from);
	agg->reached = from->watermark_in;
	if (agg->node->emit.early_clock && from->time_in != SE_TIME_MIN)
		agg->early_tick = se_window_align(from->time_in, agg->node->emit.early, 0);
	agg->meta.dirty = true;
	se_stale_restore(&agg->stale, agg->home->table, agg->home->memory);
	agg->boundary = next_boundary(agg);
	publish(agg);
}

bool
se_group_held_groups(SeOperator *op, SeAggSet **set, SeAggHome **home)
{
	if (op->ops->adopt != group_held_adopt)
		return false;
	*set = ((SeGroupHeld *) op)->set;
	*home = ((SeGroupHeld *) op)->home;
	return true;
}

static void
publish(SeGroupHeld *agg)
{
	agg->op.state_bytes = se_arena_bytes(agg->home->arena) + agg->home->live_bytes;
	agg->op.state_entries = agg->home->table->nused;
}
