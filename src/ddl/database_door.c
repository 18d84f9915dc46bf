/*
 * ddl/database_door.c
 *		Commands that need a database without connections: our workers leave it first.
 *
 * DROP DATABASE, ALTER DATABASE … RENAME or SET TABLESPACE, and CREATE DATABASE with it
 * as template fail while anybody else is connected, and nobody can ask a background
 * worker to go. So the database is locked as the command itself will lock it, which
 * keeps new workers out (they wait for the lock while they connect); then those in it
 * are ended, and the command takes its usual way. The launcher starts them again. They
 * are dismissed first (base/job_slot.h), so that nothing of it counts as a failure.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "base/compat.h"
#include "base/database_slot.h"
#include "catalog/pg_authid.h"
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
#include "utils/memutils.h"
#include "utils/syscache.h"

/* How often it is looked whether the workers have gone, ms. */
#define LOOK_AGAIN_MS 10

/* Databases that may want a coordinator when this transaction is over; TopTransactionContext. */
static List *announced = NIL;

static void drop_database(SeUtility *utility, const DropdbStmt *stmt);
static void copy_database(SeUtility *utility, const CreatedbStmt *stmt);
static bool moves_database(const AlterDatabaseStmt *stmt);
static bool empty_database(Oid database, LOCKMODE lock);
static bool may_copy(Oid database);
static void announce(Oid database);
static void wake_announced(XactEvent event, void *arg);
static void lock_out_workers(Oid catalog);
static void wait_for_workers(Oid database, const char *kind);
static bool end_workers(Oid database, const char *kind);
static const char *template_of(const CreatedbStmt *stmt);

void
se_database_door_init(void)
{
	RegisterXactCallback(wake_announced, NULL);
}

/*
 * All but RENAME cannot run in a transaction block, nor in a function, and the command
 * itself says so.
 */
bool
se_database_door(SeUtility *utility)
{
	Node	   *statement = utility->pstmt->utilityStmt;
	Oid			database;
	bool		alone = !IsTransactionBlock() && utility->context == PROCESS_UTILITY_TOPLEVEL;

	switch (nodeTag(statement))
	{
		case T_DropdbStmt:
			if (!alone)
				return false;
			drop_database(utility, (DropdbStmt *) statement);
			return true;
		case T_CreatedbStmt:
			if (!alone)
				return false;
			copy_database(utility, (CreatedbStmt *) statement);
			return true;
		case T_RenameStmt:
			if (((RenameStmt *) statement)->renameType == OBJECT_DATABASE)
				(void) empty_database(get_database_oid(((RenameStmt *) statement)->subname, true), AccessExclusiveLock);
			return false;
		case T_AlterDatabaseStmt:
			/* It may accept connections from now on. */
			database = get_database_oid(((AlterDatabaseStmt *) statement)->dbname, true);
			announce(database);
			if (!alone || !moves_database((AlterDatabaseStmt *) statement) ||
				!empty_database(database, AccessExclusiveLock))
				return false;
			/* It is done in two transactions. */
			se_utility_pass_on(utility);
			announce(database);
			return true;
		default:
			return false;
	}
}

/* Slots of our kind belong to no database, and would keep WAL for ever. */
static void
drop_database(SeUtility *utility, const DropdbStmt *stmt)
{
	const char *name = stmt->dbname;
	Oid			database = get_database_oid(name, true);

	(void) empty_database(database, AccessExclusiveLock);
	se_utility_pass_on(utility);
	if (OidIsValid(database) && !OidIsValid(get_database_oid(name, true)))
		se_retention_drop(database);
}

/* What was copied wants a coordinator of its own; so does the template, once more. */
static void
copy_database(SeUtility *utility, const CreatedbStmt *stmt)
{
	Oid			from = get_database_oid(template_of(stmt), true);
	bool		had_workers = false;

	/* A name that is taken is an error, and disturbs nobody. */
	if (!OidIsValid(get_database_oid(stmt->dbname, true)))
		had_workers = empty_database(from, ShareLock);
	se_utility_pass_on(utility);
	if (had_workers)
		announce(get_database_oid(stmt->dbname, true));
}

static bool
moves_database(const AlterDatabaseStmt *stmt)
{
	ListCell   *cell;

	foreach(cell, stmt->options)
		if (strcmp(lfirst_node(DefElem, cell)->defname, "tablespace") == 0)
		return true;
	return false;
}

static void
announce(Oid database)
{
	MemoryContext old = MemoryContextSwitchTo(TopTransactionContext);

	if (OidIsValid(database))
		announced = list_append_unique_oid(announced, database);
	MemoryContextSwitchTo(old);
}

/* Also when the command failed: the workers are gone all the same. */
static void
wake_announced(XactEvent event, void *arg)
{
	ListCell   *cell;

	if (event == XACT_EVENT_COMMIT || event == XACT_EVENT_ABORT)
		foreach(cell, announced)
			se_database_slot_wake_coordinator(lfirst_oid(cell));
	if (event != XACT_EVENT_PRE_COMMIT && event != XACT_EVENT_PRE_PREPARE)
		announced = NIL;
}

/*
 * DROP EXTENSION locks our tables and all views, in an order of its own, and would
 * deadlock with the workers that are at work on them, also without CASCADE, when it
 * finds out only afterwards that it must not; a script of ALTER EXTENSION … UPDATE may
 * change any of our tables.
 */
bool
se_extension_door(SeUtility *utility)
{
	Node	   *statement = utility->pstmt->utilityStmt;
	Oid			catalog = se_meta_relation("job_catalog");
	bool		ours = false;
	ListCell   *cell;

	if (!OidIsValid(catalog))
		return false;
	if (IsA(statement, AlterExtensionStmt))
		ours = strcmp(((AlterExtensionStmt *) statement)->extname, "stream_engine") == 0;
	else if (castNode(DropStmt, statement)->removeType == OBJECT_EXTENSION)
		foreach(cell, ((DropStmt *) statement)->objects)
			ours |= strcmp(strVal(lfirst(cell)), "stream_engine") == 0;
	if (!ours || !se_compat_owns_extension(get_extension_oid("stream_engine", false), GetUserId()))
		return false;
	lock_out_workers(catalog);
	return false;
}

/*
 * Our lock on the job catalog, which is the first thing a worker looks at, keeps new ones
 * out until the end of the transaction. Then the coordinator is told: it starts them
 * again, or, with nothing to look after, leaves and drops the slot.
 */
static void
lock_out_workers(Oid catalog)
{
	LockRelationOid(catalog, AccessExclusiveLock);
	wait_for_workers(MyDatabaseId, "stream_engine task");
	wait_for_workers(MyDatabaseId, "stream_engine vacuum");
	se_meta_notify_at_commit();
}

/*
 * Lock the database and end our workers in it; false if there were none. It is locked
 * first, because one may be on its way in. Whoever may not do the command learns it
 * from the command.
 */
static bool
empty_database(Oid database, LOCKMODE lock)
{
	if (!OidIsValid(database) || database == MyDatabaseId ||
		!(se_compat_owns_database(database, GetUserId()) || (lock == ShareLock && may_copy(database))))
		return false;
	LockSharedObject(DatabaseRelationId, database, 0, lock);
	if (!end_workers(database, "stream_engine"))
		return false;
	announce(database);
	wait_for_workers(database, "stream_engine");
	return true;
}

/* May somebody who does not own a database copy it, as a template? */
static bool
may_copy(Oid database)
{
	HeapTuple	tuple = SearchSysCache1(DATABASEOID, ObjectIdGetDatum(database));
	bool		may = HeapTupleIsValid(tuple) && ((Form_pg_database) GETSTRUCT(tuple))->datistemplate;

	if (HeapTupleIsValid(tuple))
		ReleaseSysCache(tuple);
	tuple = may ? SearchSysCache1(AUTHOID, ObjectIdGetDatum(GetUserId())) : NULL;
	may = HeapTupleIsValid(tuple) && ((Form_pg_authid) GETSTRUCT(tuple))->rolcreatedb;
	if (HeapTupleIsValid(tuple))
		ReleaseSysCache(tuple);
	return may;
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

	se_database_slot_dismiss(database, strcmp(kind, "stream_engine") == 0);
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
