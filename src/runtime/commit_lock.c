/*
 * runtime/commit_lock.c
 *		The lock on the result with which a commit begins, however long others hold it.
 *
 * A session can hold a lock on the result that excludes us: an ALTER TABLE, a LOCK TABLE
 * in an open transaction. Nothing is written yet and the operators are as the last round
 * left them, so unlike any other error this one costs nothing: the transaction is given
 * up, so that it holds back no vacuum for ever, and the commit begins once more after a
 * while. The job is *waiting* meanwhile, jobs and errors say for what, and it is not
 * counted as a failure. It reads nothing more: what it would read would have to be kept.
 * After a second jobs says so, and who it is; after another ten an entry in errors does.
 */
#include "postgres.h"

#include "access/xact.h"
#include "base/compat.h"
#include "base/database_slot.h"
#include "base/fault.h"
#include "miscadmin.h"
#include "runtime/restart.h"
#include "runtime/side.h"
#include "runtime/task.h"
#include "runtime/worker_env.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

/* We stand in the lock's queue for so long, at first and later, and out of it for at most so long. */
#define FIRST_TIMEOUT "1s"
#define LOCK_TIMEOUT "10s"
#define LONGEST_PAUSE_MS 10000
/* Longer waits than this many tries are worth an entry in job_errors. */
#define TELL_TRIES 2

/* The lock that was not to be had. */
static Oid	wanted = InvalidOid;
static const char *wanted_name = NULL;

static bool take_lock(SeTask *task);
static void tell(SeTask *task, int tries, int pause);
static void describe_holders(SeTask *task, char *text, size_t size);
static void take_back(SeTask *task);
static void pause_for(int ms);

bool
se_commit_lock(SeTask *task)
{
	int			tries = 0;

	for (;;)
	{
		int			pause;

		if (!se_worker_begin(task->job, false))
			return false;
		SE_FAULT_POINT("commit-begin");
		(void) set_config_option("lock_timeout", tries == 0 ? FIRST_TIMEOUT : LOCK_TIMEOUT, PGC_USERSET, PGC_S_OVERRIDE,
								 GUC_ACTION_SAVE, true, ERROR, false);
		if (take_lock(task))
			break;
		pause = se_restart_delay(++tries);
		pause = Min(pause, LONGEST_PAUSE_MS);
		tell(task, tries, pause);
		pause_for(pause);
	}
	if (tries > 0)
		take_back(task);
	if (SearchSysCacheExists1(RELOID, ObjectIdGetDatum(task->job)))
		return true;
	se_worker_commit();
	return false;
}

/* False, and the transaction is rolled back, if the lock was not to be had in time. */
static bool
take_lock(SeTask *task)
{
	volatile bool taken = true;

	PG_TRY();
	{
		wanted = task->job;
		wanted_name = task->name;
		LockRelationOid(task->job, RowExclusiveLock);
		if (OidIsValid(se_side_writes_into(task)))
		{
			wanted = se_side_writes_into(task);
			wanted_name = "the table of its late rows";
			LockRelationOid(wanted, RowExclusiveLock);
		}
	}
	PG_CATCH();
	{
		if (geterrcode() != ERRCODE_LOCK_NOT_AVAILABLE)
			PG_RE_THROW();
		HOLD_INTERRUPTS();
		MemoryContextSwitchTo(TopMemoryContext);
		FlushErrorState();
		AbortOutOfAnyTransaction();
		RESUME_INTERRUPTS();
		taken = false;
	}
	PG_END_TRY();
	return taken;
}

/* Say what we wait for: at every try in the slot, once in job_errors and the log. */
static void
tell(SeTask *task, int tries, int pause)
{
	SeJobSlot  *slot = task->slot;
	char text[	SE_JOB_ERROR_LEN];

	describe_holders(task, text, sizeof(text));
	LWLockAcquire(se_job_slot_lock(), LW_EXCLUSIVE);
	if (slot->state == SE_JOB_RUNNING)
		slot->state = SE_JOB_WAITING;
	slot->restart_at = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), pause);
	slot->error_sqlstate = ERRCODE_LOCK_NOT_AVAILABLE;
	strlcpy(slot->error, text, sizeof(slot->error));
	if (tries == TELL_TRIES)
	{
		slot->unwritten = true;
		slot->error_attempt = task->attempt;
	}
	LWLockRelease(se_job_slot_lock());
	se_job_slot_changed(slot);
	if (tries != TELL_TRIES)
		return;
	se_database_slot_wake_coordinator(MyDatabaseId);	/* it writes job_errors */
	ereport(LOG, (errmsg("continuous view %s %s; still waiting", task->name, text)));
}

/*
 * Who holds a lock on the result that excludes us, or, if nobody does, waits for one and
 * so has others wait behind: an ALTER TABLE behind a long SELECT.
 */
static void
describe_holders(SeTask *task, char *text, size_t size)
{
	MemoryContext memory = AllocSetContextCreate(task->memory, "stream_engine locks", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(memory);
	LOCKMASK	excluding = LOCKBIT_ON(ShareLock) | LOCKBIT_ON(ShareRowExclusiveLock) |
	LOCKBIT_ON(ExclusiveLock) | LOCKBIT_ON(AccessExclusiveLock);
	LockData   *locks = GetLockStatusData();
	int			holder = -1;	/* 0: a prepared transaction */
	int			waiter = -1;
	int			others = 0;

	for (int i = 0; i < locks->nelements; i++)
	{
		const LockInstanceData *lock = &locks->locks[i];

		if (lock->locktag.locktag_type != LOCKTAG_RELATION || lock->locktag.locktag_field1 != MyDatabaseId ||
			lock->locktag.locktag_field2 != wanted)
			continue;
		if (lock->holdMask & excluding)
		{
			others += holder >= 0;
			holder = holder >= 0 ? holder : lock->pid;
		}
		else if (lock->waitLockMode != NoLock && (LOCKBIT_ON(lock->waitLockMode) & excluding))
			waiter = lock->pid;
	}
	if (holder > 0 && others > 0)
		snprintf(text, size, "cannot commit while process %d and %d more hold a lock on %s", holder, others, wanted_name);
	else if (holder > 0)
		snprintf(text, size, "cannot commit while process %d holds a lock on %s", holder, wanted_name);
	else if (holder == 0)
		snprintf(text, size, "cannot commit while a prepared transaction holds a lock on %s", wanted_name);
	else if (waiter > 0)
		snprintf(text, size, "cannot commit while process %d waits for a lock on %s", waiter, wanted_name);
	else
		snprintf(text, size, "cannot commit while another session holds a lock on %s", wanted_name);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(memory);
}

/* We have the lock: nothing is wrong any more. */
static void
take_back(SeTask *task)
{
	SeJobSlot  *slot = task->slot;

	LWLockAcquire(se_job_slot_lock(), LW_EXCLUSIVE);
	if (slot->state == SE_JOB_WAITING)
		slot->state = SE_JOB_RUNNING;
	slot->restart_at = 0;
	if (!slot->unwritten)
	{
		slot->error_sqlstate = 0;
		slot->error[0] = '\0';
	}
	LWLockRelease(se_job_slot_lock());
	se_job_slot_changed(slot);
}

/* Outside a transaction; SIGTERM ends it. What else wakes us is counted and looked at later. */
static void
pause_for(int ms)
{
	static uint32 wait_event = 0;
	TimestampTz end = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), ms);
	long		left;

	if (wait_event == 0)
		wait_event = se_compat_wait_event("StreamEngineResultLock");
	while ((left = TimestampDifferenceMilliseconds(GetCurrentTimestamp(), end)) > 0)
	{
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, left, wait_event);
		ResetLatch(MyLatch);
		se_worker_between();
	}
}
