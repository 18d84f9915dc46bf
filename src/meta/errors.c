/*
 * meta/errors.c
 *		Catalog table stream_engine.job_errors: the newest errors of each job.
 *
 * Written in a transaction of its own after the failed one was rolled back. Texts are
 * clipped: an error message may quote a value of any size.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/indexing.h"
#include "mb/pg_wchar.h"
#include "meta/jobs.h"
#include "meta/positions.h"
#include "meta/table.h"
#include "utils/builtins.h"
#include "utils/elog.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

#define KEPT_PER_JOB 100
#define MAX_TEXT 8000

enum
{
	COLUMN_JOB = 1,
	COLUMN_SEQ,
	COLUMN_AT,
	COLUMN_ATTEMPT,
	COLUMN_SQLSTATE,
	COLUMN_MESSAGE,
	COLUMN_DETAIL,
	COLUMN_POSITION,
	COLUMN_ROW,
	COLUMNS = COLUMN_ROW
};

/* A nullable text column, clipped to MAX_TEXT bytes at a character's end. */
static Datum
clipped(const char *string, bool *isnull)
{
	int			len;

	*isnull = string == NULL;
	if (string == NULL)
		return (Datum) 0;
	len = strlen(string);
	if (len > MAX_TEXT)
		len = pg_mbcliplen(string, len, MAX_TEXT);
	return PointerGetDatum(cstring_to_text_with_len(string, len));
}

/* Make room for one more error of a job and return its sequence number. */
static int64
next_seq(Relation table, Oid job)
{
	ScanKeyData key;
	SeTableScan scan;
	HeapTuple	tuple;
	ItemPointerData oldest[KEPT_PER_JOB];
	int			count = 0;
	int64		last = 0;

	se_table_key_oid(&key, COLUMN_JOB, job);
	se_table_scan_begin(&scan, table, 1, &key);
	while ((tuple = se_table_scan_next(&scan)) != NULL)
	{
		bool		isnull;

		last = DatumGetInt64(heap_getattr(tuple, COLUMN_SEQ, RelationGetDescr(table), &isnull));
		if (count >= KEPT_PER_JOB)
			CatalogTupleDelete(table, &oldest[count % KEPT_PER_JOB]);
		oldest[count++ % KEPT_PER_JOB] = tuple->t_self;
	}
	se_table_scan_end(&scan);
	if (count >= KEPT_PER_JOB)
		CatalogTupleDelete(table, &oldest[count % KEPT_PER_JOB]);
	return last + 1;
}

void
se_errors_add(Oid job, int sqlstate, const char *message, const char *detail,
			  const char *position, const char *row, int64 attempt)
{
	Relation	table = se_table_open("job_errors", RowExclusiveLock);
	Datum		values[COLUMNS];
	bool		nulls[COLUMNS] = {false};
	HeapTuple	tuple;

	values[COLUMN_JOB - 1] = ObjectIdGetDatum(job);
	values[COLUMN_SEQ - 1] = Int64GetDatum(next_seq(table, job));
	values[COLUMN_AT - 1] = TimestampTzGetDatum(GetCurrentTimestamp());
	values[COLUMN_ATTEMPT - 1] = Int64GetDatum(attempt);
	values[COLUMN_SQLSTATE - 1] = CStringGetTextDatum(unpack_sql_state(sqlstate));
	values[COLUMN_MESSAGE - 1] = clipped(message ? message : "", &nulls[COLUMN_MESSAGE - 1]);
	values[COLUMN_DETAIL - 1] = clipped(detail, &nulls[COLUMN_DETAIL - 1]);
	values[COLUMN_POSITION - 1] = clipped(position, &nulls[COLUMN_POSITION - 1]);
	values[COLUMN_ROW - 1] = clipped(row, &nulls[COLUMN_ROW - 1]);
	tuple = heap_form_tuple(RelationGetDescr(table), values, nulls);
	CatalogTupleInsert(table, tuple);
	heap_freetuple(tuple);
	table_close(table, RowExclusiveLock);
	CommandCounterIncrement();
}

void
se_errors_delete(Oid job)
{
	if (OidIsValid(se_meta_relation("job_errors")))
		se_table_delete_all("job_errors", job);
}
