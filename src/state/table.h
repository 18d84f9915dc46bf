/*
 * state/table.h
 *		The keyed table: key -> fixed-size payload, as windows and groups keep it.
 *
 * Words: an *entry* is one key with its payload; its *index* counts from 0 in order of
 * creation and is its identity in saved records, also after a restore (when units
 * share state, indexes may have gaps); *dirty* = changed since the last snapshot.
 *
 *	entry:	hash | saved | index | flags, key nulls | key Datums | payload
 *
 * Entries never move, and their memory dies whole with the arena: an entry that is
 * removed leaves a gap, which is not used again. The directory is an array of partitions chosen by the hash's high bits, each
 * an open-addressing array of (hash, index) of at most 64 K slots; a full one splits in
 * two (extendible hashing), so nothing is ever rehashed as a whole.
 *
 * A fresh payload is zeroes. By-reference keys live in the arena.
 */
#ifndef SE_TABLE_H
#define SE_TABLE_H

#include "base/se.h"
#include "lib/stringinfo.h"
#include "port/pg_bitutils.h"
#include "state/arena.h"
#include "state/key.h"
#include "state/value.h"

#define SE_ENTRY_USED		0x01	/* not a gap */
#define SE_ENTRY_DIRTY		0x02
#define SE_ENTRY_EMITTED	0x04	/* the operator's: its row is in the result */
#define SE_ENTRY_STALE		0x08	/* the operator's: and it is not what the group is now (operators/stale.h) */
#define SE_ENTRY_LISTED		0x10	/* in a list of stale entries; never saved */
#define SE_ENTRY_DUE		0x20	/* in a list of entries to be emitted; never saved */
#define SE_ENTRY_CHANGED	0x40	/* the operator's: its row is to be emitted at the next commit; never saved */

typedef struct SeEntry
{
	uint32		hash;
	uint32		saved;			/* number of the snapshot that wrote it last, 0 = none */
	uint32		index;
	uint8		flags;
	bool		nulls[FLEXIBLE_ARRAY_MEMBER];
} SeEntry;

/* Entries of the first chunk; chunks double up to the largest. */
#define SE_TABLE_FIRST_SHIFT 4

typedef struct SeTable
{
	/* shape: fixed when made */
	SeArena    *arena;
	SeKeys	   *keys;
	uint32		keys_offset;
	uint32		payload_offset;
	uint32		payload_size;
	uint32		entry_size;
	int			large_shift;	/* log2 of the entries of a largest chunk */

	/* entries */
	uint32		nentries;		/* indexes in use, gaps included */
	uint32		nused;
	char	  **chunks;
	int			nchunks;
	int			max_chunks;

	/* directory */
	struct SeTablePartition **directory;
	int			depth;			/* 2^depth partition pointers */

	/* what changed since the last snapshot */
	uint32	   *dirty;
	uint32		ndirty;
	uint32		max_dirty;
} SeTable;

extern SeTable *se_table_new(SeArena *arena, SeKeys *keys, Size payload_size);

/* Forget the table itself; its arena is the caller's to free. */
extern void se_table_free(SeTable *table);

/* The entry of a prepared key, or NULL. */
extern SeEntry *se_table_find(SeTable *table, uint32 hash, const Datum *values, const bool *nulls);

/* The entry of a prepared key, made if it is not there. */
extern SeEntry *se_table_get(SeTable *table, uint32 hash, const Datum *values, const bool *nulls);

/* The same for n keys prepared by se_keys_prepare; keeps the memory system busy. */
extern void se_table_get_rows(SeTable *table, const uint32 *hashes, const Datum *values,
							  const bool *nulls, int n, SeEntry **entries);

/* Ask for what finding these keys will read. */
extern void se_table_prefetch_rows(const SeTable *table, const uint32 *hashes, int n);

/* A new entry for a prepared key that is known not to be there. */
extern SeEntry *se_table_add(SeTable *table, uint32 hash, const Datum *values, const bool *nulls);

/* Restore: the entry with this index; ERROR (data_corrupted) if it has another key. */
extern SeEntry *se_table_put_at(SeTable *table, uint32 index, uint32 hash,
								const Datum *values, const bool *nulls);

/* The place of an index, made as a gap if it is not there yet. */
extern SeEntry *se_table_reach(SeTable *table, uint32 index);

/* Show an entry's key as another image of it, equal but for its looks. */
extern void se_table_rekey(SeTable *table, SeEntry *entry, const Datum *values);

/* The entry is a gap from now on; it stays dirty if it was. Keys and payload are as before. */
extern void se_table_remove(SeTable *table, SeEntry *entry);

/* Remember that entries changed. */
extern void se_table_touch_rows(SeTable *table, SeEntry **entries, int n);

/* All dirty entries were written as snapshot number `saved`. */
extern void se_table_clean(SeTable *table, uint32 saved);

/* A key to and from a record: null flags, then the values. Read values are prepared. */
extern void se_table_write_key(const SeTable *table, const SeEntry *entry, StringInfo out);
extern void se_table_read_key(const SeKeys *keys, SeRecordReader *reader, Datum *values, bool *nulls);

/* Entry by index; may be a gap (SE_ENTRY_USED not set). */
static inline SeEntry *
se_table_entry(const SeTable *table, uint32 index)
{
	int			shift;

	Assert(index < table->nentries);
	if (index >> table->large_shift)
	{
		uint32		chunk = (index >> table->large_shift) + table->large_shift - SE_TABLE_FIRST_SHIFT;

		return (SeEntry *) (table->chunks[chunk] +
							(Size) (index & ((1u << table->large_shift) - 1)) * table->entry_size);
	}
	if (index < (1u << SE_TABLE_FIRST_SHIFT))
		return (SeEntry *) (table->chunks[0] + (Size) index * table->entry_size);
	shift = pg_leftmost_one_pos32(index);
	return (SeEntry *) (table->chunks[shift - SE_TABLE_FIRST_SHIFT + 1] +
						(Size) (index - (1u << shift)) * table->entry_size);
}

static inline Datum *
se_entry_keys(const SeTable *table, const SeEntry *entry)
{
	return (Datum *) ((char *) entry + table->keys_offset);
}

static inline char *
se_entry_payload(const SeTable *table, const SeEntry *entry)
{
	return (char *) entry + table->payload_offset;
}

static inline SeEntry *
se_payload_entry(const SeTable *table, const char *payload)
{
	return (SeEntry *) (payload - table->payload_offset);
}

#endif							/* SE_TABLE_H */
