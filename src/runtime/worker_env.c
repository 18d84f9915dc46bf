/*
 * runtime/worker_env.c
 *		What every worker of ours runs under: settings, and the owner's rights.
 *
 * Workers connect as the bootstrap superuser, because owners of views are often roles
 * that may not log in, and become the owner inside a restricted operation for as long
 * as anything of the user's can run. That includes the commit: deferred triggers run
 * in it. Settings a user's function changes are undone with the transaction.
 *
 * The owner is the session's user, too: functions that judge their caller by session_user
 * or is_superuser, as SECURITY DEFINER ones do, must not take a view for an administrator.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "base/compat.h"
#include "base/fault.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_class.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "nodes/value.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "runtime/worker_env.h"
#include "storage/condition_variable.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/pmsignal.h"
#include "tcop/tcopprot.h"
#include "utils/guc.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

typedef struct ForcedSetting
{
	const char *name;
	const char *value;
	bool		exists;			/* in this PostgreSQL version? */
} ForcedSetting;

/*
 * What database, role or postgresql.conf say about sessions is not meant for us. The
 * commits of workers are asynchronous: results, state and positions are one WAL and
 * live or die together (I5).
 */
static const ForcedSetting forced_settings[] = {
	{"statement_timeout", "0", true},
	{"lock_timeout", "0", true},
	{"idle_in_transaction_session_timeout", "0", true},
	{"transaction_timeout", "0", SE_COMPAT_HAS_TRANSACTION_TIMEOUT},
	{"default_transaction_isolation", "read committed", true},
	{"default_transaction_read_only", "off", true},
	{"default_transaction_deferrable", "off", true},
	{"row_security", "on", true},
	{"zero_damaged_pages", "off", true},
	{"session_replication_role", "origin", true},
	{"exit_on_error", "off", true}, /* an error is written down with its row, and is no end */
	{"synchronous_commit", "off", true},
	{"track_counts", "on", true},	/* by what is dead, vacuum.c knows when it is time */
};

/* Who we were before se_worker_begin. */
static Oid	saved_user;
static int	saved_context;
static int	guc_level;

/* Was the transaction begun as a read-only one? */
static bool began_read_only;

static void become_ourselves(void);

void
se_worker_connect(Oid database)
{
	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGTERM, die);
	BackgroundWorkerUnblockSignals();
	BackgroundWorkerInitializeConnectionByOid(database, InvalidOid, 0);
	become_ourselves();

	for (int i = 0; i < lengthof(forced_settings); i++)
		if (forced_settings[i].exists)
			SetConfigOption(forced_settings[i].name, forced_settings[i].value,
							PGC_SUSET, PGC_S_OVERRIDE);
}

/* ALTER DATABASE … SET role, or session_authorization, is the database owner's and has made us somebody else. */
static void
become_ourselves(void)
{
	if (GetUserId() == BOOTSTRAP_SUPERUSERID && GetSessionUserId() == BOOTSTRAP_SUPERUSERID &&
		!OidIsValid(GetCurrentRoleId()))
		return;
	StartTransactionCommand();
	SetConfigOption("session_authorization", GetUserNameFromId(BOOTSTRAP_SUPERUSERID, false),
					PGC_SUSET, PGC_S_OVERRIDE);
	SetConfigOption("role", "none", PGC_SUSET, PGC_S_OVERRIDE);
	CommitTransactionCommand();
}

/*
 * As an ordinary user's, so that a row of the catalog that came out of a dump cannot
 * set what only superusers may.
 */
void
se_worker_apply_settings(const SeJobMeta *meta)
{
	ListCell   *cell;

	Assert(!IsTransactionState());
	foreach(cell, meta->settings)
	{
		DefElem    *setting = lfirst_node(DefElem, cell);

		(void) set_config_option(setting->defname, strVal(setting->arg), PGC_USERSET,
								 PGC_S_SESSION, GUC_ACTION_SET, true, ERROR, false);
	}
}

bool
se_worker_begin(Oid relation, bool read_only)
{
	HeapTuple	tuple;
	Oid			owner;

	StartTransactionCommand();
	XactReadOnly = began_read_only = read_only;
	PushActiveSnapshot(GetTransactionSnapshot());

	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relation));
	if (!HeapTupleIsValid(tuple))
	{
		PopActiveSnapshot();
		CommitTransactionCommand();
		return false;
	}
	owner = ((Form_pg_class) GETSTRUCT(tuple))->relowner;
	ReleaseSysCache(tuple);

	GetUserIdAndSecContext(&saved_user, &saved_context);
	if (GetSessionUserId() != owner && !SE_FAULT_WRONG("wrong-session-user"))
		SetSessionAuthorization(owner, superuser_arg(owner));
	SetUserIdAndSecContext(owner, saved_context | SECURITY_RESTRICTED_OPERATION);
	guc_level = NewGUCNestLevel();
	return true;
}

/*
 * In PostgreSQL 15 RESET transaction_read_only is let through: what a function has written
 * would be there before the results it belongs to, and again after an error.
 */
void
se_worker_commit(void)
{
	if (began_read_only && !XactReadOnly)
		ereport(ERROR,
				(errcode(ERRCODE_READ_ONLY_SQL_TRANSACTION),
				 errmsg("a function of the view's query has reset transaction_read_only"),
				 errhint("Write in a trigger of the result.")));
	PopActiveSnapshot();
	AtEOXact_GUC(false, guc_level);
	CommitTransactionCommand();
	SetUserIdAndSecContext(saved_user, saved_context);
}

void
se_worker_begin_own(void)
{
	StartTransactionCommand();
	Assert(GetUserId() == BOOTSTRAP_SUPERUSERID);
	PushActiveSnapshot(GetTransactionSnapshot());
}

void
se_worker_commit_own(void)
{
	PopActiveSnapshot();
	CommitTransactionCommand();
}

void
se_worker_survive(void)
{
	HOLD_INTERRUPTS();
	EmitErrorReport();
	FlushErrorState();
	AbortOutOfAnyTransaction();
	LWLockReleaseAll();
	ConditionVariableCancelSleep();
	if (MyReplicationSlot != NULL)
		ReplicationSlotRelease();
	RESUME_INTERRUPTS();
}

void
se_worker_between(void)
{
	CHECK_FOR_INTERRUPTS();
	if (!PostmasterIsAlive())
		proc_exit(1);
	if (ConfigReloadPending)
	{
		ConfigReloadPending = false;
		ProcessConfigFile(PGC_SIGHUP);
	}
}
