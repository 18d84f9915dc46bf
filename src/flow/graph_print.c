/*
 * flow/graph_print.c
 *		A dataflow graph as text: the tree that explain shows.
 *
 * The sink comes first, each input is indented below its user, as in PostgreSQL's
 * EXPLAIN. Expressions are deparsed with the column names of the node's input. Runs
 * in: sessions; needs a snapshot and the catalog.
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "datatype/timestamp.h"
#include "flow/graph.h"
#include "nodes/makefuncs.h"
#include "nodes/plannodes.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/ruleutils.h"

typedef struct Printer
{
	StringInfo	out;
	SeGraphAnnotate annotate;
	void	   *arg;
	const SeGraph *graph;
	int			indent;			/* columns before a node's own lines */
} Printer;

static void print_node(Printer *printer, const SeNode *node);
static void print_source(Printer *printer, const SeLogSourceNode *node);
static void print_calc(Printer *printer, const SeCalcNode *node);
static void print_window_agg(Printer *printer, const SeWindowAggNode *node);
static void print_session_agg(Printer *printer, const SeSessionAggNode *node);
static void print_count_agg(Printer *printer, const SeCountAggNode *node);
static void print_group_agg(Printer *printer, const SeGroupAggNode *node);
static void print_keys(Printer *printer, const SeNode *input, const List *keys);
static void print_emit(Printer *printer, const SeEmit *emit);
static void print_calls(Printer *printer, const SeNode *node, int first, const List *calls);
static void print_sink(Printer *printer, const SeTableSinkNode *node);
static void begin_line(Printer *printer, const char *label);
static void append_window(StringInfo out, const SeWindow *window);
static void append_length(StringInfo out, const SeWindow *window, int64 length);
static void append_interval(StringInfo out, int64 usecs);
static char *relation_name(Oid relation);
static const char *column_name(const SeNode *node, int column);
static List *deparse_context(const SeNode *input);
static const char *method_name(SeAggMethod method);

/* See graph.h. */
char *
se_graph_print(const SeGraph *graph, SeGraphAnnotate annotate, void *arg)
{
	StringInfoData out;
	Printer		printer = {&out, annotate, arg, graph, 0};

	initStringInfo(&out);
	print_node(&printer, graph->sink);
	/* no newline at the end: every line is one row of explain */
	while (out.len > 0 && out.data[out.len - 1] == '\n')
		out.data[--out.len] = '\0';
	return out.data;
}

static void
print_node(Printer *printer, const SeNode *node)
{
	ListCell   *lc;

	if (printer->indent > 0)
		appendStringInfo(printer->out, "%*s->  ", printer->indent - 4, "");
	switch (node->kind)
	{
		case SE_NODE_LOG_SOURCE:
			print_source(printer, (const SeLogSourceNode *) node);
			break;
		case SE_NODE_CALC:
			print_calc(printer, (const SeCalcNode *) node);
			break;
		case SE_NODE_WINDOW_EXPAND:
			appendStringInfoString(printer->out, "Window Expand: ");
			append_window(printer->out, &((const SeWindowExpandNode *) node)->window);
			appendStringInfo(printer->out, " on %s\n",
							 column_name(linitial(node->inputs), ((const SeWindowExpandNode *) node)->time_column));
			break;
		case SE_NODE_WINDOW_AGG:
			print_window_agg(printer, (const SeWindowAggNode *) node);
			break;
		case SE_NODE_SESSION_AGG:
			print_session_agg(printer, (const SeSessionAggNode *) node);
			break;
		case SE_NODE_COUNT_AGG:
			print_count_agg(printer, (const SeCountAggNode *) node);
			break;
		case SE_NODE_GROUP_AGG:
			print_group_agg(printer, (const SeGroupAggNode *) node);
			break;
		case SE_NODE_TABLE_SINK:
			print_sink(printer, (const SeTableSinkNode *) node);
			break;
	}
	if (printer->annotate != NULL)
	{
		StringInfoData note;

		initStringInfo(&note);
		printer->annotate(&note, node, printer->arg);
		if (note.len > 0)
		{
			begin_line(printer, NULL);
			appendStringInfo(printer->out, "%s\n", note.data);
		}
		pfree(note.data);
	}

	printer->indent += 6;
	foreach(lc, node->inputs)
		print_node(printer, lfirst(lc));
	printer->indent -= 6;
}

static void
print_source(Printer *printer, const SeLogSourceNode *node)
{
	appendStringInfo(printer->out, "Stream %s\n", relation_name(node->stream));
	if (node->node.desc->natts == 0)
		return;
	begin_line(printer, "Columns");
	for (int i = 0; i < node->node.desc->natts; i++)
		appendStringInfo(printer->out, "%s%s", i > 0 ? ", " : "", column_name(&node->node, i));
	appendStringInfoChar(printer->out, '\n');
}

static void
print_calc(Printer *printer, const SeCalcNode *node)
{
	const SeNode *input = linitial(node->node.inputs);
	List	   *context = deparse_context(input);
	ListCell   *lc;

	appendStringInfoString(printer->out, "Calc\n");
	if (node->quals != NIL)
	{
		begin_line(printer, "Filter");
		appendStringInfo(printer->out, "%s\n",
						 deparse_expression((Node *) make_ands_explicit(node->quals), context, false, false));
	}
	begin_line(printer, "Output");
	foreach(lc, node->targets)
	{
		int			column = foreach_current_index(lc);
		const char *name = column_name(&node->node, column);
		char	   *text = deparse_expression(lfirst(lc), context, false, false);

		appendStringInfoString(printer->out, column > 0 ? ", " : "");
		if (strcmp(name, text) == 0)
			appendStringInfoString(printer->out, text);
		else
			appendStringInfo(printer->out, "%s AS %s", text, name);
	}
	appendStringInfoChar(printer->out, '\n');
}

static void
print_window_agg(Printer *printer, const SeWindowAggNode *node)
{
	const SeNode *input = linitial(node->node.inputs);

	appendStringInfoString(printer->out, "Window Aggregate: ");
	append_window(printer->out, &node->window);
	if (node->sliced)
		appendStringInfo(printer->out, " on %s, sliced\n", column_name(input, node->time_column));
	else if (node->by_start)
		appendStringInfo(printer->out, " by %s\n", column_name(input, node->start_column));
	else
		appendStringInfo(printer->out, " by %s, %s\n", column_name(input, node->start_column),
						 column_name(input, node->end_column));
	print_emit(printer, &node->emit);
	print_keys(printer, input, node->keys);
	print_calls(printer, &node->node, list_length(node->keys) + 3, node->calls);
}

static void
print_session_agg(Printer *printer, const SeSessionAggNode *node)
{
	const SeNode *input = linitial(node->node.inputs);

	appendStringInfoString(printer->out, "Session Aggregate: gap ");
	if (node->gap_column >= 0)
		appendStringInfoString(printer->out, column_name(input, node->gap_column));
	else
		append_interval(printer->out, node->gap);
	appendStringInfo(printer->out, " on %s\n", column_name(input, node->time_column));
	print_emit(printer, &node->emit);
	print_keys(printer, input, node->keys);
	print_calls(printer, &node->node, list_length(node->keys) + 3, node->calls);
}

static void
print_count_agg(Printer *printer, const SeCountAggNode *node)
{
	appendStringInfo(printer->out, "Count Aggregate: " INT64_FORMAT " rows", node->size);
	if (node->slide != node->size)
		appendStringInfo(printer->out, ", every " INT64_FORMAT, node->slide);
	appendStringInfoString(printer->out, node->partial ? ", also in part\n" : "\n");
	print_keys(printer, linitial(node->node.inputs), node->keys);
	print_calls(printer, &node->node, list_length(node->keys) + 1, node->calls);
}

static void
print_group_agg(Printer *printer, const SeGroupAggNode *node)
{
	appendStringInfoString(printer->out, "Group Aggregate\n");
	print_emit(printer, &node->emit);
	print_keys(printer, linitial(node->node.inputs), node->keys);
	if (node->ttl != SE_TTL_NONE)
	{
		begin_line(printer, node->ttl_delete ? "Deleted" : "Forgotten");
		appendStringInfo(printer->out, "%s after the last row by %s\n", se_emit_length(node->ttl_usecs),
						 column_name(linitial(node->node.inputs), node->time_column));
	}
	print_calls(printer, &node->node, list_length(node->keys), node->calls);
}

static void
print_keys(Printer *printer, const SeNode *input, const List *keys)
{
	ListCell   *lc;

	if (keys == NIL)
		return;
	begin_line(printer, "Keys");
	foreach(lc, keys)
		appendStringInfo(printer->out, "%s%s", foreach_current_index(lc) > 0 ? ", " : "",
						 column_name(input, lfirst_int(lc)));
	appendStringInfoChar(printer->out, '\n');
}

/* When results come, where the view's options say it. */
static void
print_emit(Printer *printer, const SeEmit *emit)
{
	if (emit->given)
	{
		begin_line(printer, "Emit");
		appendStringInfo(printer->out, "%s\n", se_emit_print(emit));
	}
	if (emit->lateness > 0)
	{
		begin_line(printer, "Allowed lateness");
		appendStringInfo(printer->out, "%s\n", se_emit_print_lateness(emit));
	}
}

/* One line per call: output column, the call, how it is computed. */
static void
print_calls(Printer *printer, const SeNode *node, int first, const List *calls)
{
	List	   *context = deparse_context(linitial(node->inputs));
	ListCell   *lc;

	foreach(lc, calls)
	{
		const SeAggCall *call = lfirst(lc);

		begin_line(printer, "Call");
		appendStringInfo(printer->out, "%s AS %s, %s%s\n",
						 deparse_expression((Node *) call->aggref, context, false, false),
						 column_name(node, first + foreach_current_index(lc)),
						 method_name(call->method), call->mergeable ? "" : ", not mergeable");
	}
}

static void
print_sink(Printer *printer, const SeTableSinkNode *node)
{
	const SeNode *input = linitial(node->node.inputs);

	appendStringInfo(printer->out, "Table%s%s: %s\n", OidIsValid(node->table) ? " " : "",
					 OidIsValid(node->table) ? relation_name(node->table) : "",
					 node->node.mode == SE_MODE_APPEND ? "append" :
					 node->key_columns == NIL ? "update of one row" : "upsert");
	if (node->key_columns != NIL)
		print_keys(printer, input, node->key_columns);
	if (node->retention_column >= 0)
	{
		begin_line(printer, "Deleted");
		appendStringInfo(printer->out, "%s after %s\n", se_emit_length(node->retention),
						 column_name(input, node->retention_column));
	}
	if (printer->graph->late_output != NULL)
	{
		begin_line(printer, "Late rows");
		appendStringInfo(printer->out, "into %s\n", printer->graph->late_output);
	}
	if (printer->graph->on_error != NULL && strcmp(printer->graph->on_error, "stop") != 0)
	{
		begin_line(printer, "Rows with errors");
		appendStringInfo(printer->out, "%s\n", printer->graph->on_error);
	}
}

/* A line of details below the node's first one. */
static void
begin_line(Printer *printer, const char *label)
{
	appendStringInfo(printer->out, "%*s", printer->indent + 2, "");
	if (label != NULL)
		appendStringInfo(printer->out, "%s: ", label);
}

static void
append_window(StringInfo out, const SeWindow *window)
{
	switch (window->kind)
	{
		case SE_WINDOW_TUMBLE:
			appendStringInfoString(out, "tumble(");
			break;
		case SE_WINDOW_HOP:
			appendStringInfoString(out, "hop(");
			append_length(out, window, window->slide);
			appendStringInfoString(out, ", ");
			break;
		case SE_WINDOW_CUMULATE:
			appendStringInfoString(out, "cumulate(");
			append_length(out, window, window->slide);
			appendStringInfoString(out, ", ");
			break;
	}
	append_length(out, window, window->size);
	if (window->shift != 0)
	{
		appendStringInfoString(out, ", shift ");
		append_length(out, window, window->shift);
	}
	if (window->calendar.months && window->calendar.shift != 0)
	{
		appendStringInfoString(out, window->shift != 0 ? " " : ", shift ");
		append_interval(out, window->calendar.shift);
	}
	if (window->calendar.zone != NULL)
		appendStringInfo(out, ", timezone %s", pg_get_timezone_name(window->calendar.zone));
	appendStringInfoChar(out, ')');
}

/* A length of a window: months, or an interval. */
static void
append_length(StringInfo out, const SeWindow *window, int64 length)
{
	if (window->calendar.months && length % SE_CALENDAR_MONTH == 0)
		appendStringInfo(out, INT64_FORMAT " mon", length / SE_CALENDAR_MONTH);
	else
		append_interval(out, length);
}

/* A length of time in the largest unit that it is a multiple of, whatever IntervalStyle says. */
static void
append_interval(StringInfo out, int64 usecs)
{
	static const struct
	{
		int64		usecs;
		const char *name;
	}			units[] =
	{
		{USECS_PER_DAY, "d"}, {USECS_PER_HOUR, "h"}, {USECS_PER_MINUTE, "min"},
		{USECS_PER_SEC, "s"}, {1000, "ms"}, {1, "us"}
	};
	int			i = 0;

	while (usecs % units[i].usecs != 0)
		i++;
	appendStringInfo(out, INT64_FORMAT " %s", usecs / units[i].usecs, units[i].name);
}

/* As a person at this search_path would write it. */
static char *
relation_name(Oid relation)
{
	char	   *name = get_rel_name(relation);

	if (name == NULL)
		return psprintf("%u", relation);
	if (RelationIsVisible(relation))
		return (char *) quote_identifier(name);
	return quote_qualified_identifier(get_namespace_name(get_rel_namespace(relation)), name);
}

static const char *
column_name(const SeNode *node, int column)
{
	if (column < 0 || column >= node->desc->natts)
		elog(ERROR, "node %d has no column %d", node->id, column);
	return quote_identifier(NameStr(TupleDescAttr(node->desc, column)->attname));
}

/* Lets ruleutils name the columns of a node: a plan tree with one FROM item. */
static List *
deparse_context(const SeNode *input)
{
	PlannedStmt *statement = makeNode(PlannedStmt);
	RangeTblEntry *rte = makeNode(RangeTblEntry);
	List	   *names = NIL;

	for (int i = 0; i < input->desc->natts; i++)
		names = lappend(names, makeString(pstrdup(NameStr(TupleDescAttr(input->desc, i)->attname))));
	rte->rtekind = RTE_VALUES;
	rte->eref = makeAlias("input", names);
	statement->rtable = list_make1(rte);
	return deparse_context_for_plan_tree(statement, list_make1("input"));
}

static const char *
method_name(SeAggMethod method)
{
	switch (method)
	{
		case SE_AGG_NATIVE:
			return "native";
		case SE_AGG_STATE:
			return "state";
		case SE_AGG_SERIAL:
			return "serial";
		case SE_AGG_REPLAY:
			return "replay";
	}
	return "?";
}
