/*
 * runtime/task.c
 *		The task worker: attach to the job's slot, then turn rounds and commits until told to end.
 *
 * One turn: a round; a commit if one is due; then, if the sources had nothing, a wait
 * on the latch. Who wakes it: sessions whose commit wrote to the log, a REFRESH that
 * asks for a commit, the coordinator that asks it to stop. Nothing is decided by how
 * long a wait lasts, except that a dirty unit commits when its interval is over.
 *
 * How it ends: asked to stop or made of something that changed: after a commit, in
 * good order; SIGTERM: at once, what was not committed is read again by the successor;
 * ERROR: runtime/restart.c.
 */
#include "postgres.h"

#include "base/fault.h"
#include "base/settings.h"
#include "base/compat.h"
#include "base/database_slot.h"
#include "mb/pg_wchar.h"
#include "meta/jobs.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "runtime/restart.h"
#include "runtime/runtime.h"
#include "runtime/side.h"
#include "runtime/task.h"
#include "runtime/worker_env.h"
#include "storage/ipc.h"
#include "storage/proc.h"
#include "utils/guc.h"
#include "utils/memutils.h"

static SeJobSlot *MySlot = NULL;
static bool MyEndIsOrderly = false;

/* How we end, if nothing better is known. Longer than what is kept of it: that is clipped between characters. */
static int	fatal_sqlstate = ERRCODE_ADMIN_SHUTDOWN;
static char fatal_message[SE_JOB_ERROR_LEN + MAX_MULTIBYTE_CHAR_LEN] = "the worker was terminated";
static emit_log_hook_type next_log_hook = NULL;

static SeTask *attach(Oid database, const SeTaskTicket *ticket);
static void detach(int code, Datum arg);
static bool was_dismissed(void);
static void remember_fatal(ErrorData *error);
static bool come_up(SeTask *task);
static SeRoundOutcome turn(SeTask *task, bool stopping);
static SeRoundOutcome change_options(SeTask *task);
static bool try_turn(SeTask *task, bool stopping, SeRoundOutcome *outcome);
static void run(SeTask *task);
static uint64 count_wakes(void);
static bool commit_is_due(SeTask *task, SeRoundOutcome outcome);
static void wait_for_work(SeTask *task);
static void leave(SeJobState state);
static void add_context(void *arg);
static void name_ourselves(const SeTask *task);

void
stream_engine_task_main(Datum arg)
{
	Oid			database = DatumGetObjectId(arg);
	SeTaskTicket ticket;
	SeTask	   *task;
	ErrorContextCallback context;

	memcpy(&ticket, MyBgworkerEntry->bgw_extra, sizeof(ticket));
	task = attach(database, &ticket);
	if (task == NULL)
		proc_exit(0);
	se_worker_connect(database);

	context.callback = add_context;
	context.arg = task;
	context.previous = error_context_stack;
	error_context_stack = &context;
	PG_TRY();
	{
		SE_FAULT_POINT("worker-start");
		run(task);
	}
	PG_CATCH();
	{
		se_restart_failed(task);
		MyEndIsOrderly = true;
	}
	PG_END_TRY();
	error_context_stack = context.previous;
	if (task->chain != NULL)
		se_chain_close(task->chain);
	proc_exit(0);
}

/*
 * Become the job's worker, if the slot still waits for exactly this start: after a
 * coordinator was replaced, an older start may come late.
 */
static SeTask *
attach(Oid database, const SeTaskTicket *ticket)
{
	SeJobSlot  *slot = se_job_slot_at(ticket->slot);
	SeTask	   *task;
	bool		ours;

	LWLockAcquire(se_job_slot_lock(), LW_EXCLUSIVE);
	ours = slot->in_use && slot->generation == ticket->generation &&
		slot->database == database && slot->job == ticket->job &&
		slot->attempt == ticket->attempt && slot->worker_pid == 0 &&
		slot->state == SE_JOB_STARTING;
	if (ours)
	{
		slot->worker_pid = MyProcPid;
		slot->worker_proc = se_compat_my_proc_number();
		slot->attached = ticket->attempt;
		slot->dismissed = false;
		if (slot->failures == 0 && !slot->unwritten)
		{
			slot->error_sqlstate = 0;	/* it has waited for us */
			slot->error[0] = '\0';
		}
	}
	LWLockRelease(se_job_slot_lock());
	if (!ours)
		return NULL;
	se_job_slot_changed(slot);
	MySlot = slot;
	next_log_hook = emit_log_hook;
	emit_log_hook = remember_fatal;
	on_shmem_exit(detach, ObjectIdGetDatum(database));

	task = MemoryContextAllocZero(TopMemoryContext, sizeof(SeTask));
	task->memory = AllocSetContextCreate(TopMemoryContext, "stream_engine task",
										 ALLOCSET_DEFAULT_SIZES);
	task->commit_memory = AllocSetContextCreate(task->memory, "stream_engine commit",
												ALLOCSET_DEFAULT_SIZES);
	task->job = ticket->job;
	task->attempt = (int64) ticket->attempt;
	task->slot = slot;
	task->began = GetCurrentTimestamp();
	task->env.job = task->job;
	task->env.memory = AllocSetContextCreate(task->memory, "stream_engine chain",
											 ALLOCSET_DEFAULT_SIZES);
	task->env.slot = slot;
	return task;
}

/*
 * At exit, after the transaction is rolled back and locks are gone: only now may a
 * successor start (I7). An end that nobody announced counts as a failure.
 */
static void
detach(int code, Datum arg)
{
	bool		dismissed = was_dismissed();

	if (!MyEndIsOrderly && !dismissed)
		se_restart_mark(MySlot, false, false, fatal_sqlstate, fatal_message);
	LWLockAcquire(se_job_slot_lock(), LW_EXCLUSIVE);
	if (dismissed && MySlot->state != SE_JOB_STOPPING)
		MySlot->state = SE_JOB_STARTING;
	MySlot->worker_pid = 0;
	MySlot->worker_proc = -1;
	LWLockRelease(se_job_slot_lock());
	se_job_slot_changed(MySlot);
	se_database_slot_wake_coordinator(DatumGetObjectId(arg));
}

/*
 * Sent away for a command that wanted the database for itself: ended, or, still on our
 * way in, told that the database is gone or has another name. The successor is started
 * at once, and waits until the command is done.
 */
static bool
was_dismissed(void)
{
	bool		dismissed;

	LWLockAcquire(se_job_slot_lock(), LW_SHARED);
	dismissed = MySlot->dismissed;
	LWLockRelease(se_job_slot_lock());
	return dismissed && !MyEndIsOrderly &&
		(fatal_sqlstate == ERRCODE_ADMIN_SHUTDOWN || fatal_sqlstate == ERRCODE_UNDEFINED_DATABASE);
}

/* Errors end in PG_CATCH; what a FATAL said is known only while it is reported. */
static void
remember_fatal(ErrorData *error)
{
	if (error->elevel == FATAL)
	{
		fatal_sqlstate = error->sqlerrcode;
		strlcpy(fatal_message, error->message ? error->message : "", sizeof(fatal_message));
	}
	if (next_log_hook)
		next_log_hook(error);
}

/* Restore, and say that we run. False if the catalog no longer asks for us. */
static bool
come_up(SeTask *task)
{
	if (!se_task_setup(task))
		return false;
	name_ourselves(task);
	se_task_watch(task);
	se_commit_begin(task);

	/* It may say STOPPING already. */
	LWLockAcquire(se_job_slot_lock(), LW_EXCLUSIVE);
	if (MySlot->state == SE_JOB_STARTING)
		MySlot->state = SE_JOB_RUNNING;
	LWLockRelease(se_job_slot_lock());
	se_job_slot_changed(MySlot);
	return true;
}

/*
 * One turn: a round, and a commit if one is due. A worker that is to stop does no round
 * any more; what a full output cut short is in its state, and the successor goes on.
 */
static SeRoundOutcome
turn(SeTask *task, bool stopping)
{
	SeRoundOutcome outcome;

	if (stopping)
		return task->dirty && !se_commit_run(task) ? SE_ROUND_GONE : SE_ROUND_IDLE;
	outcome = se_round_run(task);
	switch (outcome)
	{
		case SE_ROUND_GONE:
			break;
		case SE_ROUND_OUTDATED:
			/* As above. */
			if (task->dirty && !se_commit_run(task))
				return SE_ROUND_GONE;
			break;
		case SE_ROUND_OPTIONS:
			return change_options(task);
		default:
			if (commit_is_due(task, outcome))
				return se_commit_run(task) ? outcome : SE_ROUND_GONE;
			if (!task->dirty && !task->resuming)
				se_commit_reflect(task);
			break;
	}
	return outcome;
}

/* All rows before the mark were pushed: commit them, and when nothing is left of them, the change. */
static SeRoundOutcome
change_options(SeTask *task)
{
	bool		clean = !task->dirty && !task->resuming;

	SE_FAULT_POINT("options-met");
	if (clean)
	{
		SeRoundOutcome outcome;

		se_round_take_options(task);
		outcome = se_convert_run(task);
		if (outcome != SE_ROUND_MORE)
			return outcome;
	}
	if (!se_commit_run(task))
		return SE_ROUND_GONE;
	return clean ? SE_ROUND_OUTDATED : SE_ROUND_MORE;
}

/*
 * One turn. False if a row of the stream has raised an error after something of it was
 * stored, and the view has an on_error: then nothing is left of the chain, and the job is
 * to be restored; the row will be left out.
 */
static bool
try_turn(SeTask *task, bool stopping, SeRoundOutcome *outcome)
{
	volatile bool done = true;
	SeRoundOutcome result = SE_ROUND_MORE;

	if (task->side == NULL)
	{
		*outcome = turn(task, stopping);
		return true;
	}
	PG_TRY();
	{
		result = turn(task, stopping);
	}
	PG_CATCH();
	{
		SePlace		place;
		ErrorData  *error;

		if (!se_side_row_at_fault(task, geterrcode(), &place))
			PG_RE_THROW();
		HOLD_INTERRUPTS();
		MemoryContextSwitchTo(TopMemoryContext);
		error = CopyErrorData();
		FlushErrorState();
		AbortOutOfAnyTransaction();
		RESUME_INTERRUPTS();
		se_side_leave_out(task, place, error);
		FreeErrorData(error);
		se_task_unset(task);
		done = false;
	}
	PG_END_TRY();
	*outcome = result;
	return done;
}

static void
run(SeTask *task)
{
	task->busy_since = GetCurrentTimestamp();
	if (!come_up(task))
	{
		leave(SE_JOB_STOPPING);
		return;
	}
	for (;;)
	{
		uint64		wakes = count_wakes();
		SeRoundOutcome outcome;
		bool		stopping;

		/* Cleared before the round looks: whatever is set during it counts after it. */
		ResetLatch(MyLatch);
		se_worker_between();
		stopping = *(volatile SeJobState *) &MySlot->state == SE_JOB_STOPPING;
		if (!try_turn(task, stopping, &outcome))
		{
			if (come_up(task))
				continue;
			outcome = SE_ROUND_GONE;
		}

		if (outcome == SE_ROUND_OUTDATED)
		{
			leave(SE_JOB_STARTING);
			return;
		}
		if (outcome == SE_ROUND_GONE || stopping)
		{
			leave(SE_JOB_STOPPING);
			return;
		}

		/*
		 * A commit that filled the output left something to do, though the round had nothing more; or a part of its
		 * work.
		 */
		if (outcome == SE_ROUND_IDLE && !task->resuming && wakes == count_wakes() &&
			!(task->dirty && commit_is_due(task, outcome)))
		{
			TimestampTz idle_since = GetCurrentTimestamp();

			task->busy_us += idle_since - task->busy_since;
			task->busy_since = 0;
			wait_for_work(task);
			task->busy_since = GetCurrentTimestamp();
			task->idle_us += task->busy_since - idle_since;
		}
	}
}

/* Raised whenever somebody wants us: whatever resets the latch, we do not oversleep. */
static uint64
count_wakes(void)
{
	return se_database_slot_wake_count(MyDatabaseId) + pg_atomic_read_u64(&MySlot->pokes);
}

/* Does the time, a full output, or somebody who waits ask for a commit? */
static bool
commit_is_due(SeTask *task, SeRoundOutcome outcome)
{
	if (outcome == SE_ROUND_FULL)
		return true;
	if (!task->dirty)
		return outcome == SE_ROUND_IDLE && se_commit_lags(task);
	if (GetCurrentTimestamp() >= task->next_commit)
		return true;

	/* A REFRESH: as soon as what it asks for was read. */
	if (pg_atomic_read_u64(&MySlot->wanted_lsn) > pg_atomic_read_u64(&MySlot->reflected_lsn))
		return outcome == SE_ROUND_IDLE ||
			se_commit_read_lsn(task) >= pg_atomic_read_u64(&MySlot->wanted_lsn);
	return false;
}

/* Sleep until somebody wakes us or the next commit is due. */
static void
wait_for_work(SeTask *task)
{
	static uint32 wait_event = 0;
	long		timeout = se_fallback_timeout;

	if (wait_event == 0)
		wait_event = se_compat_wait_event("StreamEngineTask");
	if (task->dirty)
		timeout = Min(timeout, TimestampDifferenceMilliseconds(GetCurrentTimestamp(),
															   task->next_commit));
	else
	{
		long		settled = se_commit_idle(task);

		if (settled >= 0)
			timeout = Min(timeout, settled);
		se_commit_publish(task);
		pgstat_report_stat(true);
		se_commit_tell_bytes(task);
	}
	pgstat_report_activity(STATE_IDLE, NULL);
	(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, timeout,
					 wait_event);
	pgstat_report_activity(STATE_RUNNING, NULL);
}

/* End in good order, telling the coordinator what to do next by the state. */
static void
leave(SeJobState state)
{
	se_job_slot_set_state(MySlot, state);
	MyEndIsOrderly = true;
}

/* Which view, and which row of it, an error belongs to. */
static void
add_context(void *arg)
{
	SeTask	   *task = arg;
	const SeBatch *batch = task->env.current_batch;

	if (task->name == NULL)
		errcontext("continuous view with OID %u", task->job);
	else if (batch != NULL && task->env.current_row >= 0 && task->env.current_row < batch->nrows &&
			 batch->places[task->env.current_row].major != 0)
		errcontext("continuous view %s, row at %s", task->name,
				   se_place_describe(batch->places[task->env.current_row]));
	else
		errcontext("continuous view %s", task->name);
}

/* What pg_stat_activity shows. */
static void
name_ourselves(const SeTask *task)
{
	char	   *activity = psprintf("stream_engine task %s", task->name);

	SetConfigOption("application_name", activity, PGC_USERSET, PGC_S_OVERRIDE);
	pgstat_report_activity(STATE_RUNNING, activity);
	pfree(activity);
}
