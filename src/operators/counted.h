/*
 * operators/counted.h
 *		Rows into groups of an updating result, which are emitted at each n-th row of theirs.
 */
#ifndef SE_COUNTED_H
#define SE_COUNTED_H

#include "operators/agg_set.h"
#include "operators/stale.h"

typedef struct SeCounted
{
	SeAggSet   *set;
	SeAggHome  *home;			/* updating */
	SeStale    *stale;			/* of its table */
	int64		every;			/* rows; 0 = nothing is counted */
	void		(*emit) (void *arg, SeEntry *entry);
	void	   *arg;
} SeCounted;

/*
 * accs[i] is the payload of entries[i], the group of row rows[i]. What is emitted is the
 * group as its n-th row leaves it, whatever rows follow; all else is stale. `due` has room
 * for n entries.
 */
extern void se_counted_apply(const SeCounted *counted, const SeBatch *batch, const int *rows,
							 SeEntry **entries, char **accs, int n, SeEntry **due);

#endif							/* SE_COUNTED_H */
