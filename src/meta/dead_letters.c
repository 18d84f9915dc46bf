/*
 * meta/dead_letters.c
 *		Catalog table stream_engine.dead_letter_rows: rows that were kept out, whole.
 *
 * They stay until the owner of the view or stream deletes them, or drops it. People
 * read them through the view stream_engine.dead_letters.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/indexing.h"
#include "catalog/pg_class.h"
#include "commands/sequence.h"
#include "fmgr.h"
#include "mb/pg_wchar.h"
#include "base/compat.h"
#include "meta/dead_letters.h"
#include "meta/jobs.h"
#include "meta/table.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/elog.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#define MAX_TEXT 8000

enum
{
	COLUMN_RELATION = 1,
	COLUMN_ID,
	COLUMN_STREAM,
	COLUMN_POSITION,
	COLUMN_ORDINAL,
	COLUMN_ARRIVED,
	COLUMN_REASON,
	COLUMN_SQLSTATE,
	COLUMN_MESSAGE,
	COLUMN_DETAIL,
	COLUMN_ROW,
	COLUMNS = COLUMN_ROW
};


Datum
se_dead_letters_row(TupleDesc desc, const Datum *values, const bool *nulls)
{
	HeapTuple	tuple = heap_form_tuple(desc, unconstify(Datum *, values), unconstify(bool *, nulls));
	Datum		json = DirectFunctionCall1(row_to_json, heap_copy_tuple_as_datum(tuple, desc));

	return DirectFunctionCall1(jsonb_in, CStringGetDatum(TextDatumGetCString(json)));
}

/* A text column of at most MAX_TEXT bytes; NULL for no string. */
static Datum
clipped(const char *string, bool *isnull)
{
	int			len = string ? strlen(string) : 0;

	*isnull = string == NULL;
	if (len > MAX_TEXT)
		len = pg_mbcliplen(string, len, MAX_TEXT);
	return string ? PointerGetDatum(cstring_to_text_with_len(string, len)) : (Datum) 0;
}

void
se_dead_letters_add(const SeDeadLetter *letter)
{
	Relation	table = se_table_open("dead_letter_rows", RowExclusiveLock);
	Datum		values[COLUMNS];
	bool		nulls[COLUMNS] = {false};
	HeapTuple	tuple;

	values[COLUMN_RELATION - 1] = ObjectIdGetDatum(letter->relation);
	values[COLUMN_ID - 1] = Int64GetDatum(nextval_internal(se_meta_relation("dead_letter_ids"), false));
	values[COLUMN_STREAM - 1] = ObjectIdGetDatum(letter->stream);
	values[COLUMN_POSITION - 1] = clipped(letter->position, &nulls[COLUMN_POSITION - 1]);
	values[COLUMN_ORDINAL - 1] = Int64GetDatum(letter->ordinal);
	nulls[COLUMN_ORDINAL - 1] = letter->position == NULL;
	values[COLUMN_ARRIVED - 1] = TimestampTzGetDatum(letter->arrived);
	values[COLUMN_REASON - 1] = CStringGetTextDatum(letter->reason);
	values[COLUMN_SQLSTATE - 1] = CStringGetTextDatum(unpack_sql_state(letter->sqlstate));
	values[COLUMN_MESSAGE - 1] = clipped(letter->message ? letter->message : "", &nulls[COLUMN_MESSAGE - 1]);
	values[COLUMN_DETAIL - 1] = clipped(letter->detail, &nulls[COLUMN_DETAIL - 1]);
	values[COLUMN_ROW - 1] = letter->row;
	nulls[COLUMN_ROW - 1] = letter->no_row;
	tuple = heap_form_tuple(RelationGetDescr(table), values, nulls);
	CatalogTupleInsert(table, tuple);
	heap_freetuple(tuple);
	table_close(table, RowExclusiveLock);
}

void
se_dead_letters_delete(Oid relation)
{
	if (OidIsValid(se_meta_relation("dead_letter_rows")))
		se_table_delete_all("dead_letter_rows", relation);
}

int64
se_dead_letters_delete_up_to(Oid relation, int64 up_to)
{
	Relation	table = se_table_open("dead_letter_rows", RowExclusiveLock);
	int64		count = 0;
	ScanKeyData key;
	SeTableScan scan;
	HeapTuple	tuple;

	se_table_key_oid(&key, COLUMN_RELATION, relation);
	se_table_scan_begin(&scan, table, 1, &key);
	while ((tuple = se_table_scan_next(&scan)) != NULL)
	{
		bool		isnull;

		if (DatumGetInt64(heap_getattr(tuple, COLUMN_ID, RelationGetDescr(table), &isnull)) > up_to)
			break;				/* in the order of ids */
		CatalogTupleDelete(table, &tuple->t_self);
		count++;
	}
	se_table_scan_end(&scan);
	table_close(table, RowExclusiveLock);
	CommandCounterIncrement();
	return count;
}
