/*
 * plan/count_call.c
 *		count_window() in FROM: its size and slide, and what a query over count windows must look like.
 *
 * Which windows a row is in depends on how many rows of its key came before, and a key is what
 * GROUP BY says beside window_id. So the windows exist above the aggregate and nowhere
 * below, as sessions do: a query groups by window_id, and nothing that is computed for a row may look at it.
 */
#include "postgres.h"

#include "nodes/nodeFuncs.h"
#include "parser/parse_node.h"
#include "plan/plan_internal.h"

/* As of windows of time (time/window.c). */
#define MOST_WINDOWS_PER_ROW 1000000

static int64 rows_argument(SePlan *plan, const FuncExpr *call, Node *argument, const char *name);

/* Take size and slide; the latter is the former if it is not given. */
void
se_count_call_read(SePlan *plan, const FuncExpr *call, List *arguments)
{
	Node	   *slide = lsecond(arguments);
	const char *partial = se_plan_option(plan, "emit_partial");

	plan->count_size = rows_argument(plan, call, linitial(arguments), "size");
	if (IsA(slide, Const) && ((Const *) slide)->constisnull)
		plan->count_slide = plan->count_size;
	else
		plan->count_slide = rows_argument(plan, call, slide, "slide");
	plan->emit_partial = partial != NULL && strcmp(partial, "true") == 0;

	if (plan->count_size / plan->count_slide > MOST_WINDOWS_PER_ROW)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("count_window() puts every row into too many windows"),
				 errdetail("Size is " INT64_FORMAT " times the slide; at most %d times is allowed.",
						   plan->count_size / plan->count_slide, MOST_WINDOWS_PER_ROW),
				 errhint("Choose a larger slide."),
				 se_plan_node_position(plan, call)));
}

/* A constant number of rows, at least 1. */
static int64
rows_argument(SePlan *plan, const FuncExpr *call, Node *argument, const char *name)
{
	Const	   *value = (Const *) argument;

	if (!IsA(argument, Const))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("argument %s of count_window() must be a constant in a continuous view", name),
				 errdetail("All windows of a view have the same size, whatever the row and the session."),
				 errhint("Write a number of rows, such as 100."),
				 se_plan_node_position(plan, argument)));
	if (value->constisnull)
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("argument %s of count_window() must not be NULL", name),
				 errhint("Write a number of rows, such as 100."),
				 se_plan_node_position(plan, call)));
	if (DatumGetInt64(value->constvalue) < 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument %s of count_window() must be at least 1", name),
				 errdetail("It is " INT64_FORMAT ".", DatumGetInt64(value->constvalue)),
				 errhint("Write a number of rows, such as 100."),
				 se_plan_node_position(plan, call)));
	return DatumGetInt64(value->constvalue);
}

/* The option that means something with count windows only. */
void
se_count_check_option(const SePlan *plan)
{
	const char *partial = se_plan_option(plan, "emit_partial");

	if (!plan->counted && partial != NULL && strcmp(partial, "true") == 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("option \"stream_engine.emit_partial\" is for views over count_window()"),
				 errdetail("Windows of time show parts of their result by stream_engine.emit."),
				 errhint("Leave the option out.")));
}

/* Those that say when windows of time are emitted: of them a count window knows only on_close. */
void
se_count_check_emit(const SePlan *plan)
{
	const SeEmit *emit = &plan->emit;

	if (emit->on_update || emit->late_given || emit->early > 0 || emit->every > 0 || emit->lateness > 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("option \"stream_engine.%s\" is not for views over count_window()",
						emit->lateness > 0 ? "allowed_lateness" : "emit"),
				 errdetail("A window of so many rows is emitted when it is full, and no row is late for it."),
				 errhint("Leave the option out; with stream_engine.emit_partial windows come before they are full.")));
}

void
se_count_refuse_ungrouped(SePlan *plan)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("a query over count_window() must group by window_id"),
			 errdetail("Which windows a row is in depends on the rows of its key that came before, and GROUP BY says what a key is."),
			 errhint("Write GROUP BY window_id and the columns whose rows are counted apart."),
			 se_plan_rte_position(plan, plan->window_rti)));
}

void
se_count_refuse_row_window(SePlan *plan, const void *where)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("an expression over a row cannot use window_id of count_window()"),
			 errdetail("Which windows a row is in is known only where the rows of its key are counted."),
			 errhint("Use window_id in the SELECT list or in HAVING, beside aggregates."),
			 se_plan_node_position(plan, where)));
}

/*
 * A key begins its accumulators anew, and merges them where windows overlap: what a call keeps must
 * allow that. Arguments that are kept and replayed always do.
 */
void
se_count_adapt_call(const SePlan *plan, SeAggCall *call)
{
	bool		overlap = plan->count_slide < plan->count_size;

	if (call->method == SE_AGG_SERIAL || call->aggref->aggdistinct != NIL || (overlap && !call->mergeable))
		call->method = SE_AGG_REPLAY;
}
