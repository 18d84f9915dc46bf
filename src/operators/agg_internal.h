/*
 * operators/agg_internal.h
 *		What the files that compute aggregates share: one call, its accumulator, its home.
 *
 * Words: an *accumulator* is what one group remembers for one call: a piece of the
 * group's payload in a state table. All zeroes = no row yet, so a new group needs no
 * initialisation. A *home* is where the accumulators of one table keep what does not
 * fit into them: bytes in the table's arena, `internal` states in a memory context.
 *
 * Every method answers the same questions (agg_set.c dispatches): apply rows, merge
 * another accumulator, final value, save, load.
 */
#ifndef SE_AGG_INTERNAL_H
#define SE_AGG_INTERNAL_H

#include "base/se.h"
#include "flow/agg_native.h"
#include "flow/graph.h"
#include "flow/operator.h"
#include "state/table.h"

typedef struct SeAggHome
{
	SeOperatorEnv *env;
	MemoryContext memory;		/* of this struct and the tables' small parts */
	SeArena    *arena;
	SeTable    *table;			/* whose payloads the accumulators are */
	MemoryContext live;			/* of internal states; made when first needed */
	uint64		live_bytes;		/* of it, as counted */
	bool		updating;		/* an SeEmitHeader stands behind the accumulators (agg_set.h) */
	List	   *again;			/* bytea *: TUPLES records to be written once more */
	SeTable   **seen;			/* per call: argument values that DISTINCT has met, or NULL */

	/* entries that come and go one by one (agg_set.h) */
	bool		singly;
	int			group_keys;		/* leading key columns that are the group's; -1 = all */
	uint32		header_unsaved; /* bytes behind the accumulators that records do not hold */
	uint32		header_saved;	/* those after them that they do */
	int64	   *arrivals;		/* numbers arguments that are replayed */
} SeAggHome;

typedef struct SeAggSlot
{
	const SeAggCall *call;
	SeAggMethod method;			/* the call's, but for some DISTINCT (agg_set.c) */
	int			number;			/* among the calls of the operator */
	SeAggNative native;			/* of SE_AGG_NATIVE */
	uint32		offset;			/* of the accumulator in the payload */
	uint32		size;
	int			arg;			/* input column of a native's argument, -1 = none */
	Oid			collation;
	bool		distinct;
	SeKeys	   *seen_keys;		/* DISTINCT: (entry index, arguments) */
	struct SeAggFn *fn;			/* PostgreSQL's functions, of the other methods */
} SeAggSlot;

/* The input column of the k-th of aggref->args (sort-only ones included). */
static inline int
se_agg_arg_column(const SeAggCall *call, int k)
{
	TargetEntry *tle = list_nth_node(TargetEntry, call->aggref->args, k);

	if (IsA(tle->expr, Var))
		return ((Var *) tle->expr)->varattno - 1;
	return list_nth_int(call->args, list_length(call->aggref->aggdirectargs) + k);
}

/* A by-reference value kept in an arena; the space is used again when it fits. */
typedef struct SeAggBlob
{
	void	   *bytes;
	uint32		room;
	uint32		used;			/* 0 = no value */
} SeAggBlob;

extern void se_agg_blob_set(SeArena *arena, SeAggBlob *blob, const void *bytes, Size size);
extern void se_agg_blob_clear(SeArena *arena, SeAggBlob *blob);

/*
 * Native accumulators (agg_native.c). Rows are given by number, accs[i] is the payload
 * of the group of rows[i].
 */
extern uint32 se_native_size(SeAggNative native);
extern void se_native_apply(const SeAggSlot *slot, SeAggHome *home, const SeBatch *batch,
							const int *rows, char **accs, int n);
extern void se_native_merge(const SeAggSlot *slot, SeAggHome *home, char *to, const char *from);
extern Datum se_native_final(const SeAggSlot *slot, const char *acc, bool *isnull);
extern void se_native_reset(const SeAggSlot *slot, SeAggHome *home, char *acc);
extern void se_native_save(const SeAggSlot *slot, const char *acc, StringInfo out);
extern void se_native_load(const SeAggSlot *slot, SeAggHome *home, char *acc, SeRecordReader *reader);

#endif							/* SE_AGG_INTERNAL_H */
