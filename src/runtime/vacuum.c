/*
 * runtime/vacuum.c
 *		Our own tables are vacuumed by ourselves.
 *
 * Every commit of a job with state leaves dead rows in state_chunks and job_positions: a
 * reclaim deletes chunks as fast as new ones come. Autovacuum may be off, or a minute and
 * a hundred megabytes late. So the coordinator compares what the statistics count as dead
 * with what lives, whenever it is woken, and workers wake it after some bytes of state.
 *
 * The work is a short-lived worker's, one per database at a time, because it takes as
 * long as it takes. It is an ordinary VACUUM at autovacuum's pace that stands in nobody's
 * way: the lock it takes does not exclude the commits of jobs, it skips a table that
 * somebody else has locked, and it does not truncate, which would need another lock.
 * What an old snapshot keeps dead is not tried again at once.
 */
#include "postgres.h"

#include "access/table.h"
#include "access/xact.h"
#include "base/compat.h"
#include "base/fault.h"
#include "commands/vacuum.h"
#include "meta/jobs.h"
#include "meta/table.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/parsenodes.h"
#include "parser/parse_node.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "runtime/runtime.h"
#include "runtime/vacuum.h"
#include "runtime/worker_env.h"
#include "storage/bufmgr.h"
#include "storage/ipc.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/portal.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

/*
 * The least time from one to the next, and how many times what the last one took. Then
 * the time before what could not be removed is tried again.
 */
#define PAUSE_MS 1000
#define PAUSE_FACTOR 4
#define TRY_AGAIN_MS 60000
/* Before a worker is asked for again when none was free, or the last one failed. */
#define NO_WORKER_MS 10000
#define FAILED_MS 5000

/* A table of ours, and what this process remembers of it. */
typedef struct OurTable
{
	const char *name;
	double		least_bytes;	/* fewer dead ones are never worth it */
	double		left;			/* dead rows the last vacuum could not remove */
	int64		vacuums;		/* how many there had been when the worker was asked for */
} OurTable;

static OurTable tables[] = {
	{"state_chunks", 4 * 1024 * 1024},
	{"job_positions", 1024 * 1024},
};

static BackgroundWorkerHandle *handle = NULL;	/* of the worker at work */
static TimestampTz started_at = 0;
static TimestampTz not_before = 0;

static bool is_due(const OurTable *table, TimestampTz now, long *again);
static bool take_stock(void);
static double dead_rows(Oid relation);
static int64 vacuums_of(Oid relation);
static void start_worker(void);
static void vacuum_tables(void);

long
se_vacuum_if_due(void)
{
	TimestampTz now = GetCurrentTimestamp();
	bool		ended = se_vacuum_has_ended();
	bool		due = false;
	long		again = -1;

	if (handle != NULL && !ended)
		return -1;				/* its end wakes us */
	if (ended)
	{
		pfree(handle);
		handle = NULL;
		not_before = now + Max(1000 * PAUSE_MS, PAUSE_FACTOR * (now - started_at));
		if (!take_stock())
			not_before = Max(not_before, now + INT64CONST(1000) * FAILED_MS);
	}
	for (int i = 0; i < lengthof(tables); i++)
		due |= is_due(&tables[i], now, &again);
	if (!due)
		return again;
	if (now < not_before)
		return TimestampDifferenceMilliseconds(now, not_before);
	for (int i = 0; i < lengthof(tables); i++)
		tables[i].vacuums = vacuums_of(se_meta_relation(tables[i].name));
	started_at = now;
	start_worker();
	return handle != NULL ? -1 : NO_WORKER_MS;
}

bool
se_vacuum_has_ended(void)
{
	pid_t		pid;

	return handle != NULL && GetBackgroundWorkerPid(handle, &pid) == BGWH_STOPPED;
}

/* Are there more dead bytes than a quarter of the living, and can they be removed? */
static bool
is_due(const OurTable *table, TimestampTz now, long *again)
{
	Relation	relation = se_table_try_open(table->name, AccessShareLock);
	PgStat_StatTabEntry *entry;
	double		dead;
	double		live;
	double		row_bytes;
	double		limit;

	if (relation == NULL)
		return false;
	entry = pgstat_fetch_stat_tabentry(RelationGetRelid(relation));
	dead = se_compat_dead_rows(entry);
	live = se_compat_live_rows(entry);
	row_bytes = (double) RelationGetNumberOfBlocks(relation) * BLCKSZ / Max(dead + live, 1);
	limit = Max(table->least_bytes, live * row_bytes / 4);
	table_close(relation, AccessShareLock);

	if (dead * row_bytes < limit)
		return false;
	if ((dead - table->left) * row_bytes >= limit ||
		TimestampDifferenceExceeds(started_at, now, TRY_AGAIN_MS))
		return true;
	*again = TRY_AGAIN_MS;
	return false;
}

/*
 * A worker ended: what it left dead cannot be removed for now. A table that it did not get
 * to, because it failed or somebody had locked the table, is to be tried again; false if
 * there is one.
 */
static bool
take_stock(void)
{
	bool		all = true;

	for (int i = 0; i < lengthof(tables); i++)
	{
		Oid			relation = se_meta_relation(tables[i].name);

		if (vacuums_of(relation) > tables[i].vacuums)
			tables[i].left = dead_rows(relation);
		else
			all = false;
	}
	return all;
}

static double
dead_rows(Oid relation)
{
	PgStat_StatTabEntry *entry = OidIsValid(relation) ? pgstat_fetch_stat_tabentry(relation) : NULL;

	return se_compat_dead_rows(entry);
}

static int64
vacuums_of(Oid relation)
{
	PgStat_StatTabEntry *entry = OidIsValid(relation) ? pgstat_fetch_stat_tabentry(relation) : NULL;

	return entry == NULL ? 0 : entry->vacuum_count;
}

static void
start_worker(void)
{
	BackgroundWorker worker = {0};
	MemoryContext old;

	worker.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION;
	worker.bgw_start_time = BgWorkerStart_RecoveryFinished;
	worker.bgw_restart_time = BGW_NEVER_RESTART;
	strlcpy(worker.bgw_library_name, "stream_engine", sizeof(worker.bgw_library_name));
	strlcpy(worker.bgw_function_name, "stream_engine_vacuum_main", sizeof(worker.bgw_function_name));
	snprintf(worker.bgw_name, BGW_MAXLEN, "stream_engine vacuum %u", MyDatabaseId);
	strlcpy(worker.bgw_type, "stream_engine vacuum", BGW_MAXLEN);
	worker.bgw_main_arg = ObjectIdGetDatum(MyDatabaseId);
	worker.bgw_notify_pid = MyProcPid;

	old = MemoryContextSwitchTo(TopMemoryContext);
	if (!RegisterDynamicBackgroundWorker(&worker, &handle))
		handle = NULL;			/* none is free: later */
	MemoryContextSwitchTo(old);
}

/* The worker. */
void
stream_engine_vacuum_main(Datum arg)
{
	se_worker_connect(DatumGetObjectId(arg));
	pgstat_report_appname("stream_engine vacuum");
	pgstat_report_activity(STATE_RUNNING, "VACUUM of stream_engine's tables");
	SetConfigOption("vacuum_cost_delay", "2ms", PGC_USERSET, PGC_S_OVERRIDE);
	SE_FAULT_POINT("vacuum-begin");
	vacuum_tables();
	proc_exit(0);
}

/*
 * As the command does it, one transaction per table. VACUUM keeps what it needs between
 * them in the memory of a portal.
 */
static void
vacuum_tables(void)
{
	MemoryContext memory = AllocSetContextCreate(TopMemoryContext, "stream_engine vacuum",
												 ALLOCSET_DEFAULT_SIZES);
	VacuumStmt *stmt;

	PortalContext = memory;
	StartTransactionCommand();
	MemoryContextSwitchTo(memory);
	stmt = makeNode(VacuumStmt);
	stmt->is_vacuumcmd = true;
	stmt->options = list_make2(makeDefElem("skip_locked", (Node *) makeString("on"), -1),
							   makeDefElem("truncate", (Node *) makeString("off"), -1));
	for (int i = 0; i < lengthof(tables); i++)
	{
		Oid			relation = se_meta_relation(tables[i].name);

		if (OidIsValid(relation))
			stmt->rels = lappend(stmt->rels, makeVacuumRelation(NULL, relation, NIL));
	}
	if (stmt->rels != NIL)
	{
		ParseState *pstate = make_parsestate(NULL);

		PushActiveSnapshot(GetTransactionSnapshot());
		ExecVacuum(pstate, stmt, true);
		if (ActiveSnapshotSet())
			PopActiveSnapshot();
	}
	CommitTransactionCommand();
}
