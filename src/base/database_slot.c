/*
 * base/database_slot.c
 *		What is shared about a database: its coordinator, what was announced to its readers; and the launcher.
 *
 * Latches are set through a process's index in ProcGlobal: a late SetLatch on a
 * recycled index only wakes somebody for nothing.
 */
#include "postgres.h"

#include "base/compat.h"
#include "base/database_slot.h"
#include "base/job_slot.h"
#include "base/shmem.h"
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
	SeTime		tick;			/* of the newest tick mark of this server's life, 0 = none */
	bool		kept;			/* the coordinator's slot keeps all WAL its jobs need */
	int			trouble_sqlstate;	/* of its last try to look after the slot; 0 = none */
	char		trouble[SE_JOB_ERROR_LEN];
} DatabaseEntry;

typedef struct Databases
{
	/* protected by mutex */
	slock_t		mutex;
	int			launcher;		/* proc number, -1 = none */
	bool		starved;		/* it finds no worker for a coordinator */
	DatabaseEntry databases[MAX_DATABASES];
} Databases;

static Databases *Shared = NULL;

static void
init_databases(void *memory)
{
	Databases  *databases = memory;

	memset(databases, 0, sizeof(Databases));
	SpinLockInit(&databases->mutex);
	databases->launcher = -1;
}

void
se_database_slot_init(void)
{
	se_shmem_register("stream_engine databases", sizeof(Databases), init_databases, (void **) &Shared);
}

/* Entry of a database, made if wanted. Caller holds the mutex; NULL when the table is full. */
static DatabaseEntry *
database_entry(Oid database, bool make)
{
	DatabaseEntry *free_entry = NULL;

	for (int i = 0; i < MAX_DATABASES; i++)
	{
		DatabaseEntry *entry = &Shared->databases[i];

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
	free_entry->tick = 0;
	free_entry->kept = false;
	free_entry->trouble_sqlstate = 0;
	free_entry->trouble[0] = '\0';
	return free_entry;
}

void
se_database_slot_wake_readers(Oid database, XLogRecPtr lsn)
{
	DatabaseEntry *entry;

	if (Shared == NULL)
		return;
	SpinLockAcquire(&Shared->mutex);
	entry = database_entry(database, true);
	if (entry != NULL)
	{
		entry->announced = Max(entry->announced, lsn);
		entry->wakes++;
	}
	SpinLockRelease(&Shared->mutex);

	se_job_slot_wake_workers(database);
}

uint64
se_database_slot_wake_count(Oid database)
{
	DatabaseEntry *entry;
	uint64		wakes;

	SpinLockAcquire(&Shared->mutex);
	entry = database_entry(database, false);
	wakes = entry ? entry->wakes : 0;
	SpinLockRelease(&Shared->mutex);
	return wakes;
}

bool
se_database_slot_has_coordinator(Oid database)
{
	DatabaseEntry *entry;
	bool		there;

	SpinLockAcquire(&Shared->mutex);
	entry = database_entry(database, false);
	there = entry != NULL && entry->coordinator >= 0;
	SpinLockRelease(&Shared->mutex);
	return there;
}

int
se_database_slot_coordinator_pid(Oid database)
{
	DatabaseEntry *entry;
	int			proc_number;

	SpinLockAcquire(&Shared->mutex);
	entry = database_entry(database, false);
	proc_number = entry ? entry->coordinator : -1;
	SpinLockRelease(&Shared->mutex);
	return proc_number >= 0 ? ProcGlobal->allProcs[proc_number].pid : 0;
}

bool
se_database_slot_coordinator_left(Oid database)
{
	DatabaseEntry *entry;
	bool		left;

	SpinLockAcquire(&Shared->mutex);
	entry = database_entry(database, false);
	left = entry != NULL && entry->left;
	SpinLockRelease(&Shared->mutex);
	return left;
}

XLogRecPtr
se_database_slot_announced_lsn(Oid database)
{
	DatabaseEntry *entry;
	XLogRecPtr	lsn;

	SpinLockAcquire(&Shared->mutex);
	entry = database_entry(database, false);
	lsn = entry ? entry->announced : InvalidXLogRecPtr;
	SpinLockRelease(&Shared->mutex);
	return lsn;
}

SeTime
se_database_slot_last_tick(Oid database)
{
	DatabaseEntry *entry;
	SeTime		tick;

	SpinLockAcquire(&Shared->mutex);
	entry = database_entry(database, false);
	tick = entry ? entry->tick : 0;
	SpinLockRelease(&Shared->mutex);
	return tick;
}

void
se_database_slot_set_tick(Oid database, SeTime tick)
{
	DatabaseEntry *entry;

	SpinLockAcquire(&Shared->mutex);
	entry = database_entry(database, false);
	if (entry != NULL)
		entry->tick = tick;
	SpinLockRelease(&Shared->mutex);
}

bool
se_database_slot_register_coordinator(Oid database)
{
	int			me = se_compat_my_proc_number();
	DatabaseEntry *entry;
	bool		ours = false;

	SpinLockAcquire(&Shared->mutex);
	entry = database_entry(database, true);
	if (entry != NULL && (entry->coordinator < 0 || entry->coordinator == me))
	{
		entry->coordinator = me;
		entry->left = false;
		entry->dismissed = false;
		ours = true;
	}
	SpinLockRelease(&Shared->mutex);
	if (entry == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
				 errmsg("stream_engine can be used in at most %d databases of a server", MAX_DATABASES)));
	return ours;
}

void
se_database_slot_unregister_coordinator(Oid database, bool left)
{
	DatabaseEntry *entry;

	SpinLockAcquire(&Shared->mutex);
	entry = database_entry(database, false);
	if (entry != NULL)
	{
		entry->coordinator = -1;
		entry->left = left || entry->dismissed;
	}
	SpinLockRelease(&Shared->mutex);
}

void
se_database_slot_dismiss(Oid database, bool coordinator)
{
	DatabaseEntry *entry;

	if (Shared == NULL)
		return;
	SpinLockAcquire(&Shared->mutex);
	entry = database_entry(database, false);
	if (entry != NULL && coordinator)
		entry->dismissed = true;
	SpinLockRelease(&Shared->mutex);
	se_job_slot_dismiss_workers(database);
}

bool
se_database_slot_is_dismissed(Oid database)
{
	DatabaseEntry *entry;
	bool		dismissed;

	SpinLockAcquire(&Shared->mutex);
	entry = database_entry(database, false);
	dismissed = entry != NULL && entry->dismissed;
	SpinLockRelease(&Shared->mutex);
	return dismissed;
}

void
se_database_slot_wake_coordinator(Oid database)
{
	DatabaseEntry *entry;
	int			proc_number = -1;

	if (Shared == NULL)
		return;
	SpinLockAcquire(&Shared->mutex);
	entry = database_entry(database, true);
	if (entry != NULL)
	{
		entry->coordinator_wakes++;
		proc_number = entry->coordinator;
	}
	if (entry != NULL && proc_number < 0)
	{
		entry->requested = true;
		proc_number = Shared->launcher;
	}
	SpinLockRelease(&Shared->mutex);
	se_job_slot_wake_process(proc_number);
}

uint64
se_database_slot_coordinator_wakes(Oid database)
{
	DatabaseEntry *entry;
	uint64		wakes;

	SpinLockAcquire(&Shared->mutex);
	entry = database_entry(database, false);
	wakes = entry ? entry->coordinator_wakes : 0;
	SpinLockRelease(&Shared->mutex);
	return wakes;
}

Oid
se_database_slot_next_request(void)
{
	Oid			database = InvalidOid;

	SpinLockAcquire(&Shared->mutex);
	for (int i = 0; i < MAX_DATABASES && database == InvalidOid; i++)
	{
		DatabaseEntry *entry = &Shared->databases[i];

		if (entry->database != InvalidOid && entry->requested)
		{
			entry->requested = false;
			database = entry->database;
		}
	}
	SpinLockRelease(&Shared->mutex);
	return database;
}

bool
se_database_slot_has_request(void)
{
	bool		any = false;

	SpinLockAcquire(&Shared->mutex);
	for (int i = 0; i < MAX_DATABASES && !any; i++)
		any = Shared->databases[i].database != InvalidOid && Shared->databases[i].requested;
	SpinLockRelease(&Shared->mutex);
	return any;
}

void
se_database_slot_forget_database(Oid database)
{
	DatabaseEntry *entry;

	SpinLockAcquire(&Shared->mutex);
	entry = database_entry(database, false);
	if (entry != NULL && entry->coordinator < 0)
		entry->database = InvalidOid;
	SpinLockRelease(&Shared->mutex);
	se_job_slot_free_database(database);
}

void
se_database_slot_forget_idle(Oid database)
{
	DatabaseEntry *entry;

	SpinLockAcquire(&Shared->mutex);
	entry = database_entry(database, false);
	if (entry != NULL && entry->coordinator < 0 && !entry->requested && !entry->dismissed)
		entry->database = InvalidOid;
	SpinLockRelease(&Shared->mutex);
}

void
se_database_slot_set_retention(Oid database, int sqlstate, const char *trouble)
{
	DatabaseEntry *entry;
	char		clipped[SE_JOB_ERROR_LEN];

	se_job_slot_clip_error(clipped, trouble ? trouble : "");
	SpinLockAcquire(&Shared->mutex);
	entry = database_entry(database, false);
	if (entry != NULL)
	{
		entry->kept |= sqlstate == 0;
		entry->trouble_sqlstate = sqlstate;
		strlcpy(entry->trouble, clipped, SE_JOB_ERROR_LEN);
	}
	SpinLockRelease(&Shared->mutex);
}

bool
se_database_slot_get_retention(Oid database, int *sqlstate, char *trouble)
{
	DatabaseEntry *entry;
	bool		kept = false;

	*sqlstate = 0;
	trouble[0] = '\0';
	SpinLockAcquire(&Shared->mutex);
	entry = database_entry(database, false);
	if (entry != NULL)
	{
		kept = entry->kept;
		*sqlstate = entry->trouble_sqlstate;
		memcpy(trouble, entry->trouble, SE_JOB_ERROR_LEN);
	}
	SpinLockRelease(&Shared->mutex);
	return kept;
}

void
se_database_slot_set_starved(bool starved)
{
	bool		changed;

	SpinLockAcquire(&Shared->mutex);
	changed = Shared->starved != starved;
	Shared->starved = starved;
	SpinLockRelease(&Shared->mutex);
	if (changed)
		se_job_slot_none_free();
}

bool
se_database_slot_is_starved(void)
{
	return *(volatile bool *) &Shared->starved;
}

bool
se_database_slot_has_launcher(void)
{
	return *(volatile int *) &Shared->launcher >= 0;
}

void
se_database_slot_register_launcher(void)
{
	SpinLockAcquire(&Shared->mutex);
	Shared->launcher = se_compat_my_proc_number();
	SpinLockRelease(&Shared->mutex);
}

void
se_database_slot_wake_launcher(void)
{
	int			proc_number;

	if (Shared == NULL)
		return;
	SpinLockAcquire(&Shared->mutex);
	proc_number = Shared->launcher;
	SpinLockRelease(&Shared->mutex);
	se_job_slot_wake_process(proc_number);
}
