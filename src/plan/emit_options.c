/*
 * plan/emit_options.c
 *		The options `emit` and `allowed_lateness`, against what a query can do.
 *
 * A result that comes once, at the close of a window, is for windows only; results that
 * change are for groups of any kind. What would do nothing is refused too, because whoever
 * wrote it expected something.
 */
#include "postgres.h"

#include "meta/options.h"
#include "nodes/parsenodes.h"
#include "nodes/value.h"
#include "optimizer/optimizer.h"
#include "optimizer/tlist.h"
#include "plan/plan_internal.h"
#include "utils/lsyscache.h"

static void refuse_without_groups(const SePlan *plan);
static void refuse_by_proctime(const SePlan *plan);
static void check_windowed(const SePlan *plan);
static void check_unwindowed(const SePlan *plan);

/* The value of one of the view's options, NULL if it has not been given. */
const char *
se_plan_option(const SePlan *plan, const char *name)
{
	ListCell   *cell;

	foreach(cell, plan->options)
	{
		DefElem    *option = lfirst_node(DefElem, cell);

		if (strcmp(option->defname, name) == 0)
			return strVal(option->arg);
	}
	return NULL;
}

/* Fill plan->emit, or raise. Needs the shape of the query. */
void
se_emit_options_read(SePlan *plan)
{
	SeEmit	   *emit = &plan->emit;

	se_emit_parse(se_plan_option(plan, "emit"), emit);
	se_emit_parse_lateness(se_plan_option(plan, "allowed_lateness"), emit);
	emit->kept = se_plan_option(plan, SE_OPTION_UPDATING) != NULL;
	if (!emit->given && emit->lateness == 0)
		return;
	if (!plan->grouped)
		refuse_without_groups(plan);
	if (plan->counted)
	{
		se_count_check_emit(plan);
		return;
	}
	if (plan->by_proctime && (emit->lateness > 0 || emit->late_given))
		refuse_by_proctime(plan);
	if (emit->on_update && (emit->early > 0 || emit->every > 0))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("stream_engine.emit cannot have on_update together with %s", emit->early > 0 ? "early" : "every"),
				 errdetail("With on_update each commit shows all changes, so nothing is left to come earlier."),
				 errhint("Leave one of them out.")));
	if (se_plan_groups_by_window(plan))
		check_windowed(plan);
	else
		check_unwindowed(plan);
}

/* How often the clock must be told to the view, µs; 0 = never. */
int64
se_emit_options_tick(const SePlan *plan)
{
	return plan->emit.early_clock ? plan->emit.early : 0;
}

static void
refuse_without_groups(const SePlan *plan)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("option \"stream_engine.%s\" is for views with groups", plan->emit.given ? "emit" : "allowed_lateness"),
			 errdetail("Without an aggregate each row of the stream gives its row of the result at once."),
			 errhint("Leave the option out.")));
}

static void
refuse_by_proctime(const SePlan *plan)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("%s is not for windows over proctime()", plan->emit.lateness > 0 ?
					"option \"stream_engine.allowed_lateness\"" : "stream_engine.emit = late"),
			 errdetail("No row is late there: processing time never goes back."),
			 errhint("Leave it out, or window over the stream's event time.")));
}

static void
check_windowed(const SePlan *plan)
{
	const SeEmit *emit = &plan->emit;

	if (emit->late_given && emit->lateness == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("stream_engine.emit has \"late\", but the view takes no late rows"),
				 errhint("Add stream_engine.allowed_lateness, or leave \"late\" out.")));
}

static void
check_unwindowed(const SePlan *plan)
{
	const SeEmit *emit = &plan->emit;

	if (emit->on_close)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("stream_engine.emit = on_close is for groups of a window"),
				 errdetail("A group without a window never closes: any later row may belong to it."),
				 errhint("Group by a window, or use on_update, early or every.")));
	if (emit->late_given || emit->lateness > 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("%s is for groups of a window", emit->lateness > 0 ?
						"option \"stream_engine.allowed_lateness\"" : "stream_engine.emit = late"),
				 errdetail("No row is late for a group without a window."),
				 errhint("Leave it out, or group by a window.")));
	if (emit->early > 0 && !emit->early_clock && plan->stream->event_time == 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("stream \"%s\" has no event time for stream_engine.emit = early",
						get_rel_name(plan->stream->relation)),
				 errhint("Write \"early %s processing\", which goes by the clock, or declare an event time.",
						 se_emit_length(emit->early))));
}

/* Does GROUP BY name a column of the window function? */
bool
se_plan_groups_by_window(const SePlan *plan)
{
	ListCell   *lc;

	foreach(lc, plan->group_clause)
	{
		Node	   *key = get_sortgroupclause_expr(lfirst(lc), plan->query->targetList);

		if (IsA(key, Var) && ((Var *) key)->varno == plan->window_rti)
			return true;
	}
	return false;
}
