/*
 * ddl/result_retention.c
 *		The index by which rows that are too old are found and deleted (the option `retention`).
 *
 *		   v_window_end_idx (index)  --auto-->  v
 *
 * It is made with the option and dropped with it. Which index it is says an automatic
 * dependency on the whole table, beside that on its column; an index of the user's
 * on the same column has only that one.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/dependency.h"
#include "catalog/index.h"
#include "catalog/namespace.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "catalog/pg_index.h"
#include "commands/defrem.h"
#include "ddl/ddl_internal.h"
#include "nodes/makefuncs.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

static Oid	find_index(Oid table, int column, bool marked);
static void create_index(SeUtility *utility, Oid table, int column);

void
se_result_retention_apply(SeUtility *utility, Oid table, const SeGraph *graph)
{
	const SeTableSinkNode *sink = (const SeTableSinkNode *) graph->sink;
	Oid			index = find_index(table, -1, true);

	if (sink->retention_column < 0 && OidIsValid(index))
	{
		ObjectAddress address;

		ObjectAddressSet(address, RelationRelationId, index);
		performDeletion(&address, DROP_RESTRICT, 0);
	}
	if (sink->retention_column >= 0 && !OidIsValid(index))
		create_index(utility, table, sink->retention_column);
}

void
se_result_retention_adopt(Oid table, const SeGraph *graph)
{
	const SeTableSinkNode *sink = (const SeTableSinkNode *) graph->sink;
	Oid			index;

	if (sink->retention_column < 0)
		return;
	index = find_index(table, sink->retention_column, false);
	if (!OidIsValid(index))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("continuous view \"%s\" has no index for stream_engine.retention", get_rel_name(table)),
				 errhint("Restore the rest of the dump (its section post-data) first, or use CREATE INDEX ON %s (%s).",
						 quote_qualified_identifier(get_namespace_name(get_rel_namespace(table)), get_rel_name(table)),
						 quote_identifier(get_attname(table, sink->retention_column + 1, false)))));
	se_result_table_depend(index, table, DEPENDENCY_AUTO);
}

bool
se_result_retention_is_index(Oid index)
{
	HeapTuple	tuple = get_rel_relkind(index) == RELKIND_INDEX ?
	SearchSysCache1(INDEXRELID, ObjectIdGetDatum(index)) : NULL;
	bool		found;

	if (!HeapTupleIsValid(tuple))
		return false;
	/* Expressions and predicates may depend on the whole table, too. */
	found = heap_attisnull(tuple, Anum_pg_index_indexprs, NULL) && heap_attisnull(tuple, Anum_pg_index_indpred, NULL) &&
		se_result_table_depends(index, ((Form_pg_index) GETSTRUCT(tuple))->indrelid, DEPENDENCY_AUTO);
	ReleaseSysCache(tuple);
	return found;
}

/*
 * The index that is marked; or one that would do: a plain btree whose first column it is, upwards, by preference the
 * one that has the name we give.
 */
static Oid
find_index(Oid table, int column, bool marked)
{
	Relation	relation = table_open(table, AccessShareLock);
	char	   *ours = marked ? NULL : makeObjectName(get_rel_name(table), get_attname(table, column + 1, false), "idx");
	Oid			found = InvalidOid;
	ListCell   *cell;

	foreach(cell, RelationGetIndexList(relation))
	{
		Relation	index;

		if (marked)
		{
			if (se_result_retention_is_index(lfirst_oid(cell)))
				found = lfirst_oid(cell);
			continue;
		}
		index = index_open(lfirst_oid(cell), AccessShareLock);
		if (index->rd_index->indisvalid && index->rd_rel->relam == BTREE_AM_OID &&
			index->rd_index->indkey.values[0] == column + 1 && !index->rd_index->indisunique &&
			(index->rd_indoption[0] & INDOPTION_DESC) == 0 && RelationGetIndexPredicate(index) == NIL &&
			(!OidIsValid(found) || strcmp(RelationGetRelationName(index), ours) == 0))
			found = lfirst_oid(cell);
		index_close(index, AccessShareLock);
	}
	table_close(relation, NoLock);
	return found;
}

static void
create_index(SeUtility *utility, Oid table, int column)
{
	IndexStmt  *index = makeNode(IndexStmt);
	IndexElem  *element = makeNode(IndexElem);
	Oid			schema = get_rel_namespace(table);

	element->name = get_attname(table, column + 1, false);
	element->ordering = SORTBY_DEFAULT;
	element->nulls_ordering = SORTBY_NULLS_DEFAULT;
	index->idxname = ChooseRelationName(get_rel_name(table), element->name, "idx", schema, false);
	index->relation = makeRangeVar(get_namespace_name(schema), get_rel_name(table), -1);
	index->accessMethod = "btree";
	index->indexParams = list_make1(element);
	se_utility_nested(utility, (Node *) index);
	se_result_table_depend(get_relname_relid(index->idxname, schema), table, DEPENDENCY_AUTO);

	/* Deleting needs it where changes are published. */
	se_result_table_identify(utility, index->relation);
}
