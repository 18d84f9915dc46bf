/*
 * operators/pending_rows.h
 *		Rows of a batch whose group has been found, and that the aggregates have not yet seen.
 *
 * Where rows find their groups one by one they wait here, so that each aggregate has
 * many at once.
 */
#ifndef SE_PENDING_ROWS_H
#define SE_PENDING_ROWS_H

#include "operators/agg_set.h"

typedef struct SePendingRows
{
	int			n;
	int		   *rows;			/* number in the batch */
	SeEntry   **entries;
	char	  **accs;			/* of the entry */
} SePendingRows;

/* Nothing waits, and there is room for that many rows, in memory that the caller frees. */
extern void se_pending_rows_init(SePendingRows *pending, int room, MemoryContext memory);

/* Let the aggregates see all that wait. Their entries are of one home. */
extern void se_pending_rows_apply(SePendingRows *pending, SeAggSet *set, SeAggHome *home, const SeBatch *batch);

static inline void
se_pending_rows_add(SePendingRows *pending, int row, SeEntry *entry, char *acc)
{
	pending->rows[pending->n] = row;
	pending->entries[pending->n] = entry;
	pending->accs[pending->n] = acc;
	pending->n++;
}

#endif							/* SE_PENDING_ROWS_H */
