/*
 * operators/session_state.c
 *		The session aggregate's records: snapshot, rewrite, restore.
 *
 * Every record begins with 1 version (1) and 1 sort of record:
 *
 *	M	the operator: 4 number of the snapshot, 8 watermark sent on, 1 firing, 8 watermark to
 *		reach, 8 number of the next session, 8 number of the next replayed row, 4 current generation,
 *		4 old generation (0 = none), 8 what ends before is final, 8 next multiple of `early`, 8 of which interval
 *		(negative: by the clock; 0: none), then the stash (stash.c)
 *	S	sessions: 4 generation, then as in operators/agg_set.h; the key ends with the session's
 *		number (8), the header is start and end (8 + 8)
 *	U	the same of results that change; the header goes on with start and end of the row that is in the
 *		result (8 + 8), when the session is looked at next (8), rows since the last multiple of `every` (8),
 *		status (8: bit 0 has fired, bit 1 is stale, bit 2 always)
 *
 * When options of the view are altered, records may be of sort S though results change now: their sessions
 * have not been shown. There is no way back.
 *
 * The newest M counts. What is of neither of its generations is gone.
 */
#include "postgres.h"

#include "operators/session_list.h"
#include "utils/memutils.h"

#define SORT_SESSIONS 'S'
#define SORT_UPDATING 'U'

/* Version, sort, generation. */
#define PREFIX_LEN 6

static void snapshot_generation(SeSessionAgg *agg, SeSessionGeneration *generation, SeSnapshotWriter *writer);
static void write_meta(SeSessionAgg *agg, SeSnapshotWriter *writer);
static bool is_sessions(const SeSessionAgg *agg, uint8 sort);
static int64 early_interval(const SeSessionAgg *agg);
static void read_meta(SeSessionAgg *agg, SeRecordReader *reader);
static SeSessionGeneration *find_generation(SeSessionAgg *agg, uint32 number);
static SeSessionGeneration *take_restored(SeSessionAgg *agg, uint32 number);
static void link_sessions(SeSessionAgg *agg, SeSessionGeneration *generation);

void
se_session_state_prepare(SeOperator *op)
{
	SeSessionAgg *agg = (SeSessionAgg *) op;

	if (agg->updating)
		se_session_update_prepare(agg);
	se_session_agg_publish(agg);
}

void
se_session_state_snapshot(SeOperator *op, SeSnapshotWriter *writer)
{
	SeSessionAgg *agg = (SeSessionAgg *) op;

	agg->meta.snapshots++;
	if (agg->old != NULL)
		snapshot_generation(agg, agg->old, writer);
	snapshot_generation(agg, agg->current, writer);
	if (agg->meta.dirty)
		write_meta(agg, writer);
}

static void
snapshot_generation(SeSessionAgg *agg, SeSessionGeneration *generation, SeSnapshotWriter *writer)
{
	char		prefix[PREFIX_LEN] = {SE_STATE_VERSION, agg->updating ? SORT_UPDATING : SORT_SESSIONS};

	memcpy(prefix + 2, &generation->number, sizeof(generation->number));
	se_agg_home_snapshot(agg->set, generation->home, &agg->op, writer, agg->meta.snapshots, prefix, PREFIX_LEN);
}

static void
write_meta(SeSessionAgg *agg, SeSnapshotWriter *writer)
{
	StringInfoData out;

	se_meta_record_begin(&agg->meta, &out);
	se_record_put_i64(&out, agg->op.watermark_out);
	se_record_put_u8(&out, agg->firing);
	se_record_put_i64(&out, agg->fire_to);
	se_record_put_i64(&out, agg->next_number);
	se_record_put_i64(&out, agg->arrivals);
	se_record_put_u32(&out, agg->current->number);
	se_record_put_u32(&out, agg->old != NULL ? agg->old->number : 0);
	se_record_put_i64(&out, agg->final_to);
	se_record_put_i64(&out, agg->early_next);
	se_record_put_i64(&out, early_interval(agg));
	se_stash_write(&agg->stash, &out);
	se_meta_record_append(&agg->meta, &out, &agg->op, writer);
}

static void
read_meta(SeSessionAgg *agg, SeRecordReader *reader)
{
	uint8		firing;

	se_meta_record_read(&agg->meta, reader);
	agg->op.watermark_out = se_record_i64(reader);
	firing = se_record_u8(reader);
	if (firing > 1)
		se_record_corrupted();
	agg->firing = firing != 0;
	agg->fire_to = se_record_i64(reader);
	agg->next_number = se_record_i64(reader);
	agg->arrivals = se_record_i64(reader);
	agg->restored_current = se_record_u32(reader);
	agg->restored_old = se_record_u32(reader);
	if (agg->restored_current == 0 || agg->restored_old >= agg->restored_current ||
		agg->next_number < 0 || agg->arrivals < 0)
		se_record_corrupted();
	agg->final_to = se_record_i64(reader);
	agg->early_next = se_record_i64(reader);
	if (se_record_i64(reader) != early_interval(agg))
		agg->early_next = SE_TIME_MIN;
	se_stash_read(&agg->stash, reader);
	if (reader->next != reader->end)
		se_record_corrupted();
}

/* Multiples of what is `early` about? Below 0: of the clock. */
static int64
early_interval(const SeSessionAgg *agg)
{
	return agg->node->emit.early_clock ? -agg->node->emit.early : agg->node->emit.early;
}

static bool
is_sessions(const SeSessionAgg *agg, uint8 sort)
{
	return sort == SORT_SESSIONS || (sort == SORT_UPDATING && agg->updating);
}

/* A generation that is alive, or that is being restored; NULL if it is gone. */
static SeSessionGeneration *
find_generation(SeSessionAgg *agg, uint32 number)
{
	ListCell   *cell;

	if (agg->current != NULL && agg->current->number == number)
		return agg->current;
	if (agg->old != NULL && agg->old->number == number)
		return agg->old;
	foreach(cell, agg->restored)
	{
		SeSessionGeneration *generation = lfirst(cell);

		if (generation->number == number)
			return generation;
	}
	return NULL;
}

Size
se_session_state_rewrite(SeOperator *op, const void *record, Size len)
{
	SeSessionAgg *agg = (SeSessionAgg *) op;
	SeRecordReader reader = se_record_reader(record, len);
	SeSessionGeneration *generation;
	uint8		sort;

	sort = se_meta_record_sort(&reader);
	if (sort == SE_SORT_META)
		return se_meta_record_rewrite(&agg->meta, &reader, len);
	if (!is_sessions(agg, sort))
		se_record_corrupted();
	generation = find_generation(agg, se_record_u32(&reader));
	return generation == NULL ? 0 : se_agg_home_rewrite(agg->set, generation->home, record, len, PREFIX_LEN);
}

void
se_session_state_restore(SeOperator *op, const void *record, Size len)
{
	SeSessionAgg *agg = (SeSessionAgg *) op;
	SeRecordReader reader = se_record_reader(record, len);
	MemoryContext old = MemoryContextSwitchTo(agg->scratch);
	uint8		sort;

	sort = se_meta_record_sort(&reader);
	if (sort == SE_SORT_META)
		read_meta(agg, &reader);
	else
	{
		SeSessionGeneration *generation;
		uint32		number;
		SeAggRecordKind kind;

		number = se_record_u32(&reader);
		if (!is_sessions(agg, sort) || number == 0)
			se_record_corrupted();
		kind = se_record_u8(&reader);
		generation = find_generation(agg, number);
		if (generation == NULL)
		{
			MemoryContextSwitchTo(op->env->memory);
			generation = se_session_generation_new(agg, number);
			agg->restored = lappend(agg->restored, generation);
			MemoryContextSwitchTo(agg->scratch);
		}
		generation->home->header_saved = SE_SESSION_SAVED(sort == SORT_UPDATING);
		se_agg_home_restore(agg->set, generation->home, kind, &reader, &agg->meta.snapshots);
		generation->home->header_saved = SE_SESSION_SAVED(agg->updating);
	}
	MemoryContextSwitchTo(old);
	MemoryContextReset(agg->scratch);
}

/* Generations that are gone were restored for nothing; of the others the anchors are made. */
void
se_session_state_restored(SeOperator *op)
{
	SeSessionAgg *agg = (SeSessionAgg *) op;
	ListCell   *cell;

	agg->current = take_restored(agg, Max(agg->restored_current, 1));
	if (agg->restored_old != 0)
		agg->old = take_restored(agg, agg->restored_old);
	foreach(cell, agg->restored)
		se_session_generation_free(agg, lfirst(cell));
	list_free(agg->restored);
	agg->restored = NIL;

	if (agg->old != NULL)
		link_sessions(agg, agg->old);
	link_sessions(agg, agg->current);
	se_session_agg_publish(agg);
}

static SeSessionGeneration *
take_restored(SeSessionAgg *agg, uint32 number)
{
	SeSessionGeneration *generation = find_generation(agg, number);

	if (generation == NULL)
		return se_session_generation_new(agg, number);
	agg->restored = list_delete_ptr(agg->restored, generation);
	return generation;
}

static void
link_sessions(SeSessionAgg *agg, SeSessionGeneration *generation)
{
	SeTable    *table = generation->home->table;
	int			nkeys = agg->keys->n;

	for (uint32 i = 0; i < table->nentries; i++)
	{
		SeEntry    *entry = se_table_entry(table, i);
		const Datum *values = se_entry_keys(table, entry);
		SeSession  *session = se_session_of_entry(agg, generation, entry);
		SeEntry    *anchor;
		SeSessionList *list;
		SeSession  *next;

		if (!(entry->flags & SE_ENTRY_USED))
			continue;
		if (session->start > session->end || entry->nulls[nkeys] ||
			DatumGetInt64(values[nkeys]) >= agg->next_number)
			se_record_corrupted();
		if (agg->updating &&
			(session->rows < 0 ||
			 (session->status & ~(uint64) (SE_SESSION_FIRED | SE_SESSION_STALE | SE_SESSION_UPDATING)) != 0))
			se_record_corrupted();
		anchor = se_table_get(generation->anchors, se_keys_hash(agg->keys, values, entry->nulls),
							  values, entry->nulls);
		list = (SeSessionList *) se_entry_payload(generation->anchors, anchor);
		next = se_session_list_find(list, session->start);
		if (next != NULL && next->start <= session->end)
			se_record_corrupted();	/* sessions of a key never touch */
		session->entry = entry;
		if (agg->updating)
			se_session_update_restored(agg, session);
		se_session_link(agg, generation, anchor, session, agg->updating ? session->wake : session->end);
	}
}
