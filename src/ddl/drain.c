/*
 * ddl/drain.c
 *		stream_engine.drain and undrain: the streams of a database take no more rows, and views reflect all there are.
 *
 * For what cannot keep the log: pg_upgrade throws the WAL away. drain() turns new writers
 * away at once, waits for those that are there, and then for every view to commit
 * everything before a mark. If it fails nothing has changed; committed, it lasts until
 * undrain(), over restarts and pg_upgrade.
 *
 * Runs in: sessions of the database's owner. It holds no lock that a worker or a writer
 * needs while it waits.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "base/compat.h"
#include "base/draining.h"
#include "base/fault.h"
#include "base/shmem.h"
#include "catalog/pg_database.h"
#include "commands/dbcommands.h"
#include "ddl/ddl_internal.h"
#include "log/append.h"
#include "meta/drained.h"
#include "meta/jobs.h"
#include "meta/table.h"
#include "miscadmin.h"
#include "runtime/runtime.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

SE_FUNCTION_INFO_V1(stream_engine_drain);
SE_FUNCTION_INFO_V1(stream_engine_undrain);

static void check_allowed(const char *function);
static List *running_views(bool leave_out_stopped);
static List *streams(void);

/* drain(leave_out_stopped) */
Datum
stream_engine_drain(PG_FUNCTION_ARGS)
{
	List	   *views;
	ListCell   *cell;
	XLogRecPtr	mark;

	check_allowed("stream_engine.drain");
	if (se_append_in_use())
		ereport(ERROR,
				(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
				 errmsg("stream_engine.drain cannot run in a transaction that has written to a stream"),
				 errhint("Commit first.")));
	views = running_views(PG_GETARG_BOOL(0));

	se_draining_begin(MyDatabaseId);
	se_drained_set();
	SE_FAULT_POINT("drain-begun");
	foreach(cell, streams())
	{
		LOCKTAG		tag;

		SET_LOCKTAG_RELATION(tag, MyDatabaseId, lfirst_oid(cell));
		WaitForLockers(tag, ShareLock, false);
	}
	mark = se_mark_write(SE_MARK_REFRESH, InvalidOid, 0, 0, NULL, 0, true, NULL);
	foreach(cell, views)
		if (se_jobs_exists(lfirst_oid(cell)))
		se_wait_reflected(lfirst_oid(cell), NULL, mark, -1, true);
	PG_RETURN_VOID();
}

Datum
stream_engine_undrain(PG_FUNCTION_ARGS)
{
	check_allowed("stream_engine.undrain");
	se_drained_clear();
	PG_RETURN_VOID();
}

static void
check_allowed(const char *function)
{
	se_shmem_require();
	PreventCommandIfReadOnly(function);
	PreventCommandDuringRecovery(function);
	if (!se_compat_owns_database(MyDatabaseId, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_DATABASE, get_database_name(MyDatabaseId));
}

/*
 * The views that will read to the end. One that is stopped or failed has rows before it
 * that it will never see if the log goes; dormant ones have nothing in this log.
 */
static List *
running_views(bool leave_out_stopped)
{
	List	   *views = NIL;
	StringInfoData stopped;
	ListCell   *cell;

	initStringInfo(&stopped);
	foreach(cell, se_jobs_list())
	{
		const SeJobMeta *job = lfirst(cell);

		if (!se_jobs_identity_is_ours(job))
			continue;
		if (job->goal == SE_GOAL_RUN)
			views = lappend_oid(views, job->job);
		else
			appendStringInfo(&stopped, "%s%s is %s", stopped.len > 0 ? ", " : "",
							 quote_qualified_identifier(get_namespace_name(get_rel_namespace(job->job)),
														get_rel_name(job->job)),
							 job->goal == SE_GOAL_FAILED ? "failed" : "stopped");
	}
	if (stopped.len > 0 && !leave_out_stopped)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("not all continuous views of this database are running"),
				 errdetail("%s; rows that they have not read would be lost to them.", stopped.data),
				 errhint("Start them with stream_engine.start or drop them; stream_engine.drain(leave_out_stopped => true) does without them.")));
	if (stopped.len > 0)
		ereport(WARNING,
				(errcode(ERRCODE_WARNING),
				 errmsg("some continuous views do not reflect all rows of their streams"),
				 errdetail("%s.", stopped.data)));
	return views;
}

/* Everything that has ever been a stream here, and still exists. */
static List *
streams(void)
{
	Relation	table = se_table_open("stream_layouts", AccessShareLock);
	SeTableScan scan;
	HeapTuple	tuple;
	List	   *found = NIL;

	se_table_scan_begin(&scan, table, 0, NULL);
	while ((tuple = se_table_scan_next(&scan)) != NULL)
	{
		bool		isnull;

		found = list_append_unique_oid(found,
									   DatumGetObjectId(heap_getattr(tuple, 1, RelationGetDescr(table), &isnull)));
	}
	se_table_scan_end(&scan);
	table_close(table, AccessShareLock);
	return found;
}
