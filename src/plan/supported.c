/*
 * plan/supported.c
 *		What cannot be continuous, whatever its FROM is: refusals with position and hint.
 *
 * Refused here are clauses of the query as a whole and kinds of expressions; FROM is
 * from_clause.c's business, functions are functions.c's. Every refusal says what was
 * found and what to write instead.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "plan/plan_internal.h"
#include "utils/builtins.h"
#include "utils/formatting.h"
#include "utils/lsyscache.h"

static void check_command(SePlan *plan);
static void check_set_operation(SePlan *plan);
static void check_with(SePlan *plan);
static void check_order_and_limit(SePlan *plan);
static void check_distinct(SePlan *plan);
static void check_grouping(SePlan *plan);
static void check_locking(SePlan *plan);
static bool check_expression(Node *node, SePlan *plan);
static void refuse_sublink(SePlan *plan, const SubLink *sublink);
static void refuse_set_returning(SePlan *plan, Node *node, Oid function);
static void check_target_type(SePlan *plan, TargetEntry *target);

/* Refuse clauses and kinds of expressions that need more than one pass over a stream. */
void
se_supported_check_clauses(SePlan *plan)
{
	Query	   *query = plan->query;

	check_command(plan);
	check_set_operation(plan);
	check_with(plan);
	check_order_and_limit(plan);
	check_distinct(plan);
	check_grouping(plan);
	check_locking(plan);

	check_expression((Node *) query->targetList, plan);
	check_expression((Node *) query->jointree, plan);
	check_expression(query->havingQual, plan);
}

static void
check_command(SePlan *plan)
{
	Query	   *query = plan->query;

	if (query->commandType != CMD_SELECT || query->utilityStmt != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("a continuous view is defined by a SELECT"),
				 errhint("Write the SELECT whose result the view shall hold.")));
}

/* UNION and its like; VALUES with several rows is not one, it has its own FROM entry. */
static void
check_set_operation(SePlan *plan)
{
	SetOperationStmt *op = (SetOperationStmt *) plan->query->setOperations;
	const char *name;
	const char *hint;

	if (op == NULL)
		return;
	switch (op->op)
	{
		case SETOP_UNION:
			name = "UNION";
			hint = "Make one continuous view for each SELECT, and an ordinary view that is their UNION.";
			break;
		case SETOP_INTERSECT:
			name = "INTERSECT";
			hint = "Make one continuous view for each SELECT, and an ordinary view that is their INTERSECT.";
			break;
		default:
			name = "EXCEPT";
			hint = "Make one continuous view for each SELECT, and an ordinary view that is their EXCEPT.";
			break;
	}
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("%s is not supported in a continuous view", name),
			 errhint("%s", hint),
			 se_plan_word_position(plan, asc_tolower(name, strlen(name)), NULL)));
}

static void
check_with(SePlan *plan)
{
	Query	   *query = plan->query;
	CommonTableExpr *cte;

	if (query->cteList == NIL)
		return;
	cte = linitial_node(CommonTableExpr, query->cteList);
	if (query->hasRecursive)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("WITH RECURSIVE is not supported in a continuous view"),
				 errdetail("A recursion would have to start again with every row of the stream."),
				 errhint("Make the view without the recursion, and query the view recursively."),
				 se_plan_position(plan, cte->location)));
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("WITH is not supported in a continuous view"),
			 errhint("Write the query \"%s\" stands for as one SELECT over the stream.", cte->ctename),
			 se_plan_position(plan, cte->location)));
}

/* The view is a table: order and limits belong to whoever reads it. */
static void
check_order_and_limit(SePlan *plan)
{
	Query	   *query = plan->query;

	if (query->limitCount != NULL && query->limitOption == LIMIT_OPTION_WITH_TIES)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("FETCH FIRST ... WITH TIES is not supported in a continuous view"),
				 errhint("Leave it out, and write it in the query that reads the view."),
				 se_plan_node_position(plan, query->limitCount)));
	if (query->limitCount != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("LIMIT is not supported in a continuous view"),
				 errhint("Leave it out, and write it in the query that reads the view."),
				 se_plan_node_position(plan, query->limitCount)));
	if (query->limitOffset != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("OFFSET is not supported in a continuous view"),
				 errhint("Leave it out, and write it in the query that reads the view."),
				 se_plan_node_position(plan, query->limitOffset)));
	if (query->sortClause != NIL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("ORDER BY is not supported in a continuous view"),
				 errdetail("The view is a table, and a table has no order."),
				 errhint("Leave it out, and write it in the query that reads the view; ORDER BY inside an aggregate is supported."),
				 se_plan_node_position(plan, get_sortgroupclause_expr(linitial(query->sortClause),
																	  query->targetList))));
}

/* DISTINCT of a plain SELECT becomes a grouping; the rest of its forms do not. */
static void
check_distinct(SePlan *plan)
{
	Query	   *query = plan->query;

	if (query->distinctClause == NIL)
		return;
	if (query->hasDistinctOn)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("DISTINCT ON is not supported in a continuous view"),
				 errhint("Use GROUP BY with an aggregate that names the row to keep, such as min() or max() of the event time."),
				 se_plan_word_position(plan, "distinct", NULL)));
	if (query->hasAggs || query->groupClause != NIL || query->havingQual != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("SELECT DISTINCT over groups is not supported in a continuous view"),
				 errhint("Select all GROUP BY columns, which makes the rows distinct, and leave DISTINCT out."),
				 se_plan_word_position(plan, "distinct", NULL)));
}

static void
check_grouping(SePlan *plan)
{
	GroupingSet *set;
	const char *name;

	if (plan->query->groupingSets == NIL)
		return;
	set = linitial_node(GroupingSet, plan->query->groupingSets);
	switch (set->kind)
	{
		case GROUPING_SET_ROLLUP:
			name = "ROLLUP";
			break;
		case GROUPING_SET_CUBE:
			name = "CUBE";
			break;
		default:
			name = "GROUPING SETS";
			break;
	}
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("%s is not supported in a continuous view", name),
			 errhint("Make one continuous view for each set of columns to group by."),
			 se_plan_position(plan, set->location)));
}

static void
check_locking(SePlan *plan)
{
	if (plan->query->rowMarks == NIL)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("FOR UPDATE and FOR SHARE are not supported in a continuous view"),
			 errdetail("Rows of a stream are never changed, so there is nothing to lock."),
			 errhint("Leave the clause out."),
			 se_plan_word_position(plan, "for", NULL)));
}

/* An expression that is not in the query's own clauses: an argument of a window function. */
void
se_supported_check_expression(SePlan *plan, Node *expression)
{
	check_expression(expression, plan);
}

/* Refuse kinds of expressions; a walker that never stops, it raises. */
static bool
check_expression(Node *node, SePlan *plan)
{
	if (node == NULL)
		return false;
	switch (nodeTag(node))
	{
		case T_SubLink:
			refuse_sublink(plan, (SubLink *) node);
			break;
		case T_WindowFunc:
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("OVER is not supported in a continuous view"),
					 errhint("Group by a time window (tumble, hop, cumulate) instead, or write OVER in the query that reads the view."),
					 se_plan_node_position(plan, node)));
			break;
		case T_GroupingFunc:
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("GROUPING() is not supported in a continuous view"),
					 errdetail("Without grouping sets it is always 0."),
					 errhint("Leave it out."),
					 se_plan_node_position(plan, node)));
			break;
		case T_Param:
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("parameters are not supported in a continuous view"),
					 errdetail("The query outlives the statement that the parameter belongs to."),
					 errhint("Write the value into the query."),
					 se_plan_node_position(plan, node)));
			break;
		case T_FuncExpr:
			if (((FuncExpr *) node)->funcretset)
				refuse_set_returning(plan, node, ((FuncExpr *) node)->funcid);
			break;
		case T_OpExpr:
			if (((OpExpr *) node)->opretset)
				refuse_set_returning(plan, node, get_opcode(((OpExpr *) node)->opno));
			break;
		case T_RangeTblRef:
			return false;
		default:
			break;
	}
	return expression_tree_walker(node, check_expression, plan);
}

static void
refuse_sublink(SePlan *plan, const SubLink *sublink)
{
	const char *what;

	switch (sublink->subLinkType)
	{
		case EXISTS_SUBLINK:
			what = "EXISTS (SELECT ...)";
			break;
		case ALL_SUBLINK:
			what = "ALL (SELECT ...)";
			break;
		case ANY_SUBLINK:
			what = "IN or ANY (SELECT ...)";
			break;
		case ARRAY_SUBLINK:
			what = "ARRAY(SELECT ...)";
			break;
		default:
			what = "a subquery in an expression";
			break;
	}
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("%s is not supported in a continuous view", what),
			 errdetail("Its answer would change while the stream goes on."),
			 errhint("Use constants, or join the view with the other table in the query that reads it."),
			 se_plan_position(plan, sublink->location)));
}

static void
refuse_set_returning(SePlan *plan, Node *node, Oid function)
{
	const char *window = se_functions_window_name(function);

	if (window != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("window function %s() belongs in FROM", window),
				 errhint("Write FROM stream, %s(...), and use the %s.", window, strcmp(window, "count_window") == 0 ?
						 "column window_id" : "columns window_start and window_end"),
				 se_plan_node_position(plan, node)));
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("set-returning function %s() is not supported in a continuous view", get_func_name(function)),
			 errhint("Keep the array or document as one column, and expand it in the query that reads the view."),
			 se_plan_node_position(plan, node)));
}

/* Refuse results that cannot be the columns of a table. Needs canonical targets. */
void
se_supported_check_targets(SePlan *plan)
{
	List	   *seen = NIL;
	ListCell   *lc;

	foreach(lc, plan->query->targetList)
	{
		TargetEntry *target = lfirst_node(TargetEntry, lc);

		if (target->resjunk)
			continue;
		check_target_type(plan, target);
		if (list_member(seen, makeString(target->resname)))
			ereport(ERROR,
					(errcode(ERRCODE_DUPLICATE_COLUMN),
					 errmsg("column \"%s\" is specified more than once", target->resname),
					 errhint("Give one of them another name with AS."),
					 se_plan_node_position(plan, target)));
		seen = lappend(seen, makeString(target->resname));
	}
	if (seen == NIL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("a continuous view needs at least one column"),
				 errhint("Name the columns the view shall have, or select count(*).")));
}

static void
check_target_type(SePlan *plan, TargetEntry *target)
{
	Node	   *expr = (Node *) target->expr;
	Oid			type = exprType(expr);

	if (get_typtype(type) == TYPTYPE_PSEUDO)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("column \"%s\" has pseudo-type %s, which a table cannot store",
						target->resname, format_type_be(type)),
				 errhint("Select the fields one by one, or cast the value to a named type."),
				 se_plan_node_position(plan, expr)));
	if (type_is_collatable(type) && !OidIsValid(exprCollation(expr)))
		ereport(ERROR,
				(errcode(ERRCODE_INDETERMINATE_COLLATION),
				 errmsg("no collation was derived for column \"%s\" with collatable type %s",
						target->resname, format_type_be(type)),
				 errhint("Use the COLLATE clause to set the collation explicitly."),
				 se_plan_node_position(plan, expr)));
}
