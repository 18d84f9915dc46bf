/*
 * operators/window_merge.c
 *		Windows of several slices: the groups of the open window, merged.
 *
 * A hop window moves over slices; a group's value is the merge of its values in all of
 * them. Merging is done once per (slice, group) when a slice enters and undone once when
 * it leaves, without subtracting (max has no inverse): two parts, as the queue made of
 * two stacks.
 *
 *		slices		| 1   2   3   4 | 5   6 |   7 ...
 *					  front			 back		not yet merged
 *
 * Each group has a value for the front and one for the back; its value in the window
 * is their merge. The back only grows. The front is built at once, from the newest
 * slice to the oldest, and every slice writes down what the value was before it came
 * (its undo): when slice 1 leaves, its groups get that value back, which is exactly the
 * merge of 2 to 4. When a slice of the back has to leave, the front is empty: all
 * slices of the window become the front. So a slice's group costs two merges and one
 * copy in its life, and memory is about twice that of the slices, however many windows
 * overlap. cumulate is the same: nothing leaves until all do.
 *
 * A row that comes for a slice already merged changes the merged values too: one of
 * the back; or the front's and the undo of all older slices of the front.
 *
 * Nothing of this is saved: it is built again from the slices.
 */
#include "postgres.h"

#include "base/fault.h"
#include "operators/window_agg_internal.h"

/* A group of the merged window: this, then the front's and the back's accumulators. */
typedef struct Merged
{
	bool		front;			/* is there a value? */
	bool		back;
} Merged;

#define MERGED_HEADER 8

/* What a group's front was before a slice came; then its accumulators. */
typedef struct SeUndo
{
	uint32		index;			/* of the merged group; UNDO_GAP for a gap of the slice */
	bool		present;
} SeUndo;

#define UNDO_HEADER 8
#define UNDO_GAP PG_UINT32_MAX

static void build_front(SeWindowAgg *agg, SeTime start, SeTime end);
static void add_to_front(SeWindowAgg *agg, SeSlice *slice);
static void add_to_back(SeWindowAgg *agg, SeSlice *slice);
static SeUndo *add_undo(SeWindowAgg *agg, SeSlice *slice);
static void row_into_front(SeWindowAgg *agg, SeSlice *slice, const SeBatch *batch, int row, SeEntry *entry);
static void undo_of_new_group(SeWindowAgg *agg, SeSlice *slice, SeUndo *undo, const SeEntry *entry);
static SeUndo *find_undo(SeWindowAgg *agg, SeSlice *slice, const SeEntry *key, SeTable *table, SeEntry **entry);

static inline char *
front_of(char *payload)
{
	return payload + MERGED_HEADER;
}

static inline char *
back_of(const SeWindowAgg *agg, char *payload)
{
	return payload + MERGED_HEADER + agg->set->payload_size;
}

static inline SeUndo *
undo_at(const SeWindowAgg *agg, const SeSlice *slice, uint32 i)
{
	return (SeUndo *) ((char *) slice->undo + (Size) i * (UNDO_HEADER + agg->set->payload_size));
}

static inline char *
undo_acc(SeUndo *undo)
{
	return (char *) undo + UNDO_HEADER;
}

/* The merged group of a slice's entry, made if it is not there. */
static SeEntry *
group_of(SeWindowAgg *agg, const SeTable *table, const SeEntry *entry)
{
	return se_table_get(agg->merged.home->table, entry->hash, se_entry_keys(table, entry), entry->nulls);
}

static char *
payload_of(SeWindowAgg *agg, SeEntry *group)
{
	return se_entry_payload(agg->merged.home->table, group);
}

/* Forget all of it; the next firing builds it from the slices. */
void
se_window_merge_reset(SeWindowAgg *agg)
{
	if (agg->merged.home != NULL)
		se_agg_home_free(agg->set, agg->merged.home);
	agg->merged.home = NULL;
	agg->merged.merged_to = SE_TIME_MIN;
	agg->merged.front_end = SE_TIME_MIN;
	for (int i = 0; i < agg->nslices; i++)
	{
		agg->slices[i]->undo = NULL;
		agg->slices[i]->undo_entries = agg->slices[i]->undo_room = 0;
	}
}

/* Make the merged groups those of the window [start, end), the next one to fire. */
void
se_window_merge_window(SeWindowAgg *agg, SeTime start, SeTime end)
{
	if (agg->merged.home == NULL)
	{
		build_front(agg, start, end);
		return;
	}
	for (int i = se_window_agg_position(agg, agg->merged.merged_to + 1); i < agg->nslices && agg->slices[i]->end <= end; i++)
	{
		if (agg->slices[i]->start >= start &&
			!(i > 0 && SE_FAULT_WRONG("wrong-hop-merge-missing-slice")))
			add_to_back(agg, agg->slices[i]);
	}
	agg->merged.merged_to = end;
}

static void
build_front(SeWindowAgg *agg, SeTime start, SeTime end)
{
	int			n = 0;

	agg->merged.home = se_agg_home_new(agg->set, agg->keys,
									   MERGED_HEADER + 2 * agg->set->payload_size);
	agg->merged.merged_to = agg->merged.front_end = end;
	while (n < agg->nslices && agg->slices[n]->end <= end)
		n++;
	while (n-- > 0 && agg->slices[n]->start >= start)
		add_to_front(agg, agg->slices[n]);
}

/* A slice older than all in the front. */
static void
add_to_front(SeWindowAgg *agg, SeSlice *slice)
{
	SeTable    *table = slice->home->table;

	for (uint32 i = 0; i < table->nentries; i++)
	{
		SeEntry    *entry = se_table_entry(table, i);
		SeUndo	   *undo = add_undo(agg, slice);
		SeEntry    *group;
		char	   *payload;
		Merged	   *merged;

		if (!(entry->flags & SE_ENTRY_USED))
			continue;
		group = group_of(agg, table, entry);
		payload = payload_of(agg, group);
		merged = (Merged *) payload;
		undo->index = group->index;
		undo->present = merged->front;
		if (merged->front)
			se_agg_set_merge(agg->set, agg->merged.home, undo_acc(undo), front_of(payload));
		se_agg_set_merge(agg->set, agg->merged.home, front_of(payload), se_entry_payload(table, entry));
		merged->front = true;
	}
}

static void
add_to_back(SeWindowAgg *agg, SeSlice *slice)
{
	SeTable    *table = slice->home->table;

	for (uint32 i = 0; i < table->nentries; i++)
	{
		SeEntry    *entry = se_table_entry(table, i);
		char	   *payload;

		if (!(entry->flags & SE_ENTRY_USED))
			continue;
		payload = payload_of(agg, group_of(agg, table, entry));
		se_agg_set_merge(agg->set, agg->merged.home, back_of(agg, payload), se_entry_payload(table, entry));
		((Merged *) payload)->back = true;
	}
}

/* Room for the undo of the slice's next entry: a gap, empty. */
static SeUndo *
add_undo(SeWindowAgg *agg, SeSlice *slice)
{
	Size		size = UNDO_HEADER + agg->set->payload_size;
	SeUndo	   *undo;

	if (slice->undo_entries == slice->undo_room)
	{
		uint32		room = Max(Max(slice->undo_room * 2, slice->home->table->nentries), 8);
		SeUndo	   *larger = se_arena_block(agg->merged.home->arena, room * size);

		if (slice->undo != NULL)
		{
			memcpy(larger, slice->undo, slice->undo_entries * size);
			se_arena_block_free(agg->merged.home->arena, slice->undo);
		}
		slice->undo = larger;
		slice->undo_room = room;
	}
	undo = undo_at(agg, slice, slice->undo_entries++);
	memset(undo, 0, size);
	undo->index = UNDO_GAP;
	return undo;
}

/* A slice leaves, the oldest of all. */
void
se_window_merge_drop(SeWindowAgg *agg, SeSlice *slice)
{
	if (agg->merged.home == NULL || slice->end > agg->merged.merged_to)
		return;
	if (slice->end > agg->merged.front_end)
	{
		/* It is in the back: the rest becomes the front when the next window fires. */
		se_window_merge_reset(agg);
		return;
	}
	for (uint32 i = 0; i < slice->undo_entries; i++)
	{
		SeUndo	   *undo = undo_at(agg, slice, i);
		char	   *payload;

		if (undo->index == UNDO_GAP)
			continue;
		payload = payload_of(agg, se_table_entry(agg->merged.home->table, undo->index));
		((Merged *) payload)->front = undo->present;
		memcpy(front_of(payload), undo_acc(undo), agg->set->payload_size);
	}
	if (slice->undo != NULL)
		se_arena_block_free(agg->merged.home->arena, slice->undo);
	slice->undo = NULL;
	slice->undo_entries = slice->undo_room = 0;
}

bool
se_window_merge_present(SeWindowAgg *agg, const char *payload)
{
	return ((const Merged *) payload)->front || ((const Merged *) payload)->back;
}

/*
 * The accumulators of a merged group: those of the one part it has, or the merge of
 * both, made in `payload` or, if it is the group's own, in a fresh payload of `home`.
 * NULL if no slice of the window has the group.
 */
char *
se_window_merge_group(SeWindowAgg *agg, SeEntry *entry, SeAggHome *home, char *payload)
{
	char	   *own = payload_of(agg, entry);
	const Merged *merged = (const Merged *) own;

	if (!merged->front)
		return merged->back ? back_of(agg, own) : NULL;
	if (!merged->back)
		return front_of(own);
	if (payload == own)
	{
		payload = se_arena_alloc(home->arena, agg->set->payload_size);
		memset(payload, 0, agg->set->payload_size);
	}
	se_agg_set_merge(agg->set, home, payload, front_of(own));
	se_agg_set_merge(agg->set, home, payload, back_of(agg, own));
	return payload;
}

/* Rows for a slice that is merged already; entries are theirs, not yet changed. */
void
se_window_merge_rows(SeWindowAgg *agg, SeSlice *slice, const SeBatch *batch,
					 const int *rows, SeEntry **entries, int n)
{
	for (int i = 0; i < n; i++)
	{
		char	   *acc;
		char	   *payload;

		if (slice->end <= agg->merged.front_end)
		{
			row_into_front(agg, slice, batch, rows[i], entries[i]);
			continue;
		}
		payload = payload_of(agg, group_of(agg, slice->home->table, entries[i]));
		((Merged *) payload)->back = true;
		acc = back_of(agg, payload);
		se_agg_set_apply(agg->set, agg->merged.home, batch, &rows[i], &acc, 1);
	}
}

/* The front's value changes, and so does what it will be when older slices have left. */
static void
row_into_front(SeWindowAgg *agg, SeSlice *slice, const SeBatch *batch, int row, SeEntry *entry)
{
	SeTable    *table = slice->home->table;
	SeEntry    *group = group_of(agg, table, entry);
	char	   *payload = payload_of(agg, group);
	char	   *acc;

	while (slice->undo_entries <= entry->index)
	{
		SeEntry    *new = se_table_entry(table, slice->undo_entries);
		SeUndo	   *undo = add_undo(agg, slice);

		if (new->flags & SE_ENTRY_USED)
			undo_of_new_group(agg, slice, undo, new);
	}

	for (int i = 0; i < agg->nslices && agg->slices[i] != slice; i++)
	{
		SeEntry    *older;
		SeUndo	   *undo = find_undo(agg, agg->slices[i], entry, table, &older);

		if (undo == NULL)
			continue;
		undo->present = true;
		acc = undo_acc(undo);
		se_agg_set_apply(agg->set, agg->merged.home, batch, &row, &acc, 1);
	}
	((Merged *) payload)->front = true;
	acc = front_of(payload);
	se_agg_set_apply(agg->set, agg->merged.home, batch, &row, &acc, 1);
}

/* A group that its slice did not have: without the slice it is what the next newer one left. */
static void
undo_of_new_group(SeWindowAgg *agg, SeSlice *slice, SeUndo *undo, const SeEntry *entry)
{
	SeTable    *table = slice->home->table;
	bool		after = false;

	undo->index = group_of(agg, table, entry)->index;
	for (int i = 0; i < agg->nslices && agg->slices[i]->end <= agg->merged.front_end; i++)
	{
		SeEntry    *newer;
		SeUndo	   *found;

		if (agg->slices[i] == slice)
		{
			after = true;
			continue;
		}
		if (!after)
			continue;
		found = find_undo(agg, agg->slices[i], entry, table, &newer);
		if (found == NULL)
			continue;
		if (found->present)
			se_agg_set_merge(agg->set, agg->merged.home, undo_acc(undo), undo_acc(found));
		se_agg_set_merge(agg->set, agg->merged.home, undo_acc(undo),
						 se_entry_payload(agg->slices[i]->home->table, newer));
		undo->present = true;
		return;
	}
}

/* The undo of a key in a slice of the front, and the slice's entry; NULL if it has none. */
static SeUndo *
find_undo(SeWindowAgg *agg, SeSlice *slice, const SeEntry *key, SeTable *table, SeEntry **entry)
{
	SeEntry    *found = se_table_find(slice->home->table, key->hash, se_entry_keys(table, key), key->nulls);

	if (found == NULL || found->index >= slice->undo_entries)
		return NULL;
	*entry = found;
	return undo_at(agg, slice, found->index);
}
