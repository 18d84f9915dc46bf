/*
 * operators/session_key.c
 *		The open sessions of a key, in order of time; and generations of them.
 *
 * Sessions of a key never touch, so they are in order of their starts and of their ends
 * alike, and the ones a row touches are found by bisection. Most keys have one.
 *
 * Entries of a table are not used twice. When twice as many of a generation's are gone as open,
 * a new one is begun; with every batch some keys of the old one move over, those
 * that rows come for at once; then the old one is freed whole. So a session is moved once
 * for each time as many were closed, and no batch pays for all of them.
 */
#include "postgres.h"

#include "operators/session_internal.h"

/* So many times more than open must be gone; and in a small one so many. */
#define GONE_PER_OPEN 2
#define LEAST_GONE 1024

static void insert_at(SeSessionGeneration *generation, SeSessionList *list, uint32 at, SeSession *session);
static void unlink_session(SeSession *session);
static void copy_session(SeSessionAgg *agg, SeSession *from, SeEntry *anchor);

/* The sessions of an anchor, as an array. */
SeSession **
se_session_list(SeSessionList *list, uint32 *n)
{
	*n = list->n;
	return list->n == 1 ? &list->one : list->many;
}

/* The first session that ends at `start` or later. */
uint32
se_session_first_touching(SeSessionList *list, SeTime start)
{
	uint32		high;
	SeSession **sessions = se_session_list(list, &high);
	uint32		low = 0;

	while (low < high)
	{
		uint32		middle = (low + high) / 2;

		if (sessions[middle]->end >= start)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/*
 * A new session without rows. Its keys are those of its own first row: the anchor's, which may come
 * from a session long over, are equal, but need not look the same (1.0 and 1.00).
 */
SeSession *
se_session_open(SeSessionAgg *agg, SeSessionGeneration *generation, SeEntry *anchor,
				const Datum *keys, const bool *nulls, SeTime start, SeTime end)
{
	int			nkeys = agg->keys->n;
	uint32		hash = anchor->hash ^ (uint32) agg->next_number * 0x9E3779B1u;
	SeEntry    *entry;
	SeSession  *session;

	memcpy(agg->session_values, keys, nkeys * sizeof(Datum));
	memcpy(agg->session_nulls, nulls, nkeys * sizeof(bool));
	agg->session_values[nkeys] = Int64GetDatum(agg->next_number++);
	agg->session_nulls[nkeys] = false;
	/* Nobody looks for a session by its key, so any hash will do. */
	entry = se_table_add(generation->home->table, hash, agg->session_values, agg->session_nulls);
	session = se_session_of_entry(agg, generation, entry);
	session->start = start;
	session->end = end;
	session->entry = entry;
	se_session_link(agg, generation, anchor, session);
	return session;
}

/* Put a session into its anchor's list and among the timers. */
void
se_session_link(SeSessionAgg *agg, SeSessionGeneration *generation, SeEntry *anchor, SeSession *session)
{
	SeSessionList *list = (SeSessionList *) se_entry_payload(generation->anchors, anchor);

	session->generation = generation;
	session->anchor = anchor;
	insert_at(generation, list, se_session_first_touching(list, session->start), session);
	se_timers_add(&agg->timers, session->end, session);
}

static void
insert_at(SeSessionGeneration *generation, SeSessionList *list, uint32 at, SeSession *session)
{
	if (list->n == 0)
	{
		list->one = session;
		list->n = 1;
		return;
	}
	if (list->n + 1 > list->room)
	{
		uint32		room = Max(4, list->room * 2);
		SeSession **many = se_arena_block(generation->home->arena, room * sizeof(SeSession *));
		uint32		n;

		memcpy(many, se_session_list(list, &n), list->n * sizeof(SeSession *));
		if (list->many != NULL)
			se_arena_block_free(generation->home->arena, list->many);
		list->many = many;
		list->room = room;
	}
	else if (list->n == 1)
		list->many[0] = list->one;
	memmove(list->many + at + 1, list->many + at, (list->n - at) * sizeof(SeSession *));
	list->many[at] = session;
	list->n++;
}

/* The session is over, or part of another one. */
void
se_session_close(SeSessionAgg *agg, SeSession *session)
{
	unlink_session(session);
	se_agg_home_remove(session->generation->home, session->entry);
}

static void
unlink_session(SeSession *session)
{
	SeSessionList *list = (SeSessionList *) se_entry_payload(session->generation->anchors, session->anchor);
	uint32		n;
	SeSession **sessions = se_session_list(list, &n);
	uint32		at = se_session_first_touching(list, session->end);

	Assert(at < n && sessions[at] == session);
	memmove(sessions + at, sessions + at + 1, (n - at - 1) * sizeof(SeSession *));
	list->n--;
	if (list->n == 1)
		list->one = list->many[0];
}

SeSessionGeneration *
se_session_generation_new(SeSessionAgg *agg, uint32 number)
{
	MemoryContext old = MemoryContextSwitchTo(agg->op.env->memory);
	SeSessionGeneration *generation = palloc0(sizeof(SeSessionGeneration));

	generation->number = number;
	generation->home = se_agg_home_new_singly(agg->set, agg->session_keys, agg->keys->n, sizeof(SeSession),
											  SE_SESSION_SAVED, &agg->arrivals);
	generation->anchors = se_table_new(generation->home->arena, agg->keys, sizeof(SeSessionList));
	MemoryContextSwitchTo(old);
	return generation;
}

void
se_session_generation_free(SeSessionAgg *agg, SeSessionGeneration *generation)
{
	se_table_free(generation->anchors);
	se_agg_home_free(agg->set, generation->home);
	pfree(generation);
}

/* The sessions of a key of the old generation go to its anchor in the current one. */
void
se_session_move_key(SeSessionAgg *agg, SeEntry *old_anchor, SeEntry *anchor)
{
	SeSessionList *list = (SeSessionList *) se_entry_payload(agg->old->anchors, old_anchor);
	uint32		n;
	SeSession **sessions = se_session_list(list, &n);

	for (uint32 i = 0; i < n; i++)
		copy_session(agg, sessions[i], anchor);
	list->n = 0;
}

static void
copy_session(SeSessionAgg *agg, SeSession *from, SeEntry *anchor)
{
	const Datum *keys = se_entry_keys(from->generation->home->table, from->entry);
	SeSession  *to = se_session_open(agg, agg->current, anchor, keys, from->entry->nulls, from->start, from->end);

	se_agg_set_merge(agg->set, agg->current->home, se_session_acc(agg, to), se_session_acc(agg, from));
	se_table_touch_rows(agg->current->home->table, &to->entry, 1);
	se_agg_home_remove(from->generation->home, from->entry);
}

/* se_timers_sweep callback: all generations are still there. */
static bool
is_open(void *session)
{
	return (((SeSession *) session)->entry->flags & SE_ENTRY_USED) != 0;
}

/* Move n keys of the old generation; free it when it has none left. */
void
se_session_move_some(SeSessionAgg *agg, int n)
{
	SeSessionGeneration *old = agg->old;

	for (; n > 0 && old->cursor < old->anchors->nentries; n--)
	{
		SeEntry    *old_anchor = se_table_entry(old->anchors, old->cursor++);
		const Datum *values = se_entry_keys(old->anchors, old_anchor);

		if (((SeSessionList *) se_entry_payload(old->anchors, old_anchor))->n > 0)
			se_session_move_key(agg, old_anchor, se_table_get(agg->current->anchors, old_anchor->hash,
															  values, old_anchor->nulls));
	}
	if (old->cursor < old->anchors->nentries)
		return;
	Assert(old->home->table->nused == 0);
	se_timers_sweep(&agg->timers, is_open);
	se_session_generation_free(agg, old);
	agg->old = NULL;
	agg->meta_dirty = true;
}

/* Begin the next generation if it is time: more is gone than open. */
void
se_session_begin_generation(SeSessionAgg *agg)
{
	SeTable    *sessions = agg->current->home->table;
	uint32		open = sessions->nused;

	if (agg->old != NULL ||
		(sessions->nentries - open <= GONE_PER_OPEN * open + LEAST_GONE &&
		 agg->current->anchors->nentries <= (GONE_PER_OPEN + 1) * open + LEAST_GONE))
		return;
	agg->old = agg->current;
	agg->current = se_session_generation_new(agg, agg->old->number + 1);
	agg->meta_dirty = true;
}
