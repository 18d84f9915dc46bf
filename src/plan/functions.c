/*
 * plan/functions.c
 *		Which functions a continuous query may call, and where.
 *
 * A view must equal its query whenever it is computed, and a replay after a crash
 * must give the rows it gave before. So what changes from call to call (VOLATILE) or
 * with the statement's start (the now() family) is allowed only where a value is
 * computed once and then kept: in the SELECT list of a view without aggregates.
 * What describes the session that runs the query, or writes, is allowed nowhere.
 */
#include "postgres.h"

#include "access/transam.h"
#include "catalog/dependency.h"
#include "catalog/pg_proc.h"
#include "commands/extension.h"
#include "nodes/nodeFuncs.h"
#include "plan/plan_internal.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

typedef struct CheckContext
{
	SePlan	   *plan;
	bool		changing_allowed;	/* in the SELECT list of a view without aggregates */
	Node	   *node;			/* the node whose functions are checked */
} CheckContext;

static bool check_walker(Node *node, CheckContext *context);
static bool check_function(Oid function, void *arg);
static void check_value_function(const SQLValueFunction *function, CheckContext *context);
static bool is_clock_function(Oid function);
static bool is_session_function(Oid function);
static bool is_sequence_function(Oid function);
static void refuse_clock(CheckContext *context, const char *what) SE_NORETURN;

/* The name of a function that came with the extension; NULL for all others. */
const char *
se_functions_our_name(Oid function)
{
	if (function < FirstNormalObjectId)
		return NULL;
	if (getExtensionOfObject(ProcedureRelationId, function) != get_extension_oid("stream_engine", true))
		return NULL;
	return get_func_name(function);
}

/* The name of a window function of ours, which belongs in FROM; NULL for all others. */
const char *
se_functions_window_name(Oid function)
{
	static const char *const names[] = {"tumble", "hop", "cumulate", "session", "count_window"};
	const char *ours = se_functions_our_name(function);

	for (int i = 0; ours != NULL && i < lengthof(names); i++)
	{
		if (strcmp(ours, names[i]) == 0)
			return ours;
	}
	return NULL;
}

/* Refuse functions whose value would not be the same at every computation. */
void
se_functions_check(SePlan *plan)
{
	Query	   *query = plan->query;
	CheckContext context = {plan, false, NULL};

	check_walker((Node *) plan->quals, &context);
	check_walker(query->havingQual, &context);
	check_walker((Node *) plan->gap, &context);
	context.changing_allowed = !plan->grouped;
	check_walker((Node *) query->targetList, &context);
}

static bool
check_walker(Node *node, CheckContext *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, SQLValueFunction))
		check_value_function((SQLValueFunction *) node, context);
	context->node = node;
	check_functions_in_node(node, check_function, context);
	return expression_tree_walker(node, check_walker, context);
}

/* Callback of check_functions_in_node: never asks to stop, raises instead. */
static bool
check_function(Oid function, void *arg)
{
	CheckContext *context = arg;
	SePlan	   *plan = context->plan;

	if (is_sequence_function(function))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("function %s() cannot be used in a continuous view", get_func_name(function)),
				 errdetail("Rows are computed in read-only transactions, which cannot use a sequence."),
				 errhint("Give the result table an identity column with ALTER TABLE ... ADD COLUMN."),
				 se_plan_node_position(plan, context->node)));
	if (is_session_function(function))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("function %s() cannot be used in a continuous view", get_func_name(function)),
				 errdetail("It describes the session that asks, but rows are computed by a background process."),
				 errhint("Store the value in a column of the stream, with a DEFAULT."),
				 se_plan_node_position(plan, context->node)));
	if (context->changing_allowed)
		return false;
	if (is_clock_function(function))
		refuse_clock(context, psprintf("function %s()", get_func_name(function)));
	if (func_volatile(function) == PROVOLATILE_VOLATILE)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("volatile function %s() can be used only in the SELECT list of a continuous view without aggregates",
						get_func_name(function)),
				 errdetail("Its value would differ each time the row is looked at."),
				 errhint("Store the value in a column of the stream, with a DEFAULT; if the function is in fact constant for its arguments, declare it IMMUTABLE or STABLE."),
				 se_plan_node_position(plan, context->node)));
	return false;
}

/* CURRENT_DATE, CURRENT_USER and their like. */
static void
check_value_function(const SQLValueFunction *function, CheckContext *context)
{
	context->node = (Node *) function;
	switch (function->op)
	{
		case SVFOP_CURRENT_DATE:
			if (!context->changing_allowed)
				refuse_clock(context, "CURRENT_DATE");
			break;
		case SVFOP_CURRENT_TIME:
		case SVFOP_CURRENT_TIME_N:
			if (!context->changing_allowed)
				refuse_clock(context, "CURRENT_TIME");
			break;
		case SVFOP_CURRENT_TIMESTAMP:
		case SVFOP_CURRENT_TIMESTAMP_N:
			if (!context->changing_allowed)
				refuse_clock(context, "CURRENT_TIMESTAMP");
			break;
		case SVFOP_LOCALTIME:
		case SVFOP_LOCALTIME_N:
			if (!context->changing_allowed)
				refuse_clock(context, "LOCALTIME");
			break;
		case SVFOP_LOCALTIMESTAMP:
		case SVFOP_LOCALTIMESTAMP_N:
			if (!context->changing_allowed)
				refuse_clock(context, "LOCALTIMESTAMP");
			break;
		case SVFOP_SESSION_USER:
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("SESSION_USER cannot be used in a continuous view"),
					 errdetail("It describes the session that asks, but rows are computed by a background process."),
					 errhint("Store the value in a column of the stream, with a DEFAULT; CURRENT_USER is the owner of the view."),
					 se_plan_node_position(context->plan, function)));
			break;
		default:
			/* the owner of the view, its database, its schema: the same at every run */
			break;
	}
}

static void
refuse_clock(CheckContext *context, const char *what)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("%s can be used only in the SELECT list of a continuous view without aggregates", what),
			 errdetail("A stream has no one moment at which it is asked; the result would depend on when a row was processed."),
			 errhint("Use the stream's event time column, or proctime(), the time the row's transaction committed."),
			 se_plan_node_position(context->plan, context->node)));
}

/* Functions that are STABLE because they ask for the start of the statement. */
static bool
is_clock_function(Oid function)
{
	switch (function)
	{
		case F_NOW:
		case F_TRANSACTION_TIMESTAMP:
		case F_STATEMENT_TIMESTAMP:
		case F_CLOCK_TIMESTAMP:
		case F_TIMEOFDAY:
			/* these two measure from CURRENT_DATE */
		case F_AGE_TIMESTAMP:
		case F_AGE_TIMESTAMPTZ:
			return true;
		default:
			return false;
	}
}

/* Functions about the client, the backend or the transaction that runs the query. */
static bool
is_session_function(Oid function)
{
	switch (function)
	{
		case F_SESSION_USER:
		case F_INET_CLIENT_ADDR:
		case F_INET_CLIENT_PORT:
		case F_INET_SERVER_ADDR:
		case F_INET_SERVER_PORT:
		case F_PG_BACKEND_PID:
		case F_CURRENT_QUERY:
		case F_TXID_CURRENT:
		case F_TXID_CURRENT_IF_ASSIGNED:
		case F_TXID_CURRENT_SNAPSHOT:
		case F_PG_CURRENT_XACT_ID:
		case F_PG_CURRENT_XACT_ID_IF_ASSIGNED:
		case F_PG_CURRENT_SNAPSHOT:
			return true;
		default:
			return false;
	}
}

static bool
is_sequence_function(Oid function)
{
	switch (function)
	{
		case F_NEXTVAL:
		case F_CURRVAL:
		case F_LASTVAL:
		case F_SETVAL_REGCLASS_INT8:
		case F_SETVAL_REGCLASS_INT8_BOOL:
			return true;
		default:
			return false;
	}
}
