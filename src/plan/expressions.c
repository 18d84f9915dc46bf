/*
 * plan/expressions.c
 *		Expressions: from the query's form to the canonical one, and on top of a step.
 *
 * See plan_internal.h for the words. Collations, typmods and the order of evaluation
 * stay as the parser made them, so that a result equals PostgreSQL's own.
 */
#include "postgres.h"

#include "access/table.h"
#include "base/compat.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/prep.h"
#include "parser/parsetree.h"
#include "plan/plan_internal.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

typedef struct OverContext
{
	SePlan	   *plan;
	const SeStep *step;
} OverContext;

typedef struct UsesContext
{
	int			rti;
	bool		uses;			/* a Var of rti was seen */
	bool		others;			/* something else that differs from row to row was seen */
} UsesContext;

typedef struct AttnosContext
{
	int			rti;
	List	   *attnos;
} AttnosContext;

static Node *canonical(SePlan *plan, Node *node);
static Node *canonical_mutator(Node *node, SePlan *plan);
static Node *stream_watermark(SePlan *plan, FuncExpr *call);
static Node *canonical_var(Var *var, SePlan *plan);
static Node *stream_row(SePlan *plan, const Var *var, bool live_only);
static Node *window_row(SePlan *plan, const Var *var);
static Node *count_of_constant(Aggref *aggref);
static Node *over_mutator(Node *node, OverContext *context);
static void refuse_ungrouped(SePlan *plan, const Var *column) SE_NORETURN;
static bool uses_walker(Node *node, UsesContext *context);
static int	compare_attnos(const ListCell *a, const ListCell *b);
static bool attnos_walker(Node *node, AttnosContext *context);

/* Make target list, HAVING and conditions canonical. FROM has been read. */
void
se_expressions_canonicalise(SePlan *plan)
{
	Query	   *query = plan->query;

	query->targetList = (List *) canonical(plan, (Node *) query->targetList);
	query->havingQual = canonical(plan, query->havingQual);
	plan->quals = (List *) canonical(plan, (Node *) plan->quals);
	plan->gap = (Expr *) canonical(plan, (Node *) plan->gap);
}

static Node *
canonical(SePlan *plan, Node *node)
{
	if (node == NULL)
		return NULL;
	return canonical_mutator(se_compat_flatten_join_aliases(plan->query, node), plan);
}

static Node *
canonical_mutator(Node *node, SePlan *plan)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, Var))
		return canonical_var((Var *) node, plan);
	if (IsA(node, FuncExpr))
	{
		FuncExpr   *call = (FuncExpr *) node;
		const char *ours = se_functions_our_name(call->funcid);

		if (ours != NULL && strcmp(ours, "proctime") == 0)
		{
			Var		   *time = makeVar(plan->stream_rti, SE_COLUMN_PROCTIME, TIMESTAMPTZOID, -1, InvalidOid, 0);

			time->location = call->location;
			return (Node *) time;
		}
		if (ours != NULL && strcmp(ours, "current_watermark") == 0)
			return stream_watermark(plan, call);
	}
	if (IsA(node, NullTest) && ((NullTest *) node)->argisrow && IsA(((NullTest *) node)->arg, Var) &&
		((Var *) ((NullTest *) node)->arg)->varno == plan->stream_rti &&
		((Var *) ((NullTest *) node)->arg)->varattno == 0)
	{
		NullTest   *test = (NullTest *) copyObject(node);

		test->arg = (Expr *) stream_row(plan, (Var *) test->arg, true);
		return (Node *) test;
	}
	if (IsA(node, Aggref))
	{
		Node	   *simple = count_of_constant((Aggref *) node);

		if (simple != NULL)
			node = simple;
	}
	return expression_tree_mutator(node, canonical_mutator, plan);
}

/*
 * current_watermark(stream): the watermark before the row, as the moment it is. The event time may be on the clock of
 * the stream's zone.
 */
static Node *
stream_watermark(SePlan *plan, FuncExpr *call)
{
	Node	   *argument = linitial(call->args);
	Oid			type = plan->stream->event_time_type == TIMESTAMPOID ? TIMESTAMPOID : TIMESTAMPTZOID;
	Var		   *watermark;

	if (!IsA(argument, Const) || ((Const *) argument)->constisnull ||
		DatumGetObjectId(((Const *) argument)->constvalue) != plan->stream->relation)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("current_watermark() in a continuous view must name the stream that the view reads"),
				 errhint("Write current_watermark(%s).",
						 quote_literal_cstr(quote_identifier(get_rel_name(plan->stream->relation)))),
				 se_plan_node_position(plan, call)));
	if (plan->by_proctime)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("current_watermark() is not supported beside a window over proctime()"),
				 errdetail("Time in such a view is processing time; the stream's watermark is not followed."),
				 se_plan_node_position(plan, call)));

	watermark = makeVar(plan->stream_rti, SE_COLUMN_WATERMARK, type, -1, InvalidOid, 0);
	watermark->location = call->location;
	if (type == TIMESTAMPTZOID)
		return (Node *) watermark;
	return (Node *) makeFuncExpr(F_TIMEZONE_TEXT_TIMESTAMP, TIMESTAMPTZOID,
								 list_make2(makeConst(TEXTOID, -1, DEFAULT_COLLATION_OID, -1,
													  CStringGetTextDatum(plan->stream->timezone), false, false),
											watermark),
								 InvalidOid, DEFAULT_COLLATION_OID, COERCE_EXPLICIT_CALL);
}

/* Columns stay; whole rows become ROW(…); system columns do not exist in a stream. */
static Node *
canonical_var(Var *var, SePlan *plan)
{
	if (var->varlevelsup != 0 || (var->varno != plan->stream_rti && var->varno != plan->window_rti))
		elog(ERROR, "column of an unknown FROM item %d", var->varno);
	if (var->varattno < 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("system columns are not supported in a continuous view"),
				 errdetail("Rows of a stream are not stored in a table and have none."),
				 errhint("Give the stream a column of its own, with a DEFAULT."),
				 se_plan_position(plan, var->location)));
	if (var->varattno == 0)
		return var->varno == plan->stream_rti ? stream_row(plan, var, false) : window_row(plan, var);
	return copyObject((Node *) var);
}

/*
 * The whole row of the stream, as a value of its row type; or, `live_only`, as a record
 * without the dropped columns, of which a test for NULL must not know.
 */
static Node *
stream_row(SePlan *plan, const Var *var, bool live_only)
{
	RowExpr    *row = makeNode(RowExpr);
	Relation	rel = table_open(plan->stream->relation, AccessShareLock);
	TupleDesc	desc = RelationGetDescr(rel);

	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute attr = TupleDescAttr(desc, i);

		if (!attr->attisdropped)
			row->args = lappend(row->args, makeVar(plan->stream_rti, attr->attnum, attr->atttypid,
												   attr->atttypmod, attr->attcollation, 0));
		else if (!live_only)
			row->args = lappend(row->args, makeNullConst(INT4OID, -1, InvalidOid));
	}
	table_close(rel, NoLock);

	/* a named type has the names of its columns itself, whatever they are renamed to */
	row->row_typeid = live_only ? RECORDOID : var->vartype;
	row->row_format = COERCE_IMPLICIT_CAST;
	row->location = var->location;
	return (Node *) row;
}

/* The whole row of the window function, a record of three times. */
static Node *
window_row(SePlan *plan, const Var *var)
{
	RowExpr    *row = makeNode(RowExpr);

	row->args = list_make3(se_expr_window_var(plan, SE_WINDOW_START_ATTR),
						   se_expr_window_var(plan, SE_WINDOW_END_ATTR),
						   se_expr_window_var(plan, SE_WINDOW_TIME_ATTR));
	row->colnames = copyObject(rt_fetch(plan->window_rti, plan->query->rtable)->eref->colnames);
	row->row_typeid = RECORDOID;
	row->row_format = COERCE_IMPLICIT_CAST;
	row->location = var->location;
	return (Node *) row;
}

/* count(1) counts rows: count(*), which needs no column. NULL if it is something else. */
static Node *
count_of_constant(Aggref *aggref)
{
	Node	   *argument;
	Aggref	   *count;

	if (aggref->aggfnoid != F_COUNT_ANY || aggref->aggdistinct != NIL || aggref->aggorder != NIL)
		return NULL;
	argument = (Node *) linitial_node(TargetEntry, aggref->args)->expr;
	if (!IsA(argument, Const) || ((Const *) argument)->constisnull)
		return NULL;
	count = copyObject(aggref);
	count->aggfnoid = F_COUNT_;
	count->aggargtypes = NIL;
	count->args = NIL;
	count->aggstar = true;
	return (Node *) count;
}

/* Column attr of the window function's row. */
Var *
se_expr_window_var(SePlan *plan, int attr)
{
	Oid			type = plan->counted ? INT8OID : plan->by_proctime ? TIMESTAMPTZOID : plan->stream->event_time_type;

	return makeVar(plan->window_rti, attr, type, -1, InvalidOid, 0);
}

/* The time that windows are over: proctime(), or the stream's event time column. */
Var *
se_expr_time_var(SePlan *plan)
{
	return plan->by_proctime ? se_expr_proctime_var(plan) : se_expr_event_time_var(plan);
}

Var *
se_expr_proctime_var(SePlan *plan)
{
	return makeVar(plan->stream_rti, SE_COLUMN_PROCTIME, TIMESTAMPTZOID, -1, InvalidOid, 0);
}

/* The stream's event time column. */
Var *
se_expr_event_time_var(SePlan *plan)
{
	Relation	rel = table_open(plan->stream->relation, AccessShareLock);
	Form_pg_attribute attr = TupleDescAttr(RelationGetDescr(rel), plan->stream->event_time - 1);
	Var		   *var = makeVar(plan->stream_rti, attr->attnum, attr->atttypid, attr->atttypmod,
							  attr->attcollation, 0);

	table_close(rel, NoLock);
	return var;
}

/* The name of a column of the stream or of its window. */
const char *
se_expr_column_name(SePlan *plan, const Var *column)
{
	static const char *const window_names[] = {"window_start", "window_end", "window_time"};

	if (column->varno == plan->window_rti && plan->counted)
		return "window_id";
	if (column->varno == plan->window_rti)
		return window_names[column->varattno - 1];
	if (column->varattno == SE_COLUMN_PROCTIME)
		return "proctime";
	if (column->varattno == SE_COLUMN_WATERMARK)
		return "watermark";
	return get_attname(plan->stream->relation, column->varattno, false);
}

/*
 * Can values be found by hashing? The operator's word for it may be older than the
 * operator class that it needs.
 */
bool
se_expr_is_hashable(const SortGroupClause *clause)
{
	RegProcedure left;
	RegProcedure right;

	return clause->hashable && get_op_hash_functions(clause->eqop, &left, &right);
}

/* For PostgreSQL a function without columns in it is the same for all rows of a group; these two are not. */
static void
refuse_ungrouped(SePlan *plan, const Var *column)
{
	const char *function = column->varattno == SE_COLUMN_PROCTIME ? "proctime" : "current_watermark";

	ereport(ERROR,
			(errcode(ERRCODE_GROUPING_ERROR),
			 errmsg("%s() must appear in the GROUP BY clause or be used in an aggregate function", function),
			 errdetail("It has a value for each row of the stream."),
			 column->varattno == SE_COLUMN_PROCTIME ? errhint("Write max(proctime()), for example.") :
			 errhint("Write max(current_watermark(...)), for example."),
			 se_plan_position(plan, column->location)));
}

/*
 * A canonical expression as one over the columns of a step, not yet planned. What a
 * column already holds is taken from it, the largest such part first.
 */
Expr *
se_expr_over(SePlan *plan, Expr *expr, const SeStep *step)
{
	OverContext context = {plan, step};

	return (Expr *) over_mutator((Node *) expr, &context);
}

static Node *
over_mutator(Node *node, OverContext *context)
{
	int			column;

	if (node == NULL)
		return NULL;
	/* a list is not an expression, and a constant is cheaper than a column */
	if (!IsA(node, List) && !IsA(node, Const) && !IsA(node, TargetEntry))
	{
		column = se_step_column(context->step, node);
		if (column >= 0)
			return (Node *) makeVar(1, column + 1, exprType(node), exprTypmod(node), exprCollation(node), 0);
	}
	if (IsA(node, Var) && ((Var *) node)->varattno < 0)
		refuse_ungrouped(context->plan, (Var *) node);
	if (IsA(node, Var) || IsA(node, Aggref))
		elog(ERROR, "expression needs a value that its input does not have");
	return expression_tree_mutator(node, over_mutator, context);
}

/* Ready for ExecInitExpr: constants folded, functions looked up. */
Expr *
se_expr_planned(Expr *expr)
{
	return expression_planner(copyObject(expr));
}

/* Conditions (implicit AND) ready for ExecInitQual; NIL when they are always true. */
List *
se_expr_planned_quals(List *quals)
{
	Expr	   *all;

	if (quals == NIL)
		return NIL;
	all = se_expr_planned(make_ands_explicit(copyObject(quals)));
	return make_ands_implicit(canonicalize_qual(all, false));
}

/* Does an expression (or a list of them) refer to a FROM item? */
bool
se_expr_uses(const void *expr, int rti)
{
	UsesContext context = {rti, false, false};

	uses_walker((Node *) expr, &context);
	return context.uses;
}

/* Does it refer to a FROM item and to nothing else? */
bool
se_expr_uses_only(const void *expr, int rti)
{
	UsesContext context = {rti, false, false};

	uses_walker((Node *) expr, &context);
	return context.uses && !context.others;
}

static bool
uses_walker(Node *node, UsesContext *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Var))
	{
		if (((Var *) node)->varno == context->rti)
			context->uses = true;
		else
			context->others = true;
		return false;
	}
	if (IsA(node, Aggref))
		context->others = true;
	return expression_tree_walker(node, uses_walker, context);
}

/* Attribute numbers of the stream that the query needs, ascending, no duplicates; SE_COLUMN_… last. */
List *
se_expr_stream_attnos(SePlan *plan)
{
	AttnosContext context = {plan->stream_rti, NIL};

	attnos_walker((Node *) plan->query->targetList, &context);
	attnos_walker((Node *) plan->quals, &context);
	attnos_walker(plan->query->havingQual, &context);
	attnos_walker((Node *) plan->gap, &context);
	attnos_walker((Node *) plan->ttl_time, &context);
	if (plan->window_rti != 0 && !plan->counted)
		context.attnos = list_append_unique_int(context.attnos, plan->by_proctime ? SE_COLUMN_PROCTIME :
												plan->stream->event_time);
	list_sort(context.attnos, compare_attnos);
	return context.attnos;
}

static int
compare_attnos(const ListCell *a, const ListCell *b)
{
	int			x = lfirst_int(a);
	int			y = lfirst_int(b);

	if ((x < 0) != (y < 0))
		return x < 0 ? 1 : -1;
	return x < y ? -1 : x > y;
}

static bool
attnos_walker(Node *node, AttnosContext *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Var) && ((Var *) node)->varno == context->rti)
		context->attnos = list_append_unique_int(context->attnos, ((Var *) node)->varattno);
	return expression_tree_walker(node, attnos_walker, context);
}
