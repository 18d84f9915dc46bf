/*
 * operators/count_agg.c
 *		Aggregates per window of so many rows of a key, emitted when the window is full.
 *
 * Rows count in order of arrival, late ones too: neither time nor watermark has a say
 * (I4: the order of arrival is the log's). A row changes one piece, whatever the number of windows it
 * is in. Pieces that a batch fills are looked at together after the rows of all keys
 * were applied, or when a place is to be used again whose piece is still needed.
 *
 * With `partial` the end of the input, a watermark of infinity, emits what is left of
 * every key; rows that come then are late for all.
 *
 * Runs in: task worker, in a round.
 */
#include "postgres.h"

#include "base/fault.h"
#include "base/settings.h"
#include "operators/count_internal.h"
#include "operators/operators.h"
#include "utils/memutils.h"

/* Pieces that may wait although a window's worth of them follows: batches of one key are not cut at each. */
#define MOST_SPARE_PLACES 32

static void cut_pieces(SeCountAgg *agg);
static bool is_ending(SeOperator *op);
static bool finish_ending(SeOperator *op);
static int	take_rows(SeOperator *op, SeBatch *batch, int from);
static int	keep_rows(SeCountAgg *agg, SeBatch *batch, int from);
static void place_row(SeCountAgg *agg, SeBatch *batch, int i);
static void place_overlapping(SeCountAgg *agg, SeBatch *batch, int i);
static SeEntry *begin_piece(SeCountAgg *agg, SeBatch *batch, SeCountKey *key, int i);
static void add_pending(SeCountAgg *agg, int row, SeEntry *entry);
static void finish_pieces(SeCountAgg *agg, SeBatch *batch);
static bool advance(SeOperator *op, SeTime h);
static bool emit_rest(SeCountAgg *agg);
static void need_rows(SeCountAgg *agg, int n);

static const SeOperatorOps count_agg_ops = {
	.name = "count aggregate",
	SE_STASH_CALLBACKS,
	.prepare = se_count_state_prepare,
	.snapshot = se_count_state_snapshot,
	.rewrite = se_count_state_rewrite,
	.restore = se_count_state_restore,
	.restored = se_count_state_restored,
};

static const SeStashOps stash_ops = {
	.is_firing = is_ending,
	.finish_firing = finish_ending,
	.take_rows = take_rows,
	.advance = advance,
};

SeOperator *
se_count_agg_new(const SeCountAggNode *node, SeOperatorEnv *env)
{
	SeCountAgg *agg = palloc0(sizeof(SeCountAgg));
	TupleDesc	input = ((SeNode *) linitial(node->node.inputs))->desc;

	se_op_init(&agg->op, &count_agg_ops, node->node.id, 1, env, node->node.desc);
	agg->node = node;
	agg->set = se_agg_set_new(node->calls, input, env);
	for (int i = 0; i < agg->set->ncalls; i++)
		agg->replays |= agg->set->slots[i].method == SE_AGG_REPLAY;
	agg->keys = se_keys_new(input, node->keys, node->key_eq);
	se_keyed_rows_init(&agg->keyed, agg->keys);
	cut_pieces(agg);
	agg->piece_keys = agg->overlap ? se_keys_numbered(agg->keys) : agg->keys;
	agg->piece_values = palloc(Max(agg->piece_keys->n, 1) * sizeof(Datum));
	agg->piece_nulls = palloc(Max(agg->piece_keys->n, 1) * sizeof(bool));
	agg->home = se_agg_home_new_singly(agg->set, agg->piece_keys, agg->keys->n, sizeof(SeCountPiece),
									   SE_COUNT_SAVED, &agg->arrivals);
	se_arena_reuse(agg->home->arena);
	if (agg->overlap)
	{
		agg->anchors = se_table_new(agg->home->arena, agg->keys, sizeof(SeCountKey));
		agg->result = palloc0(Max(agg->set->payload_size, 1));
		if (agg->replays)
			agg->lent = palloc(agg->reach * sizeof(char *));
	}
	se_stash_init(&agg->stash, &agg->op, &stash_ops, input, agg->keys, &agg->meta);
	agg->scratch = AllocSetContextCreate(CurrentMemoryContext, "stream_engine count aggregate",
										 ALLOCSET_DEFAULT_SIZES);
	agg->out = se_batch_new(CurrentMemoryContext, node->node.desc, Max(se_batch_rows, 1));
	return &agg->op;
}

/* How a key's rows are cut into pieces (docs/design/count-windows.md). */
static void
cut_pieces(SeCountAgg *agg)
{
	int64		size = agg->node->size;
	int64		slide = agg->node->slide;
	int64		rest = size % slide;

	agg->overlap = slide < size;
	agg->step = 1;
	agg->reach = Max(size / slide, 1);
	agg->lengths[0] = agg->lengths[1] = slide;
	if (agg->overlap && rest > 0)
	{
		agg->reach = size / slide * 2 + 1;
		agg->step = 2;
		agg->lengths[0] = agg->node->partial ? slide - rest : rest;
		agg->lengths[1] = slide - agg->lengths[0];
	}
	agg->places = agg->overlap ? (uint32) (agg->reach + Min(Max(agg->reach / 4, 1), MOST_SPARE_PLACES)) : 1;
}

static bool
is_ending(SeOperator *op)
{
	return ((SeCountAgg *) op)->end == SE_COUNT_ENDING;
}

static bool
finish_ending(SeOperator *op)
{
	return advance(op, SE_TIME_MAX);
}

/* All of them: a row makes at most one window full, so no batch makes more than its own. */
static int
take_rows(SeOperator *op, SeBatch *batch, int from)
{
	SeCountAgg *agg = (SeCountAgg *) op;
	SeKeyedRows *keyed = &agg->keyed;
	SeOperatorEnv *env = op->env;
	MemoryContext old;
	int			n;

	need_rows(agg, batch->nrows);
	n = keep_rows(agg, batch, from);
	if (n == 0)
		return batch->nrows;
	env->current_batch = batch;
	env->current_row = -1;
	agg->outer = old = MemoryContextSwitchTo(agg->scratch);
	se_keyed_rows_prepare(keyed, batch, n);
	se_env_state_touched(env);
	se_table_get_rows(agg->overlap ? agg->anchors : agg->home->table, keyed->hashes, keyed->values, keyed->nulls, n,
					  keyed->entries);
	for (int i = 0; i < n; i++)
	{
		env->current_row = keyed->rows[i];
		if (agg->overlap)
			place_overlapping(agg, batch, i);
		else
			place_row(agg, batch, i);
	}
	finish_pieces(agg, batch);
	env->current_batch = NULL;
	env->current_row = -1;
	MemoryContextSwitchTo(old);
	MemoryContextReset(agg->scratch);
	se_count_agg_publish(agg);
	return batch->nrows;
}

/* The rows that count. Behind the end of an input whose last windows are out there are none. */
static int
keep_rows(SeCountAgg *agg, SeBatch *batch, int from)
{
	SeOperatorEnv *env = agg->op.env;
	int			n = 0;

	for (int row = from; row < batch->nrows; row++)
	{
		if (agg->node->partial && (agg->end != SE_COUNT_OPEN || batch->wm[row] == SE_TIME_MAX))
		{
			se_env_late_row(env, batch, row);
			env->late_pairs++;
		}
		else
			agg->keyed.rows[n++] = row;
	}
	return n;
}

/* The i-th row, of a key whose windows do not overlap: it has one piece, used again for each window. */
static void
place_row(SeCountAgg *agg, SeBatch *batch, int i)
{
	SeEntry    *entry = agg->keyed.entries[i];
	SeCountPiece *piece = se_count_piece(agg, entry);
	int64		from = agg->node->partial ? agg->node->slide - agg->node->size : 0;

	if (piece->rows == agg->node->slide)
	{
		if (piece->waits)
			finish_pieces(agg, batch);
		if (!SE_FAULT_WRONG("wrong-count-place-kept"))
			se_agg_set_reset(agg->set, agg->home, se_count_acc(agg, entry));
		piece->first += piece->rows;
		piece->rows = 0;
	}
	if (piece->rows == from && agg->keys->looks_vary)
		se_table_rekey(agg->home->table, entry, se_keyed_rows_values(&agg->keyed, i));
	piece->rows++;
	if (piece->rows <= from || piece->rows > from + agg->node->size)
	{
		/* between two windows */
		se_table_touch_rows(agg->home->table, &entry, 1);
		return;
	}
	add_pending(agg, agg->keyed.rows[i], entry);
	if (piece->rows == from + agg->node->size)
	{
		piece->waits = true;
		agg->full[agg->nfull++] = (SeCountFull)
		{
			entry, 0
		};
	}
}

/* The i-th row, into the newest piece of its key or a new one. */
static void
place_overlapping(SeCountAgg *agg, SeBatch *batch, int i)
{
	SeCountKey *key = se_count_key(agg, agg->keyed.entries[i]);
	SeEntry    *entry;

	if (key->room == 0)
		key->piece = key->merged = key->waiting = -1;
	entry = key->left == 0 ? begin_piece(agg, batch, key, i) : se_count_place(agg, key, key->piece);
	key->rows++;
	key->left--;
	se_count_piece(agg, entry)->rows++;
	add_pending(agg, agg->keyed.rows[i], entry);
	if (key->left == 0)
	{
		agg->full[agg->nfull++] = (SeCountFull)
		{
			agg->keyed.entries[i], key->piece
		};
		if (key->waiting < 0)
			key->waiting = key->piece;
	}
}

/* The next piece of a key, empty, in its place. */
static SeEntry *
begin_piece(SeCountAgg *agg, SeBatch *batch, SeCountKey *key, int i)
{
	int			nkeys = agg->keys->n;
	const Datum *values = se_keyed_rows_values(&agg->keyed, i);
	int64		number = key->piece + 1;
	uint32		place = (uint32) (number % agg->places);
	SeEntry    *entry = place < key->room ? key->places[place] : NULL;
	SeCountPiece *piece;

	/* What lies there may be part of a window that has not been looked at. */
	if (key->waiting >= 0 && number - agg->places > key->waiting - agg->reach)
		finish_pieces(agg, batch);
	if (entry != NULL)
	{
		if (!SE_FAULT_WRONG("wrong-count-place-kept"))
			se_agg_set_reset(agg->set, agg->home, se_count_acc(agg, entry));
		if (agg->keys->looks_vary)
		{
			memcpy(agg->piece_values, values, nkeys * sizeof(Datum));
			se_table_rekey(agg->home->table, entry, agg->piece_values);
		}
	}
	else
	{
		memcpy(agg->piece_values, values, nkeys * sizeof(Datum));
		memcpy(agg->piece_nulls, se_keyed_rows_nulls(&agg->keyed, i), nkeys * sizeof(bool));
		agg->piece_values[nkeys] = Int64GetDatum(place);
		agg->piece_nulls[nkeys] = false;
		/* Nobody looks for a piece by its key, so any hash will do. */
		entry = se_table_add(agg->home->table, agg->keyed.hashes[i] ^ place * 0x9E3779B1u, agg->piece_values,
							 agg->piece_nulls);
		se_count_window_put(agg, key, number, entry);
	}
	piece = se_count_piece(agg, entry);
	piece->first = key->rows;
	piece->rows = 0;
	key->piece = number;
	key->left = agg->lengths[number & 1];
	return entry;
}

static void
add_pending(SeCountAgg *agg, int row, SeEntry *entry)
{
	se_pending_rows_add(&agg->pending, row, entry, se_count_acc(agg, entry));
}

/* Let the aggregates see the rows placed since the last time, then look at the pieces they filled. */
static void
finish_pieces(SeCountAgg *agg, SeBatch *batch)
{
	SeOperatorEnv *env = agg->op.env;
	int			row = env->current_row;
	int			nfull = agg->nfull;

	agg->nfull = 0;
	se_pending_rows_apply(&agg->pending, agg->set, agg->home, batch);
	/* What fails now is no row's fault, and goes on failing without it. */
	env->current_batch = NULL;
	for (int i = 0; i < nfull; i++)
		se_count_window_look(agg, &agg->full[i]);
	env->current_batch = batch;
	env->current_row = row;
}

/* Send a watermark on; the last one comes after what is left. False if the output is full before. */
static bool
advance(SeOperator *op, SeTime h)
{
	SeCountAgg *agg = (SeCountAgg *) op;
	bool		all = h != SE_TIME_MAX || !agg->node->partial || agg->end == SE_COUNT_ENDED || emit_rest(agg);

	agg->outer = CurrentMemoryContext;
	se_count_window_flush(agg);
	if (!all)
		return false;
	if (h > op->watermark_out)
		se_op_emit_watermark(op, h);
	return true;
}

/* Emit what is left of every key; false if the output is full before. The caller flushes. */
static bool
emit_rest(SeCountAgg *agg)
{
	SeTable    *table = agg->home->table;
	MemoryContext old;

	se_env_state_touched(agg->op.env);
	agg->meta.dirty = true;
	agg->end = SE_COUNT_ENDING;
	for (; agg->cursor < table->nentries; agg->cursor++)
	{
		SeEntry    *entry = se_table_entry(table, agg->cursor);

		if (agg->op.env->output_full)
			return false;
		if (!(entry->flags & SE_ENTRY_USED) || SE_FAULT_WRONG("wrong-count-rest-lost"))
			continue;
		agg->outer = old = MemoryContextSwitchTo(agg->scratch);
		se_count_window_emit_rest(agg, entry);
		MemoryContextSwitchTo(old);
		MemoryContextReset(agg->scratch);
	}
	agg->end = SE_COUNT_ENDED;
	return true;
}

static void
need_rows(SeCountAgg *agg, int n)
{
	if (!se_keyed_rows_need(&agg->keyed, n))
		return;
	se_pending_rows_init(&agg->pending, n, agg->keyed.memory);
	agg->full = MemoryContextAlloc(agg->keyed.memory, n * sizeof(SeCountFull));
}

/* What monitoring shows. */
void
se_count_agg_publish(SeCountAgg *agg)
{
	agg->op.state_bytes = se_arena_bytes(agg->home->arena);
	agg->op.state_entries = agg->home->table->nused;
}
