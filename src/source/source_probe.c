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

#include "access/htup_details.h"
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
SE_FUNCTION_INFO_V1(stream_engine_test_start_at);
SE_FUNCTION_INFO_V1(stream_engine_test_source);
SE_FUNCTION_INFO_V1(stream_engine_test_source_end);

static SeLogSourceNode *probe_node(Oid stream);
static char *row_text(const SeBatch *batch, int row);
static SeTime read_all(Oid stream, StringInfo position, int capacity, bool reopen, ReturnSetInfo *out);
static void take_position(bytea *from, StringInfo position);
static void put_batch(ReturnSetInfo *out, int number, const SeBatch *batch);

static bytea *
position_bytes(const SeLogPosition *position)
{
	bytea	   *bytes = palloc(VARHDRSZ + sizeof(SeLogPosition));

	SET_VARSIZE(bytes, VARHDRSZ + sizeof(SeLogPosition));
	memcpy(VARDATA(bytes), position, sizeof(SeLogPosition));
	return bytes;
}

/* test_start_mark(stream regclass) → bytea: a mark of this transaction, as a position. */
Datum
stream_engine_test_start_mark(PG_FUNCTION_ARGS)
{
	uint64		xid = U64FromFullTransactionId(GetTopFullTransactionId());
	uint64		ordinal = se_append_next_ordinal();
	SeLogPosition position;
	XLogRecPtr	start;

	se_mark_write(SE_MARK_START, PG_GETARG_OID(0), xid, ordinal, NULL, 0, true, &start);
	se_position_at_mark(&position, start, xid, ordinal);
	PG_RETURN_BYTEA_P(position_bytes(&position));
}

/* test_start_at(lsn pg_lsn) → bytea: a position as of start = 'earliest', at any place. */
Datum
stream_engine_test_start_at(PG_FUNCTION_ARGS)
{
	SeLogPosition position;

	se_position_at_mark(&position, PG_GETARG_LSN(0), 0, 0);
	PG_RETURN_BYTEA_P(position_bytes(&position));
}

/*
 * test_source(stream regclass, "position" bytea, capacity int, reopen bool) → rows.
 * The last row has no place: it shows the watermark at the end.
 */
Datum
stream_engine_test_source(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *out = (ReturnSetInfo *) fcinfo->resultinfo;
	Datum		values[5] = {0};
	bool		nulls[5] = {true, true, true, false, true};
	StringInfoData position;

	InitMaterializedSRF(fcinfo, 0);
	take_position(PG_GETARG_BYTEA_PP(1), &position);
	values[3] = TimestampTzGetDatum(read_all(PG_GETARG_OID(0), &position, PG_GETARG_INT32(2),
											 PG_GETARG_BOOL(3), out));
	tuplestore_putvalues(out->setResult, out->setDesc, values, nulls);
	return (Datum) 0;
}

/* test_source_end(stream regclass, "position" bytea) → the position behind all there is. */
Datum
stream_engine_test_source_end(PG_FUNCTION_ARGS)
{
	TupleDesc	desc;
	StringInfoData position;
	SeLogPosition decoded;
	Datum		values[3];
	bool		nulls[3] = {false};

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	take_position(PG_GETARG_BYTEA_PP(1), &position);
	(void) read_all(PG_GETARG_OID(0), &position, 256, false, NULL);
	se_position_decode(position.data, position.len, &decoded);
	values[0] = PointerGetDatum(position_bytes(&decoded));
	values[1] = LSNGetDatum(decoded.restart_lsn);
	values[2] = LSNGetDatum(decoded.commit_lsn);
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls));
}

static void
take_position(bytea *from, StringInfo position)
{
	initStringInfo(position);
	appendBinaryStringInfo(position, VARDATA_ANY(from), VARSIZE_ANY_EXHDR(from));
}

/*
 * Read from *position to the end, which *position is afterwards; rows go to out unless
 * that is NULL. Returns the watermark at the end.
 */
static SeTime
read_all(Oid stream, StringInfo position, int capacity, bool reopen, ReturnSetInfo *out)
{
	SeLogSourceNode *node = probe_node(stream);
	MemoryContext memory = AllocSetContextCreate(CurrentMemoryContext, "stream_engine probe",
												 ALLOCSET_DEFAULT_SIZES);
	SeBatch    *batch = se_batch_new(CurrentMemoryContext, node->node.desc, capacity);
	SeSource   *source = NULL;
	SePollResult result;
	int			number = 0;

	se_retention_flush_all();
	do
	{
		if (source == NULL)
		{
			source = se_log_source_new(node, memory);
			source->ops->open(source, position->data, position->len);
		}
		se_batch_reset(batch);
		result = source->ops->poll(source, batch, GetActiveSnapshot());
		if (out != NULL)
			put_batch(out, number, batch);
		number += batch->nrows > 0;
		resetStringInfo(position);
		source->ops->position(source, position);
		if (reopen)
		{
			source->ops->close(source);
			source = NULL;
			MemoryContextReset(memory);
		}
		CHECK_FOR_INTERRUPTS();
	} while (result != SE_POLL_NOTHING);
	if (source != NULL)
		source->ops->close(source);
	return batch->wm_end;
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
	se_compat_finish_desc(node->node.desc);
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
	if (batch->tick != SE_TIME_MIN)
	{
		Datum		values[5] = {0};
		bool		nulls[5] = {true, true, false, false, false};

		values[2] = TimestampTzGetDatum(batch->tick);
		values[3] = TimestampTzGetDatum(batch->wm_end);
		values[4] = CStringGetTextDatum("tick");
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
