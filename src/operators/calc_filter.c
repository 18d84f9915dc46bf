/*
 * operators/calc_filter.c
 *		Filters: conditions of an AND-list that are decided in a tight loop over the batch.
 *
 * Every ordered type among them is compared as int64, so that one loop per width
 * serves all six operators as "lo <= x <= hi, or not": floats are mapped to integers
 * of the same order.
 *
 * Runs in: task worker, inside a round.
 */
#include "postgres.h"

#include <math.h>

#include "operators/calc_filter.h"

#include "access/detoast.h"
#include "access/stratnum.h"
#include "catalog/pg_opfamily.h"
#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

static bool make_comparison(OpExpr *op, SeFilter *filter);
static bool ordered_kind(Oid type, SeFilterKind *kind);
static bool ordered_constant(Oid column_type, const Const *constant, int64 *value);
static bool make_range(int strategy, int64 value, SeFilter *filter);
static Node *plain_column(Node *node);
static int64 float_order(double x);
static int	run_text_filter(const SeFilter *filter, const SeBatch *batch, int *rows, int nrows);

bool
se_filter_make(Expr *qual, SeFilter *filter)
{
	Node	   *node = (Node *) qual;

	memset(filter, 0, sizeof(SeFilter));

	if (IsA(node, NullTest) && !((NullTest *) node)->argisrow &&
		IsA(((NullTest *) node)->arg, Var))
	{
		filter->kind = FILTER_NULL;
		filter->column = ((Var *) ((NullTest *) node)->arg)->varattno - 1;
		filter->invert = ((NullTest *) node)->nulltesttype == IS_NOT_NULL;
		return true;
	}

	/* column, NOT column */
	if (IsA(node, BoolExpr) && ((BoolExpr *) node)->boolop == NOT_EXPR)
	{
		filter->invert = true;
		node = linitial(((BoolExpr *) node)->args);
	}
	if (IsA(node, Var) && ((Var *) node)->vartype == BOOLOID)
	{
		filter->kind = FILTER_BOOL;
		filter->column = ((Var *) node)->varattno - 1;
		filter->lo = filter->hi = 1;
		return true;
	}

	return IsA(qual, OpExpr) && make_comparison((OpExpr *) qual, filter);
}

/* A comparison of a column with a constant, either way round. */
static bool
make_comparison(OpExpr *op, SeFilter *filter)
{
	Node	   *left;
	Node	   *right;
	Oid			opno = op->opno;
	Oid			family;
	bool		negated = false;
	int			strategy;
	Const	   *constant;
	Oid			type;
	int64		value;

	if (list_length(op->args) != 2)
		return false;
	left = plain_column(linitial(op->args));
	right = plain_column(lsecond(op->args));
	if (IsA(left, Const) && IsA(right, Var))
	{
		Node	   *swap = left;

		left = right;
		right = swap;
		opno = get_commutator(opno);
	}
	if (!OidIsValid(opno) || !IsA(left, Var) || !IsA(right, Const) ||
		((Const *) right)->constisnull)
		return false;
	constant = (Const *) right;
	type = ((Var *) left)->vartype;
	filter->column = ((Var *) left)->varattno - 1;

	/* Which comparison is it? "<>" belongs to no family, its negator does. */
	if (type == VARCHAROID)
		type = TEXTOID;
	family = lookup_type_cache(type, TYPECACHE_BTREE_OPFAMILY)->btree_opf;
	strategy = get_op_opfamily_strategy(opno, family);
	if (strategy == 0 && OidIsValid(get_negator(opno)))
	{
		negated = true;
		strategy = get_op_opfamily_strategy(get_negator(opno), family);
		if (strategy != BTEqualStrategyNumber)
			return false;
	}
	if (strategy == 0)
		return false;

	if (type == TEXTOID)
	{
		struct varlena *bytes;

		if (strategy != BTEqualStrategyNumber || !OidIsValid(op->inputcollid) ||
			(constant->consttype != TEXTOID && constant->consttype != VARCHAROID) ||
			!get_collation_isdeterministic(op->inputcollid))
			return false;
		bytes = PG_DETOAST_DATUM_COPY(constant->constvalue);
		filter->kind = FILTER_TEXT;
		filter->bytes = VARDATA_ANY(bytes);
		filter->nbytes = VARSIZE_ANY_EXHDR(bytes);
		filter->invert = negated;
		return true;
	}

	filter->invert = negated;
	return ordered_kind(type, &filter->kind) &&
		ordered_constant(type, constant, &value) &&
		make_range(strategy, value, filter);
}

/* Which loop serves a column of this type, if any of the ordered ones does. */
static bool
ordered_kind(Oid type, SeFilterKind *kind)
{
	switch (type)
	{
		case INT2OID:
			*kind = FILTER_INT16;
			return true;
		case INT4OID:
		case DATEOID:
			*kind = FILTER_INT32;
			return true;
		case INT8OID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			*kind = FILTER_INT64;
			return true;
		case FLOAT4OID:
			*kind = FILTER_FLOAT4;
			return true;
		case FLOAT8OID:
			*kind = FILTER_FLOAT8;
			return true;
		default:
			return false;
	}
}

/* A constant in the column's order; types of one family may mix only where that is exact. */
static bool
ordered_constant(Oid column_type, const Const *constant, int64 *value)
{
	switch (constant->consttype)
	{
		case INT2OID:
			*value = DatumGetInt16(constant->constvalue);
			return true;
		case INT4OID:
			*value = DatumGetInt32(constant->constvalue);
			return true;
		case INT8OID:
			*value = DatumGetInt64(constant->constvalue);
			return true;
		case FLOAT4OID:
			*value = float_order(DatumGetFloat4(constant->constvalue));
			return true;
		case FLOAT8OID:
			*value = float_order(DatumGetFloat8(constant->constvalue));
			return true;
		case DATEOID:
			/* Dates meet timestamps through the calendar and the time zone. */
			*value = DatumGetInt32(constant->constvalue);
			return column_type == DATEOID;
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			*value = DatumGetInt64(constant->constvalue);
			return column_type == constant->consttype;
		default:
			return false;
	}
}

/* The integers that compare so with a value, as a range; an empty one has lo > hi. */
static bool
make_range(int strategy, int64 value, SeFilter *filter)
{
	filter->lo = PG_INT64_MIN;
	filter->hi = PG_INT64_MAX;
	switch (strategy)
	{
		case BTLessStrategyNumber:
			if (value == PG_INT64_MIN)
				filter->lo = PG_INT64_MAX;
			filter->hi = value == PG_INT64_MIN ? PG_INT64_MIN : value - 1;
			return true;
		case BTLessEqualStrategyNumber:
			filter->hi = value;
			return true;
		case BTEqualStrategyNumber:
			filter->lo = filter->hi = value;
			return true;
		case BTGreaterEqualStrategyNumber:
			filter->lo = value;
			return true;
		case BTGreaterStrategyNumber:
			if (value == PG_INT64_MAX)
				filter->hi = PG_INT64_MIN;
			filter->lo = value == PG_INT64_MAX ? PG_INT64_MAX : value + 1;
			return true;
		default:
			return false;
	}
}

/* What a varchar column looks like to an operator of text. */
static Node *
plain_column(Node *node)
{
	if (IsA(node, RelabelType))
	{
		RelabelType *relabel = (RelabelType *) node;
		Node	   *arg = (Node *) relabel->arg;

		if (relabel->resulttype == TEXTOID && IsA(arg, Var) &&
			(((Var *) arg)->vartype == VARCHAROID || ((Var *) arg)->vartype == TEXTOID))
			return arg;
	}
	return node;
}

/* An integer in the order of btree's float comparison: -0 equals 0, NaN is above all. */
static int64
float_order(double x)
{
	union
	{
		double		f;
		int64		i;
	}			u;

	if (isnan(x))
		return PG_INT64_MAX;
	u.f = x + 0.0;
	return u.i < 0 ? u.i ^ PG_INT64_MAX : u.i;
}

int
se_filter_run(const SeFilter *filter, const SeBatch *batch, int *rows, int nrows)
{
	const Datum *values = batch->values + filter->column;
	const bool *nulls = batch->nulls + filter->column;
	Size		stride = batch->ncolumns;
	int			kept = 0;

	/* Without a branch on the outcome: what passes is not predictable. */
#define KEEP_IN_RANGE(x) \
	for (int i = 0; i < nrows; i++) \
	{ \
		Datum		value = values[rows[i] * stride]; \
		int64		ordered = (x); \
		bool		inside = (ordered >= filter->lo) & (ordered <= filter->hi); \
		\
		rows[kept] = rows[i]; \
		kept += (inside != filter->invert) & !nulls[rows[i] * stride]; \
	}

	switch (filter->kind)
	{
		case FILTER_INT16:
			KEEP_IN_RANGE(DatumGetInt16(value));
			break;
		case FILTER_INT32:
			KEEP_IN_RANGE(DatumGetInt32(value));
			break;
		case FILTER_INT64:
			KEEP_IN_RANGE(DatumGetInt64(value));
			break;
		case FILTER_BOOL:
			KEEP_IN_RANGE(DatumGetBool(value));
			break;
		case FILTER_FLOAT4:
			KEEP_IN_RANGE(float_order(DatumGetFloat4(value)));
			break;
		case FILTER_FLOAT8:
			KEEP_IN_RANGE(float_order(DatumGetFloat8(value)));
			break;
		case FILTER_NULL:
			for (int i = 0; i < nrows; i++)
			{
				rows[kept] = rows[i];
				kept += nulls[rows[i] * stride] != filter->invert;
			}
			break;
		case FILTER_TEXT:
			kept = run_text_filter(filter, batch, rows, nrows);
			break;
	}
	return kept;
#undef KEEP_IN_RANGE
}

/* Likewise for text that equals, or not, a constant under a deterministic collation. */
static int
run_text_filter(const SeFilter *filter, const SeBatch *batch, int *rows, int nrows)
{
	int			kept = 0;

	for (int i = 0; i < nrows; i++)
	{
		Size		cell = (Size) rows[i] * batch->ncolumns + filter->column;
		struct varlena *bytes;
		bool		equal;

		if (batch->nulls[cell])
			continue;
		bytes = (struct varlena *) DatumGetPointer(batch->values[cell]);
		if (VARATT_IS_EXTERNAL(bytes) || VARATT_IS_COMPRESSED(bytes))
		{
			MemoryContext old = MemoryContextSwitchTo(batch->arena);

			bytes = detoast_attr(bytes);
			MemoryContextSwitchTo(old);
		}
		equal = VARSIZE_ANY_EXHDR(bytes) == filter->nbytes &&
			memcmp(VARDATA_ANY(bytes), filter->bytes, filter->nbytes) == 0;
		if (equal != filter->invert)
			rows[kept++] = rows[i];
	}
	return kept;
}
