/*
 * plan/ttl_options.c
 *		The options `state_ttl` and `ttl_delete`, against what a query can do.
 *
 * Only groups without a window are remembered for ever, so they alone can be forgotten
 * after a while. The column of state_ttl is the stream's event time, because the
 * watermark is about no other. It is compared where a person gives it: the column may be
 * renamed later.
 */
#include "postgres.h"

#include "flow/ttl.h"
#include "plan/plan_internal.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

/* Ticks: a hundredth of the ttl, between a second and a minute. */
#define TICKS_PER_TTL 100
#define TICK_LEAST (INT64CONST(1) * 1000 * 1000)
#define TICK_MOST (INT64CONST(60) * 1000 * 1000)

static void check_shape(const SePlan *plan);
static void check_column(const SePlan *plan, const char *column);

/* Fill plan->ttl…, or raise. Needs the shape of the query. */
void
se_ttl_options_read(SePlan *plan)
{
	const char *text = se_plan_option(plan, "state_ttl");
	const char *delete = se_plan_option(plan, "ttl_delete");
	SeTtlOption option;

	if (text == NULL)
	{
		if (delete != NULL && strcmp(delete, "true") == 0)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("option \"stream_engine.ttl_delete\" needs stream_engine.state_ttl"),
					 errdetail("It deletes the rows of groups that are forgotten, and none are."),
					 errhint("Set stream_engine.state_ttl as well, or leave the option out.")));
		return;
	}
	check_shape(plan);
	se_ttl_parse(text, &option);
	if (option.column != NULL)
	{
		if (plan->pstate->p_sourcetext != NULL || plan->stream->event_time == 0)
			check_column(plan, option.column);
		if (plan->by_proctime)
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("option \"stream_engine.state_ttl\" cannot be by event time in a view with windows over proctime()"),
					 errhint("Leave out ON %s: then the clock counts.", quote_identifier(option.column))));
		plan->ttl = SE_TTL_EVENT;
		plan->ttl_time = se_expr_event_time_var(plan);
	}
	else
	{
		plan->ttl = SE_TTL_PROCESSING;
		plan->ttl_time = se_expr_proctime_var(plan);
		plan->ttl_tick = Min(Max(option.usecs / TICKS_PER_TTL, TICK_LEAST), TICK_MOST);
	}
	plan->ttl_usecs = option.usecs;
	plan->ttl_delete = delete != NULL && strcmp(delete, "true") == 0;
}

static void
check_shape(const SePlan *plan)
{
	if (!plan->grouped)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("option \"stream_engine.state_ttl\" is for views with groups"),
				 errdetail("A view without groups remembers nothing of its rows."),
				 errhint("Leave the option out.")));
	if (plan->group_clause == NIL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("option \"stream_engine.state_ttl\" needs GROUP BY"),
				 errdetail("An aggregate without GROUP BY is one group, which takes no more memory as time goes by."),
				 errhint("Leave the option out, or group by a key.")));
	if (se_plan_groups_by_window(plan))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("option \"stream_engine.state_ttl\" is for groups without a window"),
				 errdetail(plan->counted ? "How far a key has been counted is kept for ever." :
						   "What a window remembers is forgotten when it closes."),
				 errhint("Leave the option out%s.", plan->counted ? "" :
						 "; stream_engine.retention deletes old rows of the result")));
	if (plan->emit.early > 0 || plan->emit.every > 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("option \"stream_engine.state_ttl\" cannot be used together with stream_engine.emit = %s",
						plan->emit.early > 0 ? "early" : "every"),
				 errhint("Use stream_engine.emit = on_update.")));
}

static void
check_column(const SePlan *plan, const char *column)
{
	const char *stream = get_rel_name(plan->stream->relation);

	if (plan->stream->event_time == 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("stream \"%s\" has no event time for stream_engine.state_ttl", stream),
				 errhint("Use ALTER FOREIGN TABLE ... ALTER COLUMN ... OPTIONS (ADD event_time 'true'), or leave out ON %s: then the clock counts.",
						 quote_identifier(column))));
	if (get_attnum(plan->stream->relation, column) != plan->stream->event_time)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("column \"%s\" is not the event time of stream \"%s\"", column, stream),
				 errdetail("The watermark, which says when a group is expired, is about column \"%s\".",
						   get_attname(plan->stream->relation, plan->stream->event_time, false)),
				 errhint("Use stream_engine.state_ttl = '... on %s'.",
						 quote_identifier(get_attname(plan->stream->relation, plan->stream->event_time, false)))));
}
