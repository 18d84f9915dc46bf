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
#include "ddl/ddl.h"
#include "ddl/ddl_internal.h"
#include "meta/jobs.h"
#include "miscadmin.h"

typedef bool (*Handler) (SeUtility *utility);

typedef struct Door
{
	NodeTag		tag;
	Handler		handler;
} Door;

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
	se_utility_init(process);
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
