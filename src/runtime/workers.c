/*
 * runtime/workers.c
 *		The next step of each job: start its worker, watch it, end it.
 *
 * From what the catalog asks for and what the job's slot shows. What a process remembers beside
 * that, its own starts and when it asked a worker to stop, can be lost: whoever replaces it asks again,
 * and a start of its own has a higher attempt number.
 *
 * Runs in: coordinator.
 */
#include "postgres.h"

#include <signal.h>

#include "base/settings.h"
#include "meta/positions.h"
#include "miscadmin.h"
#include "nodes/nodes.h"
#include "postmaster/bgworker.h"
#include "runtime/restart.h"
#include "runtime/task.h"
#include "runtime/workers.h"
#include "utils/memutils.h"

/* A worker that was asked to stop may finish its round and commit for so long. */
#define STOP_MS 5000
/* Between two tries to get a background worker when there is none free. */
#define NO_WORKER_MS 1000

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
static long due = -1;			/* ms until the next step of some job, -1 = none of its own */

static void step(const SeJobMeta *meta);
static void end_dropped(List *jobs);
static void ask_to_stop(SeJobSlot *slot, Started *mine);
static void start_if_time(SeJobSlot *slot, Started *mine, const SeJobMeta *meta);
static void start_worker(SeJobSlot *slot, Started *mine, const SeJobMeta *meta);

long
se_workers_step(List *jobs)
{
	ListCell   *cell;

	due = -1;
	foreach(cell, jobs)
		step(lfirst(cell));
	end_dropped(jobs);
	return due;
}

bool
se_workers_has_ended(void)
{
	ListCell   *cell;
	pid_t		pid;

	foreach(cell, started)
	{
		Started    *mine = lfirst(cell);

		if (mine->handle != NULL && GetBackgroundWorkerPid(mine->handle, &pid) == BGWH_STOPPED)
			return true;
	}
	return false;
}

/* There is something to do in so many milliseconds. */
static void
due_in(long ms)
{
	due = due < 0 ? ms : Min(due, ms);
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
