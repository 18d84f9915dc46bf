/*
 * base/draining.c
 *		Databases whose streams are being drained: a small table in shared memory.
 *
 * A writer locks its stream and then looks here; who drains writes here and then waits for
 * the locks there are. So a writer is either waited for or turned away. An entry ends
 * with its transaction, after that has become visible: then the catalog speaks, and the
 * generation tells everybody to look into it again.
 */
#include "postgres.h"

#include "access/xact.h"
#include "base/draining.h"
#include "base/shmem.h"
#include "miscadmin.h"
#include "port/atomics.h"
#include "storage/spin.h"

#define MAX_DRAINS 16

typedef struct Drain
{
	int			pid;			/* 0 = free */
	Oid			database;
} Drain;

typedef struct Drains
{
	slock_t		lock;			/* protects drains */
	Drain		drains[MAX_DRAINS];
	pg_atomic_uint32 active;	/* how many are not free */
	pg_atomic_uint64 generation;
} Drains;

static Drains *MyDrains = NULL;
static bool draining = false;	/* this transaction has an entry */
static bool changed = false;

static void
init_drains(void *memory)
{
	Drains	   *drains = memory;

	SpinLockInit(&drains->lock);
	pg_atomic_init_u32(&drains->active, 0);
	pg_atomic_init_u64(&drains->generation, 1);
}

static void
at_transaction_end(XactEvent event, void *arg)
{
	if (event == XACT_EVENT_PRE_PREPARE && (draining || changed))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot PREPARE a transaction that has drained streams, or ended that")));
	if (event != XACT_EVENT_COMMIT && event != XACT_EVENT_ABORT)
		return;
	if (draining || changed)
		pg_atomic_fetch_add_u64(&MyDrains->generation, 1);
	if (draining)
	{
		SpinLockAcquire(&MyDrains->lock);
		for (int i = 0; i < MAX_DRAINS; i++)
			if (MyDrains->drains[i].pid == MyProcPid)
			{
				MyDrains->drains[i].pid = 0;
				pg_atomic_fetch_sub_u32(&MyDrains->active, 1);
			}
		SpinLockRelease(&MyDrains->lock);
	}
	draining = changed = false;
}

void
se_draining_init(void)
{
	se_shmem_register("stream_engine draining", sizeof(Drains), init_drains, (void **) &MyDrains);
	RegisterXactCallback(at_transaction_end, NULL);
}

void
se_draining_begin(Oid database)
{
	bool		found = draining;

	se_shmem_require();
	SpinLockAcquire(&MyDrains->lock);
	for (int i = 0; i < MAX_DRAINS && !found; i++)
		if (MyDrains->drains[i].pid == 0)
		{
			MyDrains->drains[i] = (Drain)
			{
				MyProcPid, database
			};
			pg_atomic_fetch_add_u32(&MyDrains->active, 1);
			found = true;
		}
	SpinLockRelease(&MyDrains->lock);
	if (!found)
		ereport(ERROR,
				(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
				 errmsg("too many databases are being drained"),
				 errhint("Try again when some of them are done.")));
	draining = true;
}

bool
se_draining_is_on(Oid database)
{
	bool		found = false;

	if (MyDrains == NULL)
		return false;
	pg_memory_barrier();
	if (pg_atomic_read_u32(&MyDrains->active) == 0)
		return false;
	SpinLockAcquire(&MyDrains->lock);
	for (int i = 0; i < MAX_DRAINS; i++)
		found |= MyDrains->drains[i].pid != 0 && MyDrains->drains[i].database == database;
	SpinLockRelease(&MyDrains->lock);
	return found;
}

uint64
se_draining_generation(void)
{
	return MyDrains == NULL ? 0 : pg_atomic_read_u64(&MyDrains->generation);
}

void
se_draining_changed(void)
{
	changed = true;
}
