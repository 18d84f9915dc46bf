/*
 * plan/plain_views.c
 *		Plain views in FROM are replaced by their queries, and read with their owners' rights.
 *
 * What CREATE VIEW made of a stream is a name for a query. Its conditions come before
 * those of the query that reads it and are evaluated in this order, so that a
 * condition outside never sees a row that the view leaves out: every view is a
 * security barrier. Its columns are put in the place of the references to them.
 *
 * Only what can be merged so is taken: SELECT … FROM … WHERE over one stream or such a
 * view, perhaps with a window function. A refusal inside a view points at the view in
 * the query's text, and its context says which view it was.
 *
 * The definition of a continuous view names the plain view, so that PostgreSQL knows
 * the dependency. What the view meant when state was made is part of the graph's
 * fingerprint: a replaced view with another meaning does not load that state.
 */
#include "postgres.h"

#include "access/relation.h"
#include "base/compat.h"
#include "catalog/pg_class.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "plan/plan.h"
#include "plan/plan_internal.h"
#include "rewrite/rewriteHandler.h"
#include "rewrite/rewriteManip.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

/* Numbers of the FROM items in the fingerprint. */
#define STREAM_NUMBER	60001
#define WINDOW_NUMBER	60002

typedef struct Place
{
	SePlan	   *plan;			/* of the query as it was written */
	int			rti;			/* the view in its FROM */
	Oid			view;
} Place;

typedef struct References
{
	int			rti;
	AttrNumber	attno;
	int			count;
} References;

static Query *flatten(SePlan *plan, Query *query, List *around, int rti);
static int	first_view(const Query *query);
static Query *query_of_view(Oid view);
static Query *open_view(SePlan *plan, Oid view, List *around, int rti);
static void check_mergeable(const Query *query, Oid view);
static void check_evaluated_once(const Query *query, int rti, const Query *inner, Oid view);
static bool count_references(Node *node, References *references);
static Query *merge(Query *query, int rti, Query *inner);
static Node *replace_item(Node *item, int rti, Node *by);
static void name_place(void *arg);
static void check_level(Query *query, List *around);
static void find_relations(Oid view, List **found);
static List *relations_in(const Query *query, Node *item);
static List *views_in(const Query *query, Node *item);

/* Replace the views of the query's FROM; they are noted in plan->views, inner ones first. */
void
se_plain_views_merge(SePlan *plan)
{
	plan->query = flatten(plan, plan->query, NIL, 0);
}

/*
 * The query with the views of its FROM merged in. `around`: the views it is inside of;
 * rti: where the outermost of them stands in the query as it was written.
 */
static Query *
flatten(SePlan *plan, Query *query, List *around, int rti)
{
	int			here;

	check_stack_depth();
	while ((here = first_view(query)) != 0)
	{
		Oid			view = rt_fetch(here, query->rtable)->relid;
		Place		place = {plan, around == NIL ? here : rti, view};
		ErrorContextCallback callback = {error_context_stack, name_place, &place};
		Query	   *inner;

		error_context_stack = &callback;
		inner = open_view(plan, view, around, place.rti);
		check_evaluated_once(query, here, inner, view);
		query = merge(query, here, inner);
		error_context_stack = callback.previous;
	}
	return query;
}

/* The first view in FROM, 0 if there is none. */
static int
first_view(const Query *query)
{
	List	   *views = views_in(query, (Node *) query->jointree);

	return views == NIL ? 0 : linitial_int(views);
}

/* Range table indexes of the views in a piece of FROM, in order. */
static List *
views_in(const Query *query, Node *item)
{
	List	   *views = NIL;
	ListCell   *cell;

	foreach(cell, relations_in(query, item))
		if (rt_fetch(lfirst_int(cell), query->rtable)->relkind == RELKIND_VIEW)
		views = lappend_int(views, lfirst_int(cell));
	return views;
}

/* The same of all relations. */
static List *
relations_in(const Query *query, Node *item)
{
	List	   *relations = NIL;
	ListCell   *cell;

	if (item == NULL)
		return NIL;
	if (IsA(item, RangeTblRef))
	{
		int			rti = ((RangeTblRef *) item)->rtindex;

		return rt_fetch(rti, query->rtable)->rtekind == RTE_RELATION ? list_make1_int(rti) : NIL;
	}
	if (IsA(item, JoinExpr))
		return list_concat(relations_in(query, ((JoinExpr *) item)->larg),
						   relations_in(query, ((JoinExpr *) item)->rarg));
	if (IsA(item, FromExpr))
		foreach(cell, ((FromExpr *) item)->fromlist)
			relations = list_concat(relations, relations_in(query, lfirst(cell)));
	return relations;
}

/* A copy of a view's query. The view is locked to the end of the transaction. */
static Query *
query_of_view(Oid view)
{
	Relation	relation = relation_open(view, AccessShareLock);
	Query	   *query;

	if (relation->rd_rel->relkind != RELKIND_VIEW || relation->rd_rules == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a view", RelationGetRelationName(relation))));
	query = copyObject(get_view_query(relation));
	relation_close(relation, NoLock);
	return query;
}

/* A view's query, itself free of views and fit to be merged, or a refusal. */
static Query *
open_view(SePlan *plan, Oid view, List *around, int rti)
{
	SePlan	   *inner = palloc0(sizeof(SePlan));
	Query	   *query = query_of_view(view);

	if (list_member_oid(around, view))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
				 errmsg("view \"%s\" reads itself", get_rel_name(view))));
	AcquireRewriteLocks(query, false, false);
	check_mergeable(query, view);
	inner->pstate = make_parsestate(NULL);
	inner->query = query;
	se_supported_check_clauses(inner);
	query = flatten(plan, query, lappend_oid(list_copy(around), view), rti);
	plan->views = list_append_unique_oid(plan->views, view);

	/* what is wrong with its FROM or its functions is said here, where the view is known */
	inner->query = copyObject(query);
	se_from_clause_read(inner);
	se_expressions_canonicalise(inner);
	se_functions_check(inner);
	return query;
}

/* Groups are rows that change; what reads them would have to follow their changes. */
static void
check_mergeable(const Query *query, Oid view)
{
	if (query->groupClause != NIL || query->groupingSets != NIL || query->hasAggs || query->havingQual != NULL ||
		query->distinctClause != NIL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("view \"%s\" makes groups, which a continuous view cannot read", get_rel_name(view)),
				 errdetail("Of a plain view over a stream only FROM and WHERE can be read further."),
				 errhint("Write the whole query, with its GROUP BY, as the continuous view.")));
}

/*
 * A column that changes whenever it is computed has one value for each row of the
 * view: it must be referred to once, since each reference becomes a computation. Only
 * the SELECT list counts; elsewhere such a function is refused anyway.
 */
static void
check_evaluated_once(const Query *query, int rti, const Query *inner, Oid view)
{
	ListCell   *cell;

	foreach(cell, inner->targetList)
	{
		TargetEntry *target = lfirst_node(TargetEntry, cell);
		References	references = {rti, target->resno, 0};

		if (target->resjunk || !contain_volatile_functions((Node *) target->expr))
			continue;
		(void) count_references(se_compat_flatten_join_aliases((Query *) query, (Node *) query->targetList), &references);
		if (references.count > 1)
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("column \"%s\" of view \"%s\" is volatile and used more than once",
							target->resname, get_rel_name(view)),
					 errdetail("Each use would have another value."),
					 errhint("Use it once, or store the value in a column of the stream, with a DEFAULT.")));
	}
}

static bool
count_references(Node *node, References *references)
{
	if (node == NULL)
		return false;
	if (IsA(node, Var))
	{
		const Var  *var = (const Var *) node;

		if (var->varno == references->rti && (var->varattno == references->attno || var->varattno == 0))
			references->count++;
		return false;
	}
	return expression_tree_walker(node, count_references, references);
}

/*
 * Put the inner query in the place of range table entry rti. That entry stays, without
 * a reference to it; privileges are checked elsewhere, on the queries as written.
 */
static Query *
merge(Query *query, int rti, Query *inner)
{
	RangeTblEntry *entry = rt_fetch(rti, query->rtable);
	bool		has_sublinks = false;

	OffsetVarNodes((Node *) inner, list_length(query->rtable), 0);
	query = (Query *) se_compat_replace_vars(query, rti, entry, inner->targetList, &has_sublinks);
	query->rtable = list_concat(query->rtable, inner->rtable);
	query->jointree = castNode(FromExpr, replace_item((Node *) query->jointree, rti, (Node *) inner->jointree));
	return query;
}

/* FROM with one item replaced. */
static Node *
replace_item(Node *item, int rti, Node *by)
{
	if (item == NULL)
		return NULL;
	if (IsA(item, RangeTblRef))
		return ((RangeTblRef *) item)->rtindex == rti ? by : item;
	if (IsA(item, JoinExpr))
	{
		((JoinExpr *) item)->larg = replace_item(((JoinExpr *) item)->larg, rti, by);
		((JoinExpr *) item)->rarg = replace_item(((JoinExpr *) item)->rarg, rti, by);
	}
	else if (IsA(item, FromExpr))
	{
		ListCell   *cell;

		foreach(cell, ((FromExpr *) item)->fromlist)
			lfirst(cell) = replace_item(lfirst(cell), rti, by);
	}
	return item;
}

/* Error context: an error inside a view points at the view, if at nothing else. */
static void
name_place(void *arg)
{
	const Place *place = arg;

	if (geterrcode() == ERRCODE_QUERY_CANCELED)
		return;
	if (geterrposition() <= 0)
		(void) se_plan_rte_position(place->plan, place->rti);
	errcontext("query of view \"%s\"", get_rel_name(place->view));
}

/*
 * Error context: an expression that came out of a view has no place in the query's
 * text; the error points at the first view of FROM.
 */
void
se_plain_views_point(void *arg)
{
	SePlan	   *plan = arg;

	if (plan->views == NIL || geterrposition() > 0 || geterrcode() == ERRCODE_QUERY_CANCELED)
		return;
	(void) se_plan_word_position(plan, "from", get_rel_name(llast_oid(plan->views)));
}

/*
 * Every expression of a query with views, as part of the graph's fingerprint: a view
 * that is replaced is another query, also where no state depends on it. Its columns
 * get numbers that do not depend on how many FROM items the views have.
 */
void
se_plain_views_identify(SePlan *plan)
{
	List	   *all = list_make2(plan->quals, plan->query->havingQual);
	ListCell   *cell;

	if (plan->views == NIL)
		return;
	foreach(cell, plan->query->targetList)
		all = lappend(all, lfirst_node(TargetEntry, cell)->expr);
	all = copyObject(all);
	ChangeVarNodes((Node *) all, plan->stream_rti, STREAM_NUMBER, 0);
	if (plan->window_rti != 0)
		ChangeVarNodes((Node *) all, plan->window_rti, WINDOW_NUMBER, 0);
	appendStringInfo(plan->identity, "views %s\n", nodeToString(all));
}

/* See plan.h. */
void
se_plan_check_permissions(Query *query)
{
	check_level(query, NIL);
}

/* See plan.h. */
void
se_plan_check_definition(Oid definition)
{
	check_level(query_of_view(definition), NIL);
}

/* A view's query is checked as the rewriter would: its rule says whose rights count. */
static void
check_level(Query *query, List *around)
{
	ListCell   *cell;

	se_compat_check_permissions(query);
	foreach(cell, views_in(query, (Node *) query->jointree))
	{
		Oid			view = rt_fetch(lfirst_int(cell), query->rtable)->relid;

		if (!list_member_oid(around, view)) /* if it is: planning refuses it */
			check_level(query_of_view(view), lappend_oid(list_copy(around), view));
	}
}

/* See plan.h. */
List *
se_plan_relations_of(Oid definition)
{
	List	   *found = NIL;

	find_relations(definition, &found);
	return found;
}

/* What a view reads, then itself; each view is locked only while it is looked at. */
static void
find_relations(Oid view, List **found)
{
	Relation	relation = try_relation_open(view, AccessShareLock);
	Query	   *query = NULL;
	ListCell   *cell;

	if (relation == NULL)
		return;
	check_stack_depth();
	if (relation->rd_rel->relkind == RELKIND_VIEW && relation->rd_rules != NULL)
		query = copyObject(get_view_query(relation));
	relation_close(relation, AccessShareLock);

	*found = lappend_oid(*found, view);
	if (query == NULL)
		return;
	foreach(cell, relations_in(query, (Node *) query->jointree))
	{
		RangeTblEntry *rte = rt_fetch(lfirst_int(cell), query->rtable);

		if (list_member_oid(*found, rte->relid))
			continue;
		if (rte->relkind == RELKIND_VIEW)
			find_relations(rte->relid, found);
		else
			*found = lappend_oid(*found, rte->relid);
	}
}
