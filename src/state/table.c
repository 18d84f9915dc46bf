/*
 * state/table.c
 *		The keyed table: key -> fixed-size payload, as windows and groups keep it.
 */
#include "postgres.h"

#include "base/fault.h"
#include "state/table.h"

#define FIRST_SLOTS 32u
#define LARGEST_SLOTS 65536u	/* 512 kB */
#define LARGEST_CHUNK (256 * 1024)
#define DEEPEST 16

/* Below this many entries all of them are in cache anyway. */
#define PREFETCH_FROM 4096

typedef struct Slot
{
	uint32		hash;
	uint32		index;			/* + 1; 0 = empty */
} Slot;

/* A part of the directory: the keys whose hash begins with `depth` given bits. */
typedef struct SeTablePartition
{
	uint32		mask;
	uint32		used;
	int			depth;
	Slot		slots[FLEXIBLE_ARRAY_MEMBER];
} SeTablePartition;

static SeEntry *add_entry(SeTable *table, uint32 index, uint32 hash,
						  const Datum *values, const bool *nulls);
static void reach_index(SeTable *table, uint32 index);
static void add_slot(SeTable *table, uint32 hash, uint32 index);
static void grow_partition(SeTable *table, uint32 hash);
static void split_partition(SeTable *table, SeTablePartition *part, uint32 hash);
static SeTablePartition *new_partition(SeTable *table, uint32 slots, int depth);

static inline uint32
directory_index(const SeTable *table, uint32 hash)
{
	return (uint32) ((uint64) hash >> (32 - table->depth));
}

static inline SeTablePartition *
partition_of(const SeTable *table, uint32 hash)
{
	return table->directory[directory_index(table, hash)];
}

static inline void
place_slot(SeTablePartition *part, Slot slot)
{
	uint32		pos = slot.hash & part->mask;

	while (part->slots[pos].index != 0)
		pos = (pos + 1) & part->mask;
	part->slots[pos] = slot;
	part->used++;
}

SeTable *
se_table_new(SeArena *arena, SeKeys *keys, Size payload_size)
{
	SeTable    *table = palloc0(sizeof(SeTable));

	table->arena = arena;
	table->keys = keys;
	table->keys_offset = TYPEALIGN(8, offsetof(SeEntry, nulls) + keys->n);
	table->payload_offset = table->keys_offset + keys->n * sizeof(Datum);
	table->payload_size = TYPEALIGN(8, payload_size);
	table->entry_size = table->payload_offset + table->payload_size;
	table->large_shift = SE_TABLE_FIRST_SHIFT + 1;
	while (((Size) table->entry_size << (table->large_shift + 1)) <= LARGEST_CHUNK)
		table->large_shift++;

	table->max_chunks = 16;
	table->chunks = palloc(table->max_chunks * sizeof(char *));
	table->directory = se_arena_alloc(arena, sizeof(SeTablePartition *));
	table->directory[0] = new_partition(table, FIRST_SLOTS, 0);
	return table;
}

void
se_table_free(SeTable *table)
{
	pfree(table->chunks);
	pfree(table);
}

SeEntry *
se_table_find(SeTable *table, uint32 hash, const Datum *values, const bool *nulls)
{
	SeTablePartition *part = partition_of(table, hash);

	for (uint32 pos = hash & part->mask;; pos = (pos + 1) & part->mask)
	{
		Slot		slot = part->slots[pos];
		SeEntry    *entry;

		if (slot.index == 0)
			return NULL;
		if (slot.hash != hash)
			continue;
		entry = se_table_entry(table, slot.index - 1);
		if ((entry->flags & SE_ENTRY_USED) == 0)
			continue;
		if (se_keys_equal(table->keys, se_entry_keys(table, entry), entry->nulls, values, nulls))
			return entry;
	}
}

SeEntry *
se_table_get(SeTable *table, uint32 hash, const Datum *values, const bool *nulls)
{
	SeEntry    *entry = se_table_find(table, hash, values, nulls);

	if (entry == NULL)
		entry = add_entry(table, table->nentries, hash, values, nulls);
	return entry;
}

SeEntry *
se_table_add(SeTable *table, uint32 hash, const Datum *values, const bool *nulls)
{
	return add_entry(table, table->nentries, hash, values, nulls);
}

/*
 * A large table costs two cache misses per row. They overlap when the slots of all
 * rows are asked for first, then the entries these name, and only then are keys
 * compared.
 */
void
se_table_prefetch_rows(const SeTable *table, const uint32 *hashes, int n)
{
	if (table->nentries < PREFETCH_FROM)
		return;
	for (int i = 0; i < n; i++)
	{
		SeTablePartition *part = partition_of(table, hashes[i]);

		__builtin_prefetch(&part->slots[hashes[i] & part->mask]);
	}
	for (int i = 0; i < n; i++)
	{
		SeTablePartition *part = partition_of(table, hashes[i]);
		uint32		pos = hashes[i] & part->mask;

		while (part->slots[pos].index != 0 && part->slots[pos].hash != hashes[i])
			pos = (pos + 1) & part->mask;
		if (part->slots[pos].index != 0)
		{
			const char *entry = (const char *) se_table_entry(table, part->slots[pos].index - 1);

			__builtin_prefetch(entry, 1);
			__builtin_prefetch(entry + table->entry_size - 1, 1);
		}
	}
}

void
se_table_get_rows(SeTable *table, const uint32 *hashes, const Datum *values,
				  const bool *nulls, int n, SeEntry **entries)
{
	int			nkeys = table->keys->n;

	se_table_prefetch_rows(table, hashes, n);
	for (int i = 0; i < n; i++)
		entries[i] = se_table_get(table, hashes[i], values + (Size) i * nkeys,
								  nulls + (Size) i * nkeys);
}

SeEntry *
se_table_put_at(SeTable *table, uint32 index, uint32 hash,
				const Datum *values, const bool *nulls)
{
	SeEntry    *entry = se_table_find(table, hash, values, nulls);

	if (entry != NULL)
	{
		if (entry->index != index)
			se_record_corrupted();
		return entry;
	}
	if (index < table->nentries && (se_table_entry(table, index)->flags & SE_ENTRY_USED))
		se_record_corrupted();
	return add_entry(table, index, hash, values, nulls);
}

SeEntry *
se_table_reach(SeTable *table, uint32 index)
{
	reach_index(table, index);
	return se_table_entry(table, index);
}

void
se_table_rekey(SeTable *table, SeEntry *entry, const Datum *values)
{
	Datum	   *keys = se_entry_keys(table, entry);

	for (int k = 0; k < table->keys->n; k++)
	{
		const SeKeyColumn *key = &table->keys->columns[k];
		Datum		old = keys[k];
		Size		size;

		if (key->kind != SE_KEY_GENERIC || entry->nulls[k])
			continue;
		if (key->byval)
		{
			keys[k] = values[k];
			continue;
		}
		size = se_value_size(old, key->typlen);
		if (size == se_value_size(values[k], key->typlen) &&
			memcmp(DatumGetPointer(old), DatumGetPointer(values[k]), size) == 0)
			continue;
		keys[k] = se_value_store(table->arena, values[k], false, key->typlen);
		(void) se_arena_give(table->arena, DatumGetPointer(old), size);
	}
}

/*
 * The slot goes on naming the entry, so that searches pass over it; a find does not stop
 * at a gap.
 */
void
se_table_remove(SeTable *table, SeEntry *entry)
{
	Assert(entry->flags & SE_ENTRY_USED);
	entry->flags &= ~(SE_ENTRY_USED | SE_ENTRY_EMITTED);
	table->nused--;
}

void
se_table_touch_rows(SeTable *table, SeEntry **entries, int n)
{
	if (SE_FAULT_WRONG("wrong-dirty-forgotten"))
		n--;
	if (table->ndirty + n > table->max_dirty)
	{
		uint32		max = Max(64, Max(table->max_dirty * 2, table->ndirty + n));
		uint32	   *dirty = se_arena_block(table->arena, max * sizeof(uint32));

		if (table->dirty != NULL)
		{
			memcpy(dirty, table->dirty, table->ndirty * sizeof(uint32));
			se_arena_block_free(table->arena, table->dirty);
		}
		table->dirty = dirty;
		table->max_dirty = max;
	}
	for (int i = 0; i < n; i++)
	{
		SeEntry    *entry = entries[i];

		if (!(entry->flags & SE_ENTRY_DIRTY))
		{
			entry->flags |= SE_ENTRY_DIRTY;
			table->dirty[table->ndirty++] = entry->index;
		}
	}
}

void
se_table_clean(SeTable *table, uint32 saved)
{
	for (uint32 i = 0; i < table->ndirty; i++)
	{
		SeEntry    *entry = se_table_entry(table, table->dirty[i]);

		entry->flags &= ~SE_ENTRY_DIRTY;
		entry->saved = saved;
	}
	table->ndirty = 0;
}

void
se_table_write_key(const SeTable *table, const SeEntry *entry, StringInfo out)
{
	const Datum *values = se_entry_keys(table, entry);

	for (int k = 0; k < table->keys->n; k++)
	{
		const SeKeyColumn *key = &table->keys->columns[k];

		se_record_put_u8(out, entry->nulls[k]);
		if (!entry->nulls[k])
			se_value_write_any(out, values[k], key->byval, key->typlen, key->enum_type);
	}
}

void
se_table_read_key(const SeKeys *keys, SeRecordReader *reader, Datum *values, bool *nulls)
{
	for (int k = 0; k < keys->n; k++)
	{
		uint8		null = se_record_u8(reader);

		if (null > 1)
			se_record_corrupted();
		nulls[k] = null != 0;
		values[k] = nulls[k] ? (Datum) 0 :
			se_value_read_any(reader, keys->columns[k].byval, keys->columns[k].typlen,
							  keys->columns[k].enum_type);
	}
}

/* A new entry for a key that is not there yet; everything that may fail comes first. */
static SeEntry *
add_entry(SeTable *table, uint32 index, uint32 hash, const Datum *values, const bool *nulls)
{
	SeEntry    *entry;
	Datum	   *keys;

	reach_index(table, index);
	entry = se_table_entry(table, index);
	keys = se_entry_keys(table, entry);
	for (int k = 0; k < table->keys->n; k++)
	{
		const SeKeyColumn *key = &table->keys->columns[k];

		entry->nulls[k] = nulls[k];
		keys[k] = nulls[k] ? (Datum) 0 :
			se_value_store(table->arena, values[k], key->byval, key->typlen);
	}
	entry->hash = hash;
	add_slot(table, hash, index);
	entry->flags = SE_ENTRY_USED;
	table->nused++;
	return entry;
}

/* Make room up to an index; what is passed over becomes gaps. */
static void
reach_index(SeTable *table, uint32 index)
{
	if (index >= PG_UINT32_MAX - 1)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("too many groups in a continuous view")));
	while (index >= table->nentries)
	{
		uint32		i = table->nentries;
		bool		first = i == 0;

		if (first ||
			(i >> table->large_shift ? (i & ((1u << table->large_shift) - 1)) == 0
			 : i >= (1u << SE_TABLE_FIRST_SHIFT) && (i & (i - 1)) == 0))
		{
			Size		entries = first ? 1u << SE_TABLE_FIRST_SHIFT :
			(i >> table->large_shift) ? 1u << table->large_shift : i;

			if (table->nchunks == table->max_chunks)
			{
				table->chunks = repalloc(table->chunks, 2 * table->max_chunks * sizeof(char *));
				table->max_chunks *= 2;
			}
			table->chunks[table->nchunks] = se_arena_alloc(table->arena, entries * table->entry_size);
			table->nchunks++;
		}
		table->nentries++;
		memset(se_table_entry(table, i), 0, table->entry_size);
		se_table_entry(table, i)->index = i;
	}
}

/* Three quarters are taken: probes stay short. */
static bool
is_full(const SeTablePartition *part)
{
	uint32		slots = part->mask + 1;

	return part->used >= slots / 4 * 3;
}

static void
add_slot(SeTable *table, uint32 hash, uint32 index)
{
	SeTablePartition *part = partition_of(table, hash);
	Slot		slot = {hash, index + 1};

	while (is_full(part))
	{
		grow_partition(table, hash);
		part = partition_of(table, hash);
	}
	place_slot(part, slot);
}

/* Double the partition of a hash, or split it when it has its largest size. */
static void
grow_partition(SeTable *table, uint32 hash)
{
	SeTablePartition *old = partition_of(table, hash);
	SeTablePartition *part;
	uint32		slots = old->mask + 1;
	uint32		span;
	uint32		first;

	if (slots >= LARGEST_SLOTS && old->depth < DEEPEST)
	{
		split_partition(table, old, hash);
		return;
	}
	part = new_partition(table, slots * 2, old->depth);
	for (uint32 i = 0; i < slots; i++)
	{
		if (old->slots[i].index != 0)
			place_slot(part, old->slots[i]);
	}
	span = 1u << (table->depth - old->depth);
	first = directory_index(table, hash) & ~(span - 1);
	for (uint32 i = first; i < first + span; i++)
		table->directory[i] = part;
	se_arena_block_free(table->arena, old);
}

static void
split_partition(SeTable *table, SeTablePartition *old, uint32 hash)
{
	SeTablePartition *halves[2];
	uint32		span;
	uint32		first;

	if (old->depth == table->depth)
	{
		uint32		n = 1u << table->depth;
		SeTablePartition **directory = se_arena_block(table->arena, 2 * n * sizeof(*directory));

		for (uint32 i = 0; i < n; i++)
			directory[2 * i] = directory[2 * i + 1] = table->directory[i];
		if (table->depth > 0)	/* the first one is part of a bump block */
			se_arena_block_free(table->arena, table->directory);
		table->directory = directory;
		table->depth++;
	}

	halves[0] = new_partition(table, LARGEST_SLOTS, old->depth + 1);
	halves[1] = new_partition(table, LARGEST_SLOTS, old->depth + 1);
	for (uint32 i = 0; i <= old->mask; i++)
	{
		if (old->slots[i].index != 0)
			place_slot(halves[(old->slots[i].hash >> (31 - old->depth)) & 1], old->slots[i]);
	}
	span = 1u << (table->depth - old->depth);
	first = directory_index(table, hash) & ~(span - 1);
	for (uint32 i = 0; i < span; i++)
		table->directory[first + i] = halves[i >= span / 2];
	se_arena_block_free(table->arena, old);
}

static SeTablePartition *
new_partition(SeTable *table, uint32 slots, int depth)
{
	Size		size = offsetof(SeTablePartition, slots) + slots * sizeof(Slot);
	SeTablePartition *part = se_arena_block(table->arena, size);

	memset(part, 0, size);
	part->mask = slots - 1;
	part->depth = depth;
	return part;
}
