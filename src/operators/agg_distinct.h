/*
 * operators/agg_distinct.h
 *		DISTINCT: the rows whose arguments a group has not met before.
 */
#ifndef SE_AGG_DISTINCT_H
#define SE_AGG_DISTINCT_H

#include "operators/agg_internal.h"

/* The key of a call's set: the entry's index, then the DISTINCT arguments. */
extern SeKeys *se_agg_distinct_keys(const SeAggCall *call, TupleDesc input);

/* The rows that are new go to kept_rows, kept_accs (which may be the arrays given). */
extern int	se_agg_distinct_keep(const SeAggSlot *slot, SeAggHome *home, const SeBatch *batch,
								 const int *rows, char **accs, int n,
								 int *kept_rows, char **kept_accs);

extern void se_agg_distinct_restore(const SeAggSlot *slot, SeAggHome *home, SeRecordReader *reader);

/*
 * The record of an item is about to be deleted: the next snapshot writes it again. False:
 * no need to, its group is another unit's.
 */
extern bool se_agg_distinct_rewrite(const SeAggSlot *slot, SeAggHome *home, SeRecordReader *reader);

#endif							/* SE_AGG_DISTINCT_H */
