/*
 * operators/count_window.c
 *		What follows when a piece is full: pieces merged, and windows emitted.
 *
 * The full pieces of a key are kept merged as a queue made of two stacks. The *back* is
 * one accumulator to which each full piece is added. The *front* holds, for each piece before the
 * *turn*, the merge of that piece and all later ones before the turn; it is made from the newest piece to
 * the oldest when none of the old one is left, and the back begins anew. A window is
 * the front's accumulator of its first piece and the back: so a piece is merged three times in its life,
 * whatever the number of windows it is in.
 *
 * Turns are at fixed numbers of pieces: with r the reach, at r, r + (r - 1), r + 2 (r - 1), …
 * So front and back are a function of the pieces, made again from them after a restore.
 *
 * Calls that are replayed have nothing to merge: their rows are lent to the window, piece
 * after piece, while it is computed.
 *
 * Runs in: task worker, in a round; the current context is the operator's scratch.
 */
#include "postgres.h"

#include "base/fault.h"
#include "miscadmin.h"
#include "operators/count_internal.h"
#include "utils/datum.h"
#include "utils/memutils.h"

static void merge_piece(SeCountAgg *agg, SeCountKey *key, int64 piece);
static void make_merged(SeCountAgg *agg, SeCountKey *key, int64 pieces);
static void make_front(SeCountAgg *agg, SeCountKey *key, int64 first);
static bool ends_window(const SeCountAgg *agg, int64 pieces, int64 *window);
static void emit_pieces(SeCountAgg *agg, SeCountKey *key, int64 first, int64 pieces, int64 window);
static void emit_window(SeCountAgg *agg, SeEntry *entry, int64 window, char *acc);
static SeCountKey *key_of_piece(SeCountAgg *agg, SeEntry *entry);

static inline char *
front_of(const SeCountAgg *agg, const SeCountKey *key, int64 piece)
{
	return key->front + (Size) (piece % agg->reach) * agg->set->payload_size;
}

/* Does any call have a state that can be merged? */
static inline bool
merges(const SeCountAgg *agg)
{
	for (int i = 0; i < agg->set->ncalls; i++)
	{
		if (agg->set->slots[i].method != SE_AGG_REPLAY)
			return true;
	}
	return false;
}

/* Put a piece into the ring of its key. */
void
se_count_window_put(SeCountAgg *agg, SeCountKey *key, int64 piece, SeEntry *entry)
{
	uint32		place = (uint32) (piece % agg->places);

	if (place >= key->room)
	{
		uint32		room = Min(Max(Max(4, key->room * 2), place + 1), agg->places);
		SeEntry   **places = se_arena_alloc(agg->home->arena, room * sizeof(SeEntry *));

		memset(places, 0, room * sizeof(SeEntry *));
		if (key->room > 0)
		{
			memcpy(places, key->places, key->room * sizeof(SeEntry *));
			(void) se_arena_give(agg->home->arena, key->places, key->room * sizeof(SeEntry *));
		}
		key->places = places;
		key->room = room;
	}
	key->places[place] = entry;
}

/* A piece is full: merge it, and emit the window that ends with it, if one does. */
void
se_count_window_look(SeCountAgg *agg, const SeCountFull *full)
{
	SeCountKey *key;
	int64		pieces = full->piece + 1;
	int64		window;

	if (!agg->overlap)
	{
		SeCountPiece *piece = se_count_piece(agg, full->entry);

		piece->waits = false;
		emit_window(agg, full->entry, piece->first / agg->node->slide, se_count_acc(agg, full->entry));
		return;
	}
	key = se_count_key(agg, full->entry);
	key->waiting = -1;			/* all that wait are looked at before the next row */
	if (merges(agg))
		merge_piece(agg, key, full->piece);
	if (ends_window(agg, pieces, &window))
		emit_pieces(agg, key, Max(pieces - agg->reach, 0), pieces, window);
	if (merges(agg) && pieces == (key->turn == 0 ? agg->reach : key->turn + agg->reach - 1))
	{
		key->turn = pieces;
		make_front(agg, key, pieces + 1 - agg->reach);
		se_agg_set_reset(agg->set, agg->home, key->back);
	}
}

static void
merge_piece(SeCountAgg *agg, SeCountKey *key, int64 piece)
{
	if (key->merged != piece)
		make_merged(agg, key, piece);
	se_agg_set_merge_states(agg->set, agg->home, key->back, se_count_acc(agg, se_count_place(agg, key, piece)));
	key->merged = piece + 1;
}

/* Front and back of the first so many pieces, from the pieces themselves. */
static void
make_merged(SeCountAgg *agg, SeCountKey *key, int64 pieces)
{
	Size		size = agg->set->payload_size;

	if (key->back == NULL)
	{
		key->back = se_arena_alloc(agg->home->arena, size);
		memset(key->back, 0, size);
	}
	else
		se_agg_set_reset(agg->set, agg->home, key->back);
	key->turn = 0;
	if (pieces >= agg->reach)
		key->turn = agg->reach + (pieces - agg->reach) / (agg->reach - 1) * (agg->reach - 1);
	for (int64 piece = key->turn; piece < pieces; piece++)
		se_agg_set_merge_states(agg->set, agg->home, key->back, se_count_acc(agg, se_count_place(agg, key, piece)));
	if (key->turn > 0)
		make_front(agg, key, Max(pieces + 1 - agg->reach, 0));
	key->merged = pieces;
}

/* The front, from the piece before the turn down to `first`. */
static void
make_front(SeCountAgg *agg, SeCountKey *key, int64 first)
{
	Size		size = agg->set->payload_size;

	if (key->front == NULL)
	{
		key->front = se_arena_alloc(agg->home->arena, agg->reach * size);
		memset(key->front, 0, agg->reach * size);
	}
	for (int64 piece = key->turn - 1; piece >= first; piece--)
	{
		char	   *acc = front_of(agg, key, piece);

		se_agg_set_reset(agg->set, agg->home, acc);
		se_agg_set_merge_states(agg->set, agg->home, acc, se_count_acc(agg, se_count_place(agg, key, piece)));
		if (piece < key->turn - 1 && !SE_FAULT_WRONG("wrong-count-front-forgets"))
			se_agg_set_merge_states(agg->set, agg->home, acc, front_of(agg, key, piece + 1));
	}
}

/* Does a window end with the first so many pieces of a key? */
static bool
ends_window(const SeCountAgg *agg, int64 pieces, int64 *window)
{
	if (agg->node->partial)
	{
		*window = pieces / agg->step - 1;
		return pieces % agg->step == 0;
	}
	*window = (pieces - agg->reach) / agg->step;
	return pieces >= agg->reach && (pieces - agg->reach) % agg->step == 0;
}

/* Emit the pieces from `first` to the newest full one as a window. */
static void
emit_pieces(SeCountAgg *agg, SeCountKey *key, int64 first, int64 pieces, int64 window)
{
	SeEntry    *entry = se_count_place(agg, key, first);
	int			n = 0;

	if (merges(agg))
	{
		if (first < key->turn)
			se_agg_set_merge_states(agg->set, agg->home, agg->result, front_of(agg, key, first));
		se_agg_set_merge_states(agg->set, agg->home, agg->result, key->back);
	}
	for (int64 piece = first; agg->replays && piece < pieces; piece++)
	{
		agg->lent[n] = se_count_acc(agg, se_count_place(agg, key, piece));
		se_agg_set_lend_rows(agg->set, agg->result, agg->lent[n++]);
	}
	emit_window(agg, entry, window, agg->result);
	if (agg->replays)
		se_agg_set_take_back_rows(agg->set, agg->result, agg->lent, n);
	se_agg_set_reset(agg->set, agg->home, agg->result);
}

/*
 * The input has ended: emit the window that a key's next firing would have had, if a row of
 * it has come. Each key is met once, with its entry of place 0.
 */
void
se_count_window_emit_rest(SeCountAgg *agg, SeEntry *entry)
{
	SeCountKey *key;
	int64		window;
	int64		first;
	int			n = 0;

	if (!agg->overlap)
	{
		SeCountPiece *piece = se_count_piece(agg, entry);

		if (piece->rows < agg->node->slide && piece->rows > agg->node->slide - agg->node->size)
			emit_window(agg, entry, piece->first / agg->node->slide, se_count_acc(agg, entry));
		return;
	}
	if (DatumGetInt64(se_entry_keys(agg->home->table, entry)[agg->keys->n]) != 0)
		return;
	key = key_of_piece(agg, entry);
	if (key->rows % agg->node->slide == 0)
		return;
	/* Front and back do not know the newest piece, which need not be full. */
	window = key->rows / agg->node->slide;
	first = Max((window + 1) * agg->step - agg->reach, 0);
	for (int64 piece = first; piece <= key->piece; piece++)
	{
		char	   *acc = se_count_acc(agg, se_count_place(agg, key, piece));

		se_agg_set_merge_states(agg->set, agg->home, agg->result, acc);
		if (agg->replays)
		{
			agg->lent[n++] = acc;
			se_agg_set_lend_rows(agg->set, agg->result, acc);
		}
	}
	emit_window(agg, se_count_place(agg, key, first), window, agg->result);
	if (agg->replays)
		se_agg_set_take_back_rows(agg->set, agg->result, agg->lent, n);
	se_agg_set_reset(agg->set, agg->home, agg->result);
}

static SeCountKey *
key_of_piece(SeCountAgg *agg, SeEntry *entry)
{
	const Datum *values = se_entry_keys(agg->home->table, entry);
	SeEntry    *anchor = se_table_find(agg->anchors, se_keys_hash(agg->keys, values, entry->nulls),
									   values, entry->nulls);

	if (anchor == NULL)
		elog(ERROR, "a piece has no key");
	return se_count_key(agg, anchor);
}

/* One output row: keys as the window's first row has them, the window's number, aggregates. */
static void
emit_window(SeCountAgg *agg, SeEntry *entry, int64 window, char *acc)
{
	SeBatch    *out = agg->out;
	int			nkeys = agg->keys->n;
	int			row = out->nrows;
	Datum	   *values = se_batch_values(out, row);
	bool	   *nulls = se_batch_nulls(out, row);
	const Datum *keys = se_entry_keys(agg->home->table, entry);
	MemoryContext old = MemoryContextSwitchTo(out->arena);

	/* Keys and states change before the batch is sent. */
	for (int k = 0; k < nkeys; k++)
	{
		const SeKeyColumn *key = &agg->keys->columns[k];

		nulls[k] = entry->nulls[k];
		values[k] = keys[k];
		if (key->kind == SE_KEY_GENERIC && !nulls[k])
			values[k] = datumCopy(keys[k], key->byval, key->typlen);
	}
	values[nkeys] = Int64GetDatum(window);
	nulls[nkeys] = false;
	se_agg_set_final_copied(agg->set, agg->home, acc, values + nkeys + 1, nulls + nkeys + 1);
	MemoryContextSwitchTo(old);

	se_batch_stamp(out, row, SE_ROW_INSERT, SE_TIME_MIN, agg->op.watermark_out);
	out->nrows++;
	if (out->nrows == out->capacity)
		se_count_window_flush(agg);
}

/* Send what was emitted on. */
void
se_count_window_flush(SeCountAgg *agg)
{
	MemoryContext old;

	if (agg->out->nrows == 0)
		return;
	SE_FAULT_POINT("count-emit");
	CHECK_FOR_INTERRUPTS();
	old = MemoryContextSwitchTo(agg->outer);
	agg->out->wm_end = agg->op.watermark_out;
	se_op_emit(&agg->op, agg->out);
	se_batch_reset(agg->out);
	MemoryContextSwitchTo(old);
}
