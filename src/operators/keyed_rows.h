/*
 * operators/keyed_rows.h
 *		Rows of a batch with their keys: what an operator needs of each to find its group.
 *
 * One array per thing, used again for every batch. The i-th is of row rows[i] of the batch.
 */
#ifndef SE_KEYED_ROWS_H
#define SE_KEYED_ROWS_H

#include "flow/row.h"
#include "state/table.h"

typedef struct SeKeyedRows
{
	/* settings: never change */
	SeKeys	   *keys;

	/* memory: emptied when more room is needed */
	MemoryContext memory;
	int			room;

	/* per row */
	int		   *rows;			/* number in the batch */
	Datum	   *values;			/* prepared: keys->n each */
	bool	   *nulls;
	uint32	   *hashes;
	SeEntry   **entries;
	char	  **accs;			/* payloads of the entries (se_keyed_rows_get) */
} SeKeyedRows;

/* In the current context, which lives as long as the operator. */
extern void se_keyed_rows_init(SeKeyedRows *keyed, SeKeys *keys);

/*
 * Room for n rows; what the arrays held is gone. True if they are new: then the caller makes its own arrays
 * per row anew, in keyed->memory.
 */
extern bool se_keyed_rows_need(SeKeyedRows *keyed, int n);

/* The keys of n rows, whose numbers the caller has put into rows; see se_keys_prepare. */
extern void se_keyed_rows_prepare(SeKeyedRows *keyed, const SeBatch *batch, int n);

/* The same for n rows from number `from` on. */
extern void se_keyed_rows_prepare_from(SeKeyedRows *keyed, const SeBatch *batch, int from, int n);

/* Their entries in a table, made if they are not there, and the payloads of these. */
extern void se_keyed_rows_get(SeKeyedRows *keyed, SeTable *table, int n);

static inline const Datum *
se_keyed_rows_values(const SeKeyedRows *keyed, int i)
{
	return keyed->values + (Size) i * keyed->keys->n;
}

static inline const bool *
se_keyed_rows_nulls(const SeKeyedRows *keyed, int i)
{
	return keyed->nulls + (Size) i * keyed->keys->n;
}

#endif							/* SE_KEYED_ROWS_H */
