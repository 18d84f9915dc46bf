/*
 * sink/table_writer.c
 *		Inserting result rows into a user's table with all that an INSERT means.
 *
 * Runs in: task worker, in the writing transaction of a commit, the table's owner
 * switched to in a restricted operation. Row level security does not apply: what
 * it hides would be written twice.
 *
 * A plain table takes rows by multi-insert, with entries for its indexes. A table with
 * triggers (foreign keys are triggers), or that is a partition, takes them one by one,
 * each as a command of its own; statement triggers fire once per commit. No BulkInsertState: its small ring of
 * buffers would make an asynchronous commit wait for the WAL it wrote a moment ago.
 *
 * Memory: all of it is the executor state's, which ends with the commit.
 */
#include "postgres.h"

#include "sink/table_writer.h"

#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "base/compat.h"
#include "base/fault.h"
#include "commands/trigger.h"
#include "executor/nodeModifyTable.h"
#include "optimizer/optimizer.h"
#include "rewrite/rewriteHandler.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

static void check_columns(Relation table, TupleDesc input);
static void check_triggers(Relation table);
static void init_defaults(SeTableWriter *writer);
static void fire_statement_triggers(SeTableWriter *writer, bool before);
static void add_to_batch(SeTableWriter *writer, SePlace place, const Datum *values, const bool *nulls);

SeTableWriter *
se_table_writer_open(SeOperatorEnv *env, Oid table, TupleDesc input, bool upsert, List *key_columns)
{
	EState	   *estate = CreateExecutorState();
	MemoryContext old = MemoryContextSwitchTo(estate->es_query_cxt);
	SeTableWriter *writer = palloc0(sizeof(SeTableWriter));
	Relation	rel = table_open(table, RowExclusiveLock);
	Bitmapset  *columns = NULL;

	check_columns(rel, input);
	check_triggers(rel);

	writer->env = env;
	writer->shown = se_batch_new(CurrentMemoryContext, input, 1);
	writer->shown->nrows = 1;
	writer->table = rel;
	writer->input = input;
	writer->ncolumns = input->natts;
	writer->estate = estate;
	writer->upsert = upsert;
	writer->row_by_row = rel->trigdesc != NULL || rel->rd_rel->relispartition;

	PushActiveSnapshot(GetTransactionSnapshot());
	estate->es_snapshot = GetActiveSnapshot();
	estate->es_output_cid = GetCurrentCommandId(true);
	for (int i = 1; i <= input->natts; i++)
		columns = bms_add_member(columns, i - FirstLowInvalidHeapAttributeNumber);
	se_compat_init_range_table(estate, rel, columns);

	writer->target = makeNode(ResultRelInfo);
	InitResultRelInfo(writer->target, rel, 1, NULL, 0);
	/* Where the executor looks for the tables that AFTER triggers are about. */
	estate->es_opened_result_relations = list_make1(writer->target);
	ExecOpenIndices(writer->target, false);
	se_compat_epq_init(&writer->epqstate, estate);
	writer->slot = table_slot_create(rel, &estate->es_tupleTable);
	init_defaults(writer);
	if (upsert)
		se_table_upsert_open(writer, key_columns);
	else
	{
		writer->batch = palloc0(sizeof(TupleTableSlot *) * SE_WRITER_BATCH_ROWS);
		writer->batch_places = palloc(sizeof(SePlace) * SE_WRITER_BATCH_ROWS);
	}

	AfterTriggerBeginQuery();
	fire_statement_triggers(writer, true);
	MemoryContextSwitchTo(old);
	return writer;
}

void
se_table_writer_insert(SeTableWriter *writer, SePlace place, const Datum *values, const bool *nulls)
{
	if (writer->row_by_row)
	{
		se_table_writer_begin_row(writer, place, values, nulls);
		se_table_writer_fill_new(writer, writer->slot, values, nulls);
		se_table_writer_insert_now(writer);
		se_table_writer_end_row(writer);
	}
	else
	{
		se_table_writer_at(writer, place, values, nulls);
		add_to_batch(writer, place, values, nulls);
		se_table_writer_nowhere(writer);
	}
}

void
se_table_writer_begin_row(SeTableWriter *writer, SePlace place, const Datum *values, const bool *nulls)
{
	/* See what the row before did, and what its triggers did. */
	CommandCounterIncrement();
	UpdateActiveSnapshotCommandId();
	writer->estate->es_output_cid = GetCurrentCommandId(true);
	se_table_writer_at(writer, place, values, nulls);
	if (writer->target->ri_TrigDesc)
		AfterTriggerBeginQuery();
}

void
se_table_writer_end_row(SeTableWriter *writer)
{
	if (writer->target->ri_TrigDesc)
		AfterTriggerEndQuery(writer->estate);
	se_table_writer_nowhere(writer);
	ExecClearTuple(writer->slot);
	ResetPerTupleExprContext(writer->estate);
}

void
se_table_writer_close(SeTableWriter *writer, int64 *written, int64 *not_taken, int64 *growth)
{
	EState	   *estate = writer->estate;
	MemoryContext old = MemoryContextSwitchTo(estate->es_query_cxt);

	se_table_writer_flush(writer);
	fire_statement_triggers(writer, false);
	AfterTriggerEndQuery(estate);
	MemoryContextSwitchTo(old);
	*written = writer->written;
	*not_taken = writer->not_taken;
	*growth = writer->growth;
	if (writer->upsert)
		se_table_upsert_close(writer);
	for (int i = 0; writer->batch && i < SE_WRITER_BATCH_ROWS && writer->batch[i]; i++)
		ExecDropSingleTupleTableSlot(writer->batch[i]);
	EvalPlanQualEnd(&writer->epqstate);
	/* Indexes, and tables that cascading triggers opened. */
	ExecCloseResultRelations(estate);
	ExecResetTupleTable(estate->es_tupleTable, false);
	table_close(writer->table, NoLock);
	PopActiveSnapshot();
	FreeExecutorState(estate);
}

/* Let a slot of the table hold a new row: the result's columns, then defaults or NULL. */
void
se_table_writer_fill_new(SeTableWriter *writer, TupleTableSlot *slot,
						 const Datum *values, const bool *nulls)
{
	int			natts = slot->tts_tupleDescriptor->natts;
	ExprContext *econtext = GetPerTupleExprContext(writer->estate);

	ExecClearTuple(slot);
	memcpy(slot->tts_values, values, sizeof(Datum) * writer->ncolumns);
	memcpy(slot->tts_isnull, nulls, sizeof(bool) * writer->ncolumns);
	for (int i = writer->ncolumns; i < natts; i++)
	{
		slot->tts_values[i] = (Datum) 0;
		slot->tts_isnull[i] = true;
	}
	for (int i = 0; i < writer->ndefaults; i++)
	{
		SeAddedDefault *added = &writer->defaults[i];

		slot->tts_values[added->column] =
			ExecEvalExprSwitchContext(added->state, econtext, &slot->tts_isnull[added->column]);
	}
	ExecStoreVirtualTuple(slot);
}

/* Insert what writer->slot holds, with triggers and all. */
void
se_table_writer_insert_now(SeTableWriter *writer)
{
	EState	   *estate = writer->estate;

	ItemPointerSetInvalid(&writer->slot->tts_tid);
	ExecSimpleRelationInsert(writer->target, estate, writer->slot);

	/* A BEFORE trigger that returns NULL leaves no trace but this. */
	if (ItemPointerIsValid(&writer->slot->tts_tid))
	{
		writer->written++;
		writer->growth++;
	}
	else
		writer->not_taken++;
	SE_FAULT_POINT("sink-insert");
}

/* Raise if the table no longer has the result's columns. */
static void
check_columns(Relation table, TupleDesc input)
{
	TupleDesc	desc = RelationGetDescr(table);

	if (table->rd_rel->relkind != RELKIND_RELATION)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not an ordinary table", RelationGetRelationName(table))));
	for (int i = 0; i < input->natts; i++)
	{
		Form_pg_attribute want = TupleDescAttr(input, i);
		Form_pg_attribute have = i < desc->natts ? TupleDescAttr(desc, i) : NULL;

		if (have == NULL || have->attisdropped)
			ereport(ERROR,
					(errcode(ERRCODE_UNDEFINED_COLUMN),
					 errmsg("column %d of the result \"%s\" was dropped",
							i + 1, RelationGetRelationName(table)),
					 errhint("Drop the continuous view and create it again.")));
		if (have->atttypid != want->atttypid)
			ereport(ERROR,
					(errcode(ERRCODE_DATATYPE_MISMATCH),
					 errmsg("column \"%s\" of the result \"%s\" has changed its type",
							NameStr(have->attname), RelationGetRelationName(table)),
					 errdetail("The query gives %s, the table takes %s.",
							   format_type_be(want->atttypid), format_type_be(have->atttypid)),
					 errhint("Change the type back, or drop the continuous view and create it again.")));
	}
}

/*
 * Raise for triggers whose promise could not be kept. CREATE TRIGGER refuses them; but a
 * table that came out of a dump was an ordinary one until its view was resumed.
 */
static void
check_triggers(Relation table)
{
	TriggerDesc *desc = table->trigdesc;

	for (int i = 0; desc && i < desc->numtriggers; i++)
	{
		Trigger    *trigger = &desc->triggers[i];

		if (trigger->tginitdeferred)
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("constraint \"%s\" of the result \"%s\" is initially deferred",
							get_constraint_name(trigger->tgconstraint), RelationGetRelationName(table)),
					 errdetail("Results are written in a restricted operation, in which nothing can be deferred."),
					 errhint("Use ALTER TABLE ... ALTER CONSTRAINT ... INITIALLY IMMEDIATE.")));
		if (trigger->tgoldtable || trigger->tgnewtable)
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("trigger \"%s\" of the result \"%s\" uses transition tables",
							trigger->tgname, RelationGetRelationName(table)),
					 errhint("Use a row trigger.")));
	}
}

/* The columns a user added that have a default; generated ones are computed by core. */
static void
init_defaults(SeTableWriter *writer)
{
	TupleDesc	desc = RelationGetDescr(writer->table);

	writer->defaults = palloc(sizeof(SeAddedDefault) * Max(desc->natts, 1));
	for (int i = writer->ncolumns; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);
		Expr	   *expr;

		if (att->attisdropped || att->attgenerated)
			continue;
		expr = (Expr *) build_column_default(writer->table, i + 1);
		if (expr == NULL)
			continue;
		writer->defaults[writer->ndefaults].column = i;
		writer->defaults[writer->ndefaults++].state = ExecInitExpr(expression_planner(expr), NULL);
	}
}

/* As for one INSERT per commit; of an updating result as for INSERT ON CONFLICT and DELETE. */
static void
fire_statement_triggers(SeTableWriter *writer, bool before)
{
	EState	   *estate = writer->estate;
	ResultRelInfo *target = writer->target;

	if (before)
	{
		ExecBSInsertTriggers(estate, target);
		if (writer->upsert)
		{
			ExecBSUpdateTriggers(estate, target);
			ExecBSDeleteTriggers(estate, target);
		}
	}
	else
	{
		if (writer->upsert)
		{
			ExecASDeleteTriggers(estate, target, NULL);
			ExecASUpdateTriggers(estate, target, NULL);
		}
		ExecASInsertTriggers(estate, target, NULL);
	}
}

/* Check a row and let it wait for others. */
static void
add_to_batch(SeTableWriter *writer, SePlace place, const Datum *values, const bool *nulls)
{
	EState	   *estate = writer->estate;
	TupleConstr *constr = writer->table->rd_att->constr;
	TupleTableSlot *slot;
	bool		should_free;
	HeapTuple	tuple;

	if (writer->batch[writer->nbatch] == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(estate->es_query_cxt);

		writer->batch[writer->nbatch] = table_slot_create(writer->table, NULL);
		MemoryContextSwitchTo(old);
	}
	slot = writer->batch[writer->nbatch];
	se_table_writer_fill_new(writer, slot, values, nulls);
	if (constr && constr->has_generated_stored)
		ExecComputeStoredGenerated(writer->target, estate, slot, CMD_INSERT);
	if (constr)
		ExecConstraints(writer->target, slot, estate);

	/* The values are the caller's only until it returns. */
	ExecMaterializeSlot(slot);
	tuple = ExecFetchSlotHeapTuple(slot, true, &should_free);
	writer->batch_bytes += tuple->t_len;
	if (should_free)
		heap_freetuple(tuple);
	writer->batch_places[writer->nbatch++] = place;
	ResetPerTupleExprContext(estate);

	if (writer->nbatch == SE_WRITER_BATCH_ROWS || writer->batch_bytes >= SE_WRITER_BATCH_BYTES)
		se_table_writer_flush(writer);
}

/* Insert the waiting rows and their index entries. */
void
se_table_writer_flush(SeTableWriter *writer)
{
	EState	   *estate = writer->estate;
	CommandId	cid = GetCurrentCommandId(true);
	MemoryContext old;

	if (writer->nbatch == 0)
		return;
	se_table_writer_nowhere(writer);

	/* What inserting allocates per row is gone with the per-tuple memory. */
	old = MemoryContextSwitchTo(GetPerTupleMemoryContext(estate));
	table_multi_insert(writer->table, writer->batch, writer->nbatch, cid, 0, NULL);
	MemoryContextSwitchTo(old);

	for (int i = 0; i < writer->nbatch; i++)
	{
		TupleTableSlot *slot = writer->batch[i];

		if (writer->target->ri_NumIndices > 0)
		{
			slot_getallattrs(slot);
			se_table_writer_at(writer, writer->batch_places[i], slot->tts_values, slot->tts_isnull);
			se_compat_insert_index_tuples(writer->target, slot, estate);
			se_table_writer_nowhere(writer);
		}
		ExecClearTuple(slot);
		ResetPerTupleExprContext(estate);
	}
	writer->written += writer->nbatch;
	writer->growth += writer->nbatch;
	writer->nbatch = 0;
	writer->batch_bytes = 0;
	SE_FAULT_POINT("sink-insert");
	CHECK_FOR_INTERRUPTS();
}
