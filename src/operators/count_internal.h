/*
 * operators/count_internal.h
 *		What the files of the count aggregate share.
 *
 *	count_agg.c		rows into pieces, the end of the input, and the operator's callbacks
 *	count_window.c	what follows when a piece is full: merging, and windows emitted
 *	count_state.c	records: snapshot, rewrite, restore
 *
 * Words: a key's rows are numbered from 0 in order of arrival. A *piece* is a run of them that every
 * window holds whole or not at all; `reach` pieces are a window, and the next one ends `step`
 * pieces later. Pieces are numbered too, and lie in a ring: piece p at p modulo the number of places.
 * Where windows do not overlap a window is one piece and a key has one place.
 *
 * A piece is an entry of the home, with key and place as its key. Places are used again, so a
 * key never has more entries than places, and nothing is ever removed.
 *
 * Truths between two callbacks:
 *	- the newest piece of a key says how many rows came: first + rows
 *	- the last `reach` pieces of a key are in their places
 *	- nothing waits: every full window has been emitted
 */
#ifndef SE_COUNT_INTERNAL_H
#define SE_COUNT_INTERNAL_H

#include "flow/graph.h"
#include "flow/operator.h"
#include "operators/agg_set.h"
#include "operators/keyed_rows.h"
#include "operators/meta_record.h"
#include "operators/pending_rows.h"
#include "operators/stash.h"

/* Behind the accumulators of an entry. */
typedef struct SeCountPiece
{
	/* saved */
	int64		first;			/* number of its first row */
	int64		rows;			/* so far; also those around its window that are in none */

	/* derived */
	bool		waits;			/* alone a window, full, and not yet emitted */
} SeCountPiece;

#define SE_COUNT_SAVED (2 * sizeof(int64))

/*
 * What is known of a key whose windows overlap, all of it derived. Full pieces are merged as a
 * queue made of two stacks (docs/design/count-windows.md): those before `turn` from each one to
 * turn - 1, the others into one.
 */
typedef struct SeCountKey
{
	int64		rows;			/* that came */
	int64		piece;			/* the newest one, -1 = none */
	int64		left;			/* rows it still takes */
	SeEntry   **places;			/* the ring */
	uint32		room;			/* of places: grows while the first round lasts */
	int64		merged;			/* pieces that front and back know, -1 = to be made */
	int64		turn;
	char	   *front;			/* `reach` accumulators: piece k at k % reach */
	char	   *back;			/* of turn .. merged - 1 */
	int64		waiting;		/* first piece that waits in the queue, -1 = none */
} SeCountKey;

/* A full piece that waits to be looked at. */
typedef struct SeCountFull
{
	SeEntry    *entry;			/* the piece, if windows do not overlap; else the key's anchor */
	int64		piece;
} SeCountFull;

typedef enum SeCountEnd
{
	SE_COUNT_OPEN = 0,
	SE_COUNT_ENDING,			/* the last windows are being emitted: those before `cursor` are */
	SE_COUNT_ENDED
} SeCountEnd;

typedef struct SeCountAgg
{
	SeOperator	op;
	SeStash		stash;

	/* settings: never change */
	const SeCountAggNode *node;
	SeAggSet   *set;
	SeKeys	   *keys;
	SeKeys	   *piece_keys;		/* keys, then the place; `keys` if a key has one place */
	bool		overlap;
	bool		replays;		/* some call */
	int64		reach;
	int			step;			/* 1 or 2 */
	int64		lengths[2];		/* rows of even and odd pieces */
	uint32		places;

	/* state */
	SeAggHome  *home;
	SeTable    *anchors;		/* keys -> SeCountKey; NULL without overlap */
	int64		arrivals;		/* rows that are replayed, over all keys */
	SeCountEnd	end;
	uint32		cursor;			/* an index of the home */
	SeMetaRecord meta;
	char	   *result;			/* accumulators of the window being emitted */
	char	  **lent;			/* its pieces */

	/* memory: per batch or output batch */
	MemoryContext scratch;
	MemoryContext outer;		/* current where rows came from: what is sent on runs in it */
	SeBatch    *out;
	SeKeyedRows keyed;			/* rows taken; entries are pieces or anchors */
	Datum	   *piece_values;	/* one key of piece_keys */
	bool	   *piece_nulls;

	/* rows that wait to be applied, then pieces that wait to be looked at */
	SePendingRows pending;
	int			nfull;
	SeCountFull *full;
} SeCountAgg;

static inline char *
se_count_acc(const SeCountAgg *agg, SeEntry *entry)
{
	return se_entry_payload(agg->home->table, entry);
}

static inline SeCountPiece *
se_count_piece(const SeCountAgg *agg, SeEntry *entry)
{
	return (SeCountPiece *) (se_entry_payload(agg->home->table, entry) + agg->set->payload_size);
}

static inline SeCountKey *
se_count_key(const SeCountAgg *agg, SeEntry *anchor)
{
	return (SeCountKey *) se_entry_payload(agg->anchors, anchor);
}

static inline SeEntry *
se_count_place(const SeCountAgg *agg, const SeCountKey *key, int64 piece)
{
	return key->places[piece % agg->places];
}

/* count_agg.c */
extern void se_count_agg_publish(SeCountAgg *agg);

/* count_window.c */
extern void se_count_window_put(SeCountAgg *agg, SeCountKey *key, int64 piece, SeEntry *entry);
extern void se_count_window_look(SeCountAgg *agg, const SeCountFull *full);
extern void se_count_window_emit_rest(SeCountAgg *agg, SeEntry *entry);
extern void se_count_window_flush(SeCountAgg *agg);

/* count_state.c */
extern void se_count_state_prepare(SeOperator *op);
extern void se_count_state_snapshot(SeOperator *op, SeSnapshotWriter *writer);
extern Size se_count_state_rewrite(SeOperator *op, const void *record, Size len);
extern void se_count_state_restore(SeOperator *op, const void *record, Size len);
extern void se_count_state_restored(SeOperator *op);

#endif							/* SE_COUNT_INTERNAL_H */
