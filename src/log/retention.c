/*
 * log/retention.c
 *		One physical replication slot per database keeps the WAL its jobs need (I3).
 *
 * On a standby one slot keeps it for all databases (runtime/standby.c); its database is
 * InvalidOid.
 *
 * The slot is acquired only for the moment it is looked after: whoever holds a slot is
 * terminated when PostgreSQL invalidates it, and the checkpointer waits for that.
 * Acquiring it also touches the idle clock of PostgreSQL 18 (V40).
 *
 * A lock of our own (a heavyweight lock nobody else takes) keeps our sessions and the
 * coordinator apart, so that none of them meets a slot in use. It is held as a session
 * lock for a few milliseconds; its holder waits for no other heavyweight lock. It is of
 * the advisory kind, which a standby can take, too, with a class SQL cannot use.
 */
#include "postgres.h"

#include "access/xlog.h"
#include "access/xlog_internal.h"
#include "access/xlogrecovery.h"
#include "base/compat.h"
#include "base/fault.h"
#include "base/holds.h"
#include "log/retention.h"
#include "miscadmin.h"
#include "storage/fd.h"
#include "storage/lock.h"
#include "storage/lwlock.h"
#include "storage/spin.h"

/* Class of our advisory locks; those of SQL are 1 and 2. */
#define LOCK_CLASS 0x5345

#define STANDBY_SLOT "stream_engine_standby"

/* What a look at the shared array says about our slot. */
typedef struct SlotState
{
	bool		exists;
	bool		lost;
	int			holder;			/* pid, 0 = nobody */
	XLogRecPtr	restart_lsn;
} SlotState;

static void look(Oid database, SlotState *state);
static bool lock_slot(Oid database, LOCKTAG *tag, bool wait);
static void check_server(void);
static void ensure(Oid database);
static XLogRecPtr reachable(XLogRecPtr lsn);
static void create_slot(const char *name);
static void reserve_slot(const char *name);
static int	compare_segments(const void *a, const void *b);

char *
se_retention_slot_name(Oid database)
{
	if (!OidIsValid(database))
		return pstrdup(STANDBY_SLOT);
	return psprintf("stream_engine_%u", database);
}

/* What the server must be started with for a slot, said in words of ours. */
static void
check_server(void)
{
	if (wal_level < WAL_LEVEL_REPLICA)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("continuous views need wal_level = replica or higher"),
				 errdetail("wal_level is minimal: the server writes no WAL that can be read again."),
				 errhint("Set wal_level = replica (the default) and max_wal_senders as you need it, and restart the server.")));
	if (max_replication_slots == 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("continuous views need a replication slot to keep their WAL"),
				 errdetail("max_replication_slots is 0."),
				 errhint("Set max_replication_slots to at least one for each database with continuous views, and restart the server.")));
	se_compat_check_slot_requirements();
}

void
se_retention_ensure(void)
{
	ensure(MyDatabaseId);
}

void
se_retention_ensure_standby(void)
{
	ensure(InvalidOid);
}

static void
ensure(Oid database)
{
	char	   *name = se_retention_slot_name(database);
	LOCKTAG		tag;
	SlotState	state;

	check_server();
	if (MyReplicationSlot != NULL)
		elog(ERROR, "a replication slot is in use by this session");

	lock_slot(database, &tag, true);
	PG_TRY();
	{
		look(database, &state);
		/* A promotion came in between: sessions may rely on other slots by now. */
		if (!OidIsValid(database) && !RecoveryInProgress())
			elog(ERROR, "recovery has ended");
		/* A lost slot protects nothing; jobs whose WAL is gone say so themselves. */
		if (state.exists && state.lost)
		{
			ReplicationSlotDrop(name, true);
			state.exists = false;
		}
		if (!state.exists)
			create_slot(name);
		else if (XLogRecPtrIsInvalid(state.restart_lsn))
			reserve_slot(name);
	}
	PG_FINALLY();
	{
		/*
		 * Core releases a slot only at the end of a failed top transaction; a subtransaction would go on with it.
		 */
		if (MyReplicationSlot != NULL)
			ReplicationSlotRelease();
		LockRelease(&tag, ExclusiveLock, true);
	}
	PG_END_TRY();
}

XLogRecPtr
se_retention_reach_back(XLogRecPtr wanted)
{
	char	   *name = se_retention_slot_name(MyDatabaseId);
	LOCKTAG		tag;
	volatile XLogRecPtr kept = InvalidXLogRecPtr;

	se_retention_ensure();
	lock_slot(MyDatabaseId, &tag, true);
	PG_TRY();
	{
		se_compat_slot_acquire(name);
		for (;;)
		{
			XLogRecPtr	oldest = se_retention_oldest_lsn();
			XLogSegNo	segment;

			SpinLockAcquire(&MyReplicationSlot->mutex);
			kept = Min(MyReplicationSlot->data.restart_lsn, Max(wanted, oldest));
			MyReplicationSlot->data.restart_lsn = kept;
			SpinLockRelease(&MyReplicationSlot->mutex);
			ReplicationSlotsComputeRequiredLSN();

			/* A checkpoint that did not know yet may have removed it: look again. */
			XLByteToSeg(kept, segment, wal_segment_size);
			if (XLogGetLastRemovedSegno() < segment)
				break;
		}
		ReplicationSlotMarkDirty();
		ReplicationSlotSave();
	}
	PG_FINALLY();
	{
		if (MyReplicationSlot != NULL)
			ReplicationSlotRelease();
		LockRelease(&tag, ExclusiveLock, true);
	}
	PG_END_TRY();
	return kept;
}

bool
se_retention_move(Oid database, XLogRecPtr restart)
{
	char	   *name = se_retention_slot_name(database);
	LOCKTAG		tag;
	SlotState	state;
	volatile XLogRecPtr to = restart;
	volatile bool done = false;

	Assert(!XLogRecPtrIsInvalid(restart));
	if (!lock_slot(database, &tag, false))
		return false;

	/*
	 * A hold that was registered after the caller looked counts too: whoever has registered one takes our lock
	 * before it relies on it.
	 */
	PG_TRY();
	{
		XLogRecPtr	hold = se_holds_oldest(database);

		if (!XLogRecPtrIsInvalid(hold))
			to = Min(to, hold);
		look(database, &state);
		if (!state.exists || state.lost)
			done = true;		/* nothing to move; ensure makes a new one */
		else if (state.holder == 0 && (OidIsValid(database) || RecoveryInProgress()))
		{
			XLogRecPtr	least = reachable(to);
			bool		forth = false;
			bool		back = false;

			SE_FAULT_POINT("slot-save");
			se_compat_slot_acquire(name);
			SpinLockAcquire(&MyReplicationSlot->mutex);
			if (!se_compat_slot_is_lost())
			{
				XLogRecPtr	old = MyReplicationSlot->data.restart_lsn;

				forth = old < to;
				back = old > least;
				if (forth)
					MyReplicationSlot->data.restart_lsn = to;
				else if (back)
					MyReplicationSlot->data.restart_lsn = least;
			}
			SpinLockRelease(&MyReplicationSlot->mutex);

			/* Let WAL go only when the place that no longer needs it is on disk. */
			if (back)
				ReplicationSlotsComputeRequiredLSN();
			if (forth || back)
			{
				ReplicationSlotMarkDirty();
				ReplicationSlotSave();
			}
			if (forth)
				ReplicationSlotsComputeRequiredLSN();
			done = true;
		}
	}
	PG_FINALLY();
	{
		if (MyReplicationSlot != NULL)
			ReplicationSlotRelease();
		LockRelease(&tag, ExclusiveLock, true);
	}
	PG_END_TRY();
	return done;
}

/*
 * The oldest place at or after `lsn` that a slot may keep WAL from without being
 * invalidated by max_slot_wal_keep_size at the next checkpoint.
 */
static XLogRecPtr
reachable(XLogRecPtr lsn)
{
	XLogRecPtr	here = se_retention_end();
	uint64		kept;

	if (max_slot_wal_keep_size_mb < 0)
		return lsn;
	kept = (uint64) max_slot_wal_keep_size_mb * 1024 * 1024;
	return here > kept ? Max(lsn, here - kept) : lsn;
}

XLogRecPtr
se_retention_end(void)
{
	return RecoveryInProgress() ? GetXLogReplayRecPtr(NULL) : GetFlushRecPtr(NULL);
}

XLogRecPtr
se_retention_restart_lsn(Oid database, bool *lost)
{
	SlotState	state;

	look(database, &state);
	if (lost != NULL)
		*lost = state.exists && state.lost;
	return state.exists ? state.restart_lsn : InvalidXLogRecPtr;
}

void
se_retention_drop(Oid database)
{
	char	   *name = se_retention_slot_name(database);
	LOCKTAG		tag;
	SlotState	state;

	/* Our lock belongs to a database; the slot's name is enough to tell it. */
	lock_slot(database, &tag, true);
	PG_TRY();
	{
		look(database, &state);
		if (state.exists && state.holder != 0)
			ereport(LOG,
					(errmsg("replication slot \"%s\" is not dropped: process %d holds it",
							name, state.holder)));
		/* With a hold that the caller could not know of yet, a CREATE relies on it. */
		else if (state.exists &&
				 (!OidIsValid(database) || XLogRecPtrIsInvalid(se_holds_oldest(database))))
			ReplicationSlotDrop(name, true);
	}
	PG_FINALLY();
	{
		LockRelease(&tag, ExclusiveLock, true);
	}
	PG_END_TRY();
}

List *
se_retention_databases(void)
{
	List	   *databases = NIL;

	LWLockAcquire(ReplicationSlotControlLock, LW_SHARED);
	for (int i = 0; i < max_replication_slots; i++)
	{
		ReplicationSlot *slot = &ReplicationSlotCtl->replication_slots[i];
		Oid			database;
		char		rest;

		if (slot->in_use && slot->data.database == InvalidOid &&
			sscanf(NameStr(slot->data.name), "stream_engine_%u%c", &database, &rest) == 1)
			databases = lappend_oid(databases, database);
	}
	LWLockRelease(ReplicationSlotControlLock);
	return databases;
}

/*
 * The start of the unbroken run of segments that ends with the current one. What the
 * checkpointer removed since the server started is not enough: it is unknown after a
 * restart, and an administrator may have copied segments back from an archive.
 */
XLogRecPtr
se_retention_oldest_lsn(void)
{
	XLogRecPtr	here = se_retention_end();
	XLogRecPtr	oldest;
	XLogSegNo	segment;
	XLogSegNo  *found;
	int			nfound = 0;
	int			room = 256;
	int			i;
	DIR		   *dir;
	struct dirent *entry;

	found = palloc(room * sizeof(XLogSegNo));
	dir = AllocateDir(XLOGDIR);
	while ((entry = ReadDir(dir, XLOGDIR)) != NULL)
	{
		TimeLineID	timeline;

		if (!IsXLogFileName(entry->d_name))
			continue;
		if (nfound == room)
			found = repalloc_huge(found, (Size) (room *= 2) * sizeof(XLogSegNo));
		XLogFromFileName(entry->d_name, &timeline, &found[nfound], wal_segment_size);
		nfound++;
	}
	FreeDir(dir);
	qsort(found, nfound, sizeof(XLogSegNo), compare_segments);

	/* From the segment of the last byte downwards; segments made ahead lie above. */
	XLByteToPrevSeg(here, segment, wal_segment_size);
	for (i = nfound - 1; i >= 0; i--)
	{
		if (found[i] + 1 == segment)
			segment--;
		else if (found[i] + 1 < segment)
			break;
	}
	pfree(found);
	segment = Max(segment, XLogGetLastRemovedSegno() + 1);
	XLogSegNoOffsetToRecPtr(segment, 0, wal_segment_size, oldest);
	return oldest;
}

XLogRecPtr
se_retention_flush_all(void)
{
	XLogRecPtr	upto = GetXLogInsertRecPtr();
	uint64		in_segment = XLogSegmentOffset(upto, wal_segment_size);

	/*
	 * This is where the next record begins. When the last one ended with its page, that is behind the header of a
	 * page of which nothing is written, and XLogFlush would complain.
	 */
	if (in_segment == SizeOfXLogLongPHD)
		upto -= SizeOfXLogLongPHD;
	else if (in_segment > XLOG_BLCKSZ && upto % XLOG_BLCKSZ == SizeOfXLogShortPHD)
		upto -= SizeOfXLogShortPHD;
	XLogFlush(upto);
	return upto;
}

/* Copy out what the shared array says about the slot of a database. */
static void
look(Oid database, SlotState *state)
{
	char	   *name = se_retention_slot_name(database);
	ReplicationSlot *slot;

	memset(state, 0, sizeof(SlotState));
	LWLockAcquire(ReplicationSlotControlLock, LW_SHARED);
	slot = SearchNamedReplicationSlot(name, false);
	if (slot != NULL)
	{
		SpinLockAcquire(&slot->mutex);
		state->exists = true;
		state->holder = se_compat_slot_holder(slot);
		state->restart_lsn = slot->data.restart_lsn;
		state->lost = se_compat_slot_data_is_lost(&slot->data);
		SpinLockRelease(&slot->mutex);
	}
	LWLockRelease(ReplicationSlotControlLock);
}

/* Our lock over the slot of a database; false if it is taken and we must not wait. */
static bool
lock_slot(Oid database, LOCKTAG *tag, bool wait)
{
	SET_LOCKTAG_ADVISORY(*tag, database, 0, 0, LOCK_CLASS);
	return LockAcquire(tag, ExclusiveLock, true, !wait) != LOCKACQUIRE_NOT_AVAIL;
}

/* Create the slot, holding WAL from the last checkpoint's redo point on. */
static void
create_slot(const char *name)
{
	SE_FAULT_POINT("slot-create");
	se_compat_slot_create(name);
	ReplicationSlotReserveWal();
	ReplicationSlotMarkDirty();
	ReplicationSlotSave();
}

/* A slot whose creation was cut short exists without a place: give it one. */
static void
reserve_slot(const char *name)
{
	se_compat_slot_acquire(name);
	ReplicationSlotReserveWal();
	ReplicationSlotMarkDirty();
	ReplicationSlotSave();
}

static int
compare_segments(const void *a, const void *b)
{
	XLogSegNo	x = *(const XLogSegNo *) a;
	XLogSegNo	y = *(const XLogSegNo *) b;

	return (x > y) - (x < y);
}
