/*
 * operators/agg_records.c
 *		Homes of aggregates as records: snapshot, restore, and what is still needed of an old record.
 *
 * The bytes are in agg_set.h. Runs in: task worker; snapshot and restore as
 * flow/operator.h says.
 */
#include "postgres.h"

#include "base/fault.h"
#include "operators/agg_call.h"
#include "operators/agg_distinct.h"
#include "operators/agg_set.h"
#include "state/key_group.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

/* A record of entries is about this long: about half a chunk of the checkpoint. */
#define RECORD_SIZE 4000

/* The flags of an entry that are state. */
#define SAVED_FLAGS (SE_ENTRY_EMITTED | SE_ENTRY_STALE)

static void write_put(SeAggSet *set, SeAggHome *home, SeEntry *entry, StringInfo one, StringInfo out);
static SeEntry *replaced_entry(SeAggSet *set, SeAggHome *home, uint32 index, const Datum *values, const bool *nulls);
static void write_contents(SeAggSet *set, SeAggHome *home, SeEntry *entry, StringInfo out);
static bool is_own(SeAggSet *set, SeAggHome *home, uint32 hash, const Datum *values, const bool *nulls);

void
se_agg_home_prepare(SeAggSet *set, SeAggHome *home)
{
	for (int i = 0; i < set->ncalls; i++)
	{
		SeTable    *table = home->table;

		if (set->slots[i].fn == NULL || set->slots[i].method != SE_AGG_SERIAL)
			continue;
		for (uint32 d = 0; d < table->ndirty; d++)
		{
			SeEntry    *entry = se_table_entry(table, table->dirty[d]);

			if (entry->flags & SE_ENTRY_USED)
				se_agg_fn_serialize(&set->slots[i], home, se_entry_payload(table, entry));
		}
	}
}

/* Most slices have not changed since the last commit. */
static bool
is_dirty(const SeAggSet *set, const SeAggHome *home)
{
	if (home->table->ndirty > 0 || home->again != NIL)
		return true;
	for (int i = 0; i < set->ncalls; i++)
	{
		if (home->seen[i] != NULL && home->seen[i]->ndirty > 0)
			return true;
	}
	return false;
}

void
se_agg_home_snapshot(SeAggSet *set, SeAggHome *home, SeOperator *op,
					 SeSnapshotWriter *writer, uint32 snapshot,
					 const void *prefix, Size prefix_len)
{
	SeTable    *table = home->table;
	StringInfoData out;
	StringInfoData one;
	uint32		in_record = 0;
	ListCell   *lc;

	if (!is_dirty(set, home))
		return;
	foreach(lc, home->again)
		se_snapshot_append(writer, op->id, VARDATA(lfirst(lc)), VARSIZE(lfirst(lc)) - VARHDRSZ);
	list_free_deep(home->again);
	home->again = NIL;

	initStringInfo(&out);
	initStringInfo(&one);
	for (uint32 d = 0; d < table->ndirty; d++)
	{
		SeEntry    *entry = se_table_entry(table, table->dirty[d]);

		/* What came and went between two snapshots was never anywhere else. */
		if (!(entry->flags & SE_ENTRY_USED) && entry->saved == 0)
			continue;

		/* Many entries share a record and what stands in front of it. */
		if (out.len == 0)
		{
			appendBinaryStringInfo(&out, prefix, (int) prefix_len);
			se_record_put_u8(&out, SE_RECORD_PUT);
			se_record_put_u32(&out, snapshot);
			se_record_put_u32(&out, 0);
			in_record = 0;
		}
		write_put(set, home, entry, &one, &out);
		in_record++;
		memcpy(out.data + prefix_len + 5, &in_record, sizeof(in_record));
		if (out.len >= RECORD_SIZE)
		{
			SE_FAULT_POINT("state-put");
			se_snapshot_append(writer, op->id, out.data, out.len);
			resetStringInfo(&out);
		}

		for (int i = 0; i < set->ncalls; i++)
		{
			if (set->slots[i].method != SE_AGG_REPLAY || home->singly)
				continue;
			resetStringInfo(&one);
			appendBinaryStringInfo(&one, prefix, (int) prefix_len);
			se_record_put_u8(&one, SE_RECORD_TUPLES);
			se_record_put_u32(&one, (uint32) i);
			se_record_put_u32(&one, entry->index);
			if (se_agg_fn_save_tuples(&set->slots[i], se_entry_payload(table, entry), &one))
				se_snapshot_append(writer, op->id, one.data, one.len);
		}
	}
	if (out.len > 0)
	{
		SE_FAULT_POINT("state-put");
		se_snapshot_append(writer, op->id, out.data, out.len);
	}
	se_table_clean(table, snapshot);

	for (int i = 0; i < set->ncalls; i++)
	{
		SeTable    *seen = home->seen[i];

		for (uint32 d = 0; seen != NULL && d < seen->ndirty; d++)
		{
			resetStringInfo(&out);
			appendBinaryStringInfo(&out, prefix, (int) prefix_len);
			se_record_put_u8(&out, SE_RECORD_SEEN);
			se_record_put_u32(&out, (uint32) i);
			se_table_write_key(seen, se_table_entry(seen, seen->dirty[d]), &out);
			se_snapshot_append(writer, op->id, out.data, out.len);
		}
		if (seen != NULL)
			se_table_clean(seen, snapshot);
	}
	pfree(out.data);
	pfree(one.data);
}

/* One entry; `one` is scratch. Its length goes first, so that rewrite can pass over it. */
static void
write_put(SeAggSet *set, SeAggHome *home, SeEntry *entry, StringInfo one, StringInfo out)
{
	resetStringInfo(one);
	if (entry->flags & SE_ENTRY_USED)
		write_contents(set, home, entry, one);
	se_record_put_varint(out, entry->index);
	se_record_put_varint(out, one->len);
	appendBinaryStringInfo(out, one->data, one->len);
}

static void
write_contents(SeAggSet *set, SeAggHome *home, SeEntry *entry, StringInfo out)
{
	char	   *acc = se_entry_payload(home->table, entry);
	uint64		rows = home->updating ? se_agg_emit_header(set, acc)->rows : 0;

	se_record_put_u8(out, (entry->flags & SAVED_FLAGS) | (rows > 0 ? SE_SAVED_COUNTED : 0));
	se_table_write_key(home->table, entry, out);
	if (rows > 0)
		se_record_put_varint(out, rows);
	if (home->header_saved > 0)
		appendBinaryStringInfo(out, acc + set->payload_size + home->header_unsaved, (int) home->header_saved);
	for (int i = 0; i < set->ncalls; i++)
	{
		SeAggSlot  *slot = &set->slots[i];

		if (slot->fn == NULL)
			se_native_save(slot, acc, out);
		else
			se_agg_fn_save(slot, acc, out);
		if (home->singly && slot->method == SE_AGG_REPLAY)
			se_agg_replay_save_all(slot, acc, out);
	}
}

/* The index of the next entry of a PUT, and a reader of its contents. */
static uint32
next_put(SeRecordReader *reader, SeRecordReader *contents)
{
	uint64		index = se_record_varint(reader);
	uint64		len = se_record_varint(reader);

	if (index >= PG_UINT32_MAX)
		se_record_corrupted();
	*contents = se_record_reader(se_record_bytes(reader, len), len);
	return (uint32) index;
}

static void
read_put(SeAggSet *set, SeAggHome *home, uint32 index, SeRecordReader *reader, uint32 snapshot)
{
	SeKeys	   *keys = home->table->keys;
	Datum	   *values = palloc(Max(keys->n, 1) * sizeof(Datum));
	bool	   *nulls = palloc(Max(keys->n, 1) * sizeof(bool));
	uint8		flags;
	uint64		rows = 0;
	uint32		hash;
	SeEntry    *entry;
	char	   *acc;

	if (home->singly && reader->next == reader->end)
	{
		/* What was restored of it before is gone. */
		entry = se_table_reach(home->table, index);
		if (entry->flags & SE_ENTRY_USED)
			se_table_remove(home->table, entry);
		return;
	}
	flags = se_record_u8(reader);
	if (flags & ~(SAVED_FLAGS | SE_SAVED_COUNTED))
		se_record_corrupted();
	se_table_read_key(keys, reader, values, nulls);
	if (flags & SE_SAVED_COUNTED)
		rows = se_record_varint(reader);
	hash = se_keys_hash(keys, values, nulls);
	if (!is_own(set, home, hash, values, nulls))
	{
		/* Another unit's; its place stays a gap, so that indexes mean the same. */
		(void) se_table_reach(home->table, index);
		return;
	}
	entry = home->singly ? replaced_entry(set, home, index, values, nulls) : NULL;
	if (entry == NULL)
	{
		entry = se_table_put_at(home->table, index, hash, values, nulls);
		if (home->singly)
			memset(se_entry_payload(home->table, entry), 0, home->table->payload_size);
	}
	entry->flags = (entry->flags & ~SAVED_FLAGS) | (flags & SAVED_FLAGS);
	entry->saved = snapshot;
	acc = se_entry_payload(home->table, entry);
	if (home->updating)
		se_agg_emit_header(set, acc)->rows = rows;
	memcpy(acc + set->payload_size + home->header_unsaved,
		   se_record_bytes(reader, home->header_saved), home->header_saved);
	for (int i = 0; i < set->ncalls; i++)
	{
		SeAggSlot  *slot = &set->slots[i];

		if (slot->fn == NULL)
			se_native_load(slot, home, acc, reader);
		else
			se_agg_fn_load(slot, home, acc, reader);
		if (home->singly && slot->method == SE_AGG_REPLAY)
			se_agg_replay_load_all(slot, home, acc, reader);
	}
	if (reader->next != reader->end)
		se_record_corrupted();
	pfree(values);
	pfree(nulls);
}

/*
 * An entry that comes and goes singly and is put once more, without what was restored of
 * it before: the same one if it has the same key, else NULL, and it is a gap.
 */
static SeEntry *
replaced_entry(SeAggSet *set, SeAggHome *home, uint32 index, const Datum *values, const bool *nulls)
{
	SeTable    *table = home->table;
	SeEntry    *entry = se_table_reach(table, index);
	char	   *acc = se_entry_payload(table, entry);

	if (!(entry->flags & SE_ENTRY_USED))
		return NULL;
	if (!se_keys_equal(table->keys, se_entry_keys(table, entry), entry->nulls, values, nulls))
	{
		se_table_remove(table, entry);
		return NULL;
	}
	se_table_rekey(table, entry, values);
	se_agg_set_reset(set, home, acc);
	memset(acc + set->payload_size, 0, table->payload_size - set->payload_size);
	return entry;
}

SeEntry *
se_agg_home_move(SeAggSet *set, SeAggHome *from, SeEntry *entry, SeAggHome *to)
{
	StringInfoData contents;
	SeRecordReader reader;
	SeEntry    *moved;

	for (int i = 0; i < set->ncalls; i++)
	{
		if (set->slots[i].fn != NULL && set->slots[i].method == SE_AGG_SERIAL)
			se_agg_fn_serialize(&set->slots[i], from, se_entry_payload(from->table, entry));
	}
	initStringInfo(&contents);
	write_contents(set, from, entry, &contents);
	reader = se_record_reader(contents.data, contents.len);
	read_put(set, to, to->table->nentries, &reader, 0);
	moved = se_table_entry(to->table, to->table->nentries - 1);
	se_table_touch_rows(to->table, &moved, 1);
	se_agg_home_remove(from, entry);
	pfree(contents.data);
	return moved;
}

/* The group decides which unit's an entry is. */
static bool
is_own(SeAggSet *set, SeAggHome *home, uint32 hash, const Datum *values, const bool *nulls)
{
	SeKeys	   *keys = home->table->keys;
	int			n = keys->n;

	if (set->env->units <= 1)
		return true;
	if (home->group_keys >= 0)
	{
		keys->n = home->group_keys;
		hash = se_keys_hash(keys, values, nulls);
		keys->n = n;
	}
	return se_key_group_is_own(set->env, hash);
}

/*
 * Tuples may come back before their entry (an older part was written again): the place
 * is made, the PUT that follows fills it.
 */
static SeEntry *
place_of_record(SeAggHome *home, SeRecordReader *reader)
{
	return se_table_reach(home->table, se_record_u32(reader));
}

/* The call a record names, which must be of the right sort. */
static SeAggSlot *
slot_of_record(SeAggSet *set, SeRecordReader *reader, bool tuples)
{
	uint32		number = se_record_u32(reader);

	if (number >= (uint32) set->ncalls)
		se_record_corrupted();
	if (tuples ? set->slots[number].method != SE_AGG_REPLAY : !set->slots[number].distinct)
		se_record_corrupted();
	return &set->slots[number];
}

/* The entry of a record that was restored; NULL if its key is another unit's, or it is gone. */
static SeEntry *
entry_at(SeAggHome *home, uint32 index)
{
	SeEntry    *entry;

	if (index >= home->table->nentries)
		se_record_corrupted();
	entry = se_table_entry(home->table, index);
	if (entry->flags & SE_ENTRY_USED)
		return entry;
	if (home->env->units <= 1 && !home->singly)
		se_record_corrupted();
	return NULL;
}

void
se_agg_home_restore(SeAggSet *set, SeAggHome *home, SeAggRecordKind kind, SeRecordReader *reader,
					uint32 *snapshots)
{
	uint32		snapshot;

	switch (kind)
	{
		case SE_RECORD_PUT:
			snapshot = se_record_u32(reader);
			for (uint32 n = se_record_u32(reader); n > 0; n--)
			{
				SeRecordReader contents;
				uint32		index = next_put(reader, &contents);

				read_put(set, home, index, &contents, snapshot);
			}
			*snapshots = Max(*snapshots, snapshot);
			break;
		case SE_RECORD_SEEN:
			if (home->singly)
				se_record_corrupted();
			se_agg_distinct_restore(slot_of_record(set, reader, false), home, reader);
			break;
		case SE_RECORD_TUPLES:
			{
				SeAggSlot  *slot = slot_of_record(set, reader, true);
				SeEntry    *entry;

				if (home->singly)
					se_record_corrupted();
				entry = place_of_record(home, reader);

				se_agg_fn_load_tuples(slot, home, se_entry_payload(home->table, entry), reader);
				break;
			}
		default:
			se_record_corrupted();
	}
	if (reader->next != reader->end)
		se_record_corrupted();
}

/*
 * A PUT is needed while no later one replaces it, neither written nor about to be.
 * SEEN and TUPLES are needed as long as their home.
 */
Size
se_agg_home_rewrite(SeAggSet *set, SeAggHome *home, const void *record, Size len, Size prefix_len)
{
	SeRecordReader reader = se_record_reader(record, len);
	Size		needed = 0;
	uint32		snapshot;

	(void) se_record_bytes(&reader, prefix_len);
	switch (se_record_u8(&reader))
	{
		case SE_RECORD_PUT:
			snapshot = se_record_u32(&reader);
			for (uint32 n = se_record_u32(&reader); n > 0; n--)
			{
				const char *before = reader.next;
				SeRecordReader contents;
				SeEntry    *entry = entry_at(home, next_put(&reader, &contents));

				if (entry == NULL || entry->saved != snapshot || (entry->flags & SE_ENTRY_DIRTY))
					continue;
				se_table_touch_rows(home->table, &entry, 1);
				needed += contents.end - before;
			}
			return needed;
		case SE_RECORD_SEEN:
			if (!se_agg_distinct_rewrite(slot_of_record(set, &reader, false), home, &reader))
				return 0;
			return len;
		case SE_RECORD_TUPLES:
			{
				MemoryContext old;

				(void) slot_of_record(set, &reader, true);
				if (entry_at(home, se_record_u32(&reader)) == NULL)
					return 0;
				old = MemoryContextSwitchTo(home->memory);
				home->again = lappend(home->again, cstring_to_text_with_len(record, (int) len));
				MemoryContextSwitchTo(old);
				return len;
			}
		default:
			se_record_corrupted();
	}
}
