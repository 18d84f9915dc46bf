/*
 * runtime/retain.c
 *		When the replication slot that keeps our WAL may move (I3).
 *
 * The exact rule: the slot moves to R only if R is at most the restart LSN of every
 * unit's newest *durable* position, and at most every hold. Positions are read from
 * the catalog with an ordinary snapshot; what a snapshot shows was inserted into the
 * WAL before, so one flush of everything inserted makes all of them durable, and a
 * crash cannot bring back an older one. Holds are read before that snapshot: a CREATE
 * ends its hold only after its job is visible.
 *
 * The slot is moved at most every MOVE_MS, because each move writes a file and syncs
 * it. A stopped or failed job, and only it, loses its claim after
 * stream_engine.max_retained_wal; its next start then says which range is missing.
 *
 * A new slot begins at the last checkpoint's redo place, which may be after a position:
 * after the restore of a base backup, a promotion, the loss of a slot. Then it is moved
 * back to what the jobs need.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/table.h"
#include "access/xlog.h"
#include "base/compat.h"
#include "base/fault.h"
#include "base/holds.h"
#include "base/settings.h"
#include "log/retention.h"
#include "meta/jobs.h"
#include "meta/positions.h"
#include "meta/table.h"
#include "miscadmin.h"
#include "runtime/retain.h"
#include "source/source.h"
#include "utils/timestamp.h"

#define MOVE_MS 2000

static XLogRecPtr need_of_job(const SeJobMeta *meta);
static long touch_in(TimestampTz now);

/* Of this process: what the slot was last moved to, and when. */
static XLogRecPtr moved_to = InvalidXLogRecPtr;
static TimestampTz moved_at = 0;

SeRetainNeed
se_retain_need(List *jobs, XLogRecPtr hold)
{
	SeRetainNeed need = {false, InvalidXLogRecPtr};
	ListCell   *cell;

	foreach(cell, jobs)
	{
		const SeJobMeta *meta = lfirst(cell);
		XLogRecPtr	lsn;

		if (!se_jobs_identity_is_ours(meta))
			continue;
		lsn = need_of_job(meta);
		if (lsn == PG_UINT64_MAX)
			continue;
		if (!need.jobs || lsn < need.lsn)
			need.lsn = lsn;
		need.jobs = true;
	}
	if (hold != InvalidXLogRecPtr && need.jobs)
		need.lsn = Min(need.lsn, hold);
	if (SE_FAULT_WRONG("wrong-slot-moved-early") && need.jobs)
		need.lsn = se_retention_end();
	return need;
}

/*
 * Least restart LSN of a job; PG_UINT64_MAX if it has no claim, Invalid if one cannot
 * be read (then nothing moves until a person looks).
 */
static XLogRecPtr
need_of_job(const SeJobMeta *meta)
{
	XLogRecPtr	least = PG_UINT64_MAX;
	XLogRecPtr	flushed = se_retention_end();
	ListCell   *cell;

	foreach(cell, se_positions_list(meta->job))
	{
		SePositionMeta *stored = lfirst(cell);
		XLogRecPtr	from = se_source_needs_wal(VARDATA_ANY(stored->position),
											   VARSIZE_ANY_EXHDR(stored->position));

		if (from == InvalidXLogRecPtr)
			return InvalidXLogRecPtr;
		least = Min(least, from);
	}

	if (least != PG_UINT64_MAX && meta->goal != SE_GOAL_RUN && se_max_retained_wal >= 0 &&
		flushed > least && flushed - least > (uint64) se_max_retained_wal * 1024 * 1024)
		return PG_UINT64_MAX;
	return least;
}

bool
se_retain_has_streams(void)
{
	Relation	table;
	SeTableScan scan;
	bool		found;

	table = se_table_try_open("stream_layouts", AccessShareLock);
	if (table == NULL)
		return false;
	se_table_scan_begin(&scan, table, 0, NULL);
	found = se_table_scan_next(&scan) != NULL;
	se_table_scan_end(&scan);
	table_close(table, AccessShareLock);
	return found;
}

long
se_retain_apply(const SeRetainNeed *need, XLogRecPtr hold, bool *kept)
{
	TimestampTz now = GetCurrentTimestamp();
	XLogRecPtr	slot;
	bool		lost = false;

	*kept = !need->jobs;
	if (!need->jobs)
	{
		/* Whoever holds WAL now (a CREATE) will have a job, or let go and wake us. */
		if (hold == InvalidXLogRecPtr &&
			se_retention_restart_lsn(MyDatabaseId, &lost) != InvalidXLogRecPtr)
		{
			se_retention_drop(MyDatabaseId);
			/* A CREATE that came meanwhile found the slot and went on. */
			hold = se_holds_oldest(MyDatabaseId);
			if (hold != InvalidXLogRecPtr)
				se_retention_ensure();
		}
		moved_to = InvalidXLogRecPtr;
		return hold == InvalidXLogRecPtr ? -1 : MOVE_MS;
	}

	slot = se_retention_restart_lsn(MyDatabaseId, &lost);
	if (slot == InvalidXLogRecPtr || lost)
	{
		/* Too late for what is gone: the jobs find out by themselves and say so. */
		if (lost)
			se_retention_drop(MyDatabaseId);
		se_retention_ensure();
	}
	if (need->lsn == InvalidXLogRecPtr)
		return -1;
	slot = se_retention_restart_lsn(MyDatabaseId, NULL);

	/*
	 * A slot that keeps too little is new, or a person is about to copy segments back for a job that misses them:
	 * that cannot wait.
	 */
	if (need->lsn >= slot || slot == InvalidXLogRecPtr)
	{
		*kept = slot != InvalidXLogRecPtr;
		if (need->lsn <= moved_to && touch_in(now) != 0)
			return touch_in(now);
		if (!TimestampDifferenceExceeds(moved_at, now, MOVE_MS))
			return MOVE_MS - TimestampDifferenceMilliseconds(moved_at, now);
	}

	SE_FAULT_POINT("coordinator-slot-move");
	se_retention_flush_all();
	if (!se_retention_move(MyDatabaseId, need->lsn))
		return MOVE_MS;
	*kept = true;
	moved_to = need->lsn;
	moved_at = now;
	return touch_in(now);
}

/* Milliseconds until the slot must be moved even without progress, or PostgreSQL 18 takes it for idle; -1 = need not be. */
static long
touch_in(TimestampTz now)
{
	int			timeout = se_compat_idle_slot_timeout();

	if (timeout == 0)
		return -1;
	return TimestampDifferenceMilliseconds(now, TimestampTzPlusMilliseconds(moved_at, timeout / 3));
}
