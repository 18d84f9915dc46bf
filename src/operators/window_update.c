/*
 * operators/window_update.c
 *		Windows whose results change: when they are emitted, and until when late rows are taken.
 *
 * A window [start, end) lives until the watermark is `allowed_lateness` behind its end.
 * What is emitted of it are its *stale* groups, at these times of the watermark:
 *
 *		start + early, start + 2 early, …  < end	with `early`; by the clock at tick marks instead
 *		end
 *		end + late, end + 2 late, …  < gone		with `late` above 0
 *		gone = end + allowed_lateness				and then it is dropped
 *
 * and, whatever the watermark, with each commit: with `on_update` those of windows that are
 * open, with `late` = 0 those of windows that have closed; with `every` a group of an open
 * window at its n-th, 2n-th … row. All but the commits follow from the log alone (I4); a
 * row that waits for the commit is the newest of its group (net_rows.h), so between two
 * commits nobody sees how many there were.
 *
 * A time between two emissions that finds nothing stale is passed over, however many such
 * times there are: a slice has a `boundary` only while it is *awake*, from its first new row on.
 *
 * A full output stops an emission anywhere. What is left is stale still, so nothing but the
 * time it stopped at (closed_to, just before it) is state, and coming there again does the rest.
 *
 * Runs in: task worker, in a round.
 */
#include "postgres.h"

#include "base/fault.h"
#include "common/int.h"
#include "miscadmin.h"
#include "operators/counted.h"
#include "operators/window_agg_internal.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

/* Whose groups are emitted. */
typedef struct Emission
{
	SeWindowAgg *agg;
	SeSlice    *slice;
} Emission;

static bool fire(SeWindowAgg *agg, SeTime t);
static bool emit_stale(SeWindowAgg *agg, SeSlice *slice);
static void emit_all_stale(SeWindowAgg *agg, SeSlice *slice);
static void emit_group(SeWindowAgg *agg, SeSlice *slice, SeEntry *entry);
static SeTime next_boundary(const SeWindowAgg *agg, const SeSlice *slice, SeTime now);
static void sleep_slice(SeWindowAgg *agg, SeSlice *slice);
static void emit_counted(void *arg, SeEntry *entry);

/* a + b of a time and a length, without going over the end of time. */
static SeTime
later(SeTime time, int64 length)
{
	SeTime		sum;

	return pg_add_s64_overflow(time, length, &sum) ? SE_TIME_MAX : sum;
}

static SeTime
earlier(SeTime time, int64 length)
{
	SeTime		difference;

	if (time == SE_TIME_MAX)
		return time;
	return pg_sub_s64_overflow(time, length, &difference) ? SE_TIME_MIN : difference;
}

/* When a slice is dropped. */
static SeTime
gone(const SeWindowAgg *agg, const SeSlice *slice)
{
	return later(slice->last_end, agg->node->emit.lateness);
}

static bool
is_closed(const SeWindowAgg *agg, const SeSlice *slice)
{
	return slice->last_end <= agg->closed_to;
}

/* Are its stale groups emitted with each commit? */
static bool
is_prompt(const SeWindowAgg *agg, const SeSlice *slice)
{
	const SeEmit *emit = &agg->node->emit;

	return is_closed(agg, slice) ? emit->late == 0 : emit->on_update;
}

void
se_window_update_init(SeWindowAgg *agg)
{
	int			ncolumns = agg->op.out_desc->natts;

	Assert(agg->single);
	agg->boundaries = (agg->node->emit.early > 0 && !agg->node->emit.early_clock) || agg->node->emit.late > 0;
	se_net_rows_init(&agg->net, &agg->op);
	agg->max_awake = 16;
	agg->awake = palloc(agg->max_awake * sizeof(SeSlice *));
	agg->out_values = palloc(ncolumns * sizeof(Datum));
	agg->out_nulls = palloc(ncolumns * sizeof(bool));
}

/* A (row, window) pair with this stamp is late iff the window ends by then. */
SeTime
se_window_update_horizon(const SeWindowAgg *agg, SeTime wm)
{
	if (SE_FAULT_WRONG("wrong-lateness-ignored"))
		return wm;
	if (SE_FAULT_WRONG("wrong-final-touched"))
		return earlier(wm, later(agg->node->emit.lateness, USECS_PER_HOUR));
	return Max(earlier(wm, agg->node->emit.lateness), agg->dropped_to);
}

/* Reach a watermark; false if the output is full before. */
bool
se_window_update_advance(SeWindowAgg *agg, SeTime h)
{
	SeTime		dropped = earlier(h, agg->node->emit.lateness);

	while (agg->nslices > 0 && agg->deadline <= h)
	{
		if (agg->op.env->output_full || !fire(agg, agg->deadline))
			return false;
	}
	if (h > agg->closed_to || dropped > agg->dropped_to)
	{
		agg->closed_to = Max(agg->closed_to, h);
		agg->dropped_to = Max(agg->dropped_to, dropped);
		agg->meta.dirty = true;
	}
	if (h > agg->op.watermark_out)
		se_op_emit_watermark(&agg->op, h);
	return true;
}

/* All that is to be done at one time of the watermark. Until it is, closed_to stands before it. */
static bool
fire(SeWindowAgg *agg, SeTime t)
{
	agg->closed_to = Max(agg->closed_to, t - 1);
	agg->meta.dirty = true;
	se_env_state_touched(agg->op.env);

	for (int i = agg->nawake - 1; i >= 0; i--)
	{
		if (agg->awake[i]->boundary <= t && !emit_stale(agg, agg->awake[i]))
			return false;
	}
	for (int i = se_window_agg_position(agg, t); i < agg->nslices && agg->slices[i]->end <= t; i++)
	{
		if (!emit_stale(agg, agg->slices[i]))
			return false;
	}
	for (int i = 0; i < agg->nslices && gone(agg, agg->slices[i]) <= t; i++)
	{
		if (!emit_stale(agg, agg->slices[i]))
			return false;
	}
	agg->dropped_to = Max(agg->dropped_to, earlier(t, agg->node->emit.lateness));
	se_window_agg_drop_slices(agg, agg->dropped_to);
	agg->closed_to = Max(agg->closed_to, t);
	se_window_agg_set_deadline(agg);
	return true;
}

/* Emit what is stale of a slice, which then sleeps; false if the output is full before the last. */
static bool
emit_stale(SeWindowAgg *agg, SeSlice *slice)
{
	SeEntry    *entry;
	int			n = 0;

	while ((entry = se_stale_take(&slice->stale, slice->home->table)) != NULL)
	{
		emit_group(agg, slice, entry);
		if (++n % 256 != 0)
			continue;
		MemoryContextReset(agg->scratch);
		SE_FAULT_POINT("window-fire-group");
		CHECK_FOR_INTERRUPTS();
		if (agg->op.env->output_full)
			return false;
	}
	MemoryContextReset(agg->scratch);
	sleep_slice(agg, slice);
	return true;
}

/* The same where nothing can wait. */
static void
emit_all_stale(SeWindowAgg *agg, SeSlice *slice)
{
	while (!emit_stale(agg, slice))
		;
}

/* The row of a group, for the commit to come. */
static void
emit_group(SeWindowAgg *agg, SeSlice *slice, SeEntry *entry)
{
	SeTable    *table = slice->home->table;
	char	   *payload = se_entry_payload(table, entry);
	int			nkeys = agg->keys->n;
	Datum	   *values = agg->out_values;
	bool	   *nulls = agg->out_nulls;
	MemoryContext old = MemoryContextSwitchTo(agg->scratch);

	se_env_state_touched(agg->op.env);
	memcpy(values, se_entry_keys(table, entry), nkeys * sizeof(Datum));
	memcpy(nulls, entry->nulls, nkeys * sizeof(bool));
	values[nkeys] = TimestampGetDatum(slice->start);
	values[nkeys + 1] = TimestampGetDatum(slice->last_end);
	values[nkeys + 2] = TimestampGetDatum(slice->last_end - 1);
	nulls[nkeys] = nulls[nkeys + 1] = nulls[nkeys + 2] = false;
	se_agg_set_final(agg->set, slice->home, payload, values + nkeys + 3, nulls + nkeys + 3);
	se_net_rows_put(&agg->net, &se_agg_emit_header(agg->set, payload)->net,
					(entry->flags & SE_ENTRY_EMITTED) ? SE_ROW_UPDATE_AFTER : SE_ROW_INSERT,
					slice->last_end - 1, values, nulls);
	MemoryContextSwitchTo(old);

	entry->flags = (entry->flags | SE_ENTRY_EMITTED) & ~SE_ENTRY_STALE;
	se_table_touch_rows(table, &entry, 1);
}

/* The first time after `now`, before the slice closes or before it is dropped, at which it is emitted. */
static SeTime
next_boundary(const SeWindowAgg *agg, const SeSlice *slice, SeTime now)
{
	const SeEmit *emit = &agg->node->emit;
	SeTime		from = slice->start;
	SeTime		until = slice->last_end;
	int64		step = emit->early_clock ? 0 : emit->early;
	SeTime		boundary;

	if (now >= slice->last_end)
	{
		from = slice->last_end;
		until = gone(agg, slice);
		step = emit->late;
	}
	if (step == 0 || now >= until)
		return SE_TIME_MAX;
	boundary = later(from, (Max(now, from) - from) / step * step);
	boundary = later(boundary, step);
	return boundary < until ? boundary : SE_TIME_MAX;
}

/* A row with this stamp comes for the slice, which may have a boundary from now on. */
void
se_window_update_wake(SeWindowAgg *agg, SeSlice *slice, SeTime wm)
{
	if (slice->awake > 0)
		return;
	slice->boundary = next_boundary(agg, slice, Max(agg->closed_to, wm));
	if (slice->boundary == SE_TIME_MAX)
		return;
	if (agg->nawake == agg->max_awake)
	{
		agg->max_awake *= 2;
		agg->awake = repalloc(agg->awake, agg->max_awake * sizeof(SeSlice *));
	}
	agg->awake[agg->nawake++] = slice;
	slice->awake = agg->nawake;
	agg->deadline = Min(agg->deadline, slice->boundary);
}

static void
sleep_slice(SeWindowAgg *agg, SeSlice *slice)
{
	SeSlice    *last;

	if (slice->awake == 0)
		return;
	last = agg->awake[--agg->nawake];
	agg->awake[slice->awake - 1] = last;
	last->awake = slice->awake;
	slice->awake = 0;
}

/* When the next thing happens. There are slices. */
SeTime
se_window_update_deadline(const SeWindowAgg *agg)
{
	SeTime		deadline = gone(agg, agg->slices[0]);

	if (agg->closed_to < SE_TIME_MAX)
	{
		int			i = se_window_agg_position(agg, agg->closed_to + 1);

		if (i < agg->nslices)
			deadline = Min(deadline, agg->slices[i]->last_end);
	}
	for (int i = 0; i < agg->nawake; i++)
		deadline = Min(deadline, agg->awake[i]->boundary);
	return deadline;
}

/* The first n rows of agg->keyed change their groups. */
void
se_window_update_apply(SeWindowAgg *agg, SeSlice *slice, const SeBatch *batch, int n)
{
	Emission	emission = {agg, slice};
	SeCounted	counted = {agg->set, slice->home, &slice->stale, 0, emit_counted, &emission};

	if (!is_closed(agg, slice))
		counted.every = agg->node->emit.every;
	se_counted_apply(&counted, batch, agg->keyed.rows, agg->keyed.entries, agg->keyed.accs, n, agg->due);
}

static void
emit_counted(void *arg, SeEntry *entry)
{
	Emission   *emission = arg;

	emit_group(emission->agg, emission->slice, entry);
}

/* At a tick: with `early … processing` open windows are emitted once per interval of the clock. */
void
se_window_update_timer(SeOperator *op, SeTime now)
{
	SeWindowAgg *agg = (SeWindowAgg *) op;
	const SeEmit *emit = &agg->node->emit;
	SeTime		at = emit->early_clock ? se_window_align(now, emit->early, 0) : SE_TIME_MIN;

	if (at <= agg->early_tick)
		return;
	agg->early_tick = at;
	agg->meta.dirty = true;
	se_env_state_touched(agg->op.env);
	for (int i = 0; i < agg->nslices; i++)
	{
		if (!is_closed(agg, agg->slices[i]))
			emit_all_stale(agg, agg->slices[i]);
	}
}

/* The commit comes: what is emitted with it, and then everything that waited for it. */
void
se_window_update_prepare(SeWindowAgg *agg)
{
	for (int i = 0; i < agg->nslices; i++)
	{
		if (is_prompt(agg, agg->slices[i]))
			emit_all_stale(agg, agg->slices[i]);
	}
	se_net_rows_flush(&agg->net);
}

/* What is stale, and what is awake, of restored slices. */
void
se_window_update_restored(SeWindowAgg *agg)
{
	for (int i = 0; i < agg->nslices; i++)
	{
		SeSlice    *slice = agg->slices[i];

		se_stale_restore(&slice->stale, slice->home->table, slice->home->memory);
		if (slice->stale.n == 0)
			continue;
		se_window_update_wake(agg, slice, agg->closed_to);
		/* Other options held it back: no row may come any more. */
		agg->op.env->commit_wanted |= is_prompt(agg, slice);
	}
}

/* A slice is dropped. */
void
se_window_update_forget(SeWindowAgg *agg, SeSlice *slice)
{
	sleep_slice(agg, slice);
	se_stale_free(&slice->stale);
}
