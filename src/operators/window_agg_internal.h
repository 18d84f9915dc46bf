/*
 * operators/window_agg_internal.h
 *		What the files of the window aggregate share.
 *
 *	window_agg.c	rows into slices, watermarks, and the operator's callbacks
 *	window_fire.c	windows whose end the watermark has reached: rows out, slices gone
 *	window_merge.c	windows of several slices: the groups of the open window, merged
 *	window_update.c	results that change: when they are emitted, and until when rows are taken
 *	window_adopt.c	slices of windows whose results did not change, made whole windows
 *	stash.c			input that came while a firing was cut short
 *	window_state.c	records: snapshot, rewrite, restore
 *
 * Words: a *slice* is a piece of time that every window holds whole or not at all
 * (time/window.h); for rows that carry their window it is that window. With `single`
 * every slice is one window, and a window's groups are the slice's own table.
 * Otherwise the groups of the window that fires next are kept merged (`merged`).
 *
 * Truths between two callbacks:
 *	- slices are in order of their end, and each is in a window with end > closed_to
 *	- every window with end <= closed_to has fired; `deadline` is the smallest window
 *	  end that has a slice, SE_TIME_MAX if there is none
 *	- if `firing`, the window ending at fire_end has emitted the entries before cursor,
 *	  and rows that came since wait in the stash
 *
 * If results change (`updating`, window_update.c), each slice is one window and stays until
 * the watermark is allowed_lateness behind its end:
 *	- what was to be emitted or dropped by closed_to has been, `deadline` is when the next is
 *	- windows with end <= dropped_to are gone for good
 */
#ifndef SE_WINDOW_AGG_INTERNAL_H
#define SE_WINDOW_AGG_INTERNAL_H

#include "flow/graph.h"
#include "flow/operator.h"
#include "operators/agg_set.h"
#include "operators/keyed_rows.h"
#include "operators/meta_record.h"
#include "operators/net_rows.h"
#include "operators/stale.h"
#include "operators/stash.h"

typedef struct SeSlice
{
	SeTime		start;
	SeTime		end;
	SeTime		first_end;		/* of the windows it is in */
	SeTime		last_end;
	SeAggHome  *home;

	/* rows of the current run, chained by number; -1 = end */
	int			first_row;
	int			last_row;

	/* merged windows: while this slice is in the front part */
	struct SeUndo *undo;		/* per entry: what the front was without it (window_merge.c) */
	uint32		undo_entries;
	uint32		undo_room;

	/* updating */
	SeStale		stale;			/* groups whose last emitted row is not their value */
	SeTime		boundary;		/* awake: when they are emitted */
	int			awake;			/* place in the list of those with a boundary, from 1; 0 = none */
} SeSlice;

/* Groups of the window that fires next (window_merge.c). */
typedef struct SeMerged
{
	SeAggHome  *home;			/* NULL: to be built by the next firing */
	SeTime		merged_to;		/* slices that end by here are in it */
	SeTime		front_end;		/* those that end by here are in the front, others in the back */
} SeMerged;

typedef struct SeWindowAgg
{
	SeOperator	op;
	SeStash		stash;

	/* settings: never change */
	const SeWindowAggNode *node;
	SeAggSet   *set;
	SeKeys	   *keys;
	bool		single;
	bool		updating;		/* results change (window_update.c) … */
	bool		boundaries;		/* … also at times between start, end and drop of a window */

	/* state */
	SeSlice   **slices;
	int			nslices;
	int			max_slices;
	SeTime		closed_to;
	SeTime		deadline;
	bool		firing;
	SeTime		fire_end;
	uint32		cursor;
	SeAggHome  *result;			/* merged groups still to be emitted, kept over a commit */
	SeTime		result_end;
	bool		kept;			/* mutant wrong-slice-not-dropped only */
	SeMerged	merged;
	SeTime		dropped_to;		/* updating */
	SeTime		early_tick;		/* updating: the last multiple of `early … processing` that was emitted */
	SeSlice   **awake;			/* updating: slices with a boundary */
	int			nawake;
	int			max_awake;
	SeNetRows	net;
	SeMetaRecord meta;

	/* memory: per batch or output batch */
	MemoryContext scratch;
	SeBatch    *out;
	int			last_slice;		/* where the last row was found */
	SeKeyedRows keyed;			/* of one slice */
	int		   *next_row;		/* per row: chains of SeSlice */
	SeSlice   **touched;
	SeEntry   **due;			/* updating: groups whose count of rows says so */
	Datum	   *out_values;		/* updating: a row being made */
	bool	   *out_nulls;
} SeWindowAgg;

/* window_agg.c */
extern SeSlice *se_window_agg_slice(SeWindowAgg *agg, SeTime start, SeTime end);
extern int	se_window_agg_position(const SeWindowAgg *agg, SeTime end);
extern SeSlice *se_window_agg_find_slice(SeWindowAgg *agg, SeTime start, SeTime end);
extern void se_window_agg_drop_slices(SeWindowAgg *agg, SeTime closed_to);
extern void se_window_agg_set_deadline(SeWindowAgg *agg);
extern void se_window_agg_publish(SeWindowAgg *agg);

/* window_fire.c: reach a watermark; false if the output is full before it is reached. */
extern bool se_window_agg_advance(SeOperator *op, SeTime h);
extern bool se_window_agg_finish_firing(SeWindowAgg *agg);
extern void se_window_agg_keep_result(SeWindowAgg *agg);

/*
 * The entry, and the table it is in, whose key is shown for a group of the window [start, fire_end): `entry` of `home`, or a
 * slice's.
 */
extern SeEntry *se_window_agg_shown(SeWindowAgg *agg, SeAggHome *home, SeEntry *entry, SeTime start, SeTable **table);

/* window_update.c */
extern void se_window_update_init(SeWindowAgg *agg);
extern SeTime se_window_update_horizon(const SeWindowAgg *agg, SeTime wm);
extern bool se_window_update_advance(SeWindowAgg *agg, SeTime h);
extern void se_window_update_wake(SeWindowAgg *agg, SeSlice *slice, SeTime wm);
extern void se_window_update_apply(SeWindowAgg *agg, SeSlice *slice, const SeBatch *batch, int n);
extern void se_window_update_timer(SeOperator *op, SeTime now);
extern void se_window_update_prepare(SeWindowAgg *agg);
extern void se_window_update_restored(SeWindowAgg *agg);
extern SeTime se_window_update_deadline(const SeWindowAgg *agg);
extern void se_window_update_forget(SeWindowAgg *agg, SeSlice *slice);

/* Windows that end by then are late for a row with this stamp. */
static inline SeTime
se_window_agg_horizon(const SeWindowAgg *agg, SeTime wm)
{
	return agg->updating ? se_window_update_horizon(agg, wm) : wm;
}

/* window_merge.c */
extern void se_window_merge_window(SeWindowAgg *agg, SeTime start, SeTime end);
extern bool se_window_merge_present(SeWindowAgg *agg, const char *payload);
extern char *se_window_merge_group(SeWindowAgg *agg, SeEntry *entry, SeAggHome *home, char *payload);
extern void se_window_merge_rows(SeWindowAgg *agg, SeSlice *slice, const SeBatch *batch,
								 const int *rows, SeEntry **entries, int n);
extern void se_window_merge_drop(SeWindowAgg *agg, SeSlice *slice);
extern void se_window_merge_reset(SeWindowAgg *agg);

/* window_adopt.c */
extern void se_window_agg_adopt(SeOperator *op, SeOperator *from);

/* window_state.c */
extern void se_window_state_prepare(SeOperator *op);
extern void se_window_state_snapshot(SeOperator *op, SeSnapshotWriter *writer);
extern Size se_window_state_rewrite(SeOperator *op, const void *record, Size len);
extern void se_window_state_restore(SeOperator *op, const void *record, Size len);
extern void se_window_state_restored(SeOperator *op);

#endif							/* SE_WINDOW_AGG_INTERNAL_H */
