/*
 * source/source_probe.c
 *		Test builds only: what a job would get from a stream, as a SQL function.
 *
 * Shows batches, stamps and places without a job, so that tests can state I2 and I4:
 * the same rows with the same stamps whatever the batch size, and whatever the number
 * of times reading starts again from a stored position.
 *
 * Runs in: sessions of tests; sees what is flushed and visible to the statement.
 */
#include "postgres.h"

#ifdef SE_TEST_BUILD

#include "access/table.h"
#include "access/xact.h"
#include "base/compat.h"
#include "base/se.h"
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "log/append.h"
#include "log/position.h"
#include "log/retention.h"
#include "log/stream.h"
#include "source/source.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/pg_lsn.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

SE_FUNCTION_INFO_V1(stream_engine_test_start_mark);
SE_FUNCTION_INFO_V1(stream_engine_test_source);

static SeLogSourceNode *probe_node(Oid stream);
static char *row_text(const SeBatch *batch, int row);
static void put_batch(ReturnSetInfo *out, int number, const SeBatch *batch);

/* test_start_mark(stream regclass) → bytea: a mark of this transaction, as a position. */
Datum
stream_engine_test_start_mark(PG_FUNCTION_ARGS)
{
	Oid			stream = PG_GETARG_OID(0);
	uint64		xid = U64FromFullTransactionId(GetTopFullTransactionId());
	uint64		ordinal = se_append_next_ordinal();
	bytea	   *result = palloc(VARHDRSZ + sizeof(SeLogPosition));
	SeLogPosition position;
	XLogRecPtr	start;

	se_mark_write(SE_MARK_START, stream, xid, ordinal, NULL, 0, true, &start);
	se_position_at_mark(&position, start, xid, ordinal);
	SET_VARSIZE(result, VARHDRSZ + sizeof(SeLogPosition));
	memcpy(VARDATA(result), &position, sizeof(SeLogPosition));
	PG_RETURN_BYTEA_P(result);
}

/*
 * test_source(stream regclass, "position" bytea, capacity int, reopen bool) → rows.
 * The last row has no place: it shows the watermark at the end.
 */
Datum
stream_engine_test_source(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *out = (ReturnSetInfo *) fcinfo->resultinfo;
	SeLogSourceNode *node = probe_node(PG_GETARG_OID(0));
	bytea	   *position = PG_GETARG_BYTEA_PP(1);
	bool		reopen = PG_GETARG_BOOL(3);
	MemoryContext memory;
	StringInfoData from;
	SeSource   *source = NULL;
	SeBatch    *batch;
	SePollResult result;
	int			number = 0;

	InitMaterializedSRF(fcinfo, 0);
	se_retention_flush_all();
	batch = se_batch_new(CurrentMemoryContext, node->node.desc, PG_GETARG_INT32(2));
	initStringInfo(&from);
	appendBinaryStringInfo(&from, VARDATA_ANY(position), VARSIZE_ANY_EXHDR(position));
	memory = AllocSetContextCreate(CurrentMemoryContext, "stream_engine probe", ALLOCSET_DEFAULT_SIZES);
	do
	{
		if (source == NULL)
		{
			source = se_log_source_new(node, memory);
			source->ops->open(source, from.data, from.len);
		}
		se_batch_reset(batch);
		result = source->ops->poll(source, batch, GetActiveSnapshot());
		put_batch(out, number, batch);
		number += batch->nrows > 0;
		resetStringInfo(&from);
		source->ops->position(source, &from);
		if (reopen)
		{
			source->ops->close(source);
			source = NULL;
			MemoryContextReset(memory);
		}
		CHECK_FOR_INTERRUPTS();
	} while (result != SE_POLL_NOTHING);

	{
		Datum		values[5] = {Int32GetDatum(number), 0, 0, TimestampTzGetDatum(batch->wm_end), 0};
		bool		nulls[5] = {false, true, true, false, true};

		tuplestore_putvalues(out->setResult, out->setDesc, values, nulls);
	}
	if (source != NULL)
		source->ops->close(source);
	return (Datum) 0;
}

/* A source node for all columns of a stream and proctime(). */
static SeLogSourceNode *
probe_node(Oid stream)
{
	Relation	relation = table_open(stream, AccessShareLock);
	TupleDesc	desc = RelationGetDescr(relation);
	SeStreamInfo *info = se_stream_info(stream);
	SeLogSourceNode *node = palloc0(sizeof(SeLogSourceNode));
	int			n = 0;

	node->attnos = palloc(sizeof(AttrNumber) * (desc->natts + 1));
	for (int i = 0; i < desc->natts; i++)
		if (se_compat_attr_is_stored(TupleDescAttr(desc, i)))
			node->attnos[n++] = i + 1;
	node->attnos[n] = SE_COLUMN_PROCTIME;

	node->node.kind = SE_NODE_LOG_SOURCE;
	node->node.desc = CreateTemplateTupleDesc(n + 1);
	for (int i = 0; i < n; i++)
		TupleDescCopyEntry(node->node.desc, i + 1, desc, node->attnos[i]);
	TupleDescInitEntry(node->node.desc, n + 1, "proctime", TIMESTAMPTZOID, -1, 0);
	node->stream = stream;
	node->event_time = info->event_time;
	node->event_time_type = info->event_time_type;
	table_close(relation, NoLock);
	return node;
}

static void
put_batch(ReturnSetInfo *out, int number, const SeBatch *batch)
{
	for (int row = 0; row < batch->nrows; row++)
	{
		Datum		values[5];
		bool		nulls[5] = {false};

		values[0] = Int32GetDatum(number);
		values[1] = CStringGetTextDatum(se_place_describe(batch->places[row]));
		values[2] = TimestampTzGetDatum(batch->event_time[row]);
		values[3] = TimestampTzGetDatum(batch->wm[row]);
		values[4] = CStringGetTextDatum(row_text(batch, row));
		tuplestore_putvalues(out->setResult, out->setDesc, values, nulls);
	}
}

/* All columns but proctime, joined by a bar. */
static char *
row_text(const SeBatch *batch, int row)
{
	StringInfoData text;

	initStringInfo(&text);
	for (int i = 0; i < batch->ncolumns - 1; i++)
	{
		Oid			output;
		bool		is_varlena;

		if (i > 0)
			appendStringInfoChar(&text, '|');
		if (se_batch_nulls(batch, row)[i])
			continue;
		getTypeOutputInfo(TupleDescAttr(batch->desc, i)->atttypid, &output, &is_varlena);
		appendStringInfoString(&text, OidOutputFunctionCall(output, se_batch_values(batch, row)[i]));
	}
	return text.data;
}

#endif							/* SE_TEST_BUILD */
