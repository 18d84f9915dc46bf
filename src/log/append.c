/*
 * log/append.c
 *		Rows on their way into the log: buffers, which become messages (log/writes.c).
 *
 * Words: an *appender* is one executor node's way in; a *buffer* holds rows of one stream
 * that were written in one subtransaction, by whatever nodes and statements, and becomes
 * one message. So a transaction of many small statements writes few messages, and so
 * does a statement whose rows are routed to many streams in turn.
 *
 * A WAL record counts for the subtransaction that is current when it is written.  Rows
 * of a parent that are still buffered when a child begins (a function with an exception
 * block, called by INSERT … SELECT) must therefore wait until the parent is current
 * again; the child gets a buffer of its own:
 *
 *		subtransaction about to commit	its buffers are written and freed
 *		subtransaction aborted			its buffers and layout messages are forgotten
 *		transaction about to end		what is left is written (commit, prepare) or forgotten
 *		buffers take too much memory	those of the current subtransaction are written
 *
 * Ordinals number the rows and marks of the whole transaction, over all streams, in the
 * order in which they came.  The ordinals of a message may have gaps, which other streams'
 * rows fill; no other message of the same stream does: a buffer is written before its next
 * row if the stream's latest ordinal is not the buffer's.  Messages may reach the log in
 * another order than their ordinals, the reader sorts.
 *
 * Buffers live in a context of the transaction, because an abort frees a node's memory
 * without telling the node.  An appender looks for its buffer again when `generation` says
 * that buffers were freed.
 *
 * Runs in: sessions (any process that writes to streams). No locks.
 */
#include "postgres.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "base/compat.h"
#include "base/fault.h"
#include "base/database_slot.h"
#include "base/settings.h"
#include "base/shmem.h"
#include "lib/ilist.h"
#include "log/append.h"
#include "log/layout.h"
#include "log/row_bytes.h"
#include "log/row_pack.h"
#include "log/writes.h"
#include "meta/drained.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/rel.h"

/* A buffer's first size, and the size beyond which it is written. */
#define BUFFER_START 1024
#define BUFFER_FULL (64 * 1024)

/* Memory of all buffers beyond which those that can be are written: there may be many streams. */
#define BUFFERS_FULL (8 * 1024 * 1024)

struct SeAppender
{
	Relation	stream;
	SeLayout   *layout;			/* of the descriptor */
	uint32		catalog_layout; /* its id in the catalog, 0 = none fits */
	MemoryContext row_memory;	/* flattened values, reset per row */
	struct RowBuffer *buffer;	/* last used; believe it only in its generation */
	SeLatest   *latest;			/* likewise */
	uint64		generation;
	uint64		wrong_ordinal;	/* mutant wrong-ordinal-order */
};

typedef struct RowBuffer
{
	dlist_node	node;
	Oid			relation;
	uint32		layout;
	SubTransactionId subxact;
	uint32		nrows;
	uint64		ordinal;		/* of the first row */
	uint64		last;			/* of the last one */
	bool		sparse;			/* there are gaps between */
	uint32	   *distances;		/* if sparse, by row: ordinal - first ordinal */
	uint32		room;			/* of distances */
	StringInfoData rows;
} RowBuffer;

/* Of the transaction, besides what log/writes.h knows. */
static Size buffered = 0;		/* memory of buffers */
static bool ending = false;		/* they were written for the last time: keep nothing */
static dlist_head buffers = DLIST_STATIC_INIT(buffers);
static uint64 generation = 0;

static RowBuffer *find_buffer(SeAppender *appender);
static RowBuffer *make_buffer(Oid relation, uint32 layout);
static void add_ordinal(RowBuffer *buffer, uint64 ordinal);
static void need_distances(RowBuffer *buffer);
static void write_buffer(RowBuffer *buffer);
static void write_all_but_last(RowBuffer *buffer, int len);
static void free_buffer(RowBuffer *buffer);
static void write_buffers_of(SubTransactionId subxact);
static Size buffer_memory(const RowBuffer *buffer);
static void row_too_big(Relation stream, Size size) SE_NORETURN;
static void transaction_event(XactEvent event, void *arg);
static void subtransaction_event(SubXactEvent event, SubTransactionId subxact,
								 SubTransactionId parent, void *arg);

void
se_append_init(void)
{
	RegisterXactCallback(transaction_event, NULL);
	RegisterSubXactCallback(subtransaction_event, NULL);
}

/* A new appender for a stream that stays open and locked while it is used. */
SeAppender *
se_append_open(MemoryContext memory, Relation stream)
{
	const SeLayout *current = se_layout_current(stream);
	MemoryContext old = MemoryContextSwitchTo(memory);
	SeAppender *appender = palloc0(sizeof(SeAppender));

	se_shmem_require();
	se_drained_check(RelationGetRelid(stream));
	appender->stream = stream;
	appender->layout = se_layout_of_desc(RelationGetRelid(stream), RelationGetDescr(stream));
	appender->catalog_layout = current == NULL ? 0 : current->id;
	appender->row_memory = AllocSetContextCreate(memory, "stream_engine row", ALLOCSET_SMALL_SIZES);
	MemoryContextSwitchTo(old);
	return appender;
}

/*
 * Take one row. It is packed behind the buffer's others; if the buffer is too full with
 * it, those are written and the row begins the next message.
 */
void
se_append_row(SeAppender *appender, TupleTableSlot *slot, uint8 kind, bool passed)
{
	const SeLayout *layout = appender->layout;
	RowBuffer  *buffer;
	MemoryContext old;
	Size		memory;
	uint64		ordinal;
	int			before;

	slot_getallattrs(slot);
	if (buffered > BUFFERS_FULL)
		write_buffers_of(GetCurrentSubTransactionId());
	buffer = find_buffer(appender);
	ordinal = se_writes.next_ordinal;
	if (SE_FAULT_WRONG("wrong-ordinal-order"))
		ordinal = appender->wrong_ordinal++;
	if (buffer->nrows > 0 &&
		(appender->latest->ordinal != buffer->last || ordinal - buffer->ordinal > PG_UINT32_MAX))
		write_buffer(buffer);

	before = buffer->rows.len;
	memory = buffer->rows.maxlen;
	old = MemoryContextSwitchTo(appender->row_memory);
	if (!se_row_pack_append(&buffer->rows, layout, slot->tts_values, slot->tts_isnull, kind,
							(Size) se_max_row_size * 1024))
		row_too_big(appender->stream, se_row_pack_size(layout, slot->tts_values, slot->tts_isnull));
	if (passed)
		se_row_set_passed(buffer->rows.data + before);
	MemoryContextSwitchTo(old);
	MemoryContextReset(appender->row_memory);
	buffered += buffer->rows.maxlen - memory;
	if (before > 0 && buffer->rows.len + (buffer->sparse ? sizeof(uint32) * buffer->nrows : 0) > BUFFER_FULL)
		write_all_but_last(buffer, before);
	se_writes.next_ordinal++;
	add_ordinal(buffer, ordinal);
	appender->latest->ordinal = ordinal;

	/* A large row does not wait: its memory would be the transaction's. */
	if (buffer->rows.len > BUFFER_FULL)
		write_buffer(buffer);
}

/* Note the ordinal of the row that a buffer has just got; nearly always the next one. */
static void
add_ordinal(RowBuffer *buffer, uint64 ordinal)
{
	if (buffer->nrows == 0)
	{
		buffer->ordinal = ordinal;
		buffer->sparse = false;
	}
	else if (buffer->sparse || ordinal != buffer->last + 1)
	{
		need_distances(buffer);
		buffer->distances[buffer->nrows] = ordinal - buffer->ordinal;
	}
	buffer->nrows++;
	buffer->last = ordinal;
}

/* Room for one distance more; the first gap brings those of the rows before it. */
static void
need_distances(RowBuffer *buffer)
{
	if (buffer->nrows >= buffer->room)
	{
		uint32		room = Max(16, buffer->room);

		while (room <= buffer->nrows)
			room *= 2;
		buffered += sizeof(uint32) * (room - buffer->room);
		buffer->distances = buffer->distances == NULL ?
			MemoryContextAlloc(se_writes_memory(), sizeof(uint32) * room) :
			repalloc(buffer->distances, sizeof(uint32) * room);
		buffer->room = room;
	}
	for (uint32 i = 0; !buffer->sparse && i < buffer->nrows; i++)
		buffer->distances[i] = i;
	buffer->sparse = true;
}

static void
row_too_big(Relation stream, Size size)
{
	ereport(ERROR,
			(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			 errmsg("row is too big for stream \"%s\"", RelationGetRelationName(stream)),
			 errdetail("It takes %zu bytes; stream_engine.max_row_size allows %zu.",
					   size, (Size) se_max_row_size * 1024),
			 errhint("Store large values elsewhere and put a reference into the stream, or ask an administrator to raise stream_engine.max_row_size.")));
}

/*
 * The node is done. Its rows may wait for those of later statements, unless the transaction is about to end, or their
 * layout is one of the transaction: whoever begins to read in between has not seen it.
 */
void
se_append_close(SeAppender *appender)
{
	SubTransactionId current = GetCurrentSubTransactionId();
	dlist_mutable_iter iter;

	if (appender->catalog_layout != 0 && !ending && !SE_FAULT_WRONG("wrong-ordinal-order"))
		return;
	dlist_foreach_modify(iter, &buffers)
	{
		RowBuffer  *buffer = dlist_container(RowBuffer, node, iter.cur);

		if (buffer->relation != RelationGetRelid(appender->stream) || buffer->subxact != current)
			continue;
		write_buffer(buffer);
		free_buffer(buffer);
	}
}

/* The stream's buffer for the current subtransaction. */
static RowBuffer *
find_buffer(SeAppender *appender)
{
	SubTransactionId current = GetCurrentSubTransactionId();
	Oid			relation = RelationGetRelid(appender->stream);
	uint32		layout;
	dlist_iter	iter;

	if (appender->buffer != NULL && appender->generation == generation &&
		appender->buffer->subxact == current)
		return appender->buffer;

	appender->buffer = NULL;
	layout = appender->catalog_layout ? appender->catalog_layout : se_writes_layout(appender->layout);
	dlist_foreach(iter, &buffers)
	{
		RowBuffer  *buffer = dlist_container(RowBuffer, node, iter.cur);

		if (buffer->relation == relation && buffer->layout == layout && buffer->subxact == current)
			appender->buffer = buffer;
	}
	if (appender->buffer == NULL)
		appender->buffer = make_buffer(relation, layout);
	appender->latest = se_writes_latest(relation);
	appender->generation = generation;
	return appender->buffer;
}

static RowBuffer *
make_buffer(Oid relation, uint32 layout)
{
	MemoryContext old = MemoryContextSwitchTo(se_writes_memory());
	RowBuffer  *buffer = palloc0(sizeof(RowBuffer));

	buffer->relation = relation;
	buffer->layout = layout;
	buffer->subxact = GetCurrentSubTransactionId();
	buffer->rows.data = palloc(BUFFER_START);
	buffer->rows.maxlen = BUFFER_START;
	resetStringInfo(&buffer->rows);
	buffered += buffer_memory(buffer);
	dlist_push_tail(&buffers, &buffer->node);
	MemoryContextSwitchTo(old);
	return buffer;
}

static Size
buffer_memory(const RowBuffer *buffer)
{
	return buffer->rows.maxlen + sizeof(uint32) * buffer->room;
}

/* Write a buffer's rows as one message of the current subtransaction and empty it. */
static void
write_buffer(RowBuffer *buffer)
{
	SeMessageHeader header = {.kind = SE_MESSAGE_ROWS};

	Assert(buffer->subxact == GetCurrentSubTransactionId());
	if (buffer->nrows == 0)
		return;
	SE_FAULT_POINT("log-append-flush");
	header.relation = buffer->relation;
	header.layout = buffer->layout;
	header.ordinal = buffer->ordinal;
	header.nrows = buffer->nrows;
	header.body_len = buffer->rows.len;
	if (buffer->sparse)
	{
		Size		prefix = TYPEALIGN(8, sizeof(uint32) * buffer->nrows);
		char	   *body = MemoryContextAllocZero(se_writes_memory(), prefix + buffer->rows.len);

		memcpy(body, buffer->distances, sizeof(uint32) * buffer->nrows);
		memcpy(body + prefix, buffer->rows.data, buffer->rows.len);
		header.flags = SE_MESSAGE_SPARSE;
		header.body_len += prefix;
		se_writes_message(&header, body);
		pfree(body);
	}
	else
		se_writes_message(&header, buffer->rows.data);

	buffer->nrows = 0;
	resetStringInfo(&buffer->rows);
	if (buffer->rows.maxlen > 2 * BUFFER_FULL)
	{
		/* One giant row must not keep its memory for the rest of the transaction. */
		buffered -= buffer_memory(buffer);
		buffer->rows.data = repalloc(buffer->rows.data, BUFFER_FULL);
		buffer->rows.maxlen = BUFFER_FULL;
		buffered += buffer_memory(buffer);
	}
}

static void
free_buffer(RowBuffer *buffer)
{
	buffered -= buffer_memory(buffer);
	dlist_delete(&buffer->node);
	if (buffer->distances != NULL)
		pfree(buffer->distances);
	pfree(buffer->rows.data);
	pfree(buffer);
	generation++;
}

/* Write the rows that end at `len`; the one behind them is the buffer's first then. */
static void
write_all_but_last(RowBuffer *buffer, int len)
{
	int			left = buffer->rows.len - len;
	char	   *last = MemoryContextAlloc(se_writes_memory(), left);

	memcpy(last, buffer->rows.data + len, left);
	buffer->rows.len = len;
	write_buffer(buffer);
	appendBinaryStringInfo(&buffer->rows, last, left);
	pfree(last);
}

/* A transactional mark: in this transaction, at this place among its rows, H is `watermark`. */
void
se_append_watermark(Oid stream, SeTime watermark)
{
	SeMessageHeader header = {.kind = SE_MESSAGE_MARK,.mark = SE_MARK_WATERMARK};

	se_drained_check(stream);
	header.relation = stream;
	header.ordinal = se_writes.next_ordinal++;
	header.body_len = sizeof(watermark);
	se_writes_latest(stream)->ordinal = header.ordinal;
	se_writes_message(&header, &watermark);
}

/*
 * A mark among the rows of whatever streams the job reads: none of their messages has
 * rows on both sides of it.
 */
void
se_append_options(Oid job, const char *body, Size len)
{
	SeMessageHeader header = {.kind = SE_MESSAGE_MARK,.mark = SE_MARK_OPTIONS};
	ListCell   *lc;

	header.relation = job;
	header.ordinal = se_writes.next_ordinal++;
	header.body_len = len;
	foreach(lc, se_writes.latest)
		((SeLatest *) lfirst(lc))->ordinal = header.ordinal;
	se_writes_message(&header, body);
}

uint64
se_append_next_ordinal(void)
{
	return se_writes.next_ordinal;
}

void
se_append_forget_layouts(void)
{
	se_writes_forget_layouts();
}

bool
se_append_has_rows(Oid stream)
{
	dlist_iter	iter;

	dlist_foreach(iter, &buffers)
	{
		RowBuffer  *buffer = dlist_container(RowBuffer, node, iter.cur);

		if (buffer->relation == stream && buffer->nrows > 0)
			return true;
	}
	return se_writes_has_rows(stream);
}

bool
se_append_in_use(void)
{
	/* a row that waits in a buffer has its ordinal */
	return se_writes.next_ordinal > 0;
}

/* Write and free all buffers of a subtransaction that is about to end well. */
static void
write_buffers_of(SubTransactionId subxact)
{
	dlist_mutable_iter iter;

	dlist_foreach_modify(iter, &buffers)
	{
		RowBuffer  *buffer = dlist_container(RowBuffer, node, iter.cur);

		if (buffer->subxact != subxact)
			continue;
		write_buffer(buffer);
		free_buffer(buffer);
	}
}

/* The memory goes with the transaction's; only pointers must be forgotten. */
static void
forget_writes(void)
{
	se_writes_forget();
	buffered = 0;
	ending = false;
	dlist_init(&buffers);
	generation++;
}

static void
transaction_event(XactEvent event, void *arg)
{
	switch (event)
	{
		case XACT_EVENT_PRE_COMMIT:
		case XACT_EVENT_PRE_PREPARE:
			write_buffers_of(TopSubTransactionId);
			Assert(dlist_is_empty(&buffers));
			ending = true;
			break;
		case XACT_EVENT_COMMIT:
			/* The transaction is visible already; asynchronous commits come here too. */
			if (se_writes.in_use)
				se_database_slot_wake_readers(MyDatabaseId, XactLastCommitEnd);
			forget_writes();
			break;
		case XACT_EVENT_PREPARE:
		case XACT_EVENT_ABORT:
			forget_writes();
			break;
		default:
			break;
	}
}

static void
subtransaction_event(SubXactEvent event, SubTransactionId subxact,
					 SubTransactionId parent, void *arg)
{
	dlist_mutable_iter iter;

	switch (event)
	{
		case SUBXACT_EVENT_PRE_COMMIT_SUB:
			write_buffers_of(subxact);
			break;
		case SUBXACT_EVENT_COMMIT_SUB:
			se_writes_subxact_committed(subxact, parent);
			break;
		case SUBXACT_EVENT_ABORT_SUB:
			dlist_foreach_modify(iter, &buffers)
			{
				RowBuffer  *buffer = dlist_container(RowBuffer, node, iter.cur);

				if (buffer->subxact == subxact)
					free_buffer(buffer);
			}
			se_writes_subxact_aborted(subxact);
			break;
		default:
			break;
	}
}
