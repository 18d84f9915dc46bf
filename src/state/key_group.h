/*
 * state/key_group.h
 *		Key groups: how keyed state is shared out among the units of a job.
 *
 * A key belongs to one of `n` groups, a unit owns a range of them. The group is
 * computed from the key's hash when state is loaded, never stored (design 8): all
 * units of a job run on one server and agree.
 */
#ifndef SE_KEY_GROUP_H
#define SE_KEY_GROUP_H

#include "base/se.h"
#include "flow/operator.h"

/* Most units that can share the keys of a job. */
#define SE_KEY_GROUPS 128

/* From bits that do not also choose the place in a table. */
static inline int
se_key_group(uint32 hash, int n)
{
	uint32		mixed = hash * 0x85EBCA6Bu;

	mixed ^= mixed >> 15;
	return (int) (((uint64) mixed * n) >> 32);
}

/* The unit that owns a group when `units` share `groups` evenly. */
static inline int
se_key_group_unit(int group, int groups, int units)
{
	return (int) ((int64) group * units / groups);
}

/*
 * Is this key, by its hash, one of the unit's own? Of state that other units saved as
 * well, an operator restores the keys for which this is true.
 */
static inline bool
se_key_group_is_own(const SeOperatorEnv *env, uint32 hash)
{
	return env->units <= 1 ||
		se_key_group_unit(se_key_group(hash, SE_KEY_GROUPS), SE_KEY_GROUPS, env->units) == env->unit;
}

#endif							/* SE_KEY_GROUP_H */
