/*
 * runtime/coordinator.c
 *		The coordinator of a database: starts, watches and ends the jobs' workers.
 *
 * It compares what the catalog asks for with what the job slots show, and takes the
 * next step of each job; then it looks after the replication slot. It is woken by
 * sessions whose commit changed a job, by workers that come and go, and by its own
 * timers (a back-off that is over, a stop that takes too long). It takes no lock on
 * anybody's relation and waits for nobody (for a moment for who has locked our tables): what a worker does is seen in its slot.
 *
 * A coordinator can die and be replaced while workers run: they are known by their
 * slots. A start of the former one that comes late finds another attempt number in the
 * slot and ends (task.c), so a job never has two workers (I7).
 *
 * With neither jobs nor streams in the database the coordinator leaves; the next
 * session that makes one has the launcher start it again.
 */
#include "postgres.h"

#include "base/compat.h"
#include "base/database_slot.h"
#include "base/fault.h"
#include "base/holds.h"
#include "base/settings.h"
#include "log/retention.h"
#include "meta/jobs.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "runtime/deaths.h"
#include "runtime/retain.h"
#include "runtime/runtime.h"
#include "runtime/ticks.h"
#include "runtime/vacuum.h"
#include "runtime/worker_env.h"
#include "runtime/workers.h"
#include "storage/ipc.h"
#include "utils/guc.h"
#include "utils/memutils.h"

/* Before what failed (the replication slot, an entry in job_errors) is tried again. */
#define RETRY_MS 10000
/* How long a look waits for a lock, and how long after that the next begins. */
#define LOOK_LOCK_TIMEOUT "500ms"
#define LOCKED_MS 5000
/* How often idle jobs are reminded that the log grew without them. */
#define LAG_MS 10000
#define LAG_SEGMENTS 4

static bool registered = false; /* as the coordinator of the database */
static bool told_launcher = false;	/* that the slot keeps what is needed */
static TimestampTz next_timer;	/* when something is due; set anew by each look */

static void look_if_unlocked(MemoryContext memory);
static void look(MemoryContext memory);
static void wait_for_news(uint64 wakes);
static long retain(const SeRetainNeed *need, XLogRecPtr hold);
static long write_deaths(void);
static bool is_needed(List *jobs);
static long remind_of_lag(TimestampTz now);
static void leave(int code, Datum arg);

void
stream_engine_coordinator_main(Datum arg)
{
	Oid			database = DatumGetObjectId(arg);
	MemoryContext memory;

	se_worker_connect(database);
	pgstat_report_appname("stream_engine coordinator");
	registered = se_database_slot_register_coordinator(MyDatabaseId);
	if (!registered)
		proc_exit(0);			/* a former launcher's is still there */
	before_shmem_exit(leave, (Datum) 0);
	se_database_slot_wake_launcher();	/* others wait for us to come up */
	memory = AllocSetContextCreate(TopMemoryContext, "stream_engine coordinator",
								   ALLOCSET_DEFAULT_SIZES);

	for (;;)
	{
		uint64		wakes = se_database_slot_coordinator_wakes(MyDatabaseId);

		ResetLatch(MyLatch);
		se_worker_between();
		SE_FAULT_POINT("coordinator-loop");
		next_timer = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), se_fallback_timeout);
		look_if_unlocked(memory);
		MemoryContextReset(memory);
		SE_FAULT_POINT("coordinator-looked");
		wait_for_news(wakes);
	}
}

/* Something is due in so many milliseconds. */
static void
due_in(long ms)
{
	next_timer = Min(next_timer, TimestampTzPlusMilliseconds(GetCurrentTimestamp(), ms));
}

/*
 * Until somebody wakes us, a worker that was started ended before it came up, or a timer
 * is due. A look waits for locks, which resets the latch, so the latch alone is not
 * believed. Idle jobs are reminded of the log, and ticks written, in between, without a look.
 */
static void
wait_for_news(uint64 wakes)
{
	static uint32 wait_event = 0;

	if (wait_event == 0)
		wait_event = se_compat_wait_event("StreamEngineCoordinator");
	for (;;)
	{
		TimestampTz now = GetCurrentTimestamp();
		long		timeout;
		long		tick = se_ticks_write();	/* also when there is news */

		if ((wakes != se_database_slot_coordinator_wakes(MyDatabaseId) && !SE_FAULT_WRONG("wrong-coordinator-deaf")) ||
			now >= next_timer || se_vacuum_has_ended() || se_workers_has_ended())
			return;
		timeout = Min(remind_of_lag(now), TimestampDifferenceMilliseconds(now, next_timer));
		if (tick >= 0)
			timeout = Min(timeout, tick);
		if (WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, timeout,
					  wait_event) & WL_LATCH_SET)
			return;
	}
}

/*
 * Somebody may hold a lock on our tables for long. Ticks must go on meanwhile: what is late is judged by them. So
 * the look is given up after a moment, and taken again.
 */
static void
look_if_unlocked(MemoryContext memory)
{
	PG_TRY();
	{
		look(memory);
	}
	PG_CATCH();
	{
		if (geterrcode() != ERRCODE_LOCK_NOT_AVAILABLE || !registered)
			PG_RE_THROW();
		se_worker_survive();
		due_in(LOCKED_MS);
	}
	PG_END_TRY();
}

/* One look at everything, and the next step of each job. */
static void
look(MemoryContext memory)
{
	XLogRecPtr	hold;
	SeRetainNeed need;
	List	   *jobs;
	bool		needed;
	long		again;

	again = write_deaths();
	if (again >= 0)
		due_in(again);
	hold = se_holds_oldest(MyDatabaseId);	/* before the snapshot, I3 */
	se_worker_begin_own();
	(void) set_config_option("lock_timeout", LOOK_LOCK_TIMEOUT, PGC_USERSET, PGC_S_OVERRIDE, GUC_ACTION_LOCAL, true, ERROR,
							 false);
	MemoryContextSwitchTo(memory);
	jobs = se_jobs_list();
	need = se_retain_need(jobs, hold);
	again = se_workers_step(jobs);
	if (again >= 0)
		due_in(again);
	again = se_vacuum_if_due();
	if (again >= 0)
		due_in(again);
	needed = is_needed(jobs);	/* after slots were freed: nobody wakes us for that */
	se_worker_commit_own();

	MemoryContextSwitchTo(memory);
	again = retain(&need, hold);
	if (again >= 0)
		due_in(again);
	if (needed || hold != InvalidXLogRecPtr)
		return;

	/*
	 * Leave. From here on whoever changes a job asks the launcher; a change made just before is seen by one more
	 * look.
	 */
	se_database_slot_unregister_coordinator(MyDatabaseId, true);
	registered = false;
	se_worker_begin_own();
	MemoryContextSwitchTo(memory);
	needed = is_needed(se_jobs_list());
	se_worker_commit_own();
	if (!needed && se_holds_oldest(MyDatabaseId) == InvalidXLogRecPtr)
		proc_exit(0);
	registered = se_database_slot_register_coordinator(MyDatabaseId);
	if (!registered)
		proc_exit(0);
	due_in(0);
}

/*
 * The replication slot. A failure here (no slot is free, a full disk) must not stop the
 * jobs of the database: it is reported, shown with the jobs, and tried again.
 */
static long
retain(const SeRetainNeed *need, XLogRecPtr hold)
{
	MemoryContext memory = CurrentMemoryContext;
	volatile long again = RETRY_MS;

	PG_TRY();
	{
		bool		kept;

		again = se_retain_apply(need, hold, &kept);
		if (kept)
			se_database_slot_set_retention(MyDatabaseId, 0, NULL);
		if (kept && !told_launcher)
			se_database_slot_wake_launcher();
		told_launcher |= kept;
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(memory);
		error = CopyErrorData();
		se_worker_survive();
		se_database_slot_set_retention(MyDatabaseId, error->sqlerrcode, error->message);
	}
	PG_END_TRY();
	return again;
}

/* Errors that workers could not write down themselves; likewise. */
static long
write_deaths(void)
{
	volatile long again = RETRY_MS;

	PG_TRY();
	{
		again = se_deaths_write();
	}
	PG_CATCH();
	{
		se_worker_survive();
	}
	PG_END_TRY();
	return again;
}

/* Is there anything to look after? */
static bool
is_needed(List *jobs)
{
	bool		in_use = false;

	LWLockAcquire(se_job_slot_lock(), LW_SHARED);
	for (int i = 0; i < se_max_jobs && !in_use; i++)
		in_use = se_job_slot_at(i)->in_use && se_job_slot_at(i)->database == MyDatabaseId;
	LWLockRelease(se_job_slot_lock());
	return in_use || jobs != NIL || se_retain_has_streams();
}

/*
 * A job whose streams get no rows is not woken by the rest of the log, yet its position
 * must follow, or it would hold WAL for ever. Returns ms until the next time.
 */
static long
remind_of_lag(TimestampTz now)
{
	static TimestampTz reminded = 0;
	XLogRecPtr	flushed;

	if (!TimestampDifferenceExceeds(reminded, now, LAG_MS))
		return LAG_MS - TimestampDifferenceMilliseconds(reminded, now);
	reminded = now;
	flushed = GetFlushRecPtr(NULL);
	for (int i = 0; i < se_max_jobs; i++)
	{
		SeJobSlot  *slot = se_job_slot_at(i);
		XLogRecPtr	read = pg_atomic_read_u64(&slot->read_lsn);

		if (slot->in_use && slot->database == MyDatabaseId && slot->worker_pid != 0 &&
			flushed > read && flushed - read > (uint64) LAG_SEGMENTS * wal_segment_size)
			se_job_slot_poke(slot);
	}
	return LAG_MS;
}

/* At exit: nobody shall wake us any more; the launcher replaces us unless we left in order. */
static void
leave(int code, Datum arg)
{
	if (!registered)
		return;
	se_database_slot_unregister_coordinator(MyDatabaseId, false);
	se_database_slot_wake_coordinator(MyDatabaseId);	/* nobody there: asks the launcher */
}
