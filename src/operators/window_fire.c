/*
 * operators/window_fire.c
 *		Windows whose end the watermark has reached: rows out, slices gone.
 *
 * A firing emits the groups of one window in order of their entry index; `cursor` is
 * the next one. When the sink's output is full the firing stops after a batch and the
 * task commits; so a commit may fall inside a firing, and the cursor is in the state.
 * Windows fire in order of their end. Rows are stamped with the watermark before the
 * advance that fired them (I4).
 */
#include "postgres.h"

#include "base/fault.h"
#include "miscadmin.h"
#include "operators/window_agg_internal.h"
#include "utils/timestamp.h"

static void begin_firing(SeWindowAgg *agg);
static void end_firing(SeWindowAgg *agg);
static void emit_group(SeWindowAgg *agg, SeAggHome *home, SeEntry *entry, char *payload, SeTime start);
static void flush(SeWindowAgg *agg);

bool
se_window_agg_advance(SeOperator *op, SeTime h)
{
	SeWindowAgg *agg = (SeWindowAgg *) op;
	SeTime		reached = h;

	if (agg->updating)
		return se_window_update_advance(agg, h);
	if (SE_FAULT_WRONG("wrong-fire-early") && h > SE_TIME_MIN && h < SE_TIME_MAX - agg->node->window.size)
		reached = h + agg->node->window.size;
	while (agg->firing || (agg->nslices > 0 && agg->deadline <= reached))
	{
		if (agg->op.env->output_full)
			return false;
		if (!agg->firing)
			begin_firing(agg);
		if (!se_window_agg_finish_firing(agg))
			return false;
	}
	if (h > agg->closed_to)
	{
		agg->closed_to = h;
		agg->meta.dirty = true;
	}
	if (h > agg->op.watermark_out)
		se_op_emit_watermark(&agg->op, h);
	return true;
}

static void
begin_firing(SeWindowAgg *agg)
{
	se_env_state_touched(agg->op.env);
	agg->firing = true;
	agg->fire_end = agg->deadline;
	agg->cursor = 0;
	agg->meta.dirty = true;
	if (!agg->single)
		se_window_merge_window(agg, se_window_start_of_end(&agg->node->window, agg->fire_end),
							   agg->fire_end);
}

/* Emit what is left of the window; false if the output is full before the last group. */
bool
se_window_agg_finish_firing(SeWindowAgg *agg)
{
	SeTime		start = se_window_start_of_end(&agg->node->window, agg->fire_end);
	bool		merged = !agg->single && agg->result == NULL;
	SeAggHome  *home = agg->result;
	SeAggHome  *scratch = NULL;

	if (agg->single)
	{
		SeSlice    *slice = se_window_agg_find_slice(agg, start, agg->fire_end);

		if (slice == NULL)
			elog(ERROR, "a window fires that has no slice");
		start = slice->start;
		home = slice->home;
	}
	else if (merged)
		home = agg->merged.home;

	se_env_state_touched(agg->op.env);
	while (agg->cursor < home->table->nentries)
	{
		SeEntry    *entry = se_table_entry(home->table, agg->cursor++);
		char	   *payload;

		if (!(entry->flags & SE_ENTRY_USED))
			continue;
		payload = se_entry_payload(home->table, entry);
		if (merged)
		{
			if (scratch == NULL)
				scratch = se_agg_home_new(agg->set, agg->keys, agg->set->payload_size);
			payload = se_window_merge_group(agg, entry, scratch, payload);
			if (payload == NULL)
				continue;
		}
		emit_group(agg, home, entry, payload, start);
		if (agg->out->nrows < agg->out->capacity)
			continue;
		flush(agg);
		if (scratch != NULL)
			se_agg_home_free(agg->set, scratch);
		scratch = NULL;
		CHECK_FOR_INTERRUPTS();
		if (agg->op.env->output_full && agg->cursor < home->table->nentries)
			return false;
	}
	flush(agg);
	if (scratch != NULL)
		se_agg_home_free(agg->set, scratch);
	end_firing(agg);
	return true;
}

static void
end_firing(SeWindowAgg *agg)
{
	agg->firing = false;
	agg->cursor = 0;
	agg->closed_to = Max(agg->closed_to, agg->fire_end);
	agg->meta.dirty = true;
	if (agg->result != NULL)
		se_agg_home_free(agg->set, agg->result);
	agg->result = NULL;

	/* The mutant leaves the slices until they have fired once more. */
	if (!SE_FAULT_WRONG("wrong-slice-not-dropped") || agg->kept)
		se_window_agg_drop_slices(agg, agg->closed_to);
	agg->kept = !agg->kept;
	se_window_agg_set_deadline(agg);
}

/*
 * The entry whose key is shown: one that rows of the window brought. Equal keys may look
 * different (1.0 and 1.00), and a merged group may have come with a slice that has left.
 */
SeEntry *
se_window_agg_shown(SeWindowAgg *agg, SeAggHome *home, SeEntry *entry, SeTime start, SeTable **table)
{
	const Datum *values = se_entry_keys(home->table, entry);

	*table = home->table;
	if (agg->single || !agg->keys->looks_vary)
		return entry;
	for (int i = 0; i < agg->nslices && agg->slices[i]->end <= agg->fire_end; i++)
	{
		SeTable    *slice = agg->slices[i]->home->table;
		SeEntry    *own = NULL;

		if (agg->slices[i]->start >= start)
			own = se_table_find(slice, entry->hash, values, entry->nulls);
		if (own != NULL)
		{
			*table = slice;
			return own;
		}
	}
	return entry;
}

/* One output row: keys, the window, aggregates. */
static void
emit_group(SeWindowAgg *agg, SeAggHome *home, SeEntry *entry, char *payload, SeTime start)
{
	SeBatch    *out = agg->out;
	int			nkeys = agg->keys->n;
	int			row = out->nrows;
	Datum	   *values = se_batch_values(out, row);
	bool	   *nulls = se_batch_nulls(out, row);
	MemoryContext old = MemoryContextSwitchTo(out->arena);
	SeTable    *table;
	SeEntry    *shown = se_window_agg_shown(agg, home, entry, start, &table);

	memcpy(values, se_entry_keys(table, shown), nkeys * sizeof(Datum));
	memcpy(nulls, shown->nulls, nkeys * sizeof(bool));
	values[nkeys] = TimestampGetDatum(start);
	values[nkeys + 1] = TimestampGetDatum(agg->fire_end);
	values[nkeys + 2] = TimestampGetDatum(agg->fire_end - 1);
	nulls[nkeys] = nulls[nkeys + 1] = nulls[nkeys + 2] = false;
	se_agg_set_final(agg->set, home, payload, values + nkeys + 3, nulls + nkeys + 3);
	MemoryContextSwitchTo(old);

	se_batch_stamp(out, row, SE_ROW_INSERT, agg->fire_end - 1, agg->op.watermark_out);
	out->nrows++;
}

static void
flush(SeWindowAgg *agg)
{
	if (agg->out->nrows == 0)
		return;
	SE_FAULT_POINT("window-fire-group");
	agg->out->wm_end = agg->op.watermark_out;
	se_op_emit(&agg->op, agg->out);
	se_batch_reset(agg->out);
}

/*
 * A commit falls into the firing of a merged window: from here on the rest of its
 * groups stand alone, because the merged ones are not saved. In a round.
 */
void
se_window_agg_keep_result(SeWindowAgg *agg)
{
	SeTable    *table = agg->merged.home->table;

	agg->result = se_agg_home_new(agg->set, agg->keys, agg->set->payload_size);
	agg->result_end = agg->fire_end;
	for (uint32 i = agg->cursor; i < table->nentries; i++)
	{
		SeEntry    *entry = se_table_entry(table, i);
		SeAggHome  *home = agg->result;
		char	   *payload = se_entry_payload(table, entry);
		SeEntry    *copy;
		char	   *to;
		char	   *from;

		if (!(entry->flags & SE_ENTRY_USED) || !se_window_merge_present(agg, payload))
			continue;
		copy = se_table_put_at(home->table, i, entry->hash, se_entry_keys(table, entry), entry->nulls);
		to = se_entry_payload(home->table, copy);
		from = se_window_merge_group(agg, entry, home, to);
		if (from != to)
			se_agg_set_merge(agg->set, home, to, from);
		se_table_touch_rows(home->table, &copy, 1);
	}
}
