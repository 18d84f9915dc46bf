/*
 * ddl/result_table.c
 *		What a continuous view consists of: result table, key index, definition view.
 *
 *		   v (table)  <--internal--  stream_engine_definitions."schema.v" (view)
 *		   v_key (index, updating results only)  --normal-->  v
 *
 * The result is an ordinary table of the user's, made by nested commands, so that
 * event triggers, default privileges and tablespaces do what they do for any table.
 * The definition view holds the query: PostgreSQL tracks what it depends on, follows
 * renames, and refuses to drop a column it uses. It is internal to the table, so that
 * DROP of v takes it along and DROP … CASCADE of a stream takes v along.
 *
 * Keys of GROUP BY can be NULL, so an updating result has a UNIQUE NULLS NOT DISTINCT
 * index, which PostgreSQL does not accept as replica identity: that is FULL.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/dependency.h"
#include "catalog/index.h"
#include "catalog/indexing.h"
#include "catalog/namespace.h"
#include "catalog/pg_am.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_class.h"
#include "catalog/pg_depend.h"
#include "catalog/pg_index.h"
#include "commands/defrem.h"
#include "commands/tablecmds.h"
#include "commands/view.h"
#include "ddl/ddl_internal.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "plan/plan.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

/* Updated rows find room on their page: updates of an unindexed column stay HOT. */
#define UPDATING_FILLFACTOR 70

static bool is_updating(const SeGraph *graph);
static char *quoted_names(List *names);
static List *columns_of(Query *query);
static Oid	create_table(SeUtility *utility, IntoClause *into, List *columns, List *options);
static void create_key(SeUtility *utility, RangeVar *table, Oid table_oid, List *names);
static Oid	create_definition(const RangeVar *table, List *columns, Query *query);
static void keep_to_owner(Oid view, Oid owner);
static char *definition_name(const RangeVar *table, Oid schema);
static List *names_in_table(Oid table, List *columns);
static bool has_key(Oid table);
static Oid	find_key(Oid table, List *key_columns);
static void depend_internally(Oid relation, Oid on);
static void mark_key(Oid index, Oid table);

SeViewParts
se_result_table_create(SeUtility *utility, IntoClause *into, Query *query,
					   const SeGraph *graph, List *storage_options)
{
	SeViewParts parts;
	List	   *columns = columns_of(query);
	List	   *options = storage_options;

	if (is_updating(graph))
	{
		ListCell   *cell;
		bool		given = false;

		foreach(cell, options)
		{
			DefElem    *option = lfirst_node(DefElem, cell);

			given |= option->defnamespace == NULL && strcmp(option->defname, "fillfactor") == 0;
		}
		if (!given)
			options = lappend(list_copy(options),
							  makeDefElem("fillfactor", (Node *) makeInteger(UPDATING_FILLFACTOR), -1));
	}

	parts.table = create_table(utility, into, columns, options);
	if (is_updating(graph))
	{
		List	   *keys = se_plan_key_names(graph, query);

		if (keys != NIL)
			create_key(utility, into->rel, parts.table, keys);
		se_result_table_identify(utility, into->rel);
	}
	se_result_retention_apply(utility, parts.table, graph);
	parts.definition = create_definition(into->rel, columns, query);
	depend_internally(parts.definition, parts.table);
	CommandCounterIncrement();
	return parts;
}

void
se_result_table_adopt(Oid table, Oid definition, const SeGraph *graph)
{
	List	   *keys = ((const SeTableSinkNode *) graph->sink)->key_columns;

	if (is_updating(graph) && keys != NIL)
	{
		Oid			index = find_key(table, keys);

		if (!OidIsValid(index))
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("continuous view \"%s\" has no unique index over the columns that identify its rows",
							get_rel_name(table)),
					 errhint("Restore the rest of the dump (its section post-data) first, or use CREATE UNIQUE INDEX ON %s (%s) NULLS NOT DISTINCT.",
							 quote_qualified_identifier(get_namespace_name(get_rel_namespace(table)), get_rel_name(table)),
							 quoted_names(names_in_table(table, keys)))));
		mark_key(index, table);
	}
	se_result_retention_adopt(table, graph);
	depend_internally(definition, table);
	keep_to_owner(definition, se_view_owner(definition));
	CommandCounterIncrement();
}

void
se_result_table_give_key(SeUtility *utility, Oid table, const SeGraph *graph)
{
	List	   *keys = ((const SeTableSinkNode *) graph->sink)->key_columns;
	RangeVar   *name = makeRangeVar(get_namespace_name(get_rel_namespace(table)), get_rel_name(table), -1);
	Oid			index;

	if (!is_updating(graph) || keys == NIL || has_key(table))
		return;
	index = find_key(table, keys);
	if (OidIsValid(index))
		mark_key(index, table);
	else
		create_key(utility, name, table, names_in_table(table, keys));
	se_result_table_identify(utility, name);
}

Oid
se_result_table_definition(Oid table)
{
	char	   *name = psprintf("%s.%s", get_namespace_name(get_rel_namespace(table)), get_rel_name(table));
	Oid			schema = get_namespace_oid(SE_DEFINITIONS_SCHEMA, true);

	return OidIsValid(schema) ? get_relname_relid(makeObjectName(name, NULL, NULL), schema) : InvalidOid;
}

static char *
quoted_names(List *names)
{
	StringInfoData text;
	ListCell   *cell;

	initStringInfo(&text);
	foreach(cell, names)
		appendStringInfo(&text, "%s%s", text.len > 0 ? ", " : "", quote_identifier(strVal(lfirst(cell))));
	return text.data;
}

/* Names, String, that the table's columns have now. */
static List *
names_in_table(Oid table, List *columns)
{
	List	   *names = NIL;
	ListCell   *cell;

	foreach(cell, columns)
		names = lappend(names, makeString(get_attname(table, lfirst_int(cell) + 1, false)));
	return names;
}

static bool
has_key(Oid table)
{
	Relation	relation = table_open(table, AccessShareLock);
	bool		found = false;
	ListCell   *cell;

	foreach(cell, RelationGetIndexList(relation))
		found |= se_result_table_is_key(lfirst_oid(cell));
	table_close(relation, NoLock);
	return found;
}

/* A unique index over exactly the key's columns in which NULLs are equal or cannot be. */
static Oid
find_key(Oid table, List *key_columns)
{
	Relation	relation = table_open(table, AccessShareLock);
	Oid			found = InvalidOid;
	ListCell   *cell;

	foreach(cell, RelationGetIndexList(relation))
	{
		Relation	index = index_open(lfirst_oid(cell), AccessShareLock);
		Form_pg_index form = index->rd_index;
		bool		fits = form->indisunique && form->indisvalid && form->indimmediate &&
		(form->indnullsnotdistinct || form->indisprimary) &&
		index->rd_rel->relam == BTREE_AM_OID && form->indnkeyatts == list_length(key_columns) &&
		RelationGetIndexPredicate(index) == NIL && RelationGetIndexExpressions(index) == NIL;

		for (int i = 0; fits && i < form->indnkeyatts; i++)
			fits = list_member_int(key_columns, form->indkey.values[i] - 1);
		if (fits && !OidIsValid(found))
			found = lfirst_oid(cell);
		index_close(index, AccessShareLock);
	}
	table_close(relation, NoLock);
	return found;
}

/* Does the dataflow change rows it has written? */
static bool
is_updating(const SeGraph *graph)
{
	return graph->sink->mode == SE_MODE_UPSERT;
}

/* The result's columns: names, types and collations of the query's. */
static List *
columns_of(Query *query)
{
	List	   *columns = NIL;
	ListCell   *cell;

	foreach(cell, query->targetList)
	{
		TargetEntry *target = lfirst_node(TargetEntry, cell);
		Node	   *expr = (Node *) target->expr;
		ColumnDef  *column;

		if (target->resjunk)
			continue;
		column = makeColumnDef(target->resname, exprType(expr), exprTypmod(expr), exprCollation(expr));
		if (!OidIsValid(column->collOid) && type_is_collatable(column->typeName->typeOid))
			ereport(ERROR,
					(errcode(ERRCODE_INDETERMINATE_COLLATION),
					 errmsg("no collation was derived for column \"%s\" with collatable type %s",
							column->colname, format_type_be(column->typeName->typeOid)),
					 errhint("Use the COLLATE clause to set the collation explicitly.")));
		columns = lappend(columns, column);
	}
	return columns;
}

static Oid
create_table(SeUtility *utility, IntoClause *into, List *columns, List *options)
{
	CreateStmt *create = makeNode(CreateStmt);

	create->relation = copyObject(into->rel);
	create->tableElts = copyObject(columns);
	create->options = options;
	create->oncommit = ONCOMMIT_NOOP;
	create->tablespacename = into->tableSpaceName;
	create->accessMethod = into->accessMethod;
	se_utility_nested(utility, (Node *) create);
	return RangeVarGetRelid(into->rel, NoLock, false);
}

/* The unique index over the group's key; DROP INDEX alone is refused. */
static void
create_key(SeUtility *utility, RangeVar *table, Oid table_oid, List *names)
{
	IndexStmt  *index = makeNode(IndexStmt);
	Oid			schema = get_rel_namespace(table_oid);
	ListCell   *cell;

	index->idxname = ChooseRelationName(table->relname, NULL, "key", schema, true);
	index->relation = copyObject(table);
	index->accessMethod = "btree";
	index->unique = true;
	index->nulls_not_distinct = true;
	foreach(cell, names)
	{
		IndexElem  *element = makeNode(IndexElem);

		element->name = pstrdup(strVal(lfirst(cell)));
		element->ordering = SORTBY_DEFAULT;
		element->nulls_ordering = SORTBY_NULLS_DEFAULT;
		index->indexParams = lappend(index->indexParams, element);
	}
	se_utility_nested(utility, (Node *) index);
	mark_key(get_relname_relid(index->idxname, schema), table_oid);
}

void
se_result_table_identify(SeUtility *utility, RangeVar *table)
{
	AlterTableStmt *alter = makeNode(AlterTableStmt);
	AlterTableCmd *command = makeNode(AlterTableCmd);
	ReplicaIdentityStmt *identity = makeNode(ReplicaIdentityStmt);

	identity->identity_type = REPLICA_IDENTITY_FULL;
	command->subtype = AT_ReplicaIdentity;
	command->def = (Node *) identity;
	alter->relation = copyObject(table);
	alter->cmds = list_make1(command);
	alter->objtype = OBJECT_TABLE;
	se_utility_nested(utility, (Node *) alter);
}

/*
 * The view that holds the query, owned by the user. Nobody but us may create in its
 * schema, so the relation is made under the bootstrap superuser's id.
 */
static Oid
create_definition(const RangeVar *table, List *columns, Query *query)
{
	CreateStmt *create = makeNode(CreateStmt);
	Oid			schema = get_namespace_oid(SE_DEFINITIONS_SCHEMA, false);
	ObjectAddress view;
	Oid			user;
	int			security;

	create->relation = makeRangeVar(SE_DEFINITIONS_SCHEMA, definition_name(table, schema), -1);
	create->tableElts = copyObject(columns);
	create->oncommit = ONCOMMIT_NOOP;

	GetUserIdAndSecContext(&user, &security);
	SetUserIdAndSecContext(BOOTSTRAP_SUPERUSERID, security | SECURITY_LOCAL_USERID_CHANGE);
	view = DefineRelation(create, RELKIND_VIEW, user, NULL, NULL);
	SetUserIdAndSecContext(user, security);

	CommandCounterIncrement();
	keep_to_owner(view.objectId, user);
	StoreViewQuery(view.objectId, copyObject(query), false);
	CommandCounterIncrement();
	return view.objectId;
}

/*
 * Take away what ALTER DEFAULT PRIVILEGES has granted. It is meant for the result:
 * through the definition view others would read the stream, and write to it, with the
 * owner's rights.
 */
static void
keep_to_owner(Oid view, Oid owner)
{
	Relation	relations = table_open(RelationRelationId, RowExclusiveLock);
	HeapTuple	tuple = SearchSysCacheCopy1(RELOID, ObjectIdGetDatum(view));
	bool		isnull;
	Datum		acl;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for relation %u", view);
	acl = SysCacheGetAttr(RELOID, tuple, Anum_pg_class_relacl, &isnull);
	if (!isnull)
	{
		Datum		values[Natts_pg_class] = {0};
		bool		nulls[Natts_pg_class] = {false};
		bool		replaces[Natts_pg_class] = {false};
		Oid		   *members;
		int			nmembers = aclmembers(DatumGetAclP(acl), &members);
		HeapTuple	changed;

		nulls[Anum_pg_class_relacl - 1] = true;
		replaces[Anum_pg_class_relacl - 1] = true;
		changed = heap_modify_tuple(tuple, RelationGetDescr(relations), values, nulls, replaces);
		CatalogTupleUpdate(relations, &changed->t_self, changed);
		updateAclDependencies(RelationRelationId, view, 0, owner, nmembers, members, 0, NULL);
		CommandCounterIncrement();
	}
	table_close(relations, RowExclusiveLock);
}

/* "schema.name" of the result; a number is added if an older view, since renamed, has it. */
static char *
definition_name(const RangeVar *table, Oid schema)
{
	char	   *wanted = psprintf("%s.%s", table->schemaname, table->relname);

	for (int i = 0;; i++)
	{
		char	   *label = i == 0 ? NULL : psprintf("%d", i);
		char	   *name = makeObjectName(wanted, NULL, label);

		if (!OidIsValid(get_relname_relid(name, schema)))
			return name;
	}
}

/* `relation` is part of `on`: dropped with it, and never alone. Once is enough. */
static void
depend_internally(Oid relation, Oid on)
{
	se_result_table_depend(relation, on, DEPENDENCY_INTERNAL);
}

/*
 * Which index is the key: the one with a normal dependency on its table, beside those
 * on columns. An internal one would break DROP TYPE … CASCADE of a column's type, which
 * would come through the index to the table while it drops the table's column.
 */
static void
mark_key(Oid index, Oid table)
{
	se_result_table_depend(index, table, DEPENDENCY_NORMAL);
}

bool
se_result_table_is_key(Oid index)
{
	Oid			table = get_rel_relkind(index) == RELKIND_INDEX ? IndexGetRelation(index, true) : InvalidOid;

	return OidIsValid(table) && se_result_table_depends(index, table, DEPENDENCY_NORMAL);
}

void
se_result_table_depend(Oid relation, Oid on, DependencyType type)
{
	ObjectAddress part;
	ObjectAddress whole;

	if (se_result_table_depends(relation, on, type))
		return;
	ObjectAddressSet(part, RelationRelationId, relation);
	ObjectAddressSet(whole, RelationRelationId, on);
	recordDependencyOn(&part, &whole, type);
}

bool
se_result_table_depends(Oid relation, Oid on, DependencyType type)
{
	Relation	catalog = table_open(DependRelationId, AccessShareLock);
	ScanKeyData keys[2];
	SysScanDesc scan;
	HeapTuple	tuple;
	bool		found = false;

	ScanKeyInit(&keys[0], Anum_pg_depend_classid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(RelationRelationId));
	ScanKeyInit(&keys[1], Anum_pg_depend_objid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(relation));
	scan = systable_beginscan(catalog, DependDependerIndexId, true, NULL, 2, keys);
	while (!found && HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_depend row = (Form_pg_depend) GETSTRUCT(tuple);

		found = row->deptype == (char) type && row->refclassid == RelationRelationId &&
			row->refobjid == on && row->refobjsubid == 0;
	}
	systable_endscan(scan);
	table_close(catalog, AccessShareLock);
	return found;
}
