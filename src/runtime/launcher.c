/*
 * runtime/launcher.c
 *		The launcher: one coordinator in each database that has work for us.
 *
 * It sees shared catalogs only. At server start it sends a coordinator into every
 * database that accepts connections; one that finds nothing there leaves again. After
 * that it acts on news: a session that committed a stream or a job where no coordinator
 * is (base/job_slot.h keeps these requests), or a coordinator that ended. It also drops
 * replication slots of ours whose database is gone: PostgreSQL knows no owner of a
 * physical slot; and after a promotion the slot of the standby, when every database's
 * coordinator has either its own slot in place or left.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "base/compat.h"
#include "base/fault.h"
#include "base/database_slot.h"
#include "base/job_slot.h"
#include "base/settings.h"
#include "catalog/pg_database.h"
#include "log/retention.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "runtime/runtime.h"
#include "runtime/worker_env.h"
#include "storage/ipc.h"
#include "tcop/tcopprot.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

/* Coordinators that have not yet said whether they stay; others wait their turn. */
#define MAX_PROBES 2
/* Wait before a coordinator that failed is started again; doubled up to the last. */
#define RETRY_MIN_MS 1000
#define RETRY_MAX_MS 60000

typedef struct Place
{
	Oid			database;
	BackgroundWorkerHandle *handle; /* NULL = none runs */
	bool		wanted;			/* start one when possible */
	int			failures;
	TimestampTz not_before;
	TimestampTz started_at;
} Place;

static List *places = NIL;		/* Place *, TopMemoryContext */

static void drop_orphaned_slots(void);
static void drop_standby_slot(void);
static void forget_dropped(List *databases);
static void want(Oid database);
static bool see_who_ended(void);
static bool is_news(void);
static long start_wanted(void);
static bool start_coordinator(Place *place);

void
se_launcher_init(void)
{
	BackgroundWorker worker = {0};

	worker.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION;
	worker.bgw_start_time = BgWorkerStart_RecoveryFinished;
	worker.bgw_restart_time = 5;
	strlcpy(worker.bgw_library_name, "stream_engine", sizeof(worker.bgw_library_name));
	strlcpy(worker.bgw_function_name, "stream_engine_launcher_main", sizeof(worker.bgw_function_name));
	strlcpy(worker.bgw_name, "stream_engine launcher", BGW_MAXLEN);
	strlcpy(worker.bgw_type, "stream_engine launcher", BGW_MAXLEN);
	RegisterBackgroundWorker(&worker);
}

void
stream_engine_launcher_main(Datum arg)
{
	MemoryContext memory;
	uint32		wait_event;
	bool		relist = true;
	ListCell   *cell;

	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGTERM, die);
	BackgroundWorkerUnblockSignals();
	BackgroundWorkerInitializeConnection(NULL, NULL, 0);
	wait_event = se_compat_wait_event("StreamEngineLauncher");
	pgstat_report_appname("stream_engine launcher");
	memory = AllocSetContextCreate(TopMemoryContext, "stream_engine launcher",
								   ALLOCSET_DEFAULT_SIZES);
	se_database_slot_register_launcher();

	MemoryContextSwitchTo(memory);
	foreach(cell, se_launcher_databases(false))
		want(lfirst_oid(cell));

	for (;;)
	{
		Oid			database;
		long		timeout;

		ResetLatch(MyLatch);
		se_worker_between();
		SE_FAULT_POINT("launcher-loop");
		MemoryContextReset(memory);
		MemoryContextSwitchTo(memory);

		while ((database = se_database_slot_next_request()) != InvalidOid)
		{
			want(database);
			relist = true;
		}
		relist |= see_who_ended();
		if (relist)
		{
			forget_dropped(se_launcher_databases(false));
			drop_orphaned_slots();
			relist = false;
		}
		timeout = start_wanted();
		drop_standby_slot();
		if (is_news())
			continue;			/* a wait for a lock above may have reset the latch */
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
						 timeout >= 0 ? Min(timeout, se_fallback_timeout) : se_fallback_timeout,
						 wait_event);
	}
}

/* All databases, or those a coordinator can connect to and has any business in. */
List *
se_launcher_databases(bool all)
{
	MemoryContext result_memory = CurrentMemoryContext;
	List	   *databases = NIL;
	Relation	catalog;
	TableScanDesc scan;
	HeapTuple	tuple;

	StartTransactionCommand();
	(void) GetTransactionSnapshot();
	catalog = table_open(DatabaseRelationId, AccessShareLock);
	scan = table_beginscan_catalog(catalog, 0, NULL);
	while ((tuple = heap_getnext(scan, ForwardScanDirection)) != NULL)
	{
		Form_pg_database form = (Form_pg_database) GETSTRUCT(tuple);
		MemoryContext old;

		if (!all && (!form->datallowconn || form->datconnlimit == SE_COMPAT_INVALID_DATABASE))
			continue;
		old = MemoryContextSwitchTo(result_memory);
		databases = lappend_oid(databases, form->oid);
		MemoryContextSwitchTo(old);
	}
	table_endscan(scan);
	table_close(catalog, AccessShareLock);
	CommitTransactionCommand();
	MemoryContextSwitchTo(result_memory);
	return databases;
}

/* Slots named after a database that is gone hold WAL for nobody. */
static void
drop_orphaned_slots(void)
{
	List	   *databases = se_launcher_databases(true);
	ListCell   *cell;

	foreach(cell, se_retention_databases())
	{
		Oid			database = lfirst_oid(cell);

		if (list_member_oid(databases, database))
			continue;
		ereport(LOG,
				(errmsg("dropping the replication slot of database %u, which no longer exists",
						database)));
		se_retention_drop(database);
		se_database_slot_forget_database(database);
	}
}

/* The slot that kept WAL while this server was a standby, when others keep what is needed. */
static void
drop_standby_slot(void)
{
	ListCell   *cell;

	if (se_retention_restart_lsn(InvalidOid, NULL) == InvalidXLogRecPtr)
		return;
	foreach(cell, places)
	{
		Place	   *place = lfirst(cell);
		int			sqlstate;
		char		trouble[SE_JOB_ERROR_LEN];

		/* One that left of its own accord found nothing to keep. */
		if (!place->wanted && place->handle == NULL && !se_database_slot_is_dismissed(place->database))
			continue;
		if (!se_database_slot_get_retention(place->database, &sqlstate, trouble))
			return;
	}
	se_retention_drop(InvalidOid);
}

/* Places of databases that are gone or no longer accept us. */
static void
forget_dropped(List *databases)
{
	ListCell   *cell;

	foreach(cell, places)
	{
		Place	   *place = lfirst(cell);

		if (list_member_oid(databases, place->database) || place->handle != NULL)
			continue;
		se_database_slot_forget_database(place->database);
		places = foreach_delete_current(places, cell);
		pfree(place);
	}
}

/* A coordinator is wanted in a database, soon. */
static void
want(Oid database)
{
	MemoryContext old;
	Place	   *place;
	ListCell   *cell;

	foreach(cell, places)
	{
		place = lfirst(cell);
		if (place->database == database)
		{
			place->wanted = true;
			return;
		}
	}
	old = MemoryContextSwitchTo(TopMemoryContext);
	place = palloc0(sizeof(Place));
	place->database = database;
	place->wanted = true;
	places = lappend(places, place);
	MemoryContextSwitchTo(old);
}

/* Take note of coordinators that ended: in order, or to be replaced after a while. */
static bool
see_who_ended(void)
{
	bool		any = false;
	ListCell   *cell;

	foreach(cell, places)
	{
		Place	   *place = lfirst(cell);
		pid_t		pid;
		int64		delay = RETRY_MIN_MS;

		if (place->handle == NULL ||
			GetBackgroundWorkerPid(place->handle, &pid) != BGWH_STOPPED)
			continue;
		pfree(place->handle);
		place->handle = NULL;
		any = true;
		if (se_database_slot_coordinator_left(place->database))
		{
			place->failures = 0;
			se_database_slot_forget_idle(place->database);
			continue;
		}
		if (TimestampDifferenceExceeds(place->started_at, GetCurrentTimestamp(), RETRY_MAX_MS))
			place->failures = 0;
		for (int i = 0; i < place->failures && delay < RETRY_MAX_MS; i++)
			delay *= 2;
		place->failures++;
		place->wanted = true;
		place->not_before = GetCurrentTimestamp() + 1000 * Min(delay, RETRY_MAX_MS);
	}
	return any;
}

/* Has somebody asked for a coordinator, or one ended, since the last look? */
static bool
is_news(void)
{
	ListCell   *cell;
	pid_t		pid;

	foreach(cell, places)
	{
		Place	   *place = lfirst(cell);

		if (place->handle != NULL && GetBackgroundWorkerPid(place->handle, &pid) == BGWH_STOPPED)
			return true;
	}
	return se_database_slot_has_request();
}

/* Start what is wanted and may start. Returns ms until the next try, -1 if none waits. */
static long
start_wanted(void)
{
	TimestampTz now = GetCurrentTimestamp();
	long		timeout = -1;
	int			probes = 0;
	ListCell   *cell;

	foreach(cell, places)
	{
		Place	   *place = lfirst(cell);

		if (place->handle != NULL && !se_database_slot_has_coordinator(place->database))
			probes++;
	}
	foreach(cell, places)
	{
		Place	   *place = lfirst(cell);
		long		wait;

		if (!place->wanted)
			continue;
		if (se_database_slot_has_coordinator(place->database))
		{
			/* Perhaps one that a former launcher started. */
			place->wanted = false;
			se_database_slot_wake_coordinator(place->database);
			continue;
		}
		if (place->handle != NULL)
			continue;			/* on its way in or out: its end wakes us */
		if (place->not_before > now)
			wait = TimestampDifferenceMilliseconds(now, place->not_before);
		else if (probes < MAX_PROBES && start_coordinator(place))
		{
			probes++;
			continue;
		}
		else
			wait = RETRY_MIN_MS;
		timeout = timeout < 0 ? wait : Min(timeout, wait);
	}
	return timeout;
}

static bool
start_coordinator(Place *place)
{
	static bool told = false;
	BackgroundWorker worker = {0};
	MemoryContext old;
	bool		registered;

	worker.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION;
	worker.bgw_start_time = BgWorkerStart_RecoveryFinished;
	worker.bgw_restart_time = BGW_NEVER_RESTART;
	strlcpy(worker.bgw_library_name, "stream_engine", sizeof(worker.bgw_library_name));
	strlcpy(worker.bgw_function_name, "stream_engine_coordinator_main",
			sizeof(worker.bgw_function_name));
	snprintf(worker.bgw_name, BGW_MAXLEN, "stream_engine coordinator %u", place->database);
	strlcpy(worker.bgw_type, "stream_engine coordinator", BGW_MAXLEN);
	worker.bgw_main_arg = ObjectIdGetDatum(place->database);
	worker.bgw_notify_pid = MyProcPid;

	old = MemoryContextSwitchTo(TopMemoryContext);
	registered = RegisterDynamicBackgroundWorker(&worker, &place->handle);
	MemoryContextSwitchTo(old);
	if (!registered)
	{
		place->handle = NULL;
		se_database_slot_set_starved(true);
		if (!told)
			ereport(WARNING,
					(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
					 errmsg("no background worker is free for a coordinator of stream_engine"),
					 errhint("Raise max_worker_processes and restart the server.")));
		told = true;
		return false;
	}
	se_database_slot_set_starved(false);
	place->wanted = false;
	place->started_at = GetCurrentTimestamp();
	return true;
}
