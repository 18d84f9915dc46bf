/*
 * base/fault.c
 *		Named fault points of test builds: a small table in shared memory.
 *
 * A point is looked up at every pass, so the table is tiny and read without a lock:
 * `armed` counts the entries, and while it is 0 a pass costs one atomic read.
 *
 * The postmaster's environment may arm points before any process of ours runs:
 * SE_FAULTS="name:action,name:action". So a mutant survives a crash restart.
 */
#include "postgres.h"

#include "base/fault.h"

#ifdef SE_TEST_BUILD

#include <signal.h>
#include <unistd.h>

#include "base/shmem.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/condition_variable.h"
#include "storage/lwlock.h"
#include "storage/proc.h"
#include "storage/spin.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

#define MAX_POINTS 64
#define NAME_LEN 64

typedef enum Action
{
	ACTION_COUNT,				/* only count */
	ACTION_WAIT,
	ACTION_ERROR,
	ACTION_FATAL,
	ACTION_CRASH,
	ACTION_FULL,
	ACTION_SKIP					/* SE_FAULT_WRONG answers true */
} Action;

static const char *const action_names[] = {"count", "wait", "error", "fatal", "crash", "full", "skip"};

typedef struct Point
{
	char		name[NAME_LEN]; /* empty = free */
	Action		action;
	int			after;			/* passes to let go before acting */
	int			times;			/* how often to act; -1 = always */
	int			reached;
} Point;

typedef struct Faults
{
	slock_t		lock;			/* protects points */
	pg_atomic_uint32 armed;
	ConditionVariable cleared;	/* a point was set or cleared: who stands there looks again */
	ConditionVariable passed;	/* a point was passed or cleared: so does who waits for that */
	Point		points[MAX_POINTS];
} Faults;

static Faults *MyFaults = NULL;

/* The action of a name; ACTION_COUNT if there is none such. */
static Action
action_named(const char *name)
{
	for (int i = 0; i < lengthof(action_names); i++)
		if (strcmp(name, action_names[i]) == 0)
			return i;
	return ACTION_COUNT;
}

/* Arm what the environment asks for. Nobody else runs yet. */
static void
arm_from_environment(Faults *faults)
{
	const char *wanted = getenv("SE_FAULTS");
	char	   *copy = pstrdup(wanted ? wanted : "");
	int			n = 0;

	for (char *save = NULL, *entry = strtok_r(copy, ",", &save); entry && n < MAX_POINTS; entry = strtok_r(NULL, ",", &save))
	{
		char	   *colon = strchr(entry, ':');

		if (colon == NULL)
			continue;
		*colon = '\0';
		strlcpy(faults->points[n].name, entry, NAME_LEN);
		faults->points[n].action = action_named(colon + 1);
		faults->points[n].times = -1;
		n++;
	}
	pg_atomic_write_u32(&faults->armed, n);
	pfree(copy);
}

static void
init_faults(void *memory)
{
	Faults	   *faults = memory;

	SpinLockInit(&faults->lock);
	pg_atomic_init_u32(&faults->armed, 0);
	ConditionVariableInit(&faults->cleared);
	ConditionVariableInit(&faults->passed);
	arm_from_environment(faults);
}

void
se_fault_init(void)
{
	se_shmem_register("stream_engine faults", sizeof(Faults), init_faults, (void **) &MyFaults);
}

/* Find a point by name. Caller holds the spinlock. */
static Point *
find(const char *name)
{
	for (int i = 0; i < MAX_POINTS; i++)
		if (MyFaults->points[i].name[0] != '\0' && strcmp(MyFaults->points[i].name, name) == 0)
			return &MyFaults->points[i];
	return NULL;
}

/* Count one pass and say what is to be done. */
static Action
pass(const char *name)
{
	Action		action = ACTION_COUNT;
	Point	   *point;

	if (MyFaults == NULL || pg_atomic_read_u32(&MyFaults->armed) == 0)
		return ACTION_COUNT;
	SpinLockAcquire(&MyFaults->lock);
	point = find(name);
	if (point != NULL)
	{
		point->reached++;
		if (point->reached > point->after && point->times != 0)
		{
			action = point->action;
			if (point->times > 0)
				point->times--;
		}
	}
	SpinLockRelease(&MyFaults->lock);
	if (point != NULL && MyProc != NULL)
		ConditionVariableBroadcast(&MyFaults->passed);
	return action;
}

/* Is the point still set to wait? */
static bool
still_waits(const char *name)
{
	Point	   *point;
	bool		waits;

	SpinLockAcquire(&MyFaults->lock);
	point = find(name);
	waits = point != NULL && point->action == ACTION_WAIT;
	SpinLockRelease(&MyFaults->lock);
	return waits;
}

void
se_fault_point(const char *name)
{
	switch (pass(name))
	{
		case ACTION_COUNT:
		case ACTION_SKIP:
			return;
		case ACTION_WAIT:
			ConditionVariablePrepareToSleep(&MyFaults->cleared);
			while (still_waits(name))
				ConditionVariableSleep(&MyFaults->cleared, PG_WAIT_EXTENSION);
			ConditionVariableCancelSleep();
			return;
		case ACTION_ERROR:
			ereport(ERROR, (errmsg("fault point \"%s\"", name)));
			break;
		case ACTION_FATAL:
			ereport(FATAL, (errmsg("fault point \"%s\"", name)));
			break;
		case ACTION_FULL:
			ereport(ERROR,
					(errcode(ERRCODE_DISK_FULL),
					 errmsg("could not write file at fault point \"%s\": No space left on device", name)));
			break;
		case ACTION_CRASH:
			kill(getpid(), SIGKILL);
			for (;;)
				pause();
	}
}

bool
se_fault_wrong(const char *name)
{
	return pass(name) == ACTION_SKIP;
}

static void
require_superuser(void)
{
	se_shmem_require();
	if (!superuser())
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("must be superuser to use fault points")));
}

SE_FUNCTION_INFO_V1(stream_engine_test_fault_set);
SE_FUNCTION_INFO_V1(stream_engine_test_fault_clear);
SE_FUNCTION_INFO_V1(stream_engine_test_fault_reached);
SE_FUNCTION_INFO_V1(stream_engine_test_fault_wait);

/* test_fault_set(name, action, after int, times int): arm a point, its count starts at 0. */
Datum
stream_engine_test_fault_set(PG_FUNCTION_ARGS)
{
	char	   *name = text_to_cstring(PG_GETARG_TEXT_PP(0));
	char	   *action_name = text_to_cstring(PG_GETARG_TEXT_PP(1));
	int			after = PG_GETARG_INT32(2);
	int			times = PG_GETARG_INT32(3);
	int			action;
	Point	   *point;

	require_superuser();
	for (action = 0; action < lengthof(action_names); action++)
		if (strcmp(action_name, action_names[action]) == 0)
			break;
	if (action == lengthof(action_names) || strlen(name) >= NAME_LEN)
		elog(ERROR, "bad fault point \"%s\" or action \"%s\"", name, action_name);

	SpinLockAcquire(&MyFaults->lock);
	point = find(name);
	if (point == NULL)
	{
		for (int i = 0; i < MAX_POINTS && point == NULL; i++)
			if (MyFaults->points[i].name[0] == '\0')
				point = &MyFaults->points[i];
		if (point != NULL)
		{
			strlcpy(point->name, name, NAME_LEN);
			pg_atomic_fetch_add_u32(&MyFaults->armed, 1);
		}
	}
	if (point != NULL)
	{
		point->action = action;
		point->after = after;
		point->times = times;
		point->reached = 0;
	}
	SpinLockRelease(&MyFaults->lock);
	if (point == NULL)
		elog(ERROR, "too many fault points");
	ConditionVariableBroadcast(&MyFaults->cleared);
	PG_RETURN_VOID();
}

/* test_fault_clear(name): disarm a point, NULL all; whoever waits there goes on. */
Datum
stream_engine_test_fault_clear(PG_FUNCTION_ARGS)
{
	char	   *name = PG_ARGISNULL(0) ? NULL : text_to_cstring(PG_GETARG_TEXT_PP(0));

	require_superuser();
	SpinLockAcquire(&MyFaults->lock);
	for (int i = 0; i < MAX_POINTS; i++)
	{
		Point	   *point = &MyFaults->points[i];

		if (point->name[0] != '\0' && (name == NULL || strcmp(point->name, name) == 0))
		{
			point->name[0] = '\0';
			pg_atomic_fetch_sub_u32(&MyFaults->armed, 1);
		}
	}
	SpinLockRelease(&MyFaults->lock);
	ConditionVariableBroadcast(&MyFaults->cleared);
	ConditionVariableBroadcast(&MyFaults->passed);
	PG_RETURN_VOID();
}

/* How often a point was passed since it was set; NULL: all points together, but no wrongs. -1 if none is set. */
static int
passes(const char *name)
{
	int			sum = -1;

	SpinLockAcquire(&MyFaults->lock);
	for (int i = 0; i < MAX_POINTS; i++)
	{
		Point	   *point = &MyFaults->points[i];

		if (point->name[0] != '\0' && (name != NULL ? strcmp(point->name, name) == 0 : point->action != ACTION_SKIP))
			sum = Max(sum, 0) + point->reached;
	}
	SpinLockRelease(&MyFaults->lock);
	return sum;
}

/* test_fault_reached(name): passes since it was set; NULL if it is not set. */
Datum
stream_engine_test_fault_reached(PG_FUNCTION_ARGS)
{
	int			reached;

	require_superuser();
	reached = passes(text_to_cstring(PG_GETARG_TEXT_PP(0)));
	if (reached < 0)
		PG_RETURN_NULL();
	PG_RETURN_INT32(reached);
}

/* test_fault_wait(name, wanted int, timeout interval): until a point was passed so often, NULL: all points together. */
Datum
stream_engine_test_fault_wait(PG_FUNCTION_ARGS)
{
	char	   *name = PG_ARGISNULL(0) ? NULL : text_to_cstring(PG_GETARG_TEXT_PP(0));
	int			wanted;
	TimestampTz end;
	int			n;

	require_superuser();
	if (PG_ARGISNULL(1) || PG_ARGISNULL(2))
		elog(ERROR, "how often and how long must not be null");
	wanted = PG_GETARG_INT32(1);
	end = DatumGetTimestampTz(DirectFunctionCall2(timestamptz_pl_interval, TimestampTzGetDatum(GetCurrentTimestamp()),
												  PG_GETARG_DATUM(2)));
	ConditionVariablePrepareToSleep(&MyFaults->passed);
	while ((n = passes(name)) < wanted)
	{
		long		rest = TimestampDifferenceMilliseconds(GetCurrentTimestamp(), end);

		if (n < 0)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 name ? errmsg("fault point \"%s\" is not set", name) : errmsg("no fault point is set"),
					 errhint("Set it before you wait for it.")));
		if (rest <= 0)
			ereport(ERROR,
					(errcode(ERRCODE_QUERY_CANCELED),
					 name ? errmsg("timeout while waiting for fault point \"%s\"", name) :
					 errmsg("timeout while waiting for the fault points that are set"),
					 errdetail("It was passed %d of %d times.", n, wanted)));
		ConditionVariableTimedSleep(&MyFaults->passed, rest, PG_WAIT_EXTENSION);
	}
	ConditionVariableCancelSleep();
	PG_RETURN_VOID();
}

#else

void
se_fault_init(void)
{
}

#endif							/* SE_TEST_BUILD */
