/*
 * ddl/stream_ddl.c
 *		Streams under DDL: options checked, the watermark kept true, layouts stored.
 *
 * The watermark is text in a table option, so that pg_dump and \d show it.  Text goes
 * stale: names in it are renamed, and mean something else under another search_path.  Therefore
 *
 *	- when a user gives it, it is analysed under the user's search_path and stored as
 *	  deparsed under an empty one, its functions and types recorded as dependencies;
 *	- while an ALTER of anything it may mention is under way, but the new catalog rows
 *	  are not visible yet, the old text is still right: it is analysed then and the
 *	  expression *remembered*; when the statement is over the expression is deparsed
 *	  under the new names.  A text that the statement itself has changed is a user's.
 *
 * Columns of the stream are no dependencies (PostgreSQL would not let their type be
 * changed at all, in words nobody understands): dropping one is refused here.
 *
 * Runs in: sessions.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "base/compat.h"
#include "catalog/dependency.h"
#include "catalog/indexing.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_class.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_depend.h"
#include "catalog/pg_foreign_table.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "ddl/stream_ddl.h"
#include "foreign/foreign.h"
#include "log/layout.h"
#include "log/stream.h"
#include "meta/dropped_rows.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/ruleutils.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

SE_FUNCTION_INFO_V1(stream_engine_check_stream);

/* A watermark as it was before the running statement. */
typedef struct Remembered
{
	Oid			stream;
	SubTransactionId subxact;	/* forgotten if it aborts */
	char	   *text;
	Node	   *expr;			/* analysed */
} Remembered;

static List *remembered = NIL;	/* TopTransactionContext */

static void remember(Oid stream);
static Remembered *take_remembered(Oid stream);
static void settle(Oid relation, Remembered *before);
static void check_columns(Relation stream, const SeStreamInfo *info);
static void check_times(const SeStreamInfo *info, int level);
static Node *analyse(Relation stream, const SeStreamInfo *info, const char *text, bool keep_path);
static char *deparse(Relation stream, const SeStreamInfo *info, Node *expr);
static void set_watermark(Oid relation, const char *text);
static void record_dependencies(Oid relation, Node *expr);
static void forget_dependencies(Oid relation);
static Node *columns_to_nulls(Node *node, void *context);
static List *dependent_streams(Oid class_id, Oid object);
static void transaction_event(XactEvent event, void *arg);
static void subtransaction_event(SubXactEvent event, SubTransactionId subxact,
								 SubTransactionId parent, void *arg);

void
se_stream_ddl_init(void)
{
	RegisterXactCallback(transaction_event, NULL);
	RegisterSubXactCallback(subtransaction_event, NULL);
}

/* Remember what the watermarks of the streams that may mention an object are now. */
List *
se_stream_ddl_altering(Oid class_id, Oid object, int sub_id)
{
	List	   *streams = NIL;
	ListCell   *lc;

	if (class_id == RelationRelationId && sub_id > 0)
		se_stored_types_check_change(object, sub_id);
	switch (class_id)
	{
		case RelationRelationId:
			if (se_stream_is(object))
				streams = list_make1_oid(object);
			/* a column of a composite type may be named too */
			SE_FALLTHROUGH;
		case ProcedureRelationId:
		case OperatorRelationId:
		case TypeRelationId:
		case CollationRelationId:
			streams = list_concat_unique_oid(streams, dependent_streams(class_id, object));
			break;
		case NamespaceRelationId:
			streams = se_stream_list();
			break;
		default:
			break;
	}
	foreach(lc, streams)
		remember(lfirst_oid(lc));
	return streams;
}

static void
remember(Oid oid)
{
	SeStreamInfo *info;
	Relation	stream;
	MemoryContext old;
	Remembered *item;
	ListCell   *lc;

	foreach(lc, remembered)
	{
		if (((Remembered *) lfirst(lc))->stream == oid)
			return;				/* the first one saw the names as they were */
	}

	/*
	 * A stream without a layout was never settled: its CREATE, which sets the options of columns by an ALTER, is
	 * still running, and the text is as the user wrote it.
	 */
	old = MemoryContextSwitchTo(TopTransactionContext);
	info = se_stream_info(oid);
	if (info->watermark != NULL && se_layout_list(oid) != NIL)
	{
		item = palloc0(sizeof(Remembered));
		item->stream = oid;
		item->subxact = GetCurrentSubTransactionId();
		item->text = info->watermark;
		stream = table_open(oid, AccessShareLock);
		item->expr = analyse(stream, info, info->watermark, false);
		table_close(stream, NoLock);
		remembered = lappend(remembered, item);
	}
	MemoryContextSwitchTo(old);
}

static Remembered *
take_remembered(Oid stream)
{
	ListCell   *lc;

	foreach(lc, remembered)
	{
		Remembered *item = lfirst(lc);

		if (item->stream == stream)
		{
			remembered = foreach_delete_current(remembered, lc);
			return item;
		}
	}
	return NULL;
}

void
se_stream_ddl_dropping_column(Oid relation, AttrNumber attno)
{
	SeStreamInfo *info;
	Relation	stream;
	Bitmapset  *used = NULL;

	if (!se_stream_is(relation))
		return;
	info = se_stream_info(relation);
	if (info->watermark == NULL || se_layout_list(relation) == NIL)
		return;
	stream = table_open(relation, AccessShareLock);
	pull_varattnos(analyse(stream, info, info->watermark, false), 1, &used);
	if (attno == info->event_time || bms_is_member(attno - FirstLowInvalidHeapAttributeNumber, used))
		ereport(ERROR,
				(errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
				 errmsg("cannot drop column \"%s\" of stream \"%s\" because its watermark depends on it",
						get_attname(relation, attno, false), RelationGetRelationName(stream)),
				 errdetail("The watermark is %s.", info->watermark),
				 errhint("Use ALTER FOREIGN TABLE ... OPTIONS (DROP watermark), or set another one, first.")));
	table_close(stream, NoLock);
}

void
se_stream_ddl_created(Oid relation)
{
	settle(relation, NULL);
}

void
se_stream_ddl_altered(Oid relation, const SeStreamShape *before)
{
	List	   *layouts = se_layout_list(relation);

	settle(relation, take_remembered(relation));
	if (se_stream_is(relation) && layouts != NIL)
		se_stream_check_rows(relation, before, llast(layouts));
}

void
se_stream_ddl_dropped(Oid relation)
{
	(void) take_remembered(relation);
	se_layout_remove(relation);
	se_dropped_rows_delete(relation);
}

/* Bring a stream up to date after a statement that created or changed it. */
static void
settle(Oid relation, Remembered *before)
{
	SeStreamInfo *info;
	Relation	stream;

	CommandCounterIncrement();
	if (!se_stream_is(relation))
		return;
	info = se_stream_info(relation);
	stream = table_open(relation, AccessShareLock);
	check_columns(stream, info);
	forget_dependencies(relation);
	if (info->watermark != NULL)
	{
		bool		unchanged = before != NULL && strcmp(before->text, info->watermark) == 0;
		char	   *text = unchanged ? deparse(stream, info, before->expr) : info->watermark;
		Node	   *expr = analyse(stream, info, text, !unchanged);

		text = deparse(stream, info, expr);

		if (strcmp(text, info->watermark) != 0)
			set_watermark(relation, text);
		record_dependencies(relation, expr);
		if (info->event_time == 0)
			ereport(NOTICE,
					(errmsg("stream \"%s\" has a watermark but no event time yet", RelationGetRelationName(stream)),
					 errhint("Mark its event time column with OPTIONS (event_time 'true').")));
	}
	check_times(info, NOTICE);
	table_close(stream, NoLock);
	se_layout_store(relation);
}

/* The same questions, asked at any time. */
Datum
stream_engine_check_stream(PG_FUNCTION_ARGS)
{
	Oid			relation = PG_GETARG_OID(0);
	SeStreamInfo *info = se_stream_info(relation);
	Relation	stream;

	/* What is planned for it may run functions of the stream's owner. */
	if (pg_class_aclmask(relation, GetUserId(), ACL_SELECT | ACL_INSERT, ACLMASK_ANY) == 0 &&
		pg_attribute_aclcheck_all(relation, GetUserId(), ACL_SELECT, ACLMASK_ANY) != ACLCHECK_OK &&
		pg_attribute_aclcheck_all(relation, GetUserId(), ACL_INSERT, ACLMASK_ANY) != ACLCHECK_OK &&
		!se_compat_owns_relation(relation, GetUserId()))
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_FOREIGN_TABLE, get_rel_name(relation));
	stream = table_open(relation, AccessShareLock);
	check_columns(stream, info);
	(void) se_stream_watermark_expr(stream, info);
	check_times(info, ERROR);
	table_close(stream, AccessShareLock);
	PG_RETURN_VOID();
}

/*
 * An option about the event times of rows does nothing without a column of that name. A dump marks the column in a
 * command after the table's, so while a stream is made or altered this is no error yet.
 */
static void
check_times(const SeStreamInfo *info, int level)
{
	const char *option = info->null_time != SE_BAD_TIME_ERROR ? "null_time" :
	info->infinite_time != SE_BAD_TIME_ERROR ? "infinite_time" :
	info->future_time != SE_BAD_TIME_ERROR ? "future_time" : NULL;

	if (option == NULL || info->event_time != 0)
		return;
	ereport(level,
			(errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
			 errmsg("stream \"%s\" has option \"%s\" but no event time%s", get_rel_name(info->relation), option,
					level == NOTICE ? " yet" : ""),
			 errhint("Mark its event time column with OPTIONS (event_time 'true').")));
}

/* At most one event time, of a type that is one; every column has bytes in a row. */
static void
check_columns(Relation stream, const SeStreamInfo *info)
{
	TupleDesc	desc = RelationGetDescr(stream);

	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute attr = se_compat_attr(desc, i);
		ListCell   *lc;

		if (attr->attisdropped)
			continue;
		if (!se_compat_attr_is_stored(attr))
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("column \"%s\" of stream \"%s\" is a virtual generated column",
							NameStr(attr->attname), RelationGetRelationName(stream)),
					 errhint("Make it STORED.")));
		if (attr->attnum <= info->event_time || info->event_time == 0)
			continue;
		foreach(lc, GetForeignColumnOptions(info->relation, attr->attnum))
		{
			DefElem    *option = lfirst(lc);

			if (strcmp(option->defname, "event_time") == 0 && defGetBoolean(option))
				ereport(ERROR,
						(errcode(ERRCODE_INVALID_TABLE_DEFINITION),
						 errmsg("stream \"%s\" has two event times, \"%s\" and \"%s\"",
								RelationGetRelationName(stream),
								get_attname(info->relation, info->event_time, false), NameStr(attr->attname)),
						 errhint("Set the option event_time on one column only.")));
		}
	}

	if (info->event_time != 0 &&
		info->event_time_type != TIMESTAMPTZOID && info->event_time_type != TIMESTAMPOID)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("event time \"%s\" of stream \"%s\" has type %s",
						get_attname(info->relation, info->event_time, false),
						RelationGetRelationName(stream), format_type_be(info->event_time_type)),
				 errhint("An event time is a timestamptz or a timestamp.")));
}

/* The checked expression of a text, read under a user's search_path or the empty one. */
static Node *
analyse(Relation stream, const SeStreamInfo *info, const char *text, bool keep_path)
{
	int			level = se_stream_pin_settings(info, keep_path);
	Node	   *expr = se_stream_analyse_watermark(stream, info, se_stream_parse_watermark(text));

	AtEOXact_GUC(false, level);
	return expr;
}

/* The text that means the expression under an empty search_path. */
static char *
deparse(Relation stream, const SeStreamInfo *info, Node *expr)
{
	int			level = se_stream_pin_settings(info, false);
	char	   *text = deparse_expression(expr,
										  deparse_context_for(RelationGetRelationName(stream), info->relation),
										  false, false);

	AtEOXact_GUC(false, level);
	return text;
}

/* ALTER FOREIGN TABLE … OPTIONS (SET watermark …), below the hooks that called us. */
static void
set_watermark(Oid relation, const char *text)
{
	Relation	tables = table_open(ForeignTableRelationId, RowExclusiveLock);
	HeapTuple	old = SearchSysCacheCopy1(FOREIGNTABLEREL, ObjectIdGetDatum(relation));
	Datum		values[Natts_pg_foreign_table] = {0};
	bool		nulls[Natts_pg_foreign_table] = {false};
	bool		replace[Natts_pg_foreign_table] = {false};
	ForeignServer *server;
	DefElem    *option;
	HeapTuple	new;
	Datum		options;
	bool		isnull;

	if (!HeapTupleIsValid(old))
		elog(ERROR, "cache lookup failed for foreign table %u", relation);
	server = GetForeignServer(((Form_pg_foreign_table) GETSTRUCT(old))->ftserver);
	options = SysCacheGetAttr(FOREIGNTABLEREL, old, Anum_pg_foreign_table_ftoptions, &isnull);
	if (isnull)
		options = PointerGetDatum(NULL);
	option = makeDefElem("watermark", (Node *) makeString(pstrdup(text)), -1);
	option->defaction = DEFELEM_SET;
	values[Anum_pg_foreign_table_ftoptions - 1] =
		transformGenericOptions(ForeignTableRelationId, options, list_make1(option),
								GetForeignDataWrapper(server->fdwid)->fdwvalidator);
	replace[Anum_pg_foreign_table_ftoptions - 1] = true;
	new = heap_modify_tuple(old, RelationGetDescr(tables), values, nulls, replace);
	CatalogTupleUpdate(tables, &new->t_self, new);
	CacheInvalidateRelcacheByRelid(relation);
	heap_freetuple(new);
	table_close(tables, NoLock);
	CommandCounterIncrement();
}

/* Functions, operators and types of the expression cannot be dropped under the stream. */
static void
record_dependencies(Oid relation, Node *expr)
{
	ObjectAddress stream;

	ObjectAddressSet(stream, RelationRelationId, relation);
	recordDependencyOnExpr(&stream, columns_to_nulls(expr, NULL), NIL, DEPENDENCY_NORMAL);
}

static Node *
columns_to_nulls(Node *node, void *context)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, Var))
	{
		Var		   *var = (Var *) node;

		return (Node *) makeNullConst(var->vartype, var->vartypmod, var->varcollid);
	}
	return expression_tree_mutator(node, columns_to_nulls, context);
}

/* Remove what record_dependencies recorded: nothing else of a foreign table points there. */
static void
forget_dependencies(Oid relation)
{
	Relation	depend = table_open(DependRelationId, RowExclusiveLock);
	ScanKeyData keys[3];
	SysScanDesc scan;
	HeapTuple	tuple;

	ScanKeyInit(&keys[0], Anum_pg_depend_classid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(RelationRelationId));
	ScanKeyInit(&keys[1], Anum_pg_depend_objid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(relation));
	ScanKeyInit(&keys[2], Anum_pg_depend_objsubid, BTEqualStrategyNumber, F_INT4EQ,
				Int32GetDatum(0));
	scan = systable_beginscan(depend, DependDependerIndexId, true, NULL, 3, keys);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_depend row = (Form_pg_depend) GETSTRUCT(tuple);
		bool		composite_column = row->refclassid == RelationRelationId && row->refobjsubid > 0;

		if (row->deptype == DEPENDENCY_NORMAL &&
			(composite_column || row->refclassid == ProcedureRelationId ||
			 row->refclassid == OperatorRelationId || row->refclassid == TypeRelationId ||
			 row->refclassid == CollationRelationId))
			CatalogTupleDelete(depend, &tuple->t_self);
	}
	systable_endscan(scan);
	table_close(depend, RowExclusiveLock);
}

/* Streams that depend, as a whole, on an object. */
static List *
dependent_streams(Oid class_id, Oid object)
{
	Relation	depend = table_open(DependRelationId, AccessShareLock);
	List	   *streams = NIL;
	ScanKeyData keys[2];
	SysScanDesc scan;
	HeapTuple	tuple;

	ScanKeyInit(&keys[0], Anum_pg_depend_refclassid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(class_id));
	ScanKeyInit(&keys[1], Anum_pg_depend_refobjid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(object));
	scan = systable_beginscan(depend, DependReferenceIndexId, true, NULL, 2, keys);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_depend row = (Form_pg_depend) GETSTRUCT(tuple);

		if (row->classid == RelationRelationId && row->objsubid == 0 && se_stream_is(row->objid))
			streams = list_append_unique_oid(streams, row->objid);
	}
	systable_endscan(scan);
	table_close(depend, AccessShareLock);
	return streams;
}

static void
transaction_event(XactEvent event, void *arg)
{
	if (event == XACT_EVENT_COMMIT || event == XACT_EVENT_ABORT || event == XACT_EVENT_PREPARE)
		remembered = NIL;
}

/* What was remembered for a statement that failed is not true for the next one. */
static void
subtransaction_event(SubXactEvent event, SubTransactionId subxact, SubTransactionId parent, void *arg)
{
	ListCell   *lc;

	if (event != SUBXACT_EVENT_COMMIT_SUB && event != SUBXACT_EVENT_ABORT_SUB)
		return;
	foreach(lc, remembered)
	{
		Remembered *item = lfirst(lc);

		if (item->subxact != subxact)
			continue;
		if (event == SUBXACT_EVENT_COMMIT_SUB)
			item->subxact = parent;
		else
			remembered = foreach_delete_current(remembered, lc);
	}
}
