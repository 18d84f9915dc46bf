/*
 * source/log_source_rows.c
 *		Rows of a message into a batch, with their stamps; and rows of the last batch had whole.
 *
 * Rows are not copied: by-reference values point into the message, which the reader
 * keeps until it is asked for the next one. So a batch ends with a large message. Small
 * ones (many transactions of one row) are copied into the batch's arena, so that a batch
 * spans many of them; if no wanted column is by reference, nothing needs to be kept.
 *
 * Runs in: task worker, in a round. Memory: the source's; one context per transaction
 * for layouts it brought along.
 */
#include "postgres.h"

#include "access/table.h"
#include "base/compat.h"
#include "base/fault.h"
#include "catalog/pg_type.h"
#include "flow/guard.h"
#include "funcapi.h"
#include "log/row_bytes.h"
#include "source/log_source_internal.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

/* A message up to this size is copied rather than ending the batch. */
#define COPY_BELOW (8 * 1024)

/* Rows on their way into a batch. */
typedef struct Taking
{
	SeLogSource *log;
	SeBatch    *batch;
	const char *cursor;			/* behind the row at work */
	const char *end;
	bool		direct;			/* they are unpacked where they belong */
	bool		wrong;
} Taking;

static int	want(SeLogSource *log, AttrNumber attno);
static void prepare_whole_rows(SeLogSource *log, Relation stream);
static void take_some(void *arg);
static void leave_out_row(void *arg);
static void keep_row(SeLogSource *log, const SeBatch *batch, int row, const char *bytes, const char *end);
static void stamp(SeLogSource *log, SeBatch *batch, int row, const Datum *values, const bool *nulls, bool passed);
static void make_column(SeLogSource *log, SeBatch *batch, int row, int column, bool passed);
static void next_row(SeLogSource *log);
static bool is_left_out(SeLogSource *log, SePlace place);
static SeLogUnpack *make_unpack(SeLogSource *log, MemoryContext memory, const SeLayout *layout, List *layouts);

/* Decide what to unpack: the node's columns in their order, then those of the stamps. */
void
se_log_source_find_columns(SeLogSource *log, Relation stream)
{
	TupleDesc	desc = log->source.desc;

	log->wanted = palloc0(sizeof(AttrNumber) * (desc->natts + RelationGetDescr(stream)->natts + 1));
	for (int i = 0; i < desc->natts; i++)
	{
		AttrNumber	attno = log->node->attnos[i];

		log->wanted[log->nwanted++] = attno > 0 ? attno : 0;
		log->by_reference |= attno > 0 && !TupleDescAttr(desc, i)->attbyval;
		if (attno < 0)
			log->made_columns = lappend_int(log->made_columns, i);
	}
	log->event_time = log->node->event_time == 0 || log->node->by_proctime ? -1 :
		want(log, log->node->event_time);
	log->info = se_stream_info(log->node->stream);
	log->source.tick_interval = se_log_source_clock_matters(log) ? SE_TICK_FINEST : 0;
	log->watermark = log->node->by_proctime ? NULL : se_watermark_new(stream);
	if (log->watermark != NULL)
	{
		ListCell   *cell;

		foreach(cell, se_watermark_columns(log->watermark))
			(void) want(log, lfirst_int(cell));
		se_watermark_bind(log->watermark, log->wanted, log->nwanted);
	}
	if (log->source.keep_rows)
		prepare_whole_rows(log, stream);
	log->values = palloc0(sizeof(Datum) * Max(log->nwanted, 1));
	log->nulls = palloc0(sizeof(bool) * Max(log->nwanted, 1));
}

/* The index of a column in wanted, added if need be. */
static int
want(SeLogSource *log, AttrNumber attno)
{
	for (int i = 0; i < log->nwanted; i++)
		if (log->wanted[i] == attno)
			return i;
	log->wanted[log->nwanted] = attno;
	return log->nwanted++;
}

/*
 * Rows will be asked for whole: their bytes must stay where they are until the next poll. Their type is one of its
 * own, since they may wait for a commit while that of the stream is altered.
 */
static void
prepare_whole_rows(SeLogSource *log, Relation stream)
{
	TupleDesc	desc = CreateTupleDescCopy(RelationGetDescr(stream));

	desc->tdtypeid = RECORDOID;
	desc->tdtypmod = -1;
	log->by_reference = true;
	log->whole_desc = BlessTupleDesc(desc);
	log->whole_attnos = palloc0(sizeof(AttrNumber) * Max(desc->natts, 1));
	log->whole_values = palloc0(sizeof(Datum) * Max(desc->natts, 1));
	log->whole_nulls = palloc0(sizeof(bool) * Max(desc->natts, 1));
	log->whole_memory = AllocSetContextCreate(CurrentMemoryContext, "stream_engine whole row", ALLOCSET_SMALL_SIZES);
	for (int i = 0; i < desc->natts; i++)
	{
		log->whole_nulls[i] = true;
		if (se_compat_attr_is_stored(TupleDescAttr(RelationGetDescr(stream), i)))
			log->whole_attnos[i] = i + 1;
	}
	log->max_kept = 1;
	log->kept = palloc(sizeof(SeLogKeptRow));
}

/* The way to take apart rows of a layout, made when its first row comes. */
const SeLogUnpack *
se_log_source_unpack(SeLogSource *log, uint32 id)
{
	bool		sent = (id & SE_LAYOUT_IN_TRANSACTION) != 0;
	MemoryContext old;
	List	   *layouts;
	ListCell   *lc;

	foreach(lc, sent ? log->sent_unpacks : log->unpacks)
	{
		SeLogUnpack *unpack = lfirst(lc);

		if (unpack->layout == id)
			return unpack;
	}

	/* DDL may have stored it since; layouts are few and each is looked up once. */
	old = MemoryContextSwitchTo(log->source.memory);
	layouts = sent ? NIL : se_layout_list(log->node->stream);
	foreach(lc, layouts)
	{
		SeLayout   *layout = lfirst(lc);

		if (layout->id != id)
			continue;
		log->unpacks = lappend(log->unpacks, make_unpack(log, log->source.memory, layout, layouts));
		MemoryContextSwitchTo(old);
		return llast(log->unpacks);
	}
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("rows of a stream have an unknown layout"),
			 errdetail("Their message names layout %u.", id & ~SE_LAYOUT_IN_TRANSACTION)));
}


static SeLogUnpack *
make_unpack(SeLogSource *log, MemoryContext memory, const SeLayout *layout, List *layouts)
{
	SeLogUnpack *unpack = MemoryContextAlloc(memory, sizeof(SeLogUnpack));
	Relation	stream = table_open(log->node->stream, AccessShareLock);

	unpack->layout = layout->id;
	unpack->unpacker = se_row_unpacker_new(memory, layout, layouts, RelationGetDescr(stream),
										   log->wanted, log->nwanted);
	unpack->whole = log->kept == NULL ? NULL :
		se_row_unpacker_new(memory, layout, layouts, RelationGetDescr(stream),
							log->whole_attnos, log->whole_desc->natts);
	table_close(stream, NoLock);
	return unpack;
}

/* A layout that came with the transaction. */
void
se_log_source_take_layout(SeLogSource *log)
{
	MemoryContext old = MemoryContextSwitchTo(log->sent_memory);
	SeLayout   *layout = se_layout_decode(log->message.body, log->message.header.body_len);

	layout->id = log->message.header.layout;
	log->sent_unpacks = lappend(log->sent_unpacks,
								make_unpack(log, log->sent_memory, layout, se_layout_list(layout->relation)));
	MemoryContextSwitchTo(old);
}

/* Rows of the current message into the batch, until one of them is at its end. */
void
se_log_source_take_rows(SeLogSource *log, SeBatch *batch)
{
	SeOperatorEnv *env = log->source.env;
	Size		left = log->end - log->cursor;
	const char *bytes = log->cursor;
	Taking		taking;
	MemoryContext old = CurrentMemoryContext;

	/* Converted values belong to the batch. */
	if (se_row_unpacker_converts(log->unpack->unpacker))
		MemoryContextSwitchTo(batch->arena);
	if (log->by_reference && left <= COPY_BELOW)
	{
		char	   *copy = MemoryContextAlloc(batch->arena, left);

		memcpy(copy, log->cursor, left);
		bytes = copy;
	}
	else if (log->by_reference)
		log->borrowed = true;
	/* A layout that came with a transaction goes with it. */
	if (log->kept != NULL && (log->unpack->layout & SE_LAYOUT_IN_TRANSACTION) != 0)
		log->borrowed = true;

	taking.log = log;
	taking.batch = batch;
	taking.cursor = bytes;
	taking.end = bytes + left;
	taking.direct = log->nwanted == batch->ncolumns;
	taking.wrong = SE_FAULT_WRONG("wrong-row-skipped");
	se_guard_run(env, env != NULL && env->side != NULL && env->side->on_error != SE_ON_ERROR_STOP &&
				 log->watermark != NULL && !log->watermark->native,
				 take_some, leave_out_row, &taking);
	MemoryContextSwitchTo(old);
	log->cursor += taking.cursor - bytes;
	if (log->cursor >= log->end)
		se_log_source_end_message(log);
}

/* SeGuardBody: only the watermark expression can fail for a row, which then is the one behind the batch's last. */
static void
take_some(void *arg)
{
	Taking	   *taking = arg;
	SeLogSource *log = taking->log;
	SeBatch    *batch = taking->batch;
	int			ncolumns = batch->ncolumns;

	while (taking->cursor < taking->end && batch->nrows < batch->capacity)
	{
		int			row = batch->nrows;
		Datum	   *values = taking->direct ? se_batch_values(batch, row) : log->values;
		bool	   *nulls = taking->direct ? se_batch_nulls(batch, row) : log->nulls;
		const char *bytes = taking->cursor;

		se_row_unpack(log->unpack->unpacker, &taking->cursor, taking->end, values, nulls,
					  &batch->kinds[row]);
		if (!taking->direct)
		{
			memcpy(se_batch_values(batch, row), values, sizeof(Datum) * ncolumns);
			memcpy(se_batch_nulls(batch, row), nulls, sizeof(bool) * ncolumns);
		}
		if (taking->wrong && ++log->rows % 97 == 0)
		{
			next_row(log);
			continue;
		}
		batch->places[row].major = log->commit_lsn;
		batch->places[row].minor = log->next_ordinal;
		if (log->kept != NULL)
			keep_row(log, batch, row, bytes, taking->end);
		stamp(log, batch, row, values, nulls, se_row_is_passed(bytes));
		next_row(log);
		batch->nrows++;
	}
	/* The owner of the stream and its settings must not outlive a subtransaction. */
	if (log->watermark != NULL)
		se_watermark_unpin(log->watermark);
}

/* The watermark expression failed for the row behind the batch's last: it is not delivered, and asserts nothing. */
static void
leave_out_row(void *arg)
{
	Taking	   *taking = arg;

	se_watermark_recover(taking->log->watermark);
	taking->log->source.row_at_work = 0;
	next_row(taking->log);
}

/* Event time, watermark before the row, place and proctime; then the row's own effect on H. */
static void
stamp(SeLogSource *log, SeBatch *batch, int row, const Datum *values, const bool *nulls, bool passed)
{
	ListCell   *lc;

	if (batch->kinds[row] != SE_ROW_INSERT)
		batch->append_only = false;
	batch->wm[row] = log->h;
	if (log->node->by_proctime)
		batch->event_time[row] = log->proctime;
	else
		batch->event_time[row] = log->event_time < 0 || nulls[log->event_time] ?
			SE_TIME_MIN : DatumGetInt64(values[log->event_time]);
	foreach(lc, log->made_columns)
		make_column(log, batch, row, lfirst_int(lc), passed);
	if (passed && !SE_FAULT_WRONG("wrong-passed-row-moves-watermark"))
		return;
	if (log->watermark != NULL && !is_left_out(log, batch->places[row]))
	{
		log->source.row_at_work = row + 1;
		if (log->source.env != NULL && !log->watermark->native)
		{
			log->source.env->current_batch = batch;
			log->source.env->current_row = row;
		}
		log->h = Max(log->h, se_watermark_of_row(log->watermark, values, nulls));
		log->source.row_at_work = 0;
	}
}

/* A column of the batch that the stream does not have. */
static void
make_column(SeLogSource *log, SeBatch *batch, int row, int column, bool passed)
{
	Datum	   *value = &se_batch_values(batch, row)[column];
	bool	   *isnull = &se_batch_nulls(batch, row)[column];

	*isnull = false;
	switch (log->node->attnos[column])
	{
		case SE_COLUMN_PROCTIME:
			*value = TimestampTzGetDatum(log->proctime);
			break;
		case SE_COLUMN_WATERMARK:
			*value = TimestampTzGetDatum(log->h);
			*isnull = log->h == SE_TIME_MIN;
			break;
		default:
			Assert(log->node->attnos[column] == SE_COLUMN_PASSED);
			*value = BoolGetDatum(passed);
			break;
	}
}

/* The row at the cursor is done. Behind the last one stands whatever comes after it. */
static inline void
next_row(SeLogSource *log)
{
	log->next_ordinal = ++log->row < log->message.header.nrows ?
		se_reader_row_ordinal(&log->message, log->row) : log->next_ordinal + 1;
}

/* Has a person told us to leave the row out? It may be the expression that fails for it. */
static inline bool
is_left_out(SeLogSource *log, SePlace place)
{
	ListCell   *cell;

	if (log->source.skip == NULL)
		return false;
	foreach(cell, *log->source.skip)
		if (se_place_compare(*(SePlace *) lfirst(cell), place) == 0)
		return true;
	return false;
}

/* Remember where the row is, should it be asked for whole. */
static void
keep_row(SeLogSource *log, const SeBatch *batch, int row, const char *bytes, const char *end)
{
	SeLogKeptRow *kept;

	/* A row whose watermark failed is not in the batch, and was asked for. */
	log->nkept = row;
	kept = &log->kept[log->nkept++];
	kept->place = batch->places[row];
	kept->arrived = log->message.commit_time;
	kept->unpack = log->unpack;
	kept->bytes = bytes;
	kept->end = end;
}


bool
se_log_source_row(SeSource *source, SePlace place, TupleDesc *desc, Datum **values, bool **nulls, TimestampTz *arrived)
{
	SeLogSource *log = (SeLogSource *) source;
	int			low = 0;
	int			high = log->nkept;
	const SeLogKeptRow *kept;
	const char *cursor;
	uint8		kind;
	MemoryContext old;

	while (low < high)
	{
		int			middle = (low + high) / 2;

		if (se_place_compare(log->kept[middle].place, place) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == log->nkept || se_place_compare(log->kept[low].place, place) != 0)
		return false;
	kept = &log->kept[low];
	cursor = kept->bytes;
	MemoryContextReset(log->whole_memory);
	old = MemoryContextSwitchTo(log->whole_memory);
	se_row_unpack(kept->unpack->whole, &cursor, kept->end, log->whole_values, log->whole_nulls, &kind);
	MemoryContextSwitchTo(old);
	*desc = log->whole_desc;
	*values = log->whole_values;
	*nulls = log->whole_nulls;
	*arrived = kept->arrived;
	return true;
}
