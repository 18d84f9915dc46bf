/*
 * runtime/ticks.c
 *		The clock enters the log: tick and idle marks, for the jobs that depend on it.
 *
 * A job whose results depend on the passing of time (windows over proctime(), max_delay,
 * idle_timeout, what a view forgets after a while) obeys the tick marks it meets in the
 * log, and looks at no clock, so that a replay comes to the same results. There is one
 * mark for all jobs of a database, and none where no job needs them.
 *
 *	tick mark: relation 0, body int64 SeTime, the time it was written at
 *	idle mark: relation of a stream, likewise, before the tick of the same time
 *
 * A job says in its slot how often it needs one. The need stays while the job shall run:
 * its worker may be between two starts. Marks are written at whole multiples of the
 * interval, where most windows end. The clock of the server may be set back, and so may
 * marks be: who reads them takes the running maximum.
 *
 * Runs in: coordinator.
 */
#include "postgres.h"

#include "access/xlog.h"
#include "base/clock.h"
#include "base/database_slot.h"
#include "base/fault.h"
#include "base/job_slot.h"
#include "base/se.h"
#include "base/settings.h"
#include "log/append.h"
#include "log/message.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "runtime/ticks.h"
#include "storage/latch.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

/* For whom an idle mark was last written: what its slot said then. */
typedef struct Marked
{
	uint64		generation;
	uint64		active;
} Marked;

static void write_idle(SeTime now);
static bool seems_idle(SeJobSlot *slot, SeTime now);
static int64 interval_needed(void);
static bool needs_ticks(SeJobSlot *slot);

long
se_ticks_write(void)
{
	int64		interval = interval_needed();
	SeTime		now = se_clock_now();
	SeTime		last = se_database_slot_last_tick(MyDatabaseId);
	SeTime		next;

	if (interval == 0)
		return -1;
	if (se_clock_is_driven())
	{
		/* Every place it is moved to, also back: tests are independent of each other. */
		if (now == last)
			return -1;
	}
	else
	{
		next = last - last % interval + interval;
		if (last <= now && now < next)
			return TimestampDifferenceMilliseconds(now, next);
	}

	SE_FAULT_POINT("tick-write");
	write_idle(now);
	(void) se_mark_write(SE_MARK_TICK, InvalidOid, 0, 0, &now, sizeof(now), true, NULL);
	se_database_slot_set_tick(MyDatabaseId, now);
	for (int i = 0; i < se_max_jobs; i++)
		if (needs_ticks(se_job_slot_at(i)))
			se_job_slot_poke(se_job_slot_at(i));
	return se_clock_is_driven() ? -1 : TimestampDifferenceMilliseconds(now, now - now % interval + interval);
}

/*
 * Idle marks for the streams that seem to be idle, before the tick of the same time. Whether they are is decided where
 * a mark is met. One that was written is not written again until its reader has shown that it has seen more.
 */
static void
write_idle(SeTime now)
{
	static Marked *marked = NULL;	/* by slot */
	List	   *streams = NIL;

	if (marked == NULL)
		marked = MemoryContextAllocZero(TopMemoryContext, sizeof(Marked) * se_max_jobs);
	for (int i = 0; i < se_max_jobs; i++)
	{
		SeJobSlot  *slot = se_job_slot_at(i);
		Oid			stream = (Oid) pg_atomic_read_u64(&slot->stream);
		uint64		active = pg_atomic_read_u64(&slot->active);

		if (!seems_idle(slot, now) ||
			(marked[i].generation == slot->generation && marked[i].active == active))
			continue;
		marked[i].generation = slot->generation;
		marked[i].active = active;
		if (!list_member_oid(streams, stream))
			(void) se_mark_write(SE_MARK_IDLE, stream, 0, 0, &now, sizeof(now), false, NULL);
		streams = lappend_oid(streams, stream);
	}
	list_free(streams);
}

static bool
seems_idle(SeJobSlot *slot, SeTime now)
{
	int64		timeout = (int64) pg_atomic_read_u64(&slot->idle_timeout);
	SeTime		active = (SeTime) pg_atomic_read_u64(&slot->active);

	return needs_ticks(slot) && timeout != 0 && active != SE_TIME_MIN &&
		pg_atomic_read_u64(&slot->idle) == 0 && now - active >= timeout;
}

/* The smallest interval that any job of the database needs, but not below the setting; 0 = none does. */
static int64
interval_needed(void)
{
	int64		least = 0;

	for (int i = 0; i < se_max_jobs; i++)
	{
		SeJobSlot  *slot = se_job_slot_at(i);
		int64		interval = (int64) pg_atomic_read_u64(&slot->tick_interval);

		if (needs_ticks(slot) && (least == 0 || interval < least))
			least = interval;
	}
	return least == 0 ? 0 : Max(least, (int64) se_tick_interval * 1000);
}

/* Without the lock: what changes meanwhile wakes the coordinator, which looks again. */
static bool
needs_ticks(SeJobSlot *slot)
{
	volatile const SeJobSlot *now = slot;

	if (!now->in_use || now->database != MyDatabaseId ||
		pg_atomic_read_u64(&slot->tick_interval) == 0)
		return false;
	switch (now->state)
	{
		case SE_JOB_STARTING:
		case SE_JOB_RUNNING:
		case SE_JOB_RESTARTING:
		case SE_JOB_WAITING:
			return true;
		default:
			return false;
	}
}

#ifdef SE_TEST_BUILD
SE_FUNCTION_INFO_V1(stream_engine_test_tick_wait);

/* test_tick_wait(): until the time of the driven clock stands in the log. */
Datum
stream_engine_test_tick_wait(PG_FUNCTION_ARGS)
{
	TimestampTz end = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), 120 * 1000);

	while (se_database_slot_last_tick(MyDatabaseId) != se_clock_now())
	{
		if (GetCurrentTimestamp() >= end)
			ereport(ERROR,
					(errcode(ERRCODE_QUERY_CANCELED),
					 errmsg("timeout while waiting for a tick mark of the driven clock"),
					 errdetail("It stands at %s, and the last mark says %s.", pstrdup(timestamptz_to_str(se_clock_now())),
							   timestamptz_to_str(se_database_slot_last_tick(MyDatabaseId))),
					 errhint("Marks are written while a view needs them.")));
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, 5, PG_WAIT_EXTENSION);
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
	}
	PG_RETURN_VOID();
}
#endif
