/*
 * log/writes.h
 *		What a transaction has written to the log: messages, ordinals, layouts it has sent.
 *
 * For log/append.c, which has the transaction's callbacks and says here what becomes of it.
 * Runs in: sessions. No locks.
 */
#ifndef SE_WRITES_H
#define SE_WRITES_H

#include "base/se.h"
#include "log/layout.h"
#include "log/message.h"
#include "nodes/pg_list.h"

/* The ordinal that a stream's latest row or mark of this transaction has, rolled back ones included. */
typedef struct SeLatest
{
	Oid			relation;
	uint64		ordinal;
} SeLatest;

typedef struct SeWrites
{
	bool		in_use;			/* a message was written */
	uint64		next_ordinal;	/* of the next row or mark, over all streams */
	List	   *latest;			/* SeLatest *, one per stream */
} SeWrites;

extern SeWrites se_writes;

/* The transaction's context for what is buffered or sent. */
extern MemoryContext se_writes_memory(void);

/* A stream's latest ordinal; made when it takes its first one, and means nothing then. */
extern SeLatest *se_writes_latest(Oid relation);

/*
 * The id of a layout message that holds for the current subtransaction; sends one if
 * there is none yet.  Its ordinal precedes those of the rows that use it.
 */
extern uint32 se_writes_layout(SeLayout *layout);

/* Fill in what is the same for every message of the transaction, and write it. */
extern void se_writes_message(SeMessageHeader *header, const void *body);

/* Did it write rows of the stream? */
extern bool se_writes_has_rows(Oid relation);

/* Send layouts again. */
extern void se_writes_forget_layouts(void);

/* What becomes of subtransactions, and the end of the transaction. */
extern void se_writes_subxact_committed(SubTransactionId subxact, SubTransactionId parent);
extern void se_writes_subxact_aborted(SubTransactionId subxact);
extern void se_writes_forget(void);

#endif							/* SE_WRITES_H */
