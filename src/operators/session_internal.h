/*
 * operators/session_internal.h
 *		What the files of the session aggregate share.
 *
 *	session_agg.c	rows into sessions, watermarks, and the operator's callbacks
 *	session_list.c	the open sessions of a key, in order
 *	session_key.c	one session more or less; generations
 *	session_update.c	results that change: which sessions are emitted anew, and until when rows are taken
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
 *
 * If results change (`updating`), an open session is one that still takes rows: until the
 * watermark is above its end by more than allowed_lateness. Then:
 *	- a session's timer counts if its time is the session's `wake`; others of it are void
 *	- what is in the result of a session is the row (shown_start, shown_end), if SE_ENTRY_EMITTED;
 *	  no two open sessions have shown the same row
 *	- stale = what was shown, if anything, is not the session's value; a stale session is in one
 *	  of the queues, or has fired and waits for its timer, or will be emitted when it fires
 *	- after `prepare` the queue `due` is empty
 */
#ifndef SE_SESSION_INTERNAL_H
#define SE_SESSION_INTERNAL_H

#include "flow/graph.h"
#include "flow/operator.h"
#include "operators/agg_set.h"
#include "operators/keyed_rows.h"
#include "operators/meta_record.h"
#include "operators/pending_rows.h"
#include "operators/stash.h"
#include "state/timers.h"

/* Sessions that are stale. */
typedef struct SeSessionQueue
{
	struct SeSession **sessions;
	uint32		n;
	uint32		room;
} SeSessionQueue;

#define SE_SESSION_FIRED	0x01	/* it, or part of it, has been over once: what comes now is late */
#define SE_SESSION_STALE	0x02
#define SE_SESSION_UPDATING	0x04	/* always set, but in a record of before results changed */

/* Behind the accumulators of an entry; up to `end` if results never change. */
typedef struct SeSession
{
	/* derived */
	SeEntry    *entry;			/* its own */
	SeEntry    *anchor;
	struct SeSessionGeneration *generation;

	/* saved */
	SeTime		start;
	SeTime		end;

	/* saved, if results change */
	SeTime		shown_start;
	SeTime		shown_end;
	SeTime		wake;			/* when its timer is due */
	int64		rows;			/* since the last multiple of `every` */
	uint64		status;			/* SE_SESSION_FIRED … */

	/* derived, if results change */
	SeSessionQueue *queue;		/* that it is in, or NULL */
	uint32		place;			/* there */
} SeSession;

#define SE_SESSION_UNSAVED offsetof(SeSession, start)
#define SE_SESSION_SIZE(updating) ((updating) ? sizeof(SeSession) : offsetof(SeSession, shown_start))
#define SE_SESSION_SAVED(updating) \
	(((updating) ? offsetof(SeSession, queue) : offsetof(SeSession, shown_start)) - SE_SESSION_UNSAVED)

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
	SeStash		stash;

	/* settings: never change */
	const SeSessionAggNode *node;
	SeAggSet   *set;
	SeKeys	   *keys;
	SeKeys	   *session_keys;	/* keys, then the session's number */
	bool		updating;		/* results change */
	int64		lateness;		/* µs that a session takes rows when it is over */

	/* state */
	SeSessionGeneration *current;
	SeSessionGeneration *old;	/* whose sessions move to current; NULL = none */
	SeTimers	timers;			/* SeSession * */
	int64		next_number;
	int64		arrivals;		/* rows that are replayed, over all sessions */
	bool		firing;
	SeTime		fire_to;
	SeSessionQueue due;			/* updating: to be emitted by the commit that follows */
	SeSessionQueue stale;		/* updating: to be emitted early, and not yet due */
	SeTime		early_next;		/* updating: the next time at which those become due */
	SeTime		final_to;		/* sessions that end before are final, and no other may become so short again */
	SeMetaRecord meta;
	List	   *restored;		/* SeSessionGeneration *, until all records are back */
	uint32		restored_current;
	uint32		restored_old;

	/* memory: per batch or output batch */
	MemoryContext scratch;
	SeBatch    *out;
	SeTime	   *ends;			/* per row of the batch */
	SeKeyedRows keyed;			/* those that have a session; entries are anchors */
	SePendingRows pending;		/* of the current generation */
	Datum	   *session_values; /* one key of session_keys */
	bool	   *session_nulls;
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

/* When a session that ends so takes no more rows: as soon as the watermark is above it. */
static inline SeTime
se_session_last(const SeSessionAgg *agg, SeTime end)
{
	return end < SE_TIME_MAX - 1 - agg->lateness ? end + agg->lateness : SE_TIME_MAX - 1;
}

/* session_agg.c */
extern void se_session_agg_publish(SeSessionAgg *agg);
extern void se_session_agg_emit(SeSessionAgg *agg, SeSession *session, SeRowKind kind);
extern void se_session_agg_flush(SeSessionAgg *agg);

/* session_update.c: only if results change */
extern void se_session_update_reach(SeSessionAgg *agg, SeSession *session, SeTime wm);
extern void se_session_update_row(SeSessionAgg *agg, SeSession *session, SeTime wm);
extern void se_session_update_join(SeSessionAgg *agg, SeSession *session, SeSession *other);
extern void se_session_update_move(SeSession *to, SeSession *from);
extern void se_session_update_forget(SeSession *session);
extern SeTime se_session_update_fire(SeSessionAgg *agg, SeSession *session, SeTime at);
extern void se_session_update_early(SeSessionAgg *agg, SeTime h);
extern void se_session_update_timer(SeOperator *op, SeTime now);
extern void se_session_update_emit(SeSessionAgg *agg, SeSession *session);
extern void se_session_update_prepare(SeSessionAgg *agg);
extern void se_session_update_restored(SeSessionAgg *agg, SeSession *session);

/* session_key.c: one session more or less */
extern SeSession *se_session_open(SeSessionAgg *agg, SeSessionGeneration *generation, SeEntry *anchor,
								  const Datum *keys, const bool *nulls, SeTime start, SeTime end, SeTime wake);
extern void se_session_link(SeSessionAgg *agg, SeSessionGeneration *generation, SeEntry *anchor,
							SeSession *session, SeTime wake);
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
