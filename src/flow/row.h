/*
 * flow/row.h
 *		Rows on their way through a dataflow: the batch.
 *
 * A batch is up to a few hundred rows, row-major, so that a virtual slot can point
 * straight at row i. Every row carries its kind, its event time, the watermark
 * *stamped* on it at its source (the running maximum over all rows before it, I4),
 * and its place in the source. Only sources make stamps; operators pass them on.
 *
 * Whose memory: values by reference point into the arena or into memory the
 * producer keeps until the push returns. A consumer that keeps a value copies it.
 */
#ifndef SE_ROW_H
#define SE_ROW_H

#include "base/se.h"
#include "access/tupdesc.h"
#include "executor/tuptable.h"

/* Flink's four row kinds; the numbers are stored bytes (docs/design/log.md). */
typedef enum SeRowKind
{
	SE_ROW_INSERT = 0,			/* +I */
	SE_ROW_UPDATE_BEFORE = 1,	/* -U: right before the +U; in upsert mode only if that has another key */
	SE_ROW_UPDATE_AFTER = 2,	/* +U */
	SE_ROW_DELETE = 3			/* -D */
} SeRowKind;

/*
 * Where a row stands in its source: for the native log commit LSN and ordinal. {0, 0}:
 * it stands for no single row of a source.
 */
typedef struct SePlace
{
	uint64		major;
	uint64		minor;
} SePlace;

typedef struct SeBatch
{
	/* shape: fixed when made */
	TupleDesc	desc;			/* one attribute per column */
	int			ncolumns;
	int			capacity;		/* rows there is room for */

	/* rows 0 .. nrows-1 */
	int			nrows;
	Datum	   *values;			/* nrows * ncolumns */
	bool	   *nulls;			/* likewise */
	uint8	   *kinds;			/* SeRowKind each; only read if !append_only */
	bool		append_only;	/* all +I */
	SeTime	   *event_time;		/* SE_TIME_MIN where the row has none */
	SeTime	   *wm;				/* watermark before row i; never decreases */
	SeTime		wm_end;			/* watermark after the last row */
	SePlace    *places;
	char	  **whole;			/* the stream's rows as text, of a batch that was kept; or NULL (flow/side.h) */

	/* a tick mark met in the log: processing time has reached it. Such a batch has no rows. SE_TIME_MIN = none */
	SeTime		tick;
	bool		idle;			/* its source is idle; a batch with rows never is */
	bool		by_clock;		/* no row and no watermark mark has moved wm_end, but the clock may have */

	/* memory for values by reference, reset by se_batch_reset */
	MemoryContext arena;
} SeBatch;

/* Order of places: <0, 0, >0. */
static inline int
se_place_compare(SePlace a, SePlace b)
{
	if (a.major != b.major)
		return a.major < b.major ? -1 : 1;
	if (a.minor != b.minor)
		return a.minor < b.minor ? -1 : 1;
	return 0;
}

/* A row's place as people see and write it: "0/1A2B3C4 +12". */
extern char *se_place_describe(SePlace place);
extern bool se_place_parse(const char *text, SePlace *place);

/* A batch with its arrays and arena as children of `parent`. */
extern SeBatch *se_batch_new(MemoryContext parent, TupleDesc desc, int capacity);

/* Forget the rows, the tick and the arena; wm_end stays. */
extern void se_batch_reset(SeBatch *batch);

static inline Datum *
se_batch_values(const SeBatch *batch, int row)
{
	Assert(row >= 0 && row < batch->capacity);
	return batch->values + (Size) row * batch->ncolumns;
}

static inline bool *
se_batch_nulls(const SeBatch *batch, int row)
{
	return batch->nulls + (Size) row * batch->ncolumns;
}

/* Copy kind, time, stamp and place of a row, as an operator does for its output. */
static inline void
se_batch_stamp_from(SeBatch *to, int to_row, const SeBatch *from, int from_row)
{
	to->kinds[to_row] = from->append_only ? SE_ROW_INSERT : from->kinds[from_row];
	to->event_time[to_row] = from->event_time[from_row];
	to->wm[to_row] = from->wm[from_row];
	to->places[to_row] = from->places[from_row];
}

/* Kind, time and stamp of a row that an operator makes of many: it has no place in the input. */
static inline void
se_batch_stamp(SeBatch *to, int to_row, SeRowKind kind, SeTime event_time, SeTime wm)
{
	to->kinds[to_row] = kind;
	to->event_time[to_row] = event_time;
	to->wm[to_row] = wm;
	to->places[to_row] = (SePlace)
	{
		0, 0
	};
}

/*
 * Let a virtual slot (made with the batch's desc) show row i without a copy.
 * The slot's own arrays are replaced; it must only ever be used this way.
 */
static inline void
se_batch_show_row(const SeBatch *batch, int row, TupleTableSlot *slot)
{
	slot->tts_values = se_batch_values(batch, row);
	slot->tts_isnull = se_batch_nulls(batch, row);
	slot->tts_nvalid = batch->ncolumns;
	slot->tts_flags &= ~TTS_FLAG_EMPTY;
}

#endif							/* SE_ROW_H */
