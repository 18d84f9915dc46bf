/*
 * operators/group_ttl_internal.h
 *		What the files of groups that expire share.
 *
 *	group_ttl.c			rows into groups, what expires, generations, the operator's callbacks
 *	group_ttl_state.c	records: snapshot, rewrite, restore
 *	group_adopt.c		groups that were kept in another way
 *
 * Words: a group has *expired* when its clock is at or past its time; it is *forgotten* when its entry is
 * removed, which nobody can tell. A *generation* is a home with its timers.
 *
 * Truths between two callbacks:
 *	- every group is among the timers of its generation, with the time it expires or an
 *	  earlier one; there may be timers of entries that are gone
 *	- a group is in one generation only
 *	- in the old generation only entries that are gone are dirty
 *	- a *stale* group is one that was adopted and whose row is still to be emitted; it is changed, and in the
 *	  current generation
 */
#ifndef SE_GROUP_TTL_INTERNAL_H
#define SE_GROUP_TTL_INTERNAL_H

#include "flow/graph.h"
#include "flow/operator.h"
#include "operators/agg_set.h"
#include "operators/keyed_rows.h"
#include "operators/meta_record.h"
#include "operators/pending_rows.h"
#include "state/timers.h"

/* Behind the accumulators of an entry. */
typedef struct SeTtlLife
{
	/* saved */
	SeTime		expires;		/* below SE_TIME_MAX, which is no timer's */

	/* derived */
	SeAggHome  *home;			/* its own */
} SeTtlLife;

#define SE_TTL_LIFE_SAVED sizeof(SeTime)

typedef struct SeTtlGeneration
{
	uint32		number;
	SeAggHome  *home;
	SeTimers	timers;			/* SeEntry * */
	uint32		cursor;			/* of an old one: entries before it have moved on */
} SeTtlGeneration;

typedef struct SeGroupTtl
{
	SeOperator	op;

	/* settings: never change */
	const SeGroupAggNode *node;
	SeAggSet   *set;
	SeKeys	   *keys;

	/* state */
	SeTtlGeneration *current;
	SeTtlGeneration *old;		/* whose groups move to current; NULL = none */
	SeTime		clock;
	SeTime		clock_saved;
	int64		arrivals;		/* rows that are replayed, over all groups */
	SeMetaRecord meta;
	List	   *restored;		/* SeTtlGeneration *, until all records are back */
	uint32		restored_current;
	uint32		restored_old;

	/* since the last commit */
	int64		nrows;

	/* memory: per batch or output batch */
	MemoryContext scratch;
	SeBatch    *out;
	SeKeyedRows keyed;
	SePendingRows pending;		/* of the current generation */
} SeGroupTtl;

static inline SeTtlLife *
se_group_ttl_life(const SeGroupTtl *ttl, SeEntry *entry)
{
	/* The tables of all generations have the same shape. */
	return (SeTtlLife *) (se_entry_payload(ttl->current->home->table, entry) + ttl->set->payload_size);
}

static inline TupleDesc
se_group_ttl_input(const SeGroupTtl *ttl)
{
	return ((SeNode *) linitial(ttl->node->node.inputs))->desc;
}

/* group_ttl.c */
extern SeTtlGeneration *se_group_ttl_generation_new(SeGroupTtl *ttl, uint32 number);
extern void se_group_ttl_generation_free(SeGroupTtl *ttl, SeTtlGeneration *generation);

/* When a group that was written at a time expires: with the end of the input at the latest. */
extern SeTime se_group_ttl_expiry(const SeGroupTtl *ttl, SeTime written);

/* The row of a group of the current generation is to be emitted, though none has come for it here. */
extern void se_group_ttl_must_emit(SeGroupTtl *ttl, SeEntry *entry);

/* Begin the next generation if it is time; everything has just been saved. */
extern void se_group_ttl_begin_generation(SeGroupTtl *ttl);

/* The clock has come to this: ask for a commit if a group has expired. */
extern void se_group_ttl_reach(SeGroupTtl *ttl, SeTime clock);
extern void se_group_ttl_publish(SeGroupTtl *ttl);

/* group_ttl_state.c: callbacks */
extern void se_group_ttl_snapshot(SeOperator *op, SeSnapshotWriter *writer);
extern Size se_group_ttl_rewrite(SeOperator *op, const void *record, Size len);
extern void se_group_ttl_restore(SeOperator *op, const void *record, Size len);
extern void se_group_ttl_restored(SeOperator *op);

#endif							/* SE_GROUP_TTL_INTERNAL_H */
