/*
 * flow/row.c
 *		Batches: making them and emptying them.
 */
#include "postgres.h"

#include "flow/row.h"
#include "utils/memutils.h"

SeBatch *
se_batch_new(MemoryContext parent, TupleDesc desc, int capacity)
{
	MemoryContext old = MemoryContextSwitchTo(parent);
	SeBatch    *batch = palloc0(sizeof(SeBatch));
	Size		cells = (Size) capacity * Max(desc->natts, 1);

	batch->desc = desc;
	batch->ncolumns = desc->natts;
	batch->capacity = capacity;
	batch->values = palloc(cells * sizeof(Datum));
	batch->nulls = palloc(cells * sizeof(bool));
	batch->kinds = palloc0(capacity);
	batch->event_time = palloc(capacity * sizeof(SeTime));
	batch->wm = palloc(capacity * sizeof(SeTime));
	batch->places = palloc(capacity * sizeof(SePlace));
	batch->append_only = true;
	batch->wm_end = SE_TIME_MIN;
	batch->arena = AllocSetContextCreate(parent, "stream_engine batch", ALLOCSET_DEFAULT_SIZES);
	MemoryContextSwitchTo(old);
	return batch;
}

void
se_batch_reset(SeBatch *batch)
{
	batch->nrows = 0;
	batch->append_only = true;
	MemoryContextReset(batch->arena);
}
