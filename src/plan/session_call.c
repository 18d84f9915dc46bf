/*
 * plan/session_call.c
 *		session() in FROM: its gap, and what a query over sessions must look like.
 *
 * A session is known only when it is over, so its bounds exist above the aggregate and
 * nowhere below: a query groups by them, and nothing that is computed for a row may look at
 * them. The other keys of GROUP BY are what sessions are apart in.
 */
#include "postgres.h"

#include "nodes/nodeFuncs.h"
#include "parser/parse_node.h"
#include "plan/plan_internal.h"
#include "time/gap.h"
#include "utils/timestamp.h"

/* Take the gap: a constant is checked here, an expression for every row. */
void
se_session_call_read(SePlan *plan, const FuncExpr *call, List *arguments)
{
	Node	   *gap = lsecond(arguments);
	ParseCallbackState callback;
	int64		usecs;

	if (IsA(gap, Const) && ((Const *) gap)->constisnull)
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("argument gap of session() must not be NULL"),
				 errhint("Write an interval, such as interval '10 minutes'."),
				 se_plan_node_position(plan, call)));
	se_supported_check_expression(plan, gap);
	plan->gap = (Expr *) gap;
	setup_parser_errposition_callback(&callback, plan->pstate, exprLocation((Node *) call));
	(void) se_session_gap_is_constant(plan, &usecs);
	cancel_parser_errposition_callback(&callback);
}

/* The gap of all rows; false if every row has its own. */
bool
se_session_gap_is_constant(const SePlan *plan, int64 *usecs)
{
	if (!IsA(plan->gap, Const))
		return false;
	*usecs = se_gap_usecs(DatumGetIntervalP(((Const *) plan->gap)->constvalue));
	return true;
}

void
se_session_refuse_ungrouped(SePlan *plan)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("a query over session() must group by the session"),
			 errdetail("Which session a row belongs to is known only when the session is over."),
			 errhint("Write GROUP BY window_start, window_end and the columns whose sessions are apart."),
			 se_plan_rte_position(plan, plan->window_rti)));
}

void
se_session_refuse_row_window(SePlan *plan, const void *where)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("an expression over a row cannot use the bounds of its session"),
			 errdetail("Which session a row belongs to is known only when the session is over."),
			 errhint("Use window_start and window_end in the SELECT list or in HAVING, beside aggregates."),
			 se_plan_node_position(plan, where)));
}

/*
 * Sessions become one, and move: what a call keeps must be something that can be added to
 * another. Arguments that are kept and replayed always can.
 */
void
se_session_adapt_call(SeAggCall *call)
{
	if (!call->mergeable || call->method == SE_AGG_SERIAL)
		call->method = SE_AGG_REPLAY;
}
