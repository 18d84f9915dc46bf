/*
 * operators/window_agg.c
 *		Aggregates per window, emitted once when the watermark passes the window's end.
 *
 * A row goes into the one slice that holds its time, whatever the overlap of windows;
 * a batch is cut into runs between which windows fire, and in a run all rows of a
 * slice are handled together (keys, lookups, then one loop per aggregate call).
 *
 * Late (design 7): a row is late for a window iff window_end <= wm[i], its stamp. Both
 * counters count here. A row late for some of its windows still counts in the others.
 *
 * Runs in: task worker, in a round.
 */
#include "postgres.h"

#include "base/fault.h"
#include "base/settings.h"
#include "operators/operators.h"
#include "operators/window_agg_internal.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

static void window_agg_timer(SeOperator *op, SeTime now);
static bool is_firing(SeOperator *op);
static bool finish_firing(SeOperator *op);
static int	take_rows(SeOperator *op, SeBatch *batch, int from);
static int	sort_into_slices(SeWindowAgg *agg, SeBatch *batch, int from, int *ntouched);
static SeSlice *slice_of_row(SeWindowAgg *agg, SeBatch *batch, int row);
static SeSlice *slice_of_time(SeWindowAgg *agg, SeTime ts);
static SeSlice *slice_of_window(SeWindowAgg *agg, const SeBatch *batch, int row, SeTime start, SeTime end);
static SeSlice *open_slice(SeWindowAgg *agg, SeTime wm, SeTime start, SeTime end, SeTime last_end);
static bool is_late(SeWindowAgg *agg, const SeBatch *batch, int row, SeTime ts);
static void apply_slice(SeWindowAgg *agg, SeBatch *batch, SeSlice *slice);
static void need_rows(SeWindowAgg *agg, int n);

/* Does a window fire before a row with this stamp? */
static inline bool
fires_before(const SeWindowAgg *agg, SeTime wm)
{
	return wm >= agg->deadline && agg->nslices > 0;
}

static const SeOperatorOps window_agg_ops = {
	.name = "window aggregate",
	SE_STASH_CALLBACKS,
	.timer = window_agg_timer,
	.prepare = se_window_state_prepare,
	.snapshot = se_window_state_snapshot,
	.rewrite = se_window_state_rewrite,
	.restore = se_window_state_restore,
	.restored = se_window_state_restored,
	.adopt = se_window_agg_adopt,
};

static const SeStashOps stash_ops = {
	.is_firing = is_firing,
	.finish_firing = finish_firing,
	.take_rows = take_rows,
	.advance = se_window_agg_advance,
};

SeOperator *
se_window_agg_new(const SeWindowAggNode *node, SeOperatorEnv *env)
{
	SeWindowAgg *agg = palloc0(sizeof(SeWindowAgg));
	TupleDesc	input = ((SeNode *) linitial(node->node.inputs))->desc;

	se_op_init(&agg->op, &window_agg_ops, node->node.id, 1, env, node->node.desc);
	agg->node = node;
	agg->set = se_agg_set_new(node->calls, input, env);
	agg->keys = se_keys_new(input, node->keys, node->key_eq);
	se_keyed_rows_init(&agg->keyed, agg->keys);
	agg->updating = se_emit_is_updating(&node->emit);
	agg->single = !node->sliced || node->window.kind == SE_WINDOW_TUMBLE ||
		(node->window.kind == SE_WINDOW_HOP && node->window.slide >= node->window.size) ||
		node->window.slide == node->window.size;
	agg->closed_to = agg->dropped_to = SE_TIME_MIN;
	agg->deadline = SE_TIME_MAX;
	agg->max_slices = 16;
	agg->slices = palloc(agg->max_slices * sizeof(SeSlice *));
	se_stash_init(&agg->stash, &agg->op, &stash_ops, input, agg->keys, &agg->meta);
	agg->scratch = AllocSetContextCreate(CurrentMemoryContext, "stream_engine window aggregate",
										 ALLOCSET_DEFAULT_SIZES);
	agg->out = se_batch_new(CurrentMemoryContext, node->node.desc, Max(se_batch_rows, 1));
	se_window_merge_reset(agg);
	if (agg->updating)
		se_window_update_init(agg);
	return &agg->op;
}

static void
window_agg_timer(SeOperator *op, SeTime now)
{
	if (((SeWindowAgg *) op)->updating)
		se_window_update_timer(op, now);
	se_op_forward_timer(op, now);
}

static bool
is_firing(SeOperator *op)
{
	return ((SeWindowAgg *) op)->firing;
}

static bool
finish_firing(SeOperator *op)
{
	return !op->env->output_full && se_window_agg_finish_firing((SeWindowAgg *) op);
}

static int
take_rows(SeOperator *op, SeBatch *batch, int from)
{
	SeWindowAgg *agg = (SeWindowAgg *) op;
	int			row = from;

	if (batch->nrows > from)
		se_env_state_touched(agg->op.env);
	need_rows(agg, batch->nrows);
	while (row < batch->nrows)
	{
		MemoryContext old;
		int			ntouched;

		if (fires_before(agg, batch->wm[row]) && !se_window_agg_advance(op, batch->wm[row]))
			return row;
		agg->op.env->current_batch = batch;
		row = sort_into_slices(agg, batch, row, &ntouched);
		agg->op.env->current_row = -1;
		old = MemoryContextSwitchTo(agg->scratch);
		for (int i = 0; i < ntouched; i++)
			apply_slice(agg, batch, agg->touched[i]);
		MemoryContextSwitchTo(old);
		MemoryContextReset(agg->scratch);
		agg->op.env->current_batch = NULL;
	}
	return row;
}

/*
 * Chain the rows from `from` on to their slices, up to the first before which a window
 * fires; returns that row. The slices are in touched.
 */
static int
sort_into_slices(SeWindowAgg *agg, SeBatch *batch, int from, int *ntouched)
{
	int			row;

	*ntouched = 0;
	for (row = from; row < batch->nrows; row++)
	{
		SeSlice    *slice;

		if (fires_before(agg, batch->wm[row]))
			break;
		agg->op.env->current_row = row;
		slice = slice_of_row(agg, batch, row);
		if (slice == NULL)
			continue;
		if (slice->first_row < 0)
		{
			agg->touched[(*ntouched)++] = slice;
			slice->first_row = row;
		}
		else
			agg->next_row[slice->last_row] = row;
		slice->last_row = row;
		agg->next_row[row] = -1;
		if (agg->boundaries && slice->awake == 0)
			se_window_update_wake(agg, slice, batch->wm[row]);
	}
	return row;
}

/* The slice a row belongs to; NULL if it is in no window or late for all of them. */
static SeSlice *
slice_of_row(SeWindowAgg *agg, SeBatch *batch, int row)
{
	const SeWindowAggNode *node = agg->node;
	const Datum *values = se_batch_values(batch, row);
	const bool *nulls = se_batch_nulls(batch, row);
	SeSlice    *slice;
	SeTime		ts;

	if (!node->sliced)
	{
		if (nulls[node->start_column] || nulls[node->end_column])
			return NULL;
		return slice_of_window(agg, batch, row, DatumGetTimestamp(values[node->start_column]),
							   DatumGetTimestamp(values[node->end_column]));
	}

	/* As in a plain SELECT: no time, no window. */
	if (nulls[node->time_column])
		return NULL;
	ts = DatumGetTimestamp(values[node->time_column]);
	if (TIMESTAMP_NOT_FINITE(ts))
		return NULL;
	slice = slice_of_time(agg, ts);
	if (slice == NULL || (batch->wm[row] >= slice->first_end &&
						  se_window_agg_horizon(agg, batch->wm[row]) >= slice->first_end))
	{
		SeTime		start;
		SeTime		end;

		if (slice == NULL && !se_window_slice(&node->window, ts, &start, &end))
			return NULL;
		if (is_late(agg, batch, row, ts))
			return NULL;
		if (slice == NULL)
			slice = open_slice(agg, batch->wm[row], start, end,
							   se_window_last_end(&node->window, start));
	}
	return slice;
}

/* An open slice that holds a time; most often the one of the row before. */
static SeSlice *
slice_of_time(SeWindowAgg *agg, SeTime ts)
{
	int			i = agg->last_slice;

	if (i >= agg->nslices || ts < agg->slices[i]->start || ts >= agg->slices[i]->end)
	{
		i = se_window_agg_position(agg, ts == PG_INT64_MAX ? ts : ts + 1);
		if (i >= agg->nslices || ts < agg->slices[i]->start)
			return NULL;
		agg->last_slice = i;
	}
	return agg->slices[i];
}

/* A row that carries its window: one (row, window) pair. */
static SeSlice *
slice_of_window(SeWindowAgg *agg, const SeBatch *batch, int row, SeTime start, SeTime end)
{
	const SeWindow *window = &agg->node->window;
	SeSlice    *slice;
	SeTime		ts = batch->event_time[row];

	if (end <= se_window_agg_horizon(agg, batch->wm[row]) && !SE_FAULT_WRONG("wrong-late-check-off"))
	{
		agg->op.env->late_pairs++;
		if (end == se_window_last_end(window, ts))
			se_env_late_row(agg->op.env, batch, row);	/* its other windows ended before */
		return NULL;
	}
	if (agg->node->by_start && !SE_FAULT_WRONG("wrong-start-ends-early"))
		end = se_window_last_end(window, start);
	slice = se_window_agg_find_slice(agg, start, end);
	if (slice == NULL)
		slice = open_slice(agg, batch->wm[row], start, end, end);
	return slice;
}

/*
 * A new slice for a row with stamp wm. Windows that ended by then had no slice here
 * and will never fire: closed_to says so before the deadline is taken from the slice.
 */
static SeSlice *
open_slice(SeWindowAgg *agg, SeTime wm, SeTime start, SeTime end, SeTime last_end)
{
	SeSlice    *slice;

	if (!IS_VALID_TIMESTAMP(last_end) || !IS_VALID_TIMESTAMP(start))
		ereport(ERROR,
				(errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
				 errmsg("timestamp out of range"),
				 errdetail("A window of the row does not fit into the range of timestamps.")));
	if (wm > agg->closed_to)
	{
		agg->closed_to = wm;
		agg->meta.dirty = true;
	}
	slice = se_window_agg_slice(agg, start, end);
	se_window_agg_set_deadline(agg);
	return slice;
}

/* Count the windows a row misses; true if all. */
static bool
is_late(SeWindowAgg *agg, const SeBatch *batch, int row, SeTime ts)
{
	SeOperatorEnv *env = agg->op.env;
	bool		all;

	if (SE_FAULT_WRONG("wrong-late-check-off"))
		return false;
	env->late_pairs += se_window_ended(&agg->node->window, ts,
									   se_window_agg_horizon(agg, batch->wm[row]), &all);
	if (all)
		se_env_late_row(env, batch, row);
	return all;
}

/* The rows chained to a slice change its groups, and the merged ones that hold it. */
static void
apply_slice(SeWindowAgg *agg, SeBatch *batch, SeSlice *slice)
{
	SeKeyedRows *keyed = &agg->keyed;
	int			n = 0;

	for (int row = slice->first_row; row >= 0; row = agg->next_row[row])
		keyed->rows[n++] = row;
	slice->first_row = -1;

	se_keyed_rows_prepare(keyed, batch, n);
	se_keyed_rows_get(keyed, slice->home->table, n);
	if (!agg->single && slice->end <= agg->merged.merged_to)
		se_window_merge_rows(agg, slice, batch, keyed->rows, keyed->entries, n);
	se_table_touch_rows(slice->home->table, keyed->entries, n);
	if (agg->updating)
		se_window_update_apply(agg, slice, batch, n);
	else
		se_agg_set_apply(agg->set, slice->home, batch, keyed->rows, keyed->accs, n);
}

static void
need_rows(SeWindowAgg *agg, int n)
{
	MemoryContext old;

	if (!se_keyed_rows_need(&agg->keyed, n))
		return;
	old = MemoryContextSwitchTo(agg->keyed.memory);
	agg->next_row = palloc(n * sizeof(int));
	agg->touched = palloc(n * sizeof(SeSlice *));
	agg->due = palloc(n * sizeof(SeEntry *));
	MemoryContextSwitchTo(old);
}

/* Position of the first slice that ends at `end` or later. */
int
se_window_agg_position(const SeWindowAgg *agg, SeTime end)
{
	int			low = 0;
	int			high = agg->nslices;

	while (low < high)
	{
		int			middle = (low + high) / 2;

		if (agg->slices[middle]->end < end)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

SeSlice *
se_window_agg_find_slice(SeWindowAgg *agg, SeTime start, SeTime end)
{
	int			i = se_window_agg_position(agg, end);

	return i < agg->nslices && agg->slices[i]->end == end ? agg->slices[i] : NULL;
}

/* The slice with these bounds, made if it is not there. */
SeSlice *
se_window_agg_slice(SeWindowAgg *agg, SeTime start, SeTime end)
{
	int			i = se_window_agg_position(agg, end);
	MemoryContext old;
	SeSlice    *slice;

	if (i < agg->nslices && agg->slices[i]->end == end)
		return agg->slices[i];

	old = MemoryContextSwitchTo(agg->op.env->memory);
	if (agg->nslices == agg->max_slices)
	{
		agg->slices = repalloc(agg->slices, 2 * agg->max_slices * sizeof(SeSlice *));
		agg->max_slices *= 2;
	}
	slice = palloc0(sizeof(SeSlice));
	slice->start = start;
	slice->end = end;
	slice->first_end = agg->single ? end : se_window_next_end(&agg->node->window, start);
	slice->last_end = agg->single ? end : se_window_last_end(&agg->node->window, start);
	slice->first_row = -1;
	slice->home = agg->updating ? se_agg_home_new_updating(agg->set, agg->keys) :
		se_agg_home_new(agg->set, agg->keys, agg->set->payload_size);
	MemoryContextSwitchTo(old);

	memmove(&agg->slices[i + 1], &agg->slices[i], (agg->nslices - i) * sizeof(SeSlice *));
	agg->slices[i] = slice;
	agg->nslices++;
	return slice;
}

/* Forget the slices whose last window has ended. */
void
se_window_agg_drop_slices(SeWindowAgg *agg, SeTime closed_to)
{
	int			n = 0;

	/* Ends of the last windows grow with the ends of slices. */
	while (n < agg->nslices && agg->slices[n]->last_end <= closed_to)
		se_window_merge_drop(agg, agg->slices[n++]);
	if (n == 0)
		return;
	for (int i = 0; i < n; i++)
	{
		se_agg_home_free(agg->set, agg->slices[i]->home);
		if (agg->updating)
			se_window_update_forget(agg, agg->slices[i]);
		pfree(agg->slices[i]);
	}
	agg->nslices -= n;
	memmove(agg->slices, agg->slices + n, agg->nslices * sizeof(SeSlice *));
	agg->last_slice = Max(agg->last_slice - n, 0);
	if (agg->nslices == 0)
		se_window_merge_reset(agg);
}

void
se_window_agg_set_deadline(SeWindowAgg *agg)
{
	if (agg->nslices == 0)
		agg->deadline = SE_TIME_MAX;
	else if (agg->updating)
		agg->deadline = se_window_update_deadline(agg);
	else if (agg->single)
		agg->deadline = agg->slices[0]->last_end;
	else
		agg->deadline = se_window_next_end(&agg->node->window,
										   Max(agg->closed_to, agg->slices[0]->start));
}

/* What the monitoring shows; per commit, because it looks at every slice. */
void
se_window_agg_publish(SeWindowAgg *agg)
{
	uint64		entries = 0;
	uint64		bytes = 0;

	for (int i = 0; i < agg->nslices; i++)
	{
		entries += agg->slices[i]->home->table->nused;
		bytes += se_arena_bytes(agg->slices[i]->home->arena) + agg->slices[i]->home->live_bytes;
	}
	if (agg->merged.home != NULL)
		bytes += se_arena_bytes(agg->merged.home->arena) + agg->merged.home->live_bytes;
	agg->op.state_entries = entries;
	agg->op.state_bytes = bytes;
}
