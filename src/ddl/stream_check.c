/*
 * ddl/stream_check.c
 *		Do the rows that a stream has already fit what an ALTER says of all its rows?
 *
 * PostgreSQL takes what is said of a foreign table for true without a look at its rows: NOT NULL, CHECK constraints,
 * the bounds of a partition, another type. Its planner relies on it, and a continuous view equals its query. So
 * what it does for an ordinary table happens here: one query over the log, which stops at the first row that does not
 * fit.
 *
 *		SET NOT NULL, ADD COLUMN … NOT NULL		no row is NULL there
 *		ADD CONSTRAINT … CHECK, VALIDATE		it is not false (NOT VALID spares the look)
 *		ATTACH PARTITION, CREATE … PARTITION OF	all rows are within the bounds, also those of the default partition
 *		ALTER COLUMN … TYPE						every value can be converted (log/convert.c)
 *		ADD COLUMN … GENERATED					there are no rows: they are not written again
 *
 * The query's conditions are hidden from the planner, which would answer them by what the statement says. The
 * statement's lock keeps everybody out, so a new snapshot sees all rows but those of the own transaction: with such
 * rows there is no way to look.
 *
 * Runs in: sessions, as the stream's owner in a restricted operation.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "base/compat.h"
#include "catalog/indexing.h"
#include "catalog/pg_class.h"
#include "catalog/pg_constraint.h"
#include "ddl/stream_check.h"
#include "executor/executor.h"
#include "executor/tstoreReceiver.h"
#include "log/append.h"
#include "miscadmin.h"
#include "parser/analyze.h"
#include "tcop/tcopprot.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/ruleutils.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"
#include "utils/tuplestore.h"

typedef enum CheckKind
{
	CHECK_NOT_NULL,
	CHECK_CONSTRAINT,
	CHECK_BOUNDS,
	CHECK_TYPE,
	CHECK_GENERATED
} CheckKind;

/* One thing that must not be true of any row. */
typedef struct Check
{
	CheckKind	kind;
	AttrNumber	attno;
	Oid			constraint;
	char	   *violated;		/* SQL */
} Check;

static List *list_checks(Relation stream, const SeStreamShape *before, const SeLayout *layout);
static List *add_check(List *checks, CheckKind kind, AttrNumber attno, Oid constraint, char *violated);
static char *constraint_text(Oid constraint);
static char *bounds_text(Oid stream);
static int	find_violation(Relation stream, List *checks);
static int	run(Query *query, const char *sql);
static void raise_violation(Relation stream, const Check *check) SE_NORETURN;

SeStreamShape *
se_stream_check_shape(Oid relation)
{
	SeStreamShape *shape = palloc0(sizeof(SeStreamShape));
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relation));

	if (!HeapTupleIsValid(tuple))
		return shape;
	shape->natts = ((Form_pg_class) GETSTRUCT(tuple))->relnatts;
	ReleaseSysCache(tuple);
	for (AttrNumber attno = 1; attno <= shape->natts; attno++)
	{
		tuple = SearchSysCache2(ATTNUM, ObjectIdGetDatum(relation), Int16GetDatum(attno));
		if (!HeapTupleIsValid(tuple))
			continue;
		if (((Form_pg_attribute) GETSTRUCT(tuple))->attnotnull && se_compat_not_null_is_valid(relation, attno))
			shape->not_null = bms_add_member(shape->not_null, attno);
		ReleaseSysCache(tuple);
	}
	return shape;
}

Oid
se_stream_check_constraint(Oid constraint, bool created)
{
	Relation	constraints;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;
	Oid			relation = InvalidOid;

	if (!created)
	{
		/* as it was: what is valid already needs no look */
		tuple = SearchSysCache1(CONSTROID, ObjectIdGetDatum(constraint));
		if (!HeapTupleIsValid(tuple))
			return InvalidOid;
		created = !((Form_pg_constraint) GETSTRUCT(tuple))->convalidated;
		ReleaseSysCache(tuple);
		if (!created)
			return InvalidOid;
	}

	/* The new row is there, but not yet for this command's snapshot. */
	constraints = table_open(ConstraintRelationId, AccessShareLock);
	ScanKeyInit(&key, Anum_pg_constraint_oid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(constraint));
	scan = systable_beginscan(constraints, ConstraintOidIndexId, true, SnapshotSelf, 1, &key);
	if (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_constraint form = (Form_pg_constraint) GETSTRUCT(tuple);

		if ((form->contype == CONSTRAINT_CHECK || form->contype == SE_COMPAT_CONSTRAINT_NOT_NULL) && form->convalidated &&
			get_rel_relkind(form->conrelid) == RELKIND_FOREIGN_TABLE)
			relation = form->conrelid;
	}
	systable_endscan(scan);
	table_close(constraints, AccessShareLock);
	return relation;
}

void
se_stream_check_rows(Oid oid, const SeStreamShape *before, const SeLayout *layout)
{
	Relation	stream = table_open(oid, AccessShareLock);
	List	   *checks;
	int			violated;
	int			level = NewGUCNestLevel();

	/* Names are read as they are written. */
	(void) set_config_option("search_path", "pg_catalog, pg_temp", PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
	(void) set_config_option("constraint_exclusion", "off", PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
	checks = list_checks(stream, before, layout);
	violated = checks == NIL ? -1 : find_violation(stream, checks);
	AtEOXact_GUC(false, level);

	if (violated >= 0)
		raise_violation(stream, list_nth(checks, violated));
	if (checks != NIL && se_append_has_rows(oid))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("cannot check the rows of stream \"%s\" that this transaction has written",
						RelationGetRelationName(stream)),
				 errdetail("They are in the log, and can be read when the transaction is committed."),
				 errhint("Alter the stream in another transaction.")));
	table_close(stream, NoLock);
}

static List *
list_checks(Relation stream, const SeStreamShape *before, const SeLayout *layout)
{
	TupleDesc	desc = RelationGetDescr(stream);
	List	   *checks = NIL;
	ListCell   *lc;

	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute attr = TupleDescAttr(desc, i);
		const char *name = quote_identifier(NameStr(attr->attname));
		const SeLayoutColumn *old = layout != NULL ? se_layout_column(layout, attr->attnum) : NULL;

		if (attr->attisdropped)
			continue;
		if (attr->attgenerated != '\0' && attr->attnum > before->natts)
			checks = add_check(checks, CHECK_GENERATED, attr->attnum, InvalidOid, "true");
		if (old != NULL && (old->type != attr->atttypid || old->typmod != attr->atttypmod))
		{
			char	   *type = format_type_with_typemod(attr->atttypid, attr->atttypmod);
			int32		typmod = attr->atttypmod;
			Oid			base = getBaseTypeAndTypmod(attr->atttypid, &typmod);

			/* Reading converts it; the checks of a domain run here, once. */
			checks = add_check(checks, CHECK_TYPE, attr->attnum, InvalidOid,
							   psprintf("num_nulls(%s::%s::%s) > 1", name,
										format_type_with_typemod(base, typmod), type));
		}
		if (attr->attnotnull && !bms_is_member(attr->attnum, before->not_null) &&
			se_compat_not_null_is_valid(RelationGetRelid(stream), attr->attnum))
			checks = add_check(checks, CHECK_NOT_NULL, attr->attnum, InvalidOid,
							   psprintf("num_nulls(%s) > 0", name));
	}
	foreach(lc, before->constraints)
	{
		char	   *text = constraint_text(lfirst_oid(lc));

		if (text !=NULL)
			checks = add_check(checks, CHECK_CONSTRAINT, 0, lfirst_oid(lc), psprintf("(%s) IS FALSE", text));
	}
	if (stream->rd_rel->relispartition && before->new_bounds)
		checks = add_check(checks, CHECK_BOUNDS, 0, InvalidOid,
						   psprintf("(%s) IS FALSE", bounds_text(RelationGetRelid(stream))));
	return checks;
}

static List *
add_check(List *checks, CheckKind kind, AttrNumber attno, Oid constraint, char *violated)
{
	Check	   *check = palloc0(sizeof(Check));

	check->kind = kind;
	check->attno = attno;
	check->constraint = constraint;
	check->violated = violated;
	return lappend(checks, check);
}

/* The expression of a CHECK constraint; NULL if it is another one, or the statement has dropped it again. */
static char *
constraint_text(Oid constraint)
{
	HeapTuple	tuple = SearchSysCache1(CONSTROID, ObjectIdGetDatum(constraint));
	Datum		bin;
	bool		isnull;
	char	   *words;

	if (!HeapTupleIsValid(tuple))
		return NULL;
	bin = SysCacheGetAttr(CONSTROID, tuple, Anum_pg_constraint_conbin, &isnull);
	words = isnull ? NULL : TextDatumGetCString(DirectFunctionCall2(pg_get_expr, bin,
																	ObjectIdGetDatum(((Form_pg_constraint) GETSTRUCT(tuple))->conrelid)));
	ReleaseSysCache(tuple);
	return words;
}

/* What a partition's rows must be; nothing for a default partition without siblings. */
static char *
bounds_text(Oid stream)
{
	char	   *text = pg_get_partconstrdef_string(stream, get_rel_name(stream));

	return text !=NULL && text[0] != '\0' ? text : "true";
}

/* The index of the first check that a row violates, -1 if none does. */
static int
find_violation(Relation stream, List *checks)
{
	StringInfoData sql;
	ListCell   *lc;
	Query	   *query;
	Oid			user;
	int			context;
	int			violated;

	initStringInfo(&sql);
	appendStringInfoString(&sql, "SELECT violated FROM (SELECT CASE");
	foreach(lc, checks)
		appendStringInfo(&sql, " WHEN %s THEN %d", ((Check *) lfirst(lc))->violated, foreach_current_index(lc));
	appendStringInfo(&sql, " END AS violated FROM ONLY %s) AS checked WHERE violated IS NOT NULL LIMIT 1",
					 quote_qualified_identifier(get_namespace_name(RelationGetNamespace(stream)),
												RelationGetRelationName(stream)));
	query = linitial_node(Query,
						  pg_analyze_and_rewrite_fixedparams(linitial_node(RawStmt, pg_parse_query(sql.data)),
															 sql.data, NULL, 0, NULL));

	/* Whoever may alter the stream, its owner's functions get no more rights than the owner has. */
	GetUserIdAndSecContext(&user, &context);
	SetUserIdAndSecContext(stream->rd_rel->relowner, context | SECURITY_RESTRICTED_OPERATION);
	violated = run(query, sql.data);
	SetUserIdAndSecContext(user, context);
	return violated;
}

/* The one integer that a query returns, -1 if it returns no row. */
static int
run(Query *query, const char *sql)
{
	Tuplestorestate *rows = tuplestore_begin_heap(false, false, work_mem);
	DestReceiver *dest = CreateDestReceiver(DestTuplestore);
	TupleTableSlot *slot;
	PlannedStmt *plan;
	QueryDesc  *query_desc;
	int			answer = -1;
	bool		isnull;

	SetTuplestoreDestReceiverParams(dest, rows, CurrentMemoryContext, false, NULL, NULL);
	PushActiveSnapshot(GetLatestSnapshot());
	plan = se_compat_plan_query(query, sql, 0);
	query_desc = CreateQueryDesc(plan, sql, GetActiveSnapshot(), InvalidSnapshot, dest, NULL, NULL, 0);
	ExecutorStart(query_desc, 0);
	se_compat_executor_run(query_desc);
	slot = MakeSingleTupleTableSlot(query_desc->tupDesc, &TTSOpsMinimalTuple);
	if (tuplestore_gettupleslot(rows, true, false, slot))
		answer = DatumGetInt32(slot_getattr(slot, 1, &isnull));
	ExecDropSingleTupleTableSlot(slot);
	ExecutorFinish(query_desc);
	ExecutorEnd(query_desc);
	FreeQueryDesc(query_desc);
	PopActiveSnapshot();
	dest->rDestroy(dest);
	tuplestore_end(rows);
	return answer;
}

/* In PostgreSQL's words, where it has some. */
static void
raise_violation(Relation stream, const Check *check)
{
	const char *name = RelationGetRelationName(stream);
	const char *column = check->attno > 0 ? NameStr(TupleDescAttr(RelationGetDescr(stream), check->attno - 1)->attname) : NULL;

	switch (check->kind)
	{
		case CHECK_NOT_NULL:
			ereport(ERROR,
					(errcode(ERRCODE_NOT_NULL_VIOLATION),
					 errmsg("column \"%s\" of relation \"%s\" contains null values", column, name),
					 errdetail("Some rows in the log have no value there."),
					 errhint("Give a new column a DEFAULT, which older rows then read as."),
					 errtablecol(stream, check->attno)));
			break;
		case CHECK_CONSTRAINT:
			ereport(ERROR,
					(errcode(ERRCODE_CHECK_VIOLATION),
					 errmsg("check constraint \"%s\" of relation \"%s\" is violated by some row",
							get_constraint_name(check->constraint), name),
					 errhint("With NOT VALID it binds new rows only."),
					 errtableconstraint(stream, get_constraint_name(check->constraint))));
			break;
		case CHECK_BOUNDS:
			ereport(ERROR,
					(errcode(ERRCODE_CHECK_VIOLATION),
					 errmsg("partition constraint of relation \"%s\" is violated by some row", name),
					 errtable(stream)));
			break;
		case CHECK_GENERATED:
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("cannot add generated column \"%s\" to stream \"%s\", which has rows", column, name),
					 errdetail("Rows in the log are not written again, and would read as NULL there."),
					 errhint("Compute it in the queries over the stream, or create another stream.")));
			break;
		case CHECK_TYPE:
			break;				/* raised while it is read */
	}
	elog(ERROR, "rows of stream \"%s\" violate a check of kind %d", name, check->kind);
}
