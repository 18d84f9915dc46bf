/*
 * plan/steps.c
 *		Making graph nodes, and knowing what each of their columns holds.
 */
#include "postgres.h"

#include "access/table.h"
#include "base/compat.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "parser/parsetree.h"
#include "plan/plan_internal.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

static TupleDesc make_desc(List *columns, List *names);
static bool is_identity(const SeStep *input, List *targets);
static void add_identity(SePlan *plan, const char *what, const void *node);

/* Complete a node, give it the next id, append it to the graph. */
SeStep *
se_step_add(SePlan *plan, SeNode *node, SeNodeKind kind, SeNode *input,
			SeChangeMode mode, List *columns, List *names)
{
	SeStep	   *step = palloc0(sizeof(SeStep));

	node->kind = kind;
	node->id = list_length(plan->nodes);
	node->inputs = input ? list_make1(input) : NIL;
	node->desc = kind == SE_NODE_TABLE_SINK ? NULL : make_desc(columns, names);
	node->mode = mode;
	plan->nodes = lappend(plan->nodes, node);

	step->node = node;
	step->columns = columns;
	return step;
}

/* The stream, with the attributes the query needs (perhaps none: count(*)). */
SeStep *
se_step_source(SePlan *plan)
{
	SeLogSourceNode *node = palloc0(sizeof(SeLogSourceNode));
	List	   *attnos = se_expr_stream_attnos(plan);
	Relation	rel = table_open(plan->stream->relation, AccessShareLock);
	TupleDesc	desc = RelationGetDescr(rel);
	List	   *columns = NIL;
	List	   *names = NIL;
	ListCell   *lc;
	int			i = 0;

	node->stream = plan->stream->relation;
	node->event_time = plan->stream->event_time;
	node->event_time_type = plan->stream->event_time_type;
	node->by_proctime = plan->by_proctime;
	node->attnos = palloc(sizeof(AttrNumber) * Max(list_length(attnos), 1));
	foreach(lc, attnos)
	{
		int			attno = lfirst_int(lc);

		node->attnos[i++] = attno;
		if (attno == SE_COLUMN_PROCTIME)
		{
			columns = lappend(columns, makeVar(plan->stream_rti, attno, TIMESTAMPTZOID, -1, InvalidOid, 0));
			names = lappend(names, se_step_unique_name(names, "proctime"));
		}
		else if (attno == SE_COLUMN_WATERMARK)
		{
			columns = lappend(columns, makeVar(plan->stream_rti, attno,
											   plan->stream->event_time_type == TIMESTAMPOID ? TIMESTAMPOID : TIMESTAMPTZOID,
											   -1, InvalidOid, 0));
			names = lappend(names, se_step_unique_name(names, "watermark"));
		}
		else
		{
			Form_pg_attribute attr = TupleDescAttr(desc, attno - 1);

			columns = lappend(columns, makeVar(plan->stream_rti, attno, attr->atttypid,
											   attr->atttypmod, attr->attcollation, 0));
			names = lappend(names, se_step_unique_name(names, NameStr(attr->attname)));
		}
	}
	table_close(rel, NoLock);
	add_identity(plan, "source", attnos);
	return se_step_add(plan, &node->node, SE_NODE_LOG_SOURCE, NULL, SE_MODE_APPEND, columns, names);
}

/* One row per window of the row. */
SeStep *
se_step_expand(SePlan *plan, SeStep *input)
{
	SeWindowExpandNode *node = palloc0(sizeof(SeWindowExpandNode));
	List	   *columns = list_copy(input->columns);
	List	   *names = NIL;

	node->window = plan->window;
	node->time_column = se_step_column(input, se_expr_time_var(plan));
	for (int i = 0; i < input->node->desc->natts; i++)
		names = lappend(names, pstrdup(NameStr(TupleDescAttr(input->node->desc, i)->attname)));
	columns = lappend(columns, se_expr_window_var(plan, SE_WINDOW_START_ATTR));
	names = lappend(names, se_step_unique_name(names, "window_start"));
	columns = lappend(columns, se_expr_window_var(plan, SE_WINDOW_END_ATTR));
	names = lappend(names, se_step_unique_name(names, "window_end"));
	columns = lappend(columns, se_expr_window_var(plan, SE_WINDOW_TIME_ATTR));
	names = lappend(names, se_step_unique_name(names, "window_time"));
	return se_step_add(plan, &node->node, SE_NODE_WINDOW_EXPAND, input->node, input->node->mode,
					   columns, names);
}

/*
 * Filter and project: canonical conditions and targets. Left out (the input itself is
 * returned) when it would do nothing. `stateful`: state above depends on it, so its
 * expressions are part of the graph's fingerprint.
 */
SeStep *
se_step_calc(SePlan *plan, SeStep *input, List *quals, List *targets, List *names, bool stateful)
{
	SeCalcNode *node;
	List	   *over_quals = NIL;
	ListCell   *lc;

	foreach(lc, quals)
		over_quals = lappend(over_quals, se_expr_over(plan, lfirst(lc), input));
	if (stateful)
		add_identity(plan, "filter", over_quals);

	node = palloc0(sizeof(SeCalcNode));
	node->quals = se_expr_planned_quals(over_quals);
	if (node->quals == NIL && is_identity(input, targets))
		return input;

	foreach(lc, targets)
	{
		Expr	   *over = se_expr_over(plan, lfirst(lc), input);

		if (stateful)
			add_identity(plan, "column", over);
		node->targets = lappend(node->targets, se_expr_planned(over));
	}
	return se_step_add(plan, &node->node, SE_NODE_CALC, input->node, input->node->mode, targets, names);
}

/* Conditions on the rows of a step, ready to be evaluated. */
List *
se_step_conditions(SePlan *plan, const SeStep *input, List *quals)
{
	List	   *over = NIL;
	ListCell   *lc;

	foreach(lc, quals)
		over = lappend(over, se_expr_over(plan, lfirst(lc), input));
	return se_expr_planned_quals(over);
}

/* The column of a step that holds an expression, -1 if none does. */
int
se_step_column(const SeStep *step, const void *expr)
{
	ListCell   *lc;

	foreach(lc, step->columns)
	{
		if (equal(lfirst(lc), expr))
			return foreach_current_index(lc);
	}
	return -1;
}

/* A name not yet in the list: the wanted one, perhaps with a number. */
char *
se_step_unique_name(List *names, const char *wanted)
{
	char	   *name = pstrdup(wanted);
	int			n = 0;

	for (;;)
	{
		bool		taken = false;
		ListCell   *lc;

		foreach(lc, names)
		{
			if (strcmp(lfirst(lc), name) == 0)
				taken = true;
		}
		if (!taken)
			return name;
		name = psprintf("%.*s_%d", NAMEDATALEN - 12, wanted, ++n);
	}
}

/* Columns typed exactly as their expressions are. */
static TupleDesc
make_desc(List *columns, List *names)
{
	TupleDesc	desc = CreateTemplateTupleDesc(list_length(columns));
	ListCell   *expr;
	ListCell   *name;
	AttrNumber	i = 1;

	forboth(expr, columns, name, names)
	{
		Node	   *node = lfirst(expr);

		TupleDescInitEntry(desc, i, lfirst(name), exprType(node), exprTypmod(node), 0);
		TupleDescInitEntryCollation(desc, i, exprCollation(node));
		i++;
	}
	return se_compat_finish_desc(desc);
}

/* Are the targets the input's columns, all of them, in order? */
static bool
is_identity(const SeStep *input, List *targets)
{
	return equal(input->columns, targets);
}

/* Remember text that decides what state means. */
static void
add_identity(SePlan *plan, const char *what, const void *node)
{
	appendStringInfo(plan->identity, "%s %s\n", what, nodeToString(node));
}
