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
#include "lib/stringinfo.h"
#include "meta/jobs.h"
#include "meta/table.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#define MAX_TABLES 16

typedef struct CachedTable
{
	const char *name;			/* the caller's literal */
	Oid			oid;
	bool		fits;			/* its columns were compared */
} CachedTable;

/* The columns this library reads and writes, in stream_engine--1.0.sql's order. */
typedef struct Shape
{
	const char *name;
	const char *columns;
} Shape;

static const Shape shapes[] = {
	{"job_catalog", "job relation, definition relation, goal char, options _text, options_lsn pg_lsn, settings _text, "
	"system_identifier int8, database_oid oid, job_oid oid, pg_major int4, oid_space int8, kept_oids bool"},
	{"job_positions", "job relation, unit int4, source int4, attempt int8, position bytea, fingerprint int8, shape int8, "
		"chunk_seq int8, result_rows int8, rows_in int8, rows_out int8, late_rows int8, late_pairs int8, options _text, "
	"options_lsn pg_lsn, error_rows int8, skip _text, final_to timestamptz"},
	{"state_chunks", "job relation, unit int4, seq int8, data bytea"},
	{"stream_layouts", "stream regclass, id int4, since pg_lsn, layout bytea"},
	{"job_errors", "job regclass, seq int8, at timestamptz, attempt int8, sqlstate text, message text, detail text, "
	"position text, row text"},
	{"drained", "id int4, since timestamptz, role text"},
	{"dead_letter_rows", "relation relation, id int8, stream relation, position text, ordinal int8, arrived timestamptz, "
	"reason text, sqlstate text, message text, detail text, row jsonb"},
	{"dropped_row_counts", "stream regclass, reason text, rows int8, first timestamptz, last timestamptz"},
};

static CachedTable tables[MAX_TABLES];
static int	ntables = 0;
static bool misfit = false;		/* the table that was compared last was not ours */

static char *columns_of(Relation table);
static const char *columns_expected(Relation table);

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
		name, relation, false
	};
	return relation;
}

Relation
se_table_open(const char *name, LOCKMODE lock)
{
	Oid			relation = se_meta_relation(name);
	Relation	table;

	if (!OidIsValid(relation))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("extension stream_engine is not installed in this database"),
				 errhint("Use CREATE EXTENSION stream_engine.")));
	table = table_open(relation, lock);
	se_table_check(table);
	return table;
}

Relation
se_table_try_open(const char *name, LOCKMODE lock)
{
	Relation	table = se_table_try_open_keys(name, lock);

	if (table != NULL)
		se_table_check(table);
	return table;
}

/* The extension may be dropped while the lock is waited for. */
Relation
se_table_try_open_keys(const char *name, LOCKMODE lock)
{
	Oid			relation = se_meta_relation(name);

	return OidIsValid(relation) ? try_relation_open(relation, lock) : NULL;
}

/*
 * Another build of the extension may have made the table, and a library that is newer, or older, would read and write
 * beyond its columns. Compared once, until the relation changes.
 */
void
se_table_check(Relation table)
{
	const char *expected;
	char	   *found;

	for (int i = 0; i < ntables; i++)
		if (tables[i].oid == RelationGetRelid(table) && tables[i].fits)
			return;
	expected = columns_expected(table);
	found = columns_of(table);
	misfit = strcmp(found, expected) != 0;
	if (misfit)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the tables of extension stream_engine in this database are not those of the installed library"),
				 errdetail("The columns of %s.%s are (%s); the library works with (%s).", SE_SCHEMA,
						   RelationGetRelationName(table), found, expected),
				 errhint("Use ALTER EXTENSION stream_engine UPDATE; if there is no other version, install the library that made them, or drop the extension and create it again.")));
	pfree(found);
	for (int i = 0; i < ntables; i++)
		if (tables[i].oid == RelationGetRelid(table))
			tables[i].fits = true;
}

bool
se_table_is_misfit(void)
{
	return misfit;
}

static char *
columns_of(Relation table)
{
	TupleDesc	desc = RelationGetDescr(table);
	StringInfoData columns;

	initStringInfo(&columns);
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute column = TupleDescAttr(desc, i);
		HeapTuple	type = SearchSysCache1(TYPEOID, ObjectIdGetDatum(column->atttypid));

		appendStringInfo(&columns, "%s%s %s", i > 0 ? ", " : "", NameStr(column->attname),
						 HeapTupleIsValid(type) ? NameStr(((Form_pg_type) GETSTRUCT(type))->typname) : "dropped");
		if (HeapTupleIsValid(type))
			ReleaseSysCache(type);
	}
	return columns.data;
}

static const char *
columns_expected(Relation table)
{
	for (int i = 0; i < lengthof(shapes); i++)
		if (strcmp(shapes[i].name, RelationGetRelationName(table)) == 0)
			return shapes[i].columns;
	elog(ERROR, "table %s is none of stream_engine's", RelationGetRelationName(table));
	return NULL;
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
	Relation	table = se_table_try_open_keys(name, RowExclusiveLock);
	ScanKeyData key;
	SeTableScan scan;
	HeapTuple	tuple;

	if (table == NULL)
		return;
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
