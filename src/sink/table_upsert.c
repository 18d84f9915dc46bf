/*
 * sink/table_upsert.c
 *		Keeping one row per key of a result up to date: find it, then change only what differs.
 *
 * Runs in: as table_writer.c.
 *
 * The row of a key is found through the unique index over the key's columns, NULL
 * equal to NULL. A result without key columns is the one row of an aggregate without
 * GROUP BY, found by scanning. The lookup sees what this transaction wrote so far, so
 * a key may come more than once in a commit; each row is a command of its own, since
 * one command cannot change a row twice.
 *
 * Nobody but the job writes the table (the write guard), so nothing is locked before
 * it is changed. If somebody does write all the same (a superuser without the guard),
 * the lookup waits for that transaction.
 */
#include "postgres.h"

#include "sink/table_writer.h"

#include "access/genam.h"
#include "access/skey.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "base/compat.h"
#include "base/fault.h"
#include "catalog/pg_am.h"
#include "storage/lmgr.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

static Relation find_key_index(SeTableWriter *writer, List *key_columns);
static bool index_is_over(Relation index, List *key_columns);
static void init_scan_keys(SeTableWriter *writer, Relation index);
static bool find_row(SeTableWriter *writer, const Datum *values, const bool *nulls);
static bool scan_by_key(SeTableWriter *writer, const Datum *values, const bool *nulls);
static bool scan_for_any(SeTableWriter *writer);
static bool row_differs(SeTableWriter *writer, const Datum *values, const bool *nulls);
static void update_row(SeTableWriter *writer, const Datum *values, const bool *nulls);
static void delete_row(SeTableWriter *writer, const Datum *values, const bool *nulls);
static void check_key_kept(SeTableWriter *writer, const Datum *values, const bool *nulls);

/* Prepare the lookup. Part of se_table_writer_open. */
void
se_table_upsert_open(SeTableWriter *writer, List *key_columns)
{
	writer->nkeys = list_length(key_columns);
	writer->old = table_slot_create(writer->table, &writer->estate->es_tupleTable);
	writer->dirty = palloc0(sizeof(SnapshotData));
	InitDirtySnapshot(*writer->dirty);
	if (writer->nkeys > 0)
	{
		Relation	index = find_key_index(writer, key_columns);

		init_scan_keys(writer, index);
		/* Beginning a scan costs more than using one. */
		writer->scan = se_compat_index_beginscan(writer->table, index, writer->dirty, writer->nkeys);
	}
}

/*
 * Bring the table in line with one row: there so, or not there at all. A -U does nothing but
 * name the key that the row of the +U behind it had: the row gets another one.
 */
void
se_table_upsert_apply(SeTableWriter *writer, SeRowKind kind, SePlace place,
					  const Datum *values, const bool *nulls)
{
	bool		found;

	if (kind == SE_ROW_UPDATE_BEFORE)
	{
		/* By this key the row that comes next was known. */
		writer->moving = find_row(writer, values, nulls);
		return;
	}
	Assert(!writer->moving || kind == SE_ROW_UPDATE_AFTER);

	se_table_writer_begin_row(writer, place, values, nulls);
	found = writer->moving || find_row(writer, values, nulls);
	writer->moving = false;
	if (kind == SE_ROW_DELETE)
	{
		if (found)
			delete_row(writer, values, nulls);
	}
	else if (found)
	{
		if (row_differs(writer, values, nulls) && !SE_FAULT_WRONG("wrong-update-skipped"))
			update_row(writer, values, nulls);
	}
	else
	{
		int64		written = writer->written;

		se_table_writer_fill_new(writer, writer->slot, values, nulls);
		se_table_writer_insert_now(writer);
		if (writer->written > written)
			check_key_kept(writer, values, nulls);
	}
	se_table_writer_end_row(writer);
	ExecClearTuple(writer->old);
}

void
se_table_upsert_close(SeTableWriter *writer)
{
	ExecClearTuple(writer->old);
	if (writer->scan)
		index_endscan(writer->scan);
}

/* The unique index over the key; it is among the indexes opened for writing. */
static Relation
find_key_index(SeTableWriter *writer, List *key_columns)
{
	for (int i = 0; i < writer->target->ri_NumIndices; i++)
		if (index_is_over(writer->target->ri_IndexRelationDescs[i], key_columns))
			return writer->target->ri_IndexRelationDescs[i];
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("the result \"%s\" has no unique index over the columns that identify its rows",
					RelationGetRelationName(writer->table)),
			 errhint("Create one (UNIQUE NULLS NOT DISTINCT, immediate, without WHERE), or create the continuous view anew.")));
	return NULL;				/* not reached */
}

/* Is it a plain unique btree over exactly these columns, in any order? */
static bool
index_is_over(Relation index, List *key_columns)
{
	Form_pg_index form = index->rd_index;

	if (!form->indisunique || !form->indisvalid || !form->indimmediate ||
		index->rd_rel->relam != BTREE_AM_OID ||
		form->indnkeyatts != list_length(key_columns) ||
		RelationGetIndexPredicate(index) != NIL ||
		RelationGetIndexExpressions(index) != NIL)
		return false;
	for (int i = 0; i < form->indnkeyatts; i++)
		if (!list_member_int(key_columns, form->indkey.values[i] - 1))
			return false;
	return true;
}

/* One equality key per column of the index; arguments come with each row. */
static void
init_scan_keys(SeTableWriter *writer, Relation index)
{
	writer->scan_keys = palloc0(sizeof(ScanKeyData) * writer->nkeys);
	writer->key_columns = palloc(sizeof(int) * writer->nkeys);
	for (int i = 0; i < writer->nkeys; i++)
	{
		Oid			type = index->rd_opcintype[i];
		Oid			op = get_opfamily_member(index->rd_opfamily[i], type, type,
											 BTEqualStrategyNumber);

		if (!OidIsValid(op))
			elog(ERROR, "missing equality operator of type %u in family %u",
				 type, index->rd_opfamily[i]);
		writer->key_columns[i] = index->rd_index->indkey.values[i] - 1;
		ScanKeyEntryInitialize(&writer->scan_keys[i], 0, i + 1, BTEqualStrategyNumber,
							   InvalidOid, index->rd_indcollation[i], get_opcode(op), (Datum) 0);
	}
}

/* Put the row of a key, or the only row, into writer->old; false if there is none. */
static bool
find_row(SeTableWriter *writer, const Datum *values, const bool *nulls)
{
	SnapshotData *dirty = writer->dirty;

	for (;;)
	{
		TransactionId other;
		bool		found;

		InitDirtySnapshot(*dirty);
		found = writer->scan ? scan_by_key(writer, values, nulls) : scan_for_any(writer);

		/* Somebody else's unfinished change: wait how it ends, then look again. */
		other = TransactionIdIsValid(dirty->xmin) ? dirty->xmin : dirty->xmax;
		if (!found || !TransactionIdIsValid(other))
			return found;
		ExecClearTuple(writer->old);
		XactLockTableWait(other, writer->table, NULL, XLTW_None);
	}
}

static bool
scan_by_key(SeTableWriter *writer, const Datum *values, const bool *nulls)
{
	for (int i = 0; i < writer->nkeys; i++)
	{
		int			column = writer->key_columns[i];
		ScanKey		key = &writer->scan_keys[i];

		key->sk_flags = nulls[column] ? SK_ISNULL | SK_SEARCHNULL : 0;
		key->sk_argument = nulls[column] ? (Datum) 0 : values[column];
	}
	index_rescan(writer->scan, writer->scan_keys, writer->nkeys, NULL, 0);
	return index_getnext_slot(writer->scan, ForwardScanDirection, writer->old);
}

static bool
scan_for_any(SeTableWriter *writer)
{
	TableScanDesc scan = se_compat_table_beginscan(writer->table, writer->dirty);
	bool		found = table_scan_getnextslot(scan, ForwardScanDirection, writer->old);

	/* The slot keeps its page pinned; the scan is not needed for it. */
	table_endscan(scan);
	return found;
}

/* Would an update change anything? Compared as bytes: 1.0 and 1.00 are not the same to a reader. */
static bool
row_differs(SeTableWriter *writer, const Datum *values, const bool *nulls)
{
	TupleTableSlot *old = writer->old;

	slot_getallattrs(old);
	for (int i = 0; i < writer->ncolumns; i++)
	{
		Form_pg_attribute att = TupleDescAttr(old->tts_tupleDescriptor, i);

		if (old->tts_isnull[i] != nulls[i])
			return true;
		if (!nulls[i] && !datum_image_eq(old->tts_values[i], values[i], att->attbyval, att->attlen))
			return true;
	}
	return false;
}

/* Replace the result's columns of the row found; the user's own keep their values. */
static void
update_row(SeTableWriter *writer, const Datum *values, const bool *nulls)
{
	TupleTableSlot *slot = writer->slot;
	TupleTableSlot *old = writer->old;
	int			natts = slot->tts_tupleDescriptor->natts;

	slot_getallattrs(old);
	ExecClearTuple(slot);
	memcpy(slot->tts_values, old->tts_values, sizeof(Datum) * natts);
	memcpy(slot->tts_isnull, old->tts_isnull, sizeof(bool) * natts);
	memcpy(slot->tts_values, values, sizeof(Datum) * writer->ncolumns);
	memcpy(slot->tts_isnull, nulls, sizeof(bool) * writer->ncolumns);
	ExecStoreVirtualTuple(slot);
	ItemPointerSetInvalid(&slot->tts_tid);

	ExecSimpleRelationUpdate(writer->target, writer->estate, &writer->epqstate, old, slot);
	SE_FAULT_POINT("sink-insert");
	if (!ItemPointerIsValid(&slot->tts_tid))
	{
		writer->not_taken++;
		return;
	}
	writer->written++;
	check_key_kept(writer, values, nulls);
}

/* Delete the row found. */
static void
delete_row(SeTableWriter *writer, const Datum *values, const bool *nulls)
{
	TriggerDesc *triggers = writer->target->ri_TrigDesc;

	ExecSimpleRelationDelete(writer->target, writer->estate, &writer->epqstate, writer->old);
	SE_FAULT_POINT("sink-insert");

	/* Only looking again tells whether a BEFORE trigger kept it. */
	if (triggers && triggers->trig_delete_before_row && find_row(writer, values, nulls))
		writer->not_taken++;
	else if (!SE_FAULT_WRONG("wrong-delete-not-counted"))
		writer->growth--;
}

/* A BEFORE trigger that changed the key made a row that the job would never find again. */
static void
check_key_kept(SeTableWriter *writer, const Datum *values, const bool *nulls)
{
	TriggerDesc *triggers = writer->target->ri_TrigDesc;

	if (triggers == NULL ||
		!(triggers->trig_insert_before_row || triggers->trig_update_before_row))
		return;
	for (int i = 0; i < writer->nkeys; i++)
	{
		ScanKey		key = &writer->scan_keys[i];
		int			column = writer->key_columns[i];
		bool		isnull;
		Datum		value = slot_getattr(writer->slot, column + 1, &isnull);

		if (isnull == nulls[column] &&
			(isnull || DatumGetBool(FunctionCall2Coll(&key->sk_func, key->sk_collation,
													  value, values[column]))))
			continue;
		ereport(ERROR,
				(errcode(ERRCODE_TRIGGERED_DATA_CHANGE_VIOLATION),
				 errmsg("a BEFORE trigger changed column \"%s\" of the result \"%s\", which identifies the row",
						NameStr(TupleDescAttr(RelationGetDescr(writer->table), column)->attname),
						RelationGetRelationName(writer->table)),
				 errhint("Let the trigger change other columns only.")));
	}
}
