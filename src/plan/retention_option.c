/*
 * plan/retention_option.c
 *		The option `retention`, against what a query can do.
 *
 * Rows are deleted a while after their window has become final, so there must be a
 * window, and its end in the result.
 */
#include "postgres.h"

#include "flow/emit.h"
#include "nodes/parsenodes.h"
#include "plan/plan_internal.h"

static int	window_end_column(const SePlan *plan);

/* Fill the sink's retention, or raise. Needs the shape of the query. */
void
se_retention_read(SePlan *plan, SeTableSinkNode *sink)
{
	const char *text = se_plan_option(plan, "retention");

	sink->retention_column = -1;
	if (text == NULL)
		return;
	if (!plan->grouped || !se_plan_groups_by_window(plan) || plan->counted)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("option \"stream_engine.retention\" is for groups of a window of time"),
				 errdetail("Rows are deleted a while after the end of their window."),
				 errhint("Leave the option out%s.", plan->grouped && !plan->counted && plan->group_clause != NIL ?
						 "; with stream_engine.state_ttl and ttl_delete, rows of groups without a window are deleted" : "")));
	sink->retention_column = window_end_column(plan);
	if (sink->retention_column < 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("option \"stream_engine.retention\" needs window_end in the SELECT list"),
				 errdetail("By this column the rows to delete are found."),
				 errhint("Add window_end to the SELECT list, and to GROUP BY.")));
	sink->retention = se_emit_interval("retention", text, false);
}

/* Where in the result the end of the window stands, -1 = nowhere. */
static int
window_end_column(const SePlan *plan)
{
	int			column = 0;
	ListCell   *lc;

	foreach(lc, plan->query->targetList)
	{
		TargetEntry *target = lfirst_node(TargetEntry, lc);

		if (target->resjunk)
			continue;
		if (IsA(target->expr, Var) && ((Var *) target->expr)->varno == plan->window_rti &&
			((Var *) target->expr)->varattno == SE_WINDOW_END_ATTR)
			return column;
		column++;
	}
	return -1;
}
