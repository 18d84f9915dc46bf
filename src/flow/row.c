/*
 * flow/row.c
 *		Batches: making them and emptying them; and the places of rows as text.
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
	batch->tick = SE_TIME_MIN;
	batch->arena = AllocSetContextCreate(parent, "stream_engine batch", ALLOCSET_DEFAULT_SIZES);
	MemoryContextSwitchTo(old);
	return batch;
}

void
se_batch_reset(SeBatch *batch)
{
	batch->nrows = 0;
	batch->append_only = true;
	batch->tick = SE_TIME_MIN;
	MemoryContextReset(batch->arena);
}

char *
se_place_describe(SePlace place)
{
	return psprintf("%X/%X +%llu", (uint32) (place.major >> 32), (uint32) place.major,
					(unsigned long long) place.minor);
}

/* False if the text is not a place, to the last character. */
bool
se_place_parse(const char *text, SePlace *place)
{
	unsigned int high;
	unsigned int low;
	unsigned long long minor;
	int			end = 0;

	if (sscanf(text, " %8X/%8X +%llu %n", &high, &low, &minor, &end) != 3 || end == 0 ||
		text[end] != '\0')
		return false;
	place->major = ((uint64) high << 32) | low;
	place->minor = minor;
	return true;
}
