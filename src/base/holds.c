/*
 * base/holds.c
 *		Holds on the WAL: a small table in shared memory.
 *
 * Whoever registers also frees: at release, at the end of the transaction, or at exit.
 */
#include "postgres.h"

#include "access/xact.h"
#include "base/holds.h"
#include "base/shmem.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/spin.h"

#define MAX_HOLDS 512

typedef struct Hold
{
	int			pid;			/* 0 = free */
	Oid			database;
	XLogRecPtr	lsn;
} Hold;

typedef struct Holds
{
	slock_t		lock;			/* protects everything below */
	int			used;			/* places ever used: readers stop there */
	Hold		holds[MAX_HOLDS];
} Holds;

static Holds *MyHolds = NULL;
static bool have_holds = false; /* this process has registered one */
static bool exit_callback_set = false;

static void
init_holds(void *memory)
{
	SpinLockInit(&((Holds *) memory)->lock);
}

/* Free all holds of this process. */
static void
release_mine(void)
{
	if (!have_holds)
		return;
	SpinLockAcquire(&MyHolds->lock);
	for (int i = 0; i < MyHolds->used; i++)
		if (MyHolds->holds[i].pid == MyProcPid)
			MyHolds->holds[i].pid = 0;
	SpinLockRelease(&MyHolds->lock);
	have_holds = false;
}

static void
at_exit(int code, Datum arg)
{
	release_mine();
}

static void
at_transaction_end(XactEvent event, void *arg)
{
	if (event == XACT_EVENT_COMMIT || event == XACT_EVENT_ABORT || event == XACT_EVENT_PREPARE)
		release_mine();
}

void
se_holds_init(void)
{
	se_shmem_register("stream_engine holds", sizeof(Holds), init_holds, (void **) &MyHolds);
	RegisterXactCallback(at_transaction_end, NULL);
}

SeHold
se_hold_register(XLogRecPtr lsn)
{
	int			place = -1;

	se_shmem_require();
	if (!exit_callback_set)
	{
		before_shmem_exit(at_exit, (Datum) 0);
		exit_callback_set = true;
	}
	SpinLockAcquire(&MyHolds->lock);
	for (int i = 0; i < MAX_HOLDS && place < 0; i++)
		if (MyHolds->holds[i].pid == 0)
			place = i;
	if (place >= 0)
	{
		MyHolds->holds[place] = (Hold)
		{
			MyProcPid, MyDatabaseId, lsn
		};
		MyHolds->used = Max(MyHolds->used, place + 1);
	}
	SpinLockRelease(&MyHolds->lock);
	if (place < 0)
		ereport(ERROR,
				(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
				 errmsg("too many statements read streams at the same time"),
				 errhint("Try again when some of them have ended.")));
	have_holds = true;
	return place + 1;
}

void
se_hold_release(SeHold hold)
{
	if (hold == 0)
		return;
	SpinLockAcquire(&MyHolds->lock);
	if (MyHolds->holds[hold - 1].pid == MyProcPid)
		MyHolds->holds[hold - 1].pid = 0;
	SpinLockRelease(&MyHolds->lock);
}

XLogRecPtr
se_holds_oldest(Oid database)
{
	XLogRecPtr	oldest = InvalidXLogRecPtr;

	if (MyHolds == NULL)
		return InvalidXLogRecPtr;
	SpinLockAcquire(&MyHolds->lock);
	for (int i = 0; i < MyHolds->used; i++)
	{
		const Hold *hold = &MyHolds->holds[i];

		if (hold->pid != 0 && (hold->database == database || database == InvalidOid) &&
			(oldest == InvalidXLogRecPtr || hold->lsn < oldest))
			oldest = hold->lsn;
	}
	SpinLockRelease(&MyHolds->lock);
	return oldest;
}
