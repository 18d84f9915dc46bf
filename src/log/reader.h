/*
 * log/reader.h
 *		"The next finished transaction and its messages": the log as a job sees it.
 *
 * Scans the WAL from a position, collects our messages per (sub)transaction, and
 * hands out transactions in commit order, each with its messages in ordinal order
 * (I1, I2); its layout messages come before all others. Transactions that abort, or
 * that ended without a record, are forgotten. This is an interface so that a shared tail process can stand behind it
 * later. Law: a message's bytes are valid until the next call of
 * se_reader_next or se_reader_close. One reader per scan; uses the current process's WAL access only.
 */
#ifndef SE_READER_H
#define SE_READER_H

#include "base/se.h"
#include "datatype/timestamp.h"
#include "log/message.h"
#include "log/position.h"
#include "nodes/pg_list.h"
#include "utils/snapshot.h"

typedef struct SeLogReader SeLogReader;

typedef enum SeReadResult
{
	SE_READ_MESSAGE,			/* *message holds the next one */
	SE_READ_NOTHING,			/* end of what is flushed, or a transaction not visible yet */
	SE_READ_AGAIN				/* budget of the call used up: call again */
} SeReadResult;

/* One message of a committed transaction, or a non-transactional mark. */
typedef struct SeLogMessage
{
	SeMessageHeader header;
	const char *body;			/* header.body_len bytes, 8-aligned */
	const uint32 *distances;	/* by row: its ordinal - header.ordinal; NULL = there are no gaps */
	XLogRecPtr	commit_lsn;		/* start of the commit record; a mark's own start */
	TimestampTz commit_time;	/* of the commit record; 0 for marks */
	uint32		skip_rows;		/* first rows of the body that lie before the start: leave out */
	bool		last_of_transaction;	/* also true for non-transactional marks */
} SeLogMessage;

typedef struct SeLogReaderStatus
{
	XLogRecPtr	read_lsn;		/* all transactions committing before it were handed out */
	XLogRecPtr	restart_lsn;	/* oldest LSN a restart after the last message must begin at */
	uint64		skipped;		/* transactions begun before the start, left out whole */
	uint64		bytes_scanned;
	TransactionId oldest_open;	/* oldest transaction with messages still open, or Invalid */
	XLogRecPtr	oldest_open_lsn;
	Size		memory;			/* bytes held for open transactions */
} SeLogReaderStatus;

/*
 * Begin at a position. `relations` (Oid list) are the streams wanted; marks for
 * relation 0 are delivered too. `strict`: a transaction cut off by the start is an
 * internal ERROR (a resuming job) instead of being skipped and counted. The creating
 * transaction named by the position is delivered from its ordinal on. ERROR 58P01
 * naming the missing range if the WAL is gone (I3).
 */
extern SeLogReader *se_reader_open(MemoryContext memory, const SeLogPosition *position,
								   List *relations, bool strict);

/*
 * The next message in delivery order, reading at most up to `limit` (a flushed LSN)
 * and at most about `budget` bytes of WAL. A committed transaction that `snapshot`
 * shows as still running ends the reading for now (I1). snapshot NULL = deliver
 * everything committed.
 */
extern SeReadResult se_reader_next(SeLogReader *reader, XLogRecPtr limit, Snapshot snapshot,
								   Size budget, SeLogMessage *message);

/* The ordinal of a message's row, counted from 0. */
static inline uint64
se_reader_row_ordinal(const SeLogMessage *message, uint32 row)
{
	return message->header.ordinal + (message->distances != NULL ? message->distances[row] : row);
}

extern void se_reader_status(SeLogReader *reader, SeLogReaderStatus *status);

/*
 * The position to store when all rows with (commit_lsn, ordinal) before the given
 * ones are done: after a whole transaction ordinal is 0 and commit_lsn the end of its
 * commit record.
 */
extern void se_reader_position(SeLogReader *reader, XLogRecPtr commit_lsn, uint64 ordinal,
							   SeLogPosition *position);

/* Deliver the marks of a job, too. Call before the first message is asked for. */
extern void se_reader_want_marks(SeLogReader *reader, Oid job);

/* Bytes that open transactions may keep in memory before only their LSNs are kept. */
extern void se_reader_set_memory_limit(SeLogReader *reader, Size bytes);

extern void se_reader_close(SeLogReader *reader);

#endif							/* SE_READER_H */
