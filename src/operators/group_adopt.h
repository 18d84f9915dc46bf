/*
 * operators/group_adopt.h
 *		Groups without a window are kept in another way from now on: with a time to live, or without one.
 */
#ifndef SE_GROUP_ADOPT_H
#define SE_GROUP_ADOPT_H

#include "operators/agg_set.h"

/* Groups that never expire: the home they are in, and what computes it; false if op is another operator. */
extern bool se_group_agg_groups(SeOperator *op, SeAggSet **set, SeAggHome **home);
extern bool se_group_held_groups(SeOperator *op, SeAggSet **set, SeAggHome **home);

/* Callback of groups that expire (group_ttl.c), which were groups of any kind. */
extern void se_group_ttl_adopt(SeOperator *op, SeOperator *from);

/*
 * The living groups of an operator whose groups expire become those of an empty home whose groups do not. What was
 * not emitted of them, if anything, is stale.
 */
extern void se_group_adopt_living(SeAggSet *set, SeAggHome *home, TupleDesc input, SeOperator *from);

#endif							/* SE_GROUP_ADOPT_H */
