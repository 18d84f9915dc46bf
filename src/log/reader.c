/*
 * log/reader.c
 *		Scans the WAL and hands out committed transactions, message by message.
 *
 * Words: the *scan* is the one pass over all records from the position on; a *delivery*
 * is a committed transaction whose messages are being handed out. The scan stands still
 * behind the commit record while its transaction is delivered, so commit order is the
 * order of delivery, and at most one committed transaction waits.
 *
 *		record						what happens
 *		our message					collected under its (sub)transaction's xid
 *		our mark, no transaction	handed out at once
 *		COMMIT [PREPARED]			the transaction becomes the delivery
 *		ABORT [PREPARED]			its messages are forgotten
 *		PREPARE						it outlives a crash
 *		RUNNING_XACTS				older transactions ended without a record
 *		CHECKPOINT_SHUTDOWN,
 *		END_OF_RECOVERY				all but prepared ones did
 *		anything else				passed over by one look at its resource manager
 *
 * A second XLogReader fetches messages of large transactions again; they are
 * handed out from its buffer, without a copy.
 *
 * Memory: all in one context of the reader; the files close with it, also after an error.
 * Runs in: task workers and sessions that SELECT from a stream. No locks.
 */
#include "postgres.h"

#include "access/rmgr.h"
#include "access/timeline.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "access/xlog_internal.h"
#include "base/compat.h"
#include "base/fault.h"
#include "catalog/pg_control.h"
#include "log/reader.h"
#include "log/transactions.h"
#include "log/wal_records.h"
#include "miscadmin.h"
#include "replication/message.h"
#include "storage/standbydefs.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

/* Bodies of open transactions kept in memory, all together. */
#define DEFAULT_MEMORY_LIMIT (4 * 1024 * 1024)

/* A committed transaction on its way out. */
typedef struct Delivery
{
	SeFinished *transaction;	/* NULL = none */
	XLogRecPtr	commit_lsn;
	TimestampTz commit_time;
	uint64		skip_below;		/* rows with smaller ordinals are not wanted */
	bool		visible;		/* known to be so (I1) */
	Size		next;			/* message to hand out next */
} Delivery;

struct SeLogReader
{
	MemoryContext memory;
	MemoryContextCallback at_delete;

	/* settings: never change */
	SeLogPosition from;
	bool		strict;
	Oid		   *relations;
	int			nrelations;
	Oid			job;			/* whose marks are wanted, too; InvalidOid = none */
	List	   *history;		/* timelines, newest first; NIL in recovery */

	/* the scan */
	SeWal		scan;
	bool		begun;			/* its first record is known */
	XLogRecPtr	begin;			/* reading began here */
	SeTransactions *open;
	uint64		creator_xid;	/* of from, until that transaction was delivered */

	/* the delivery */
	Delivery	now;
	Delivery	held;			/* mutant wrong-commit-order only */
	SeWal		again;			/* made when first needed */

	/* counters */
	uint64		skipped;
};

static void close_files(void *arg);
static void check_position(SeLogReader *reader);
static bool scan_record(SeLogReader *reader, SeLogMessage *message);
static bool scan_message(SeLogReader *reader, SeLogMessage *message);
static void scan_end_of_transaction(SeLogReader *reader);
static void committed(SeLogReader *reader, TransactionId xid,
					  const xl_xact_parsed_commit *parsed);
static bool is_wanted(const SeLogReader *reader, const SeMessageHeader *header);
static bool is_visible(SeLogReader *reader, Snapshot snapshot);
static bool deliver(SeLogReader *reader, SeLogMessage *message);
static uint32 rows_below(const SeLogMessage *message, uint64 ordinal);
static void fetch(SeLogReader *reader, SeMessageRef *ref, SeLogMessage *message);
static void release(SeLogReader *reader);

static inline XLogRecPtr
scan_end(const SeLogReader *reader)
{
	return reader->scan.state->EndRecPtr;
}

static inline bool
handed_out(const SeLogReader *reader)
{
	return reader->now.transaction == NULL ||
		reader->now.next == reader->now.transaction->nrefs;
}

static inline bool
is_creator(const SeLogReader *reader, uint64 top_xid)
{
	return reader->creator_xid != 0 && reader->creator_xid == top_xid;
}

SeLogReader *
se_reader_open(MemoryContext memory, const SeLogPosition *position, List *relations, bool strict)
{
	MemoryContext own = AllocSetContextCreate(memory, "stream_engine log reader",
											  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(own);
	SeLogReader *reader = palloc0(sizeof(SeLogReader));
	ListCell   *lc;

	reader->memory = own;
	reader->from = *position;
	reader->strict = strict;
	reader->creator_xid = position->creator_xid;
	reader->relations = palloc(sizeof(Oid) * Max(list_length(relations), 1));
	foreach(lc, relations)
		reader->relations[reader->nrelations++] = lfirst_oid(lc);
	reader->begin = position->restart_lsn;
	reader->open = se_transactions_new(own, DEFAULT_MEMORY_LIMIT);
	if (!RecoveryInProgress())
		reader->history = readTimeLineHistory(GetWALInsertionTimeLine());
	if (position->timeline != 0)
		check_position(reader);

	/* From here on there may be files to close. */
	reader->at_delete.func = close_files;
	reader->at_delete.arg = reader;
	MemoryContextRegisterResetCallback(own, &reader->at_delete);
	se_wal_open(&reader->scan, own);
	se_wal_seek(&reader->scan, reader->begin);
	reader->begun = strict;		/* a job's position is a record's place; else search */
	MemoryContextSwitchTo(old);
	return reader;
}

void
se_reader_close(SeLogReader *reader)
{
	MemoryContextDelete(reader->memory);
}

void
se_reader_want_marks(SeLogReader *reader, Oid job)
{
	reader->job = job;
}

void
se_reader_set_memory_limit(SeLogReader *reader, Size bytes)
{
	se_transactions_set_limit(reader->open, bytes);
}

SeReadResult
se_reader_next(SeLogReader *reader, XLogRecPtr limit, Snapshot snapshot,
			   Size budget, SeLogMessage *message)
{
	XLogRecPtr	from;

	release(reader);
	reader->begun = reader->begun || se_wal_find(&reader->scan, reader->begin);
	if (!reader->begun)
		return SE_READ_NOTHING;

	from = scan_end(reader);
	for (;;)
	{
		if (reader->now.transaction != NULL)
		{
			if (!is_visible(reader, snapshot))
				return SE_READ_NOTHING;
			if (deliver(reader, message))
				return SE_READ_MESSAGE;
			release(reader);
			continue;
		}
		if (scan_end(reader) >= limit || !se_wal_read(&reader->scan))
			return SE_READ_NOTHING;
		if (scan_record(reader, message))
			return SE_READ_MESSAGE;
		if (scan_end(reader) - from > budget && reader->now.transaction == NULL)
			return SE_READ_AGAIN;
		CHECK_FOR_INTERRUPTS();
	}
}

void
se_reader_status(SeLogReader *reader, SeLogReaderStatus *status)
{
	memset(status, 0, sizeof(SeLogReaderStatus));
	status->read_lsn = handed_out(reader) ? scan_end(reader) : reader->now.commit_lsn;
	status->oldest_open_lsn = se_transactions_oldest(reader->open, &status->oldest_open);
	status->restart_lsn = status->read_lsn;
	if (!XLogRecPtrIsInvalid(status->oldest_open_lsn))
		status->restart_lsn = Min(status->restart_lsn, status->oldest_open_lsn);
	if (!handed_out(reader))
		status->restart_lsn = Min(status->restart_lsn, reader->now.transaction->first_lsn);
	if (reader->creator_xid != 0)
		status->restart_lsn = Min(status->restart_lsn, reader->from.restart_lsn);
	status->skipped = reader->skipped;
	status->bytes_scanned = scan_end(reader) - reader->begin;
	status->memory = se_transactions_memory(reader->open);
}

void
se_reader_position(SeLogReader *reader, XLogRecPtr commit_lsn, uint64 ordinal,
				   SeLogPosition *position)
{
	SeLogReaderStatus status;
	bool		inside = reader->now.transaction != NULL && commit_lsn == reader->now.commit_lsn;

	se_reader_status(reader, &status);
	if (SE_FAULT_WRONG("wrong-position-ahead"))
	{
		/* Whatever commits within the next 64 kB would count as done. */
		commit_lsn = (inside ? scan_end(reader) : commit_lsn) + 64 * 1024;
		ordinal = 0;
		inside = false;
	}

	*position = reader->from;

	/* Until the scan is where reading is to go on, nothing came that would be behind it. */
	if (commit_lsn > reader->from.commit_lsn ||
		(commit_lsn == reader->from.commit_lsn && ordinal > reader->from.ordinal) ||
		SE_FAULT_WRONG("wrong-position-before-its-place"))
	{
		position->commit_lsn = commit_lsn;
		position->ordinal = ordinal;
	}
	position->restart_lsn = Min(status.restart_lsn, position->commit_lsn);
	if (inside)
		position->restart_lsn = Min(position->restart_lsn, reader->now.transaction->first_lsn);
	if (reader->creator_xid == 0)
	{
		position->creator_xid = 0;
		position->creator_ordinal = 0;
	}
	if (reader->history != NIL)
		position->timeline = tliOfPointInHistory(position->restart_lsn, reader->history);
}

/* Callback of the context: the memory goes by itself, file descriptors do not. */
static void
close_files(void *arg)
{
	SeLogReader *reader = arg;

	se_wal_close(&reader->scan);
	se_wal_close(&reader->again);
}

/* A stored position must belong to this server's history, and to WAL that exists. */
static void
check_position(SeLogReader *reader)
{
	const SeLogPosition *from = &reader->from;
	ListCell   *lc;
	bool		known = reader->history == NIL;

	foreach(lc, reader->history)
	{
		TimeLineHistoryEntry *entry = lfirst(lc);

		if (entry->tli == from->timeline &&
			(XLogRecPtrIsInvalid(entry->end) || from->restart_lsn <= entry->end))
			known = true;
	}
	if (!known)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("stream position %X/%X of timeline %u is not in this server's history",
						LSN_FORMAT_ARGS(from->restart_lsn), from->timeline)));
	if (!RecoveryInProgress() && from->restart_lsn > GetXLogInsertRecPtr())
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("stream position %X/%X lies behind the end of the WAL",
						LSN_FORMAT_ARGS(from->restart_lsn))));
}

/* Look at the record just read. True if it is itself a message to hand out. */
static bool
scan_record(SeLogReader *reader, SeLogMessage *message)
{
	XLogReaderState *state = reader->scan.state;
	uint8		info = XLogRecGetInfo(state) & ~XLR_INFO_MASK;

	switch (XLogRecGetRmid(state))
	{
		case RM_LOGICALMSG_ID:
			return scan_message(reader, message);
		case RM_XACT_ID:
			if (!se_transactions_none(reader->open) || reader->creator_xid != 0)
				scan_end_of_transaction(reader);
			break;
		case RM_STANDBY_ID:
			if (info == XLOG_RUNNING_XACTS)
				se_transactions_end_before(reader->open,
										   ((xl_running_xacts *) XLogRecGetData(state))->oldestRunningXid);
			break;
		case RM_XLOG_ID:
			if (info == XLOG_CHECKPOINT_SHUTDOWN || info == XLOG_END_OF_RECOVERY)
				se_transactions_end_unprepared(reader->open);
			break;
		default:
			break;
	}
	return false;
}

/* A logical message: hand out a mark, collect a transaction's, pass over all others. */
static bool
scan_message(SeLogReader *reader, SeLogMessage *message)
{
	XLogReaderState *state = reader->scan.state;
	bool		transactional;
	bool		cut;

	if (!se_message_parse(state, &message->header, &message->body, &transactional) ||
		!is_wanted(reader, &message->header))
		return false;

	if (!transactional)
	{
		/* Start marks are only places; marks before the position were obeyed. */
		if (message->header.mark == SE_MARK_START || state->ReadRecPtr < reader->from.commit_lsn)
			return false;
		message->commit_lsn = state->ReadRecPtr;
		message->commit_time = 0;
		message->distances = NULL;
		message->skip_rows = 0;
		message->last_of_transaction = true;
		return true;
	}

	cut = !XLogRecPtrIsInvalid(message->header.first_lsn) &&
		message->header.first_lsn < reader->begin &&
		!is_creator(reader, message->header.top_xid);
	se_transactions_add(reader->open, XLogRecGetXid(state), state->ReadRecPtr,
						&message->header, message->body, cut);
	return false;
}

/* A record of the transaction manager while transactions of ours are open. */
static void
scan_end_of_transaction(SeLogReader *reader)
{
	XLogReaderState *state = reader->scan.state;
	uint8		info = XLogRecGetInfo(state);
	char	   *data = XLogRecGetData(state);

	switch (info & XLOG_XACT_OPMASK)
	{
		case XLOG_XACT_COMMIT:
		case XLOG_XACT_COMMIT_PREPARED:
			{
				xl_xact_parsed_commit parsed;

				ParseCommitRecord(info, (xl_xact_commit *) data, &parsed);
				committed(reader,
						  TransactionIdIsValid(parsed.twophase_xid) ? parsed.twophase_xid : XLogRecGetXid(state),
						  &parsed);
				break;
			}
		case XLOG_XACT_ABORT:
		case XLOG_XACT_ABORT_PREPARED:
			{
				xl_xact_parsed_abort parsed;

				ParseAbortRecord(info, (xl_xact_abort *) data, &parsed);
				se_transactions_abort(reader->open,
									  TransactionIdIsValid(parsed.twophase_xid) ? parsed.twophase_xid : XLogRecGetXid(state),
									  parsed.nsubxacts, parsed.subxacts);
				break;
			}
		case XLOG_XACT_PREPARE:
			{
				xl_xact_parsed_prepare parsed;

				ParsePrepareRecord(info, (xl_xact_prepare *) data, &parsed);
				se_transactions_prepare(reader->open, parsed.twophase_xid,
										parsed.nsubxacts, parsed.subxacts);
				break;
			}
		default:
			break;
	}
}

/* A transaction committed: make it the delivery unless it was delivered, or is not whole. */
static void
committed(SeLogReader *reader, TransactionId xid, const xl_xact_parsed_commit *parsed)
{
	SeFinished *finished = se_transactions_commit(reader->open, xid, parsed->nsubxacts, parsed->subxacts);
	XLogRecPtr	commit_lsn = reader->scan.state->ReadRecPtr;
	bool		creator = reader->creator_xid != 0 &&
	xid == XidFromFullTransactionId(FullTransactionIdFromU64(reader->creator_xid));
	Delivery	delivery = {0};

	if (finished == NULL)
	{
		if (creator)
			reader->creator_xid = 0;
		return;
	}

	SE_FAULT_POINT("reader-commit-record");
	if (commit_lsn < reader->from.commit_lsn)
	{
		se_transactions_free(reader->open, finished);
		return;
	}
	if (finished->cut)
	{
		if (reader->strict)
			elog(ERROR, "transaction %u, committed at %X/%X, began before reading did at %X/%X",
				 xid, LSN_FORMAT_ARGS(commit_lsn), LSN_FORMAT_ARGS(reader->begin));
		reader->skipped++;
		se_transactions_free(reader->open, finished);
		return;
	}

	delivery.transaction = finished;
	delivery.commit_lsn = commit_lsn;
	delivery.commit_time = parsed->xact_time;
	if (creator)
		delivery.skip_below = reader->from.creator_ordinal;
	if (commit_lsn == reader->from.commit_lsn)
		delivery.skip_below = Max(delivery.skip_below, reader->from.ordinal);
	if (SE_FAULT_WRONG("wrong-commit-order") && reader->held.transaction == NULL)
		reader->held = delivery;
	else
		reader->now = delivery;
}

static bool
is_wanted(const SeLogReader *reader, const SeMessageHeader *header)
{
	if (header->database != MyDatabaseId)
		return false;
	for (int i = 0; i < reader->nrelations; i++)
		if (header->relation == reader->relations[i])
			return true;
	return header->kind == SE_MESSAGE_MARK &&
		(header->relation == InvalidOid || header->relation == reader->job);
}

/* I1: the commit record can be read before the transaction is visible to others. */
static bool
is_visible(SeLogReader *reader, Snapshot snapshot)
{
	Delivery   *now = &reader->now;

	if (!now->visible)
		now->visible = snapshot == NULL ||
			!XidInMVCCSnapshot(now->transaction->xid, snapshot) ||
			SE_FAULT_WRONG("wrong-visibility-ignored");
	return now->visible;
}

/* Hand out the next wanted message of the delivery; false if there is none left. */
static bool
deliver(SeLogReader *reader, SeLogMessage *message)
{
	Delivery   *now = &reader->now;
	SeFinished *transaction = now->transaction;

	while (now->next < transaction->nrefs)
	{
		SeMessageRef *ref = &transaction->refs[now->next];
		bool		last = ++now->next == transaction->nrefs;
		uint64		ordinal = ref->order - 1;

		/* Ordinals of a stream's messages do not overlap: the next one tells where this one ends. */
		if (ref->order != 0 && !last && ref[1].order - 1 <= now->skip_below && reader->nrelations == 1)
		{
			se_transactions_free_bytes(reader->open, ref);
			continue;
		}
		fetch(reader, ref, message);
		message->commit_lsn = now->commit_lsn;
		message->commit_time = now->commit_time;
		message->last_of_transaction = last;
		message->skip_rows = 0;
		if (ref->order != 0 && ordinal < now->skip_below)
		{
			message->skip_rows = rows_below(message, now->skip_below);
			if (message->skip_rows == message->header.nrows)
				continue;
		}
		return true;
	}
	return false;
}

/* How many of a message's rows have a smaller ordinal. */
static uint32
rows_below(const SeLogMessage *message, uint64 ordinal)
{
	uint32		row = 0;

	if (message->distances == NULL)
		return Min(ordinal - message->header.ordinal, message->header.nrows);
	while (row < message->header.nrows && se_reader_row_ordinal(message, row) < ordinal)
		row++;
	return row;
}

/* Header and body of a message: what was kept, or from the WAL once more. */
static void
fetch(SeLogReader *reader, SeMessageRef *ref, SeLogMessage *message)
{
	bool		transactional;

	if (ref->bytes != NULL)
	{
		memcpy(&message->header, ref->bytes, sizeof(SeMessageHeader));
		message->body = ref->bytes + sizeof(SeMessageHeader);
		message->distances = se_message_split(&message->header, &message->body);
		return;
	}

	if (reader->again.state == NULL)
		se_wal_open(&reader->again, reader->memory);
	XLogBeginRead(reader->again.state, ref->lsn);
	if (!se_wal_read(&reader->again) ||
		!se_message_parse(reader->again.state, &message->header, &message->body, &transactional) ||
		message->header.top_xid != reader->now.transaction->top_xid ||
		(ref->order != 0 && message->header.ordinal != ref->order - 1))
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("stream message at %X/%X is not the one read before", LSN_FORMAT_ARGS(ref->lsn))));
	message->distances = se_message_split(&message->header, &message->body);
	CHECK_FOR_INTERRUPTS();
}

/* Free the message handed out last, and with the last one the whole delivery. */
static void
release(SeLogReader *reader)
{
	Delivery   *now = &reader->now;

	if (now->transaction == NULL)
		return;
	if (!handed_out(reader))
	{
		if (now->next > 0)
			se_transactions_free_bytes(reader->open, &now->transaction->refs[now->next - 1]);
		return;
	}
	if (is_creator(reader, now->transaction->top_xid))
		reader->creator_xid = 0;
	se_transactions_free(reader->open, now->transaction);
	now->transaction = NULL;
	if (reader->held.transaction != NULL)
	{
		*now = reader->held;
		reader->held.transaction = NULL;
	}
}
