/*
 * base/waits.c
 *		Who waits for which job: a small table in shared memory.
 *
 * A session that waits for a job sleeps on a condition variable. PostgreSQL's own check
 * for deadlocks does not see that, so runtime/deadlock.c follows it here.
 */
#include "postgres.h"

#include "base/shmem.h"
#include "base/waits.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/spin.h"

#define MAX_WAITS 512

typedef struct Wait
{
	int			pid;			/* 0 = free */
	int			slot;
} Wait;

typedef struct Waits
{
	slock_t		lock;			/* protects everything below */
	int			used;			/* places ever used: readers stop there */
	Wait		waits[MAX_WAITS];
} Waits;

static Waits *MyWaits = NULL;
static int	my_place = -1;
static bool exit_callback_set = false;

static void
init_waits(void *memory)
{
	SpinLockInit(&((Waits *) memory)->lock);
}

static void
at_exit(int code, Datum arg)
{
	se_waits_end();
}

void
se_waits_init(void)
{
	se_shmem_register("stream_engine waits", sizeof(Waits), init_waits, (void **) &MyWaits);
}

void
se_waits_begin(int slot)
{
	se_shmem_require();
	if (!exit_callback_set)
	{
		before_shmem_exit(at_exit, (Datum) 0);
		exit_callback_set = true;
	}
	se_waits_end();
	SpinLockAcquire(&MyWaits->lock);
	for (int i = 0; i < MAX_WAITS && my_place < 0; i++)
		if (MyWaits->waits[i].pid == 0)
			my_place = i;
	if (my_place >= 0)
	{
		MyWaits->waits[my_place].pid = MyProcPid;
		MyWaits->waits[my_place].slot = slot;
		MyWaits->used = Max(MyWaits->used, my_place + 1);
	}
	SpinLockRelease(&MyWaits->lock);
}

void
se_waits_end(void)
{
	if (my_place < 0)
		return;
	SpinLockAcquire(&MyWaits->lock);
	MyWaits->waits[my_place].pid = 0;
	SpinLockRelease(&MyWaits->lock);
	my_place = -1;
}

int
se_waits_for(int pid)
{
	int			slot = -1;

	SpinLockAcquire(&MyWaits->lock);
	for (int i = 0; i < MyWaits->used && slot < 0; i++)
		if (MyWaits->waits[i].pid == pid)
			slot = MyWaits->waits[i].slot;
	SpinLockRelease(&MyWaits->lock);
	return slot;
}
