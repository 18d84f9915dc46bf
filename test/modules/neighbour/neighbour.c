/*
 * neighbour.c
 *		Another extension, as stream_engine may meet it: hooks in the same places, and a worker that runs statements.
 *
 * Each hook does what real ones do (looks at the statement, reads the catalog, passes
 * on) and, when the setting neighbour.refuse says so, fails after the statement was done.
 * What the utility hook saw of this session's statements is told by neighbour_seen().
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/objectaccess.h"
#include "catalog/pg_class.h"
#include "executor/executor.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "optimizer/planner.h"
#include "parser/analyze.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "storage/ipc.h"
#include "storage/shmem.h"
#include "tcop/utility.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

PG_MODULE_MAGIC;

#define STATEMENT_SIZE 1000

/* What a worker is to run; one at a time, in shared memory. */
typedef struct Errand
{
	Oid			database;
	char		statement[STATEMENT_SIZE];
}			Errand;

static Errand * errand;
static char *refuse = "";
static List *seen = NIL;

static ProcessUtility_hook_type next_utility;
static ExecutorStart_hook_type next_executor_start;
static planner_hook_type next_planner;
static post_parse_analyze_hook_type next_analyze;
static object_access_hook_type next_access;
static shmem_request_hook_type next_request;
static shmem_startup_hook_type next_startup;

void		_PG_init(void);
PGDLLEXPORT void neighbour_worker(Datum arg);

PG_FUNCTION_INFO_V1(neighbour_seen);
PG_FUNCTION_INFO_V1(neighbour_run);

static void
on_utility(PlannedStmt *pstmt, const char *queryString, bool readOnlyTree, ProcessUtilityContext context,
		   ParamListInfo params, QueryEnvironment *queryEnv, DestReceiver *dest, QueryCompletion *qc)
{
	char		name[100];
	MemoryContext before = MemoryContextSwitchTo(TopMemoryContext);

	snprintf(name, sizeof(name), "%s%s", CreateCommandName(pstmt->utilityStmt),
			 context == PROCESS_UTILITY_SUBCOMMAND ? " (part)" : "");
	seen = lappend(seen, pstrdup(name));
	MemoryContextSwitchTo(before);
	(next_utility ? next_utility : standard_ProcessUtility)
		(pstmt, queryString, readOnlyTree, context, params, queryEnv, dest, qc);
	if (strcmp(refuse, name) == 0)
		ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE), errmsg("the neighbour refuses %s", name)));
}

/* Do the tables of a plan exist?  As an auditing extension looks them up. */
static void
on_executor_start(QueryDesc *query, int eflags)
{
	ListCell   *cell;

	foreach(cell, query->plannedstmt->relationOids)
	{
		HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(lfirst_oid(cell)));

		if (HeapTupleIsValid(tuple))
			ReleaseSysCache(tuple);
	}
	(next_executor_start ? next_executor_start : standard_ExecutorStart) (query, eflags);
}

static PlannedStmt *
on_plan(Query *query, const char *string, int options, ParamListInfo params)
{
	return (next_planner ? next_planner : standard_planner) (query, string, options, params);
}

static void
on_analyze(ParseState *state, Query *query, JumbleState * jumble)
{
	if (next_analyze)
		next_analyze(state, query, jumble);
}

static void
on_access(ObjectAccessType type, Oid class, Oid object, int part, void *arg)
{
	if (next_access)
		next_access(type, class, object, part, arg);
	if (class == RelationRelationId)
		(void) SearchSysCacheExists1(RELOID, ObjectIdGetDatum(object));
}

static void
on_request(void)
{
	if (next_request)
		next_request();
	RequestAddinShmemSpace(sizeof(Errand));
}

static void
on_startup(void)
{
	bool		found;

	if (next_startup)
		next_startup();
	errand = ShmemInitStruct("neighbour", sizeof(Errand), &found);
}

void
_PG_init(void)
{
	DefineCustomStringVariable("neighbour.refuse", "command to fail after it was done", NULL, &refuse, "",
							   PGC_USERSET, 0, NULL, NULL, NULL);
	if (!process_shared_preload_libraries_in_progress)
		return;
	next_utility = ProcessUtility_hook, ProcessUtility_hook = on_utility;
	next_executor_start = ExecutorStart_hook, ExecutorStart_hook = on_executor_start;
	next_planner = planner_hook, planner_hook = on_plan;
	next_analyze = post_parse_analyze_hook, post_parse_analyze_hook = on_analyze;
	next_access = object_access_hook, object_access_hook = on_access;
	next_request = shmem_request_hook, shmem_request_hook = on_request;
	next_startup = shmem_startup_hook, shmem_startup_hook = on_startup;
}

/* The commands that the utility hook saw since the last call, in order. */
Datum
neighbour_seen(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	ListCell   *cell;

	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	foreach(cell, seen)
	{
		Datum		value = CStringGetTextDatum(lfirst(cell));
		bool		isnull = false;

		tuplestore_putvalues(result->setResult, result->setDesc, &value, &isnull);
	}
	list_free_deep(seen);
	seen = NIL;
	return (Datum) 0;
}

/* Run a statement in a background worker, as schedulers do; an error of it is in the log alone. */
Datum
neighbour_run(PG_FUNCTION_ARGS)
{
	BackgroundWorker worker = {0};
	BackgroundWorkerHandle *handle;

	errand->database = MyDatabaseId;
	strlcpy(errand->statement, text_to_cstring(PG_GETARG_TEXT_PP(0)), STATEMENT_SIZE);
	strlcpy(worker.bgw_name, "neighbour", sizeof(worker.bgw_name));
	strlcpy(worker.bgw_type, "neighbour", sizeof(worker.bgw_type));
	strlcpy(worker.bgw_library_name, "neighbour", sizeof(worker.bgw_library_name));
	strlcpy(worker.bgw_function_name, "neighbour_worker", sizeof(worker.bgw_function_name));
	worker.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION;
	worker.bgw_start_time = BgWorkerStart_RecoveryFinished;
	worker.bgw_restart_time = BGW_NEVER_RESTART;
	worker.bgw_notify_pid = MyProcPid;
	if (!RegisterDynamicBackgroundWorker(&worker, &handle))
		elog(ERROR, "no background worker is left");
	WaitForBackgroundWorkerShutdown(handle);
	PG_RETURN_VOID();
}

void
neighbour_worker(Datum arg)
{
	BackgroundWorkerUnblockSignals();
	BackgroundWorkerInitializeConnectionByOid(errand->database, InvalidOid, 0);
	StartTransactionCommand();
	SPI_connect();
	PushActiveSnapshot(GetTransactionSnapshot());
	pgstat_report_activity(STATE_RUNNING, errand->statement);
	SPI_execute(errand->statement, false, 0);
	SPI_finish();
	PopActiveSnapshot();
	CommitTransactionCommand();
	proc_exit(0);
}
