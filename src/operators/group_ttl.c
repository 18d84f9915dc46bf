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
 * Truths between two callbacks:
 *	- every group is among the timers of its generation, with the time it expires or an
 *	  earlier one; there may be timers of entries that are gone
 *	- a group is in one generation only
 *	- in the old generation only entries that are gone are dirty
 *
 * Records: version (1), then
 *
 *	M	the operator: 4 number of the snapshot, 8 clock, 8 number of the next replayed row,
 *		4 current generation, 4 old generation (0 = none)
 *	G	groups: 4 generation, then as in operators/agg_set.h; the header is the time of
 *		expiry (8)
 *
 * The newest M counts. What is of neither of its generations is gone.
 *
 * Runs in: task worker.
 */
#include "postgres.h"

#include "base/fault.h"
#include "base/settings.h"
#include "common/int.h"
#include "operators/agg_set.h"
#include "operators/operators.h"
#include "state/timers.h"
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

#define SORT_META 'M'
#define SORT_GROUPS 'G'

/* Version, sort, generation. */
#define PREFIX_LEN 6

/* Behind the accumulators of an entry. */
typedef struct Life
{
	/* saved */
	SeTime		expires;		/* SE_TIME_MAX = never */

	/* derived */
	SeAggHome  *home;			/* its own */
} Life;

#define LIFE_SAVED sizeof(SeTime)

typedef struct Generation
{
	uint32		number;
	SeAggHome  *home;
	SeTimers	timers;			/* SeEntry * */
	uint32		cursor;			/* of an old one: entries before it have moved on */
} Generation;

typedef struct SeGroupTtl
{
	SeOperator	op;

	/* settings: never change */
	const SeGroupAggNode *node;
	SeAggSet   *set;
	SeKeys	   *keys;

	/* state */
	Generation *current;
	Generation *old;			/* whose groups move to current; NULL = none */
	SeTime		clock;
	SeTime		clock_saved;
	int64		arrivals;		/* rows that are replayed, over all groups */
	uint32		snapshots;
	uint32		meta_saved;		/* the snapshot that wrote the newest M */
	bool		meta_dirty;
	List	   *restored;		/* Generation *, until all records are back */
	uint32		restored_current;
	uint32		restored_old;

	/* since the last commit */
	int64		nrows;

	/* memory: per batch or output batch */
	MemoryContext scratch;
	SeBatch    *out;
	int			max_rows;
	int		   *rows;
	Datum	   *key_values;
	bool	   *key_nulls;
	uint32	   *hashes;

	/* rows that wait to be applied */
	int			npending;
	int		   *pending_rows;
	SeEntry   **pending_entries;
	char	  **pending_accs;
} SeGroupTtl;

static void group_ttl_push(SeOperator *op, int input, SeBatch *batch);
static void group_ttl_watermark(SeOperator *op, int input, SeTime h);
static void group_ttl_timer(SeOperator *op, SeTime now);
static void group_ttl_prepare(SeOperator *op);
static void group_ttl_snapshot(SeOperator *op, SeSnapshotWriter *writer);
static Size group_ttl_rewrite(SeOperator *op, const void *record, Size len);
static void group_ttl_restore(SeOperator *op, const void *record, Size len);
static void group_ttl_restored(SeOperator *op);
static void need_rows(SeGroupTtl *ttl, int n);
static void take_rows(SeGroupTtl *ttl, SeBatch *batch);
static void apply_pending(SeGroupTtl *ttl, SeBatch *batch);
static void reach(SeGroupTtl *ttl, SeTime clock);
static void emit_row(SeGroupTtl *ttl, SeAggHome *home, SeEntry *entry, SeRowKind kind);
static void flush(SeGroupTtl *ttl);
static void publish(SeGroupTtl *ttl);
static Generation *new_generation(SeGroupTtl *ttl, uint32 number);
static void free_generation(SeGroupTtl *ttl, Generation *generation);
static SeTime row_clock(SeGroupTtl *ttl, const SeBatch *batch, int row);
static SeTime row_time(const SeGroupTtl *ttl, const SeBatch *batch, int row, SeTime clock);
static SeEntry *find_group(SeGroupTtl *ttl, uint32 hash, const Datum *values, const bool *nulls);
static bool is_current(const SeGroupTtl *ttl, SeEntry *entry);
static SeEntry *begin_anew(SeGroupTtl *ttl, SeEntry *expired, uint32 hash, const Datum *values,
						   const bool *nulls);
static SeEntry *move_group(SeGroupTtl *ttl, SeEntry *entry);
static void expire_some(SeGroupTtl *ttl, Generation *generation, int64 *budget);
static void move_some(SeGroupTtl *ttl, int64 n);
static void begin_generation(SeGroupTtl *ttl);
static void read_meta(SeGroupTtl *ttl, SeRecordReader *reader);
static void read_groups(SeGroupTtl *ttl, SeRecordReader *reader);

static inline Life *
life_of(const SeGroupTtl *ttl, SeEntry *entry)
{
	/* The tables of all generations have the same shape. */
	return (Life *) (se_entry_payload(ttl->current->home->table, entry) + ttl->set->payload_size);
}

static const SeOperatorOps group_ttl_ops = {
	.name = "group aggregate",
	.push = group_ttl_push,
	.watermark = group_ttl_watermark,
	.idle = se_op_forward_idle,
	.timer = group_ttl_timer,
	.resume = se_op_nothing_to_resume,
	.prepare = group_ttl_prepare,
	.snapshot = group_ttl_snapshot,
	.rewrite = group_ttl_rewrite,
	.restore = group_ttl_restore,
	.restored = group_ttl_restored,
	.checkpoint_done = se_op_no_checkpoint_done,
	.end = se_op_forward_end,
	.close = se_op_no_close,
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
	ttl->clock = ttl->clock_saved = SE_TIME_MIN;
	ttl->scratch = AllocSetContextCreate(CurrentMemoryContext, "stream_engine group aggregate",
										 ALLOCSET_DEFAULT_SIZES);
	ttl->out = se_batch_new(CurrentMemoryContext, node->node.desc, Max(se_batch_rows, 1));
	return &ttl->op;
}

static Generation *
new_generation(SeGroupTtl *ttl, uint32 number)
{
	MemoryContext old = MemoryContextSwitchTo(ttl->op.env->memory);
	Generation *generation = palloc0(sizeof(Generation));

	generation->number = number;
	generation->home = se_agg_home_new_singly(ttl->set, ttl->keys, -1, sizeof(Life), LIFE_SAVED,
											  &ttl->arrivals);
	se_timers_init(&generation->timers, generation->home->arena);
	MemoryContextSwitchTo(old);
	return generation;
}

static void
free_generation(SeGroupTtl *ttl, Generation *generation)
{
	se_agg_home_free(ttl->set, generation->home);
	pfree(generation);
}

/* Let the aggregates see the rows that wait. */
static void
apply_pending(SeGroupTtl *ttl, SeBatch *batch)
{
	int			n = ttl->npending;

	ttl->npending = 0;
	if (n == 0)
		return;
	se_table_touch_rows(ttl->current->home->table, ttl->pending_entries, n);
	for (int i = 0; i < n; i++)
		ttl->pending_entries[i]->flags |= SE_ENTRY_CHANGED;
	se_agg_set_apply(ttl->set, ttl->current->home, batch, ttl->pending_rows, ttl->pending_accs, n);
}

static void
need_rows(SeGroupTtl *ttl, int n)
{
	MemoryContext old;

	if (n <= ttl->max_rows)
		return;
	old = MemoryContextSwitchTo(ttl->op.env->memory);
	ttl->max_rows = n;
	ttl->rows = palloc(n * sizeof(int));
	ttl->key_values = palloc((Size) n * ttl->keys->n * sizeof(Datum));
	ttl->key_nulls = palloc((Size) n * ttl->keys->n * sizeof(bool));
	ttl->hashes = palloc(n * sizeof(uint32));
	ttl->pending_rows = palloc(n * sizeof(int));
	ttl->pending_entries = palloc(n * sizeof(SeEntry *));
	ttl->pending_accs = palloc(n * sizeof(char *));
	MemoryContextSwitchTo(old);
}

/* When a group that was written at a time expires. */
static SeTime
expiry(const SeGroupTtl *ttl, SeTime written)
{
	SeTime		expires;

	if (pg_add_s64_overflow(written, ttl->node->ttl_usecs, &expires))
		return SE_TIME_MAX;
	return expires;
}

static inline bool
is_expired(const SeGroupTtl *ttl, SeEntry *entry, SeTime clock)
{
	SeTime		expires = life_of(ttl, entry)->expires;

	return expires <= clock && expires != SE_TIME_MAX;
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
		need_rows(ttl, batch->nrows);
		op->env->current_batch = batch;
		op->env->current_row = -1;
		old = MemoryContextSwitchTo(ttl->scratch);
		for (int i = 0; i < batch->nrows; i++)
			ttl->rows[i] = i;
		se_keys_prepare(ttl->keys, batch, ttl->rows, batch->nrows, ttl->key_values, ttl->key_nulls, ttl->hashes);
		take_rows(ttl, batch);
		apply_pending(ttl, batch);
		MemoryContextSwitchTo(old);
		MemoryContextReset(ttl->scratch);
		op->env->current_batch = NULL;
		publish(ttl);
	}
	if (batch->wm_end > op->watermark_in)
		group_ttl_watermark(op, input, batch->wm_end);
}

/* Find or make the group of each row, unless it is late; they wait for apply_pending. */
static void
take_rows(SeGroupTtl *ttl, SeBatch *batch)
{
	SeOperatorEnv *env = ttl->op.env;
	int			nkeys = ttl->keys->n;

	ttl->nrows += batch->nrows;
	if (ttl->old != NULL)
		move_some(ttl, 2 * batch->nrows + 16);
	se_table_prefetch_rows(ttl->current->home->table, ttl->hashes, batch->nrows);
	for (int i = 0; i < batch->nrows; i++)
	{
		const Datum *values = ttl->key_values + (Size) i * nkeys;
		const bool *nulls = ttl->key_nulls + (Size) i * nkeys;
		SeTime		clock = row_clock(ttl, batch, i);
		SeTime		written = row_time(ttl, batch, i, clock);
		SeTime		expires = expiry(ttl, written);
		SeEntry    *entry = find_group(ttl, ttl->hashes[i], values, nulls);
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
			entry = begin_anew(ttl, entry, ttl->hashes[i], values, nulls);
			life_of(ttl, entry)->expires = expires;
			se_timers_add(&ttl->current->timers, expires, entry);
		}
		else
		{
			if (!is_current(ttl, entry))
				entry = move_group(ttl, entry);
			if (!SE_FAULT_WRONG("wrong-ttl-first-write"))
				life_of(ttl, entry)->expires = Max(life_of(ttl, entry)->expires, expires);
		}
		ttl->pending_rows[ttl->npending] = i;
		ttl->pending_entries[ttl->npending] = entry;
		ttl->pending_accs[ttl->npending] = se_entry_payload(ttl->current->home->table, entry);
		ttl->npending++;
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
	return life_of(ttl, entry)->home == ttl->current->home;
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
		se_agg_home_remove(life_of(ttl, expired)->home, expired);
	}
	entry = se_table_add(home->table, hash, values, nulls);
	entry->flags |= emitted;
	life_of(ttl, entry)->home = home;
	return entry;
}

/* A group of the old generation goes to the current one. */
static SeEntry *
move_group(SeGroupTtl *ttl, SeEntry *entry)
{
	SeEntry    *moved = se_agg_home_move(ttl->set, ttl->old->home, entry, ttl->current->home);

	Assert((moved->flags & SE_ENTRY_CHANGED) == 0);
	life_of(ttl, moved)->home = ttl->current->home;
	se_timers_add(&ttl->current->timers, life_of(ttl, moved)->expires, moved);
	return moved;
}

/*
 * Put timers right that stand before their groups' time, but not for long; true if the
 * first one's group is expired, or nobody knows.
 */
static bool
is_due(SeGroupTtl *ttl, Generation *generation)
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
		else if (life_of(ttl, entry)->expires > timers->timers[0].at)
			se_timers_delay_first(timers, life_of(ttl, entry)->expires);
		else
			return true;
	}
	return true;
}

static void
reach(SeGroupTtl *ttl, SeTime clock)
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
		reach(ttl, h);
	se_op_forward_watermark(op, input, h);
}

static void
group_ttl_timer(SeOperator *op, SeTime now)
{
	SeGroupTtl *ttl = (SeGroupTtl *) op;

	if (ttl->node->ttl == SE_TTL_PROCESSING)
		reach(ttl, now);
	se_op_forward_timer(op, now);
}

/* The row of a group that is there. */
static void
emit_change(SeGroupTtl *ttl, SeAggHome *home, SeEntry *entry)
{
	emit_row(ttl, home, entry, entry->flags & SE_ENTRY_EMITTED ? SE_ROW_UPDATE_AFTER : SE_ROW_INSERT);
	entry->flags = (entry->flags & ~SE_ENTRY_CHANGED) | SE_ENTRY_EMITTED;
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
	publish(ttl);
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

	out->kinds[row] = kind;
	out->event_time[row] = SE_TIME_MIN;
	out->wm[row] = ttl->op.watermark_out;
	out->places[row] = (SePlace)
	{
		0, 0
	};
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
expire_some(SeGroupTtl *ttl, Generation *generation, int64 *budget)
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
		if ((entry->flags & SE_ENTRY_USED) && life_of(ttl, entry)->expires > timers->timers[0].at)
		{
			se_timers_delay_first(timers, life_of(ttl, entry)->expires);
			continue;
		}
		if (entry->flags & SE_ENTRY_USED)
		{
			se_env_state_touched(ttl->op.env);
			if (ttl->node->ttl_delete && !SE_FAULT_WRONG("wrong-ttl-row-stays"))
			{
				if (entry->flags & SE_ENTRY_EMITTED)
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
	Generation *old = ttl->old;
	SeTable    *table = old->home->table;

	for (; n > 0 && table->nused > 0 && old->cursor < table->nentries; n--)
	{
		SeEntry    *entry = se_table_entry(table, old->cursor++);

		if (entry->flags & SE_ENTRY_USED)
			(void) move_group(ttl, entry);
	}
	if (table->nused > 0)
		return;
	free_generation(ttl, old);
	ttl->old = NULL;
	ttl->meta_dirty = true;
}

/* Begin the next generation if it is time. Everything has just been saved. */
static void
begin_generation(SeGroupTtl *ttl)
{
	SeAggHome  *home = ttl->current->home;
	SeTable    *table = home->table;
	uint64		bytes = se_arena_bytes(home->arena) + home->live_bytes;
	uint32		least = bytes < LEAST_BYTES ? LEAST_GONE : 0;

	if (ttl->old != NULL || table->nentries - table->nused <= GONE_PER_LIVING * table->nused + least)
		return;
	Assert(table->ndirty == 0);
	ttl->old = ttl->current;
	ttl->current = new_generation(ttl, ttl->old->number + 1);
	ttl->meta_dirty = true;

	/* An idle stream, too, is to get on with it. */
	ttl->op.env->commit_wanted = true;
}

static void
write_meta(SeGroupTtl *ttl, SeSnapshotWriter *writer)
{
	StringInfoData out;

	initStringInfo(&out);
	se_record_put_u8(&out, SE_STATE_VERSION);
	se_record_put_u8(&out, SORT_META);
	se_record_put_u32(&out, ttl->snapshots);
	se_record_put_i64(&out, ttl->clock);
	se_record_put_i64(&out, ttl->arrivals);
	se_record_put_u32(&out, ttl->current->number);
	se_record_put_u32(&out, ttl->old != NULL ? ttl->old->number : 0);
	se_snapshot_append(writer, ttl->op.id, out.data, out.len);
	pfree(out.data);
	ttl->meta_saved = ttl->snapshots;
	ttl->clock_saved = ttl->clock;
	ttl->meta_dirty = false;
}

static void
snapshot_generation(SeGroupTtl *ttl, Generation *generation, SeSnapshotWriter *writer)
{
	char		prefix[PREFIX_LEN] = {SE_STATE_VERSION, SORT_GROUPS};

	memcpy(prefix + 2, &generation->number, sizeof(generation->number));
	se_agg_home_snapshot(ttl->set, generation->home, &ttl->op, writer, ttl->snapshots, prefix, PREFIX_LEN);
}

static void
group_ttl_snapshot(SeOperator *op, SeSnapshotWriter *writer)
{
	SeGroupTtl *ttl = (SeGroupTtl *) op;

	/* What moved the clock and is passed is not met again, so the clock is saved with the position. */
	if (ttl->clock != ttl->clock_saved)
		ttl->meta_dirty = true;
	if (ttl->current->home->table->ndirty > 0 || (ttl->old != NULL && ttl->old->home->table->ndirty > 0))
		ttl->meta_dirty = true;
	if (!ttl->meta_dirty)
		return;
	ttl->snapshots++;
	if (ttl->old != NULL)
		snapshot_generation(ttl, ttl->old, writer);
	snapshot_generation(ttl, ttl->current, writer);
	write_meta(ttl, writer);
	begin_generation(ttl);
}

/* A generation that is alive, or that is being restored; NULL if it is gone. */
static Generation *
find_generation(SeGroupTtl *ttl, uint32 number)
{
	ListCell   *cell;

	if (ttl->current != NULL && ttl->current->number == number)
		return ttl->current;
	if (ttl->old != NULL && ttl->old->number == number)
		return ttl->old;
	foreach(cell, ttl->restored)
	{
		Generation *generation = lfirst(cell);

		if (generation->number == number)
			return generation;
	}
	return NULL;
}

static Size
group_ttl_rewrite(SeOperator *op, const void *record, Size len)
{
	SeGroupTtl *ttl = (SeGroupTtl *) op;
	SeRecordReader reader = se_record_reader(record, len);
	Generation *generation;
	uint8		sort;

	if (se_record_u8(&reader) != SE_STATE_VERSION)
		se_record_corrupted();
	sort = se_record_u8(&reader);
	if (sort == SORT_META)
	{
		if (se_record_u32(&reader) != ttl->meta_saved || ttl->meta_dirty)
			return 0;
		ttl->meta_dirty = true;
		return len;
	}
	if (sort != SORT_GROUPS)
		se_record_corrupted();
	generation = find_generation(ttl, se_record_u32(&reader));
	return generation == NULL ? 0 : se_agg_home_rewrite(ttl->set, generation->home, record, len, PREFIX_LEN);
}

static void
read_meta(SeGroupTtl *ttl, SeRecordReader *reader)
{
	ttl->meta_saved = se_record_u32(reader);
	ttl->snapshots = Max(ttl->snapshots, ttl->meta_saved);
	ttl->clock = ttl->clock_saved = se_record_i64(reader);
	ttl->arrivals = se_record_i64(reader);
	ttl->restored_current = se_record_u32(reader);
	ttl->restored_old = se_record_u32(reader);
	if (ttl->restored_current == 0 || ttl->restored_old >= ttl->restored_current || ttl->arrivals < 0 ||
		reader->next != reader->end)
		se_record_corrupted();
}

static void
group_ttl_restore(SeOperator *op, const void *record, Size len)
{
	SeGroupTtl *ttl = (SeGroupTtl *) op;
	SeRecordReader reader = se_record_reader(record, len);
	MemoryContext old = MemoryContextSwitchTo(ttl->scratch);
	uint8		sort;

	if (se_record_u8(&reader) != SE_STATE_VERSION)
		se_record_corrupted();
	sort = se_record_u8(&reader);
	if (sort == SORT_META)
		read_meta(ttl, &reader);
	else if (sort == SORT_GROUPS)
		read_groups(ttl, &reader);
	else
		se_record_corrupted();
	MemoryContextSwitchTo(old);
	MemoryContextReset(ttl->scratch);
}

static void
read_groups(SeGroupTtl *ttl, SeRecordReader *reader)
{
	uint32		number = se_record_u32(reader);
	SeAggRecordKind kind = se_record_u8(reader);
	Generation *generation;
	uint32		snapshot;

	if (number == 0)
		se_record_corrupted();
	generation = find_generation(ttl, number);
	if (generation == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(ttl->op.env->memory);

		generation = new_generation(ttl, number);
		ttl->restored = lappend(ttl->restored, generation);
		MemoryContextSwitchTo(old);
	}
	snapshot = se_agg_home_restore(ttl->set, generation->home, kind, reader);
	ttl->snapshots = Max(ttl->snapshots, snapshot);
}

static Generation *
take_restored(SeGroupTtl *ttl, uint32 number)
{
	Generation *generation = find_generation(ttl, number);

	if (generation == NULL)
		return new_generation(ttl, number);
	ttl->restored = list_delete_ptr(ttl->restored, generation);
	return generation;
}

/* Make the timers of a generation's groups, each of which is nowhere else. */
static void
link_groups(SeGroupTtl *ttl, Generation *generation)
{
	SeTable    *table = generation->home->table;

	for (uint32 i = 0; i < table->nentries; i++)
	{
		SeEntry    *entry = se_table_entry(table, i);

		if (!(entry->flags & SE_ENTRY_USED))
			continue;
		if (generation == ttl->old &&
			se_table_find(ttl->current->home->table, entry->hash, se_entry_keys(table, entry), entry->nulls) != NULL)
			se_record_corrupted();
		life_of(ttl, entry)->home = generation->home;
		se_timers_add(&generation->timers, life_of(ttl, entry)->expires, entry);
	}
}

/* Generations that are gone were restored for nothing. */
static void
group_ttl_restored(SeOperator *op)
{
	SeGroupTtl *ttl = (SeGroupTtl *) op;
	ListCell   *cell;

	ttl->current = take_restored(ttl, Max(ttl->restored_current, 1));
	if (ttl->restored_old != 0)
		ttl->old = take_restored(ttl, ttl->restored_old);
	foreach(cell, ttl->restored)
		free_generation(ttl, lfirst(cell));
	list_free(ttl->restored);
	ttl->restored = NIL;

	link_groups(ttl, ttl->current);
	if (ttl->old != NULL)
		link_groups(ttl, ttl->old);
	reach(ttl, ttl->clock);
	op->env->commit_wanted |= ttl->old != NULL;
	publish(ttl);
}

static void
publish(SeGroupTtl *ttl)
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
