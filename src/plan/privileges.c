/*
 * plan/privileges.c
 *		May the current user call the functions of a dataflow?
 *
 * A session asks when it creates or explains a view, and a worker at its start, because
 * what was granted then may be gone. PostgreSQL would ask the same when it starts the
 * query. Nothing is evaluated here.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "base/compat.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_proc.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "plan/plan.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

static bool check_functions(Node *node, void *context);
static bool check_function(Oid function, void *context);
static void check_may_aggregate(List *calls);
static void check_parts(Oid aggregate);
static void check_part(Oid function, Oid owner);

void
se_plan_check_functions(const SeGraph *graph)
{
	ListCell   *cell;

	foreach(cell, graph->nodes)
	{
		SeNode	   *node = lfirst(cell);

		switch (node->kind)
		{
			case SE_NODE_CALC:
				(void) check_functions((Node *) ((SeCalcNode *) node)->quals, NULL);
				(void) check_functions((Node *) ((SeCalcNode *) node)->targets, NULL);
				break;
			default:
				check_may_aggregate(se_graph_calls(node));
				break;
		}
	}
}

/* Walker: EXECUTE on every function an expression calls; input and output functions of types need none. */
static bool
check_functions(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (!IsA(node, CoerceViaIO))
		(void) check_functions_in_node(node, check_function, NULL);
	return expression_tree_walker(node, check_functions, context);
}

/* check_functions_in_node callback: raise, or go on. */
static bool
check_function(Oid function, void *context)
{
	if (!se_compat_may_execute(function, GetUserId()))
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_FUNCTION, get_func_name(function));
	return false;
}

/* EXECUTE on the aggregates; and their owners' on what they are made of. */
static void
check_may_aggregate(List *calls)
{
	ListCell   *cell;

	foreach(cell, calls)
	{
		Aggref	   *aggref = ((SeAggCall *) lfirst(cell))->aggref;

		if (!se_compat_may_execute(aggref->aggfnoid, GetUserId()))
			aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_AGGREGATE, get_func_name(aggref->aggfnoid));
		(void) check_functions((Node *) aggref->aggdirectargs, NULL);
		check_parts(aggref->aggfnoid);
	}
}

static void
check_parts(Oid aggregate)
{
	HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(aggregate));
	Form_pg_aggregate form;
	Oid			owner;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for function %u", aggregate);
	owner = ((Form_pg_proc) GETSTRUCT(tuple))->proowner;
	ReleaseSysCache(tuple);

	tuple = SearchSysCache1(AGGFNOID, ObjectIdGetDatum(aggregate));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for aggregate %u", aggregate);
	form = (Form_pg_aggregate) GETSTRUCT(tuple);
	check_part(form->aggtransfn, owner);
	check_part(form->aggfinalfn, owner);
	check_part(form->aggcombinefn, owner);
	check_part(form->aggserialfn, owner);
	check_part(form->aggdeserialfn, owner);
	ReleaseSysCache(tuple);
}

/* A transition function that was taken from the aggregate's owner must not be called through it. */
static void
check_part(Oid function, Oid owner)
{
	if (OidIsValid(function) && !se_compat_may_execute(function, owner))
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_FUNCTION, get_func_name(function));
}
