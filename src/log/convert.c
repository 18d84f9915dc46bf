/*
 * log/convert.c
 *		A column's older values as its type of today.
 *
 * Everybody who reads the log does this, as whatever user: so only functions of PostgreSQL itself run here, and of
 * those only immutable ones, whose answer does not depend on a reader's settings. The checks of a domain do not run:
 * its values were checked when the column got the type.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "base/compat.h"
#include "executor/executor.h"
#include "log/convert.h"
#include "log/message.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parse_coerce.h"
#include "parser/parse_collate.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

struct SeConversion
{
	ExprState  *state;
	ExprContext *econtext;
};

static bool is_unchanged(const SeLayout *layout, const List *layouts, const SeLayoutColumn *stored, Form_pg_attribute attr);
static Node *cast_to(Node *expr, Oid type, int32 typmod);
static bool calls_foreign_function(Node *node, void *context);
static void refuse(Form_pg_attribute attr, Oid stored, const char *reason) SE_NORETURN;

SeConversion *
se_convert_new(const SeLayout *layout, List *layouts, TupleDesc desc, AttrNumber attno)
{
	Form_pg_attribute attr = se_compat_attr(desc, attno - 1);
	const SeLayoutColumn *stored = se_layout_column(layout, attno);
	CaseTestExpr *value;
	Node	   *expr;
	Oid			from;
	SeConversion *conversion;
	ListCell   *lc;

	/* A layout of a transaction has no place among the catalog's. */
	if (layout->id & SE_LAYOUT_IN_TRANSACTION)
		layouts = NIL;
	if (is_unchanged(layout, layouts, stored, attr))
		return NULL;
	if (!SearchSysCacheExists1(TYPEOID, ObjectIdGetDatum(stored->type)))
		refuse(attr, stored->type, "The type they were written with is gone.");

	value = makeNode(CaseTestExpr);
	expr = (Node *) value;
	value->typeId = getBaseType(stored->type);
	value->typeMod = stored->typmod;
	value->collation = stored->collation;

	foreach(lc, layouts)
	{
		const SeLayout *later = lfirst(lc);
		const SeLayoutColumn *column = later->id > layout->id ? se_layout_column(later, attno) : NULL;

		if (column == NULL)
			continue;
		from = exprType(expr);
		if ((expr = cast_to(expr, column->type, column->typmod)) == NULL)
			refuse(attr, from, "There is no cast for an assignment.");
	}
	from = exprType(expr);
	if ((expr = cast_to(expr, attr->atttypid, attr->atttypmod)) == NULL)
		refuse(attr, from, "There is no cast for an assignment.");

	while (IsA(expr, RelabelType))
		expr = (Node *) ((RelabelType *) expr)->arg;
	if (IsA(expr, CaseTestExpr))
		return NULL;
	assign_expr_collations(make_parsestate(NULL), expr);
	if (contain_mutable_functions(expr))
		refuse(attr, stored->type, "The cast depends on settings.");
	if (calls_foreign_function(expr, NULL))
		refuse(attr, stored->type, "The cast calls a function that is not PostgreSQL's own.");
	expr = (Node *) expression_planner((Expr *) expr);
	while (IsA(expr, RelabelType))
		expr = (Node *) ((RelabelType *) expr)->arg;
	if (IsA(expr, CaseTestExpr))
		return NULL;			/* a length that only became wider */

	conversion = palloc0(sizeof(SeConversion));
	conversion->econtext = CreateStandaloneExprContext();
	conversion->state = ExecInitExpr((Expr *) expr, NULL);
	return conversion;
}

/* Has the column had one type and length all the time? */
static bool
is_unchanged(const SeLayout *layout, const List *layouts, const SeLayoutColumn *stored, Form_pg_attribute attr)
{
	ListCell   *lc;

	Assert(stored != NULL);
	foreach(lc, layouts)
	{
		const SeLayout *later = lfirst(lc);
		const SeLayoutColumn *column = later->id > layout->id ? se_layout_column(later, attr->attnum) : NULL;

		if (column != NULL && (column->type != stored->type || column->typmod != stored->typmod))
			return false;
	}
	return attr->atttypid == stored->type && attr->atttypmod == stored->typmod;
}

/* The expression as another type (the base type of a domain), or NULL if there is no cast for an assignment. */
static Node *
cast_to(Node *expr, Oid type, int32 typmod)
{
	Oid			from = exprType(expr);
	Oid			base = getBaseTypeAndTypmod(type, &typmod);

	if (from == base && exprTypmod(expr) == typmod)
		return expr;
	if (!SearchSysCacheExists1(TYPEOID, ObjectIdGetDatum(from)) ||
		!SearchSysCacheExists1(TYPEOID, ObjectIdGetDatum(base)))
		return NULL;			/* dropped since */
	return coerce_to_target_type(NULL, expr, from, base, typmod, COERCION_ASSIGNMENT, COERCE_IMPLICIT_CAST, -1);
}

static bool
is_foreign(Oid function, void *context)
{
	return function >= FirstGenbkiObjectId;
}

static bool
calls_foreign_function(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (check_functions_in_node(node, is_foreign, context))
		return true;
	return expression_tree_walker(node, calls_foreign_function, context);
}

static void
refuse(Form_pg_attribute attr, Oid stored, const char *reason)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATATYPE_MISMATCH),
			 errmsg("column \"%s\" of the stream cannot be read as type %s from rows that hold %s",
					NameStr(attr->attname), format_type_with_typemod(attr->atttypid, attr->atttypmod),
					SearchSysCacheExists1(TYPEOID, ObjectIdGetDatum(stored)) ? format_type_be(stored) : "a dropped type"),
			 errdetail("%s", reason),
			 errhint("Add a column of the new type instead.")));
}

Datum
se_convert_value(SeConversion *conversion, Datum value, bool *isnull)
{
	conversion->econtext->caseValue_datum = value;
	conversion->econtext->caseValue_isNull = *isnull;
	return ExecEvalExpr(conversion->state, conversion->econtext, isnull);
}
