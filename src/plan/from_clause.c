/*
 * plan/from_clause.c
 *		FROM: one stream, perhaps with one window function over it.
 *
 * FROM stream [, tumble | hop | cumulate | session | count_window (…)], the comma also written as CROSS JOIN
 * or JOIN … ON condition, with or without LATERAL. Conditions of ON and WHERE are the
 * same for inner joins and end up in plan->quals. A plain view has been replaced by its
 * own FROM and WHERE before (plain_views.c). Everything else is refused here.
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "meta/jobs.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "parser/parsetree.h"
#include "plan/plan_internal.h"
#include "utils/lsyscache.h"

static void read_items(SePlan *plan, List *items);
static void read_item(SePlan *plan, Node *item);
static void read_join(SePlan *plan, JoinExpr *join);
static void read_entry(SePlan *plan, int rti);
static void read_relation(SePlan *plan, int rti);
static void read_function(SePlan *plan, int rti);
static void add_quals(SePlan *plan, Node *quals);
static Oid	entry_window_function(SePlan *plan, int rti);
static bool is_window_function(SePlan *plan, Node *item);
static void refuse_relation(SePlan *plan, int rti) SE_NORETURN;

/* Fill in stream, window function and conditions, or raise. */
void
se_from_clause_read(SePlan *plan)
{
	FromExpr   *from = plan->query->jointree;

	read_items(plan, from->fromlist);
	add_quals(plan, from->quals);

	if (plan->stream_rti == 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("a continuous view needs a stream in FROM"),
				 errhint("A stream is a foreign table of server stream_engine; an ordinary materialized view does not need WITH (stream_engine.continuous).")));
	if (plan->window_rti != 0)
		se_window_call_read(plan, plan->window_rti);
}

static void
read_items(SePlan *plan, List *items)
{
	ListCell   *lc;

	foreach(lc, items)
		read_item(plan, lfirst(lc));
}

static void
read_item(SePlan *plan, Node *item)
{
	if (IsA(item, RangeTblRef))
		read_entry(plan, ((RangeTblRef *) item)->rtindex);
	else if (IsA(item, JoinExpr))
		read_join(plan, (JoinExpr *) item);
	else if (IsA(item, FromExpr))
	{
		/* a view's query: its conditions come before those around it */
		read_items(plan, ((FromExpr *) item)->fromlist);
		add_quals(plan, ((FromExpr *) item)->quals);
	}
	else
		elog(ERROR, "unrecognized FROM item: %d", (int) nodeTag(item));
}

static void
read_join(SePlan *plan, JoinExpr *join)
{
	if (join->jointype != JOIN_INNER && is_window_function(plan, join->rarg))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("a window function cannot be outer-joined in a continuous view"),
				 errhint("Write a comma or CROSS JOIN between the stream and the window function."),
				 se_plan_word_position(plan, "join", NULL)));
	read_item(plan, join->larg);
	read_item(plan, join->rarg);
	add_quals(plan, join->quals);
}

static void
read_entry(SePlan *plan, int rti)
{
	RangeTblEntry *rte = rt_fetch(rti, plan->query->rtable);

	switch (rte->rtekind)
	{
		case RTE_RELATION:
			read_relation(plan, rti);
			break;
		case RTE_FUNCTION:
			read_function(plan, rti);
			break;
		case RTE_SUBQUERY:
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("a subquery in FROM is not supported in a continuous view"),
					 errhint("Write it as one SELECT over the stream."),
					 exprLocation((Node *) rte->subquery->targetList) >= 0 ?
					 se_plan_node_position(plan, rte->subquery->targetList) :
					 se_plan_rte_position(plan, rti)));
			break;
		case RTE_VALUES:
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("VALUES is not supported in a continuous view"),
					 errhint("Join the view with the values in the query that reads it."),
					 se_plan_word_position(plan, "values", NULL)));
			break;
		case RTE_TABLEFUNC:
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("a table function such as XMLTABLE is not supported in a continuous view"),
					 errhint("Keep the document as one column, and expand it in the query that reads the view."),
					 se_plan_position(plan, rte->tablefunc->location)));
			break;
		default:
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("this FROM item is not supported in a continuous view"),
					 errhint("Name one stream in FROM."),
					 se_plan_rte_position(plan, rti)));
	}
}

/* A stream, and the only one. */
static void
read_relation(SePlan *plan, int rti)
{
	RangeTblEntry *rte = rt_fetch(rti, plan->query->rtable);

	if (rte->relkind != RELKIND_FOREIGN_TABLE || !se_stream_is(rte->relid))
		refuse_relation(plan, rti);
	if (rte->tablesample != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("TABLESAMPLE is not supported in a continuous view"),
				 errhint("Filter by a hash of a column in WHERE."),
				 se_plan_rte_position(plan, rti)));
	/* What has_subclass() says stays true when the last child has gone. */
	if (rte->inh && has_subclass(rte->relid) && find_inheritance_children(rte->relid, NoLock) != NIL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("stream \"%s\" has inheritance children, which a continuous view cannot read together",
						get_rel_name(rte->relid)),
				 errhint("Write ONLY %s, or make one view for each stream.", get_rel_name(rte->relid)),
				 se_plan_rte_position(plan, rti)));
	if (plan->stream_rti != 0)
	{
		Oid			first = plan->stream->relation;

		if (first == rte->relid)
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("joining stream \"%s\" with itself is not supported in a continuous view",
							get_rel_name(first)),
					 errhint("Name the stream once, and combine its rows by GROUP BY."),
					 se_plan_rte_position(plan, rti)));
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("joining streams \"%s\" and \"%s\" is not supported in a continuous view",
						get_rel_name(first), get_rel_name(rte->relid)),
				 errhint("Make one continuous view for each stream, and join the views in the query that reads them."),
				 se_plan_rte_position(plan, rti)));
	}
	plan->stream_rti = rti;
	plan->stream = se_stream_info(rte->relid);
	if (plan->stream->watermark != NULL && plan->stream->event_time == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
				 errmsg("stream \"%s\" has a watermark but no event time", get_rel_name(rte->relid)),
				 errhint("Mark its event time column: ALTER FOREIGN TABLE ... ALTER COLUMN ... OPTIONS (ADD event_time 'true')."),
				 se_plan_rte_position(plan, rti)));
}

/* Relations that are not streams, each with the way out that fits it. */
static void
refuse_relation(SePlan *plan, int rti)
{
	RangeTblEntry *rte = rt_fetch(rti, plan->query->rtable);
	const char *name = get_rel_name(rte->relid);

	switch (rte->relkind)
	{
		case RELKIND_MATVIEW:
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("\"%s\" is a materialized view, which a continuous view cannot read", name),
					 errhint("Join with it in the query that reads the continuous view."),
					 se_plan_rte_position(plan, rti)));
			break;
		case RELKIND_FOREIGN_TABLE:
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("foreign table \"%s\" is not a stream", name),
					 errhint("A stream is a foreign table of server stream_engine."),
					 se_plan_rte_position(plan, rti)));
			break;
		case RELKIND_PARTITIONED_TABLE:
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("\"%s\" is a partitioned table, not a stream", name),
					 errhint("Name a stream in FROM; make one continuous view for each stream."),
					 se_plan_rte_position(plan, rti)));
			break;
		default:
			if (se_jobs_exists(rte->relid))
				ereport(ERROR,
						(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						 errmsg("reading continuous view \"%s\" in another one is not supported yet", name),
						 errhint("Write its query over the stream as part of this one, or make this one an ordinary view."),
						 se_plan_rte_position(plan, rti)));
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("\"%s\" is a table, not a stream", name),
					 errhint("Join with it in the query that reads the continuous view."),
					 se_plan_rte_position(plan, rti)));
	}
}

/* A window function of ours; nothing else that makes rows. */
static void
read_function(SePlan *plan, int rti)
{
	RangeTblEntry *rte = rt_fetch(rti, plan->query->rtable);
	RangeTblFunction *function = linitial_node(RangeTblFunction, rte->functions);

	if (list_length(rte->functions) > 1)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("ROWS FROM is not supported in a continuous view"),
				 errhint("Write one window function (tumble, hop, cumulate, session, count_window) after the stream."),
				 se_plan_node_position(plan, function->funcexpr)));
	if (!OidIsValid(entry_window_function(plan, rti)))
	{
		const char *name = rte->eref->aliasname;

		if (IsA(function->funcexpr, FuncExpr))
			name = get_func_name(((FuncExpr *) function->funcexpr)->funcid);
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("function %s() in FROM is not supported in a continuous view", name),
				 errhint("Only the window functions tumble, hop, cumulate, session and count_window can stand in FROM beside a stream."),
				 se_plan_node_position(plan, function->funcexpr)));
	}
	if (rte->funcordinality)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("WITH ORDINALITY is not supported in a continuous view"),
				 errhint("Tell the windows of a row apart by window_end, or window_id."),
				 se_plan_node_position(plan, function->funcexpr)));
	if (plan->window_rti != 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("a continuous view can have one window function only"),
				 errhint("Make one continuous view for each kind of window."),
				 se_plan_node_position(plan, function->funcexpr)));
	plan->window_rti = rti;
}

/* The function of ours that a FROM entry calls, InvalidOid if it is none. */
static Oid
entry_window_function(SePlan *plan, int rti)
{
	RangeTblEntry *rte = rt_fetch(rti, plan->query->rtable);
	Node	   *call;

	if (rte->rtekind != RTE_FUNCTION || list_length(rte->functions) != 1)
		return InvalidOid;
	call = linitial_node(RangeTblFunction, rte->functions)->funcexpr;
	if (!IsA(call, FuncExpr) || se_functions_window_name(((FuncExpr *) call)->funcid) == NULL)
		return InvalidOid;
	return ((FuncExpr *) call)->funcid;
}

static bool
is_window_function(SePlan *plan, Node *item)
{
	return IsA(item, RangeTblRef) &&
		OidIsValid(entry_window_function(plan, ((RangeTblRef *) item)->rtindex));
}

static void
add_quals(SePlan *plan, Node *quals)
{
	if (quals != NULL)
		plan->quals = list_concat(plan->quals, make_ands_implicit((Expr *) quals));
}
