/*
 * operators/window_adopt.c
 *		Windows kept in slices become whole windows, because their results are to change from now on.
 *
 * Groups of a window that is cut into slices exist only while it fires. So every open window fires once, in order of
 * their ends, but into the slice that it is from now on, and not to anybody:
 *
 *		slices		| a | b | c | d |			[a b c)  -->  slice of its own
 *												  [b c d)  -->  slice of its own
 *
 * Windows that have closed under the former options are final: what is late for them stays late (dropped_to). Groups
 * of the others were never emitted, so they are stale. Conditions on windows are met above the aggregate of slices and
 * below that of whole windows: windows that fail them are left out here.
 *
 * Runs in: task worker, in a round.
 */
#include "postgres.h"

#include "base/fault.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "operators/agg_call.h"
#include "operators/window_agg_internal.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

/* The conditions that windows must meet. */
typedef struct Conditions
{
	int			nkeys;
	ExprState  *quals;
	ExprContext *econtext;
	TupleTableSlot *slot;		/* a row with nothing but the window; NULL = there are no conditions */
} Conditions;

static void begin_conditions(Conditions *conditions, const SeWindowAgg *from);
static bool meets(Conditions *conditions, SeTime start, SeTime end);
static void end_conditions(Conditions *conditions);
static void take_window(SeWindowAgg *agg, SeWindowAgg *from, SeTime start, bool wanted);
static void take_groups(SeWindowAgg *agg, SeWindowAgg *from, SeAggHome *home, SeTime start);
static bool is_present(SeWindowAgg *from, SeAggHome *home, const SeEntry *entry);
static void take_group(SeWindowAgg *agg, SeWindowAgg *from, SeAggHome *home, SeEntry *entry, SeSlice *slice);

void
se_window_agg_adopt(SeOperator *op, SeOperator *former)
{
	SeWindowAgg *agg = (SeWindowAgg *) op;
	SeWindowAgg *from = (SeWindowAgg *) former;
	SeTime		closed_to = from->closed_to;
	Conditions	conditions;

	if (!agg->updating || from->updating || !from->node->sliced || agg->set->payload_size != from->set->payload_size)
		elog(ERROR, "windows cannot be taken over by operator %d", op->id);
	Assert(!from->firing && from->result == NULL);
	se_env_state_touched(op->env);
	begin_conditions(&conditions, from);
	while (from->nslices > 0)
	{
		SeTime		start = se_window_start_of_end(&from->node->window, from->deadline);

		from->fire_end = from->deadline;
		take_window(agg, from, start, meets(&conditions, start, from->fire_end));
		from->closed_to = Max(from->closed_to, from->fire_end);
		se_window_agg_drop_slices(from, from->closed_to);
		se_window_agg_set_deadline(from);
		CHECK_FOR_INTERRUPTS();
	}
	end_conditions(&conditions);

	agg->closed_to = closed_to;
	if (!SE_FAULT_WRONG("wrong-closed-window-opened"))
		agg->dropped_to = closed_to;
	op->watermark_in = former->watermark_in;
	op->watermark_out = former->watermark_out;
	agg->meta.dirty = true;
	se_window_update_restored(agg);
	se_window_agg_set_deadline(agg);
	se_window_agg_publish(agg);
}

static void
begin_conditions(Conditions *conditions, const SeWindowAgg *from)
{
	memset(conditions, 0, sizeof(Conditions));
	if (from->node->conditions == NIL || SE_FAULT_WRONG("wrong-window-condition-forgotten"))
		return;
	conditions->nkeys = from->keys->n;
	conditions->econtext = CreateStandaloneExprContext();
	conditions->slot = MakeSingleTupleTableSlot(from->op.out_desc, &TTSOpsVirtual);
	conditions->econtext->ecxt_scantuple = conditions->slot;
	conditions->quals = ExecInitQual(from->node->conditions, NULL);
}

static bool
meets(Conditions *conditions, SeTime start, SeTime end)
{
	TupleTableSlot *slot = conditions->slot;
	Datum	   *values;

	if (slot == NULL)
		return true;
	ExecClearTuple(slot);
	values = slot->tts_values + conditions->nkeys;
	memset(slot->tts_isnull, true, slot->tts_tupleDescriptor->natts * sizeof(bool));
	values[0] = TimestampGetDatum(start);
	values[1] = TimestampGetDatum(end);
	values[2] = TimestampGetDatum(end - 1);
	memset(slot->tts_isnull + conditions->nkeys, false, 3 * sizeof(bool));
	ExecStoreVirtualTuple(slot);
	ResetExprContext(conditions->econtext);
	return ExecQual(conditions->quals, conditions->econtext);
}

static void
end_conditions(Conditions *conditions)
{
	if (conditions->slot == NULL)
		return;
	ExecDropSingleTupleTableSlot(conditions->slot);
	FreeExprContext(conditions->econtext, true);
}

/* The window [start, from->fire_end): its groups are those that would be emitted now. */
static void
take_window(SeWindowAgg *agg, SeWindowAgg *from, SeTime start, bool wanted)
{
	if (!from->single)
	{
		se_window_merge_window(from, start, from->fire_end);
		if (wanted)
			take_groups(agg, from, from->merged.home, start);
	}
	else
	{
		SeSlice    *slice = se_window_agg_find_slice(from, start, from->fire_end);

		if (slice == NULL)
			elog(ERROR, "a window is taken over that has no slice");
		if (wanted)
			take_groups(agg, from, slice->home, slice->start);
	}
}

static void
take_groups(SeWindowAgg *agg, SeWindowAgg *from, SeAggHome *home, SeTime start)
{
	MemoryContext old = MemoryContextSwitchTo(agg->scratch);
	SeSlice    *slice = NULL;

	for (uint32 i = 0; i < home->table->nentries; i++)
	{
		SeEntry    *entry = se_table_entry(home->table, i);

		if (!is_present(from, home, entry))
			continue;
		if (slice == NULL)
			slice = se_window_agg_slice(agg, start, from->fire_end);
		take_group(agg, from, home, entry, slice);
		if (i % 256 == 255)
		{
			MemoryContextReset(agg->scratch);
			CHECK_FOR_INTERRUPTS();
		}
	}
	if (slice != NULL)
		se_agg_live_account(agg->op.env, slice->home, false);
	MemoryContextSwitchTo(old);
	MemoryContextReset(agg->scratch);
}

/* Did rows of the window bring the group? */
static bool
is_present(SeWindowAgg *from, SeAggHome *home, const SeEntry *entry)
{
	if (!(entry->flags & SE_ENTRY_USED))
		return false;
	return from->single || se_window_merge_present(from, se_entry_payload(home->table, entry));
}

static void
take_group(SeWindowAgg *agg, SeWindowAgg *from, SeAggHome *home, SeEntry *entry, SeSlice *slice)
{
	SeTable    *table;
	SeEntry    *shown = se_window_agg_shown(from, home, entry, slice->start, &table);
	SeEntry    *group = se_table_get(slice->home->table, shown->hash, se_entry_keys(table, shown), shown->nulls);
	char	   *to = se_entry_payload(slice->home->table, group);
	const char *value = se_entry_payload(home->table, entry);

	se_table_touch_rows(slice->home->table, &group, 1);
	if (!from->single)
		value = se_window_merge_group(from, entry, slice->home, to);
	if (value != to)
		se_agg_set_merge(from->set, slice->home, to, value);
}
