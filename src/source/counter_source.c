/*
 * source/counter_source.c
 *		Test builds only: rows 1, 2, 3 … in the place of a stream, with a number as position.
 *
 * Shows that nobody outside a source takes a position for a place in the WAL: jobs
 * commit, restore, restart, show and skip by it, and the replication slot does not wait
 * for it. While the switch "counter-source" is on (base/fault.h), every job that starts
 * reads this instead of its stream. It makes ROWS rows: columns of type int4 and int8
 * hold the row's number n, the event time is n milliseconds after the epoch (of
 * PostgreSQL), other columns are NULL; the watermark follows the event time.
 *
 *	offset size	position
 *	0	1	tag: SE_POSITION_TAG_COUNTER
 *	1	5	digits: rows delivered, as text
 *
 * A first position is of the log (CREATE makes one before any source runs): it
 * means 0 here.
 */
#include "postgres.h"

#ifdef SE_TEST_BUILD

#include "access/xlog.h"
#include "base/fault.h"
#include "base/database_slot.h"
#include "catalog/pg_type.h"
#include "log/position.h"
#include "miscadmin.h"
#include "source/source.h"

#define ROWS 50000
#define DIGITS 5

typedef struct CounterSource
{
	SeSource	source;			/* base */
	const SeLogSourceNode *node;
	int			n;				/* rows delivered */
	XLogRecPtr	ended_at;		/* WAL there was when the last row was known to be out */
} CounterSource;

static SeTime
time_of(int n)
{
	return n == 0 ? SE_TIME_MIN : (SeTime) n * 1000;
}

static int
number_in(const void *position, Size len)
{
	const char *digits = (const char *) position + 1;
	int			n = 0;

	if (len > 0 && *(const uint8 *) position == SE_POSITION_TAG_LOG)
		return 0;
	if (len != 1 + DIGITS || *(const uint8 *) position != SE_POSITION_TAG_COUNTER)
		elog(ERROR, "not a position of the counter");
	for (int i = 0; i < DIGITS; i++)
		n = n * 10 + (digits[i] - '0');
	return n;
}

static void
counter_open(SeSource *source, const void *position, Size len)
{
	((CounterSource *) source)->n = number_in(position, len);
}

static void
put_row(CounterSource *counter, SeBatch *batch)
{
	int			row = batch->nrows++;
	int			n = ++counter->n;
	Datum	   *values = se_batch_values(batch, row);
	bool	   *nulls = se_batch_nulls(batch, row);

	for (int i = 0; i < batch->ncolumns; i++)
	{
		Oid			type = TupleDescAttr(batch->desc, i)->atttypid;

		nulls[i] = false;
		if (counter->node->event_time != 0 && counter->node->attnos[i] == counter->node->event_time)
			values[i] = Int64GetDatum(time_of(n));
		else if (type == INT4OID)
			values[i] = Int32GetDatum(n);
		else if (type == INT8OID)
			values[i] = Int64GetDatum(n);
		else
			nulls[i] = true;
	}
	batch->kinds[row] = SE_ROW_INSERT;
	batch->event_time[row] = counter->node->event_time == 0 ? SE_TIME_MIN : time_of(n);
	batch->wm[row] = time_of(n - 1);
	batch->places[row].major = n;
	batch->places[row].minor = 0;
}

/* It has no relation. */
static bool
counter_row(SeSource *source, SePlace place, TupleDesc *desc, Datum **values, bool **nulls, TimestampTz *arrived)
{
	return false;
}

static SePollResult
counter_poll(SeSource *source, SeBatch *batch, Snapshot snapshot)
{
	CounterSource *counter = (CounterSource *) source;

	SE_FAULT_POINT("counter-poll");
	batch->append_only = true;
	while (batch->nrows < batch->capacity && counter->n < ROWS)
		put_row(counter, batch);
	batch->wm_end = time_of(counter->n);
	if (batch->nrows > 0)
		return SE_POLL_ROWS;
	counter->ended_at = Max(GetFlushRecPtr(NULL), se_database_slot_announced_lsn(MyDatabaseId));
	return SE_POLL_NOTHING;
}

static void
counter_position(SeSource *source, StringInfo out)
{
	appendStringInfoChar(out, (char) SE_POSITION_TAG_COUNTER);
	appendStringInfo(out, "%0*d", DIGITS, ((CounterSource *) source)->n);
}

/* It meets no marks. */
static void
counter_pass_options(SeSource *source)
{
}

static void
counter_position_committed(SeSource *source)
{
}

static void
counter_status(SeSource *source, SeSourceStatus *status)
{
	CounterSource *counter = (CounterSource *) source;

	memset(status, 0, sizeof(SeSourceStatus));
	status->read_lsn = counter->ended_at;
	status->watermark = time_of(counter->n);
}

static char *
counter_describe(const void *position, Size len)
{
	return psprintf("row %d", number_in(position, len));
}

static XLogRecPtr
counter_needs_wal(const void *position, Size len)
{
	return PG_UINT64_MAX;
}

static void
counter_close(SeSource *source)
{
}

const SeSourceOps se_counter_source_ops = {
	.name = "counter",
	.open = counter_open,
	.poll = counter_poll,
	.row = counter_row,
	.position = counter_position,
	.pass_options = counter_pass_options,
	.position_committed = counter_position_committed,
	.status = counter_status,
	.describe = counter_describe,
	.needs_wal = counter_needs_wal,
	.close = counter_close,
};

SeSource *
se_counter_source_new(const SeLogSourceNode *node, MemoryContext memory)
{
	CounterSource *counter = MemoryContextAllocZero(memory, sizeof(CounterSource));

	counter->source.ops = &se_counter_source_ops;
	counter->source.node_id = node->node.id;
	counter->source.desc = node->node.desc;
	counter->source.memory = memory;
	counter->node = node;
	return &counter->source;
}

#endif							/* SE_TEST_BUILD */
