/*
 * base/clock.c
 *		The one clock, and in test builds the way to drive it.
 */
#include "postgres.h"

#include "base/clock.h"
#include "base/database_slot.h"
#include "base/shmem.h"
#include "miscadmin.h"
#include "port/atomics.h"
#include "utils/timestamp.h"

typedef struct Clock
{
	pg_atomic_uint64 driven;	/* 0 = the real clock runs */
} Clock;

static Clock *MyClock = NULL;

static void
init_clock(void *memory)
{
	pg_atomic_init_u64(&((Clock *) memory)->driven, 0);
}

void
se_clock_init(void)
{
	se_shmem_register("stream_engine clock", sizeof(Clock), init_clock, (void **) &MyClock);
}

SeTime
se_clock_now(void)
{
#ifdef SE_TEST_BUILD
	if (MyClock != NULL)
	{
		uint64		driven = pg_atomic_read_u64(&MyClock->driven);

		if (driven != 0)
			return (SeTime) driven;
	}
#endif
	return GetCurrentTimestamp();
}

bool
se_clock_is_driven(void)
{
#ifdef SE_TEST_BUILD
	return MyClock != NULL && pg_atomic_read_u64(&MyClock->driven) != 0;
#else
	return false;
#endif
}

#ifdef SE_TEST_BUILD
SE_FUNCTION_INFO_V1(stream_engine_test_clock_set);

/* test_clock_set(timestamptz): let the clock stand at a time; NULL lets it run again. */
Datum
stream_engine_test_clock_set(PG_FUNCTION_ARGS)
{
	se_shmem_require();
	if (!superuser())
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("must be superuser to drive the clock")));
	pg_atomic_write_u64(&MyClock->driven,
						PG_ARGISNULL(0) ? 0 : (uint64) PG_GETARG_TIMESTAMPTZ(0));
	se_database_slot_wake_readers(MyDatabaseId, InvalidXLogRecPtr);
	se_database_slot_wake_coordinator(MyDatabaseId);
	PG_RETURN_VOID();
}
#endif
