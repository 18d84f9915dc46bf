/*
 * operators/keyed_rows.c
 *		Rows of a batch with their keys: what an operator needs of each to find its group.
 *
 * Runs in: task worker, in a round.
 */
#include "postgres.h"

#include "operators/keyed_rows.h"
#include "utils/memutils.h"

void
se_keyed_rows_init(SeKeyedRows *keyed, SeKeys *keys)
{
	keyed->keys = keys;
	keyed->memory = AllocSetContextCreate(CurrentMemoryContext, "stream_engine keyed rows", ALLOCSET_SMALL_SIZES);
}

bool
se_keyed_rows_need(SeKeyedRows *keyed, int n)
{
	int			nkeys = Max(keyed->keys->n, 1);
	MemoryContext old;

	if (n <= keyed->room)
		return false;
	MemoryContextReset(keyed->memory);
	old = MemoryContextSwitchTo(keyed->memory);
	keyed->room = n;
	keyed->rows = palloc(n * sizeof(int));
	keyed->values = palloc((Size) n * nkeys * sizeof(Datum));
	keyed->nulls = palloc((Size) n * nkeys * sizeof(bool));
	keyed->hashes = palloc(n * sizeof(uint32));
	keyed->entries = palloc(n * sizeof(SeEntry *));
	keyed->accs = palloc(n * sizeof(char *));
	MemoryContextSwitchTo(old);
	return true;
}

void
se_keyed_rows_prepare(SeKeyedRows *keyed, const SeBatch *batch, int n)
{
	se_keys_prepare(keyed->keys, batch, keyed->rows, n, keyed->values, keyed->nulls, keyed->hashes);
}

void
se_keyed_rows_prepare_from(SeKeyedRows *keyed, const SeBatch *batch, int from, int n)
{
	for (int i = 0; i < n; i++)
		keyed->rows[i] = from + i;
	se_keyed_rows_prepare(keyed, batch, n);
}

void
se_keyed_rows_get(SeKeyedRows *keyed, SeTable *table, int n)
{
	se_table_get_rows(table, keyed->hashes, keyed->values, keyed->nulls, n, keyed->entries);
	for (int i = 0; i < n; i++)
		keyed->accs[i] = se_entry_payload(table, keyed->entries[i]);
}
