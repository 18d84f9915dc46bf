/*
 * operators/session_internal.h
 *		What the files of the session aggregate share.
 *
 *	session_agg.c	rows into sessions, watermarks, and the operator's callbacks
 *	session_list.c	the open sessions of a key, in order
 *	session_key.c	one session more or less; generations
 *	session_state.c	records: snapshot, rewrite, restore
 *
 * Words: a *session* is [start, end]; each row is [time, time + gap], and rows of a key
 * that overlap or touch are one session. An *anchor* is what a key has: its open
 * sessions in order of time, which never touch each other. A *generation* is a home
 * with the anchors of its sessions. Memory of closed sessions comes back when all that
 * is open has moved into the next generation, a little with each batch.
 *
 * Truths between two callbacks:
 *	- every open session is among the timers, with its end or an earlier one, since a
 *	  session that grows is put right when it comes up; there may be some of sessions that
 *	  are gone, but of no generation that is
 *	- a key has sessions in one generation only
 *	- if `firing`, sessions that ended before fire_to still wait to be emitted, and rows
 *	  that came since wait in the stash
 */
#ifndef SE_SESSION_INTERNAL_H
#define SE_SESSION_INTERNAL_H

#include "flow/graph.h"
#include "flow/operator.h"
#include "operators/agg_set.h"
#include "operators/stash.h"
#include "state/timers.h"

/* Behind the accumulators of an entry. */
typedef struct SeSession
{
	/* saved */
	SeTime		start;
	SeTime		end;

	/* derived */
	SeEntry    *entry;			/* its own */
	SeEntry    *anchor;
	struct SeSessionGeneration *generation;
} SeSession;

#define SE_SESSION_SAVED (2 * sizeof(SeTime))

/* The payload of an anchor (session_list.c). */
typedef struct SeSessionList
{
	uint32		n;				/* sessions */
	uint32		nblocks;		/* 0: `one` has the only session, if there is one */
	uint32		first;			/* of many */
	uint32		room;			/* of many */
	union
	{
		SeSession  *one;
		struct SeSessionBlock *block;
	}			only;
	struct SeSessionBlock **many;	/* NULL: there is one block, or none */
} SeSessionList;

typedef struct SeSessionGeneration
{
	uint32		number;
	SeAggHome  *home;			/* keys and number of the session -> accumulators, SeSession */
	SeTable    *anchors;		/* keys -> SeSessionList */
	uint32		cursor;			/* anchors before it have moved on */
} SeSessionGeneration;

typedef struct SeSessionAgg
{
	SeOperator	op;

	/* settings: never change */
	const SeSessionAggNode *node;
	SeAggSet   *set;
	SeKeys	   *keys;
	SeKeys	   *session_keys;	/* keys, then the session's number */

	/* state */
	SeSessionGeneration *current;
	SeSessionGeneration *old;	/* whose sessions move to current; NULL = none */
	SeTimers	timers;			/* SeSession * */
	int64		next_number;
	int64		arrivals;		/* rows that are replayed, over all sessions */
	bool		firing;
	SeTime		fire_to;
	SeStash		stash;
	uint32		snapshots;
	uint32		meta_saved;		/* the snapshot that wrote the newest META */
	bool		meta_dirty;
	List	   *restored;		/* SeSessionGeneration *, until all records are back */
	uint32		restored_current;
	uint32		restored_old;

	/* memory: per batch or output batch */
	MemoryContext scratch;
	SeBatch    *out;
	int			max_rows;
	SeTime	   *ends;			/* per row of the batch */
	int		   *rows;			/* that have a session */
	Datum	   *key_values;
	bool	   *key_nulls;
	uint32	   *hashes;
	SeEntry   **anchors;
	Datum	   *session_values; /* one key of session_keys */
	bool	   *session_nulls;

	/* rows that wait to be applied */
	int			npending;
	int		   *pending_rows;
	SeEntry   **pending_entries;
	char	  **pending_accs;
} SeSessionAgg;

static inline SeSession *
se_session_of_entry(const SeSessionAgg *agg, const SeSessionGeneration *generation, SeEntry *entry)
{
	return (SeSession *) (se_entry_payload(generation->home->table, entry) + agg->set->payload_size);
}

static inline char *
se_session_acc(const SeSessionAgg *agg, const SeSession *session)
{
	return (char *) session - agg->set->payload_size;
}

/* session_agg.c */
extern void se_session_agg_publish(SeSessionAgg *agg);

/* session_key.c: one session more or less */
extern SeSession *se_session_open(SeSessionAgg *agg, SeSessionGeneration *generation, SeEntry *anchor,
								  const Datum *keys, const bool *nulls, SeTime start, SeTime end);
extern void se_session_link(SeSessionAgg *agg, SeSessionGeneration *generation, SeEntry *anchor, SeSession *session);
extern void se_session_close(SeSessionAgg *agg, SeSession *session);

/* session_key.c: generations */
extern SeSessionGeneration *se_session_generation_new(SeSessionAgg *agg, uint32 number);
extern void se_session_generation_free(SeSessionAgg *agg, SeSessionGeneration *generation);
extern void se_session_move_key(SeSessionAgg *agg, SeEntry *old_anchor, SeEntry *anchor);
extern void se_session_move_some(SeSessionAgg *agg, int n);
extern void se_session_begin_generation(SeSessionAgg *agg);

/* session_state.c */
extern void se_session_state_prepare(SeOperator *op);
extern void se_session_state_snapshot(SeOperator *op, SeSnapshotWriter *writer);
extern Size se_session_state_rewrite(SeOperator *op, const void *record, Size len);
extern void se_session_state_restore(SeOperator *op, const void *record, Size len);
extern void se_session_state_restored(SeOperator *op);

#endif							/* SE_SESSION_INTERNAL_H */
