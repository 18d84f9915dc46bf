/*
 * base/job_slot.c
 *		Job slots: what sessions, coordinators and workers share about a running job.
 *
 * Latches are set through a process's index in ProcGlobal: a late SetLatch on a
 * recycled index only wakes somebody for nothing.
 */
#include "postgres.h"

#include "base/compat.h"
#include "base/job_slot.h"
#include "base/settings.h"
#include "base/shmem.h"
#include "mb/pg_wchar.h"
#include "storage/proc.h"
#include "storage/spin.h"

typedef struct SeJobShared
{
	/* immutable after init */
	int			tranche;
	int			area_tranche;

	ConditionVariable taken;

	/* protects identity and life of slots */
	LWLock		lock;
	uint64		generation;

	SeJobSlot	slots[FLEXIBLE_ARRAY_MEMBER];
} SeJobShared;

static SeJobShared *MyJobs = NULL;

static void
init_slots(void *memory)
{
	SeJobShared *jobs = memory;

	jobs->tranche = se_compat_new_tranche("stream_engine jobs");
	jobs->area_tranche = se_compat_new_tranche("stream_engine state");
	LWLockInitialize(&jobs->lock, jobs->tranche);
	ConditionVariableInit(&jobs->taken);
	for (int i = 0; i < se_max_jobs; i++)
	{
		SeJobSlot  *slot = &jobs->slots[i];

		slot->worker_proc = -1;
		pg_atomic_init_u64(&slot->wanted_lsn, 0);
		pg_atomic_init_u64(&slot->pokes, 0);
		pg_atomic_init_u64(&slot->option_changes, 0);
		pg_atomic_init_u64(&slot->read_lsn, 0);
		pg_atomic_init_u64(&slot->reflected_lsn, 0);
		pg_atomic_init_u64(&slot->restart_lsn, 0);
		pg_atomic_init_u64(&slot->watermark, (uint64) SE_TIME_MIN);
		pg_atomic_init_u64(&slot->tick_interval, 0);
		pg_atomic_init_u64(&slot->stream, InvalidOid);
		pg_atomic_init_u64(&slot->idle_timeout, 0);
		pg_atomic_init_u64(&slot->active, (uint64) SE_TIME_MIN);
		pg_atomic_init_u64(&slot->idle, 0);
		for (int c = 0; c < SE_JOB_COUNTERS; c++)
			pg_atomic_init_u64(&slot->counters[c], 0);
		for (int o = 0; o < SE_JOB_MAX_OPERATORS; o++)
		{
			pg_atomic_init_u64(&slot->operators[o].kind, 0);
			pg_atomic_init_u64(&slot->operators[o].rows_in, 0);
			pg_atomic_init_u64(&slot->operators[o].rows_out, 0);
			pg_atomic_init_u64(&slot->operators[o].watermark, (uint64) SE_TIME_MIN);
			pg_atomic_init_u64(&slot->operators[o].state_bytes, 0);
			pg_atomic_init_u64(&slot->operators[o].state_entries, 0);
		}
		ConditionVariableInit(&slot->changed);
		pg_atomic_init_u64(&slot->changes, 0);
	}
}

void
se_job_slot_init(void)
{
	se_shmem_register("stream_engine jobs",
					  offsetof(SeJobShared, slots) + sizeof(SeJobSlot) * se_max_jobs,
					  init_slots, (void **) &MyJobs);
}

LWLock *
se_job_slot_lock(void)
{
	se_shmem_require();
	return &MyJobs->lock;
}

SeJobSlot *
se_job_slot_at(int i)
{
	Assert(i >= 0 && i < se_max_jobs);
	return &MyJobs->slots[i];
}

int
se_job_slot_index(const SeJobSlot *slot)
{
	return slot - MyJobs->slots;
}

SeJobSlot *
se_job_slot_find(Oid database, Oid job)
{
	Assert(LWLockHeldByMe(&MyJobs->lock));
	for (int i = 0; i < se_max_jobs; i++)
	{
		SeJobSlot  *slot = &MyJobs->slots[i];

		if (slot->in_use && slot->database == database && slot->job == job)
			return slot;
	}
	return NULL;
}

SeJobSlot *
se_job_slot_take(Oid database, Oid job)
{
	Assert(LWLockHeldByMeInMode(&MyJobs->lock, LW_EXCLUSIVE));
	for (int i = 0; i < se_max_jobs; i++)
	{
		SeJobSlot  *slot = &MyJobs->slots[i];

		if (slot->in_use)
			continue;
		slot->in_use = true;
		slot->generation = ++MyJobs->generation;
		slot->database = database;
		slot->job = job;
		slot->state = SE_JOB_STARTING;
		slot->worker_pid = 0;
		slot->worker_proc = -1;
		slot->attempt = 0;
		slot->attached = 0;
		slot->failures = 0;
		slot->restart_at = 0;
		slot->error_sqlstate = 0;
		slot->error[0] = '\0';
		slot->unwritten = false;
		slot->dismissed = false;
		pg_atomic_write_u64(&slot->wanted_lsn, 0);
		pg_atomic_write_u64(&slot->read_lsn, 0);
		pg_atomic_write_u64(&slot->reflected_lsn, 0);
		pg_atomic_write_u64(&slot->restart_lsn, 0);
		pg_atomic_write_u64(&slot->watermark, (uint64) SE_TIME_MIN);
		pg_atomic_write_u64(&slot->tick_interval, 0);
		pg_atomic_write_u64(&slot->stream, InvalidOid);
		pg_atomic_write_u64(&slot->idle_timeout, 0);
		pg_atomic_write_u64(&slot->active, (uint64) SE_TIME_MIN);
		pg_atomic_write_u64(&slot->idle, 0);
		for (int c = 0; c < SE_JOB_COUNTERS; c++)
			pg_atomic_write_u64(&slot->counters[c], 0);
		for (int o = 0; o < SE_JOB_MAX_OPERATORS; o++)
		{
			pg_atomic_write_u64(&slot->operators[o].kind, 0);
			pg_atomic_write_u64(&slot->operators[o].rows_in, 0);
			pg_atomic_write_u64(&slot->operators[o].rows_out, 0);
			pg_atomic_write_u64(&slot->operators[o].watermark, (uint64) SE_TIME_MIN);
			pg_atomic_write_u64(&slot->operators[o].state_bytes, 0);
			pg_atomic_write_u64(&slot->operators[o].state_entries, 0);
		}
		ConditionVariableBroadcast(&MyJobs->taken);
		return slot;
	}
	return NULL;
}

void
se_job_slot_free(SeJobSlot *slot)
{
	Assert(LWLockHeldByMeInMode(&MyJobs->lock, LW_EXCLUSIVE));
	slot->in_use = false;
	slot->generation = ++MyJobs->generation;
	slot->database = InvalidOid;
	slot->job = InvalidOid;
	se_job_slot_changed(slot);
}

void
se_job_slot_none_free(void)
{
	if (MyJobs == NULL)
		return;
	LWLockAcquire(&MyJobs->lock, LW_EXCLUSIVE);
	MyJobs->generation++;
	LWLockRelease(&MyJobs->lock);
	ConditionVariableBroadcast(&MyJobs->taken);
}

void
se_job_slot_changed(SeJobSlot *slot)
{
	pg_atomic_fetch_add_u64(&slot->changes, 1);
	ConditionVariableBroadcast(&slot->changed);
}

void
se_job_slot_set_state(SeJobSlot *slot, SeJobState state)
{
	LWLockAcquire(&MyJobs->lock, LW_EXCLUSIVE);
	slot->state = state;
	LWLockRelease(&MyJobs->lock);
	se_job_slot_changed(slot);
}

const char *
se_job_state_name(SeJobState state)
{
	switch (state)
	{
		case SE_JOB_STARTING:
			return "starting";
		case SE_JOB_RUNNING:
			return "running";
		case SE_JOB_STOPPING:
			return "stopping";
		case SE_JOB_STOPPED:
			return "stopped";
		case SE_JOB_RESTARTING:
			return "restarting";
		case SE_JOB_FAILED:
			return "failed";
		case SE_JOB_WAITING:
			return "waiting";
		case SE_JOB_DORMANT:
			return "dormant";
	}
	return "unknown";
}

/* The process with this number, -1 = none. */
void
se_job_slot_wake_process(int proc_number)
{
	if (proc_number >= 0)
		SetLatch(&ProcGlobal->allProcs[proc_number].procLatch);
}

void
se_job_slot_poke(SeJobSlot *slot)
{
	pg_atomic_fetch_add_u64(&slot->pokes, 1);
	se_job_slot_wake_process(slot->worker_proc);
}

ConditionVariable *
se_job_slot_taken(void)
{
	se_shmem_require();
	return &MyJobs->taken;
}

uint64
se_job_slot_generation(void)
{
	uint64		generation;

	LWLockAcquire(&MyJobs->lock, LW_SHARED);
	generation = MyJobs->generation;
	LWLockRelease(&MyJobs->lock);
	return generation;
}

int
se_job_slot_area_tranche(void)
{
	return MyJobs->area_tranche;
}

void
se_job_slot_clip_error(char *error, const char *message)
{
	int			len = pg_mbcliplen(message, strlen(message), SE_JOB_ERROR_LEN - 1);

	memcpy(error, message, len);
	error[len] = '\0';
}

/* A worker that registers right now looks at the log anyway: no lock needed. */
void
se_job_slot_wake_workers(Oid database)
{
	for (int i = 0; i < se_max_jobs; i++)
	{
		SeJobSlot  *slot = &MyJobs->slots[i];

		if (slot->in_use && slot->database == database)
			se_job_slot_wake_process(slot->worker_proc);
	}
}

void
se_job_slot_dismiss_workers(Oid database)
{
	LWLockAcquire(&MyJobs->lock, LW_EXCLUSIVE);
	for (int i = 0; i < se_max_jobs; i++)
		if (MyJobs->slots[i].in_use && MyJobs->slots[i].database == database && MyJobs->slots[i].worker_pid != 0)
			MyJobs->slots[i].dismissed = true;
	LWLockRelease(&MyJobs->lock);
}

void
se_job_slot_free_database(Oid database)
{
	LWLockAcquire(&MyJobs->lock, LW_EXCLUSIVE);
	for (int i = 0; i < se_max_jobs; i++)
		if (MyJobs->slots[i].in_use && MyJobs->slots[i].database == database &&
			MyJobs->slots[i].worker_pid == 0)
			se_job_slot_free(&MyJobs->slots[i]);
	LWLockRelease(&MyJobs->lock);
}
