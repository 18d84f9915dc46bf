/*
 * log/writes.c
 *		What a transaction has written to the log: messages, ordinals, layouts it has sent.
 *
 * Ordinals number the rows and marks of the whole transaction, over all streams, in the
 * order in which they came.
 *
 * Runs in: sessions (any process that writes to streams). No locks.
 */
#include "postgres.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "base/clock.h"
#include "base/compat.h"
#include "base/database_slot.h"
#include "base/fault.h"
#include "log/writes.h"
#include "miscadmin.h"
#include "utils/memutils.h"

/*
 * Readers are woken each time a transaction has written this much, so that they have
 * scanned what is flushed of a large one by the time it commits. Only speed depends on it.
 */
#define WAKE_EVERY (4 * 1024 * 1024)

/* A layout message of this transaction. */
typedef struct SentLayout
{
	Oid			relation;
	uint64		fingerprint;
	uint32		id;
	SubTransactionId subxact;	/* lost if this one aborts */
} SentLayout;

/* The first message of this transaction for a relation. */
typedef struct FirstMessage
{
	Oid			relation;
	XLogRecPtr	lsn;
	bool		rows;			/* rows followed */
	SubTransactionId subxact;	/* it was none if this one aborts */
} FirstMessage;

SeWrites	se_writes;

/* Of the transaction, seen from here alone. */
static Size unread = 0;			/* bytes since readers were last woken */
static List *firsts = NIL;		/* FirstMessage *, one per relation */
static uint32 last_layout = 0;	/* number of layout messages sent */
static List *layouts = NIL;		/* SentLayout * */
static MemoryContext memory = NULL; /* until something is buffered or sent */

static FirstMessage *find_first(Oid relation);
static FirstMessage *add_first(Oid relation, XLogRecPtr lsn);

MemoryContext
se_writes_memory(void)
{
	if (memory == NULL)
		memory = AllocSetContextCreate(TopTransactionContext, "stream_engine writes",
									   ALLOCSET_SMALL_SIZES);
	return memory;
}

SeLatest *
se_writes_latest(Oid relation)
{
	MemoryContext old;
	SeLatest   *latest;
	ListCell   *lc;

	foreach(lc, se_writes.latest)
	{
		latest = lfirst(lc);
		if (latest->relation == relation)
			return latest;
	}
	old = MemoryContextSwitchTo(se_writes_memory());
	latest = palloc0(sizeof(SeLatest));
	latest->relation = relation;
	se_writes.latest = lappend(se_writes.latest, latest);
	MemoryContextSwitchTo(old);
	return latest;
}

uint32
se_writes_layout(SeLayout *layout)
{
	SeMessageHeader header = {.kind = SE_MESSAGE_LAYOUT};
	SentLayout *sent;
	MemoryContext old;
	bytea	   *bytes;
	ListCell   *lc;

	foreach(lc, layouts)
	{
		sent = lfirst(lc);
		if (sent->relation == layout->relation && sent->fingerprint == layout->fingerprint)
			return sent->id;
	}

	old = MemoryContextSwitchTo(se_writes_memory());
	layout->id = SE_LAYOUT_IN_TRANSACTION | ++last_layout;
	bytes = se_layout_encode(layout);
	header.relation = layout->relation;
	header.layout = layout->id;
	header.ordinal = se_writes.next_ordinal++;
	header.body_len = VARSIZE(bytes) - VARHDRSZ;
	se_writes_message(&header, VARDATA(bytes));
	pfree(bytes);

	sent = palloc(sizeof(SentLayout));
	sent->relation = layout->relation;
	sent->fingerprint = layout->fingerprint;
	sent->id = layout->id;
	sent->subxact = GetCurrentSubTransactionId();
	layouts = lappend(layouts, sent);
	MemoryContextSwitchTo(old);
	return sent->id;
}

void
se_writes_message(SeMessageHeader *header, const void *body)
{
	FirstMessage *first = find_first(header->relation);

	header->version = SE_MESSAGE_VERSION;
	header->database = MyDatabaseId;
	header->top_xid = U64FromFullTransactionId(GetTopFullTransactionId());
	header->first_lsn = first == NULL ? InvalidXLogRecPtr : first->lsn;
	header->clock = se_clock_is_driven() ? se_clock_now() : 0;
	if (SE_FAULT_WRONG("wrong-first-lsn"))
		header->first_lsn = InvalidXLogRecPtr;

	/* Set first: should the process get an error behind the insertion, readers are still woken. */
	se_writes.in_use = true;
	(void) se_message_write(header, body, true);
	unread += header->body_len;
	if (unread >= WAKE_EVERY)
	{
		se_database_slot_wake_readers(MyDatabaseId, InvalidXLogRecPtr);
		unread = 0;
	}
	if (first == NULL)
		first = add_first(header->relation, ProcLastRecPtr);
	first->rows |= header->kind == SE_MESSAGE_ROWS;
}

static FirstMessage *
find_first(Oid relation)
{
	ListCell   *lc;

	foreach(lc, firsts)
	{
		FirstMessage *first = lfirst(lc);

		if (first->relation == relation)
			return first;
	}
	return NULL;
}

static FirstMessage *
add_first(Oid relation, XLogRecPtr lsn)
{
	MemoryContext old = MemoryContextSwitchTo(se_writes_memory());
	FirstMessage *first = palloc(sizeof(FirstMessage));

	first->relation = relation;
	first->lsn = lsn;
	first->rows = false;
	first->subxact = GetCurrentSubTransactionId();
	firsts = lappend(firsts, first);
	MemoryContextSwitchTo(old);
	return first;
}

bool
se_writes_has_rows(Oid relation)
{
	FirstMessage *first = find_first(relation);

	return first != NULL && first->rows;
}

void
se_writes_forget_layouts(void)
{
	layouts = NIL;
}

void
se_writes_subxact_committed(SubTransactionId subxact, SubTransactionId parent)
{
	ListCell   *lc;

	foreach(lc, layouts)
	{
		SentLayout *sent = lfirst(lc);

		if (sent->subxact == subxact)
			sent->subxact = parent;
	}
	foreach(lc, firsts)
	{
		FirstMessage *first = lfirst(lc);

		if (first->subxact == subxact)
			first->subxact = parent;
	}
}

void
se_writes_subxact_aborted(SubTransactionId subxact)
{
	ListCell   *lc;

	foreach(lc, layouts)
		if (((SentLayout *) lfirst(lc))->subxact == subxact)
		layouts = foreach_delete_current(layouts, lc);
	foreach(lc, firsts)
		if (((FirstMessage *) lfirst(lc))->subxact == subxact)
		firsts = foreach_delete_current(firsts, lc);
}

void
se_writes_forget(void)
{
	memset(&se_writes, 0, sizeof(se_writes));
	unread = 0;
	firsts = layouts = NIL;
	last_layout = 0;
	memory = NULL;
}
