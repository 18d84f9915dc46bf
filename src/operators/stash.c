/*
 * operators/stash.c
 *		Input that came while a firing was cut short: kept in order, and part of the state.
 *
 * The source's position is behind these rows when the task commits inside a firing, so
 * they are saved whole with each such commit. There is little of it: the task polls no
 * source until the stash is empty.
 */
#include "postgres.h"

#include "operators/stash.h"
#include "state/key_group.h"
#include "utils/memutils.h"

/* Flags of the saved bytes. */
#define STASH_ENDED	1
#define STASH_WHOLE	2

static void write_text(StringInfo out, const char *text);
static SeStash *stash_of(SeOperator *op);
static bool is_busy(const SeStash *stash);
static bool go_on(SeStash *stash);
static void keep(SeStash *stash, const SeBatch *batch, int from);
static void keep_whole(SeStash *stash, SeBatch *to, const SeBatch *from, int first);
static void keep_row(SeBatch *to, const SeBatch *from, int row);
static bool is_left_out(SeStash *stash, const SeBatch *batch, int row);
static bool is_own(SeStash *stash, SeBatch *batch, int row);

void
se_stash_init(SeStash *stash, SeOperator *op, const SeStashOps *ops, TupleDesc input, SeKeys *keys,
			  SeMetaRecord *meta)
{
	Assert(stash == stash_of(op));
	stash->op = op;
	stash->ops = ops;
	stash->input = input;
	stash->keys = keys;
	stash->meta = meta;
	stash->watermark = SE_TIME_MIN;
	stash->memory = AllocSetContextCreate(CurrentMemoryContext, "stream_engine stash", ALLOCSET_SMALL_SIZES);
}

void
se_stash_push(SeOperator *op, int input, SeBatch *batch)
{
	SeStash    *stash = stash_of(op);
	int			done = 0;
	bool		free_to_go;

	stash->op->env->current_batch = NULL;	/* what fires first is no matter of the row that came */
	stash->op->watermark_in = Max(stash->op->watermark_in, batch->wm_end);
	free_to_go = !is_busy(stash) || go_on(stash);
	if (free_to_go)
	{
		done = stash->ops->take_rows(stash->op, batch, 0);
		free_to_go = done == batch->nrows && stash->ops->advance(stash->op, batch->wm_end);
	}
	if (!free_to_go)
		keep(stash, batch, done);
}

void
se_stash_watermark(SeOperator *op, int input, SeTime h)
{
	SeStash    *stash = stash_of(op);

	op->watermark_in = Max(op->watermark_in, h);
	if ((!is_busy(stash) || go_on(stash)) && stash->ops->advance(stash->op, h))
		return;
	stash->watermark = Max(stash->watermark, h);
	stash->meta->dirty = true;
}

void
se_stash_end(SeOperator *op, int input)
{
	SeStash    *stash = stash_of(op);

	if (!is_busy(stash))
	{
		se_op_forward_end(stash->op, 0);
		return;
	}
	stash->end = true;
	stash->meta->dirty = true;
}

bool
se_stash_resume(SeOperator *op)
{
	SeStash    *stash = stash_of(op);

	return !is_busy(stash) || go_on(stash);
}

static SeStash *
stash_of(SeOperator *op)
{
	return &((SeStashedOperator *) op)->stash;
}

/* Is there work left from before? */
static bool
is_busy(const SeStash *stash)
{
	return stash->batches != NIL || stash->watermark != SE_TIME_MIN || stash->end ||
		stash->ops->is_firing(stash->op);
}

/* Finish the firing, then what is kept, in its order. False if the output is full again. */
static bool
go_on(SeStash *stash)
{
	stash->meta->dirty = true;
	if (stash->ops->is_firing(stash->op) && !stash->ops->finish_firing(stash->op))
		return false;
	while (stash->batches != NIL)
	{
		SeBatch    *batch = linitial(stash->batches);

		stash->next_row = stash->ops->take_rows(stash->op, batch, stash->next_row);
		if (stash->next_row < batch->nrows || !stash->ops->advance(stash->op, batch->wm_end))
			return false;
		stash->batches = list_delete_first(stash->batches);
		stash->next_row = 0;
		if (stash->batches == NIL)
			MemoryContextReset(stash->memory);
	}
	if (stash->watermark != SE_TIME_MIN)
	{
		if (!stash->ops->advance(stash->op, stash->watermark))
			return false;
		stash->watermark = SE_TIME_MIN;
	}
	if (stash->end)
	{
		stash->end = false;
		se_op_forward_end(stash->op, 0);
	}
	return true;
}

/* Keep the rows of a batch from `from` on, and the watermark behind it. */
static void
keep(SeStash *stash, const SeBatch *batch, int from)
{
	stash->meta->dirty = true;
	if (from < batch->nrows)
	{
		MemoryContext old = MemoryContextSwitchTo(stash->memory);
		SeBatch    *kept = se_batch_new(stash->memory, stash->input, batch->nrows - from);

		for (int row = from; row < batch->nrows; row++)
			keep_row(kept, batch, row);
		if (stash->op->env->side != NULL)
			keep_whole(stash, kept, batch, from);
		kept->wm_end = batch->wm_end;
		stash->batches = lappend(stash->batches, kept);
		MemoryContextSwitchTo(old);
	}
	stash->watermark = Max(stash->watermark, batch->wm_end);
}

/* Should a row turn out to be late, or to fail, it is wanted as it was written. In stash->memory. */
static void
keep_whole(SeStash *stash, SeBatch *to, const SeBatch *from, int first)
{
	SeSide	   *side = stash->op->env->side;

	to->whole = palloc0(sizeof(char *) * to->nrows);
	for (int row = 0; row < to->nrows; row++)
		to->whole[row] = side->whole(side, from, first + row);
}

static void
keep_row(SeBatch *to, const SeBatch *from, int row)
{
	int			to_row = to->nrows;
	const Datum *values = se_batch_values(from, row);
	const bool *nulls = se_batch_nulls(from, row);
	MemoryContext old = MemoryContextSwitchTo(to->arena);

	for (int c = 0; c < to->ncolumns; c++)
	{
		Form_pg_attribute attr = TupleDescAttr(to->desc, c);
		Datum		value = values[c];

		if (!nulls[c] && !attr->attbyval)
		{
			Size		size;
			char	   *copy;

			value = se_value_flat(value, false, attr->attlen);
			size = se_value_size(value, attr->attlen);
			copy = palloc(size);
			memcpy(copy, DatumGetPointer(value), size);
			value = PointerGetDatum(copy);
		}
		se_batch_values(to, to_row)[c] = value;
		se_batch_nulls(to, to_row)[c] = nulls[c];
	}
	MemoryContextSwitchTo(old);
	se_batch_stamp_from(to, to_row, from, row);
	to->nrows++;
}

/*
 * 8 watermark to reach, 1 flags (1 input ended, 2 rows are there whole), 4 batches; per batch 8 watermark behind it,
 * 4 rows; per row 8 event time, 8 stamp, 8 + 8 place, per column 1 null flag, value; flag 2: 4 length (0 = none) and
 * that many bytes, the stream's row as text (flow/side.h).
 */
void
se_stash_write(const SeStash *stash, StringInfo out)
{
	int			from = stash->next_row;
	bool		whole = false;
	ListCell   *lc;

	se_record_put_i64(out, stash->watermark);
	foreach(lc, stash->batches)
		whole |= ((const SeBatch *) lfirst(lc))->whole != NULL;
	se_record_put_u8(out, (stash->end ? STASH_ENDED : 0) | (whole ? STASH_WHOLE : 0));
	se_record_put_u32(out, (uint32) list_length(stash->batches));
	foreach(lc, stash->batches)
	{
		const SeBatch *batch = lfirst(lc);

		se_record_put_i64(out, batch->wm_end);
		se_record_put_u32(out, (uint32) (batch->nrows - from));
		for (int row = from; row < batch->nrows; row++)
		{
			se_record_put_i64(out, batch->event_time[row]);
			se_record_put_i64(out, batch->wm[row]);
			se_record_put_i64(out, (int64) batch->places[row].major);
			se_record_put_i64(out, (int64) batch->places[row].minor);
			for (int c = 0; c < batch->ncolumns; c++)
			{
				Form_pg_attribute attr = TupleDescAttr(batch->desc, c);
				bool		null = se_batch_nulls(batch, row)[c];

				se_record_put_u8(out, null);
				if (!null)
					se_value_write_any(out, se_batch_values(batch, row)[c], attr->attbyval, attr->attlen,
									   se_value_enum_type(attr->atttypid));
			}
			if (whole)
				write_text(out, batch->whole ? batch->whole[row] : NULL);
		}
		from = 0;
	}
}

static void
write_text(StringInfo out, const char *text)
{
	uint32		len = text ? strlen(text) : 0;

	se_record_put_u32(out, len);
	appendBinaryStringInfo(out, text ? text : "", len);
}

/* NULL if it is empty; in the current context. */
static char *
read_text(SeRecordReader *reader)
{
	uint32		len = se_record_u32(reader);

	return len == 0 ? NULL : pnstrdup(se_record_bytes(reader, len), len);
}

static SeBatch *
read_batch(SeStash *stash, SeRecordReader *reader, bool whole)
{
	TupleDesc	input = stash->input;
	SeTime		wm_end = se_record_i64(reader);
	uint32		nrows = se_record_u32(reader);
	SeBatch    *batch;

	/* A row takes at least its stamps. */
	if (nrows > (Size) (reader->end - reader->next) / 32)
		se_record_corrupted();
	batch = se_batch_new(stash->memory, input, Max((int) nrows, 1));
	batch->wm_end = wm_end;
	if (whole)
		batch->whole = palloc0(sizeof(char *) * Max((int) nrows, 1));
	for (uint32 i = 0; i < nrows; i++)
	{
		int			row = batch->nrows;
		MemoryContext old = MemoryContextSwitchTo(batch->arena);

		batch->event_time[row] = se_record_i64(reader);
		batch->wm[row] = se_record_i64(reader);
		batch->places[row].major = (uint64) se_record_i64(reader);
		batch->places[row].minor = (uint64) se_record_i64(reader);
		for (int c = 0; c < batch->ncolumns; c++)
		{
			Form_pg_attribute attr = TupleDescAttr(input, c);
			uint8		null = se_record_u8(reader);

			if (null > 1)
				se_record_corrupted();
			se_batch_nulls(batch, row)[c] = null != 0;
			se_batch_values(batch, row)[c] = null ? (Datum) 0 :
				se_value_read_any(reader, attr->attbyval, attr->attlen, se_value_enum_type(attr->atttypid));
		}
		if (whole)
			batch->whole[row] = read_text(reader);
		MemoryContextSwitchTo(old);
		if (is_own(stash, batch, row) && !is_left_out(stash, batch, row))
			batch->nrows++;
	}
	return batch;
}

/* Did it fail, after it was here, in a way that the job had to be restored? */
static bool
is_left_out(SeStash *stash, const SeBatch *batch, int row)
{
	SeSide	   *side = stash->op->env->side;

	return side != NULL && side->is_left_out(side, batch, row);
}

/* Units that share the keys each take their own rows. */
static bool
is_own(SeStash *stash, SeBatch *batch, int row)
{
	SeKeys	   *keys = stash->keys;
	Datum	   *values;
	bool	   *nulls;
	uint32		hash;

	if (stash->op->env->units <= 1)
		return true;
	values = palloc(Max(keys->n, 1) * sizeof(Datum));
	nulls = palloc(Max(keys->n, 1) * sizeof(bool));
	se_keys_prepare(keys, batch, &row, 1, values, nulls, &hash);
	pfree(values);
	pfree(nulls);
	return se_key_group_is_own(stash->op->env, hash);
}

void
se_stash_read(SeStash *stash, SeRecordReader *reader)
{
	uint32		nbatches;
	uint8		flags;
	MemoryContext old;

	stash->batches = NIL;
	stash->next_row = 0;
	MemoryContextReset(stash->memory);
	old = MemoryContextSwitchTo(stash->memory);
	stash->watermark = se_record_i64(reader);
	flags = se_record_u8(reader);
	if (flags > (STASH_ENDED | STASH_WHOLE))
		se_record_corrupted();
	stash->end = (flags & STASH_ENDED) != 0;
	nbatches = se_record_u32(reader);
	for (uint32 i = 0; i < nbatches; i++)
		stash->batches = lappend(stash->batches, read_batch(stash, reader, (flags & STASH_WHOLE) != 0));
	MemoryContextSwitchTo(old);
}
