/*
 * runtime/standby.c
 *		On a standby: a slot that keeps the WAL the continuous views need after a promotion.
 *
 * Slots are not replicated, and a standby removes WAL by its own checkpoints. So one
 * process, which the postmaster starts as soon as the standby can be read, keeps a slot
 * of the standby's own, "stream_engine_standby". It makes *passes*: in each it sends a
 * short-lived worker into one database after the other, which reads the replicated
 * positions and leaves what its jobs need in shared memory; then the slot moves to the
 * least of these, of the holds of SELECTs, and of the *horizon*.
 *
 * The horizon keeps the WAL of views that are not visible yet. It is a place such that
 * every transaction which had begun before it has ended: whoever creates a view that a
 * pass does not see has begun, and written its start mark, after the horizon. A pass
 * notes where the replay stands and which xid comes next; when all xids before that one
 * have ended, the place noted becomes the horizon.
 *
 * A server whose databases have no streams has no slot. When the server is promoted the
 * process ends; coordinators make their databases' slots, and then the launcher drops
 * this one (launcher.c).
 */
#include "postgres.h"

#include "access/transam.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "access/xlogrecovery.h"
#include "base/compat.h"
#include "base/fault.h"
#include "base/holds.h"
#include "base/shmem.h"
#include "log/missing_wal.h"
#include "log/retention.h"
#include "meta/jobs.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "replication/slot.h"
#include "runtime/retain.h"
#include "runtime/runtime.h"
#include "runtime/worker_env.h"
#include "storage/ipc.h"
#include "storage/spin.h"
#include "tcop/tcopprot.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

/* Between the begins of two passes; a pass that takes long is followed by a longer pause. */
#define PASS_MS 5000
#define PAUSE_FACTOR 20
/* After a pass that failed. */
#define RETRY_MS 30000
/* How often we look whether the server was promoted. */
#define LOOK_MS 1000

/* What a worker found in its database. */
typedef struct Answer
{
	slock_t		lock;			/* protects everything below */
	Oid			database;		/* InvalidOid = no answer yet */
	bool		streams;		/* are there any, or jobs? */
	bool		jobs;			/* has any job a claim? */
	XLogRecPtr	need;			/* of the jobs; Invalid = one cannot be read */
} Answer;

static Answer *MyAnswer = NULL;

/* Of the standby process. */
static XLogRecPtr horizon = InvalidXLogRecPtr;
static XLogRecPtr noted_lsn = InvalidXLogRecPtr;	/* becomes the horizon ... */
static TransactionId noted_xid; /* ... when all xids before this one have ended */
static XLogRecPtr told_need = InvalidXLogRecPtr;	/* WAL that is missing was reported */

static bool pass(MemoryContext memory);
static void move_horizon(void);
static bool ask(Oid database, Answer *answer);
static void keep(XLogRecPtr need);
static void drop_all(bool own);
static void report_missing(XLogRecPtr need);

static void
init_answer(void *memory)
{
	SpinLockInit(&((Answer *) memory)->lock);
}

void
se_standby_init(void)
{
	BackgroundWorker worker = {0};

	se_shmem_register("stream_engine standby", sizeof(Answer), init_answer, (void **) &MyAnswer);
	worker.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION;
	worker.bgw_start_time = BgWorkerStart_ConsistentState;
	worker.bgw_restart_time = 5;	/* after an error; exit status 0 gives its place back */
	strlcpy(worker.bgw_library_name, "stream_engine", sizeof(worker.bgw_library_name));
	strlcpy(worker.bgw_function_name, "stream_engine_standby_main", sizeof(worker.bgw_function_name));
	strlcpy(worker.bgw_name, "stream_engine standby", BGW_MAXLEN);
	strlcpy(worker.bgw_type, "stream_engine standby", BGW_MAXLEN);
	RegisterBackgroundWorker(&worker);
}

void
stream_engine_standby_main(Datum arg)
{
	TimestampTz next = 0;
	MemoryContext memory;
	uint32		wait_event;

	if (!RecoveryInProgress())
		proc_exit(0);
	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGTERM, die);
	BackgroundWorkerUnblockSignals();
	BackgroundWorkerInitializeConnection(NULL, NULL, 0);
	wait_event = se_compat_wait_event("StreamEngineStandby");
	pgstat_report_appname("stream_engine standby");
	memory = AllocSetContextCreate(TopMemoryContext, "stream_engine standby", ALLOCSET_DEFAULT_SIZES);

	for (;;)
	{
		TimestampTz now = GetCurrentTimestamp();

		ResetLatch(MyLatch);
		if (ConfigReloadPending)
			next = 0;			/* what is needed may be another thing now */
		se_worker_between();
		if (!RecoveryInProgress())
			proc_exit(0);
		if (now >= next)
		{
			bool		done = pass(memory);
			TimestampTz took = GetCurrentTimestamp() - now;

			next = now + (done ? Max(1000 * (int64) PASS_MS, PAUSE_FACTOR * took) : 1000 * (int64) RETRY_MS);
		}
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, LOOK_MS, wait_event);
	}
}

/* Ask all databases, and move the slot. False if that could not be done: nothing has moved. */
static bool
pass(MemoryContext memory)
{
	volatile bool done = false;

	PG_TRY();
	{
		XLogRecPtr	need = PG_UINT64_MAX;
		bool		streams = false;
		bool		all = true;
		ListCell   *cell;

		SE_FAULT_POINT("standby-pass");
		move_horizon();
		MemoryContextReset(memory);
		MemoryContextSwitchTo(memory);
		foreach(cell, se_launcher_databases(false))
		{
			Answer		answer;

			all = all && ask(lfirst_oid(cell), &answer);
			if (!all)
				break;
			streams |= answer.streams;
			if (answer.jobs)
				need = Min(need, answer.need);
		}
		if (all && !streams)
			drop_all(true);
		else if (all && need != InvalidXLogRecPtr)
			keep(need);
		done = all;
	}
	PG_CATCH();
	{
		se_worker_survive();
	}
	PG_END_TRY();
	return done;
}

/* See which transactions have ended. A snapshot is taken before the databases are asked. */
static void
move_horizon(void)
{
	TransactionId oldest;

	StartTransactionCommand();
	oldest = GetTransactionSnapshot()->xmin;
	CommitTransactionCommand();

	if (noted_lsn != InvalidXLogRecPtr && TransactionIdFollowsOrEquals(oldest, noted_xid))
	{
		horizon = noted_lsn;
		noted_lsn = InvalidXLogRecPtr;
	}
	if (noted_lsn == InvalidXLogRecPtr)
	{
		/* In this order: what begins in between counts as begun before. */
		noted_lsn = GetXLogReplayRecPtr(NULL);
		noted_xid = XidFromFullTransactionId(ReadNextFullTransactionId());
	}
}

/* What a database needs; false if nobody could tell. */
static bool
ask(Oid database, Answer *answer)
{
	BackgroundWorker worker = {0};
	BackgroundWorkerHandle *handle;

	SpinLockAcquire(&MyAnswer->lock);
	MyAnswer->database = InvalidOid;
	SpinLockRelease(&MyAnswer->lock);

	worker.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION;
	worker.bgw_start_time = BgWorkerStart_ConsistentState;
	worker.bgw_restart_time = BGW_NEVER_RESTART;
	strlcpy(worker.bgw_library_name, "stream_engine", sizeof(worker.bgw_library_name));
	strlcpy(worker.bgw_function_name, "stream_engine_standby_look_main", sizeof(worker.bgw_function_name));
	snprintf(worker.bgw_name, BGW_MAXLEN, "stream_engine standby look %u", database);
	strlcpy(worker.bgw_type, "stream_engine standby look", BGW_MAXLEN);
	worker.bgw_main_arg = ObjectIdGetDatum(database);
	worker.bgw_notify_pid = MyProcPid;
	if (!RegisterDynamicBackgroundWorker(&worker, &handle))
		ereport(ERROR,
				(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
				 errmsg("no background worker is free to see what WAL continuous views need on this standby"),
				 errhint("Raise max_worker_processes and restart the server.")));
	if (WaitForBackgroundWorkerShutdown(handle) == BGWH_POSTMASTER_DIED)
		proc_exit(1);
	pfree(handle);

	SpinLockAcquire(&MyAnswer->lock);
	*answer = *MyAnswer;
	SpinLockRelease(&MyAnswer->lock);
	return answer->database == database;
}

/* The worker: read the catalog of one database, as replayed by now, and leave. */
void
stream_engine_standby_look_main(Datum arg)
{
	Oid			database = DatumGetObjectId(arg);
	SeRetainNeed need;
	bool		streams;

	se_worker_connect(database);
	se_worker_begin_own();
	SE_FAULT_POINT("standby-look");
	need = se_retain_need(se_jobs_list(), InvalidXLogRecPtr);
	streams = need.jobs || se_retain_has_streams();
	se_worker_commit_own();

	SpinLockAcquire(&MyAnswer->lock);
	MyAnswer->database = database;
	MyAnswer->streams = streams;
	MyAnswer->jobs = need.jobs;
	MyAnswer->need = need.lsn;
	SpinLockRelease(&MyAnswer->lock);
	proc_exit(0);
}

/* Make and move the slot: to what the jobs need (PG_UINT64_MAX = nothing), not past the horizon. */
static void
keep(XLogRecPtr need)
{
	XLogRecPtr	to = Min(need, horizon);
	bool		lost = false;

	if (se_retention_restart_lsn(InvalidOid, &lost) == InvalidXLogRecPtr || lost)
		se_retention_ensure_standby();
	/* Without a horizon the slot stays, or goes back. */
	if (horizon == InvalidXLogRecPtr)
		to = Min(need, se_retention_restart_lsn(InvalidOid, NULL));
	if (to == InvalidXLogRecPtr || !se_retention_move(InvalidOid, to))
		return;
	drop_all(false);
	if (need != PG_UINT64_MAX)
		report_missing(need);
}

/* Slots of databases are from the time this server was the primary; they never move here. */
static void
drop_all(bool own)
{
	ListCell   *cell;

	if (own && se_retention_restart_lsn(InvalidOid, NULL) != InvalidXLogRecPtr)
		se_retention_drop(InvalidOid);
	foreach(cell, se_retention_databases())
		se_retention_drop(lfirst_oid(cell));
}

/* The standby has not what a view will need: say it while an archive or the primary may help. */
static void
report_missing(XLogRecPtr need)
{
	char	   *names;

	if (need == told_need)
		return;
	told_need = need;
	names = se_missing_wal_names(need);
	if (names != NULL)
		ereport(WARNING,
				(errcode(ERRCODE_UNDEFINED_FILE),
				 errmsg("WAL that continuous views need after a promotion is not on this standby"),
				 errdetail("Missing in pg_wal: %s.", names),
				 errhint("Copy these segments from an archive or the primary into pg_wal of this server.")));
}
