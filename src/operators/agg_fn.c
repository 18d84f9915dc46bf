/*
 * operators/agg_fn.c
 *		An aggregate call made ready: its columns, its functions, its order, and the
 *		AggState that its functions are shown.
 *
 * Runs in: task worker, when the operator is made. Lives as long as the chain.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "base/compat.h"
#include "catalog/pg_aggregate.h"
#include "executor/executor.h"
#include "executor/nodeAgg.h"
#include "nodes/nodeFuncs.h"
#include "operators/agg_call.h"
#include "optimizer/optimizer.h"
#include "parser/parse_agg.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/regproc.h"
#include "utils/syscache.h"

static void find_functions(SeAggFn *fn);
static void find_columns(SeAggFn *fn, TupleDesc input);
static void find_order(SeAggFn *fn);
static void make_stand_in(SeAggFn *fn);
static void fmgr_for(FmgrInfo *function, Oid oid, Expr *expr);

SeAggFn *
se_agg_fn_new(const SeAggCall *call, SeAggMethod method, TupleDesc input, SeOperatorEnv *env)
{
	SeAggFn    *fn = palloc0(sizeof(SeAggFn));

	fn->call = call;
	fn->method = method;
	fn->aggref = call->aggref;
	find_columns(fn, input);
	find_functions(fn);
	if (method == SE_AGG_REPLAY)
		find_order(fn);
	make_stand_in(fn);
	return fn;
}

uint32
se_agg_fn_size(const SeAggFn *fn)
{
	switch (fn->method)
	{
		case SE_AGG_STATE:
			return sizeof(SeStateAcc);
		case SE_AGG_SERIAL:
			return sizeof(SeSerialAcc);
		default:
			return sizeof(SeReplayAcc);
	}
}

/* Where the arguments come from. */
static void
find_columns(SeAggFn *fn, TupleDesc input)
{
	Aggref	   *aggref = fn->aggref;

	fn->ndirect = list_length(aggref->aggdirectargs);
	fn->direct = palloc0(Max(fn->ndirect, 1) * sizeof(SeAggColumn));
	for (int i = 0; i < fn->ndirect; i++)
	{
		Node	   *arg = list_nth(aggref->aggdirectargs, i);
		SeAggColumn *column = &fn->direct[i];

		get_typlenbyval(exprType(arg), &column->typlen, &column->byval);
		column->enum_type = se_value_enum_type(exprType(arg));
		if (IsA(arg, Const))
		{
			column->column = -1;
			column->constant = ((Const *) arg)->constvalue;
			column->constant_null = ((Const *) arg)->constisnull;
		}
		else if (IsA(arg, Var))
			column->column = ((Var *) arg)->varattno - 1;
		else
			column->column = list_nth_int(fn->call->args, i);
	}

	fn->nargs = list_length(aggref->args);
	fn->args = palloc0(Max(fn->nargs, 1) * sizeof(SeAggColumn));
	for (int i = 0; i < fn->nargs; i++)
	{
		fn->args[i].column = se_agg_arg_column(fn->call, i);
		fn->args[i].byval = TupleDescAttr(input, fn->args[i].column)->attbyval;
		fn->args[i].typlen = TupleDescAttr(input, fn->args[i].column)->attlen;
		fn->args[i].enum_type = se_value_enum_type(TupleDescAttr(input, fn->args[i].column)->atttypid);
	}
}

/* Look the aggregate up and make its functions callable. */
static void
find_functions(SeAggFn *fn)
{
	Aggref	   *aggref = fn->aggref;
	HeapTuple	tuple = SearchSysCache1(AGGFNOID, ObjectIdGetDatum(aggref->aggfnoid));
	Form_pg_aggregate form;
	Oid			types[FUNC_MAX_ARGS];
	int			ntypes;
	Oid			transtype;
	Datum		initial;
	bool		initial_null;
	Expr	   *expr;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for aggregate %u", aggref->aggfnoid);
	form = (Form_pg_aggregate) GETSTRUCT(tuple);

	ntypes = get_aggregate_argtypes(aggref, types);
	transtype = resolve_aggregate_transtype(aggref->aggfnoid, form->aggtranstype, types, ntypes);
	get_typlenbyval(transtype, &fn->typlen, &fn->byval);
	fn->enum_type = se_value_enum_type(transtype);
	fn->ntrans = AGGKIND_IS_ORDERED_SET(aggref->aggkind) ? fn->nargs : ntypes;

	build_aggregate_transfn_expr(types, ntypes, fn->ndirect, aggref->aggvariadic, transtype,
								 aggref->inputcollid, form->aggtransfn, InvalidOid, &expr, NULL);
	fmgr_for(&fn->transition, form->aggtransfn, expr);
	if (OidIsValid(form->aggcombinefn))
	{
		build_aggregate_transfn_expr(&transtype, 1, 0, false, transtype, aggref->inputcollid,
									 form->aggcombinefn, InvalidOid, &expr, NULL);
		fmgr_for(&fn->combine, form->aggcombinefn, expr);
	}
	if (OidIsValid(form->aggserialfn))
	{
		build_aggregate_serialfn_expr(form->aggserialfn, &expr);
		fmgr_for(&fn->serial, form->aggserialfn, expr);
	}
	if (OidIsValid(form->aggdeserialfn))
	{
		build_aggregate_deserialfn_expr(form->aggdeserialfn, &expr);
		fmgr_for(&fn->deserial, form->aggdeserialfn, expr);
	}
	fn->nfinal = 1 + (form->aggfinalextra ? ntypes : fn->ndirect);
	fn->final_modifies = form->aggfinalmodify != AGGMODIFY_READ_ONLY;
	if (OidIsValid(form->aggfinalfn))
	{
		build_aggregate_finalfn_expr(types, fn->nfinal, transtype, aggref->aggtype,
									 aggref->inputcollid, form->aggfinalfn, &expr);
		fmgr_for(&fn->final, form->aggfinalfn, expr);
	}
	get_typlenbyval(aggref->aggtype, &fn->result_typlen, &fn->result_byval);

	initial = SysCacheGetAttr(AGGFNOID, tuple, Anum_pg_aggregate_agginitval, &initial_null);
	fn->has_initial = !initial_null;
	if (fn->has_initial)
	{
		char	   *literal = TextDatumGetCString(initial);
		Oid			input;
		Oid			param;

		getTypeInputInfo(transtype, &input, &param);
		fn->initial = OidInputFunctionCall(input, literal, param, -1);
	}
	ReleaseSysCache(tuple);

	if (fn->method == SE_AGG_SERIAL &&
		(!OidIsValid(fn->serial.fn_oid) || !OidIsValid(fn->deserial.fn_oid)))
		elog(ERROR, "aggregate %u cannot serialize its state", aggref->aggfnoid);
}

static void
fmgr_for(FmgrInfo *function, Oid oid, Expr *expr)
{
	fmgr_info(oid, function);
	fmgr_info_set_expr((Node *) expr, function);
}

/* DISTINCT sorts by all its arguments, beginning with those of ORDER BY. */
static void
find_order(SeAggFn *fn)
{
	Aggref	   *aggref = fn->aggref;
	List	   *clauses = aggref->aggdistinct != NIL ? aggref->aggdistinct : aggref->aggorder;

	if (AGGKIND_IS_ORDERED_SET(aggref->aggkind))
		return;					/* its own functions sort */
	fn->distinct = aggref->aggdistinct != NIL;
	fn->nsort = list_length(clauses);
	fn->sort_args = palloc0(Max(fn->nsort, 1) * sizeof(int));
	fn->sort = palloc0(Max(fn->nsort, 1) * sizeof(SortSupportData));
	for (int i = 0; i < fn->nsort; i++)
	{
		SortGroupClause *clause = list_nth_node(SortGroupClause, clauses, i);
		TargetEntry *tle = get_sortgroupclause_tle(clause, aggref->args);
		SortSupport sort = &fn->sort[i];
		Oid			family;
		Oid			type;
		SeCompatStrategy strategy;

		/* The query depends on the operator, and not on the class that makes it an order. */
		if (!get_ordering_op_properties(clause->sortop, &family, &type, &strategy))
			ereport(ERROR,
					(errcode(ERRCODE_UNDEFINED_OBJECT),
					 errmsg("operator %s, by which an aggregate sorts, belongs to no btree operator class",
							format_operator(clause->sortop)),
					 errhint("Create a btree operator class for its type.")));
		fn->sort_args[i] = tle->resno - 1;
		sort->ssup_cxt = CurrentMemoryContext;
		sort->ssup_collation = exprCollation((Node *) tle->expr);
		sort->ssup_nulls_first = clause->nulls_first;
		PrepareSortSupportFromOrderingOp(clause->sortop, sort);
	}
}

/*
 * What aggregate support functions look at (V55). The per-call structures are as large
 * as this major version has them; only fields by name are set.
 */
static void
make_stand_in(SeAggFn *fn)
{
	AggState   *agg = makeNode(AggState);
	AggStatePerAgg peragg = palloc0(sizeof(AggStatePerAggData));
	AggStatePerTrans pertrans = palloc0(sizeof(AggStatePerTransData));

	agg->ss.ps.state = CreateExecutorState();
	agg->tmpcontext = CreateStandaloneExprContext();
	agg->curaggcontext = makeNode(ExprContext);
	agg->curaggcontext->ecxt_per_query_memory = CurrentMemoryContext;
	agg->curaggcontext->ecxt_estate = agg->ss.ps.state;
	agg->ss.ps.ps_ExprContext = agg->tmpcontext;
	agg->numaggs = agg->numtrans = 1;
	peragg->aggref = fn->aggref;
	peragg->transno = 0;
	pertrans->aggref = fn->aggref;
	pertrans->aggshared = false;
	agg->peragg = peragg;
	agg->pertrans = pertrans;
	agg->curpertrans = pertrans;
	fn->agg = agg;
	if (fn->method == SE_AGG_REPLAY)
		fn->group_context = CreateStandaloneExprContext();
}
