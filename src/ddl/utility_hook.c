/*
 * ddl/utility_hook.c
 *		The utility hook: which statement goes to which file of the front door.
 *
 * Dispatch only. A handler answers true if it did the statement; false lets it take
 * its usual way, possibly changed. Handlers look a statement over by its node alone
 * before they touch a catalog: most statements are none of our business, and some run
 * where no catalog can be read.
 */
#include "postgres.h"

#include "access/xact.h"
#include "base/database_slot.h"
#include "commands/event_trigger.h"
#include "ddl/ddl.h"
#include "ddl/ddl_internal.h"
#include "meta/jobs.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"

typedef bool (*Handler) (SeUtility *utility);

typedef struct Door
{
	NodeTag		tag;
	Handler		handler;
} Door;

static ProcessUtility_hook_type next_utility_hook = NULL;

static void process(PlannedStmt *pstmt, const char *queryString, bool readOnlyTree,
					ProcessUtilityContext context, ParamListInfo params,
					QueryEnvironment *queryEnv, DestReceiver *dest, QueryCompletion *qc);
static bool end_prepared(SeUtility *utility);

/* Several handlers of one tag are asked in turn. */
static const Door doors[] = {
	{T_CreateStmt, se_misplaced},
	{T_CreateForeignTableStmt, se_misplaced},
	{T_CreateTableAsStmt, se_misplaced},
	{T_ViewStmt, se_misplaced},
	{T_AlterTableStmt, se_misplaced},
	{T_DropStmt, se_misplaced},
	{T_TransactionStmt, end_prepared},
	{T_CreateTableAsStmt, se_create_view},
	{T_ExplainStmt, se_create_view_explain},
	{T_RefreshMatViewStmt, se_refresh},
	{T_CopyStmt, se_write_guard_copy},
	{T_DropStmt, se_matview_forms},
	{T_RenameStmt, se_matview_forms},
	{T_AlterObjectSchemaStmt, se_matview_forms},
	{T_AlterObjectDependsStmt, se_matview_forms},
	{T_CommentStmt, se_matview_forms},
	{T_SecLabelStmt, se_matview_forms},
	{T_AlterTableStmt, se_matview_forms},
	{T_AlterTableStmt, se_trust_guard},
	{T_AlterTableStmt, se_alter_guard},
	{T_AlterObjectSchemaStmt, se_trust_guard},
	{T_RenameStmt, se_trust_guard},
	{T_ViewStmt, se_trust_guard},
	{T_RuleStmt, se_trust_guard},
	{T_CreateTrigStmt, se_trust_guard},
	{T_CreateTrigStmt, se_alter_guard},
	{T_DropStmt, se_extension_door},
	{T_AlterExtensionStmt, se_extension_door},
	{T_DropdbStmt, se_database_door},
	{T_CreatedbStmt, se_database_door},
	{T_AlterDatabaseStmt, se_database_door},
	{T_RenameStmt, se_database_door},
};

void
se_ddl_init(void)
{
	if (ProcessUtility_hook != NULL)
		ereport(LOG,
				(errmsg("a library that was loaded before stream_engine does not see CREATE and REFRESH of continuous views"),
				 errdetail("It has a hook on utility commands, as pg_stat_statements has."),
				 errhint("Put stream_engine first in shared_preload_libraries.")));
	next_utility_hook = ProcessUtility_hook;
	ProcessUtility_hook = process;
	se_object_access_init();
	se_drop_init();
	se_write_guard_init();
	se_start_position_init();
	se_database_door_init();
}

static void
process(PlannedStmt *pstmt, const char *queryString, bool readOnlyTree,
		ProcessUtilityContext context, ParamListInfo params,
		QueryEnvironment *queryEnv, DestReceiver *dest, QueryCompletion *qc)
{
	SeUtility	utility = {pstmt, queryString, readOnlyTree, context, params, queryEnv, dest, qc};
	NodeTag		tag = nodeTag(pstmt->utilityStmt);
	bool		done = false;

	for (int i = 0; i < lengthof(doors) && !done; i++)
		if (doors[i].tag == tag)
			done = doors[i].handler(&utility);
	if (!done)
		se_utility_pass_on(&utility);

	/* A part of a statement leaves catalogs half done: a sequence that its column does not own yet. */
	if (context != PROCESS_UTILITY_SUBCOMMAND)
	{
		se_object_access_settle();
		se_drop_settle();
	}
}

void
se_utility_pass_on(SeUtility *utility)
{
	ProcessUtility_hook_type next = next_utility_hook ? next_utility_hook : standard_ProcessUtility;

	next(utility->pstmt, utility->query_string, utility->read_only_tree, utility->context,
		 utility->params, utility->environment, utility->dest, utility->completion);
}

/*
 * As a subcommand, so that event triggers see one command and statement statistics
 * one statement.
 */
void
se_utility_nested(SeUtility *utility, Node *statement)
{
	PlannedStmt *pstmt = makeNode(PlannedStmt);

	pstmt->commandType = CMD_UTILITY;
	pstmt->utilityStmt = statement;
	pstmt->stmt_location = utility->pstmt->stmt_location;
	pstmt->stmt_len = utility->pstmt->stmt_len;
	ProcessUtility(pstmt, utility->query_string, false, PROCESS_UTILITY_SUBCOMMAND,
				   NULL, NULL, None_Receiver, NULL);
	CommandCounterIncrement();
}

Node *
se_utility_own(SeUtility *utility)
{
	if (utility->read_only_tree)
	{
		utility->pstmt = copyObject(utility->pstmt);
		utility->read_only_tree = false;
	}
	return utility->pstmt->utilityStmt;
}

/*
 * The nested statements of `body` are collected as parts of this one; event triggers
 * see its tag, and all that it made.
 */
void
se_utility_as_command(SeUtility *utility, SeUtilityBody body, void *arg)
{
	Node	   *statement = utility->pstmt->utilityStmt;
	bool		complete = utility->context != PROCESS_UTILITY_SUBCOMMAND;
	bool		cleanup = complete && EventTriggerBeginCompleteQuery();

	PG_TRY();
	{
		if (complete)
			EventTriggerDDLCommandStart(statement);
		body(utility, arg);
		if (complete)
		{
			EventTriggerSQLDrop(statement);
			EventTriggerDDLCommandEnd(statement);
		}
	}
	PG_FINALLY();
	{
		if (cleanup)
			EventTriggerEndCompleteQuery();
	}
	PG_END_TRY();
}

/*
 * COMMIT PREPARED and ROLLBACK PREPARED: another session wrote the rows, and may have
 * changed jobs, but only this one knows when they become visible.
 */
static bool
end_prepared(SeUtility *utility)
{
	TransactionStmt *stmt = castNode(TransactionStmt, utility->pstmt->utilityStmt);

	if (stmt->kind != TRANS_STMT_COMMIT_PREPARED && stmt->kind != TRANS_STMT_ROLLBACK_PREPARED)
		return false;
	se_utility_pass_on(utility);
	se_database_slot_wake_readers(MyDatabaseId, InvalidXLogRecPtr);
	se_meta_notify_at_commit();
	return true;
}
