/*
 * base/job_slot.c
 *		Job slots, and who wakes whom.
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

#define MAX_DATABASES 64

/* A coordinator, or just what was announced for its database. */
typedef struct DatabaseEntry
{
	Oid			database;		/* InvalidOid = free */
	int			coordinator;	/* proc number, -1 = none */
	bool		requested;		/* the launcher shall look whether it needs one */
	bool		left;			/* the last coordinator left in good order */
	bool		dismissed;		/* it was sent away, which counts as such */
	uint64		wakes;			/* of the readers */
	uint64		coordinator_wakes;
	XLogRecPtr	announced;
	bool		kept;			/* the coordinator's slot keeps all WAL its jobs need */
	int			trouble_sqlstate;	/* of its last try to look after the slot; 0 = none */
	char		trouble[SE_JOB_ERROR_LEN];
} DatabaseEntry;

typedef struct SeJobShared
{
	/* immutable after init */
	int			tranche;
	int			area_tranche;

	ConditionVariable taken;

	/* protects identity and life of slots */
	LWLock		lock;
	uint64		generation;

	/* protected by mutex */
	slock_t		mutex;
	int			launcher;		/* proc number, -1 = none */
	bool		starved;		/* it finds no worker for a coordinator */
	DatabaseEntry databases[MAX_DATABASES];

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
	SpinLockInit(&jobs->mutex);
	jobs->launcher = -1;
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

static void
wake(int proc_number)
{
	if (proc_number >= 0)
		SetLatch(&ProcGlobal->allProcs[proc_number].procLatch);
}

void
se_job_slot_poke(SeJobSlot *slot)
{
	pg_atomic_fetch_add_u64(&slot->pokes, 1);
	wake(slot->worker_proc);
}

/* Entry of a database, made if wanted. Caller holds the mutex; NULL when the table is full. */
static DatabaseEntry *
database_entry(Oid database, bool make)
{
	DatabaseEntry *free_entry = NULL;

	for (int i = 0; i < MAX_DATABASES; i++)
	{
		DatabaseEntry *entry = &MyJobs->databases[i];

		if (entry->database == database)
			return entry;
		if (entry->database == InvalidOid && free_entry == NULL)
			free_entry = entry;
	}
	if (!make || free_entry == NULL)
		return NULL;
	free_entry->database = database;
	free_entry->coordinator = -1;
	free_entry->requested = false;
	free_entry->left = false;
	free_entry->dismissed = false;
	free_entry->wakes = 0;
	free_entry->coordinator_wakes = 0;
	free_entry->announced = InvalidXLogRecPtr;
	free_entry->kept = false;
	free_entry->trouble_sqlstate = 0;
	free_entry->trouble[0] = '\0';
	return free_entry;
}

void
se_job_slot_wake_readers(Oid database, XLogRecPtr lsn)
{
	DatabaseEntry *entry;

	if (MyJobs == NULL)
		return;
	SpinLockAcquire(&MyJobs->mutex);
	entry = database_entry(database, true);
	if (entry != NULL)
	{
		entry->announced = Max(entry->announced, lsn);
		entry->wakes++;
	}
	SpinLockRelease(&MyJobs->mutex);

	/* A worker that registers right now looks at the log anyway: no lock needed. */
	for (int i = 0; i < se_max_jobs; i++)
	{
		SeJobSlot  *slot = &MyJobs->slots[i];

		if (slot->in_use && slot->database == database)
			wake(slot->worker_proc);
	}
}

uint64
se_job_slot_wake_count(Oid database)
{
	DatabaseEntry *entry;
	uint64		wakes;

	SpinLockAcquire(&MyJobs->mutex);
	entry = database_entry(database, false);
	wakes = entry ? entry->wakes : 0;
	SpinLockRelease(&MyJobs->mutex);
	return wakes;
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

bool
se_job_slot_has_coordinator(Oid database)
{
	DatabaseEntry *entry;
	bool		there;

	SpinLockAcquire(&MyJobs->mutex);
	entry = database_entry(database, false);
	there = entry != NULL && entry->coordinator >= 0;
	SpinLockRelease(&MyJobs->mutex);
	return there;
}

int
se_job_slot_coordinator_pid(Oid database)
{
	DatabaseEntry *entry;
	int			proc_number;

	SpinLockAcquire(&MyJobs->mutex);
	entry = database_entry(database, false);
	proc_number = entry ? entry->coordinator : -1;
	SpinLockRelease(&MyJobs->mutex);
	return proc_number >= 0 ? ProcGlobal->allProcs[proc_number].pid : 0;
}

bool
se_job_slot_coordinator_left(Oid database)
{
	DatabaseEntry *entry;
	bool		left;

	SpinLockAcquire(&MyJobs->mutex);
	entry = database_entry(database, false);
	left = entry != NULL && entry->left;
	SpinLockRelease(&MyJobs->mutex);
	return left;
}

XLogRecPtr
se_job_slot_announced_lsn(Oid database)
{
	DatabaseEntry *entry;
	XLogRecPtr	lsn;

	SpinLockAcquire(&MyJobs->mutex);
	entry = database_entry(database, false);
	lsn = entry ? entry->announced : InvalidXLogRecPtr;
	SpinLockRelease(&MyJobs->mutex);
	return lsn;
}

bool
se_job_slot_register_coordinator(Oid database)
{
	int			me = se_compat_my_proc_number();
	DatabaseEntry *entry;
	bool		ours = false;

	SpinLockAcquire(&MyJobs->mutex);
	entry = database_entry(database, true);
	if (entry != NULL && (entry->coordinator < 0 || entry->coordinator == me))
	{
		entry->coordinator = me;
		entry->left = false;
		entry->dismissed = false;
		ours = true;
	}
	SpinLockRelease(&MyJobs->mutex);
	if (entry == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
				 errmsg("stream_engine can be used in at most %d databases of a server", MAX_DATABASES)));
	return ours;
}

void
se_job_slot_unregister_coordinator(Oid database, bool left)
{
	DatabaseEntry *entry;

	SpinLockAcquire(&MyJobs->mutex);
	entry = database_entry(database, false);
	if (entry != NULL)
	{
		entry->coordinator = -1;
		entry->left = left || entry->dismissed;
	}
	SpinLockRelease(&MyJobs->mutex);
}

void
se_job_slot_dismiss(Oid database, bool coordinator)
{
	DatabaseEntry *entry;

	if (MyJobs == NULL)
		return;
	SpinLockAcquire(&MyJobs->mutex);
	entry = database_entry(database, false);
	if (entry != NULL && coordinator)
		entry->dismissed = true;
	SpinLockRelease(&MyJobs->mutex);
	LWLockAcquire(&MyJobs->lock, LW_EXCLUSIVE);
	for (int i = 0; i < se_max_jobs; i++)
		if (MyJobs->slots[i].in_use && MyJobs->slots[i].database == database && MyJobs->slots[i].worker_pid != 0)
			MyJobs->slots[i].dismissed = true;
	LWLockRelease(&MyJobs->lock);
}

bool
se_job_slot_is_dismissed(Oid database)
{
	DatabaseEntry *entry;
	bool		dismissed;

	SpinLockAcquire(&MyJobs->mutex);
	entry = database_entry(database, false);
	dismissed = entry != NULL && entry->dismissed;
	SpinLockRelease(&MyJobs->mutex);
	return dismissed;
}

void
se_job_slot_wake_coordinator(Oid database)
{
	DatabaseEntry *entry;
	int			proc_number = -1;

	if (MyJobs == NULL)
		return;
	SpinLockAcquire(&MyJobs->mutex);
	entry = database_entry(database, true);
	if (entry != NULL)
	{
		entry->coordinator_wakes++;
		proc_number = entry->coordinator;
	}
	if (entry != NULL && proc_number < 0)
	{
		entry->requested = true;
		proc_number = MyJobs->launcher;
	}
	SpinLockRelease(&MyJobs->mutex);
	wake(proc_number);
}

uint64
se_job_slot_coordinator_wakes(Oid database)
{
	DatabaseEntry *entry;
	uint64		wakes;

	SpinLockAcquire(&MyJobs->mutex);
	entry = database_entry(database, false);
	wakes = entry ? entry->coordinator_wakes : 0;
	SpinLockRelease(&MyJobs->mutex);
	return wakes;
}

Oid
se_job_slot_next_request(void)
{
	Oid			database = InvalidOid;

	SpinLockAcquire(&MyJobs->mutex);
	for (int i = 0; i < MAX_DATABASES && database == InvalidOid; i++)
	{
		DatabaseEntry *entry = &MyJobs->databases[i];

		if (entry->database != InvalidOid && entry->requested)
		{
			entry->requested = false;
			database = entry->database;
		}
	}
	SpinLockRelease(&MyJobs->mutex);
	return database;
}

bool
se_job_slot_has_request(void)
{
	bool		any = false;

	SpinLockAcquire(&MyJobs->mutex);
	for (int i = 0; i < MAX_DATABASES && !any; i++)
		any = MyJobs->databases[i].database != InvalidOid && MyJobs->databases[i].requested;
	SpinLockRelease(&MyJobs->mutex);
	return any;
}

void
se_job_slot_forget_database(Oid database)
{
	DatabaseEntry *entry;

	SpinLockAcquire(&MyJobs->mutex);
	entry = database_entry(database, false);
	if (entry != NULL && entry->coordinator < 0)
		entry->database = InvalidOid;
	SpinLockRelease(&MyJobs->mutex);
	LWLockAcquire(&MyJobs->lock, LW_EXCLUSIVE);
	for (int i = 0; i < se_max_jobs; i++)
		if (MyJobs->slots[i].in_use && MyJobs->slots[i].database == database &&
			MyJobs->slots[i].worker_pid == 0)
			se_job_slot_free(&MyJobs->slots[i]);
	LWLockRelease(&MyJobs->lock);
}

void
se_job_slot_forget_idle(Oid database)
{
	DatabaseEntry *entry;

	SpinLockAcquire(&MyJobs->mutex);
	entry = database_entry(database, false);
	if (entry != NULL && entry->coordinator < 0 && !entry->requested && !entry->dismissed)
		entry->database = InvalidOid;
	SpinLockRelease(&MyJobs->mutex);
}

void
se_job_slot_clip_error(char *error, const char *message)
{
	int			len = pg_mbcliplen(message, strlen(message), SE_JOB_ERROR_LEN - 1);

	memcpy(error, message, len);
	error[len] = '\0';
}

void
se_job_slot_set_retention(Oid database, int sqlstate, const char *trouble)
{
	DatabaseEntry *entry;
	char		clipped[SE_JOB_ERROR_LEN];

	se_job_slot_clip_error(clipped, trouble ? trouble : "");
	SpinLockAcquire(&MyJobs->mutex);
	entry = database_entry(database, false);
	if (entry != NULL)
	{
		entry->kept |= sqlstate == 0;
		entry->trouble_sqlstate = sqlstate;
		strlcpy(entry->trouble, clipped, SE_JOB_ERROR_LEN);
	}
	SpinLockRelease(&MyJobs->mutex);
}

bool
se_job_slot_get_retention(Oid database, int *sqlstate, char *trouble)
{
	DatabaseEntry *entry;
	bool		kept = false;

	*sqlstate = 0;
	trouble[0] = '\0';
	SpinLockAcquire(&MyJobs->mutex);
	entry = database_entry(database, false);
	if (entry != NULL)
	{
		kept = entry->kept;
		*sqlstate = entry->trouble_sqlstate;
		memcpy(trouble, entry->trouble, SE_JOB_ERROR_LEN);
	}
	SpinLockRelease(&MyJobs->mutex);
	return kept;
}

void
se_job_slot_set_starved(bool starved)
{
	bool		changed;

	SpinLockAcquire(&MyJobs->mutex);
	changed = MyJobs->starved != starved;
	MyJobs->starved = starved;
	SpinLockRelease(&MyJobs->mutex);
	if (changed)
		se_job_slot_none_free();
}

bool
se_job_slot_is_starved(void)
{
	return *(volatile bool *) &MyJobs->starved;
}

bool
se_job_slot_has_launcher(void)
{
	return *(volatile int *) &MyJobs->launcher >= 0;
}

void
se_job_slot_register_launcher(void)
{
	SpinLockAcquire(&MyJobs->mutex);
	MyJobs->launcher = se_compat_my_proc_number();
	SpinLockRelease(&MyJobs->mutex);
}

void
se_job_slot_wake_launcher(void)
{
	int			proc_number;

	if (MyJobs == NULL)
		return;
	SpinLockAcquire(&MyJobs->mutex);
	proc_number = MyJobs->launcher;
	SpinLockRelease(&MyJobs->mutex);
	wake(proc_number);
}
