/*
 * operators/agg_set.h
 *		All aggregate calls of one operator, and the keyed tables that hold their accumulators.
 *
 * The operator knows windows and when to emit; the set knows what to do with rows. A
 * payload of a table is the accumulators of one group, one after the other, all zeroes
 * for a group without rows. A *home* is one table with everything its payloads refer
 * to: one per slice, window or operator; it is freed whole.
 *
 * Memory: apply, merge and final leave garbage in the current context, which the
 * caller resets per batch.
 *
 * A home is saved as records that begin with the operator's own prefix; then:
 *
 *	kind 1 PUT	4 number of the snapshot, 4 count, then entries: varint index, varint length, 1 flags
 *				(bit 2: emitted, 3: stale, 7: counted), key (state/table.h), if counted a varint of rows, the
 *				operator's header, accumulators in order of the calls; length 0: the entry is gone
 *	kind 2 SEEN	4 number of the call, key of its set (entry index, arguments)
 *	kind 3 TUPLES	4 number of the call, 4 entry index, 8 number of the first tuple,
 *				4 count, tuples: per argument 1 null flag, value
 *
 * A PUT replaces the entry's former one. SEEN and TUPLES only ever add, and each item
 * is in one live record.
 *
 * Homes whose entries come and go *singly* (sessions) know no SEEN and TUPLES: a PUT has
 * everything of its entry. Arguments that are replayed are numbered over all groups, so
 * that those of two groups stay in order of arrival when the groups become one.
 */
#ifndef SE_AGG_SET_H
#define SE_AGG_SET_H

#include "operators/agg_internal.h"
#include "operators/net_rows.h"

typedef struct SeAggSet
{
	SeOperatorEnv *env;
	int			ncalls;
	SeAggSlot  *slots;
	uint32		payload_size;

	/* scratch of apply: rows that pass a filter */
	int			max_rows;
	int		   *rows;
	char	  **accs;
} SeAggSet;

/* In the flags of a saved entry: the number of its rows follows the key. */
#define SE_SAVED_COUNTED 0x80

/* What a group of an updating result keeps behind its accumulators. */
typedef struct SeEmitHeader
{
	uint64		rows;			/* counted for `every`; saved */
	SeNetRef	net;			/* its row that waits for the commit */
} SeEmitHeader;

static inline SeEmitHeader *
se_agg_emit_header(const SeAggSet *set, char *payload)
{
	return (SeEmitHeader *) (payload + set->payload_size);
}

typedef enum SeAggRecordKind
{
	SE_RECORD_PUT = 1,
	SE_RECORD_SEEN = 2,
	SE_RECORD_TUPLES = 3
} SeAggRecordKind;

/* In the current context, which lives as long as the operator. */
extern SeAggSet *se_agg_set_new(List *calls, TupleDesc input, SeOperatorEnv *env);

/* payload_size: the set's, or more if the operator lays payloads out itself. */
extern SeAggHome *se_agg_home_new(SeAggSet *set, SeKeys *keys, uint32 payload_size);
extern void se_agg_home_free(SeAggSet *set, SeAggHome *home);

/* A home of groups whose rows change: an SeEmitHeader stands behind the set's accumulators. */
extern SeAggHome *se_agg_home_new_updating(SeAggSet *set, SeKeys *keys);

/*
 * A home whose entries come and go singly. Its payloads are the set's and `header_size`
 * bytes of the operator's, of which records hold the first `header_saved`, but for those that the operator
 * sets home->header_unsaved to leave out before them; of its keys
 * the first `group_keys` are the group's. No call may be distinct but by replay. `arrivals`, kept by the operator, numbers the arguments
 * that are replayed; it may be shared by homes.
 */
extern SeAggHome *se_agg_home_new_singly(SeAggSet *set, SeKeys *keys, int group_keys, uint32 header_size,
										 uint32 header_saved, int64 *arrivals);

/* The entry is gone, and so says the next snapshot. */
extern void se_agg_home_remove(SeAggHome *home, SeEntry *entry);

/*
 * An entry of such a home goes to another one like it, whole: what is saved of the
 * operator's header comes along, the rest of it is zeroes. In a round: it may call serial
 * functions. The current context receives garbage.
 */
extern SeEntry *se_agg_home_move(SeAggSet *set, SeAggHome *from, SeEntry *entry, SeAggHome *to);

/* accs[i] is the payload of the group of row rows[i]. */
extern void se_agg_set_apply(SeAggSet *set, SeAggHome *home, const SeBatch *batch,
							 const int *rows, char **accs, int n);

/* Add to one payload what another has seen; `to` belongs to home. Only mergeable calls. */
extern void se_agg_set_merge(SeAggSet *set, SeAggHome *home, char *to, const char *from);

/* The same of all calls but those that are replayed. */
extern void se_agg_set_merge_states(SeAggSet *set, SeAggHome *home, char *to, const char *from);

/*
 * The replayed calls of `to` see the rows of several others, in this order, until they are taken back.
 * `to` has no rows of its own then.
 */
extern void se_agg_set_lend_rows(SeAggSet *set, char *to, char *from);
extern void se_agg_set_take_back_rows(SeAggSet *set, char *to, char **from, int n);

/* In a home whose entries come and go singly: more than all numbers of rows that acc keeps for replay. */
extern int64 se_agg_set_arrivals(const SeAggSet *set, const char *acc);

/* As if no row had come; what was held is used again, if the home's arena does so (se_arena_reuse). */
extern void se_agg_set_reset(SeAggSet *set, SeAggHome *home, char *acc);

/* One value per call, in the current context. May run user functions. */
extern void se_agg_set_final(SeAggSet *set, SeAggHome *home, char *acc, Datum *values, bool *nulls);

/* The same where acc does not stay as it is while the values are needed. */
extern void se_agg_set_final_copied(SeAggSet *set, SeAggHome *home, char *acc, Datum *values, bool *nulls);

/* Before a snapshot, in a round: serialise what only functions can serialise. */
extern void se_agg_home_prepare(SeAggSet *set, SeAggHome *home);

/*
 * Write everything dirty: for each record, prefix, kind and contents. `buffer` is scratch.
 */
extern void se_agg_home_snapshot(SeAggSet *set, SeAggHome *home, SeOperator *op,
								 SeSnapshotWriter *writer, uint32 snapshot,
								 const void *prefix, Size prefix_len);

/* Play one record back; *snapshots becomes the number of the snapshot in it, if that is greater. */
extern void se_agg_home_restore(SeAggSet *set, SeAggHome *home, SeAggRecordKind kind,
								SeRecordReader *reader, uint32 *snapshots);

/*
 * The checkpoint is about to delete a record, whose kind stands after its prefix: what
 * is still to be found only there is written by the snapshot that follows. Returns
 * about how many bytes that will be.
 */
extern Size se_agg_home_rewrite(SeAggSet *set, SeAggHome *home, const void *record, Size len,
								Size prefix_len);

#endif							/* SE_AGG_SET_H */
