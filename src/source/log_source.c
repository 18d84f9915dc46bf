/*
 * source/log_source.c
 *		The native stream as a job's source: batches of rows with their watermark stamps.
 *
 * Stamps are a function of the log alone (I4): H is the running maximum of the stream's
 * watermark expression over the rows in delivery order, and of watermark marks at their
 * ordinal, and, if the stream's options say so, of the clock's marks. Each row carries H as it was before it. proctime is the running maximum of
 * commit times and tick marks. For windows over proctime() it is also the rows' time and H.
 *
 * Rows are not copied: by-reference values point into the message, which the reader
 * keeps until it is asked for the next one. So a batch ends with a large message. Small
 * ones (many transactions of one row) are copied into the batch's arena, so that a batch
 * spans many of them; if no wanted column is by reference, nothing needs to be kept.
 *
 * Runs in: task worker, in a round. Memory: the source's; one context per transaction
 * for layouts it brought along.
 */
#include "postgres.h"

#include "access/table.h"
#include "access/xlog.h"
#include "base/compat.h"
#include "base/fault.h"
#include "base/database_slot.h"
#include "catalog/pg_type.h"
#include "flow/guard.h"
#include "funcapi.h"
#include "log/layout.h"
#include "log/options_mark.h"
#include "log/reader.h"
#include "log/retention.h"
#include "log/row_bytes.h"
#include "log/row_pack.h"
#include "log/stream.h"
#include "source/source.h"
#include "source/watermark.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

/* WAL one poll scans at most: it must come back to its latch and its commits. */
#define POLL_BUDGET (4 * 1024 * 1024)

/* A message up to this size is copied rather than ending the batch. */
#define COPY_BELOW (8 * 1024)

/* Rows of one layout, taken apart. */
typedef struct Unpack
{
	uint32		layout;
	SeUnpacker *unpacker;
	SeUnpacker *whole;			/* to all attributes; NULL without keep_rows */
} Unpack;

/* A row of the last batch as it is in the log. */
typedef struct KeptRow
{
	SePlace		place;
	TimestampTz arrived;
	const Unpack *unpack;
	const char *bytes;
	const char *end;
} KeptRow;

typedef struct LogSource
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
	const Unpack *unpack;
	bool		borrowed;		/* the batch points into the message */
	List	   *unpacks;		/* Unpack */
	List	   *sent_unpacks;	/* Unpack, of this transaction's layout messages */
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
	KeptRow    *kept;
	int			nkept;
	int			max_kept;

	/* state: what a position says */
	SeTime		h;
	SeTime		proctime;
	SeTime		active;			/* proctime of the last sign of life; see take_idle() */
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
} LogSource;

static void log_source_open(SeSource *source, const void *position, Size len);
static bool log_source_row(SeSource *source, SePlace place, TupleDesc *desc, Datum **values, bool **nulls,
						   TimestampTz *arrived);
static SePollResult log_source_poll(SeSource *source, SeBatch *batch, Snapshot snapshot);
static void log_source_position(SeSource *source, StringInfo out);
static void log_source_pass_options(SeSource *source);
static void log_source_position_committed(SeSource *source);
static void log_source_status(SeSource *source, SeSourceStatus *status);
static char *log_source_describe(const void *position, Size len);
static XLogRecPtr log_source_needs_wal(const void *position, Size len);
static void log_source_close(SeSource *source);
static void find_columns(LogSource *log, Relation stream);
static int	want(LogSource *log, AttrNumber attno);
static XLogRecPtr readable_limit(void);
static SePollResult fill(LogSource *log, SeBatch *batch, Snapshot snapshot);
static void begin_message(LogSource *log);
static void end_message(LogSource *log);
static void begin_transaction(LogSource *log);
static void take_layout(LogSource *log);
static void stand_before(LogSource *log);
static void take_mark(LogSource *log);
static void go_on(LogSource *log, SeTime proctime);
static bool clock_matters(const LogSource *log);
static void take_idle(LogSource *log);
static void show_life(LogSource *log, SeTime now);
static void settle_life(LogSource *log);
static void advance_idle(LogSource *log);
static void limit_delay(LogSource *log);
static void take_tick(LogSource *log);
static XLogRecPtr read_lsn(const LogSource *log, const SeLogReaderStatus *reader);
static void prepare_whole_rows(LogSource *log, Relation stream);
static void take_rows(LogSource *log, SeBatch *batch);
static void take_some(void *arg);
static void leave_out_row(void *arg);
static void keep_row(LogSource *log, const SeBatch *batch, int row, const char *bytes, const char *end);
static void stamp(LogSource *log, SeBatch *batch, int row, const Datum *values, const bool *nulls, bool passed);
static void make_column(LogSource *log, SeBatch *batch, int row, int column, bool passed);
static void next_row(LogSource *log);
static bool is_left_out(LogSource *log, SePlace place);
static const Unpack *find_unpack(LogSource *log, uint32 layout);
static Unpack *make_unpack(LogSource *log, MemoryContext memory, const SeLayout *layout, List *layouts);
static void name_row(void *arg);

const SeSourceOps se_log_source_ops = {
	.name = "native log",
	.open = log_source_open,
	.poll = log_source_poll,
	.row = log_source_row,
	.position = log_source_position,
	.pass_options = log_source_pass_options,
	.position_committed = log_source_position_committed,
	.status = log_source_status,
	.describe = log_source_describe,
	.needs_wal = log_source_needs_wal,
	.close = log_source_close,
};

SeSource *
se_log_source_new(const SeLogSourceNode *node, MemoryContext memory)
{
	LogSource  *log = MemoryContextAllocZero(memory, sizeof(LogSource));

	log->source.ops = &se_log_source_ops;
	log->source.node_id = node->node.id;
	log->source.desc = node->node.desc;
	log->source.memory = memory;
	log->node = node;
	log->h = SE_TIME_MIN;
	log->proctime = SE_TIME_MIN;
	log->tick = SE_TIME_MIN;
	log->active = SE_TIME_MIN;
	log->active_h = SE_TIME_MIN;
	return &log->source;
}

static void
log_source_open(SeSource *source, const void *position, Size len)
{
	LogSource  *log = (LogSource *) source;
	MemoryContext old = MemoryContextSwitchTo(source->memory);
	SeLogPosition from;
	Relation	stream;

	se_position_decode(position, len, &from);
	stream = table_open(log->node->stream, AccessShareLock);
	find_columns(log, stream);
	table_close(stream, NoLock);

	log->sent_memory = AllocSetContextCreate(source->memory, "stream_engine layouts of a transaction",
											 ALLOCSET_SMALL_SIZES);
	log->mark_memory = AllocSetContextCreate(source->memory, "stream_engine options mark",
											 ALLOCSET_SMALL_SIZES);
	log->h = from.watermark;
	log->proctime = from.proctime;
	log->active = from.active;
	log->active_h = from.active_watermark;
	log->idle = (from.flags & SE_POSITION_IDLE) != 0;
	log->commit_time = from.proctime == SE_TIME_MIN ? 0 : from.proctime;
	log->reader = se_reader_open(source->memory, &from, list_make1_oid(log->node->stream),
								 (from.flags & SE_POSITION_EARLIEST) == 0);
	se_reader_want_marks(log->reader, source->job);
	MemoryContextSwitchTo(old);
}

static SePollResult
log_source_poll(SeSource *source, SeBatch *batch, Snapshot snapshot)
{
	LogSource  *log = (LogSource *) source;
	ErrorContextCallback context;
	SeTime		h = log->h;
	SePollResult result;

	SE_FAULT_POINT("source-poll");
	Assert(batch->nrows == 0 && batch->ncolumns == source->desc->natts);
	context.callback = name_row;
	context.arg = log;
	context.previous = error_context_stack;
	error_context_stack = &context;

	log->borrowed = false;
	log->said = false;
	log->nkept = 0;
	if (log->kept != NULL && log->max_kept < batch->capacity)
	{
		log->kept = repalloc(log->kept, sizeof(KeptRow) * batch->capacity);
		log->max_kept = batch->capacity;
	}
	result = log->tick != SE_TIME_MIN ? SE_POLL_AGAIN : fill(log, batch, snapshot);
	if (log->watermark != NULL)
		se_watermark_unpin(log->watermark);
	batch->wm_end = log->h;
	batch->idle = log->idle && batch->nrows == 0;
	batch->by_clock = batch->nrows == 0 && !log->said;
	if (source->env != NULL)
		source->env->current_batch = NULL;

	error_context_stack = context.previous;
	if (batch->nrows > 0 || log->h > h)
		return SE_POLL_ROWS;
	if (log->tick == SE_TIME_MIN)
		return result;

	/* All before it has been pushed. */
	batch->tick = log->tick;
	log->tick = SE_TIME_MIN;
	return SE_POLL_ROWS;
}

static void
log_source_position(SeSource *source, StringInfo out)
{
	LogSource  *log = (LogSource *) source;
	SeLogReaderStatus status;
	SeLogPosition position;

	se_reader_status(log->reader, &status);
	if (log->inside)
		se_reader_position(log->reader, log->commit_lsn, log->next_ordinal, &position);
	else
		se_reader_position(log->reader, read_lsn(log, &status), 0, &position);
	if (log->node->by_proctime)
		position.flags |= SE_POSITION_PROCTIME;
	position.watermark = log->h;
	position.proctime = log->proctime;
	position.active = log->active;
	position.active_watermark = log->fresh ? log->h : log->active_h;
	position.flags = (position.flags & ~SE_POSITION_IDLE) | (log->idle ? SE_POSITION_IDLE : 0);
	appendBinaryStringInfo(out, (const char *) &position, sizeof(position));
}

/* What comes behind it is the next poll's. */
static void
log_source_pass_options(SeSource *source)
{
	LogSource  *log = (LogSource *) source;

	Assert(source->options != NULL);
	source->options = NULL;
	log->next_ordinal++;
	end_message(log);
}

/* The slot is the coordinator's to move. */
static void
log_source_position_committed(SeSource *source)
{
}

static void
log_source_status(SeSource *source, SeSourceStatus *status)
{
	LogSource  *log = (LogSource *) source;
	SeLogReaderStatus reader;
	SeLogPosition position;

	memset(status, 0, sizeof(SeSourceStatus));
	status->watermark = log->h;
	status->commit_time = log->commit_time;
	status->stream = log->node->stream;
	status->idle_timeout = log->info == NULL ? 0 : log->info->idle_timeout;
	status->active = log->active;
	status->idle = log->idle;
	if (log->reader == NULL)
		return;
	se_reader_status(log->reader, &reader);
	status->read_lsn = read_lsn(log, &reader);
	se_reader_position(log->reader, status->read_lsn, log->inside ? log->next_ordinal : 0, &position);
	status->restart_lsn = position.restart_lsn;
	status->skipped = reader.skipped;
	status->bytes_read = reader.bytes_scanned;
}

static char *
log_source_describe(const void *position, Size len)
{
	SeLogPosition decoded;

	se_position_decode(position, len, &decoded);
	return se_position_describe(&decoded);
}

static XLogRecPtr
log_source_needs_wal(const void *position, Size len)
{
	SeLogPosition decoded;

	/* Another release's cannot be read. */
	if (len != sizeof(SeLogPosition) && len != offsetof(SeLogPosition, active))
		return InvalidXLogRecPtr;
	se_position_decode(position, len, &decoded);
	return decoded.restart_lsn;
}

static void
log_source_close(SeSource *source)
{
	LogSource  *log = (LogSource *) source;

	if (log->reader != NULL)
		se_reader_close(log->reader);
	log->reader = NULL;
	log->cursor = NULL;
}

/* Decide what to unpack: the node's columns in their order, then those of the stamps. */
static void
find_columns(LogSource *log, Relation stream)
{
	TupleDesc	desc = log->source.desc;

	log->wanted = palloc0(sizeof(AttrNumber) * (desc->natts + RelationGetDescr(stream)->natts + 1));
	for (int i = 0; i < desc->natts; i++)
	{
		AttrNumber	attno = log->node->attnos[i];

		log->wanted[log->nwanted++] = attno > 0 ? attno : 0;
		log->by_reference |= attno > 0 && !TupleDescAttr(desc, i)->attbyval;
		if (attno < 0)
			log->made_columns = lappend_int(log->made_columns, i);
	}
	log->event_time = log->node->event_time == 0 || log->node->by_proctime ? -1 :
		want(log, log->node->event_time);
	log->info = se_stream_info(log->node->stream);
	log->source.tick_interval = clock_matters(log) ? SE_TICK_FINEST : 0;
	log->watermark = log->node->by_proctime ? NULL : se_watermark_new(stream);
	if (log->watermark != NULL)
	{
		ListCell   *cell;

		foreach(cell, se_watermark_columns(log->watermark))
			(void) want(log, lfirst_int(cell));
		se_watermark_bind(log->watermark, log->wanted, log->nwanted);
	}
	if (log->source.keep_rows)
		prepare_whole_rows(log, stream);
	log->values = palloc0(sizeof(Datum) * Max(log->nwanted, 1));
	log->nulls = palloc0(sizeof(bool) * Max(log->nwanted, 1));
}

/*
 * Rows will be asked for whole: their bytes must stay where they are until the next poll. Their type is one of its
 * own, since they may wait for a commit while that of the stream is altered.
 */
static void
prepare_whole_rows(LogSource *log, Relation stream)
{
	TupleDesc	desc = CreateTupleDescCopy(RelationGetDescr(stream));

	desc->tdtypeid = RECORDOID;
	desc->tdtypmod = -1;
	log->by_reference = true;
	log->whole_desc = BlessTupleDesc(desc);
	log->whole_attnos = palloc0(sizeof(AttrNumber) * Max(desc->natts, 1));
	log->whole_values = palloc0(sizeof(Datum) * Max(desc->natts, 1));
	log->whole_nulls = palloc0(sizeof(bool) * Max(desc->natts, 1));
	log->whole_memory = AllocSetContextCreate(CurrentMemoryContext, "stream_engine whole row", ALLOCSET_SMALL_SIZES);
	for (int i = 0; i < desc->natts; i++)
	{
		log->whole_nulls[i] = true;
		if (se_compat_attr_is_stored(TupleDescAttr(RelationGetDescr(stream), i)))
			log->whole_attnos[i] = i + 1;
	}
	log->max_kept = 1;
	log->kept = palloc(sizeof(KeptRow));
}

/* The index of a column in wanted, added if need be. */
static int
want(LogSource *log, AttrNumber attno)
{
	for (int i = 0; i < log->nwanted; i++)
		if (log->wanted[i] == attno)
			return i;
	log->wanted[log->nwanted] = attno;
	return log->nwanted++;
}

/* Up to where there is log: all that is flushed, and what a session said it committed. */
static XLogRecPtr
readable_limit(void)
{
	XLogRecPtr	flushed = se_retention_end();
	XLogRecPtr	announced = se_database_slot_announced_lsn(MyDatabaseId);

	if (announced <= flushed || RecoveryInProgress())
		return flushed;
	XLogFlush(announced);
	return GetFlushRecPtr(NULL);
}

/* Fill the batch; the result counts if it stays empty and the watermark where it was. */
static SePollResult
fill(LogSource *log, SeBatch *batch, Snapshot snapshot)
{
	XLogRecPtr	limit = readable_limit();
	SeLogReaderStatus status;
	uint64		from;

	se_reader_status(log->reader, &status);
	from = status.bytes_scanned;
	for (;;)
	{
		SeReadResult result;

		if (log->cursor != NULL)
			take_rows(log, batch);
		if (batch->nrows == batch->capacity || log->borrowed || log->tick != SE_TIME_MIN)
			return SE_POLL_ROWS;
		if (log->source.options != NULL)
			return SE_POLL_OPTIONS;

		se_reader_status(log->reader, &status);
		if (status.bytes_scanned - from >= POLL_BUDGET)
			return SE_POLL_AGAIN;
		result = se_reader_next(log->reader, limit, snapshot,
								POLL_BUDGET - (status.bytes_scanned - from), &log->message);
		if (result == SE_READ_NOTHING)
			return SE_POLL_NOTHING;
		if (result == SE_READ_AGAIN)
			return SE_POLL_AGAIN;
		begin_message(log);
	}
}

/* Take note of a message; rows are left for take_rows, anything else is done at once. */
static void
begin_message(LogSource *log)
{
	const SeLogMessage *message = &log->message;
	uint8		kind;

	if (message->header.top_xid != 0 && (!log->inside || message->commit_lsn != log->commit_lsn))
		begin_transaction(log);
	switch (message->header.kind)
	{
		case SE_MESSAGE_MARK:
			if (message->header.mark == SE_MARK_OPTIONS)
			{
				stand_before(log);
				return;
			}
			take_mark(log);
			break;
		case SE_MESSAGE_LAYOUT:
			take_layout(log);
			break;
		default:
			log->unpack = find_unpack(log, message->header.layout);
			log->cursor = message->body;
			log->end = message->body + message->header.body_len;
			for (uint32 i = 0; i < message->skip_rows; i++)
				se_row_unpack(log->unpack->unpacker, &log->cursor, log->end,
							  log->values, log->nulls, &kind);
			log->row = message->skip_rows;
			log->next_ordinal = message->header.ordinal;
			if (log->row < message->header.nrows)
				log->next_ordinal = se_reader_row_ordinal(message, log->row);
			log->commit_time = message->commit_time;
			go_on(log, message->header.clock != 0 ? message->header.clock : message->commit_time);
			show_life(log, log->proctime);
			if (log->cursor < log->end)
				return;
			break;
	}
	end_message(log);
}

static void
end_message(LogSource *log)
{
	log->cursor = NULL;
	if (log->message.last_of_transaction)
		log->inside = false;
}

static void
begin_transaction(LogSource *log)
{
	log->inside = true;
	log->commit_lsn = log->message.commit_lsn;
	log->next_ordinal = 0;
	log->sent_unpacks = NIL;
	MemoryContextReset(log->sent_memory);
}

static void
take_layout(LogSource *log)
{
	MemoryContext old = MemoryContextSwitchTo(log->sent_memory);
	SeLayout   *layout = se_layout_decode(log->message.body, log->message.header.body_len);

	layout->id = log->message.header.layout;
	log->sent_unpacks = lappend(log->sent_unpacks,
								make_unpack(log, log->sent_memory, layout, se_layout_list(layout->relation)));
	MemoryContextSwitchTo(old);
}

/* The job's options change here: the task decides when to go on. */
static void
stand_before(LogSource *log)
{
	MemoryContext old;

	MemoryContextReset(log->mark_memory);
	old = MemoryContextSwitchTo(log->mark_memory);
	log->source.options = se_options_mark_decode(log->message.body, log->message.header.body_len);
	MemoryContextSwitchTo(old);
	log->next_ordinal = log->message.header.ordinal;
}

/* A watermark counts among the rows of its transaction, a tick between transactions; barriers are the task's. */
static void
take_mark(LogSource *log)
{
	const SeMessageHeader *header = &log->message.header;

	if (header->top_xid != 0)
		log->next_ordinal = header->ordinal + 1;
	switch (header->mark)
	{
		case SE_MARK_WATERMARK:
			if (!log->node->by_proctime && !SE_FAULT_WRONG("wrong-watermark-mark-swallowed"))
				log->h = Max(log->h, se_message_mark_time(header, log->message.body));
			log->said = true;
			show_life(log, header->clock != 0 ? header->clock : log->message.commit_time);
			break;
		case SE_MARK_TICK:
			if (!SE_FAULT_WRONG("wrong-tick-swallowed"))
				take_tick(log);
			break;
		case SE_MARK_IDLE:
			if (!SE_FAULT_WRONG("wrong-idle-swallowed"))
				take_idle(log);
			break;
		default:
			break;
	}
}

/*
 * Processing time goes on, never back, also when the clock of the server does. Where windows are over it, it is
 * the watermark too: no row that comes later has less.
 */
static void
go_on(LogSource *log, SeTime proctime)
{
	log->proctime = SE_FAULT_WRONG("wrong-proctime-goes-back") ? proctime : Max(log->proctime, proctime);
	if (log->node->by_proctime)
		log->h = Max(log->h, log->proctime);
}

/* A tick is given out by a poll of its own, after the rows before it were pushed. */
static void
take_tick(LogSource *log)
{
	go_on(log, se_message_mark_time(&log->message.header, log->message.body));
	settle_life(log);
	if (log->active == SE_TIME_MIN)
		show_life(log, log->proctime);	/* a stream that never had a row is watched from here on */
	if (log->idle)
		advance_idle(log);
	limit_delay(log);
	log->tick = log->proctime;
	log->tick_lsn = log->message.commit_lsn;
}

/* Do the stream's options make its watermark depend on the clock? Not that of windows over proctime(). */
static bool
clock_matters(const LogSource *log)
{
	return !log->node->by_proctime && (log->info->max_delay >= 0 || log->info->idle_timeout > 0);
}

/*
 * Somebody noticed that the stream had no row for so long, and wrote it into the log. Rows may stand between, which
 * he had not seen: whether it is so is decided here, by what stands in the log before the mark, as of the mark's time.
 * Like a tick it is given out alone.
 */
static void
take_idle(LogSource *log)
{
	int64		quiet;

	go_on(log, se_message_mark_time(&log->message.header, log->message.body));
	if (!clock_matters(log) || log->info->idle_timeout == 0 || log->idle || log->active == SE_TIME_MIN ||
		pg_sub_s64_overflow(log->proctime, log->active, &quiet) ||
		(quiet < log->info->idle_timeout && !SE_FAULT_WRONG("wrong-idle-mark-believed")))
		return;
	settle_life(log);
	log->idle = true;
	advance_idle(log);
	log->tick = log->proctime;
	log->tick_lsn = log->message.commit_lsn;
}

/* A row or a watermark mark: the stream is not idle. */
static void
show_life(LogSource *log, SeTime now)
{
	log->active = Max(log->active, now);
	log->idle = false;
	log->fresh = true;
}

/* The clock may move H from here on: keep what rows and marks have made it. */
static void
settle_life(LogSource *log)
{
	if (log->fresh)
		log->active_h = log->h;
	log->fresh = false;
}

/*
 * The watermark of an idle stream goes on with the clock: by as much as that has since the stream was last active. So a
 * stream whose rows come some time after their event time keeps that distance, whatever it is.
 */
static void
advance_idle(LogSource *log)
{
	SeTime		h;

	if (!log->info->idle_advances || log->active_h == SE_TIME_MIN || log->proctime <= log->active)
		return;
	if (!pg_add_s64_overflow(log->active_h, log->proctime - log->active, &h) && IS_VALID_TIMESTAMP(h))
		log->h = Max(log->h, h);
}

/* The watermark is never further behind the clock than the stream's option max_delay. */
static void
limit_delay(LogSource *log)
{
	SeTime		h;

	if (log->node->by_proctime || log->info->max_delay < 0 || SE_FAULT_WRONG("wrong-max-delay-off") ||
		pg_sub_s64_overflow(log->proctime, log->info->max_delay, &h) || !IS_VALID_TIMESTAMP(h))
		return;
	log->h = Max(log->h, se_stream_event_time(log->info, h));
}

/* Everything that committed before it was delivered. A tick met but not given out yet is read again. */
static XLogRecPtr
read_lsn(const LogSource *log, const SeLogReaderStatus *reader)
{
	if (log->tick != SE_TIME_MIN)
		return log->tick_lsn;
	return log->inside ? log->commit_lsn : reader->read_lsn;
}

/* Rows on their way into a batch. */
typedef struct Taking
{
	LogSource  *log;
	SeBatch    *batch;
	const char *cursor;			/* behind the row at work */
	const char *end;
	bool		direct;			/* they are unpacked where they belong */
	bool		wrong;
} Taking;

/* Rows of the current message into the batch, until one of them is at its end. */
static void
take_rows(LogSource *log, SeBatch *batch)
{
	SeOperatorEnv *env = log->source.env;
	Size		left = log->end - log->cursor;
	const char *bytes = log->cursor;
	Taking		taking;
	MemoryContext old = CurrentMemoryContext;

	/* Converted values belong to the batch. */
	if (se_row_unpacker_converts(log->unpack->unpacker))
		MemoryContextSwitchTo(batch->arena);
	if (log->by_reference && left <= COPY_BELOW)
	{
		char	   *copy = MemoryContextAlloc(batch->arena, left);

		memcpy(copy, log->cursor, left);
		bytes = copy;
	}
	else if (log->by_reference)
		log->borrowed = true;
	/* A layout that came with a transaction goes with it. */
	if (log->kept != NULL && (log->unpack->layout & SE_LAYOUT_IN_TRANSACTION) != 0)
		log->borrowed = true;

	taking.log = log;
	taking.batch = batch;
	taking.cursor = bytes;
	taking.end = bytes + left;
	taking.direct = log->nwanted == batch->ncolumns;
	taking.wrong = SE_FAULT_WRONG("wrong-row-skipped");
	se_guard_run(env, env != NULL && env->side != NULL && env->side->on_error != SE_ON_ERROR_STOP &&
				 log->watermark != NULL && !log->watermark->native,
				 take_some, leave_out_row, &taking);
	MemoryContextSwitchTo(old);
	log->cursor += taking.cursor - bytes;
	if (log->cursor >= log->end)
		end_message(log);
}

/* SeGuardBody: only the watermark expression can fail for a row, which then is the one behind the batch's last. */
static void
take_some(void *arg)
{
	Taking	   *taking = arg;
	LogSource  *log = taking->log;
	SeBatch    *batch = taking->batch;
	int			ncolumns = batch->ncolumns;

	while (taking->cursor < taking->end && batch->nrows < batch->capacity)
	{
		int			row = batch->nrows;
		Datum	   *values = taking->direct ? se_batch_values(batch, row) : log->values;
		bool	   *nulls = taking->direct ? se_batch_nulls(batch, row) : log->nulls;
		const char *bytes = taking->cursor;

		se_row_unpack(log->unpack->unpacker, &taking->cursor, taking->end, values, nulls,
					  &batch->kinds[row]);
		if (!taking->direct)
		{
			memcpy(se_batch_values(batch, row), values, sizeof(Datum) * ncolumns);
			memcpy(se_batch_nulls(batch, row), nulls, sizeof(bool) * ncolumns);
		}
		if (taking->wrong && ++log->rows % 97 == 0)
		{
			next_row(log);
			continue;
		}
		batch->places[row].major = log->commit_lsn;
		batch->places[row].minor = log->next_ordinal;
		if (log->kept != NULL)
			keep_row(log, batch, row, bytes, taking->end);
		stamp(log, batch, row, values, nulls, se_row_is_passed(bytes));
		next_row(log);
		batch->nrows++;
	}
	/* The owner of the stream and its settings must not outlive a subtransaction. */
	if (log->watermark != NULL)
		se_watermark_unpin(log->watermark);
}

/* The watermark expression failed for the row behind the batch's last: it is not delivered, and asserts nothing. */
static void
leave_out_row(void *arg)
{
	Taking	   *taking = arg;

	se_watermark_recover(taking->log->watermark);
	taking->log->source.row_at_work = 0;
	next_row(taking->log);
}

/* Remember where the row is, should it be asked for whole. */
static void
keep_row(LogSource *log, const SeBatch *batch, int row, const char *bytes, const char *end)
{
	KeptRow    *kept;

	/* A row whose watermark failed is not in the batch, and was asked for. */
	log->nkept = row;
	kept = &log->kept[log->nkept++];
	kept->place = batch->places[row];
	kept->arrived = log->message.commit_time;
	kept->unpack = log->unpack;
	kept->bytes = bytes;
	kept->end = end;
}

static bool
log_source_row(SeSource *source, SePlace place, TupleDesc *desc, Datum **values, bool **nulls, TimestampTz *arrived)
{
	LogSource  *log = (LogSource *) source;
	int			low = 0;
	int			high = log->nkept;
	const KeptRow *kept;
	const char *cursor;
	uint8		kind;
	MemoryContext old;

	while (low < high)
	{
		int			middle = (low + high) / 2;

		if (se_place_compare(log->kept[middle].place, place) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == log->nkept || se_place_compare(log->kept[low].place, place) != 0)
		return false;
	kept = &log->kept[low];
	cursor = kept->bytes;
	MemoryContextReset(log->whole_memory);
	old = MemoryContextSwitchTo(log->whole_memory);
	se_row_unpack(kept->unpack->whole, &cursor, kept->end, log->whole_values, log->whole_nulls, &kind);
	MemoryContextSwitchTo(old);
	*desc = log->whole_desc;
	*values = log->whole_values;
	*nulls = log->whole_nulls;
	*arrived = kept->arrived;
	return true;
}

/* Event time, watermark before the row, place and proctime; then the row's own effect on H. */
static void
stamp(LogSource *log, SeBatch *batch, int row, const Datum *values, const bool *nulls, bool passed)
{
	ListCell   *lc;

	if (batch->kinds[row] != SE_ROW_INSERT)
		batch->append_only = false;
	batch->wm[row] = log->h;
	if (log->node->by_proctime)
		batch->event_time[row] = log->proctime;
	else
		batch->event_time[row] = log->event_time < 0 || nulls[log->event_time] ?
			SE_TIME_MIN : DatumGetInt64(values[log->event_time]);
	foreach(lc, log->made_columns)
		make_column(log, batch, row, lfirst_int(lc), passed);
	if (passed && !SE_FAULT_WRONG("wrong-passed-row-moves-watermark"))
		return;
	if (log->watermark != NULL && !is_left_out(log, batch->places[row]))
	{
		log->source.row_at_work = row + 1;
		if (log->source.env != NULL && !log->watermark->native)
		{
			log->source.env->current_batch = batch;
			log->source.env->current_row = row;
		}
		log->h = Max(log->h, se_watermark_of_row(log->watermark, values, nulls));
		log->source.row_at_work = 0;
	}
}

/* A column of the batch that the stream does not have. */
static void
make_column(LogSource *log, SeBatch *batch, int row, int column, bool passed)
{
	Datum	   *value = &se_batch_values(batch, row)[column];
	bool	   *isnull = &se_batch_nulls(batch, row)[column];

	*isnull = false;
	switch (log->node->attnos[column])
	{
		case SE_COLUMN_PROCTIME:
			*value = TimestampTzGetDatum(log->proctime);
			break;
		case SE_COLUMN_WATERMARK:
			*value = TimestampTzGetDatum(log->h);
			*isnull = log->h == SE_TIME_MIN;
			break;
		default:
			Assert(log->node->attnos[column] == SE_COLUMN_PASSED);
			*value = BoolGetDatum(passed);
			break;
	}
}

/* The row at the cursor is done. Behind the last one stands whatever comes after it. */
static inline void
next_row(LogSource *log)
{
	log->next_ordinal = ++log->row < log->message.header.nrows ?
		se_reader_row_ordinal(&log->message, log->row) : log->next_ordinal + 1;
}

/* Has a person told us to leave the row out? It may be the expression that fails for it. */
static inline bool
is_left_out(LogSource *log, SePlace place)
{
	ListCell   *cell;

	if (log->source.skip == NULL)
		return false;
	foreach(cell, *log->source.skip)
		if (se_place_compare(*(SePlace *) lfirst(cell), place) == 0)
		return true;
	return false;
}

/* The way to take apart rows of a layout, made when its first row comes. */
static const Unpack *
find_unpack(LogSource *log, uint32 id)
{
	bool		sent = (id & SE_LAYOUT_IN_TRANSACTION) != 0;
	MemoryContext old;
	List	   *layouts;
	ListCell   *lc;

	foreach(lc, sent ? log->sent_unpacks : log->unpacks)
	{
		Unpack	   *unpack = lfirst(lc);

		if (unpack->layout == id)
			return unpack;
	}

	/* DDL may have stored it since; layouts are few and each is looked up once. */
	old = MemoryContextSwitchTo(log->source.memory);
	layouts = sent ? NIL : se_layout_list(log->node->stream);
	foreach(lc, layouts)
	{
		SeLayout   *layout = lfirst(lc);

		if (layout->id != id)
			continue;
		log->unpacks = lappend(log->unpacks, make_unpack(log, log->source.memory, layout, layouts));
		MemoryContextSwitchTo(old);
		return llast(log->unpacks);
	}
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("rows of a stream have an unknown layout"),
			 errdetail("Their message names layout %u.", id & ~SE_LAYOUT_IN_TRANSACTION)));
}

static Unpack *
make_unpack(LogSource *log, MemoryContext memory, const SeLayout *layout, List *layouts)
{
	Unpack	   *unpack = MemoryContextAlloc(memory, sizeof(Unpack));
	Relation	stream = table_open(log->node->stream, AccessShareLock);

	unpack->layout = layout->id;
	unpack->unpacker = se_row_unpacker_new(memory, layout, layouts, RelationGetDescr(stream),
										   log->wanted, log->nwanted);
	unpack->whole = log->kept == NULL ? NULL :
		se_row_unpacker_new(memory, layout, layouts, RelationGetDescr(stream),
							log->whole_attnos, log->whole_desc->natts);
	table_close(stream, NoLock);
	return unpack;
}

/* Error context: which row it was. */
static void
name_row(void *arg)
{
	LogSource  *log = arg;

	if (log->cursor != NULL)
		errcontext("row %X/%X +" UINT64_FORMAT " of stream %u",
				   LSN_FORMAT_ARGS(log->commit_lsn), log->next_ordinal, log->node->stream);
}
