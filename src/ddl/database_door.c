/*
 * ddl/database_door.c
 *		Commands that need a database without connections: our workers leave it first.
 *
 * DROP DATABASE, ALTER DATABASE … RENAME or SET TABLESPACE, and CREATE DATABASE with it
 * as template fail while anybody else is connected, and nobody can ask a background
 * worker to go. So the database is locked as the command itself will lock it, which
 * keeps new workers out (they wait for the lock while they connect); then those in it
 * are ended, and the command takes its usual way. The launcher starts them again.
 */
#include "postgres.h"

#include "access/xact.h"
#include "base/compat.h"
#include "base/job_slot.h"
#include "catalog/pg_database.h"
#include "catalog/pg_extension.h"
#include "commands/dbcommands.h"
#include "commands/defrem.h"
#include "commands/extension.h"
#include "ddl/ddl_internal.h"
#include "log/retention.h"
#include "meta/jobs.h"
#include "miscadmin.h"
#include "postmaster/bgworker.h"
#include "storage/ipc.h"
#include "storage/lmgr.h"
#include "storage/lwlock.h"
#include "storage/proc.h"
#include "utils/acl.h"

/* How often it is looked whether the workers have gone, ms. */
#define LOOK_AGAIN_MS 10

/* A database that may want a coordinator when this transaction is committed. */
static Oid	announced_database = InvalidOid;

static bool empty_database(const char *name, LOCKMODE lock);
static void announce(XactEvent event, void *arg);
static void wait_for_workers(Oid database, const char *kind);
static bool end_workers(Oid database, const char *kind);
static const char *template_of(const CreatedbStmt *stmt);

void
se_database_door_init(void)
{
	RegisterXactCallback(announce, NULL);
}

bool
se_database_door(SeUtility *utility)
{
	Node	   *statement = utility->pstmt->utilityStmt;

	/* It may accept connections from now on. */
	if (IsA(statement, AlterDatabaseStmt))
		announced_database = get_database_oid(((AlterDatabaseStmt *) statement)->dbname, true);

	/* In a transaction block the command itself says that it cannot run there. */
	if (IsTransactionBlock())
		return false;
	if (IsA(statement, DropdbStmt))
	{
		const char *name = ((DropdbStmt *) statement)->dbname;
		Oid			database = get_database_oid(name, true);

		empty_database(name, AccessExclusiveLock);
		se_utility_pass_on(utility);
		/* Slots of this kind belong to no database, and would keep WAL for ever. */
		if (OidIsValid(database) && !OidIsValid(get_database_oid(name, true)))
			se_retention_drop(database);
		return true;
	}
	if (IsA(statement, RenameStmt) && ((RenameStmt *) statement)->renameType == OBJECT_DATABASE)
		empty_database(((RenameStmt *) statement)->subname, AccessExclusiveLock);
	else if (IsA(statement, AlterDatabaseStmt))
	{
		ListCell   *cell;

		foreach(cell, ((AlterDatabaseStmt *) statement)->options)
			if (strcmp(lfirst_node(DefElem, cell)->defname, "tablespace") == 0)
			empty_database(((AlterDatabaseStmt *) statement)->dbname, AccessExclusiveLock);
	}
	else if (IsA(statement, CreatedbStmt) &&
			 empty_database(template_of((CreatedbStmt *) statement), ShareLock))
	{
		/* What was copied wants a coordinator of its own. */
		se_utility_pass_on(utility);
		announced_database = get_database_oid(((CreatedbStmt *) statement)->dbname, true);
		return true;
	}
	return false;
}

static void
announce(XactEvent event, void *arg)
{
	if (!OidIsValid(announced_database))
		return;
	if (event == XACT_EVENT_COMMIT)
		se_job_slot_wake_coordinator(announced_database);
	if (event == XACT_EVENT_COMMIT || event == XACT_EVENT_ABORT)
		announced_database = InvalidOid;
}

/*
 * DROP EXTENSION locks our tables and all views, in an order of its own, and would
 * deadlock with the workers that are at work on them. So they are ended first, and our
 * lock on the job catalog, which is the first thing they look at, keeps new ones out.
 * The coordinator, told at commit, leaves and drops the slot.
 */
bool
se_extension_door(SeUtility *utility)
{
	DropStmt   *stmt = castNode(DropStmt, utility->pstmt->utilityStmt);
	ListCell   *cell;

	if (stmt->removeType != OBJECT_EXTENSION)
		return false;
	foreach(cell, stmt->objects)
	{
		Oid			catalog = se_meta_relation("job_catalog");

		if (strcmp(strVal(lfirst(cell)), "stream_engine") != 0 || !OidIsValid(catalog) ||
			!se_compat_owns_extension(get_extension_oid("stream_engine", false), GetUserId()))
			continue;
		LockRelationOid(catalog, AccessExclusiveLock);
		wait_for_workers(MyDatabaseId, "stream_engine task");
		wait_for_workers(MyDatabaseId, "stream_engine vacuum");
		se_meta_notify_at_commit();
	}
	return false;
}

/*
 * Lock the database and end our workers in it; false if there were none. Whoever may
 * not do the command learns it from the command.
 */
static bool
empty_database(const char *name, LOCKMODE lock)
{
	Oid			database = name ? get_database_oid(name, true) : InvalidOid;

	if (!OidIsValid(database) || database == MyDatabaseId ||
		!se_compat_owns_database(database, GetUserId()) || !end_workers(database, "stream_engine"))
		return false;
	LockSharedObject(DatabaseRelationId, database, 0, lock);
	wait_for_workers(database, "stream_engine");
	return true;
}

/* End the workers of a kind in a database, until there is none. */
static void
wait_for_workers(Oid database, const char *kind)
{
	static uint32 wait_event = 0;

	if (wait_event == 0)
		wait_event = se_compat_wait_event("StreamEngineWorkersLeave");
	while (end_workers(database, kind))
	{
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, LOOK_AGAIN_MS, wait_event);
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
	}
}

/* Ask all workers of a database whose type begins so to end; false if there is none. */
static bool
end_workers(Oid database, const char *kind)
{
	bool		any = false;

	for (int i = 0; i < ProcGlobal->allProcCount; i++)
	{
		PGPROC	   *proc = &ProcGlobal->allProcs[i];
		const char *type;
		int			pid = 0;

		LWLockAcquire(ProcArrayLock, LW_SHARED);
		if (proc->databaseId == database)
			pid = proc->pid;
		LWLockRelease(ProcArrayLock);
		if (pid == 0)
			continue;
		type = GetBackgroundWorkerTypeByPid(pid);
		if (type == NULL || strncmp(type, kind, strlen(kind)) != 0)
			continue;
		any = true;
		se_job_slot_expect_end(pid);
		if (kill(pid, SIGTERM) < 0 && errno != ESRCH)
			elog(WARNING, "could not end worker %d: %m", pid);
	}
	return any;
}

/* Name of the template of a CREATE DATABASE. */
static const char *
template_of(const CreatedbStmt *stmt)
{
	ListCell   *cell;

	foreach(cell, stmt->options)
	{
		DefElem    *option = lfirst_node(DefElem, cell);

		if (strcmp(option->defname, "template") == 0 && option->arg != NULL)
			return defGetString(option);
	}
	return "template1";
}
