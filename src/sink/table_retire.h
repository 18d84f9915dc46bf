/*
 * sink/table_retire.h
 *		Deleting rows of a result that are too old (the option `retention`). Internal to sink/.
 */
#ifndef SE_TABLE_RETIRE_H
#define SE_TABLE_RETIRE_H

#include "sink/table_writer.h"

/*
 * Delete rows whose `column` (from 0) is `limit` or less, oldest first, `budget` at most. *next is the value of
 * the first row that is left, which is `limit` or less if the budget was not enough; SE_TIME_MAX if none is left.
 * Returns how many were deleted. Needs the writer open, nothing waiting in it.
 */
extern int64 se_table_retire(SeTableWriter *writer, int column, SeTime limit, int64 budget, SeTime *next);

#endif							/* SE_TABLE_RETIRE_H */
