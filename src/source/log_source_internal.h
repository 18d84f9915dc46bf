/*
 * source/log_source_internal.h
 *		What the files of the native stream's source share.
 *
 *	log_source.c		polls: messages of the log one after the other, and positions
 *	log_source_rows.c	rows of a message into a batch, with their stamps; rows had whole
 *	log_source_clock.c	what marks of the clock do to the watermark
 *
 * Stamps are a function of the log alone (I4): H is the running maximum of the stream's
 * watermark expression over the rows in delivery order, of watermark marks at their
 * ordinal, and, if the stream's options say so, of the clock's marks. Each row carries H as it was before
 * it. proctime is the running maximum of commit times and tick marks. For windows over
 * proctime() it is also the rows' time and H.
 */
#ifndef SE_LOG_SOURCE_INTERNAL_H
#define SE_LOG_SOURCE_INTERNAL_H

#include "log/layout.h"
#include "log/reader.h"
#include "log/row_pack.h"
#include "log/stream.h"
#include "source/source.h"
#include "source/watermark.h"

/* Rows of one layout, taken apart. */
typedef struct SeLogUnpack
{
	uint32		layout;
	SeUnpacker *unpacker;
	SeUnpacker *whole;			/* to all attributes; NULL without keep_rows */
} SeLogUnpack;

/* A row of the last batch as it is in the log. */
typedef struct SeLogKeptRow
{
	SePlace		place;
	TimestampTz arrived;
	const SeLogUnpack *unpack;
	const char *bytes;
	const char *end;
} SeLogKeptRow;

typedef struct SeLogSource
{
	SeSource	source;			/* base */

	/* settings */
	const SeLogSourceNode *node;
	AttrNumber *wanted;			/* the node's columns, then what the stamps need */
	int			nwanted;
	int			event_time;		/* index in wanted, -1 = none */
	bool		by_reference;	/* a column of the node is */
	List	   *made_columns;	/* of the node, those that are no column of the stream */
	SeWatermark *watermark;		/* NULL = the stream has none */
	const SeStreamInfo *info;

	/* reading */
	SeLogReader *reader;
	SeLogMessage message;
	const char *cursor;			/* next row of message, NULL = message is done */
	const char *end;
	uint32		row;			/* of message, at cursor */
	const SeLogUnpack *unpack;
	bool		borrowed;		/* the batch points into the message */
	List	   *unpacks;		/* SeLogUnpack */
	List	   *sent_unpacks;	/* SeLogUnpack, of this transaction's layout messages */
	MemoryContext sent_memory;
	MemoryContext mark_memory;	/* of source.options */
	Datum	   *values;			/* a row, if more than the node's columns is wanted */
	bool	   *nulls;

	/* the batch's rows, to be had whole: with keep_rows */
	TupleDesc	whole_desc;
	AttrNumber *whole_attnos;
	Datum	   *whole_values;
	bool	   *whole_nulls;
	MemoryContext whole_memory; /* converted values of the last one */
	SeLogKeptRow *kept;
	int			nkept;
	int			max_kept;

	/* state: what a position says */
	SeTime		h;
	SeTime		proctime;
	SeTime		active;			/* proctime of the last sign of life; see log_source_clock.c */
	SeTime		active_h;		/* h after that, unless it is `fresh` … */
	bool		fresh;			/* … when it is still h */
	bool		idle;
	bool		said;			/* a watermark mark was met in this poll */
	SeTime		tick;			/* met but not given out yet; SE_TIME_MIN = none */
	XLogRecPtr	tick_lsn;		/* where its mark begins */
	bool		inside;			/* of the transaction that commits at commit_lsn */
	XLogRecPtr	commit_lsn;
	uint64		next_ordinal;

	/* counters */
	TimestampTz commit_time;
	uint64		rows;			/* mutant wrong-row-skipped */
} SeLogSource;

/* The message is done. */
static inline void
se_log_source_end_message(SeLogSource *log)
{
	log->cursor = NULL;
	if (log->message.last_of_transaction)
		log->inside = false;
}

/* log_source_rows.c: what is unpacked, and how rows of a layout are; whole ones are of the last batch only. */
extern void se_log_source_find_columns(SeLogSource *log, Relation stream);
extern const SeLogUnpack *se_log_source_unpack(SeLogSource *log, uint32 id);
extern void se_log_source_take_layout(SeLogSource *log);
extern void se_log_source_take_rows(SeLogSource *log, SeBatch *batch);
extern bool se_log_source_row(SeSource *source, SePlace place, TupleDesc *desc, Datum **values, bool **nulls,
							  TimestampTz *arrived);

/* log_source_clock.c: processing time, signs of life, and the marks that stand for the clock. */
extern bool se_log_source_clock_matters(const SeLogSource *log);
extern void se_log_source_go_on(SeLogSource *log, SeTime proctime);
extern void se_log_source_show_life(SeLogSource *log, SeTime now);
extern void se_log_source_tick(SeLogSource *log);
extern void se_log_source_idle(SeLogSource *log);

#endif							/* SE_LOG_SOURCE_INTERNAL_H */
