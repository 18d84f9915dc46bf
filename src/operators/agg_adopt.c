/*
 * operators/agg_adopt.c
 *		Groups of one operator's home become those of another's, of the same query under other options.
 *
 * An accumulator goes over as the bytes that a record would have of it. Two things are kept in another way where
 * groups come and go singly: tuples that are replayed are numbered over all groups, so they get new numbers, in
 * the order of their group; and what DISTINCT has met is not in a set but among the tuples. A set's items become
 * tuples; tuples are given to the set as rows, and those that are new to it to the accumulator.
 *
 * Runs in: task worker, in a round.
 */
#include "postgres.h"

#include "base/fault.h"
#include "base/settings.h"
#include "miscadmin.h"
#include "operators/agg_adopt.h"
#include "operators/agg_call.h"
#include "operators/agg_distinct.h"
#include "utils/memutils.h"

/* Garbage is thrown away after so many groups, or items of a set. */
#define GROUPS_PER_RESET 64

struct SeAggAdoption
{
	SeAggSet   *set;
	SeAggHome  *to;
	SeAggSet   *from_set;
	SeAggHome  *from;

	/* where the groups are now, by their old index; NULL: no set has to know */
	SeEntry   **moved;

	/* rows for calls whose set is filled; NULL: there are none */
	SeBatch    *batch;
	int		   *rows;
	char	  **accs;

	MemoryContext scratch;
	int			count;			/* since it was reset */
};

static SeEntry **new_places(uint32 n);
static void adopt_call(SeAggAdoption *adoption, int call, char *acc, char *from_acc);
static void copy_bytes(SeAggAdoption *adoption, const SeAggSlot *slot, const SeAggSlot *from_slot, char *acc, char *from_acc);
static void copy_tuples(SeAggAdoption *adoption, const SeAggSlot *slot, const SeAggSlot *from_slot, char *acc, const char *from_acc);
static void fill_set(SeAggAdoption *adoption, const SeAggSlot *slot, const SeAggSlot *from_slot, char *acc, const char *from_acc);
static void apply_rows(SeAggAdoption *adoption, const SeAggSlot *slot);
static void replay_set(SeAggAdoption *adoption, const SeAggSlot *slot, SeTable *seen);
static void count_group(SeAggAdoption *adoption);

SeAggAdoption *
se_agg_adopt_begin(SeAggSet *set, SeAggHome *to, TupleDesc input, SeAggSet *from_set, SeAggHome *from)
{
	SeAggAdoption *adoption = palloc0(sizeof(SeAggAdoption));

	Assert(set->ncalls == from_set->ncalls && to->table->keys->n == from->table->keys->n);
	adoption->set = set;
	adoption->to = to;
	adoption->from_set = from_set;
	adoption->from = from;
	adoption->scratch = AllocSetContextCreate(CurrentMemoryContext, "stream_engine adoption",
											  ALLOCSET_DEFAULT_SIZES);
	for (int i = 0; i < set->ncalls; i++)
	{
		if (from_set->slots[i].distinct && adoption->moved == NULL)
			adoption->moved = new_places(from->table->nentries);
		if (set->slots[i].distinct && adoption->batch == NULL)
		{
			adoption->batch = se_batch_new(CurrentMemoryContext, input, Max(se_batch_rows, 1));
			adoption->rows = palloc(adoption->batch->capacity * sizeof(int));
			adoption->accs = palloc(adoption->batch->capacity * sizeof(char *));
		}
	}
	return adoption;
}

static SeEntry **
new_places(uint32 n)
{
	Size		size = Max(n, 1) * sizeof(SeEntry *);
	SeEntry   **places = MemoryContextAllocHuge(CurrentMemoryContext, size);

	memset(places, 0, size);
	return places;
}

SeEntry *
se_agg_adopt(SeAggAdoption *adoption, SeEntry *entry)
{
	SeTable    *table = adoption->to->table;
	SeTable    *from = adoption->from->table;
	MemoryContext old = MemoryContextSwitchTo(adoption->scratch);
	SeEntry    *moved;

	Assert(se_table_find(table, entry->hash, se_entry_keys(from, entry), entry->nulls) == NULL);
	moved = se_table_add(table, entry->hash, se_entry_keys(from, entry), entry->nulls);
	se_table_touch_rows(table, &moved, 1);
	for (int i = 0; i < adoption->set->ncalls; i++)
		adopt_call(adoption, i, se_entry_payload(table, moved), se_entry_payload(from, entry));
	if (adoption->moved != NULL)
		adoption->moved[entry->index] = moved;
	MemoryContextSwitchTo(old);
	count_group(adoption);
	return moved;
}

static void
adopt_call(SeAggAdoption *adoption, int call, char *acc, char *from_acc)
{
	const SeAggSlot *slot = &adoption->set->slots[call];
	const SeAggSlot *from_slot = &adoption->from_set->slots[call];

	if (from_slot->distinct && !slot->distinct)
		return;					/* the set says it all: se_agg_adopt_end */
	if (slot->distinct && !from_slot->distinct)
		fill_set(adoption, slot, from_slot, acc, from_acc);
	else if (slot->method != from_slot->method || slot->distinct)
		elog(ERROR, "aggregate %u is kept in another way", slot->call->aggref->aggfnoid);
	else if (slot->method == SE_AGG_REPLAY)
		copy_tuples(adoption, slot, from_slot, acc, from_acc);
	else
		copy_bytes(adoption, slot, from_slot, acc, from_acc);
}

static void
copy_bytes(SeAggAdoption *adoption, const SeAggSlot *slot, const SeAggSlot *from_slot, char *acc, char *from_acc)
{
	StringInfoData bytes;
	SeRecordReader reader;

	initStringInfo(&bytes);
	if (slot->fn == NULL)
		se_native_save(from_slot, from_acc, &bytes);
	else
	{
		if (slot->method == SE_AGG_SERIAL)
			se_agg_fn_serialize(from_slot, adoption->from, from_acc);
		se_agg_fn_save(from_slot, from_acc, &bytes);
	}
	reader = se_record_reader(bytes.data, bytes.len);
	if (slot->fn == NULL)
		se_native_load(slot, adoption->to, acc, &reader);
	else
		se_agg_fn_load(slot, adoption->to, acc, &reader);
	Assert(reader.next == reader.end);
}

static void
copy_tuples(SeAggAdoption *adoption, const SeAggSlot *slot, const SeAggSlot *from_slot, char *acc, const char *from_acc)
{
	const SeReplayAcc *from = (const SeReplayAcc *) (from_acc + from_slot->offset);
	SeReplayAcc *to = (SeReplayAcc *) (acc + slot->offset);

	if (from->direct != NULL)
		se_agg_replay_direct(slot->fn, adoption->to, to, from->direct->values,
							 se_agg_tuple_nulls(from->direct, slot->fn->ndirect));
	for (SeAggTuple *tuple = from->first; tuple != NULL; tuple = tuple->next)
	{
		CHECK_FOR_INTERRUPTS();
		se_agg_replay_add(slot->fn, adoption->to, to, tuple->values, se_agg_tuple_nulls(tuple, slot->fn->nargs));
	}
}

/* The tuples of a group as rows, of which the set keeps what is new. */
static void
fill_set(SeAggAdoption *adoption, const SeAggSlot *slot, const SeAggSlot *from_slot, char *acc, const char *from_acc)
{
	const SeReplayAcc *from = (const SeReplayAcc *) (from_acc + from_slot->offset);
	const SeAggFn *fn = from_slot->fn;
	SeBatch    *batch = adoption->batch;

	Assert(fn->nargs == 1);
	for (SeAggTuple *tuple = from->first; tuple != NULL; tuple = tuple->next)
	{
		se_batch_values(batch, batch->nrows)[slot->arg] = tuple->values[0];
		se_batch_nulls(batch, batch->nrows)[slot->arg] = se_agg_tuple_nulls(tuple, fn->nargs)[0];
		adoption->rows[batch->nrows] = batch->nrows;
		adoption->accs[batch->nrows] = acc;
		batch->nrows++;
		if (batch->nrows == batch->capacity)
			apply_rows(adoption, slot);
	}
	apply_rows(adoption, slot);
}

static void
apply_rows(SeAggAdoption *adoption, const SeAggSlot *slot)
{
	SeBatch    *batch = adoption->batch;
	int			n;

	CHECK_FOR_INTERRUPTS();
	n = se_agg_distinct_keep(slot, adoption->to, batch, adoption->rows, adoption->accs, batch->nrows,
							 adoption->rows, adoption->accs);
	se_native_apply(slot, adoption->to, batch, adoption->rows, adoption->accs, n);
	se_batch_reset(batch);
}

void
se_agg_adopt_end(SeAggAdoption *adoption)
{
	for (int i = 0; i < adoption->set->ncalls; i++)
	{
		SeTable    *seen = adoption->from->seen[i];

		if (adoption->from_set->slots[i].distinct && seen != NULL && !SE_FAULT_WRONG("wrong-adopt-set-forgotten"))
			replay_set(adoption, &adoption->set->slots[i], seen);
	}
	MemoryContextDelete(adoption->scratch);
}

/* The items of a set become tuples of their groups, in the order in which they were met. */
static void
replay_set(SeAggAdoption *adoption, const SeAggSlot *slot, SeTable *seen)
{
	SeTable    *table = adoption->to->table;

	/* Calls with a set have one argument. */
	Assert(slot->fn->nargs == 1 && seen->keys->n == 2);
	for (uint32 i = 0; i < seen->nentries; i++)
	{
		SeEntry    *item = se_table_entry(seen, i);
		Datum	   *keys = se_entry_keys(seen, item);
		SeEntry    *entry = adoption->moved[(uint32) DatumGetInt32(keys[0])];

		CHECK_FOR_INTERRUPTS();
		if (entry != NULL)		/* else it is another unit's */
			se_agg_replay_add(slot->fn, adoption->to,
							  (SeReplayAcc *) (se_entry_payload(table, entry) + slot->offset),
							  keys + 1, item->nulls + 1);
	}
}

static void
count_group(SeAggAdoption *adoption)
{
	CHECK_FOR_INTERRUPTS();
	if (++adoption->count < GROUPS_PER_RESET)
		return;
	MemoryContextReset(adoption->scratch);
	adoption->count = 0;
}
