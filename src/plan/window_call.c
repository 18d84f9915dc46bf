/*
 * plan/window_call.c
 *		The window function of FROM: its arguments, checked and made into a window.
 *
 * The time argument must be the stream's event time column itself, because watermark
 * and lateness are judged by it, or proctime(), which never goes back; sizes must be constants, because the state of a view
 * is cut by them.
 */
#include "postgres.h"

#include "base/compat.h"
#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "plan/plan_internal.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"

typedef struct WindowCall
{
	const char *name;
	FuncExpr   *call;			/* as written */
	SeWindowKind kind;
	List	   *arguments;		/* all of them, in declared order, simplified */
} WindowCall;

static void read_kind(WindowCall *window);
static void check_time_argument(SePlan *plan, const WindowCall *window);
static const Interval *interval_argument(SePlan *plan, const WindowCall *window, int n, const char *name);
static const char *zone_argument(SePlan *plan, const WindowCall *window, int n);
static void make_window(SePlan *plan, const WindowCall *window, const Interval *size,
						const Interval *slide, const Interval *shift, const char *zone);

/* Fill plan->window from FROM entry rti, or raise. */
void
se_window_call_read(SePlan *plan, int rti)
{
	RangeTblEntry *rte = rt_fetch(rti, plan->query->rtable);
	RangeTblFunction *function = linitial_node(RangeTblFunction, rte->functions);
	WindowCall	window = {NULL};
	const Interval *size;
	const Interval *slide = NULL;
	const Interval *shift;
	const char *zone;
	int			n = 1;

	window.call = castNode(FuncExpr, se_compat_flatten_join_aliases(plan->query, function->funcexpr));
	window.name = se_functions_our_name(window.call->funcid);
	plan->session = strcmp(window.name, "session") == 0;
	plan->counted = strcmp(window.name, "count_window") == 0;
	if (!plan->session && !plan->counted)
		read_kind(&window);

	/* folding also puts named arguments in their places and defaults where they lack */
	window.arguments = castNode(FuncExpr, eval_const_expressions(NULL, (Node *) window.call))->args;
	if (plan->counted)
	{
		se_count_call_read(plan, window.call, window.arguments);
		return;
	}
	check_time_argument(plan, &window);
	if (plan->session)
	{
		se_session_call_read(plan, window.call, window.arguments);
		return;
	}
	if (window.kind == SE_WINDOW_HOP)
		slide = interval_argument(plan, &window, n++, "slide");
	else if (window.kind == SE_WINDOW_CUMULATE)
		slide = interval_argument(plan, &window, n++, "step");
	size = interval_argument(plan, &window, n++, "size");
	shift = interval_argument(plan, &window, n++, "shift");
	zone = zone_argument(plan, &window, n);
	make_window(plan, &window, size, slide, shift, zone);
}

static void
read_kind(WindowCall *window)
{
	if (strcmp(window->name, "tumble") == 0)
		window->kind = SE_WINDOW_TUMBLE;
	else if (strcmp(window->name, "hop") == 0)
		window->kind = SE_WINDOW_HOP;
	else if (strcmp(window->name, "cumulate") == 0)
		window->kind = SE_WINDOW_CUMULATE;
	else
		elog(ERROR, "unknown window function %s()", window->name);
}

/* The first argument is the event time column, bare, or proctime(). */
static void
check_time_argument(SePlan *plan, const WindowCall *window)
{
	Node	   *time = linitial(window->arguments);
	const char *stream = get_rel_name(plan->stream->relation);

	if (IsA(time, FuncExpr))
	{
		const char *ours = se_functions_our_name(((FuncExpr *) time)->funcid);

		if (ours != NULL && strcmp(ours, "proctime") == 0)
		{
			plan->by_proctime = true;
			return;
		}
	}
	if (plan->stream->event_time == 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("stream \"%s\" has no event time, so it cannot be windowed", stream),
				 errhint("Declare it: ALTER FOREIGN TABLE %s ALTER COLUMN ... OPTIONS (ADD event_time 'true'); or window over proctime().",
						 quote_identifier(stream)),
				 se_plan_node_position(plan, time)));
	if (!IsA(time, Var) || ((Var *) time)->varno != plan->stream_rti ||
		((Var *) time)->varattno != plan->stream->event_time)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("the first argument of %s() must be the event time column of the stream", window->name),
				 errdetail("The event time of stream \"%s\" is column \"%s\"; its watermark says nothing about other times.",
						   stream, get_attname(plan->stream->relation, plan->stream->event_time, false)),
				 errhint("Write %s(%s, ...), or window over proctime().", window->name,
						 quote_identifier(get_attname(plan->stream->relation, plan->stream->event_time, false))),
				 se_plan_node_position(plan, time)));
}

/* A constant interval that is not NULL. */
static const Interval *
interval_argument(SePlan *plan, const WindowCall *window, int n, const char *name)
{
	Node	   *argument = list_nth(window->arguments, n);
	Const	   *value;

	if (!IsA(argument, Const))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("argument %s of %s() must be a constant in a continuous view", name, window->name),
				 errdetail("All windows of a view have the same size, whatever the row and the session."),
				 errhint("Write an interval, such as interval '10 seconds'."),
				 se_plan_node_position(plan, argument)));
	value = (Const *) argument;
	if (value->constisnull)
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("argument %s of %s() must not be NULL", name, window->name),
				 errhint("Write an interval, such as interval '10 seconds'."),
				 se_plan_node_position(plan, window->call)));
	return DatumGetIntervalP(value->constvalue);
}

/* A constant time zone, NULL if there is none. */
static const char *
zone_argument(SePlan *plan, const WindowCall *window, int n)
{
	Node	   *argument = list_nth(window->arguments, n);

	if (!IsA(argument, Const))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("argument timezone of %s() must be a constant in a continuous view", window->name),
				 errdetail("All windows of a view are in the same time zone, whatever the row and the session."),
				 errhint("Write the name of a time zone, such as 'Europe/Berlin'."),
				 se_plan_node_position(plan, argument)));
	if (((Const *) argument)->constisnull)
		return NULL;
	return TextDatumGetCString(((Const *) argument)->constvalue);
}

/* Checks the values; an error from the arithmetic points at the call. */
static void
make_window(SePlan *plan, const WindowCall *window, const Interval *size,
			const Interval *slide, const Interval *shift, const char *zone)
{
	ParseCallbackState callback;

	setup_parser_errposition_callback(&callback, plan->pstate, exprLocation((Node *) window->call));
	if (zone != NULL && !plan->by_proctime && plan->stream->event_time_type == TIMESTAMPOID)
		se_window_refuse_zone();
	plan->window = se_window_make(window->kind, size, slide, shift, zone);
	cancel_parser_errposition_callback(&callback);
}
