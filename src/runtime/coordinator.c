/*
 * runtime/coordinator.c
 *		The coordinator of a database: starts, watches and ends the jobs' workers.
 *
 * It compares what the catalog asks for with what the job slots show, and takes the
 * next step of each job; then it looks after the replication slot. It is woken by
 * sessions whose commit changed a job, by workers that come and go, and by its own
 * timers (a back-off that is over, a stop that takes too long). It takes no lock on
 * anybody's relation and waits for nobody: what a worker does is seen in its slot.
 *
 * A coordinator can die and be replaced while workers run: they are known by their
 * slots. A start of the former one that comes late finds another attempt number in the
 * slot and ends (task.c), so a job never has two workers (I7).
 *
 * With neither jobs nor streams in the database the coordinator leaves; the next
 * session that makes one has the launcher start it again.
 */
#include "postgres.h"

#include <signal.h>

#include "access/xact.h"
#include "base/compat.h"
#include "base/database_slot.h"
#include "base/fault.h"
#include "base/holds.h"
#include "base/settings.h"
#include "log/retention.h"
#include "meta/jobs.h"
#include "meta/positions.h"
#include "miscadmin.h"
#include "nodes/nodes.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "runtime/deaths.h"
#include "runtime/restart.h"
#include "runtime/retain.h"
#include "runtime/runtime.h"
#include "runtime/task.h"
#include "runtime/ticks.h"
#include "runtime/vacuum.h"
#include "runtime/worker_env.h"
#include "storage/ipc.h"
#include "utils/memutils.h"

/* A worker that was asked to stop may finish its round and commit for so long. */
#define STOP_MS 5000
/* Between two tries to get a background worker when there is none free. */
#define NO_WORKER_MS 1000
/* Before what failed (the replication slot, an entry in job_errors) is tried again. */
#define RETRY_MS 10000
/* How often idle jobs are reminded that the log grew without them. */
#define LAG_MS 10000
#define LAG_SEGMENTS 4

/* What this process remembers of a job. */
typedef struct Started
{
	Oid			job;
	uint64		generation;
	BackgroundWorkerHandle *handle; /* of the newest start, NULL = none of ours */
	TimestampTz asked;			/* when it was asked to stop, 0 = not */
	char	   *options;		/* as they were at the last look */
} Started;

static List *started = NIL;		/* Started *, TopMemoryContext */
static bool registered = false; /* as the coordinator of the database */
static bool told_launcher = false;	/* that the slot keeps what is needed */
static TimestampTz next_timer;	/* when something is due; set anew by each look */

static void look(MemoryContext memory);
static void wait_for_news(uint64 wakes);
static long retain(const SeRetainNeed *need, XLogRecPtr hold);
static long write_deaths(void);
static bool is_needed(List *jobs);
static void step(const SeJobMeta *meta);
static void end_dropped(List *jobs);
static void ask_to_stop(SeJobSlot *slot, Started *mine);
static void start_if_time(SeJobSlot *slot, Started *mine, const SeJobMeta *meta);
static void start_worker(SeJobSlot *slot, Started *mine, const SeJobMeta *meta);
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
		look(memory);
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
		ListCell   *cell;
		pid_t		pid;

		if ((wakes != se_database_slot_coordinator_wakes(MyDatabaseId) && !SE_FAULT_WRONG("wrong-coordinator-deaf")) ||
			now >= next_timer || se_vacuum_has_ended())
			return;
		foreach(cell, started)
		{
			Started    *mine = lfirst(cell);

			if (mine->handle != NULL && GetBackgroundWorkerPid(mine->handle, &pid) == BGWH_STOPPED)
				return;
		}
		timeout = Min(remind_of_lag(now), TimestampDifferenceMilliseconds(now, next_timer));
		if (tick >= 0)
			timeout = Min(timeout, tick);
		if (WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, timeout,
					  wait_event) & WL_LATCH_SET)
			return;
	}
}

/* One look at everything, and the next step of each job. */
static void
look(MemoryContext memory)
{
	XLogRecPtr	hold;
	SeRetainNeed need;
	List	   *jobs;
	ListCell   *cell;
	bool		needed;
	long		again;

	again = write_deaths();
	if (again >= 0)
		due_in(again);
	hold = se_holds_oldest(MyDatabaseId);	/* before the snapshot, I3 */
	se_worker_begin_own();
	MemoryContextSwitchTo(memory);
	jobs = se_jobs_list();
	need = se_retain_need(jobs, hold);
	foreach(cell, jobs)
		step(lfirst(cell));
	end_dropped(jobs);
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

/* What this process remembers of a slot's job. */
static Started *
remembered(const SeJobSlot *slot)
{
	ListCell   *cell;
	Started    *mine;
	MemoryContext old;

	foreach(cell, started)
	{
		mine = lfirst(cell);
		if (mine->job == slot->job && mine->generation == slot->generation)
			return mine;
	}
	old = MemoryContextSwitchTo(TopMemoryContext);
	mine = palloc0(sizeof(Started));
	mine->job = slot->job;
	mine->generation = slot->generation;
	started = lappend(started, mine);
	MemoryContextSwitchTo(old);
	return mine;
}

/* The slot of a job, taken if it has none; NULL if all are in use. */
static SeJobSlot *
slot_of(const SeJobMeta *meta)
{
	SeJobSlot  *slot;

	LWLockAcquire(se_job_slot_lock(), LW_EXCLUSIVE);
	slot = se_job_slot_find(MyDatabaseId, meta->job);
	if (slot == NULL)
		slot = se_job_slot_take(MyDatabaseId, meta->job);
	LWLockRelease(se_job_slot_lock());
	return slot;
}

/* Set a state if it is not that already, so that waiters are woken for news only. */
static void
set_state(SeJobSlot *slot, SeJobState state)
{
	if (slot->state != state)
		se_job_slot_set_state(slot, state);
}

/* Is a start of ours on its way, or just ended? *pending says the former. */
static bool
start_has_ended(Started *mine, bool *pending)
{
	pid_t		pid;

	*pending = false;
	if (mine->handle == NULL)
		return false;
	if (GetBackgroundWorkerPid(mine->handle, &pid) != BGWH_STOPPED)
	{
		*pending = true;
		return false;
	}
	pfree(mine->handle);
	mine->handle = NULL;
	return true;
}

/*
 * Have the view's options changed since the last look? A worker that sleeps does not know.
 * Who has not looked yet does not know either.
 */
static bool
options_changed(Started *mine, const SeJobMeta *meta)
{
	char	   *options = nodeToString(meta->options);
	bool		changed = mine->options == NULL || strcmp(mine->options, options) != 0;

	if (mine->options != NULL && changed)
		pfree(mine->options);
	if (changed)
		mine->options = MemoryContextStrdup(TopMemoryContext, options);
	return changed;
}

/* A job without a slot waits (waiting.c says so to sessions) until another is dropped. */
static void
tell_no_room(const SeJobMeta *meta)
{
	static bool told = false;

	if (!told)
		ereport(WARNING,
				(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
				 errmsg("no room for the continuous view with OID %u", meta->job),
				 errdetail("All %d places of stream_engine.max_jobs are taken.", se_max_jobs),
				 errhint("Raise stream_engine.max_jobs and restart the server, or drop views that are not needed.")));
	if (!told)
		se_job_slot_none_free();
	told = true;
}

/* The next step of one job, from what is wanted and what its slot shows. */
static void
step(const SeJobMeta *meta)
{
	bool		ours = se_jobs_identity_is_ours(meta);
	bool		wanted = ours && meta->goal == SE_GOAL_RUN;
	SeJobSlot  *slot = slot_of(meta);
	Started    *mine;
	bool		pending;

	if (slot == NULL)
	{
		if (ours && meta->goal == SE_GOAL_RUN)
			tell_no_room(meta);
		due_in(NO_WORKER_MS);
		return;
	}
	mine = remembered(slot);

	if (slot->worker_pid != 0)
	{
		if (slot->state == SE_JOB_FAILED)
			return;				/* it has written its error and exits, which wakes us */
		if (!wanted || slot->state == SE_JOB_STOPPING)
			ask_to_stop(slot, mine);
		else if (options_changed(mine, meta))
		{
			pg_atomic_fetch_add_u64(&slot->option_changes, 1);
			se_job_slot_poke(slot);
		}
		return;
	}
	mine->asked = 0;
	(void) options_changed(mine, meta); /* the next worker starts with these */
	if (start_has_ended(mine, &pending) && slot->state == SE_JOB_STARTING &&
		slot->attached != slot->attempt)
		se_restart_mark(slot, false, false, ERRCODE_INTERNAL_ERROR,
						"the worker ended before it could begin; see the server log");
	if (pending)
	{
		/* It comes up, looks at the catalog, and leaves if it is not wanted. */
		return;
	}

	if (!ours)
		set_state(slot, SE_JOB_DORMANT);
	else if (meta->goal == SE_GOAL_STOP)
		set_state(slot, SE_JOB_STOPPED);
	else if (meta->goal == SE_GOAL_FAILED)
		set_state(slot, SE_JOB_FAILED);
	else
		start_if_time(slot, mine, meta);
}

static void
terminate(const SeJobSlot *slot)
{
	int			pid = *(volatile const int *) &slot->worker_pid;

	if (pid > 0)
		kill(pid, SIGTERM);
}

/* Slots whose job is no longer in the catalog: end the worker, then free the slot. */
static void
end_dropped(List *jobs)
{
	for (int i = 0; i < se_max_jobs; i++)
	{
		SeJobSlot  *slot = se_job_slot_at(i);
		bool		known = false;
		ListCell   *cell;

		if (!slot->in_use || slot->database != MyDatabaseId)
			continue;
		foreach(cell, jobs)
			known |= ((SeJobMeta *) lfirst(cell))->job == slot->job;
		if (known)
			continue;
		if (slot->worker_pid != 0)
		{
			/* It finds its table gone; unless it waits for something. Its exit wakes us. */
			ask_to_stop(slot, remembered(slot));
			continue;
		}
		started = list_delete_ptr(started, remembered(slot));
		LWLockAcquire(se_job_slot_lock(), LW_EXCLUSIVE);
		se_job_slot_free(slot);
		LWLockRelease(se_job_slot_lock());
	}
}

/* A worker that nobody wants: it commits and ends; if that takes long, without a commit. */
static void
ask_to_stop(SeJobSlot *slot, Started *mine)
{
	TimestampTz now = GetCurrentTimestamp();

	if (mine->asked == 0)
	{
		mine->asked = now;
		set_state(slot, SE_JOB_STOPPING);
		se_job_slot_poke(slot);
		due_in(STOP_MS);
	}
	else if (TimestampDifferenceExceeds(mine->asked, now, STOP_MS))
	{
		terminate(slot);
		mine->asked = now;
		due_in(STOP_MS);
	}
	else
		due_in(STOP_MS - TimestampDifferenceMilliseconds(mine->asked, now));
}

/* A job without a worker that shall run: now, or when its wait is over. */
static void
start_if_time(SeJobSlot *slot, Started *mine, const SeJobMeta *meta)
{
	TimestampTz now = GetCurrentTimestamp();

	if ((slot->state == SE_JOB_RESTARTING || slot->state == SE_JOB_WAITING) &&
		slot->restart_at > now)
	{
		due_in(TimestampDifferenceMilliseconds(now, slot->restart_at));
		return;
	}

	/* A person said start: the count begins anew. */
	if (slot->state == SE_JOB_FAILED || slot->state == SE_JOB_STOPPED)
		slot->failures = 0;
	start_worker(slot, mine, meta);
}

static void
start_worker(SeJobSlot *slot, Started *mine, const SeJobMeta *meta)
{
	BackgroundWorker worker = {0};
	SeTaskTicket ticket;
	MemoryContext old;
	bool		was_waiting = slot->state == SE_JOB_WAITING;
	uint64		attempt = slot->attempt;
	ListCell   *cell;

	foreach(cell, se_positions_list(meta->job))
		attempt = Max(attempt, (uint64) ((SePositionMeta *) lfirst(cell))->attempt);
	LWLockAcquire(se_job_slot_lock(), LW_EXCLUSIVE);
	slot->attempt = attempt + 1;
	slot->state = SE_JOB_STARTING;
	LWLockRelease(se_job_slot_lock());
	se_job_slot_changed(slot);

	memset(&ticket, 0, sizeof(ticket));
	ticket.job = slot->job;
	ticket.slot = se_job_slot_index(slot);
	ticket.generation = slot->generation;
	ticket.attempt = slot->attempt;
	worker.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION;
	worker.bgw_start_time = BgWorkerStart_RecoveryFinished;
	worker.bgw_restart_time = BGW_NEVER_RESTART;
	strlcpy(worker.bgw_library_name, "stream_engine", sizeof(worker.bgw_library_name));
	strlcpy(worker.bgw_function_name, "stream_engine_task_main", sizeof(worker.bgw_function_name));
	snprintf(worker.bgw_name, BGW_MAXLEN, "stream_engine task %u", slot->job);
	strlcpy(worker.bgw_type, "stream_engine task", BGW_MAXLEN);
	worker.bgw_main_arg = ObjectIdGetDatum(MyDatabaseId);
	worker.bgw_notify_pid = MyProcPid;
	StaticAssertStmt(sizeof(ticket) <= BGW_EXTRALEN, "a ticket fits");
	memcpy(worker.bgw_extra, &ticket, sizeof(ticket));

	old = MemoryContextSwitchTo(TopMemoryContext);
	if (!RegisterDynamicBackgroundWorker(&worker, &mine->handle))
		mine->handle = NULL;
	MemoryContextSwitchTo(old);
	if (mine->handle != NULL)
		return;

	LWLockAcquire(se_job_slot_lock(), LW_EXCLUSIVE);
	slot->state = SE_JOB_WAITING;
	if (slot->failures == 0)
	{
		/* For a person to see; the worker, when it comes up, clears it. */
		slot->error_sqlstate = ERRCODE_CONFIGURATION_LIMIT_EXCEEDED;
		strlcpy(slot->error, "no background worker is free: raise max_worker_processes", SE_JOB_ERROR_LEN);
	}
	slot->restart_at = GetCurrentTimestamp() + 1000 * NO_WORKER_MS;
	LWLockRelease(se_job_slot_lock());
	se_job_slot_changed(slot);
	due_in(NO_WORKER_MS);
	if (!was_waiting)
		ereport(WARNING,
				(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
				 errmsg("no background worker is free for the continuous view with OID %u", meta->job),
				 errhint("Raise max_worker_processes; the view starts by itself when a worker is free.")));
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
