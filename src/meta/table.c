/*
 * meta/table.c
 *		Our catalog tables as heaps: opening one, and scanning it by its primary key.
 *
 * Reads and writes go past privileges, rules and triggers: these tables belong
 * to the extension, and nobody else is meant to touch them. Scans take a fresh catalog
 * snapshot each, so they see every commit before them and this transaction's own
 * changes up to the last CommandCounterIncrement.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/xact.h"
#include "base/compat.h"
#include "catalog/indexing.h"
#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "commands/extension.h"
#include "meta/jobs.h"
#include "meta/table.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#define MAX_TABLES 16

typedef struct CachedTable
{
	const char *name;			/* the caller's literal */
	Oid			oid;
} CachedTable;

static CachedTable tables[MAX_TABLES];
static int	ntables = 0;

/* A relation changed: forget what was looked up if it is one of ours. */
static void
forget_tables(Datum arg, Oid relation)
{
	for (int i = 0; i < ntables; i++)
		if (relation == InvalidOid || tables[i].oid == relation)
		{
			ntables = 0;
			return;
		}
}

/*
 * A schema of our name proves nothing: whoever may create schemas can make one with
 * tables of other shapes in it. While the extension is installed the schema is its own.
 */
Oid
se_meta_relation(const char *name)
{
	static bool registered = false;
	Oid			schema;
	Oid			relation;

	for (int i = 0; i < ntables; i++)
		if (strcmp(tables[i].name, name) == 0)
			return tables[i].oid;

	if (!registered)
	{
		CacheRegisterRelcacheCallback(forget_tables, (Datum) 0);
		registered = true;
	}
	if (!OidIsValid(get_extension_oid("stream_engine", true)))
		return InvalidOid;
	schema = get_namespace_oid(SE_SCHEMA, true);
	if (!OidIsValid(schema))
		return InvalidOid;
	relation = get_relname_relid(name, schema);
	if (OidIsValid(relation) && ntables < MAX_TABLES)
		tables[ntables++] = (CachedTable)
	{
		name, relation
	};
	return relation;
}

Relation
se_table_open(const char *name, LOCKMODE lock)
{
	Oid			relation = se_meta_relation(name);

	if (!OidIsValid(relation))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("extension stream_engine is not installed in this database"),
				 errhint("Use CREATE EXTENSION stream_engine.")));
	return table_open(relation, lock);
}

/* The extension may be dropped while the lock is waited for. */
Relation
se_table_try_open(const char *name, LOCKMODE lock)
{
	Oid			relation = se_meta_relation(name);

	return OidIsValid(relation) ? try_relation_open(relation, lock) : NULL;
}

void
se_table_scan_begin(SeTableScan *scan, Relation table, int nkeys, ScanKey keys)
{
	scan->index = index_open(se_compat_primary_key(table), AccessShareLock);
	scan->scan = systable_beginscan_ordered(table, scan->index, NULL, nkeys, keys);
}

HeapTuple
se_table_scan_next(SeTableScan *scan)
{
	return systable_getnext_ordered(scan->scan, ForwardScanDirection);
}

void
se_table_scan_end(SeTableScan *scan)
{
	systable_endscan_ordered(scan->scan);
	index_close(scan->index, AccessShareLock);
}

void
se_table_key_oid(ScanKey key, AttrNumber attno, Oid value)
{
	ScanKeyInit(key, attno, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(value));
}

void
se_table_key_int4(ScanKey key, AttrNumber attno, int32 value)
{
	ScanKeyInit(key, attno, BTEqualStrategyNumber, F_INT4EQ, Int32GetDatum(value));
}

void
se_table_delete_all(const char *name, Oid value)
{
	Relation	table = se_table_open(name, RowExclusiveLock);
	ScanKeyData key;
	SeTableScan scan;
	HeapTuple	tuple;

	se_table_key_oid(&key, 1, value);
	se_table_scan_begin(&scan, table, 1, &key);
	while ((tuple = se_table_scan_next(&scan)) != NULL)
		CatalogTupleDelete(table, &tuple->t_self);
	se_table_scan_end(&scan);
	table_close(table, RowExclusiveLock);
	CommandCounterIncrement();
}

Datum
se_table_strings_to_datum(List *strings)
{
	int			n = list_length(strings);
	Datum	   *elements = palloc(sizeof(Datum) * Max(n, 1));
	ListCell   *cell;
	int			i = 0;

	foreach(cell, strings)
		elements[i++] = CStringGetTextDatum((const char *) lfirst(cell));
	return PointerGetDatum(construct_array(elements, n, TEXTOID, -1, false, TYPALIGN_INT));
}

List *
se_table_datum_to_strings(Datum array)
{
	Datum	   *elements;
	bool	   *nulls;
	int			n;
	List	   *strings = NIL;

	deconstruct_array(DatumGetArrayTypeP(array), TEXTOID, -1, false, TYPALIGN_INT,
					  &elements, &nulls, &n);
	for (int i = 0; i < n; i++)
		if (!nulls[i])
			strings = lappend(strings, TextDatumGetCString(elements[i]));
	return strings;
}
