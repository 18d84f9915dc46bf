/*
 * operators/net_rows.h
 *		Rows of a result that changes, kept until the commit: one per group, the newest.
 *
 * A group whose row comes several times between two commits would change its row in the
 * table as often in one transaction, each time behind all dead versions of the others. So
 * rows wait here, and a newer one takes the place of the older. When they become many they
 * go on to the sink, and a group may come once more.
 *
 * Runs in: task worker, in a round. Values are copied.
 */
#ifndef SE_NET_ROWS_H
#define SE_NET_ROWS_H

#include "flow/operator.h"
#include "flow/row.h"

/* Where the row of a group waits; zeroes: nowhere. Kept with the group, never saved. */
typedef struct SeNetRef
{
	uint32		flush;			/* void unless it is the number of the next flush */
	uint32		row;
} SeNetRef;

typedef struct SeNetRows
{
	SeOperator *op;				/* whose output they are */
	MemoryContext memory;
	SeBatch   **batches;		/* of equal capacity */
	int			nbatches;
	int			max_batches;
	uint32		nrows;
	uint32		flush;			/* number of the next one, from 1 */
	Size		bytes;			/* of their values, and of those they took the place of */
} SeNetRows;

/* In the current context, which lives as long as the operator. */
extern void se_net_rows_init(SeNetRows *net, SeOperator *op);

/* The newest row of a group. Leaves garbage in the current context. */
extern void se_net_rows_put(SeNetRows *net, SeNetRef *ref, SeRowKind kind, SeTime event_time,
							const Datum *values, const bool *nulls);

/* Send all on; references become void. Before each commit, and when the operator's rows must be out. */
extern void se_net_rows_flush(SeNetRows *net);

#endif							/* SE_NET_ROWS_H */
