/*
 * source/source.h
 *		What a task polls: the law of a connector.
 *
 * A position is a tagged byte string that the source alone understands; nobody
 * outside a source looks into one (the native log's is I2's). I8: it moves only in
 * the transaction that holds everything derived from the rows before it.
 *
 * Runs in: task worker, inside a round.
 */
#ifndef SE_SOURCE_H
#define SE_SOURCE_H

#include "access/xlogdefs.h"
#include "base/se.h"
#include "flow/graph.h"
#include "flow/operator.h"
#include "flow/row.h"
#include "lib/stringinfo.h"
#include "log/options_mark.h"
#include "utils/snapshot.h"

typedef struct SeSource SeSource;

typedef enum SePollResult
{
	SE_POLL_ROWS,				/* the batch holds rows or a tick, or its wm_end moved: poll again */
	SE_POLL_NOTHING,			/* nothing to be had now; wait on the latch */
	SE_POLL_AGAIN,				/* nothing yet, but do not wait: the scan goes on */
	SE_POLL_OPTIONS,			/* nothing before pass_options: it stands before a mark of the job; tick says when */
	SE_POLL_END					/* the input has ended and everything was delivered */
} SePollResult;

/* What a source shows in stream_engine.sources. */
typedef struct SeSourceStatus
{
	XLogRecPtr	read_lsn;		/* what was there when this LSN was flushed is delivered; 0: cannot say yet */
	XLogRecPtr	restart_lsn;	/* the position's: WAL needed from here; 0: none is needed */
	SeTime		watermark;
	TimestampTz commit_time;	/* of the newest delivered row: latency is counted from it */
	uint64		skipped;		/* transactions left out whole (begun before the start) */
	uint64		bytes_read;		/* of the log */

	/* for whoever notices that a stream has become idle; timeout 0: it cannot */
	Oid			stream;
	int64		idle_timeout;	/* µs */
	SeTime		active;			/* when it last was, SE_TIME_MIN = not known yet */
	bool		idle;
} SeSourceStatus;

typedef struct SeSourceOps
{
	const char *name;

	/*
	 * Begin at a position (never NULL: creation made the first one). Raises 58P01 when what it needs is gone, naming
	 * the missing range (I3).
	 */
	void		(*open) (SeSource *source, const void *position, Size len);

	/*
	 * Fill an empty batch (se_batch_reset done by the caller) with up to its capacity of rows, or move wm_end, or
	 * give a tick: that comes alone, so that the position stands before it until all before it was pushed. Stamps
	 * are the source's work. Values stay valid until the next poll. `snapshot` is the round's: a row whose
	 * transaction it does not see committed is not delivered yet (I1).
	 */
	SePollResult (*poll) (SeSource *source, SeBatch *batch, Snapshot snapshot);

	/* Append the position after the last row delivered. */
	void		(*position) (SeSource *source, StringInfo out);

	/* Step behind the mark that `options` shows. */
	void		(*pass_options) (SeSource *source);

	/* The commit that holds position() is visible. Cannot fail. */
	void		(*position_committed) (SeSource *source);

	/*
	 * The whole row at a place of the batch that was polled last: all attributes of the relation, whose descriptor
	 * is *desc, into *values and *nulls, valid until the next poll or call; and when it arrived. False if it is not
	 * there. Only with keep_rows. Runs no user code.
	 */
	bool		(*row) (SeSource *source, SePlace place, TupleDesc *desc, Datum **values, bool **nulls,
						TimestampTz *arrived);

	/* For monitoring and for wait_for. */
	void		(*status) (SeSource *source, SeSourceStatus *status);

	/* Render a position for people: "0/1A2B3C4 +12". */
	char	   *(*describe) (const void *position, Size len);

	/* WAL a stored position needs: from there; PG_UINT64_MAX: none; 0: it cannot be read. */
	XLogRecPtr	(*needs_wal) (const void *position, Size len);

	/* Release what is not memory; may be called twice; cannot fail. */
	void		(*close) (SeSource *source);
} SeSourceOps;

struct SeSource
{
	const SeSourceOps *ops;
	int			node_id;
	TupleDesc	desc;			/* rows it delivers */
	MemoryContext memory;

	/* µs between ticks that it needs itself; 0 = none; known when open */
	int64		tick_interval;

	/* whose marks it obeys; set before open, InvalidOid = nobody's */
	Oid			job;

	/* the mark it stands before, once all rows before it were polled; NULL = none */
	const SeOptionsMark *options;
	/* settings of the task, before open */
	bool		keep_rows;		/* row() will be called */
	SeOperatorEnv *env;			/* to whose side rows go whose watermark expression fails; NULL: none */

	/* rows a person leaves out (SePlace *): delivered, but they assert nothing; NULL = none */
	List	  **skip;

	/* 1 + index in the batch of the row that an error in poll belongs to; 0 = none */
	int			row_at_work;
};

/* The source of a node (source_kinds.c). */
extern SeSource *se_source_new(const SeNode *node, MemoryContext memory);

/* A stored position of whatever source wrote it: as people read it, and what WAL it needs. */
extern char *se_source_describe(const void *position, Size len);
extern XLogRecPtr se_source_needs_wal(const void *position, Size len);

/* The native log's source. stream_owner runs the watermark expression. */
extern const SeSourceOps se_log_source_ops;
extern SeSource *se_log_source_new(const SeLogSourceNode *node, MemoryContext memory);

#ifdef SE_TEST_BUILD
/* Rows 1, 2, 3 … in the place of a stream: a source whose position is no place in the WAL. */
extern const SeSourceOps se_counter_source_ops;
extern SeSource *se_counter_source_new(const SeLogSourceNode *node, MemoryContext memory);
#endif

#endif							/* SE_SOURCE_H */
