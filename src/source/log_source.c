/*
 * source/log_source.c
 *		The native stream as a job's source: batches of rows with their watermark stamps.
 *
 * Messages of the log one after the other, each where it stands: rows go into the batch (log_source_rows.c), marks
 * move the watermark (log_source_clock.c for those of the clock). A position says what is behind us.
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
#include "log/layout.h"
#include "log/options_mark.h"
#include "log/reader.h"
#include "log/retention.h"
#include "log/stream.h"
#include "source/log_source_internal.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

/* WAL one poll scans at most: it must come back to its latch and its commits. */
#define POLL_BUDGET (4 * 1024 * 1024)

static void log_source_open(SeSource *source, const void *position, Size len);
static SePollResult log_source_poll(SeSource *source, SeBatch *batch, Snapshot snapshot);
static void log_source_position(SeSource *source, StringInfo out);
static void log_source_pass_options(SeSource *source);
static void log_source_position_committed(SeSource *source);
static void log_source_status(SeSource *source, SeSourceStatus *status);
static char *log_source_describe(const void *position, Size len);
static XLogRecPtr log_source_needs_wal(const void *position, Size len);
static void log_source_close(SeSource *source);
static XLogRecPtr readable_limit(void);
static SePollResult fill(SeLogSource *log, SeBatch *batch, Snapshot snapshot);
static void begin_message(SeLogSource *log);
static void begin_transaction(SeLogSource *log);
static void stand_before(SeLogSource *log);
static SeTime message_time(const SeLogSource *log);
static void take_mark(SeLogSource *log);
static XLogRecPtr read_lsn(const SeLogSource *log, const SeLogReaderStatus *reader);
static void name_row(void *arg);

const SeSourceOps se_log_source_ops = {
	.name = "native log",
	.open = log_source_open,
	.poll = log_source_poll,
	.row = se_log_source_row,
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
	SeLogSource *log = MemoryContextAllocZero(memory, sizeof(SeLogSource));

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
	SeLogSource *log = (SeLogSource *) source;
	MemoryContext old = MemoryContextSwitchTo(source->memory);
	SeLogPosition from;
	Relation	stream;

	se_position_decode(position, len, &from);
	stream = table_open(log->node->stream, AccessShareLock);
	se_log_source_find_columns(log, stream);
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
	SeLogSource *log = (SeLogSource *) source;
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
		log->kept = repalloc(log->kept, sizeof(SeLogKeptRow) * batch->capacity);
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
	{
		if (result == SE_POLL_OPTIONS)
			batch->tick = log->proctime;
		return result;
	}

	/* All before it has been pushed. */
	batch->tick = log->tick;
	log->tick = SE_TIME_MIN;
	return SE_POLL_ROWS;
}

static void
log_source_position(SeSource *source, StringInfo out)
{
	SeLogSource *log = (SeLogSource *) source;
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
	SeLogSource *log = (SeLogSource *) source;

	Assert(source->options != NULL);
	source->options = NULL;
	log->next_ordinal++;
	se_log_source_end_message(log);
}

/* The slot is the coordinator's to move. */
static void
log_source_position_committed(SeSource *source)
{
}

static void
log_source_status(SeSource *source, SeSourceStatus *status)
{
	SeLogSource *log = (SeLogSource *) source;
	SeLogReaderStatus reader;
	SeLogPosition position;

	memset(status, 0, sizeof(SeSourceStatus));
	status->watermark = log->h;
	status->commit_time = log->commit_time;
	status->stream = log->node->stream;
	status->idle_timeout = log->info == NULL || log->node->by_proctime ? 0 : log->info->idle_timeout;
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
	SeLogSource *log = (SeLogSource *) source;

	if (log->reader != NULL)
		se_reader_close(log->reader);
	log->reader = NULL;
	log->cursor = NULL;
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
fill(SeLogSource *log, SeBatch *batch, Snapshot snapshot)
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
			se_log_source_take_rows(log, batch);
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
begin_message(SeLogSource *log)
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
			se_log_source_take_layout(log);
			break;
		default:
			log->unpack = se_log_source_unpack(log, message->header.layout);
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
			se_log_source_go_on(log, message_time(log));
			se_log_source_show_life(log, log->proctime);
			if (log->cursor < log->end)
				return;
			break;
	}
	se_log_source_end_message(log);
}

static void
begin_transaction(SeLogSource *log)
{
	log->inside = true;
	log->commit_lsn = log->message.commit_lsn;
	log->next_ordinal = 0;
	log->sent_unpacks = NIL;
	MemoryContextReset(log->sent_memory);
}

/* The job's options change here: the task decides when to go on. */
static void
stand_before(SeLogSource *log)
{
	MemoryContext old;

	MemoryContextReset(log->mark_memory);
	old = MemoryContextSwitchTo(log->mark_memory);
	log->source.options = se_options_mark_decode(log->message.body, log->message.header.body_len);
	MemoryContextSwitchTo(old);
	log->next_ordinal = log->message.header.ordinal;
	se_log_source_go_on(log, message_time(log));
}

/* When the transaction of a message committed. */
static SeTime
message_time(const SeLogSource *log)
{
	return log->message.header.clock != 0 ? log->message.header.clock : log->message.commit_time;
}

/* A watermark counts among the rows of its transaction, a tick between transactions; barriers are the task's. */
static void
take_mark(SeLogSource *log)
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
			se_log_source_show_life(log, message_time(log));
			break;
		case SE_MARK_TICK:
			if (!SE_FAULT_WRONG("wrong-tick-swallowed"))
				se_log_source_tick(log);
			break;
		case SE_MARK_IDLE:
			if (!SE_FAULT_WRONG("wrong-idle-swallowed"))
				se_log_source_idle(log);
			break;
		default:
			break;
	}
}

/* Everything that committed before it was delivered. A tick met but not given out yet is read again. */
static XLogRecPtr
read_lsn(const SeLogSource *log, const SeLogReaderStatus *reader)
{
	if (log->tick != SE_TIME_MIN)
		return log->tick_lsn;
	return log->inside ? log->commit_lsn : reader->read_lsn;
}								/* Error context: which row it was. */
static void
name_row(void *arg)
{
	SeLogSource *log = arg;

	if (log->cursor != NULL)
		errcontext("row %X/%X +" UINT64_FORMAT " of stream %u",
				   LSN_FORMAT_ARGS(log->commit_lsn), log->next_ordinal, log->node->stream);
}
