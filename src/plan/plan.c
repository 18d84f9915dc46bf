/*
 * plan/plan.c
 *		The planner's front: a Query in, a dataflow graph out.
 *
 *		source --> [expand] --> [calc] --> [aggregate --> [calc]] --> table sink
 *
 * Refusals come in this order: clauses of the query, plain views, FROM, functions,
 * columns of the result, groups. Nothing here runs user code, but what folding constants runs.
 * Runs in: sessions (CREATE, explain) and task workers; needs a snapshot.
 */
#include "postgres.h"

#include "access/relation.h"
#include "base/compat.h"
#include "flow/graph.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "plan/plan.h"
#include "plan/plan_internal.h"
#include "rewrite/rewriteHandler.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

static SePlan *begin(Query *query, const char *source_text, List *options);
static void read_shape(SePlan *plan);
static SeStep *translate_rows(SePlan *plan, SeStep *input);
static void add_sink(SePlan *plan, SeStep *input, Oid result_table);
static List *result_key_columns(SePlan *plan);
static void note_missing_watermark(SePlan *plan);

/* See plan.h. */
SeGraph *
se_plan_query(Query *query, const char *source_text, Oid result_table, List *options)
{
	SePlan	   *plan = begin(query, source_text, options);
	SeGraph    *graph = palloc0(sizeof(SeGraph));
	SeStep	   *step;
	ErrorContextCallback callback = {error_context_stack, se_plain_views_point, plan};

	error_context_stack = &callback;
	se_supported_check_clauses(plan);
	se_plain_views_merge(plan);
	se_from_clause_read(plan);
	se_expressions_canonicalise(plan);
	se_plain_views_identify(plan);
	read_shape(plan);
	se_functions_check(plan);
	se_supported_check_targets(plan);
	se_emit_options_read(plan);
	se_count_check_option(plan);
	se_ttl_options_read(plan);

	step = se_step_source(plan);
	step = plan->grouped ? se_translate_agg(plan, step) : translate_rows(plan, step);
	add_sink(plan, step, result_table);
	note_missing_watermark(plan);
	error_context_stack = callback.previous;

	graph->nodes = plan->nodes;
	graph->sink = llast(plan->nodes);
	graph->tick_interval = se_emit_options_tick(plan);
	graph->streams = list_make1_oid(plan->stream->relation);
	graph->views = plan->views;
	graph->late_output = se_plan_option(plan, "late_output");
	graph->on_error = se_plan_option(plan, "on_error");
	if (plan->by_proctime && plan->grouped)
		graph->tick_interval = SE_TICK_FINEST;
	if (plan->ttl_tick != 0)
		graph->tick_interval = plan->ttl_tick;
	graph->fingerprint = se_graph_fingerprint(graph, plan->identity->data);
	graph->shape = se_graph_shape(graph);
	return graph;
}

/* See plan.h. */
List *
se_plan_key_names(const SeGraph *graph, Query *query)
{
	const SeTableSinkNode *sink = (const SeTableSinkNode *) graph->sink;
	List	   *names = NIL;
	ListCell   *key;

	foreach(key, sink->key_columns)
	{
		int			column = 0;
		ListCell   *lc;

		foreach(lc, query->targetList)
		{
			TargetEntry *target = lfirst_node(TargetEntry, lc);

			if (!target->resjunk && column++ == lfirst_int(key))
				names = lappend(names, makeString(pstrdup(target->resname)));
		}
	}
	return names;
}

/* See plan.h. */
SeGraph *
se_plan_definition(Oid definition, Oid result_table, List *options)
{
	Relation	view = try_relation_open(definition, AccessShareLock);
	Query	   *query;

	if (view == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("the continuous view has been dropped")));
	if (view->rd_rel->relkind != RELKIND_VIEW || view->rd_rules == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not the definition of a continuous view", RelationGetRelationName(view))));
	query = copyObject(get_view_query(view));
	relation_close(view, NoLock);
	AcquireRewriteLocks(query, false, false);
	return se_plan_query(query, NULL, result_table, options);
}

static SePlan *
begin(Query *query, const char *source_text, List *options)
{
	SePlan	   *plan = palloc0(sizeof(SePlan));

	plan->query = copyObject(query);
	plan->pstate = make_parsestate(NULL);
	plan->pstate->p_sourcetext = source_text;
	plan->options = options;
	plan->identity = makeStringInfo();
	plan->query->targetList = (List *) se_compat_flatten_groups(plan->query, plan->query->targetList);
	plan->query->havingQual = se_compat_flatten_groups(plan->query, plan->query->havingQual);
	return plan;
}

/* Does the query make groups? DISTINCT is a grouping by all its columns. */
static void
read_shape(SePlan *plan)
{
	Query	   *query = plan->query;

	plan->group_clause = query->groupClause != NIL ? query->groupClause : query->distinctClause;
	plan->grouped = plan->group_clause != NIL || query->hasAggs || query->havingQual != NULL;
}

/*
 * Filter and project; with a window function each row is multiplied by its windows,
 * unless it has one only and nobody looks at it.
 */
static SeStep *
translate_rows(SePlan *plan, SeStep *input)
{
	List	   *targets = NIL;
	List	   *names = NIL;
	ListCell   *lc;

	if (plan->session)
		se_session_refuse_ungrouped(plan);
	if (plan->counted)
		se_count_refuse_ungrouped(plan);
	if (plan->window_rti != 0 && (plan->window.kind != SE_WINDOW_TUMBLE ||
								  se_expr_uses(plan->query->targetList, plan->window_rti) ||
								  se_expr_uses(plan->quals, plan->window_rti)))
		input = se_step_expand(plan, input);
	foreach(lc, plan->query->targetList)
	{
		TargetEntry *target = lfirst_node(TargetEntry, lc);

		if (!target->resjunk)
		{
			targets = lappend(targets, target->expr);
			names = lappend(names, target->resname);
		}
	}
	return se_step_calc(plan, input, plan->quals, targets, names, false);
}

static void
add_sink(SePlan *plan, SeStep *input, Oid result_table)
{
	SeTableSinkNode *node = palloc0(sizeof(SeTableSinkNode));

	node->table = result_table;
	se_retention_read(plan, node);
	if (input->node->mode == SE_MODE_UPSERT)
		node->key_columns = result_key_columns(plan);
	se_step_add(plan, &node->node, SE_NODE_TABLE_SINK, input->node, input->node->mode, NIL, NIL);
}

/* Where in the SELECT list the keys of an updated result stand. */
static List *
result_key_columns(SePlan *plan)
{
	List	   *columns = NIL;
	ListCell   *key;

	foreach(key, plan->group_keys)
	{
		int			column = 0;
		int			found = -1;
		ListCell   *lc;

		foreach(lc, plan->query->targetList)
		{
			TargetEntry *target = lfirst_node(TargetEntry, lc);

			if (target->resjunk)
				continue;
			if (found < 0 && equal(target->expr, lfirst(key)))
				found = column;
			column++;
		}
		if (found < 0 && plan->window_rti != 0 && IsA(lfirst(key), Var) &&
			((Var *) lfirst(key))->varno == plan->window_rti)
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("the window is missing in the SELECT list"),
					 errdetail("With these options rows of this view are updated when their group changes, and are found by their keys and their window."),
					 errhint("Add %s to the SELECT list, or leave stream_engine.emit and stream_engine.allowed_lateness out.",
							 ((Var *) lfirst(key))->varattno == SE_WINDOW_START_ATTR ? "window_start" : "window_end"),
					 se_plan_key_position(plan, lfirst(key))));
		if (found < 0)
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("GROUP BY key is missing in the SELECT list"),
					 errdetail("Rows of this view are updated when their group changes, and are found by their keys."),
					 se_emit_is_updating(&plan->emit) ?
					 errhint("Add the key to the SELECT list, or leave stream_engine.emit and stream_engine.allowed_lateness out.") :
					 errhint("Add the key to the SELECT list, or group by a time window, whose rows are never updated."),
					 se_plan_key_position(plan, lfirst(key))));
		columns = lappend_int(columns, found);
	}
	return columns;
}

/* A windowed view that nothing would ever close by itself deserves a word, at CREATE. */
static void
note_missing_watermark(SePlan *plan)
{
	ListCell   *lc;

	if (plan->pstate->p_sourcetext == NULL || plan->stream->watermark != NULL || plan->by_proctime ||
		plan->stream->max_delay >= 0)
		return;
	foreach(lc, plan->nodes)
	{
		if (((SeNode *) lfirst(lc))->kind == SE_NODE_WINDOW_AGG ||
			((SeNode *) lfirst(lc))->kind == SE_NODE_SESSION_AGG)
			ereport(NOTICE,
					(errmsg("stream \"%s\" has no watermark of its own", get_rel_name(plan->stream->relation)),
					 errdetail("Windows close only when stream_engine.emit_watermark() says so."),
					 errhint("Set one: ALTER FOREIGN TABLE ... OPTIONS (ADD watermark '%s - interval ''5 seconds''').",
							 get_attname(plan->stream->relation, plan->stream->event_time, false))));
	}
}
