/*
 * test/unit/test_transactions.c
 *		log/transactions.c against a model that keeps everything in one flat list.
 */
#include "harness.h"

#include "access/transam.h"
#include "log/transactions.h"

#define MAX_XIDS 2000
#define MAX_MESSAGES 6000

/* What is true of each (sub)transaction. */
typedef enum Fate
{
	OPEN,
	ABORTED,
	ENDED						/* committed, or died without a record */
} Fate;

typedef struct ModelMessage
{
	XLogRecPtr	lsn;
	uint64		ordinal;
	bool		layout;
	TransactionId xid;
	TransactionId top;
} ModelMessage;

static ModelMessage messages[MAX_MESSAGES];
static int	nmessages;
static Fate fates[MAX_XIDS];
static TransactionId tops[MAX_XIDS];
static bool prepared[MAX_XIDS];
static uint64 next_ordinal[MAX_XIDS];
static XLogRecPtr now;

static void
start_model(void)
{
	nmessages = 0;
	now = 1000;
	memset(fates, 0, sizeof(fates));
	memset(prepared, 0, sizeof(prepared));
	memset(next_ordinal, 0, sizeof(next_ordinal));
	for (int i = 0; i < MAX_XIDS; i++)
		tops[i] = i;
}

/* Does a message count, if its top transaction commits? */
static bool
counts(const ModelMessage *message)
{
	return fates[message->xid] == OPEN || (message->layout && fates[message->xid] == ABORTED && message->xid != message->top);
}

static void
add(SeTransactions *open, TransactionId xid, uint64 ordinal, bool layout)
{
	SeMessageHeader header = {.version = SE_MESSAGE_VERSION};
	char		body[64];
	ModelMessage *message = &messages[nmessages++];

	header.kind = layout ? SE_MESSAGE_LAYOUT : SE_MESSAGE_ROWS;
	header.top_xid = tops[xid];
	header.ordinal = ordinal;
	header.nrows = layout ? 0 : 1;
	header.body_len = 8 * se_harness_random(8);
	memset(body, xid, sizeof(body));
	now += 100;
	*message = (ModelMessage)
	{
		now, ordinal, layout, xid, tops[xid]
	};
	se_transactions_add(open, xid, now, &header, body, false);
}

static int
in_order(const void *a, const void *b)
{
	const ModelMessage *x = *(ModelMessage *const *) a;
	const ModelMessage *y = *(ModelMessage *const *) b;

	if (x->layout != y->layout)
		return x->layout ? -1 : 1;
	if (!x->layout && x->ordinal != y->ordinal)
		return x->ordinal < y->ordinal ? -1 : 1;
	return (x->lsn > y->lsn) - (x->lsn < y->lsn);
}

/* The delivery of top must be the model's messages of it, with their bytes if they were kept. */
static void
check_commit(SeTransactions *open, TransactionId top)
{
	static ModelMessage *wanted[MAX_MESSAGES];
	static TransactionId children[MAX_XIDS];
	int			nwanted = 0;
	int			nchildren = 0;
	SeFinished *finished;

	for (int i = 0; i < nmessages; i++)
		if (messages[i].top == top && counts(&messages[i]))
			wanted[nwanted++] = &messages[i];
	qsort(wanted, nwanted, sizeof(wanted[0]), in_order);
	for (TransactionId xid = 0; xid < MAX_XIDS; xid++)
		if (xid != top && tops[xid] == top && fates[xid] == OPEN)
			children[nchildren++] = xid;

	finished = se_transactions_commit(open, top, nchildren, children);
	SE_CHECK_INT(finished == NULL ? 0 : finished->nrefs, nwanted);
	for (int i = 0; finished != NULL && i < nwanted && i < finished->nrefs; i++)
	{
		SE_CHECK_INT(finished->refs[i].lsn, wanted[i]->lsn);
		if (finished->refs[i].bytes != NULL)
		{
			SeMessageHeader *header = (SeMessageHeader *) finished->refs[i].bytes;

			SE_CHECK_INT(header->ordinal, wanted[i]->ordinal);
			SE_CHECK_INT(header->body_len == 0 ||
						 (uint8) finished->refs[i].bytes[sizeof(SeMessageHeader)] == (uint8) wanted[i]->xid, 1);
		}
	}
	if (finished != NULL)
		se_transactions_free(open, finished);
	for (TransactionId xid = 0; xid < MAX_XIDS; xid++)
		if (tops[xid] == top)
			fates[xid] = ENDED;
}

static void
check_oldest(SeTransactions *open)
{
	XLogRecPtr	oldest = InvalidXLogRecPtr;

	for (int i = 0; i < nmessages && XLogRecPtrIsInvalid(oldest); i++)
		if (fates[messages[i].top] == OPEN && counts(&messages[i]))
			oldest = messages[i].lsn;
	SE_CHECK_INT(se_transactions_oldest(open, NULL), oldest);
	SE_CHECK_INT(se_transactions_none(open), XLogRecPtrIsInvalid(oldest));
}

/* Abort one subtransaction, or a whole transaction with its parts. */
static void
abort_one(SeTransactions *open, TransactionId xid)
{
	static TransactionId children[MAX_XIDS];
	int			nchildren = 0;

	if (tops[xid] == xid)
		for (TransactionId other = 0; other < MAX_XIDS; other++)
			if (other != xid && tops[other] == xid && fates[other] == OPEN)
			{
				children[nchildren++] = other;
				fates[other] = ABORTED;
			}
	fates[xid] = ABORTED;
	se_transactions_abort(open, xid, nchildren, children);
}

static void
run(Size limit)
{
	SeTransactions *open = se_transactions_new(CurrentMemoryContext, limit);
	TransactionId next = 10;
	TransactionId live[8] = {0};

	start_model();
	while (next < MAX_XIDS - 10 && nmessages < MAX_MESSAGES - 10)
	{
		int			slot = se_harness_random(8);
		TransactionId top = live[slot];
		uint32		what = se_harness_random(100);

		if (top == 0)
		{
			live[slot] = next++;
			continue;
		}
		if (what < 70)
		{
			/* A message under the top or a new subtransaction. */
			TransactionId xid = top;

			if (what < 25)
			{
				xid = next++;
				tops[xid] = top;
			}
			/* Written in another order than counted: 1, 0, 3, 2, ... */
			add(open, xid, next_ordinal[top]++ ^ 1, what % 10 == 0);
			if (what < 10)
				abort_one(open, xid);
		}
		else if (what < 74)
		{
			prepared[top] = true;
			se_transactions_prepare(open, top, 0, NULL);
		}
		else if (what < 90)
		{
			check_commit(open, top);
			live[slot] = 0;
		}
		else
		{
			abort_one(open, top);
			live[slot] = 0;
		}
		check_oldest(open);
	}
	for (int slot = 0; slot < 8; slot++)
		if (live[slot] != 0)
			check_commit(open, live[slot]);
	SE_CHECK(se_transactions_none(open));
	SE_CHECK_INT(se_transactions_memory(open), 0);
}

SE_TEST(random_transactions_come_out_as_the_model_has_them)
{
	for (int round = 0; round < 5; round++)
		run(4 * 1024 * 1024);
}

SE_TEST(so_they_do_when_bytes_are_not_kept)
{
	run(0);
	run(2000);
}

SE_TEST(messages_written_late_are_delivered_by_ordinal)
{
	SeTransactions *open = se_transactions_new(CurrentMemoryContext, 1024);

	start_model();
	tops[12] = tops[13] = 11;
	add(open, 12, 5, false);
	add(open, 11, 3, false);
	add(open, 13, 9, false);
	add(open, 11, 7, false);
	add(open, 13, 4, false);
	add(open, 12, 8, true);
	check_commit(open, 11);
	SE_CHECK_INT(se_transactions_memory(open), 0);
}

SE_TEST(what_died_without_a_record_is_forgotten_unless_prepared)
{
	SeTransactions *open = se_transactions_new(CurrentMemoryContext, 1024);
	TransactionId child = 22;
	XLogRecPtr	kept;
	TransactionId xid;

	start_model();
	tops[22] = 21;
	add(open, 20, 0, false);
	add(open, 21, 0, false);
	kept = now;
	add(open, 22, 1, false);
	add(open, 30, 0, false);
	se_transactions_prepare(open, 21, 1, &child);

	se_transactions_end_before(open, 21);
	SE_CHECK_INT(se_transactions_oldest(open, &xid), kept);
	SE_CHECK_INT(xid, 21);
	se_transactions_end_unprepared(open);
	SE_CHECK_INT(se_transactions_oldest(open, &xid), kept);
	fates[20] = fates[30] = ENDED;
	check_commit(open, 21);
	SE_CHECK(se_transactions_none(open));
	SE_CHECK_INT(se_transactions_memory(open), 0);
}
