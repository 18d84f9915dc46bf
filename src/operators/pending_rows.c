/*
 * operators/pending_rows.c
 *		Rows of a batch whose group has been found, and that the aggregates have not yet seen.
 *
 * Runs in: task worker, in a round.
 */
#include "postgres.h"

#include "operators/pending_rows.h"

void
se_pending_rows_init(SePendingRows *pending, int room, MemoryContext memory)
{
	pending->n = 0;
	pending->rows = MemoryContextAlloc(memory, room * sizeof(int));
	pending->entries = MemoryContextAlloc(memory, room * sizeof(SeEntry *));
	pending->accs = MemoryContextAlloc(memory, room * sizeof(char *));
}

void
se_pending_rows_apply(SePendingRows *pending, SeAggSet *set, SeAggHome *home, const SeBatch *batch)
{
	int			n = pending->n;

	pending->n = 0;
	if (n == 0)
		return;
	se_table_touch_rows(home->table, pending->entries, n);
	se_agg_set_apply(set, home, batch, pending->rows, pending->accs, n);
}
