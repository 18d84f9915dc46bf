/*
 * ddl/utility.c
 *		What a handler can do with a utility statement: pass it on, change it, run another as part of it.
 *
 * Runs in: sessions, inside the utility hook.
 */
#include "postgres.h"

#include "access/xact.h"
#include "commands/event_trigger.h"
#include "ddl/ddl_internal.h"
#include "nodes/makefuncs.h"

static ProcessUtility_hook_type next_utility_hook = NULL;

void
se_utility_init(ProcessUtility_hook_type hook)
{
	next_utility_hook = ProcessUtility_hook;
	ProcessUtility_hook = hook;
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
