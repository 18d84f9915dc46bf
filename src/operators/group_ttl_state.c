/*
 * operators/group_ttl_state.c
 *		The records of groups that expire: snapshot, rewrite, restore.
 *
 * Every record begins with version (1), then
 *
 *	M	the operator: 4 number of the snapshot, 8 clock, 8 number of the next replayed row,
 *		4 current generation, 4 old generation (0 = none)
 *	G	groups: 4 generation, then as in operators/agg_set.h; the header is the time of
 *		expiry (8)
 *
 * The newest M counts. What is of neither of its generations is gone.
 *
 * Runs in: task worker; snapshot and restore as flow/operator.h says.
 */
#include "postgres.h"

#include "operators/group_ttl_internal.h"
#include "utils/memutils.h"

#define SORT_GROUPS 'G'

/* Version, sort, generation. */
#define PREFIX_LEN 6

static void read_meta(SeGroupTtl *ttl, SeRecordReader *reader);
static void read_groups(SeGroupTtl *ttl, SeRecordReader *reader);

static void
write_meta(SeGroupTtl *ttl, SeSnapshotWriter *writer)
{
	StringInfoData out;

	se_meta_record_begin(&ttl->meta, &out);
	se_record_put_i64(&out, ttl->clock);
	se_record_put_i64(&out, ttl->arrivals);
	se_record_put_u32(&out, ttl->current->number);
	se_record_put_u32(&out, ttl->old != NULL ? ttl->old->number : 0);
	se_meta_record_append(&ttl->meta, &out, &ttl->op, writer);
	ttl->clock_saved = ttl->clock;
}

static void
snapshot_generation(SeGroupTtl *ttl, SeTtlGeneration *generation, SeSnapshotWriter *writer)
{
	char		prefix[PREFIX_LEN] = {SE_STATE_VERSION, SORT_GROUPS};

	memcpy(prefix + 2, &generation->number, sizeof(generation->number));
	se_agg_home_snapshot(ttl->set, generation->home, &ttl->op, writer, ttl->meta.snapshots, prefix, PREFIX_LEN);
}

void
se_group_ttl_snapshot(SeOperator *op, SeSnapshotWriter *writer)
{
	SeGroupTtl *ttl = (SeGroupTtl *) op;

	/* What moved the clock and is passed is not met again, so the clock is saved with the position. */
	if (ttl->clock != ttl->clock_saved)
		ttl->meta.dirty = true;
	if (ttl->current->home->table->ndirty > 0 || (ttl->old != NULL && ttl->old->home->table->ndirty > 0))
		ttl->meta.dirty = true;
	if (!ttl->meta.dirty)
		return;
	ttl->meta.snapshots++;
	if (ttl->old != NULL)
		snapshot_generation(ttl, ttl->old, writer);
	snapshot_generation(ttl, ttl->current, writer);
	write_meta(ttl, writer);
	se_group_ttl_begin_generation(ttl);
}

/* A generation that is alive, or that is being restored; NULL if it is gone. */
static SeTtlGeneration *
find_generation(SeGroupTtl *ttl, uint32 number)
{
	ListCell   *cell;

	if (ttl->current != NULL && ttl->current->number == number)
		return ttl->current;
	if (ttl->old != NULL && ttl->old->number == number)
		return ttl->old;
	foreach(cell, ttl->restored)
	{
		SeTtlGeneration *generation = lfirst(cell);

		if (generation->number == number)
			return generation;
	}
	return NULL;
}

Size
se_group_ttl_rewrite(SeOperator *op, const void *record, Size len)
{
	SeGroupTtl *ttl = (SeGroupTtl *) op;
	SeRecordReader reader = se_record_reader(record, len);
	SeTtlGeneration *generation;
	uint8		sort;

	sort = se_meta_record_sort(&reader);
	if (sort == SE_SORT_META)
		return se_meta_record_rewrite(&ttl->meta, &reader, len);
	if (sort != SORT_GROUPS)
		se_record_corrupted();
	generation = find_generation(ttl, se_record_u32(&reader));
	return generation == NULL ? 0 : se_agg_home_rewrite(ttl->set, generation->home, record, len, PREFIX_LEN);
}

static void
read_meta(SeGroupTtl *ttl, SeRecordReader *reader)
{
	se_meta_record_read(&ttl->meta, reader);
	ttl->clock = ttl->clock_saved = se_record_i64(reader);
	ttl->arrivals = se_record_i64(reader);
	ttl->restored_current = se_record_u32(reader);
	ttl->restored_old = se_record_u32(reader);
	if (ttl->restored_current == 0 || ttl->restored_old >= ttl->restored_current || ttl->arrivals < 0 ||
		reader->next != reader->end)
		se_record_corrupted();
}

void
se_group_ttl_restore(SeOperator *op, const void *record, Size len)
{
	SeGroupTtl *ttl = (SeGroupTtl *) op;
	SeRecordReader reader = se_record_reader(record, len);
	MemoryContext old = MemoryContextSwitchTo(ttl->scratch);
	uint8		sort;

	sort = se_meta_record_sort(&reader);
	if (sort == SE_SORT_META)
		read_meta(ttl, &reader);
	else if (sort == SORT_GROUPS)
		read_groups(ttl, &reader);
	else
		se_record_corrupted();
	MemoryContextSwitchTo(old);
	MemoryContextReset(ttl->scratch);
}

static void
read_groups(SeGroupTtl *ttl, SeRecordReader *reader)
{
	uint32		number = se_record_u32(reader);
	SeAggRecordKind kind = se_record_u8(reader);
	SeTtlGeneration *generation;

	if (number == 0)
		se_record_corrupted();
	generation = find_generation(ttl, number);
	if (generation == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(ttl->op.env->memory);

		generation = se_group_ttl_generation_new(ttl, number);
		ttl->restored = lappend(ttl->restored, generation);
		MemoryContextSwitchTo(old);
	}
	se_agg_home_restore(ttl->set, generation->home, kind, reader, &ttl->meta.snapshots);
}

static SeTtlGeneration *
take_restored(SeGroupTtl *ttl, uint32 number)
{
	SeTtlGeneration *generation = find_generation(ttl, number);

	if (generation == NULL)
		return se_group_ttl_generation_new(ttl, number);
	ttl->restored = list_delete_ptr(ttl->restored, generation);
	return generation;
}

/* Make the timers of a generation's groups, each of which is nowhere else. */
static void
link_groups(SeGroupTtl *ttl, SeTtlGeneration *generation)
{
	SeTable    *table = generation->home->table;

	for (uint32 i = 0; i < table->nentries; i++)
	{
		SeEntry    *entry = se_table_entry(table, i);

		if (!(entry->flags & SE_ENTRY_USED))
			continue;
		if (generation == ttl->old &&
			se_table_find(ttl->current->home->table, entry->hash, se_entry_keys(table, entry), entry->nulls) != NULL)
			se_record_corrupted();
		se_group_ttl_life(ttl, entry)->home = generation->home;
		se_timers_add(&generation->timers, se_group_ttl_life(ttl, entry)->expires, entry);
		if (!(entry->flags & SE_ENTRY_STALE))
			continue;
		if (generation == ttl->old)
			se_record_corrupted();
		se_group_ttl_must_emit(ttl, entry);
	}
}

/* Generations that are gone were restored for nothing. */
void
se_group_ttl_restored(SeOperator *op)
{
	SeGroupTtl *ttl = (SeGroupTtl *) op;
	ListCell   *cell;

	ttl->current = take_restored(ttl, Max(ttl->restored_current, 1));
	if (ttl->restored_old != 0)
		ttl->old = take_restored(ttl, ttl->restored_old);
	foreach(cell, ttl->restored)
		se_group_ttl_generation_free(ttl, lfirst(cell));
	list_free(ttl->restored);
	ttl->restored = NIL;

	link_groups(ttl, ttl->current);
	if (ttl->old != NULL)
		link_groups(ttl, ttl->old);
	se_group_ttl_reach(ttl, ttl->clock);
	op->env->commit_wanted |= ttl->old != NULL;
	se_group_ttl_publish(ttl);
}
