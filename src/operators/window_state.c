/*
 * operators/window_state.c
 *		The window aggregate's records: snapshot, rewrite, restore.
 *
 * Every record begins with 1 version (1) and 1 sort of record:
 *
 *	M	the operator: 4 number of the snapshot, 8 closed_to, 8 watermark sent on,
 *		1 firing, 8 end of the window that fires, 4 cursor, then the stash (stash.c);
 *		of results that change also 8 dropped_to, 8 early_tick
 *	S	a slice: 8 start, 8 end, then as in operators/agg_set.h
 *	R	groups of a merged window still to be emitted: the same
 *
 * The newest M counts. It also says which slices are gone: those whose last window
 * ended by closed_to; so nothing is written when a slice is dropped.
 */
#include "postgres.h"

#include "operators/window_agg_internal.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#define SORT_SLICE 'S'
#define SORT_RESULT 'R'

/* Version, sort, start, end. */
#define PREFIX_LEN 18

static void write_meta(SeWindowAgg *agg, SeSnapshotWriter *writer);
static void read_meta(SeWindowAgg *agg, SeRecordReader *reader);
static void check_zone(const SeWindowAgg *agg);

static void
make_prefix(char *prefix, char sort, SeTime start, SeTime end)
{
	prefix[0] = SE_STATE_VERSION;
	prefix[1] = sort;
	memcpy(prefix + 2, &start, sizeof(start));
	memcpy(prefix + 10, &end, sizeof(end));
}

/* In a round, so user functions may serialise states. */
void
se_window_state_prepare(SeOperator *op)
{
	SeWindowAgg *agg = (SeWindowAgg *) op;
	MemoryContext old = MemoryContextSwitchTo(agg->scratch);

	if (agg->firing && !agg->single && agg->result == NULL)
		se_window_agg_keep_result(agg);
	if (agg->updating)
		se_window_update_prepare(agg);
	for (int i = 0; i < agg->nslices; i++)
		se_agg_home_prepare(agg->set, agg->slices[i]->home);
	if (agg->result != NULL)
		se_agg_home_prepare(agg->set, agg->result);
	MemoryContextSwitchTo(old);
	MemoryContextReset(agg->scratch);
	se_window_agg_publish(agg);
}

void
se_window_state_snapshot(SeOperator *op, SeSnapshotWriter *writer)
{
	SeWindowAgg *agg = (SeWindowAgg *) op;
	char		prefix[PREFIX_LEN];

	agg->meta.snapshots++;
	for (int i = 0; i < agg->nslices; i++)
	{
		SeSlice    *slice = agg->slices[i];

		make_prefix(prefix, SORT_SLICE, slice->start, slice->end);
		se_agg_home_snapshot(agg->set, slice->home, op, writer, agg->meta.snapshots, prefix, PREFIX_LEN);
	}
	if (agg->result != NULL)
	{
		make_prefix(prefix, SORT_RESULT, agg->fire_end, agg->fire_end);
		se_agg_home_snapshot(agg->set, agg->result, op, writer, agg->meta.snapshots, prefix, PREFIX_LEN);
	}
	if (agg->meta.dirty)
		write_meta(agg, writer);
}

static void
write_meta(SeWindowAgg *agg, SeSnapshotWriter *writer)
{
	StringInfoData out;

	se_meta_record_begin(&agg->meta, &out);
	se_record_put_i64(&out, agg->closed_to);
	se_record_put_i64(&out, agg->op.watermark_out);
	se_record_put_u8(&out, agg->firing);
	se_record_put_i64(&out, agg->fire_end);
	se_record_put_u32(&out, agg->cursor);
	se_stash_write(&agg->stash, &out);
	if (agg->updating)
	{
		se_record_put_i64(&out, agg->dropped_to);
		se_record_put_i64(&out, agg->early_tick);
	}
	se_meta_record_append(&agg->meta, &out, &agg->op, writer);
}

static void
read_meta(SeWindowAgg *agg, SeRecordReader *reader)
{
	uint8		firing;

	se_meta_record_read(&agg->meta, reader);
	agg->closed_to = se_record_i64(reader);
	agg->op.watermark_out = se_record_i64(reader);
	firing = se_record_u8(reader);
	if (firing > 1)
		se_record_corrupted();
	agg->firing = firing != 0;
	agg->fire_end = se_record_i64(reader);
	agg->cursor = se_record_u32(reader);
	se_stash_read(&agg->stash, reader);

	/* Written while results did not change: a window was dropped when it closed. */
	agg->dropped_to = agg->closed_to;
	agg->early_tick = 0;
	if (reader->next != reader->end)
	{
		agg->dropped_to = se_record_i64(reader);
		agg->early_tick = se_record_i64(reader);
	}
	if (reader->next != reader->end)
		se_record_corrupted();
}

/*
 * The home a record belongs to; NULL if it is gone. `make`: a restore does not know
 * yet what is gone.
 */
static SeAggHome *
home_of_record(SeWindowAgg *agg, uint8 sort, SeTime start, SeTime end, bool make)
{
	SeSlice    *slice;

	if (start > end || (sort != SORT_SLICE && sort != SORT_RESULT))
		se_record_corrupted();
	if (sort == SORT_SLICE)
	{
		slice = make ? se_window_agg_slice(agg, start, end) :
			se_window_agg_find_slice(agg, start, end);
		return slice == NULL ? NULL : slice->home;
	}
	if (agg->result != NULL && agg->result_end == end)
		return agg->result;
	if (!make)
		return NULL;
	if (agg->result != NULL)
		se_agg_home_free(agg->set, agg->result);
	agg->result = se_agg_home_new(agg->set, agg->keys, agg->set->payload_size);
	agg->result_end = end;
	return agg->result;
}

Size
se_window_state_rewrite(SeOperator *op, const void *record, Size len)
{
	SeWindowAgg *agg = (SeWindowAgg *) op;
	SeRecordReader reader = se_record_reader(record, len);
	SeAggHome  *home;
	SeTime		start;
	uint8		sort;

	sort = se_meta_record_sort(&reader);
	if (sort == SE_SORT_META)
		return se_meta_record_rewrite(&agg->meta, &reader, len);
	start = se_record_i64(&reader);
	home = home_of_record(agg, sort, start, se_record_i64(&reader), false);
	return home == NULL ? 0 : se_agg_home_rewrite(agg->set, home, record, len, PREFIX_LEN);
}

void
se_window_state_restore(SeOperator *op, const void *record, Size len)
{
	SeWindowAgg *agg = (SeWindowAgg *) op;
	SeRecordReader reader = se_record_reader(record, len);
	MemoryContext old = MemoryContextSwitchTo(agg->scratch);
	SeAggHome  *home;
	SeTime		start;
	SeTime		end;
	uint8		sort;

	sort = se_meta_record_sort(&reader);
	if (sort == SE_SORT_META)
		read_meta(agg, &reader);
	else
	{
		SeAggRecordKind kind;

		start = se_record_i64(&reader);
		end = se_record_i64(&reader);
		home = home_of_record(agg, sort, start, end, true);
		kind = se_record_u8(&reader);
		se_agg_home_restore(agg->set, home, kind, &reader, &agg->meta.snapshots);
	}
	MemoryContextSwitchTo(old);
	MemoryContextReset(agg->scratch);
}

/*
 * Slices cut under other rules of the time zone, from before a change of the zone
 * database, may lie across the ends of today's windows. A window that is one slice
 * stays as it was begun; others cannot be put together any more.
 */
static void
check_zone(const SeWindowAgg *agg)
{
	const SeWindow *window = &agg->node->window;

	if (agg->single || window->calendar.zone == NULL)
		return;
	for (int i = 0; i < agg->nslices; i++)
	{
		SeSlice    *slice = agg->slices[i];
		SeTime		start;
		SeTime		end;

		if (!se_window_slice(window, slice->start, &start, &end) || start != slice->start || end != slice->end)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("rules of time zone \"%s\" have changed for open windows",
							pg_get_timezone_name(window->calendar.zone)),
					 errdetail("A part of them was counted from %s to %s, which are no bounds of windows now.",
							   pstrdup(timestamptz_to_str(slice->start)), pstrdup(timestamptz_to_str(slice->end))),
					 errhint("Install the former time zone data, or create the view again.")));
	}
}

/* Drop what ended before the last commit; a firing goes on where it stood. */
void
se_window_state_restored(SeOperator *op)
{
	SeWindowAgg *agg = (SeWindowAgg *) op;

	if (agg->result != NULL && (!agg->firing || agg->result_end != agg->fire_end))
	{
		se_agg_home_free(agg->set, agg->result);
		agg->result = NULL;
	}
	if (agg->firing && !agg->single && agg->result == NULL)
	{
		/* All its groups were out. */
		agg->result = se_agg_home_new(agg->set, agg->keys, agg->set->payload_size);
		agg->result_end = agg->fire_end;
	}
	se_window_agg_drop_slices(agg, agg->updating ? agg->dropped_to : agg->closed_to);
	check_zone(agg);
	if (agg->updating)
		se_window_update_restored(agg);
	se_window_agg_set_deadline(agg);
	op->watermark_in = Max(op->watermark_in, agg->closed_to);
	if (agg->firing && agg->single &&
		se_window_agg_find_slice(agg, agg->fire_end, agg->fire_end) == NULL)
	{
		/* A unit that shares the keys may have had none of that window's. */
		if (op->env->units <= 1)
			se_record_corrupted();
		(void) se_window_agg_slice(agg, se_window_start_of_end(&agg->node->window, agg->fire_end),
								   agg->fire_end);
		se_window_agg_set_deadline(agg);
	}
	se_window_agg_publish(agg);
}
