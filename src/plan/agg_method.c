/*
 * plan/agg_method.c
 *		How each aggregate call is computed.
 *
 *		native	an accumulator of ours (flow/agg_native.h)
 *		state	PostgreSQL's functions, the transition state kept as a plain value
 *		serial	the same with an internal state, stored by its serial function
 *		replay	the arguments are kept, and the whole aggregate runs at emission
 *
 * Replay is right for everything and is what is left: ORDER BY inside the call and
 * ordered sets need all rows at once; so does DISTINCT where the order of the rows
 * matters, because PostgreSQL feeds the distinct values sorted. Aggregates that put
 * rows one after another (array_agg, string_agg) are replayed in every version, also
 * where they have serial functions (16), so that slices never reorder them.
 *
 * States of slices are merged for hop and cumulate only where a combine function
 * exists and nothing is kept apart from the state.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_type.h"
#include "flow/agg_native.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "parser/parse_agg.h"
#include "plan/plan_internal.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

static void check_collation(SePlan *plan, const Aggref *aggref);
static bool is_min_or_max(SeAggNative native);
static bool distinct_is_hashable(const Aggref *aggref);
static bool appends_rows(Oid transition);
static SeAggMethod choose_method(const Aggref *aggref, Form_pg_aggregate form);
static Oid	transition_type(const Aggref *aggref, Oid declared);

/* The method of a canonical call; its arguments are bound later. `number`: its place. */
SeAggCall *
se_agg_call_make(SePlan *plan, const Aggref *aggref, int number)
{
	SeAggCall  *call = palloc0(sizeof(SeAggCall));
	HeapTuple	tuple;
	Form_pg_aggregate form;

	check_collation(plan, aggref);
	call->aggref = copyObject((Aggref *) aggref);
	call->aggref->aggno = number;
	call->aggref->aggtransno = number;
	call->filter = -1;

	/* the greatest of the distinct values is the greatest of all */
	if (is_min_or_max(se_agg_native(aggref->aggfnoid)) && aggref->aggorder == NIL)
		call->aggref->aggdistinct = NIL;

	tuple = SearchSysCache1(AGGFNOID, ObjectIdGetDatum(aggref->aggfnoid));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for aggregate %u", aggref->aggfnoid);
	form = (Form_pg_aggregate) GETSTRUCT(tuple);
	call->aggref->aggtranstype = transition_type(aggref, form->aggtranstype);
	call->method = choose_method(call->aggref, form);
	call->mergeable = call->aggref->aggdistinct == NIL &&
		(call->method == SE_AGG_NATIVE ||
		 (call->method != SE_AGG_REPLAY && OidIsValid(form->aggcombinefn)));
	ReleaseSysCache(tuple);
	return call;
}

/* Canonical expressions a call needs as input columns: direct arguments, arguments, filter. */
List *
se_agg_call_inputs(const Aggref *aggref)
{
	List	   *inputs = list_copy(aggref->aggdirectargs);
	ListCell   *lc;

	foreach(lc, aggref->args)
		inputs = lappend(inputs, lfirst_node(TargetEntry, lc)->expr);
	if (aggref->aggfilter != NULL)
		inputs = lappend(inputs, aggref->aggfilter);
	return inputs;
}

/* Refer a call to the columns of its input, which holds all that se_agg_call_inputs named. */
void
se_agg_call_bind(SePlan *plan, SeAggCall *call, const SeStep *input)
{
	Aggref	   *aggref = call->aggref;
	ListCell   *lc;

	foreach(lc, aggref->aggdirectargs)
		call->args = lappend_int(call->args, se_step_column(input, lfirst(lc)));
	foreach(lc, aggref->args)
		call->args = lappend_int(call->args, se_step_column(input, lfirst_node(TargetEntry, lc)->expr));
	if (aggref->aggfilter != NULL)
		call->filter = se_step_column(input, aggref->aggfilter);

	aggref->aggdirectargs = (List *) se_expr_over(plan, (Expr *) aggref->aggdirectargs, input);
	aggref->args = (List *) se_expr_over(plan, (Expr *) aggref->args, input);
	aggref->aggfilter = se_expr_over(plan, aggref->aggfilter, input);
}

static SeAggMethod
choose_method(const Aggref *aggref, Form_pg_aggregate form)
{
	SeAggNative native = se_agg_native(aggref->aggfnoid);

	if (aggref->aggkind != AGGKIND_NORMAL || aggref->aggorder != NIL)
		return SE_AGG_REPLAY;
	if (aggref->aggdistinct != NIL)
	{
		if (native != SE_NATIVE_NONE && !se_agg_native_is_order_sensitive(native) &&
			distinct_is_hashable(aggref))
			return SE_AGG_NATIVE;
		return SE_AGG_REPLAY;
	}
	if (native != SE_NATIVE_NONE)
		return SE_AGG_NATIVE;
	if (appends_rows(form->aggtransfn))
		return SE_AGG_REPLAY;
	if (aggref->aggtranstype != INTERNALOID)
		return SE_AGG_STATE;
	if (OidIsValid(form->aggserialfn) && OidIsValid(form->aggdeserialfn))
		return SE_AGG_SERIAL;
	return SE_AGG_REPLAY;
}

/* Comparing texts without a collation would fail at the second row; say so now. */
static void
check_collation(SePlan *plan, const Aggref *aggref)
{
	SeAggNative native = se_agg_native(aggref->aggfnoid);

	if ((native == SE_NATIVE_MIN_TEXT || native == SE_NATIVE_MAX_TEXT) &&
		!OidIsValid(aggref->inputcollid))
		ereport(ERROR,
				(errcode(ERRCODE_INDETERMINATE_COLLATION),
				 errmsg("could not determine which collation to use for aggregate %s()",
						get_func_name(aggref->aggfnoid)),
				 errhint("Use the COLLATE clause to set the collation explicitly."),
				 se_plan_node_position(plan, linitial_node(TargetEntry, aggref->args)->expr)));
}

static bool
is_min_or_max(SeAggNative native)
{
	return native >= SE_NATIVE_MIN_INT2 && native <= SE_NATIVE_MAX_NUMERIC;
}

static bool
distinct_is_hashable(const Aggref *aggref)
{
	ListCell   *lc;

	foreach(lc, aggref->aggdistinct)
	{
		if (!se_expr_is_hashable(lfirst_node(SortGroupClause, lc)))
			return false;
	}
	return true;
}

/* Transition functions whose result is the rows in the order they came. */
static bool
appends_rows(Oid transition)
{
	switch (transition)
	{
		case F_ARRAY_AGG_TRANSFN:
		case F_ARRAY_AGG_ARRAY_TRANSFN:
		case F_STRING_AGG_TRANSFN:
		case F_BYTEA_STRING_AGG_TRANSFN:
			return true;
		default:
			return false;
	}
}

/* The type of the transition state, polymorphic ones resolved. */
static Oid
transition_type(const Aggref *aggref, Oid declared)
{
	Oid			types[FUNC_MAX_ARGS];
	int			n = get_aggregate_argtypes((Aggref *) aggref, types);

	return resolve_aggregate_transtype(aggref->aggfnoid, declared, types, n);
}
