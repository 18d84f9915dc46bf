/*
 * operators/count_state.c
 *		The count aggregate's records: snapshot, rewrite, restore.
 *
 * Every record begins with 1 version (1) and 1 sort of record:
 *
 *	M	the operator: 4 number of the snapshot, 1 end of the input (0 not reached, 1 last windows
 *		are being emitted, 2 all are out), 4 cursor, then the stash (stash.c)
 *	C	pieces: as in operators/agg_set.h; where windows overlap the key ends with the place (8); the
 *		header is the number of the first row (8) and the rows (8)
 *
 * The newest M counts; without one the input has not ended. Everything about a key follows from its pieces.
 */
#include "postgres.h"

#include "operators/count_internal.h"
#include "utils/memutils.h"

#define SORT_PIECES 'C'

/* Version, sort. */
#define PREFIX_LEN 2

static void write_meta(SeCountAgg *agg, SeSnapshotWriter *writer);
static void read_meta(SeCountAgg *agg, SeRecordReader *reader);
static void check_single(SeCountAgg *agg, SeEntry *entry);
static void link_piece(SeCountAgg *agg, SeEntry *entry);
static int64 number_of_piece(const SeCountAgg *agg, int64 first);
static void check_key(SeCountAgg *agg, const SeCountKey *key);

void
se_count_state_prepare(SeOperator *op)
{
	se_count_agg_publish((SeCountAgg *) op);
}

void
se_count_state_snapshot(SeOperator *op, SeSnapshotWriter *writer)
{
	static const uint8 prefix[PREFIX_LEN] = {SE_STATE_VERSION, SORT_PIECES};
	SeCountAgg *agg = (SeCountAgg *) op;

	agg->meta.snapshots++;
	se_agg_home_snapshot(agg->set, agg->home, op, writer, agg->meta.snapshots, prefix, PREFIX_LEN);
	if (agg->meta.dirty)
		write_meta(agg, writer);
}

static void
write_meta(SeCountAgg *agg, SeSnapshotWriter *writer)
{
	StringInfoData out;

	se_meta_record_begin(&agg->meta, &out);
	se_record_put_u8(&out, (uint8) agg->end);
	se_record_put_u32(&out, agg->cursor);
	se_stash_write(&agg->stash, &out);
	se_meta_record_append(&agg->meta, &out, &agg->op, writer);
}

static void
read_meta(SeCountAgg *agg, SeRecordReader *reader)
{
	uint8		end;

	se_meta_record_read(&agg->meta, reader);
	end = se_record_u8(reader);
	if (end > SE_COUNT_ENDED || (end != SE_COUNT_OPEN && !agg->node->partial))
		se_record_corrupted();
	agg->end = (SeCountEnd) end;
	agg->cursor = se_record_u32(reader);
	se_stash_read(&agg->stash, reader);
	if (reader->next != reader->end)
		se_record_corrupted();
}

Size
se_count_state_rewrite(SeOperator *op, const void *record, Size len)
{
	SeCountAgg *agg = (SeCountAgg *) op;
	SeRecordReader reader = se_record_reader(record, len);

	switch (se_meta_record_sort(&reader))
	{
		case SE_SORT_META:
			return se_meta_record_rewrite(&agg->meta, &reader, len);
		case SORT_PIECES:
			return se_agg_home_rewrite(agg->set, agg->home, record, len, PREFIX_LEN);
		default:
			se_record_corrupted();
	}
}

void
se_count_state_restore(SeOperator *op, const void *record, Size len)
{
	SeCountAgg *agg = (SeCountAgg *) op;
	SeRecordReader reader = se_record_reader(record, len);
	MemoryContext old = MemoryContextSwitchTo(agg->scratch);
	SeAggRecordKind kind;

	switch (se_meta_record_sort(&reader))
	{
		case SE_SORT_META:
			read_meta(agg, &reader);
			break;
		case SORT_PIECES:
			kind = se_record_u8(&reader);
			se_agg_home_restore(agg->set, agg->home, kind, &reader, &agg->meta.snapshots);
			break;
		default:
			se_record_corrupted();
	}
	MemoryContextSwitchTo(old);
	MemoryContextReset(agg->scratch);
}

/* Keys are made of their pieces; front and back when a key's next piece is full. */
void
se_count_state_restored(SeOperator *op)
{
	SeCountAgg *agg = (SeCountAgg *) op;
	SeTable    *table = agg->home->table;

	for (uint32 i = 0; i < table->nentries; i++)
	{
		SeEntry    *entry = se_table_entry(table, i);

		if (!(entry->flags & SE_ENTRY_USED))
			continue;
		agg->arrivals = Max(agg->arrivals, se_agg_set_arrivals(agg->set, se_count_acc(agg, entry)));
		if (agg->overlap)
			link_piece(agg, entry);
		else
			check_single(agg, entry);
	}
	for (uint32 i = 0; agg->overlap && i < agg->anchors->nentries; i++)
		check_key(agg, se_count_key(agg, se_table_entry(agg->anchors, i)));
	se_count_agg_publish(agg);
}

/* The one piece of a key whose windows do not overlap. */
static void
check_single(SeCountAgg *agg, SeEntry *entry)
{
	SeCountPiece *piece = se_count_piece(agg, entry);

	if (piece->first < 0 || piece->first % agg->node->slide != 0 || piece->first > PG_INT64_MAX - agg->node->slide ||
		piece->rows < 1 || piece->rows > agg->node->slide)
		se_record_corrupted();
}

/* A piece goes to its place; the newest one says where the key stands. */
static void
link_piece(SeCountAgg *agg, SeEntry *entry)
{
	SeCountPiece *piece = se_count_piece(agg, entry);
	const Datum *values = se_entry_keys(agg->home->table, entry);
	int64		number = number_of_piece(agg, piece->first);
	int64		length = agg->lengths[number & 1];
	SeEntry    *anchor;
	SeCountKey *key;

	if (entry->nulls[agg->keys->n] || DatumGetInt64(values[agg->keys->n]) != number % agg->places ||
		piece->rows < 1 || piece->rows > length)
		se_record_corrupted();
	anchor = se_table_get(agg->anchors, se_keys_hash(agg->keys, values, entry->nulls), values, entry->nulls);
	key = se_count_key(agg, anchor);
	if (key->room == 0)
		key->piece = key->merged = key->waiting = -1;
	if (number % agg->places < key->room && key->places[number % agg->places] != NULL)
		se_record_corrupted();
	se_count_window_put(agg, key, number, entry);
	if (number > key->piece)
	{
		key->piece = number;
		key->rows = piece->first + piece->rows;
		key->left = length - piece->rows;
	}
}

/* Which piece of a key begins with this row? None: the record is bad. */
static int64
number_of_piece(const SeCountAgg *agg, int64 first)
{
	int64		period = agg->step == 1 ? agg->lengths[0] : agg->node->slide;
	int64		number = first / period * agg->step;

	if (first < 0 || first > PG_INT64_MAX / 4)
		se_record_corrupted();
	if (first % period == 0)
		return number;
	if (agg->step == 1 || first % period != agg->lengths[0])
		se_record_corrupted();
	return number + 1;
}

/* What is merged and emitted from now on must be there: the last pieces, all but the newest full. */
static void
check_key(SeCountAgg *agg, const SeCountKey *key)
{
	for (int64 number = Max(key->piece + 1 - agg->reach, 0); number < key->piece; number++)
	{
		uint32		place = (uint32) (number % agg->places);
		SeCountPiece *piece;

		if (place >= key->room || key->places[place] == NULL)
			se_record_corrupted();
		piece = se_count_piece(agg, key->places[place]);
		if (number_of_piece(agg, piece->first) != number || piece->rows != agg->lengths[number & 1])
			se_record_corrupted();
	}
}
