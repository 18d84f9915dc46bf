/*
 * operators/session_agg.c
 *		Aggregates per session: rows of a key at most a gap apart, emitted when the session is over.
 *
 * A row is [time, time + gap], both ends included; it joins all open sessions of its key
 * that it overlaps or touches and makes them one. A session fires when the watermark
 * is above its end, since a row at the end still belongs to it. A row that no open
 * session takes in is late iff its own end is below its stamp (design 7).
 *
 * Results that change (session_update.c): a session that has fired stays open and takes rows
 * for allowed_lateness, which is added wherever a session's end is compared with a stamp
 * to tell what is gone and what is late.
 *
 * Rows of a batch are placed one by one and applied together: once per run between two
 * firings or two sessions becoming one.
 *
 * The watermark sent on stays one microsecond behind, because a session whose end it
 * has reached may still be emitted, with that time.
 *
 * Runs in: task worker, in a round.
 */
#include "postgres.h"

#include "base/fault.h"
#include "base/settings.h"
#include "common/int.h"
#include "miscadmin.h"
#include "operators/operators.h"
#include "operators/session_list.h"
#include "time/gap.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

static bool is_firing(SeOperator *op);
static bool finish_firing(SeOperator *op);
static int	take_rows(SeOperator *op, SeBatch *batch, int from);
static int	find_windows(SeSessionAgg *agg, SeBatch *batch, int from);
static bool row_end(const SeSessionAgg *agg, const SeBatch *batch, int row, SeTime *end);
static void find_anchors(SeSessionAgg *agg, SeBatch *batch, int n);
static bool touches_ended(SeSessionAgg *agg, SeBatch *batch, int row, SeEntry *anchor);
static void place_row(SeSessionAgg *agg, SeBatch *batch, int i);
static void apply_pending(SeSessionAgg *agg, SeBatch *batch);
static bool is_late(const SeSessionAgg *agg, SeTime end, SeTime wm);
static void join_sessions(SeSessionAgg *agg, SeSession *session, SeSession *other, SeTime wm);
static bool advance(SeOperator *op, SeTime h);
static bool fire(SeSessionAgg *agg, SeTime h);
static void reached(SeSessionAgg *agg, SeTime h);
static void fire_first(SeSessionAgg *agg);
static void need_rows(SeSessionAgg *agg, int n);

static const SeOperatorOps session_agg_ops = {
	.name = "session aggregate",
	SE_STASH_CALLBACKS,
	.timer = se_session_update_timer,
	.prepare = se_session_state_prepare,
	.snapshot = se_session_state_snapshot,
	.rewrite = se_session_state_rewrite,
	.restore = se_session_state_restore,
	.restored = se_session_state_restored,
};

static const SeStashOps stash_ops = {
	.is_firing = is_firing,
	.finish_firing = finish_firing,
	.take_rows = take_rows,
	.advance = advance,
};

SeOperator *
se_session_agg_new(const SeSessionAggNode *node, SeOperatorEnv *env)
{
	SeSessionAgg *agg = palloc0(sizeof(SeSessionAgg));
	TupleDesc	input = ((SeNode *) linitial(node->node.inputs))->desc;

	se_op_init(&agg->op, &session_agg_ops, node->node.id, 1, env, node->node.desc);
	agg->node = node;
	agg->updating = se_emit_is_updating(&node->emit);
	agg->lateness = node->emit.lateness;
	agg->early_next = agg->final_to = SE_TIME_MIN;
	agg->set = se_agg_set_new(node->calls, input, env);
	agg->keys = se_keys_new(input, node->keys, node->key_eq);
	se_keyed_rows_init(&agg->keyed, agg->keys);
	agg->session_keys = se_keys_numbered(agg->keys);
	agg->session_values = palloc(agg->session_keys->n * sizeof(Datum));
	agg->session_nulls = palloc(agg->session_keys->n * sizeof(bool));
	se_timers_init(&agg->timers, se_arena_new(env));
	se_stash_init(&agg->stash, &agg->op, &stash_ops, input, agg->keys, &agg->meta);
	agg->scratch = AllocSetContextCreate(CurrentMemoryContext, "stream_engine session aggregate",
										 ALLOCSET_DEFAULT_SIZES);
	agg->out = se_batch_new(CurrentMemoryContext, node->node.desc, Max(se_batch_rows, 2));
	return &agg->op;
}

static bool
is_firing(SeOperator *op)
{
	return ((SeSessionAgg *) op)->firing;
}

static bool
finish_firing(SeOperator *op)
{
	return advance(op, ((SeSessionAgg *) op)->fire_to);
}

/* Some of what fires may be left to advance, which follows. */
static int
take_rows(SeOperator *op, SeBatch *batch, int from)
{
	SeSessionAgg *agg = (SeSessionAgg *) op;
	SeOperatorEnv *env = op->env;
	MemoryContext old;
	int			n;

	need_rows(agg, batch->nrows);
	env->current_batch = batch;
	old = MemoryContextSwitchTo(agg->scratch);
	n = find_windows(agg, batch, from);
	if (n > 0)
	{
		se_env_state_touched(env);
		agg->meta.dirty = true;
		env->current_row = -1;
		if (agg->old != NULL)
			se_session_move_some(agg, 2 * n + 16);
		find_anchors(agg, batch, n);
	}
	for (int i = 0; i < n; i++)
	{
		int			row = agg->keyed.rows[i];

		if (agg->updating)
			se_session_update_early(agg, batch->wm[row]);
		/* What ended before is looked after below, unless the row would touch it. */
		if (agg->firing || touches_ended(agg, batch, row, agg->keyed.entries[i]))
		{
			apply_pending(agg, batch);
			env->current_batch = NULL;
			MemoryContextSwitchTo(old);
			if (!fire(agg, batch->wm[row]))
			{
				se_session_agg_flush(agg);
				MemoryContextReset(agg->scratch);
				se_session_agg_publish(agg);
				return row;
			}
			MemoryContextSwitchTo(agg->scratch);
			env->current_batch = batch;
		}
		env->current_row = row;
		place_row(agg, batch, i);
	}
	apply_pending(agg, batch);
	env->current_batch = NULL;
	env->current_row = -1;
	MemoryContextSwitchTo(old);
	MemoryContextReset(agg->scratch);

	se_session_begin_generation(agg);
	se_session_agg_publish(agg);
	return batch->nrows;
}

/* The rows that have a session, and the end of each alone; everything that may fail for a row. */
static int
find_windows(SeSessionAgg *agg, SeBatch *batch, int from)
{
	int			n = 0;

	for (int row = from; row < batch->nrows; row++)
	{
		agg->op.env->current_row = row;
		if (row_end(agg, batch, row, &agg->ends[row]))
			agg->keyed.rows[n++] = row;
	}
	if (n > 0)
		se_keyed_rows_prepare(&agg->keyed, batch, n);
	return n;
}

/* A row without time or gap is in no session. */
static bool
row_end(const SeSessionAgg *agg, const SeBatch *batch, int row, SeTime *end)
{
	const Datum *values = se_batch_values(batch, row);
	const bool *nulls = se_batch_nulls(batch, row);
	int64		gap = agg->node->gap;

	if (nulls[agg->node->time_column] || TIMESTAMP_NOT_FINITE(DatumGetTimestamp(values[agg->node->time_column])))
		return false;
	if (agg->node->gap_column >= 0)
	{
		if (nulls[agg->node->gap_column])
			return false;
		gap = se_gap_usecs(DatumGetIntervalP(values[agg->node->gap_column]));
	}
	if (pg_add_s64_overflow(DatumGetTimestamp(values[agg->node->time_column]), gap, end) ||
		!IS_VALID_TIMESTAMP(*end))
		ereport(ERROR,
				(errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
				 errmsg("timestamp out of range"),
				 errdetail("The end of the row's session does not fit into the range of timestamps.")));
	return true;
}

/* The keys of the rows, with what is open of them in the current generation. */
static void
find_anchors(SeSessionAgg *agg, SeBatch *batch, int n)
{
	SeKeyedRows *keyed = &agg->keyed;

	se_table_get_rows(agg->current->anchors, keyed->hashes, keyed->values, keyed->nulls, n, keyed->entries);
	for (int i = 0; i < n; i++)
		__builtin_prefetch(((SeSessionList *) se_entry_payload(agg->current->anchors, keyed->entries[i]))->only.one, 1);
	for (int i = 0; i < n && agg->old != NULL; i++)
	{
		SeEntry    *old_anchor = se_table_find(agg->old->anchors, keyed->hashes[i], se_keyed_rows_values(keyed, i),
											   se_keyed_rows_nulls(keyed, i));

		if (old_anchor != NULL)
			se_session_move_key(agg, old_anchor, keyed->entries[i]);
	}
}

/* Would the row touch a session that took no more rows before its stamp? That one is over. */
static bool
touches_ended(SeSessionAgg *agg, SeBatch *batch, int row, SeEntry *anchor)
{
	SeSessionList *list = (SeSessionList *) se_entry_payload(agg->current->anchors, anchor);
	SeSession  *session = se_session_list_first(list);

	if (session == NULL || se_session_last(agg, session->end) >= batch->wm[row] ||
		SE_FAULT_WRONG("wrong-session-final-touched"))
		return false;
	session = se_session_list_find(list, DatumGetTimestamp(se_batch_values(batch, row)[agg->node->time_column]));
	return session != NULL && se_session_last(agg, session->end) < batch->wm[row];
}

/* Find or make the session of the i-th row that has one; it waits for apply_pending. */
static void
place_row(SeSessionAgg *agg, SeBatch *batch, int i)
{
	int			row = agg->keyed.rows[i];
	SeEntry    *anchor = agg->keyed.entries[i];
	SeSessionList *list = (SeSessionList *) se_entry_payload(agg->current->anchors, anchor);
	SeTime		start = DatumGetTimestamp(se_batch_values(batch, row)[agg->node->time_column]);
	SeTime		end = agg->ends[row];
	SeSession  *session = se_session_list_find(list, start);

	if (session == NULL || session->start > end)
	{
		if (is_late(agg, end, batch->wm[row]))
		{
			se_env_late_row(agg->op.env, batch, row);
			agg->op.env->late_pairs++;
			return;
		}
		session = se_session_open(agg, agg->current, anchor, se_keyed_rows_values(&agg->keyed, i),
								  se_keyed_rows_nulls(&agg->keyed, i), start, end, end);
	}
	else
	{
		SeSession  *next = session->end < end ? se_session_list_next(list, session) : NULL;

		if (agg->updating)
			se_session_update_reach(agg, session, batch->wm[row]);
		if (next != NULL && next->start <= end)
		{
			apply_pending(agg, batch);
			agg->op.env->current_row = row; /* it is this row whose joining may fail */
			do
				join_sessions(agg, session, next, batch->wm[row]);
			while ((next = se_session_list_next(list, session)) != NULL && next->start <= end);
		}
		session->start = Min(session->start, start);
		session->end = Max(session->end, end);
	}
	if (agg->updating)
		se_session_update_row(agg, session, batch->wm[row]);
	se_pending_rows_add(&agg->pending, row, session->entry, se_session_acc(agg, session));
}

/* Is a row late that ends so, and that no open session takes in? */
static bool
is_late(const SeSessionAgg *agg, SeTime end, SeTime wm)
{
	if (SE_FAULT_WRONG("wrong-late-check-off"))
		return false;
	/* What was final under other options stays so. */
	if (end < agg->final_to && !SE_FAULT_WRONG("wrong-session-final-forgotten"))
		return true;
	return (SE_FAULT_WRONG("wrong-session-lateness-ignored") ? end : se_session_last(agg, end)) < wm;
}

/* Let the aggregates see the rows placed since the last time. */
static void
apply_pending(SeSessionAgg *agg, SeBatch *batch)
{
	se_pending_rows_apply(&agg->pending, agg->set, agg->current->home, batch);
}

/* A row touches both: `other` becomes part of the earlier one. */
static void
join_sessions(SeSessionAgg *agg, SeSession *session, SeSession *other, SeTime wm)
{
	SeOperatorEnv *env = agg->op.env;
	SeTime		end = other->end;

	SE_FAULT_POINT("session-join");
	if (agg->updating)
	{
		const SeBatch *batch = env->current_batch;
		int			row = env->current_row;

		se_session_update_reach(agg, other, wm);
		se_session_update_join(agg, session, other);
		env->current_batch = batch; /* rows may have gone on */
		env->current_row = row;
	}
	if (!SE_FAULT_WRONG("wrong-session-join-loses"))
		se_agg_set_merge(agg->set, agg->current->home, se_session_acc(agg, session), se_session_acc(agg, other));
	se_session_close(agg, other);	/* found by its end, so before ours is the same */
	session->end = Max(session->end, end);
}

/* Reach a watermark: emit what is over, then send it on. False if the output is full before. */
static bool
advance(SeOperator *op, SeTime h)
{
	SeSessionAgg *agg = (SeSessionAgg *) op;
	SeTime		out = h == SE_TIME_MAX || h == SE_TIME_MIN ? h : h - 1;

	bool		all = fire(agg, h);

	se_session_agg_flush(agg);
	if (!all)
		return false;
	if (out > agg->op.watermark_out)
	{
		agg->meta.dirty = true;
		se_op_emit_watermark(&agg->op, out);
	}
	return true;
}

/*
 * Emit the sessions that ended before h, in order of their ends; false if the output is
 * full before all are. The last ones wait for flush, which the caller sees to. Of results that
 * change: emit those that take no more rows, and find those that are due.
 */
static bool
fire(SeSessionAgg *agg, SeTime h)
{
	if (agg->updating)
		se_session_update_early(agg, h);
	reached(agg, h);
	if (!agg->firing && se_timers_first(&agg->timers) >= h)
		return true;
	se_env_state_touched(agg->op.env);
	agg->meta.dirty = true;
	agg->firing = true;
	agg->fire_to = h;
	while (se_timers_first(&agg->timers) < h)
	{
		if (agg->op.env->output_full)
			return false;
		if (agg->timers.n > 1)
			__builtin_prefetch(agg->timers.timers[1].what);
		fire_first(agg);
	}
	agg->firing = false;
	return true;
}

/* What takes no more rows at a watermark never will, whatever lateness is allowed later. */
static void
reached(SeSessionAgg *agg, SeTime h)
{
	if (h > SE_TIME_MIN + agg->lateness && h - agg->lateness > agg->final_to)
	{
		agg->final_to = h - agg->lateness;
		agg->meta.dirty = true;
	}
}

/* The first timer is due. */
static void
fire_first(SeSessionAgg *agg)
{
	SeTime		at = agg->timers.timers[0].at;
	SeSession  *session = agg->timers.timers[0].what;
	SeTime		next = at;

	if (!(session->entry->flags & SE_ENTRY_USED) || (agg->updating && session->wake != at))
	{
		se_timers_remove_first(&agg->timers);
		return;
	}
	if (agg->updating)
		next = session->wake = se_session_update_fire(agg, session, at);
	else if (!SE_FAULT_WRONG("wrong-session-fires-early"))
		next = session->end;
	if (next > at)
	{
		se_timers_delay_first(&agg->timers, next);
		return;
	}

	if (!agg->updating)
		se_session_agg_emit(agg, session, SE_ROW_INSERT);
	else if (session->status & SE_SESSION_STALE)
		se_session_update_emit(agg, session);
	se_timers_remove_first(&agg->timers);
	se_session_close(agg, session);
}

/*
 * One output row: keys, the window, aggregates; of a row that goes, or gets another key, what it was known by,
 * which is what the session has shown. May flush.
 */
void
se_session_agg_emit(SeSessionAgg *agg, SeSession *session, SeRowKind kind)
{
	SeBatch    *out = agg->out;
	SeTable    *table = session->generation->home->table;
	const Datum *keys = se_entry_keys(table, session->entry);
	int			nkeys = agg->keys->n;
	int			row;
	Datum	   *values;
	bool	   *nulls;
	MemoryContext old;
	bool		gone = kind == SE_ROW_DELETE || kind == SE_ROW_UPDATE_BEFORE;
	SeTime		end = gone ? session->shown_end : session->end;

	if (kind == SE_ROW_UPDATE_BEFORE && out->nrows + 2 > out->capacity)
		se_session_agg_flush(agg);	/* the +U stays with it */
	row = out->nrows;
	values = se_batch_values(out, row);
	nulls = se_batch_nulls(out, row);
	old = MemoryContextSwitchTo(out->arena);
	memcpy(nulls, session->entry->nulls, nkeys * sizeof(bool));
	for (int k = 0; k < nkeys; k++)
		values[k] = keys[k];
	values[nkeys] = TimestampGetDatum(gone ? session->shown_start : session->start);
	values[nkeys + 1] = TimestampGetDatum(end);
	values[nkeys + 2] = TimestampGetDatum(end - 1);
	nulls[nkeys] = nulls[nkeys + 1] = nulls[nkeys + 2] = false;
	if (gone)
		memset(nulls + nkeys + 3, true, agg->set->ncalls * sizeof(bool));
	else
		se_agg_set_final(agg->set, session->generation->home, se_session_acc(agg, session),
						 values + nkeys + 3, nulls + nkeys + 3);
	MemoryContextSwitchTo(old);

	se_batch_stamp(out, row, kind, end - 1, agg->op.watermark_out);
	out->nrows++;
	if (out->nrows == out->capacity)
	{
		se_session_agg_flush(agg);
		CHECK_FOR_INTERRUPTS();
	}
}

void
se_session_agg_flush(SeSessionAgg *agg)
{
	if (agg->out->nrows == 0)
		return;
	SE_FAULT_POINT("session-fire");
	agg->out->append_only = !agg->updating;
	agg->out->wm_end = agg->op.watermark_out;
	se_op_emit(&agg->op, agg->out);
	se_batch_reset(agg->out);
}

static void
need_rows(SeSessionAgg *agg, int n)
{
	if (!se_keyed_rows_need(&agg->keyed, n))
		return;
	agg->ends = MemoryContextAlloc(agg->keyed.memory, n * sizeof(SeTime));
	se_pending_rows_init(&agg->pending, n, agg->keyed.memory);
}

/* What monitoring shows. */
void
se_session_agg_publish(SeSessionAgg *agg)
{
	agg->op.state_bytes = se_arena_bytes(agg->current->home->arena) + se_arena_bytes(agg->timers.arena);
	agg->op.state_entries = agg->current->home->table->nused;
	if (agg->old != NULL)
	{
		agg->op.state_bytes += se_arena_bytes(agg->old->home->arena);
		agg->op.state_entries += agg->old->home->table->nused;
	}
}
