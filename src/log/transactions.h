/*
 * log/transactions.h
 *		Messages of transactions that have not ended yet, and of those that just did.
 *
 * The reader's memory: it puts in what it meets in the scan, by the (sub)transaction
 * the record names, and takes whole transactions out when they commit.
 */
#ifndef SE_TRANSACTIONS_H
#define SE_TRANSACTIONS_H

#include "base/se.h"
#include "log/message.h"

typedef struct SeTransactions SeTransactions;

/* One message: where it is, where it belongs, and its bytes if they are kept. */
typedef struct SeMessageRef
{
	XLogRecPtr	lsn;
	uint64		order;			/* 0: a layout; else its ordinal + 1 */
	char	   *bytes;			/* header, then body; NULL = read it again */
} SeMessageRef;

/* A committed transaction, its messages in delivery order. */
typedef struct SeFinished
{
	TransactionId xid;			/* of the top transaction */
	uint64		top_xid;		/* full */
	XLogRecPtr	first_lsn;		/* oldest message */
	bool		cut;			/* it began before reading did */
	Size		nrefs;
	SeMessageRef *refs;
} SeFinished;

/* What is kept lives in a child of `memory`; bodies up to `limit` bytes in all. */
extern SeTransactions *se_transactions_new(MemoryContext memory, Size limit);
extern void se_transactions_set_limit(SeTransactions *open, Size limit);

/*
 * A message of (sub)transaction xid. `cut`: an earlier message of its transaction lies
 * before the place where reading began.
 */
extern void se_transactions_add(SeTransactions *open, TransactionId xid, XLogRecPtr lsn,
								const SeMessageHeader *header, const char *body, bool cut);

/* xid prepared: only COMMIT or ROLLBACK PREPARED ends it. */
extern void se_transactions_prepare(SeTransactions *open, TransactionId xid,
									int nchildren, const TransactionId *children);

/* xid and its committed children were rolled back: a top transaction or a subtransaction. */
extern void se_transactions_abort(SeTransactions *open, TransactionId xid,
								  int nchildren, const TransactionId *children);

/* Top transaction xid committed. NULL if it holds no message. */
extern SeFinished *se_transactions_commit(SeTransactions *open, TransactionId xid,
										  int nchildren, const TransactionId *children);

/* Transactions that ended without a record: all older than xid; all not prepared. */
extern void se_transactions_end_before(SeTransactions *open, TransactionId xid);
extern void se_transactions_end_unprepared(SeTransactions *open);

/* Free the bytes of one message of a finished transaction; and all of it. */
extern void se_transactions_free_bytes(SeTransactions *open, SeMessageRef *ref);
extern void se_transactions_free(SeTransactions *open, SeFinished *finished);

extern bool se_transactions_none(SeTransactions *open);

/* Start of the oldest message of an open transaction, or Invalid; and whose it is. */
extern XLogRecPtr se_transactions_oldest(SeTransactions *open, TransactionId *xid);

/* Bytes held: bodies, and lists of messages. */
extern Size se_transactions_memory(SeTransactions *open);

#endif							/* SE_TRANSACTIONS_H */
