/*
 * operators/stale.c
 *		Which groups of a table are stale: what was last emitted of them, if anything, is not their value.
 */
#include "postgres.h"

#include "operators/stale.h"
#include "utils/memutils.h"

/* Room for one more; what was taken gives way first. */
void
se_stale_grow(SeStale *stale, MemoryContext memory)
{
	if (stale->next > stale->max / 2)
	{
		stale->n -= stale->next;
		memmove(stale->indexes, stale->indexes + stale->next, stale->n * sizeof(uint32));
		stale->next = 0;
		return;
	}
	stale->max = Max(16, 2 * stale->max);
	stale->indexes = stale->indexes == NULL ?
		MemoryContextAllocHuge(memory, stale->max * sizeof(uint32)) :
		repalloc_huge(stale->indexes, stale->max * sizeof(uint32));
}

SeEntry *
se_stale_take(SeStale *stale, const SeTable *table)
{
	while (stale->next < stale->n)
	{
		SeEntry    *entry = se_table_entry(table, stale->indexes[stale->next++]);

		entry->flags &= ~SE_ENTRY_LISTED;
		if ((entry->flags & SE_ENTRY_USED) && (entry->flags & SE_ENTRY_STALE))
			return entry;
	}
	stale->next = stale->n = 0;
	return NULL;
}

void
se_stale_restore(SeStale *stale, const SeTable *table, MemoryContext memory)
{
	stale->next = stale->n = 0;
	for (uint32 i = 0; i < table->nentries; i++)
	{
		SeEntry    *entry = se_table_entry(table, i);

		entry->flags &= ~SE_ENTRY_LISTED;
		if ((entry->flags & SE_ENTRY_USED) &&
			((entry->flags & SE_ENTRY_STALE) || !(entry->flags & SE_ENTRY_EMITTED)))
			se_stale_mark(stale, entry, memory);
	}
}

void
se_stale_free(SeStale *stale)
{
	if (stale->indexes != NULL)
		pfree(stale->indexes);
	memset(stale, 0, sizeof(SeStale));
}
