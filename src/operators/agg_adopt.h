/*
 * operators/agg_adopt.h
 *		Groups of one operator's home become those of another's, of the same query under other options.
 */
#ifndef SE_AGG_ADOPT_H
#define SE_AGG_ADOPT_H

#include "operators/agg_set.h"

typedef struct SeAggAdoption SeAggAdoption;

/*
 * Begin to take over groups of the home `from` as new ones of `to`, whose rows are of `input`. Keys and calls are
 * the same on both sides, and of calls the methods but for DISTINCT, for which one side may have a set and the other replay.
 * In the current context, which lives until the end.
 */
extern SeAggAdoption *se_agg_adopt_begin(SeAggSet *set, SeAggHome *to, TupleDesc input,
										 SeAggSet *from_set, SeAggHome *from);

/*
 * One group: a new entry with its key and accumulators, dirty; flags and header are the operator's to set. In a round: functions of
 * aggregates and types are called. The group must not be in `to` yet.
 */
extern SeEntry *se_agg_adopt(SeAggAdoption *adoption, SeEntry *entry);

/* What the sets of DISTINCT have met, after all groups. */
extern void se_agg_adopt_end(SeAggAdoption *adoption);

#endif							/* SE_AGG_ADOPT_H */
