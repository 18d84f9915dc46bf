/*
 * runtime/wait.c
 *		How a session waits for a job: until a place is reflected, or a state is reached.
 *
 * The wait is on the slot's condition variable, so it ends with statement_timeout, a
 * cancel, or a timeout of its own. It never waits for ever on something that cannot
 * happen: a job that is stopped, failed or dormant is an error, and so is a worker that
 * waits for a lock this session holds, which PostgreSQL's deadlock check cannot see.
 *
 * What a slot shows can be older than the catalog, for a moment after a start or a
 * stop: a state is believed only if the catalog's goal agrees.
 */
#include "postgres.h"

#include "access/xact.h"
#include "base/compat.h"
#include "base/settings.h"
#include "base/waits.h"
#include "meta/jobs.h"
#include "miscadmin.h"
#include "runtime/deadlock.h"
#include "runtime/runtime.h"
#include "storage/proc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

/* A job that fails once or twice is back before anybody has read of it. */
#define TELL_AFTER 3

/* One look at a job: a copy of what the wait decides by. */
typedef struct Look
{
	bool		exists;			/* in the catalog */
	char		goal;
	bool		ours;
	SeJobSlot  *slot;			/* NULL = not taken yet */
	uint64		generation;		/* of the slot: it may be another job's by now */
	SeJobState	state;
	int			worker_pid;
	int			failures;
	XLogRecPtr	reflected;
	char		error[SE_JOB_ERROR_LEN];
	const char *lacking;		/* without a slot: why, NULL = it comes at once */
} Look;

/* What is waited for: true if the wait is over, may raise. */
typedef bool (*Condition) (Oid job, const Look *look, void *arg);

static void wait_until(Oid job, const char *name, Condition condition, void *arg, int64 timeout_ms, const char *goal);
static void refuse_in_worker(const char *name);
static void wait_for_change(Oid job, SeJobSlot *slot, ConditionVariable *cv, TimestampTz end);
static void sleep_until(Oid job, SeJobSlot *slot, ConditionVariable *cv, TimestampTz end);
static Look look_at(Oid job, const char *name);
static void timed_out(const Look *look, const char *name, const char *goal) SE_NORETURN;
static bool is_reflected(Oid job, const Look *look, void *arg);
static void tell_of_trouble(Oid job, const Look *look);
static bool has_state(Oid job, const Look *look, void *arg);

typedef struct Wanted
{
	XLogRecPtr	lsn;
	bool		asked;
	int			told;			/* of this many failures; INT_MAX: that the job is waiting */
} Wanted;

void
se_wait_reflected(Oid job, const char *name, XLogRecPtr lsn, int64 timeout_ms, bool asked)
{
	Wanted		wanted = {lsn, asked, 0};

	wait_until(job, name, is_reflected, &wanted, timeout_ms,
			   psprintf("reflects %X/%X", LSN_FORMAT_ARGS(lsn)));
}

void
se_wait_state(Oid job, SeJobState state, int64 timeout_ms)
{
	wait_until(job, NULL, has_state, &state, timeout_ms,
			   psprintf("is %s", se_job_state_name(state)));
}

/*
 * A change is counted before it is broadcast, and a look waits for locks, which resets
 * the latch that a broadcast sets. So the wait begins only if nothing was counted since
 * before the look.
 */
static void
wait_until(Oid job, const char *name, Condition condition, void *arg, int64 timeout_ms, const char *goal)
{
	TimestampTz end = timeout_ms < 0 ? DT_NOEND :
	TimestampTzPlusMilliseconds(GetCurrentTimestamp(), timeout_ms);
	MemoryContext memory = AllocSetContextCreate(CurrentMemoryContext, "stream_engine wait",
												 ALLOCSET_SMALL_SIZES);
	MemoryContext old;
	Look		look;

	if (name == NULL)
		name = get_rel_name(job);	/* now, as it may be dropped meanwhile; here, as each turn resets memory */
	old = MemoryContextSwitchTo(memory);
	refuse_in_worker(name);
	look = look_at(job, name);
	for (;;)
	{
		SeJobSlot  *slot = look.slot;
		uint64		generation = look.generation;
		ConditionVariable *cv = slot ? &slot->changed : se_job_slot_taken();
		uint64		changes;

		MemoryContextReset(memory);
		ConditionVariablePrepareToSleep(cv);
		changes = slot ? pg_atomic_read_u64(&slot->changes) : se_job_slot_generation();
		look = look_at(job, name);
		if (condition(job, &look, arg))
			break;
		if (look.slot != slot || look.generation != generation)
			continue;			/* prepared for the wrong one */
		if (GetCurrentTimestamp() >= end)
			timed_out(&look, name, goal);
		if (changes == (slot ? pg_atomic_read_u64(&slot->changes) : se_job_slot_generation()))
			wait_for_change(job, slot, cv, end);
	}
	ConditionVariableCancelSleep();
	MemoryContextSwitchTo(old);
	MemoryContextDelete(memory);
}

/*
 * A trigger or function that a job runs would wait for its own job, or round a circle of
 * jobs, for ever.
 */
static void
refuse_in_worker(const char *name)
{
	bool		worker = false;

	LWLockAcquire(se_job_slot_lock(), LW_SHARED);
	for (int i = 0; i < se_max_jobs && !worker; i++)
	{
		SeJobSlot  *slot = se_job_slot_at(i);

		worker = slot->in_use && slot->worker_pid == MyProcPid;
	}
	LWLockRelease(se_job_slot_lock());
	if (worker)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("continuous view \"%s\" cannot be waited for by the job of a continuous view", name ? name : "?"),
				 errhint("Wait in a session of your own, not in a trigger or function that a view runs.")));
}

/* Until the job changes, the time is up, or a new look cannot harm. Others may see it. */
static void
wait_for_change(Oid job, SeJobSlot *slot, ConditionVariable *cv, TimestampTz end)
{
	if (slot != NULL)
		se_waits_begin(se_job_slot_index(slot));
	PG_TRY();
	{
		sleep_until(job, slot, cv, end);
	}
	PG_FINALLY();
	{
		se_waits_end();
	}
	PG_END_TRY();
}

/*
 * A deadlock is looked for at intervals; that takes no look at the job, so no wait leans
 * on it.
 */
static void
sleep_until(Oid job, SeJobSlot *slot, ConditionVariable *cv, TimestampTz end)
{
	static uint32 wait_event = 0;
	TimestampTz fallback = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), se_fallback_timeout);

	if (wait_event == 0)
		wait_event = se_compat_wait_event("StreamEngineWait");
	end = Min(end, fallback);
	for (;;)
	{
		long		sleep = TimestampDifferenceMilliseconds(GetCurrentTimestamp(), end);

		if (sleep <= 0 || !ConditionVariableTimedSleep(cv, Min(sleep, DeadlockTimeout), wait_event))
			return;
		if (slot != NULL)
			se_deadlock_check(job, slot);
		MemoryContextReset(CurrentMemoryContext);
	}
}

static void
timed_out(const Look *look, const char *name, const char *goal)
{
	ereport(ERROR,
			(errcode(ERRCODE_QUERY_CANCELED),
			 errmsg("timeout while waiting until continuous view \"%s\" %s",
					name ? name : "?", goal),
			 errdetail("It is %s and reflects %X/%X.",
					   look->slot || look->lacking ? se_job_state_name(look->state) : "not yet known to the server",
					   LSN_FORMAT_ARGS(look->reflected))));
}

static Look
look_at(Oid job, const char *name)
{
	Look		look = {0};
	SeJobMeta  *meta = se_jobs_get(job);

	look.exists = meta != NULL;
	if (meta != NULL)
	{
		look.goal = meta->goal;
		look.ours = se_jobs_identity_is_ours(meta);
	}
	LWLockAcquire(se_job_slot_lock(), LW_SHARED);
	look.slot = se_job_slot_find(MyDatabaseId, job);
	if (look.slot != NULL)
	{
		look.state = look.slot->state;
		look.generation = look.slot->generation;
		look.worker_pid = look.slot->worker_pid;
		look.failures = look.slot->failures;
		look.reflected = pg_atomic_read_u64(&look.slot->reflected_lsn);
		memcpy(look.error, look.slot->error, SE_JOB_ERROR_LEN);
	}
	LWLockRelease(se_job_slot_lock());
	if (look.slot == NULL && look.ours && look.goal == SE_GOAL_RUN)
	{
		look.lacking = se_waiting_why();
		look.state = look.lacking ? SE_JOB_WAITING : SE_JOB_STARTING;
	}
	if (!look.exists)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 name != NULL ? errmsg("continuous view \"%s\" does not exist any more", name) :
				 errmsg("the continuous view does not exist any more")));
	return look;
}

/* Raise an atomic to at least a value. */
static void
raise_to(pg_atomic_uint64 *place, uint64 value)
{
	uint64		old = pg_atomic_read_u64(place);

	while (old < value && !pg_atomic_compare_exchange_u64(place, &old, value))
		;
}

/* Is there a worker, or will the coordinator see to one? */
static bool
is_alive(const Look *look)
{
	if (look->slot == NULL)
		return false;
	switch (look->state)
	{
		case SE_JOB_STARTING:
		case SE_JOB_RUNNING:
		case SE_JOB_RESTARTING:
		case SE_JOB_WAITING:
			return true;
		case SE_JOB_STOPPING:
		case SE_JOB_STOPPED:
		case SE_JOB_FAILED:
		case SE_JOB_DORMANT:
			break;
	}
	return false;
}

/* Ask the worker to commit as soon as it has read up to a place, if the slot is still the job's. */
static void
ask(const Look *look, XLogRecPtr lsn)
{
	LWLockAcquire(se_job_slot_lock(), LW_SHARED);
	if (look->slot->in_use && look->slot->generation == look->generation &&
		pg_atomic_read_u64(&look->slot->wanted_lsn) < lsn)
	{
		raise_to(&look->slot->wanted_lsn, lsn);
		se_job_slot_poke(look->slot);
	}
	LWLockRelease(se_job_slot_lock());
}

static bool
is_reflected(Oid job, const Look *look, void *arg)
{
	Wanted	   *wanted = arg;

	if (look->slot != NULL && look->reflected >= wanted->lsn)
		return true;
	/* The worker writes the goal first, then says why in its slot. */
	if (look->ours && look->goal == SE_GOAL_FAILED && look->slot != NULL && look->worker_pid != 0)
		return false;
	if (!look->ours || look->goal != SE_GOAL_RUN)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("continuous view \"%s\" is %s", get_rel_name(job),
						!look->ours ? "dormant" : look->goal == SE_GOAL_FAILED ? "failed" : "stopped"),
				 look->ours && look->goal == SE_GOAL_FAILED && look->error[0] != '\0' ?
				 errdetail("Its last error was: %s", look->error) : 0,
				 !look->ours ? errhint("Use stream_engine.resume_restored(view, 'continue'), or 'restart', or drop it.") :
				 look->goal == SE_GOAL_FAILED ?
				 errhint("stream_engine.errors shows the error and its row. Remove the cause and use stream_engine.start(view), or leave the row out with stream_engine.start(view, skip => position).") :
				 errhint("Use SELECT stream_engine.start(view) to let it go on.")));
	if (!is_alive(look) && se_jobs_is_uncommitted(job))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("continuous view \"%s\" cannot be waited for in the transaction that starts it",
						get_rel_name(job)),
				 errdetail("It begins to run when the transaction is committed."),
				 errhint("Commit first.")));
	if (look->slot == NULL && look->lacking == NULL)
		return false;
	if (look->failures >= TELL_AFTER || look->state == SE_JOB_WAITING)
	{
		int			what = look->state == SE_JOB_WAITING ? INT_MAX : look->failures;

		if (what != wanted->told)
			tell_of_trouble(job, look);
		wanted->told = what;
	}
	if (wanted->asked && look->slot != NULL)
		ask(look, wanted->lsn);
	return false;
}

/* Whoever waits for a job that does not get on shall know why. */
static void
tell_of_trouble(Oid job, const Look *look)
{
	ereport(WARNING,
			(errcode(ERRCODE_WARNING),
			 look->failures > 0 ?
			 errmsg("continuous view \"%s\" is %s after %d failures",
					get_rel_name(job), se_job_state_name(look->state), look->failures) :
			 errmsg("continuous view \"%s\" is %s",
					get_rel_name(job), se_job_state_name(look->state)),
			 look->lacking ? errdetail("It waits because %s.", look->lacking) :
			 look->error[0] != '\0' ? errdetail("Its last error was: %s", look->error) : 0,
			 errhint("See stream_engine.errors; cancel this command to stop waiting.")));
}

/* Does the goal in the catalog leave this state standing? */
static bool
agrees(SeJobState state, const Look *look)
{
	switch (state)
	{
		case SE_JOB_STOPPED:
		case SE_JOB_STOPPING:
			return look->goal == SE_GOAL_STOP;
		case SE_JOB_FAILED:
			return look->goal == SE_GOAL_FAILED;
		case SE_JOB_DORMANT:
			return !look->ours;
		case SE_JOB_STARTING:
		case SE_JOB_RUNNING:
		case SE_JOB_RESTARTING:
		case SE_JOB_WAITING:
			break;
	}
	return look->goal == SE_GOAL_RUN;
}

static bool
has_state(Oid job, const Look *look, void *arg)
{
	SeJobState	state = *(SeJobState *) arg;

	return (look->slot != NULL || look->lacking != NULL) && look->state == state && agrees(state, look);
}
