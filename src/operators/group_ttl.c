/*
 * operators/group_ttl.c
 *		Groups that are forgotten when nothing was written to them for a while (state_ttl).
 *
 * Each group has the time it expires: the greatest of its rows' times plus the ttl.
 * By event time a row's time is its event time, its clock the watermark stamped on it; by
 * processing time both are the time its transaction committed, or a tick's if that
 * is later. What a row finds depends on this alone. An expired group that gets a row begins
 * anew, as another entry. A row by event time that comes so late that its own group
 * would be expired already is late, unless it finds a living one.
 *
 * Memory comes back in two steps, a part of each at every commit: timers tell which
 * groups are expired, and their entries are removed; entries are not used twice, so when
 * many are gone a next *generation* begins, as sessions do it: the living move over, and the
 * old one is freed whole. It begins when nothing is dirty, so what changed is in the
 * current one.
 *
 * Runs in: task worker.
 */
#include "postgres.h"

#include "base/fault.h"
#include "base/settings.h"
#include "common/int.h"
#include "operators/group_adopt.h"
#include "operators/group_ttl_internal.h"
#include "operators/operators.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

/* Groups that one commit looks at because their time is up; and twice as many as it has rows. */
#define EXPIRED_PER_COMMIT 10000

/* As with sessions: so many times more than living must be gone; and in a small one so many. */
#define GONE_PER_LIVING 2
#define LEAST_GONE 1024
#define LEAST_BYTES (256 * 1024)

/* Timers put right while nobody waits for a commit. */
#define PUT_RIGHT_AT_ONCE 1000

static void group_ttl_push(SeOperator *op, int input, SeBatch *batch);
static void group_ttl_watermark(SeOperator *op, int input, SeTime h);
static void group_ttl_timer(SeOperator *op, SeTime now);
static void group_ttl_prepare(SeOperator *op);
static void take_rows(SeGroupTtl *ttl, SeBatch *batch);
static void apply_pending(SeGroupTtl *ttl, SeBatch *batch);
static void emit_row(SeGroupTtl *ttl, SeAggHome *home, SeEntry *entry, SeRowKind kind);
static void flush(SeGroupTtl *ttl);
static SeTime row_clock(SeGroupTtl *ttl, const SeBatch *batch, int row);
static SeTime row_time(const SeGroupTtl *ttl, const SeBatch *batch, int row, SeTime clock);
static SeEntry *find_group(SeGroupTtl *ttl, uint32 hash, const Datum *values, const bool *nulls);
static bool is_current(const SeGroupTtl *ttl, SeEntry *entry);
static SeEntry *begin_anew(SeGroupTtl *ttl, SeEntry *expired, uint32 hash, const Datum *values,
						   const bool *nulls);
static SeEntry *move_group(SeGroupTtl *ttl, SeEntry *entry);
static void expire_some(SeGroupTtl *ttl, SeTtlGeneration *generation, int64 *budget);
static void move_some(SeGroupTtl *ttl, int64 n);

static const SeOperatorOps group_ttl_ops = {
	.name = "group aggregate",
	.push = group_ttl_push,
	.watermark = group_ttl_watermark,
	.timer = group_ttl_timer,
	.prepare = group_ttl_prepare,
	.snapshot = se_group_ttl_snapshot,
	.rewrite = se_group_ttl_rewrite,
	.restore = se_group_ttl_restore,
	.restored = se_group_ttl_restored,
	.adopt = se_group_ttl_adopt,
};

SeOperator *
se_group_ttl_new(const SeGroupAggNode *node, SeOperatorEnv *env)
{
	SeGroupTtl *ttl = palloc0(sizeof(SeGroupTtl));
	TupleDesc	input = ((SeNode *) linitial(node->node.inputs))->desc;

	se_op_init(&ttl->op, &group_ttl_ops, node->node.id, 1, env, node->node.desc);
	ttl->node = node;
	ttl->set = se_agg_set_new(node->calls, input, env);
	ttl->keys = se_keys_new(input, node->keys, node->key_eq);
	se_keyed_rows_init(&ttl->keyed, ttl->keys);
	ttl->clock = ttl->clock_saved = SE_TIME_MIN;
	ttl->scratch = AllocSetContextCreate(CurrentMemoryContext, "stream_engine group aggregate",
										 ALLOCSET_DEFAULT_SIZES);
	ttl->out = se_batch_new(CurrentMemoryContext, node->node.desc, Max(se_batch_rows, 1));
	return &ttl->op;
}

SeTtlGeneration *
se_group_ttl_generation_new(SeGroupTtl *ttl, uint32 number)
{
	MemoryContext old = MemoryContextSwitchTo(ttl->op.env->memory);
	SeTtlGeneration *generation = palloc0(sizeof(SeTtlGeneration));

	generation->number = number;
	generation->home = se_agg_home_new_singly(ttl->set, ttl->keys, -1, sizeof(SeTtlLife), SE_TTL_LIFE_SAVED,
											  &ttl->arrivals);
	se_timers_init(&generation->timers, generation->home->arena);
	MemoryContextSwitchTo(old);
	return generation;
}

void
se_group_ttl_generation_free(SeGroupTtl *ttl, SeTtlGeneration *generation)
{
	se_agg_home_free(ttl->set, generation->home);
	pfree(generation);
}

/* Let the aggregates see the rows that wait. */
static void
apply_pending(SeGroupTtl *ttl, SeBatch *batch)
{
	for (int i = 0; i < ttl->pending.n; i++)
		ttl->pending.entries[i]->flags |= SE_ENTRY_CHANGED;
	se_pending_rows_apply(&ttl->pending, ttl->set, ttl->current->home, batch);
}

SeTime
se_group_ttl_expiry(const SeGroupTtl *ttl, SeTime written)
{
	SeTime		expires;

	if (pg_add_s64_overflow(written, ttl->node->ttl_usecs, &expires) || expires == SE_TIME_MAX)
		return SE_TIME_MAX - 1;
	return expires;
}

static inline bool
is_expired(const SeGroupTtl *ttl, SeEntry *entry, SeTime clock)
{
	return se_group_ttl_life(ttl, entry)->expires <= clock;
}

static void
group_ttl_push(SeOperator *op, int input, SeBatch *batch)
{
	SeGroupTtl *ttl = (SeGroupTtl *) op;
	MemoryContext old;

	if (!batch->append_only)
		elog(ERROR, "group aggregate got rows that change others");
	if (batch->nrows > 0)
	{
		se_env_state_touched(op->env);
		if (se_keyed_rows_need(&ttl->keyed, batch->nrows))
			se_pending_rows_init(&ttl->pending, batch->nrows, ttl->keyed.memory);
		op->env->current_batch = batch;
		op->env->current_row = -1;
		old = MemoryContextSwitchTo(ttl->scratch);
		se_keyed_rows_prepare_from(&ttl->keyed, batch, 0, batch->nrows);
		take_rows(ttl, batch);
		apply_pending(ttl, batch);
		MemoryContextSwitchTo(old);
		MemoryContextReset(ttl->scratch);
		op->env->current_batch = NULL;
		se_group_ttl_publish(ttl);
	}
	if (batch->wm_end > op->watermark_in)
		group_ttl_watermark(op, input, batch->wm_end);
}

/* Find or make the group of each row, unless it is late; they wait for apply_pending. */
static void
take_rows(SeGroupTtl *ttl, SeBatch *batch)
{
	SeOperatorEnv *env = ttl->op.env;

	ttl->nrows += batch->nrows;
	if (ttl->old != NULL)
		move_some(ttl, 2 * batch->nrows + 16);
	se_table_prefetch_rows(ttl->current->home->table, ttl->keyed.hashes, batch->nrows);
	for (int i = 0; i < batch->nrows; i++)
	{
		uint32		hash = ttl->keyed.hashes[i];
		const Datum *values = se_keyed_rows_values(&ttl->keyed, i);
		const bool *nulls = se_keyed_rows_nulls(&ttl->keyed, i);
		SeTime		clock = row_clock(ttl, batch, i);
		SeTime		written = row_time(ttl, batch, i, clock);
		SeTime		expires = se_group_ttl_expiry(ttl, written);
		SeEntry    *entry = find_group(ttl, hash, values, nulls);
		bool		living = entry != NULL &&
		(!is_expired(ttl, entry, clock) || SE_FAULT_WRONG("wrong-ttl-expired-group-lives"));

		if (!living)
		{
			/* What an expired group last was may still have to be shown, so it is left alone. */
			if (expires <= clock && written != clock && !SE_FAULT_WRONG("wrong-ttl-late-row-counts"))
			{
				se_env_late_row(env, batch, i);
				env->late_pairs++;
				continue;
			}
			entry = begin_anew(ttl, entry, hash, values, nulls);
			se_group_ttl_life(ttl, entry)->expires = expires;
			se_timers_add(&ttl->current->timers, expires, entry);
		}
		else
		{
			if (!is_current(ttl, entry))
				entry = move_group(ttl, entry);
			if (!SE_FAULT_WRONG("wrong-ttl-first-write"))
				se_group_ttl_life(ttl, entry)->expires = Max(se_group_ttl_life(ttl, entry)->expires, expires);
		}
		se_pending_rows_add(&ttl->pending, i, entry, se_entry_payload(ttl->current->home->table, entry));
	}
}

/* When a row was written: by event time its own time, if it has one. */
static SeTime
row_time(const SeGroupTtl *ttl, const SeBatch *batch, int row, SeTime clock)
{
	SeTime		time = DatumGetTimestamp(se_batch_values(batch, row)[ttl->node->time_column]);

	if (ttl->node->ttl == SE_TTL_PROCESSING || se_batch_nulls(batch, row)[ttl->node->time_column] ||
		TIMESTAMP_NOT_FINITE(time))
		return clock;
	return time;
}

/* What time it is for a row. */
static SeTime
row_clock(SeGroupTtl *ttl, const SeBatch *batch, int row)
{
	if (ttl->node->ttl == SE_TTL_EVENT)
		return batch->wm[row];
	if (!se_batch_nulls(batch, row)[ttl->node->time_column])
		ttl->clock = Max(ttl->clock, DatumGetTimestamp(se_batch_values(batch, row)[ttl->node->time_column]));
	return ttl->clock;
}

/* What there is of a key, in either generation; NULL if nothing. */
static SeEntry *
find_group(SeGroupTtl *ttl, uint32 hash, const Datum *values, const bool *nulls)
{
	SeEntry    *entry = se_table_find(ttl->current->home->table, hash, values, nulls);

	if (entry == NULL && ttl->old != NULL)
		entry = se_table_find(ttl->old->home->table, hash, values, nulls);
	return entry;
}

static inline bool
is_current(const SeGroupTtl *ttl, SeEntry *entry)
{
	return se_group_ttl_life(ttl, entry)->home == ttl->current->home;
}

/*
 * A new group, in the place of an expired one (NULL = there is none), of which no more is
 * left than that its row is in the result. Rows of the batch that wait for that one are
 * applied all the same, to what is gone.
 */
static SeEntry *
begin_anew(SeGroupTtl *ttl, SeEntry *expired, uint32 hash, const Datum *values, const bool *nulls)
{
	SeAggHome  *home = ttl->current->home;
	uint8		emitted = 0;
	SeEntry    *entry;

	if (expired != NULL)
	{
		emitted = expired->flags & SE_ENTRY_EMITTED;
		se_agg_home_remove(se_group_ttl_life(ttl, expired)->home, expired);
	}
	entry = se_table_add(home->table, hash, values, nulls);
	entry->flags |= emitted;
	se_group_ttl_life(ttl, entry)->home = home;
	return entry;
}

/* A group of the old generation goes to the current one. */
static SeEntry *
move_group(SeGroupTtl *ttl, SeEntry *entry)
{
	SeEntry    *moved = se_agg_home_move(ttl->set, ttl->old->home, entry, ttl->current->home);

	Assert((moved->flags & SE_ENTRY_CHANGED) == 0);
	se_group_ttl_life(ttl, moved)->home = ttl->current->home;
	se_timers_add(&ttl->current->timers, se_group_ttl_life(ttl, moved)->expires, moved);
	return moved;
}

/*
 * Put timers right that stand before their groups' time, but not for long; true if the
 * first one's group is expired, or nobody knows.
 */
static bool
is_due(SeGroupTtl *ttl, SeTtlGeneration *generation)
{
	SeTimers   *timers = &generation->timers;

	for (int n = 0; n < PUT_RIGHT_AT_ONCE; n++)
	{
		SeEntry    *entry;

		if (se_timers_first(timers) > ttl->clock || se_timers_first(timers) == SE_TIME_MAX)
			return false;
		entry = timers->timers[0].what;
		if (!(entry->flags & SE_ENTRY_USED))
			se_timers_remove_first(timers);
		else if (se_group_ttl_life(ttl, entry)->expires > timers->timers[0].at)
			se_timers_delay_first(timers, se_group_ttl_life(ttl, entry)->expires);
		else
			return true;
	}
	return true;
}

void
se_group_ttl_reach(SeGroupTtl *ttl, SeTime clock)
{
	ttl->clock = Max(ttl->clock, clock);
	if (!ttl->op.env->commit_wanted &&
		(is_due(ttl, ttl->current) || (ttl->old != NULL && is_due(ttl, ttl->old))))
		ttl->op.env->commit_wanted = true;
}

static void
group_ttl_watermark(SeOperator *op, int input, SeTime h)
{
	SeGroupTtl *ttl = (SeGroupTtl *) op;

	if (ttl->node->ttl == SE_TTL_EVENT)
		se_group_ttl_reach(ttl, h);
	se_op_forward_watermark(op, input, h);
}

static void
group_ttl_timer(SeOperator *op, SeTime now)
{
	SeGroupTtl *ttl = (SeGroupTtl *) op;

	if (ttl->node->ttl == SE_TTL_PROCESSING)
		se_group_ttl_reach(ttl, now);
	se_op_forward_timer(op, now);
}

/* A commit is to follow, and until then the result does not show what was read. */
void
se_group_ttl_must_emit(SeGroupTtl *ttl, SeEntry *entry)
{
	se_table_touch_rows(ttl->current->home->table, &entry, 1);
	entry->flags |= SE_ENTRY_CHANGED | SE_ENTRY_STALE;
	ttl->op.env->commit_wanted = true;
	ttl->op.env->unreflected = true;
}

/* The row of a group that is there. */
static void
emit_change(SeGroupTtl *ttl, SeAggHome *home, SeEntry *entry)
{
	emit_row(ttl, home, entry, entry->flags & SE_ENTRY_EMITTED ? SE_ROW_UPDATE_AFTER : SE_ROW_INSERT);
	entry->flags = (entry->flags & ~(SE_ENTRY_CHANGED | SE_ENTRY_STALE)) | SE_ENTRY_EMITTED;
}

/*
 * Groups whose time is up are forgotten, before what changed is emitted: what is deleted
 * need not be updated. What a group without ttl_delete has not shown yet is shown now.
 */
static void
group_ttl_prepare(SeOperator *op)
{
	SeGroupTtl *ttl = (SeGroupTtl *) op;
	SeAggHome  *home = ttl->current->home;
	int64		budget = EXPIRED_PER_COMMIT + 2 * ttl->nrows;

	/* First, because it may free what rows to emit would point to. */
	if (ttl->old != NULL)
		move_some(ttl, budget);
	if (ttl->old != NULL)
		expire_some(ttl, ttl->old, &budget);
	expire_some(ttl, ttl->current, &budget);
	ttl->nrows = 0;
	for (uint32 i = 0; i < home->table->ndirty; i++)
	{
		SeEntry    *entry = se_table_entry(home->table, home->table->dirty[i]);

		if ((entry->flags & SE_ENTRY_USED) && (entry->flags & SE_ENTRY_CHANGED))
			emit_change(ttl, home, entry);
	}
	flush(ttl);
	se_agg_home_prepare(ttl->set, home);
	MemoryContextReset(ttl->scratch);
	op->env->commit_wanted |= ttl->old != NULL;
	se_group_ttl_publish(ttl);
}

/* One row of output; a -D has keys only. */
static void
emit_row(SeGroupTtl *ttl, SeAggHome *home, SeEntry *entry, SeRowKind kind)
{
	SeBatch    *out = ttl->out;
	int			nkeys = ttl->keys->n;
	int			row = out->nrows;
	Datum	   *values = se_batch_values(out, row);
	bool	   *nulls = se_batch_nulls(out, row);
	MemoryContext old = MemoryContextSwitchTo(out->arena);

	memcpy(values, se_entry_keys(home->table, entry), nkeys * sizeof(Datum));
	memcpy(nulls, entry->nulls, nkeys * sizeof(bool));
	if (kind != SE_ROW_DELETE)
		se_agg_set_final(ttl->set, home, se_entry_payload(home->table, entry), values + nkeys, nulls + nkeys);
	else
	{
		memset(values + nkeys, 0, (out->ncolumns - nkeys) * sizeof(Datum));
		memset(nulls + nkeys, true, out->ncolumns - nkeys);
	}
	MemoryContextSwitchTo(old);

	se_batch_stamp(out, row, kind, SE_TIME_MIN, ttl->op.watermark_out);
	out->nrows++;
	if (out->nrows == out->capacity)
		flush(ttl);
}

static void
flush(SeGroupTtl *ttl)
{
	if (ttl->out->nrows == 0)
		return;
	ttl->out->append_only = false;
	ttl->out->wm_end = ttl->op.watermark_out;
	se_op_emit(&ttl->op, ttl->out);
	se_batch_reset(ttl->out);
}

/* Forget expired groups, as many as the budget allows; if there are more another commit follows. */
static void
expire_some(SeGroupTtl *ttl, SeTtlGeneration *generation, int64 *budget)
{
	SeTimers   *timers = &generation->timers;

	while (se_timers_first(timers) <= ttl->clock && se_timers_first(timers) != SE_TIME_MAX)
	{
		SeEntry    *entry = timers->timers[0].what;

		if (--*budget < 0)
		{
			ttl->op.env->commit_wanted = true;
			/* What the rows say is not shown before all that is expired is deleted. */
			ttl->op.env->unreflected |= ttl->node->ttl_delete;
			return;
		}
		if ((entry->flags & SE_ENTRY_USED) && se_group_ttl_life(ttl, entry)->expires > timers->timers[0].at)
		{
			se_timers_delay_first(timers, se_group_ttl_life(ttl, entry)->expires);
			continue;
		}
		if (entry->flags & SE_ENTRY_USED)
		{
			se_env_state_touched(ttl->op.env);
			if (ttl->node->ttl_delete && !SE_FAULT_WRONG("wrong-ttl-row-stays"))
			{
				/* Of one that came since the last commit there may be a row of before ttl_delete. */
				if (entry->flags & (SE_ENTRY_EMITTED | SE_ENTRY_CHANGED))
					emit_row(ttl, generation->home, entry, SE_ROW_DELETE);
			}
			else if ((entry->flags & SE_ENTRY_CHANGED) && !SE_FAULT_WRONG("wrong-ttl-last-change-lost"))
				emit_change(ttl, generation->home, entry);
			se_agg_home_remove(generation->home, entry);
		}
		se_timers_remove_first(timers);
	}
}

/* Look at n places of the old generation; free it when nothing of it is left. */
static void
move_some(SeGroupTtl *ttl, int64 n)
{
	SeTtlGeneration *old = ttl->old;
	SeTable    *table = old->home->table;

	for (; n > 0 && table->nused > 0 && old->cursor < table->nentries; n--)
	{
		SeEntry    *entry = se_table_entry(table, old->cursor++);

		if (entry->flags & SE_ENTRY_USED)
			(void) move_group(ttl, entry);
	}
	if (table->nused > 0)
		return;
	se_group_ttl_generation_free(ttl, old);
	ttl->old = NULL;
	ttl->meta.dirty = true;
}

/* Begin the next generation if it is time. Everything has just been saved. */
void
se_group_ttl_begin_generation(SeGroupTtl *ttl)
{
	SeAggHome  *home = ttl->current->home;
	SeTable    *table = home->table;
	uint64		bytes = se_arena_bytes(home->arena) + home->live_bytes;
	uint32		least = bytes < LEAST_BYTES ? LEAST_GONE : 0;

	if (ttl->old != NULL || table->nentries - table->nused <= GONE_PER_LIVING * table->nused + least)
		return;
	Assert(table->ndirty == 0);
	ttl->old = ttl->current;
	ttl->current = se_group_ttl_generation_new(ttl, ttl->old->number + 1);
	ttl->meta.dirty = true;

	/* An idle stream, too, is to get on with it. */
	ttl->op.env->commit_wanted = true;
}

void
se_group_ttl_publish(SeGroupTtl *ttl)
{
	SeOperator *op = &ttl->op;

	op->state_bytes = se_arena_bytes(ttl->current->home->arena) + ttl->current->home->live_bytes;
	op->state_entries = ttl->current->home->table->nused;
	if (ttl->old != NULL)
	{
		op->state_bytes += se_arena_bytes(ttl->old->home->arena) + ttl->old->home->live_bytes;
		op->state_entries += ttl->old->home->table->nused;
	}
}
