/*
 * operators/stale.h
 *		Which groups of a table are *stale*: what was last emitted of them, if anything, is not their value.
 *
 * The flag is state; the list of such entries is not, and is made again after a restore.
 * An entry that was never emitted is stale, whatever its flag says.
 */
#ifndef SE_STALE_H
#define SE_STALE_H

#include "state/table.h"

typedef struct SeStale
{
	uint32	   *indexes;		/* of entries; some may not be stale any more */
	uint32		next;			/* those before it have been taken */
	uint32		n;
	uint32		max;
} SeStale;

extern void se_stale_grow(SeStale *stale, MemoryContext memory);

/* An entry has changed. */
static inline void
se_stale_mark(SeStale *stale, SeEntry *entry, MemoryContext memory)
{
	entry->flags |= SE_ENTRY_STALE;
	if (entry->flags & SE_ENTRY_LISTED)
		return;
	entry->flags |= SE_ENTRY_LISTED;
	if (stale->n == stale->max)
		se_stale_grow(stale, memory);
	stale->indexes[stale->n++] = entry->index;
}

/* The next stale entry, in order of their becoming so; NULL if there is none. Whoever emits it takes the flag away. */
extern SeEntry *se_stale_take(SeStale *stale, const SeTable *table);

/* Make the list from the flags of a restored table. */
extern void se_stale_restore(SeStale *stale, const SeTable *table, MemoryContext memory);

extern void se_stale_free(SeStale *stale);

#endif							/* SE_STALE_H */
