/*
 * log/transactions.c
 *		Collects messages per (sub)transaction and puts them in order at commit.
 *
 * At wal_level = replica a record names only the (sub)transaction that wrote it, so
 * messages are collected by that xid, and the commit record says which of them belong
 * together. Rows of one transaction may sit under several xids that take turns (section
 * 4 of the notes: 735, 736, 735), and a message may be written after one with greater
 * ordinals: lists are merged by ordinal, never appended.
 *
 * A message costs 24 bytes while its transaction is open. Its bytes are kept too while
 * all kept bytes together stay below the limit; the reader fetches others from the WAL
 * once more when they are delivered.
 *
 * Layout messages count even if their subtransaction aborts: a list moves to the top
 * transaction then. The order of `by_age` is that of first messages, so the oldest is
 * found without a search.
 */
#include "postgres.h"

#include "base/fault.h"
#include "lib/ilist.h"
#include "log/transactions.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"

typedef struct Open
{
	TransactionId xid;			/* hash key: of the top or a subtransaction */
	bool		prepared;
	bool		cut;
	bool		sorted;			/* refs are in delivery order */
	uint64		top_xid;		/* full xid of the top transaction */
	dlist_node	by_age;
	XLogRecPtr	first_lsn;
	Size		nrefs;
	Size		room;
	SeMessageRef *refs;
	SeMessageRef one;			/* most transactions hold one message */
} Open;

struct SeTransactions
{
	MemoryContext memory;
	HTAB	   *hash;
	dlist_head	by_age;			/* oldest first message first */
	Size		limit;
	Size		kept;			/* bytes of messages */
	Size		listed;			/* bytes of lists */
};

static Open *find(SeTransactions *open, TransactionId xid);
static Open *enter(SeTransactions *open, TransactionId xid, uint64 top_xid, XLogRecPtr lsn);
static void add_ref(SeTransactions *open, Open *txn, SeMessageRef ref);
static void forget(SeTransactions *open, Open *txn);
static void keep_layouts(SeTransactions *open, Open *txn);
static void take(SeTransactions *open, SeFinished *finished, Open **parts, int nparts);
static int	compare_refs(const void *a, const void *b);

static inline Size
bytes_of(const SeMessageRef *ref)
{
	return ref->bytes == NULL ? 0 :
		sizeof(SeMessageHeader) + ((const SeMessageHeader *) ref->bytes)->body_len;
}

SeTransactions *
se_transactions_new(MemoryContext memory, Size limit)
{
	MemoryContext own = AllocSetContextCreate(memory, "stream_engine transactions",
											  ALLOCSET_DEFAULT_SIZES);
	SeTransactions *open = MemoryContextAllocZero(own, sizeof(SeTransactions));
	HASHCTL		ctl = {0};

	open->memory = own;
	open->limit = limit;
	dlist_init(&open->by_age);
	ctl.keysize = sizeof(TransactionId);
	ctl.entrysize = sizeof(Open);
	ctl.hcxt = own;
	open->hash = hash_create("stream_engine transactions", 64, &ctl,
							 HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	return open;
}

void
se_transactions_set_limit(SeTransactions *open, Size limit)
{
	open->limit = limit;
}

void
se_transactions_add(SeTransactions *open, TransactionId xid, XLogRecPtr lsn,
					const SeMessageHeader *header, const char *body, bool cut)
{
	Open	   *txn = enter(open, xid, header->top_xid, lsn);
	Size		size = sizeof(SeMessageHeader) + header->body_len;
	SeMessageRef ref;

	ref.lsn = lsn;
	ref.order = header->kind == SE_MESSAGE_LAYOUT ? 0 : header->ordinal + 1;
	ref.bytes = NULL;
	if (open->kept + size <= open->limit)
	{
		ref.bytes = MemoryContextAllocHuge(open->memory, size);
		memcpy(ref.bytes, header, sizeof(SeMessageHeader));
		memcpy(ref.bytes + sizeof(SeMessageHeader), body, header->body_len);
		open->kept += size;
	}
	txn->cut |= cut;
	add_ref(open, txn, ref);
}

void
se_transactions_prepare(SeTransactions *open, TransactionId xid,
						int nchildren, const TransactionId *children)
{
	Open	   *txn = find(open, xid);

	if (txn != NULL)
		txn->prepared = true;
	for (int i = 0; i < nchildren; i++)
		if ((txn = find(open, children[i])) != NULL)
			txn->prepared = true;
}

void
se_transactions_abort(SeTransactions *open, TransactionId xid,
					  int nchildren, const TransactionId *children)
{
	for (int i = -1; i < nchildren; i++)
	{
		Open	   *txn = find(open, i < 0 ? xid : children[i]);

		if (txn == NULL)
			continue;
		/* A rollback of the top transaction ends all; one of a part leaves layouts. */
		if (XidFromFullTransactionId(FullTransactionIdFromU64(txn->top_xid)) != xid)
			keep_layouts(open, txn);
		forget(open, txn);
	}
}

SeFinished *
se_transactions_commit(SeTransactions *open, TransactionId xid,
					   int nchildren, const TransactionId *children)
{
	Open	   *own = find(open, xid);
	Open	  **parts;
	int			nparts = 0;
	SeFinished *finished;

	parts = MemoryContextAlloc(open->memory, sizeof(Open *) * (nchildren + 1));
	if (own != NULL)
		parts[nparts++] = own;
	for (int i = 0; i < nchildren; i++)
		if ((own = find(open, children[i])) != NULL)
			parts[nparts++] = own;
	if (nparts == 0)
	{
		pfree(parts);
		return NULL;
	}

	finished = MemoryContextAllocZero(open->memory, sizeof(SeFinished));
	finished->xid = xid;
	finished->top_xid = parts[0]->top_xid;
	take(open, finished, parts, nparts);
	pfree(parts);
	return finished;
}

/* Bring the messages of all parts into one list in delivery order, and forget the parts. */
static void
take(SeTransactions *open, SeFinished *finished, Open **parts, int nparts)
{
	bool		sorted = nparts == 1;
	Size		n = 0;

	finished->first_lsn = parts[0]->first_lsn;
	for (int i = 0; i < nparts; i++)
	{
		finished->nrefs += parts[i]->nrefs;
		finished->cut |= parts[i]->cut;
		finished->first_lsn = Min(finished->first_lsn, parts[i]->first_lsn);
		sorted &= parts[i]->sorted;
	}

	if (nparts == 1 && parts[0]->refs != &parts[0]->one)
	{
		/* The common large transaction: its list changes hands. */
		finished->refs = parts[0]->refs;
		open->listed -= parts[0]->room * sizeof(SeMessageRef);
		parts[0]->refs = &parts[0]->one;
		parts[0]->room = 1;
	}
	else
	{
		finished->refs = MemoryContextAllocHuge(open->memory, finished->nrefs * sizeof(SeMessageRef));
		for (int i = 0; i < nparts; i++)
		{
			memcpy(finished->refs + n, parts[i]->refs, parts[i]->nrefs * sizeof(SeMessageRef));
			n += parts[i]->nrefs;
		}
	}
	open->listed += finished->nrefs * sizeof(SeMessageRef);

	/* The bytes belong to the finished transaction now. */
	for (int i = 0; i < nparts; i++)
	{
		parts[i]->nrefs = 0;
		forget(open, parts[i]);
	}
	if (!sorted)
		qsort(finished->refs, finished->nrefs, sizeof(SeMessageRef), compare_refs);
}

void
se_transactions_end_before(SeTransactions *open, TransactionId xid)
{
	dlist_mutable_iter iter;

	dlist_foreach_modify(iter, &open->by_age)
	{
		Open	   *txn = dlist_container(Open, by_age, iter.cur);

		if (TransactionIdPrecedes(txn->xid, xid))
			forget(open, txn);
	}
}

void
se_transactions_end_unprepared(SeTransactions *open)
{
	dlist_mutable_iter iter;

	dlist_foreach_modify(iter, &open->by_age)
	{
		Open	   *txn = dlist_container(Open, by_age, iter.cur);

		if (!txn->prepared)
			forget(open, txn);
	}
}

void
se_transactions_free_bytes(SeTransactions *open, SeMessageRef *ref)
{
	if (ref->bytes == NULL)
		return;
	open->kept -= bytes_of(ref);
	pfree(ref->bytes);
	ref->bytes = NULL;
}

void
se_transactions_free(SeTransactions *open, SeFinished *finished)
{
	for (Size i = 0; i < finished->nrefs; i++)
		se_transactions_free_bytes(open, &finished->refs[i]);
	open->listed -= finished->nrefs * sizeof(SeMessageRef);
	pfree(finished->refs);
	pfree(finished);
}

bool
se_transactions_none(SeTransactions *open)
{
	return dlist_is_empty(&open->by_age);
}

XLogRecPtr
se_transactions_oldest(SeTransactions *open, TransactionId *xid)
{
	Open	   *oldest;

	if (dlist_is_empty(&open->by_age))
	{
		if (xid != NULL)
			*xid = InvalidTransactionId;
		return InvalidXLogRecPtr;
	}
	oldest = dlist_container(Open, by_age, open->by_age.head.next);
	if (xid != NULL)
		*xid = XidFromFullTransactionId(FullTransactionIdFromU64(oldest->top_xid));
	return oldest->first_lsn;
}

Size
se_transactions_memory(SeTransactions *open)
{
	return open->kept + open->listed;
}

static Open *
find(SeTransactions *open, TransactionId xid)
{
	return hash_search(open->hash, &xid, HASH_FIND, NULL);
}

/* The entry of a (sub)transaction, made with its first message. */
static Open *
enter(SeTransactions *open, TransactionId xid, uint64 top_xid, XLogRecPtr lsn)
{
	bool		found;
	Open	   *txn = hash_search(open->hash, &xid, HASH_ENTER, &found);

	if (found)
		return txn;
	txn->prepared = false;
	txn->cut = false;
	txn->sorted = true;
	txn->top_xid = top_xid;
	txn->first_lsn = lsn;
	txn->nrefs = 0;
	txn->room = 1;
	txn->refs = &txn->one;
	dlist_push_tail(&open->by_age, &txn->by_age);
	return txn;
}

static void
add_ref(SeTransactions *open, Open *txn, SeMessageRef ref)
{
	if (txn->nrefs == txn->room)
	{
		Size		room = txn->room < 4 ? 4 : txn->room * 2;

		if (txn->refs == &txn->one)
		{
			txn->refs = MemoryContextAlloc(open->memory, room * sizeof(SeMessageRef));
			txn->refs[0] = txn->one;
		}
		else
		{
			txn->refs = repalloc_huge(txn->refs, room * sizeof(SeMessageRef));
			open->listed -= txn->room * sizeof(SeMessageRef);
		}
		txn->room = room;
		open->listed += room * sizeof(SeMessageRef);
	}
	if (txn->nrefs > 0 && compare_refs(&txn->refs[txn->nrefs - 1], &ref) > 0)
		txn->sorted = false;
	txn->refs[txn->nrefs++] = ref;
}

/* Drop an entry and the bytes it still owns. */
static void
forget(SeTransactions *open, Open *txn)
{
	for (Size i = 0; i < txn->nrefs; i++)
		se_transactions_free_bytes(open, &txn->refs[i]);
	if (txn->refs != &txn->one)
	{
		open->listed -= txn->room * sizeof(SeMessageRef);
		pfree(txn->refs);
	}
	dlist_delete(&txn->by_age);
	hash_search(open->hash, &txn->xid, HASH_REMOVE, NULL);
}

/*
 * Give the layout messages of a subtransaction that is being rolled back to its top
 * transaction, at the age they have.
 */
static void
keep_layouts(SeTransactions *open, Open *txn)
{
	TransactionId top_xid = XidFromFullTransactionId(FullTransactionIdFromU64(txn->top_xid));
	bool		all = SE_FAULT_WRONG("wrong-aborted-subxact-delivered");

	for (Size i = 0; i < txn->nrefs; i++)
	{
		Open	   *top;

		if (txn->refs[i].order != 0 && !all)
			continue;
		top = enter(open, top_xid, txn->top_xid, txn->first_lsn);
		if (top->nrefs == 0 || txn->first_lsn < top->first_lsn)
		{
			dlist_delete(&top->by_age);
			dlist_insert_before(&txn->by_age, &top->by_age);
			top->first_lsn = txn->first_lsn;
		}
		add_ref(open, top, txn->refs[i]);
		txn->refs[i].bytes = NULL;	/* they moved */
	}
}

/* Delivery order: layouts, then by ordinal; equal ones as they were written. */
static int
compare_refs(const void *a, const void *b)
{
	const SeMessageRef *x = a;
	const SeMessageRef *y = b;

	if (x->order != y->order)
		return x->order < y->order ? -1 : 1;
	return (x->lsn > y->lsn) - (x->lsn < y->lsn);
}
