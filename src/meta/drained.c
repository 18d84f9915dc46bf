/*
 * meta/drained.c
 *		Catalog table stream_engine.drained: one row while the streams of the database take no rows.
 *
 * Every statement that writes to a stream asks, so the answer is kept until somebody
 * commits another one anywhere in the server (base/draining.c counts that). The row outlives
 * restarts and, as any table's, pg_upgrade; pg_dump leaves it out.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "base/draining.h"
#include "catalog/indexing.h"
#include "meta/drained.h"
#include "meta/table.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

enum
{
	COLUMN_ID = 1,
	COLUMN_SINCE,
	COLUMN_ROLE,
	COLUMNS = COLUMN_ROLE
};

bool
se_drained_is_set(void)
{
	Relation	table = se_table_try_open("drained", AccessShareLock);
	SeTableScan scan;
	bool		found;

	if (table == NULL)
		return false;
	se_table_scan_begin(&scan, table, 0, NULL);
	found = se_table_scan_next(&scan) != NULL;
	se_table_scan_end(&scan);
	table_close(table, AccessShareLock);
	return found;
}

void
se_drained_set(void)
{
	Relation	table = se_table_open("drained", ShareRowExclusiveLock);
	Datum		values[COLUMNS];
	bool		nulls[COLUMNS] = {false};

	if (!se_drained_is_set())
	{
		values[COLUMN_ID - 1] = Int32GetDatum(1);
		values[COLUMN_SINCE - 1] = TimestampTzGetDatum(GetCurrentTimestamp());
		values[COLUMN_ROLE - 1] = CStringGetTextDatum(GetUserNameFromId(GetUserId(), false));
		CatalogTupleInsert(table, heap_form_tuple(RelationGetDescr(table), values, nulls));
		CommandCounterIncrement();
	}
	table_close(table, NoLock);
	se_draining_changed();
}

void
se_drained_clear(void)
{
	Relation	table = se_table_open("drained", ShareRowExclusiveLock);
	SeTableScan scan;
	HeapTuple	tuple;

	se_table_scan_begin(&scan, table, 0, NULL);
	while ((tuple = se_table_scan_next(&scan)) != NULL)
		CatalogTupleDelete(table, &tuple->t_self);
	se_table_scan_end(&scan);
	table_close(table, NoLock);
	CommandCounterIncrement();
	se_draining_changed();
}

void
se_drained_check(Oid stream)
{
	static uint64 known_generation = 0;
	static bool known = false;
	bool		draining = se_draining_is_on(MyDatabaseId);
	uint64		generation = se_draining_generation();

	if (!draining && (generation != known_generation || generation == 0))
	{
		known = se_drained_is_set();
		known_generation = generation;
	}
	if (draining || known)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("stream \"%s\" takes no rows", get_rel_name(stream)),
				 errdetail(draining ? "The streams of this database are being drained." :
						   "The streams of this database are drained; stream_engine.drained says since when."),
				 errhint("SELECT stream_engine.undrain() lets them take rows again.")));
}
