/*
 * meta/dropped_rows.c
 *		Catalog table stream_engine.dropped_row_counts: rows that a stream's options left out.
 *
 * A count is the sum over the rows of its stream and reason. One row would make writers wait for each other until they
 * commit, and a row per transaction would grow for ever; so a session adds to any row that nobody has locked, and makes
 * a new one if there is none: there are about as many as sessions ever counted at the same time.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/indexing.h"
#include "meta/dropped_rows.h"
#include "meta/jobs.h"
#include "meta/table.h"
#include "utils/builtins.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

enum
{
	COLUMN_STREAM = 1,
	COLUMN_REASON,
	COLUMN_ROWS,
	COLUMN_FIRST,
	COLUMN_LAST,
	COLUMNS = COLUMN_LAST
};

static bool is_of(HeapTuple tuple, TupleDesc desc, Oid stream, const char *reason);
static bool lock_row(Relation table, HeapTuple tuple);
static void add_to(Relation table, HeapTuple tuple, int64 rows);

void
se_dropped_rows_add(Oid stream, const char *reason, int64 rows)
{
	Relation	table = se_table_open("dropped_row_counts", RowExclusiveLock);
	SysScanDesc scan = systable_beginscan(table, InvalidOid, false, NULL, 0, NULL);
	HeapTuple	tuple;

	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		if (is_of(tuple, RelationGetDescr(table), stream, reason) && lock_row(table, tuple))
			break;
	}
	if (HeapTupleIsValid(tuple))
		add_to(table, tuple, rows);
	else
	{
		Datum		values[COLUMNS];
		bool		nulls[COLUMNS] = {false};

		values[COLUMN_STREAM - 1] = ObjectIdGetDatum(stream);
		values[COLUMN_REASON - 1] = CStringGetTextDatum(reason);
		values[COLUMN_ROWS - 1] = Int64GetDatum(rows);
		values[COLUMN_FIRST - 1] = values[COLUMN_LAST - 1] = TimestampTzGetDatum(GetCurrentTimestamp());
		CatalogTupleInsert(table, heap_form_tuple(RelationGetDescr(table), values, nulls));
	}
	systable_endscan(scan);
	table_close(table, RowExclusiveLock);
}

static bool
is_of(HeapTuple tuple, TupleDesc desc, Oid stream, const char *reason)
{
	bool		isnull;
	Datum		datum = heap_getattr(tuple, COLUMN_STREAM, desc, &isnull);

	if (isnull || DatumGetObjectId(datum) != stream)
		return false;
	datum = heap_getattr(tuple, COLUMN_REASON, desc, &isnull);
	return !isnull && strcmp(TextDatumGetCString(datum), reason) == 0;
}

/* Lock the row until the transaction's end, if that can be had at once and it is still the newest version. */
static bool
lock_row(Relation table, HeapTuple tuple)
{
	TupleTableSlot *slot = table_slot_create(table, NULL);
	TM_FailureData failure;
	TM_Result	result;

	result = table_tuple_lock(table, &tuple->t_self, SnapshotAny, slot, GetCurrentCommandId(true),
							  LockTupleNoKeyExclusive, LockWaitSkip, 0, &failure);
	ExecDropSingleTupleTableSlot(slot);
	return result == TM_Ok;
}

static void
add_to(Relation table, HeapTuple tuple, int64 rows)
{
	TupleDesc	desc = RelationGetDescr(table);
	Datum		values[COLUMNS] = {0};
	bool		nulls[COLUMNS] = {false};
	bool		replaces[COLUMNS] = {false};
	bool		isnull;
	HeapTuple	changed;

	values[COLUMN_ROWS - 1] = Int64GetDatum(DatumGetInt64(heap_getattr(tuple, COLUMN_ROWS, desc, &isnull)) + rows);
	values[COLUMN_LAST - 1] = TimestampTzGetDatum(GetCurrentTimestamp());
	replaces[COLUMN_ROWS - 1] = replaces[COLUMN_LAST - 1] = true;
	changed = heap_modify_tuple(tuple, desc, values, nulls, replaces);
	CatalogTupleUpdate(table, &tuple->t_self, changed);
}

void
se_dropped_rows_delete(Oid stream)
{
	Relation	table = se_table_try_open_keys("dropped_row_counts", RowExclusiveLock);
	SysScanDesc scan;
	HeapTuple	tuple;

	if (table == NULL)
		return;
	scan = systable_beginscan(table, InvalidOid, false, NULL, 0, NULL);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		bool		isnull;

		if (DatumGetObjectId(heap_getattr(tuple, COLUMN_STREAM, RelationGetDescr(table), &isnull)) == stream)
			CatalogTupleDelete(table, &tuple->t_self);
	}
	systable_endscan(scan);
	table_close(table, RowExclusiveLock);
}
