/*
 * operators/session_key.c
 *		One session more or less; and generations of sessions.
 *
 * Entries of a table are not used twice. When twice as many of a generation's are gone as open,
 * a new one is begun; with every batch some keys of the old one move over, those
 * that rows come for at once; then the old one is freed whole. So a session is moved once
 * for each time as many were closed, and no batch pays for all of them.
 */
#include "postgres.h"

#include "operators/session_list.h"

/* So many times more than open must be gone; and in a small one so many. */
#define GONE_PER_OPEN 2
#define LEAST_GONE 1024

static void copy_session(SeSessionAgg *agg, SeSession *from, SeEntry *anchor);

/*
 * A new session without rows. Its keys are those of its own first row: the anchor's, which may come
 * from a session long over, are equal, but need not look the same (1.0 and 1.00).
 */
SeSession *
se_session_open(SeSessionAgg *agg, SeSessionGeneration *generation, SeEntry *anchor,
				const Datum *keys, const bool *nulls, SeTime start, SeTime end, SeTime wake)
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
	se_session_link(agg, generation, anchor, session, wake);
	return session;
}

/* Put a session into its anchor's list and among the timers, to be looked at when `wake` has passed. */
void
se_session_link(SeSessionAgg *agg, SeSessionGeneration *generation, SeEntry *anchor,
				SeSession *session, SeTime wake)
{
	SeSessionList *list = (SeSessionList *) se_entry_payload(generation->anchors, anchor);

	session->generation = generation;
	session->anchor = anchor;
	se_session_list_insert(list, generation->home->arena, session);
	if (agg->updating)
		session->wake = wake;
	se_timers_add(&agg->timers, wake, session);
}

/* The session is over, or part of another one. */
void
se_session_close(SeSessionAgg *agg, SeSession *session)
{
	SeSessionGeneration *generation = session->generation;

	se_session_list_remove((SeSessionList *) se_entry_payload(generation->anchors, session->anchor),
						   generation->home->arena, session);
	if (agg->updating)
		se_session_update_forget(session);
	se_agg_home_remove(generation->home, session->entry);
}

SeSessionGeneration *
se_session_generation_new(SeSessionAgg *agg, uint32 number)
{
	MemoryContext old = MemoryContextSwitchTo(agg->op.env->memory);
	SeSessionGeneration *generation = palloc0(sizeof(SeSessionGeneration));

	generation->number = number;
	generation->home = se_agg_home_new_singly(agg->set, agg->session_keys, agg->keys->n,
											  SE_SESSION_SIZE(agg->updating), SE_SESSION_SAVED(agg->updating),
											  &agg->arrivals);
	generation->home->header_unsaved = SE_SESSION_UNSAVED;
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
	SeSession  *session;

	while ((session = se_session_list_first(list)) != NULL)
	{
		copy_session(agg, session, anchor);
		se_session_list_remove(list, agg->old->home->arena, session);
	}
}

static void
copy_session(SeSessionAgg *agg, SeSession *from, SeEntry *anchor)
{
	const Datum *keys = se_entry_keys(from->generation->home->table, from->entry);
	SeTime		wake = agg->updating ? from->wake : from->end;
	SeSession  *to = se_session_open(agg, agg->current, anchor, keys, from->entry->nulls, from->start, from->end, wake);

	se_agg_set_merge(agg->set, agg->current->home, se_session_acc(agg, to), se_session_acc(agg, from));
	if (agg->updating)
		se_session_update_move(to, from);
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
	agg->meta.dirty = true;
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
	agg->meta.dirty = true;
}
