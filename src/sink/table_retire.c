/*
 * sink/table_retire.c
 *		Deleting rows of a result that are too old (the option `retention`).
 *
 * They are found by an index whose first column is the end of their window, oldest
 * first, so a part of them costs no more than that part. Each is deleted as the owner would: row
 * triggers and foreign keys see it. A row that a BEFORE trigger keeps stays, and is tried
 * again when others are due.
 *
 * Runs in: as table_writer.c.
 */
#include "postgres.h"

#include "sink/table_retire.h"

#include "access/genam.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "base/compat.h"
#include "base/fault.h"
#include "catalog/pg_am.h"
#include "commands/trigger.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

static Relation find_index(SeTableWriter *writer, int column);
static bool delete_row(SeTableWriter *writer, TupleTableSlot *row);

int64
se_table_retire(SeTableWriter *writer, int column, SeTime limit, int64 budget, SeTime *next)
{
	Relation	index = find_index(writer, column);
	TupleTableSlot *row = table_slot_create(writer->table, &writer->estate->es_tupleTable);
	Snapshot	snapshot;
	IndexScanDesc scan;
	int64		deleted = 0;

	*next = SE_TIME_MAX;
	if (index == NULL)
		return 0;

	/* As of now: what this commit has written is seen, what it deletes does not come up again. */
	CommandCounterIncrement();
	UpdateActiveSnapshotCommandId();
	snapshot = RegisterSnapshot(GetActiveSnapshot());
	scan = se_compat_index_beginscan(writer->table, index, snapshot, 0);
	index_rescan(scan, NULL, 0, NULL, 0);
	if (!writer->upsert)
		ExecBSDeleteTriggers(writer->estate, writer->target);
	while (index_getnext_slot(scan, ForwardScanDirection, row))
	{
		bool		isnull;
		SeTime		end = DatumGetTimestampTz(slot_getattr(row, column + 1, &isnull));

		if (isnull)
			break;				/* the last ones */
		if (end > limit || budget-- <= 0)
		{
			*next = end;
			break;
		}
		if (delete_row(writer, row))
			deleted++;
		CHECK_FOR_INTERRUPTS();
	}
	ExecClearTuple(row);
	index_endscan(scan);
	if (!writer->upsert)
		ExecASDeleteTriggers(writer->estate, writer->target, NULL);
	UnregisterSnapshot(snapshot);
	return deleted;
}

/*
 * A plain btree that begins with the column; it is among the indexes opened for writing.
 * There is none when the option has just been reset and we have not heard of it yet.
 */
static Relation
find_index(SeTableWriter *writer, int column)
{
	for (int i = 0; i < writer->target->ri_NumIndices; i++)
	{
		Relation	index = writer->target->ri_IndexRelationDescs[i];

		if (index->rd_index->indisvalid && index->rd_rel->relam == BTREE_AM_OID &&
			index->rd_index->indkey.values[0] == column + 1 && (index->rd_indoption[0] & INDOPTION_DESC) == 0 &&
			RelationGetIndexPredicate(index) == NIL)
			return index;
	}
	return NULL;
}

/* False if a BEFORE trigger keeps the row. */
static bool
delete_row(SeTableWriter *writer, TupleTableSlot *row)
{
	TriggerDesc *triggers = writer->target->ri_TrigDesc;
	ItemPointerData tid = row->tts_tid;
	SePlace		nowhere = {0, 0};
	bool		kept = false;

	if (triggers != NULL)
	{
		slot_getallattrs(row);
		se_table_writer_begin_row(writer, nowhere, row->tts_values, row->tts_isnull);
	}
	ExecSimpleRelationDelete(writer->target, writer->estate, &writer->epqstate, row);
	SE_FAULT_POINT("sink-retire");
	if (triggers != NULL)
	{
		if (triggers->trig_delete_before_row)
		{
			CommandCounterIncrement();
			kept = table_tuple_fetch_row_version(writer->table, &tid, SnapshotSelf, row);
		}
		se_table_writer_end_row(writer);
	}
	if (kept)
		writer->not_taken++;
	else
		writer->growth--;
	return !kept;
}
