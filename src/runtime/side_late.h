/*
 * runtime/side_late.h
 *		Rows that go to a side, kept whole; and late ones written. Internal to side.c.
 */
#ifndef SE_SIDE_LATE_H
#define SE_SIDE_LATE_H

#include "access/htup.h"
#include "flow/row.h"
#include "runtime/task.h"

/* A whole row: as its source had it, or, of one that was kept longer than its batch, as jsonb text. */
typedef struct SeWholeRow
{
	SePlace		place;
	TimestampTz arrived;
	HeapTuple	tuple;			/* NULL: text */
	TupleDesc	desc;			/* of tuple */
	char	   *text;			/* may be NULL too: the row is not to be had */
} SeWholeRow;

typedef struct SeLateRow
{
	SeWholeRow	row;
	SeTime		watermark;
} SeLateRow;

/*
 * Insert late rows (SeLateRow *) into the table, in the writing transaction of a commit. Raises if the table is gone,
 * if it has no column for a value, and whatever an INSERT can.
 */
extern void se_side_late_write(SeTask *task, Oid late_output, List *rows);

#endif							/* SE_SIDE_LATE_H */
