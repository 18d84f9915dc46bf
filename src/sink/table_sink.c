/*
 * sink/table_sink.c
 *		The sink of a continuous view: results wait here and go into its table at the commit.
 *
 * Runs in: task worker; push in a round, snapshot in the writing transaction (I5).
 *
 * Pending rows live in a tuplestore that outlasts transactions: memory first, then a
 * temporary file. When they are many the sink asks for a commit through
 * env->output_full. They are forgotten only in checkpoint_done. Each is stored with
 * its place in the source, so that an error of the table can name it, and its kind.
 *
 * A tuplestore remembers the resource owner it was made under and makes it current
 * while it opens files, so it gets one of its own that outlives every transaction.
 * Files kept over transactions are never registered with it.
 */
#include "postgres.h"

#include "sink/table_sink.h"

#include "access/detoast.h"
#include "base/compat.h"
#include "base/fault.h"
#include "base/job_slot.h"
#include "catalog/pg_type.h"
#include "common/int.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "sink/table_retire.h"
#include "sink/table_writer.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

/* Memory for pending rows before they go to a file, kB: what asks for a commit fits, a firing in one batch may not. */
#define PENDING_MEMORY	(64 * 1024)

/* More than this is given back when it was written. */
#define KEPT_BYTES		(2 * 1024 * 1024)

/* Pending rows and bytes at which the sink asks for a commit. */
#define FULL_ROWS		200000
#define FULL_BYTES		(64 * 1024 * 1024)

/* Rows that a commit deletes because they are too old; and twice as many as it writes. */
#define RETIRED_PER_COMMIT	5000

/* Columns of a stored row behind the result's. */
enum
{
	STORED_MAJOR,				/* its place */
	STORED_MINOR,
	STORED_KIND,
	STORED_COLUMNS
};

/* What a row takes beside its values by reference. */
#define ROW_OVERHEAD	48

typedef struct TableSink
{
	SeOperator	op;

	/* settings: never change */
	Oid			table;
	bool		upsert;
	List	   *key_columns;
	TupleDesc	input;
	int			retention_column;	/* the end of a row's window; -1 = rows stay for ever */
	int64		retention;
	int			nvarlena;
	int		   *varlena;		/* columns of variable length */

	/* pending rows */
	TupleDesc	stored_desc;	/* input, then place and kind */
	ResourceOwner owner;
	MemoryContext store_context;
	Tuplestorestate *store;
	int64		nrows;
	uint64		nbytes;
	Datum	   *values;			/* a row on its way into the store */
	bool	   *nulls;

	/* no row of the result has a window that ends before; SE_TIME_MIN = nobody has looked yet */
	SeTime		oldest;

	/* the commit in the making, for counters */
	int64		written;
	int64		not_taken;
	int64		retired;
} TableSink;

static void sink_push(SeOperator *op, int input, SeBatch *batch);
static void sink_watermark(SeOperator *op, int input, SeTime h);
static void sink_idle(SeOperator *op, int input, bool idle);
static void sink_timer(SeOperator *op, SeTime now);
static void sink_snapshot(SeOperator *op, SeSnapshotWriter *writer);
static void sink_checkpoint_done(SeOperator *op);
static void sink_end(SeOperator *op, int input);
static void sink_close(SeOperator *op);
static TupleDesc make_stored_desc(TupleDesc input);
static void begin_store(TableSink *sink);
static void put_row(TableSink *sink, const SeBatch *batch, int row);
static void write_pending(TableSink *sink, SeTableWriter *writer);
static void retire_rows(TableSink *sink, SeTableWriter *writer, int64 nrows);
static bool is_too_old(const TableSink *sink, SeTime end);
static void publish_pending(TableSink *sink);

static const SeOperatorOps table_sink_ops = {
	.name = "table sink",
	.push = sink_push,
	.watermark = sink_watermark,
	.idle = sink_idle,
	.timer = sink_timer,
	.snapshot = sink_snapshot,
	.checkpoint_done = sink_checkpoint_done,
	.end = sink_end,
	.close = sink_close
};

/* Make the sink; the table is looked at only when rows are written. */
SeOperator *
se_table_sink_new(const SeTableSinkNode *node, TupleDesc input, SeOperatorEnv *env)
{
	MemoryContext old = MemoryContextSwitchTo(env->memory);
	TableSink  *sink = palloc0(sizeof(TableSink));

	se_op_init(&sink->op, &table_sink_ops, node->node.id, 1, env, NULL);
	sink->table = node->table;
	sink->input = input;
	sink->key_columns = node->key_columns;
	sink->retention_column = node->retention_column;
	sink->retention = node->retention;
	sink->oldest = node->retention_column < 0 ? SE_TIME_MAX : SE_TIME_MIN;
	env->retire_at = sink->oldest;
	sink->upsert = ((SeNode *) linitial(node->node.inputs))->mode == SE_MODE_UPSERT;
	Assert(sink->upsert || node->key_columns == NIL);

	sink->varlena = palloc(sizeof(int) * Max(input->natts, 1));
	for (int i = 0; i < input->natts; i++)
		if (TupleDescAttr(input, i)->attlen == -1)
			sink->varlena[sink->nvarlena++] = i;
	sink->values = palloc(sizeof(Datum) * (input->natts + STORED_COLUMNS));
	sink->nulls = palloc0(sizeof(bool) * (input->natts + STORED_COLUMNS));

	sink->stored_desc = make_stored_desc(input);
	sink->owner = ResourceOwnerCreate(NULL, "stream_engine pending results");
	sink->store_context = AllocSetContextCreate(env->memory, "stream_engine pending results",
												ALLOCSET_DEFAULT_SIZES);
	begin_store(sink);

	MemoryContextSwitchTo(old);
	return &sink->op;
}

/* An empty store for pending rows; its files, if it comes to any, are the sink's own. */
static void
begin_store(TableSink *sink)
{
	ResourceOwner old_owner = CurrentResourceOwner;
	MemoryContext old = MemoryContextSwitchTo(sink->store_context);

	CurrentResourceOwner = sink->owner;
	sink->store = tuplestore_begin_heap(false, true, PENDING_MEMORY);
	CurrentResourceOwner = old_owner;
	MemoryContextSwitchTo(old);
}

/* Keep the rows until the commit. */
static void
sink_push(SeOperator *op, int input, SeBatch *batch)
{
	TableSink  *sink = (TableSink *) op;
	ResourceOwner old_owner = CurrentResourceOwner;

	if (!sink->upsert && !batch->append_only)
		elog(ERROR, "the table sink of an append-only result got changes");

	CurrentResourceOwner = sink->owner;
	PG_TRY();
	{
		for (int row = 0; row < batch->nrows; row++)
			put_row(sink, batch, row);
	}
	PG_FINALLY();
	{
		CurrentResourceOwner = old_owner;
	}
	PG_END_TRY();

	op->watermark_in = Max(op->watermark_in, batch->wm_end);
	if (sink->nrows >= FULL_ROWS || sink->nbytes >= FULL_BYTES || SE_FAULT_WRONG("sink-always-full"))
		op->env->output_full = true;
	publish_pending(sink);
}

static void
sink_watermark(SeOperator *op, int input, SeTime h)
{
	op->watermark_in = Max(op->watermark_in, h);
}

static void
sink_idle(SeOperator *op, int input, bool idle)
{
}

static void
sink_timer(SeOperator *op, SeTime now)
{
}

/* Write all pending rows; they stay here until the commit is known to have happened. */
static void
sink_snapshot(SeOperator *op, SeSnapshotWriter *state_writer)
{
	TableSink  *sink = (TableSink *) op;
	SeTableWriter *writer;
	MemoryContext old;
	int64		growth;

	sink->written = sink->not_taken = sink->retired = 0;
	if (sink->nrows == 0 && !is_too_old(sink, sink->oldest))
		return;
	SE_FAULT_POINT("sink-before-insert");

	writer = se_table_writer_open(op->env, sink->table, sink->input, sink->upsert, sink->key_columns);
	/* Triggers keep what they cache in the current context. */
	old = MemoryContextSwitchTo(writer->estate->es_query_cxt);
	write_pending(sink, writer);
	if (sink->retention_column >= 0)
		retire_rows(sink, writer, sink->nrows);
	MemoryContextSwitchTo(old);
	se_table_writer_close(writer, &sink->written, &sink->not_taken, &growth);
	op->env->result_rows += growth;
}

/* The rows are in the table and visible: forget them. */
static void
sink_checkpoint_done(SeOperator *op)
{
	TableSink  *sink = (TableSink *) op;

	if (sink->nbytes < KEPT_BYTES)
		tuplestore_clear(sink->store);
	else
	{
		tuplestore_end(sink->store);
		MemoryContextReset(sink->store_context);
		begin_store(sink);
	}
	sink->nrows = 0;
	sink->nbytes = 0;
	op->env->output_full = false;
	op->rows_out += sink->written;
	if (op->env->slot)
		pg_atomic_fetch_add_u64(&op->env->slot->counters[SE_COUNT_ROWS_NOT_TAKEN], sink->not_taken);
	if (op->env->slot)
		pg_atomic_fetch_add_u64(&op->env->slot->counters[SE_COUNT_ROWS_RETIRED], sink->retired);
	sink->written = sink->not_taken = sink->retired = 0;
	publish_pending(sink);
}

static void
sink_end(SeOperator *op, int input)
{
	op->ended = true;
}

static void
sink_close(SeOperator *op)
{
	TableSink  *sink = (TableSink *) op;

	if (sink->store)
		tuplestore_end(sink->store);
	sink->store = NULL;
	if (sink->owner)
		ResourceOwnerDelete(sink->owner);
	sink->owner = NULL;
}

static TupleDesc
make_stored_desc(TupleDesc input)
{
	TupleDesc	desc = CreateTemplateTupleDesc(input->natts + STORED_COLUMNS);

	for (int i = 1; i <= input->natts; i++)
		TupleDescCopyEntry(desc, i, input, i);
	TupleDescInitEntry(desc, input->natts + 1 + STORED_MAJOR, "major", INT8OID, -1, 0);
	TupleDescInitEntry(desc, input->natts + 1 + STORED_MINOR, "minor", INT8OID, -1, 0);
	TupleDescInitEntry(desc, input->natts + 1 + STORED_KIND, "kind", CHAROID, -1, 0);
	return se_compat_finish_desc(desc);
}

/* Copy a row of a batch into the store. */
static void
put_row(TableSink *sink, const SeBatch *batch, int row)
{
	int			ncolumns = sink->input->natts;
	Datum	   *values = sink->values;
	bool	   *nulls = sink->nulls;

	memcpy(values, se_batch_values(batch, row), sizeof(Datum) * ncolumns);
	memcpy(nulls, se_batch_nulls(batch, row), sizeof(bool) * ncolumns);
	values[ncolumns + STORED_MAJOR] = Int64GetDatum((int64) batch->places[row].major);
	values[ncolumns + STORED_MINOR] = Int64GetDatum((int64) batch->places[row].minor);
	values[ncolumns + STORED_KIND] = CharGetDatum(batch->append_only ? SE_ROW_INSERT : batch->kinds[row]);
	for (int i = 0; i < sink->nvarlena; i++)
	{
		int			column = sink->varlena[i];
		struct varlena *value = (struct varlena *) DatumGetPointer(values[column]);

		if (nulls[column])
			continue;
		/* What a value points to may be gone when this round's snapshot is. */
		if (VARATT_IS_EXTERNAL(value))
		{
			value = detoast_external_attr(value);
			values[column] = PointerGetDatum(value);
		}
		sink->nbytes += VARSIZE_ANY(value);
	}
	sink->nbytes += ROW_OVERHEAD + sizeof(Datum) * ncolumns;
	sink->nrows++;
	tuplestore_putvalues(sink->store, sink->stored_desc, values, nulls);
}

/* Give every pending row to the writer. */
static void
write_pending(TableSink *sink, SeTableWriter *writer)
{
	TupleTableSlot *stored = MakeSingleTupleTableSlot(sink->stored_desc, &TTSOpsMinimalTuple);
	int			ncolumns = sink->input->natts;
	int64		nread = 0;

	tuplestore_rescan(sink->store);
	while (tuplestore_gettupleslot(sink->store, true, false, stored))
	{
		Datum	   *values;
		bool	   *nulls;
		SePlace		place;

		slot_getallattrs(stored);
		values = stored->tts_values;
		nulls = stored->tts_isnull;
		place.major = (uint64) DatumGetInt64(values[ncolumns + STORED_MAJOR]);
		place.minor = (uint64) DatumGetInt64(values[ncolumns + STORED_MINOR]);
		if (sink->retention_column >= 0 && !nulls[sink->retention_column])
			sink->oldest = Min(sink->oldest, DatumGetTimestampTz(values[sink->retention_column]));
		if (sink->upsert)
			se_table_upsert_apply(writer, DatumGetChar(values[ncolumns + STORED_KIND]), place, values, nulls);
		else
		{
			se_table_writer_insert(writer, place, values, nulls);
			if (nread == 0 && SE_FAULT_WRONG("wrong-result-row-twice"))
				se_table_writer_insert(writer, place, values, nulls);
		}
		nread++;
		CHECK_FOR_INTERRUPTS();
	}
	ExecDropSingleTupleTableSlot(stored);
	if (nread != sink->nrows)
		elog(ERROR, "%lld of %lld pending result rows were found",
			 (long long) nread, (long long) sink->nrows);
}

/* Delete some of what is too old, and say when there will be more. */
static void
retire_rows(TableSink *sink, SeTableWriter *writer, int64 nrows)
{
	SeOperatorEnv *env = sink->op.env;

	if (is_too_old(sink, sink->oldest) && !SE_FAULT_WRONG("wrong-retention-keeps"))
	{
		SeTime		limit = env->final_to - (SE_FAULT_WRONG("wrong-retention-early") ? 0 : sink->retention);

		se_table_writer_flush(writer);
		sink->retired = se_table_retire(writer, sink->retention_column, limit,
										RETIRED_PER_COMMIT + 2 * nrows, &sink->oldest);
	}
	env->retire_at = sink->oldest;
	if (sink->oldest != SE_TIME_MIN && pg_add_s64_overflow(sink->oldest, sink->retention, &env->retire_at))
		env->retire_at = SE_TIME_MAX;
	env->commit_wanted |= is_too_old(sink, sink->oldest);
}

/* May a row be deleted whose window ends then? The end of the input is no time that passes. */
static bool
is_too_old(const TableSink *sink, SeTime end)
{
	SeTime		final_to = sink->op.env->final_to;
	SeTime		limit;

	return sink->retention_column >= 0 && final_to != SE_TIME_MIN && final_to != SE_TIME_MAX &&
		!pg_sub_s64_overflow(final_to, sink->retention, &limit) && end <= limit;
}

static void
publish_pending(TableSink *sink)
{
	if (sink->op.env->slot)
		pg_atomic_write_u64(&sink->op.env->slot->counters[SE_COUNT_PENDING_ROWS], sink->nrows);
}
