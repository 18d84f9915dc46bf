/*
 * meta/positions.c
 *		Catalog table stream_engine.job_positions: where each source of a unit stands.
 *
 * The row is updated five times a second by a busy job, so it keeps room on its page
 * and no indexed column ever changes: the updates are HOT.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "base/compat.h"
#include "catalog/indexing.h"
#include "meta/jobs.h"
#include "meta/positions.h"
#include "meta/table.h"
#include "utils/builtins.h"
#include "utils/pg_lsn.h"
#include "utils/rel.h"
#include "utils/snapshot.h"
#include "utils/timestamp.h"

enum
{
	COLUMN_JOB = 1,
	COLUMN_UNIT,
	COLUMN_SOURCE,
	COLUMN_ATTEMPT,
	COLUMN_POSITION,
	COLUMN_FINGERPRINT,
	COLUMN_SHAPE,
	COLUMN_CHUNK_SEQ,
	COLUMN_RESULT_ROWS,
	COLUMN_ROWS_IN,
	COLUMN_ROWS_OUT,
	COLUMN_LATE_ROWS,
	COLUMN_LATE_PAIRS,
	COLUMN_OPTIONS,
	COLUMN_OPTIONS_LSN,
	COLUMN_ERROR_ROWS,
	COLUMN_SKIP,
	COLUMN_FINAL_TO,
	COLUMNS = COLUMN_FINAL_TO
};

static SePositionMeta *
position_from_tuple(HeapTuple tuple, TupleDesc desc)
{
	SePositionMeta *meta = palloc0(sizeof(SePositionMeta));
	Datum		values[COLUMNS];
	bool		nulls[COLUMNS];

	heap_deform_tuple(tuple, desc, values, nulls);
	meta->job = DatumGetObjectId(values[COLUMN_JOB - 1]);
	meta->unit = DatumGetInt32(values[COLUMN_UNIT - 1]);
	meta->source = DatumGetInt32(values[COLUMN_SOURCE - 1]);
	meta->attempt = DatumGetInt64(values[COLUMN_ATTEMPT - 1]);
	meta->position = DatumGetByteaPCopy(values[COLUMN_POSITION - 1]);
	meta->fingerprint = (uint64) DatumGetInt64(values[COLUMN_FINGERPRINT - 1]);
	meta->shape = (uint64) DatumGetInt64(values[COLUMN_SHAPE - 1]);
	meta->chunk_seq = DatumGetInt64(values[COLUMN_CHUNK_SEQ - 1]);
	meta->result_rows = DatumGetInt64(values[COLUMN_RESULT_ROWS - 1]);
	meta->rows_in = DatumGetInt64(values[COLUMN_ROWS_IN - 1]);
	meta->rows_out = DatumGetInt64(values[COLUMN_ROWS_OUT - 1]);
	meta->late_rows = DatumGetInt64(values[COLUMN_LATE_ROWS - 1]);
	meta->late_pairs = DatumGetInt64(values[COLUMN_LATE_PAIRS - 1]);
	meta->options = se_jobs_pairs_from_strings(se_table_datum_to_strings(values[COLUMN_OPTIONS - 1]));
	meta->options_lsn = DatumGetLSN(values[COLUMN_OPTIONS_LSN - 1]);
	meta->windowed = !nulls[COLUMN_FINAL_TO - 1];
	meta->final_to = meta->windowed ? DatumGetTimestampTz(values[COLUMN_FINAL_TO - 1]) : SE_TIME_MIN;
	meta->error_rows = DatumGetInt64(values[COLUMN_ERROR_ROWS - 1]);
	if (!nulls[COLUMN_SKIP - 1])
		meta->skip = se_table_datum_to_strings(values[COLUMN_SKIP - 1]);
	return meta;
}

/* Begin a scan and return the row of one source or NULL; the caller ends the scan. */
static HeapTuple
find(Relation table, SeTableScan *scan, Oid job, int unit, int source)
{
	ScanKeyData keys[3];

	se_table_key_oid(&keys[0], COLUMN_JOB, job);
	se_table_key_int4(&keys[1], COLUMN_UNIT, unit);
	se_table_key_int4(&keys[2], COLUMN_SOURCE, source);
	se_table_scan_begin(scan, table, 3, keys);
	return se_table_scan_next(scan);
}

SePositionMeta *
se_positions_get(Oid job, int unit, int source)
{
	SePositionMeta *meta = NULL;
	Relation	table;
	SeTableScan scan;
	HeapTuple	tuple;

	table = se_table_try_open("job_positions", AccessShareLock);
	if (table == NULL)
		return NULL;
	tuple = find(table, &scan, job, unit, source);
	if (tuple != NULL)
		meta = position_from_tuple(tuple, RelationGetDescr(table));
	se_table_scan_end(&scan);
	table_close(table, AccessShareLock);
	return meta;
}

List *
se_positions_list(Oid job)
{
	List	   *positions = NIL;
	Relation	table;
	ScanKeyData key;
	SeTableScan scan;
	HeapTuple	tuple;

	table = se_table_try_open("job_positions", AccessShareLock);
	if (table == NULL)
		return NIL;
	se_table_key_oid(&key, COLUMN_JOB, job);
	se_table_scan_begin(&scan, table, 1, &key);
	while ((tuple = se_table_scan_next(&scan)) != NULL)
		positions = lappend(positions, position_from_tuple(tuple, RelationGetDescr(table)));
	se_table_scan_end(&scan);
	table_close(table, AccessShareLock);
	return positions;
}

bool
se_positions_final_to(Oid job, Snapshot snapshot, SeTime *final_to)
{
	Relation	table = se_table_open("job_positions", AccessShareLock);
	Relation	index = index_open(se_compat_primary_key(table), AccessShareLock);
	bool		windowed = true;
	bool		any = false;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;

	*final_to = SE_TIME_MAX;
	se_table_key_oid(&key, COLUMN_JOB, job);
	scan = systable_beginscan_ordered(table, index, snapshot, 1, &key);
	while ((tuple = systable_getnext_ordered(scan, ForwardScanDirection)) != NULL)
	{
		bool		null;
		Datum		value = heap_getattr(tuple, COLUMN_FINAL_TO, RelationGetDescr(table), &null);

		any = true;
		windowed &= !null;
		if (!null)
			*final_to = Min(*final_to, DatumGetTimestampTz(value));
	}
	systable_endscan_ordered(scan);
	index_close(index, AccessShareLock);
	table_close(table, AccessShareLock);
	if (!any)
		*final_to = SE_TIME_MIN;
	return windowed;
}

void
se_positions_put(const SePositionMeta *meta)
{
	Relation	table = se_table_open("job_positions", RowExclusiveLock);
	Datum		values[COLUMNS];
	bool		nulls[COLUMNS] = {false};
	SeTableScan scan;
	HeapTuple	old;
	HeapTuple	tuple;

	values[COLUMN_JOB - 1] = ObjectIdGetDatum(meta->job);
	values[COLUMN_UNIT - 1] = Int32GetDatum(meta->unit);
	values[COLUMN_SOURCE - 1] = Int32GetDatum(meta->source);
	values[COLUMN_ATTEMPT - 1] = Int64GetDatum(meta->attempt);
	values[COLUMN_POSITION - 1] = PointerGetDatum(meta->position);
	values[COLUMN_FINGERPRINT - 1] = Int64GetDatum((int64) meta->fingerprint);
	values[COLUMN_SHAPE - 1] = Int64GetDatum((int64) meta->shape);
	values[COLUMN_CHUNK_SEQ - 1] = Int64GetDatum(meta->chunk_seq);
	values[COLUMN_RESULT_ROWS - 1] = Int64GetDatum(meta->result_rows);
	values[COLUMN_ROWS_IN - 1] = Int64GetDatum(meta->rows_in);
	values[COLUMN_ROWS_OUT - 1] = Int64GetDatum(meta->rows_out);
	values[COLUMN_LATE_ROWS - 1] = Int64GetDatum(meta->late_rows);
	values[COLUMN_LATE_PAIRS - 1] = Int64GetDatum(meta->late_pairs);
	values[COLUMN_OPTIONS - 1] = se_jobs_pairs_to_datum(meta->options);
	values[COLUMN_OPTIONS_LSN - 1] = LSNGetDatum(meta->options_lsn);
	values[COLUMN_ERROR_ROWS - 1] = Int64GetDatum(meta->error_rows);
	nulls[COLUMN_SKIP - 1] = meta->skip == NIL;
	values[COLUMN_SKIP - 1] = meta->skip ? se_table_strings_to_datum(meta->skip) : (Datum) 0;
	nulls[COLUMN_FINAL_TO - 1] = !meta->windowed;
	values[COLUMN_FINAL_TO - 1] = TimestampTzGetDatum(meta->final_to);
	tuple = heap_form_tuple(RelationGetDescr(table), values, nulls);

	old = find(table, &scan, meta->job, meta->unit, meta->source);
	if (old != NULL)
		CatalogTupleUpdate(table, &old->t_self, tuple);
	else
		CatalogTupleInsert(table, tuple);
	se_table_scan_end(&scan);
	heap_freetuple(tuple);
	table_close(table, RowExclusiveLock);
	CommandCounterIncrement();
}

bool
se_positions_are_uncommitted(Oid job)
{
	Relation	table;
	ScanKeyData key;
	SeTableScan scan;
	HeapTuple	tuple;
	bool		ours;

	table = se_table_try_open("job_positions", AccessShareLock);
	if (table == NULL)
		return false;
	se_table_key_oid(&key, COLUMN_JOB, job);
	se_table_scan_begin(&scan, table, 1, &key);
	tuple = se_table_scan_next(&scan);
	ours = tuple != NULL && TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetXmin(tuple->t_data));
	se_table_scan_end(&scan);
	table_close(table, AccessShareLock);
	return ours;
}

void
se_positions_delete(Oid job)
{
	if (OidIsValid(se_meta_relation("job_positions")))
		se_table_delete_all("job_positions", job);
}
