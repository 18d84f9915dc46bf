/*
 * ddl/side_options.c
 *		Options late_output and on_error when they are set: who may, and the table of late rows.
 *
 * Both keep rows of the stream whole, so the view's owner must be allowed to read the
 * whole stream. The table of late rows is made, or checked, column by column by name;
 * several views may share it. It belongs to the view's owner if we make it; otherwise the
 * owner needs INSERT on it, at each commit.
 *
 * Runs in: sessions, in CREATE and ALTER of a view and when a restored one is resumed.
 */
#include "postgres.h"

#include "access/table.h"
#include "access/xact.h"
#include "base/compat.h"
#include "catalog/namespace.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_class.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "commands/tablecmds.h"
#include "ddl/ddl_internal.h"
#include "ddl/side_options.h"
#include "ddl/view_options.h"
#include "meta/jobs.h"
#include "meta/late_output.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/regproc.h"
#include "utils/rel.h"

static bool is_ours(const char *column);
static bool may_be_late(const SeGraph *graph);
static const SeLogSourceNode *source_of(const SeGraph *graph);
static void check_may_read(Oid stream, Oid owner, const char *option);
static RangeVar *name_of(const char *value);
static List *columns_of(const SeLogSourceNode *source);
static Oid	make_table(SeUtility *utility, RangeVar *name, List *columns, Oid owner);
static void check_table(Oid table, List *columns, Oid stream, Oid owner);

/* "schema.table"; a name without a schema is looked for, or made, as CREATE TABLE would. */
char *
se_side_options_normal_form(const char *text)
{
	RangeVar   *name = makeRangeVarFromNameList(se_compat_qualified_names(text));
	Oid			table = RangeVarGetRelid(name, NoLock, true);
	Oid			schema = OidIsValid(table) ? get_rel_namespace(table) : RangeVarGetCreationNamespace(name);

	return quote_qualified_identifier(get_namespace_name(schema), name->relname);
}

void
se_side_options_apply(SeUtility *utility, Oid view, Oid definition, List *options, const SeGraph *graph, bool keep)
{
	const char *value = se_view_options_value(options, "late_output");
	Oid			owner = se_view_owner(view);
	const SeLogSourceNode *source = source_of(graph);
	List	   *columns;
	RangeVar   *name;
	Oid			table;

	if (strcmp(se_view_options_value(options, "on_error"), "dead_letter") == 0)
		check_may_read(source->stream, owner, "on_error = dead_letter");
	if (strcmp(value, "none") == 0) /* the default: a table's name has its schema */
	{
		se_late_output_depend(definition, InvalidOid);
		return;
	}
	check_may_read(source->stream, owner, "late_output");
	if (!may_be_late(graph))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("no row of continuous view \"%s\" can be late", get_rel_name(view)),
				 errdetail("Its query does not group by a window of event time, and forgets no groups by it."),
				 errhint("Leave stream_engine.late_output out, or use GROUP BY window_start, window_end.")));
	name = name_of(value);
	columns = columns_of(source);
	table = keep ? se_late_output_dependency(definition) : InvalidOid;
	if (!OidIsValid(table))
		table = RangeVarGetRelid(name, NoLock, true);
	if (OidIsValid(table))
		LockRelationOid(table, AccessShareLock);
	else
		table = make_table(utility, name, columns, owner);
	check_table(table, columns, source->stream, owner);
	se_late_output_depend(definition, table);
}

/* Is there anything that closes, by a time that goes back? */
static bool
may_be_late(const SeGraph *graph)
{
	ListCell   *cell;

	if (source_of(graph)->by_proctime)
		return false;
	foreach(cell, graph->nodes)
	{
		const SeNode *node = lfirst(cell);

		switch (node->kind)
		{
			case SE_NODE_WINDOW_AGG:
			case SE_NODE_SESSION_AGG:
				return true;
			case SE_NODE_COUNT_AGG:
				if (((const SeCountAggNode *) node)->partial)
					return true;
				break;
			case SE_NODE_GROUP_AGG:
				if (((const SeGroupAggNode *) node)->ttl == SE_TTL_EVENT)
					return true;
				break;
			default:
				break;
		}
	}
	return false;
}

static const SeLogSourceNode *
source_of(const SeGraph *graph)
{
	ListCell   *cell;

	foreach(cell, graph->nodes)
	{
		SeNode	   *node = lfirst(cell);

		if (node->kind == SE_NODE_LOG_SOURCE)
			return (const SeLogSourceNode *) node;
	}
	elog(ERROR, "a dataflow without a source");
}

/* Rows are kept whole: what the query itself reads is not enough. */
static void
check_may_read(Oid stream, Oid owner, const char *option)
{
	if (pg_class_aclcheck(stream, owner, ACL_SELECT) != ACLCHECK_OK)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied for foreign table %s", get_rel_name(stream)),
				 errdetail("Option stream_engine.%s keeps whole rows, so the owner of the view needs SELECT on the whole stream.",
						   option)));
}

static RangeVar *
name_of(const char *value)
{
	return makeRangeVarFromNameList(se_compat_qualified_names(value));
}

static bool
is_ours(const char *column)
{
	return strcmp(column, SE_LATE_VIEW) == 0 || strcmp(column, SE_LATE_WATERMARK) == 0 ||
		strcmp(column, SE_LATE_ARRIVED) == 0 || strcmp(column, SE_LATE_REASON) == 0;
}

/* The columns of a table of late rows, ColumnDef: the stream's, then ours. */
static List *
columns_of(const SeLogSourceNode *source)
{
	Relation	stream = table_open(source->stream, AccessShareLock);
	TupleDesc	desc = RelationGetDescr(stream);
	Oid			time = source->event_time_type == TIMESTAMPOID ? TIMESTAMPOID : TIMESTAMPTZOID;
	List	   *columns = NIL;

	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(desc, i);

		if (!se_compat_attr_is_stored(attribute))
			continue;
		if (is_ours(NameStr(attribute->attname)))
			ereport(ERROR,
					(errcode(ERRCODE_DUPLICATE_COLUMN),
					 errmsg("late rows of stream \"%s\" cannot be kept", get_rel_name(source->stream)),
					 errdetail("Its column \"%s\" has the name of one that a table of late rows has of its own.", NameStr(attribute->attname)),
					 errhint("Rename the column of the stream.")));
		columns = lappend(columns, makeColumnDef(NameStr(attribute->attname), attribute->atttypid,
												 attribute->atttypmod, attribute->attcollation));
	}
	table_close(stream, NoLock);
	columns = lappend(columns, makeColumnDef(SE_LATE_VIEW, TEXTOID, -1, DEFAULT_COLLATION_OID));
	columns = lappend(columns, makeColumnDef(SE_LATE_WATERMARK, time, -1, InvalidOid));
	columns = lappend(columns, makeColumnDef(SE_LATE_ARRIVED, TIMESTAMPTZOID, -1, InvalidOid));
	columns = lappend(columns, makeColumnDef(SE_LATE_REASON, TEXTOID, -1, DEFAULT_COLLATION_OID));
	return columns;
}

static Oid
make_table(SeUtility *utility, RangeVar *name, List *columns, Oid owner)
{
	CreateStmt *create = makeNode(CreateStmt);
	Oid			table;

	if (utility == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("table \"%s.%s\" of option stream_engine.late_output does not exist", name->schemaname, name->relname),
				 errhint("Restore it too, or create it.")));
	create->relation = name;
	create->tableElts = columns;
	create->oncommit = ONCOMMIT_NOOP;
	se_utility_nested(utility, (Node *) create);
	CommandCounterIncrement();
	table = RangeVarGetRelid(name, NoLock, false);
	if (owner != GetUserId())
	{
		ATExecChangeOwner(table, owner, false, AccessExclusiveLock);
		CommandCounterIncrement();
	}
	return table;
}

/* Every column is there, by its name; others may be, if they need no value. */
static void
check_table(Oid table, List *columns, Oid stream, Oid owner)
{
	Relation	relation = table_open(table, AccessShareLock);
	TupleDesc	desc = RelationGetDescr(relation);
	const char *name = RelationGetRelationName(relation);
	ListCell   *cell;

	if ((relation->rd_rel->relkind != RELKIND_RELATION && relation->rd_rel->relkind != RELKIND_PARTITIONED_TABLE) ||
		relation->rd_rel->relpersistence != RELPERSISTENCE_PERMANENT || se_jobs_exists(table))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("late rows cannot go into \"%s\"", name),
				 errhint("Name a permanent, ordinary table, or one that does not exist yet.")));
	if (pg_class_aclcheck(table, owner, ACL_INSERT) != ACLCHECK_OK)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied for table %s", name),
				 errdetail("The owner of the view needs INSERT on it.")));
	se_late_output_check_owner(relation, owner);
	foreach(cell, columns)
	{
		const ColumnDef *column = lfirst_node(ColumnDef, cell);
		AttrNumber	attno = get_attnum(table, column->colname);
		Form_pg_attribute attribute = attno > 0 ? TupleDescAttr(desc, attno - 1) : NULL;
		char	   *type = format_type_with_typemod(column->typeName->typeOid, column->typeName->typemod);
		const char *qualified = quote_qualified_identifier(get_namespace_name(get_rel_namespace(table)), name);

		if (attribute == NULL)
			ereport(ERROR,
					(errcode(ERRCODE_UNDEFINED_COLUMN),
					 errmsg("table \"%s\" cannot take late rows of stream \"%s\"", name, get_rel_name(stream)),
					 errdetail("It has no column \"%s\" of type %s.", column->colname, type),
					 errhint("Use ALTER TABLE %s ADD COLUMN %s %s, or name a table that does not exist yet.",
							 qualified, quote_identifier(column->colname), type)));
		if (attribute->attgenerated || attribute->attidentity == ATTRIBUTE_IDENTITY_ALWAYS)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_TABLE_DEFINITION),
					 errmsg("table \"%s\" cannot take late rows of stream \"%s\"", name, get_rel_name(stream)),
					 errdetail("Its column \"%s\" takes no values of others: it is %s.", column->colname,
							   attribute->attgenerated ? "generated" : "GENERATED ALWAYS AS IDENTITY"),
					 errhint("Use ALTER TABLE %s ALTER COLUMN %s DROP %s, or name a table that does not exist yet.",
							 qualified, quote_identifier(column->colname), attribute->attgenerated ? "EXPRESSION" : "IDENTITY")));
		if (attribute->atttypid != column->typeName->typeOid)
			ereport(ERROR,
					(errcode(ERRCODE_DATATYPE_MISMATCH),
					 errmsg("table \"%s\" cannot take late rows of stream \"%s\"", name, get_rel_name(stream)),
					 errdetail("Its column \"%s\" is of type %s, and must be of type %s.", column->colname,
							   format_type_be(attribute->atttypid), type),
					 errhint("Change the type, or name another table.")));
	}
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(desc, i);
		bool		ours = attribute->attisdropped || attribute->attgenerated || attribute->attidentity ||
		attribute->atthasdef || !attribute->attnotnull;

		foreach(cell, columns)
			ours |= strcmp(lfirst_node(ColumnDef, cell)->colname, NameStr(attribute->attname)) == 0;
		if (!ours)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_TABLE_DEFINITION),
					 errmsg("table \"%s\" cannot take late rows of stream \"%s\"", name, get_rel_name(stream)),
					 errdetail("Its column \"%s\" is NOT NULL and has no default.", NameStr(attribute->attname)),
					 errhint("Give it a default, or use ALTER COLUMN ... DROP NOT NULL.")));
	}
	table_close(relation, NoLock);
}
