/*
 * operators/net_rows.c
 *		Rows of a result that changes, kept until the commit: one per group, the newest.
 */
#include "postgres.h"

#include "base/compat.h"
#include "operators/net_rows.h"
#include "state/value.h"
#include "utils/memutils.h"

/* Rows of a batch. */
#define BATCH_ROWS 256

/* What waits here at most: rows, and bytes of values, those of rows that were replaced included. */
#define MOST_ROWS 100000
#define MOST_BYTES (32 * 1024 * 1024)

static SeBatch *batch_of(SeNetRows *net, uint32 row);
static Datum copy_value(SeNetRows *net, MemoryContext to, Datum value, int typlen);

void
se_net_rows_init(SeNetRows *net, SeOperator *op)
{
	net->op = op;
	net->memory = AllocSetContextCreate(CurrentMemoryContext, "stream_engine changed rows", ALLOCSET_DEFAULT_SIZES);
	net->flush = 1;
}

void
se_net_rows_put(SeNetRows *net, SeNetRef *ref, SeRowKind kind, SeTime event_time,
				const Datum *values, const bool *nulls)
{
	bool		replaces = ref->flush == net->flush;
	SeBatch    *batch;
	int			row;
	Datum	   *to;

	if (net->nrows >= MOST_ROWS || net->bytes >= MOST_BYTES)
	{
		se_net_rows_flush(net);
		replaces = false;
	}
	if (!replaces)
	{
		ref->flush = net->flush;
		ref->row = net->nrows++;
	}

	batch = batch_of(net, ref->row);
	row = ref->row % BATCH_ROWS;
	to = se_batch_values(batch, row);
	memcpy(se_batch_nulls(batch, row), nulls, batch->ncolumns * sizeof(bool));
	for (int c = 0; c < batch->ncolumns; c++)
	{
		Form_pg_attribute attr = TupleDescAttr(batch->desc, c);

		to[c] = nulls[c] || attr->attbyval ? values[c] :
			copy_value(net, batch->arena, values[c], attr->attlen);
	}

	/* Nobody has seen the older one: whether the group is new is as it was. */
	if (!replaces)
	{
		batch->kinds[row] = kind;
		batch->nrows = row + 1;
	}
	batch->event_time[row] = event_time;
	batch->places[row] = (SePlace)
	{
		0, 0
	};
}

/* The batch of a row; a new one when the row is the first of it. */
static SeBatch *
batch_of(SeNetRows *net, uint32 row)
{
	int			number = (int) (row / BATCH_ROWS);
	MemoryContext old;

	if (number < net->nbatches)
		return net->batches[number];
	old = MemoryContextSwitchTo(net->memory);
	if (net->nbatches == net->max_batches)
	{
		net->max_batches = Max(16, 2 * net->max_batches);
		net->batches = net->batches == NULL ? palloc(net->max_batches * sizeof(SeBatch *)) :
			repalloc(net->batches, net->max_batches * sizeof(SeBatch *));
	}
	net->batches[net->nbatches] = se_batch_new(net->memory, net->op->out_desc, BATCH_ROWS);
	MemoryContextSwitchTo(old);
	return net->batches[net->nbatches++];
}

/* Garbage goes to the current context. */
static Datum
copy_value(SeNetRows *net, MemoryContext to, Datum value, int typlen)
{
	Size		size;
	void	   *copy;

	value = se_value_flat(value, false, typlen);
	size = se_value_size(value, typlen);
	copy = MemoryContextAllocHuge(to, size);
	net->bytes += size;
	memcpy(copy, DatumGetPointer(value), size);
	return PointerGetDatum(copy);
}

void
se_net_rows_flush(SeNetRows *net)
{
	SeOperatorEnv *env = net->op->env;
	const SeBatch *current = env->current_batch;
	int			current_row = env->current_row;

	if (net->nrows == 0)
		return;
	for (int i = 0; i < net->nbatches; i++)
	{
		SeBatch    *batch = net->batches[i];

		for (int row = 0; row < batch->nrows; row++)
			batch->wm[row] = net->op->watermark_out;
		batch->wm_end = net->op->watermark_out;
		batch->append_only = false;
		se_op_emit(net->op, batch);
	}
	env->current_batch = current;
	env->current_row = current_row;
	net->flush++;
	net->nrows = 0;
	net->bytes = 0;

	/* The first is used again, the others are many only now and then. */
	if (net->nbatches == 1)
		se_batch_reset(net->batches[0]);
	else
	{
		MemoryContextReset(net->memory);
		net->batches = NULL;
		net->nbatches = net->max_batches = 0;
	}
}
