/*
 * operators/group_adopt.c
 *		Groups without a window are kept in another way from now on: with a time to live, or without one.
 *
 * Groups that are given a time to live, or another clock, count as written where the options change: at the
 * watermark, or at the processing time that the log has come to. As long as there is no watermark nobody can tell
 * how old they are: these expire with the end of the input. Groups that lose it live for ever; what had
 * expired was forgotten before.
 *
 * That a group's row is still to be emitted is not state of groups that expire: it is so within one commit only.
 * Of groups whose rows were held back it is, so it goes over as the flag *stale*, which is saved, until the row is emitted.
 *
 * Runs in: task worker, in a round.
 */
#include "postgres.h"

#include "base/fault.h"
#include "operators/agg_adopt.h"
#include "operators/group_adopt.h"
#include "operators/group_ttl_internal.h"

static void adopt_endless(SeGroupTtl *ttl, SeTime expires, SeAggSet *from_set, SeAggHome *from);
static void adopt_mortal(SeGroupTtl *ttl, SeTime expires, SeGroupTtl *from, SeTtlGeneration *generation);
static void begin_life(SeGroupTtl *ttl, SeEntry *entry, SeTime expires, uint8 emitted, bool is_changed);
static void adopt_living(SeAggSet *set, SeAggHome *home, TupleDesc input,
						 SeGroupTtl *from, SeTtlGeneration *generation);

void
se_group_ttl_adopt(SeOperator *op, SeOperator *from)
{
	SeGroupTtl *ttl = (SeGroupTtl *) op;
	SeTime		now = ttl->node->ttl == SE_TTL_EVENT ? from->watermark_in : from->time_in;
	SeTime		expires = now == SE_TIME_MIN || SE_FAULT_WRONG("wrong-adopt-ageless") ? SE_TIME_MAX - 1 : se_group_ttl_expiry(ttl, now);
	SeAggSet   *set;
	SeAggHome  *home;

	Assert(ttl->current == NULL);
	ttl->current = se_group_ttl_generation_new(ttl, 1);
	ttl->clock = now;
	ttl->meta.dirty = true;
	if (se_group_agg_groups(from, &set, &home) || se_group_held_groups(from, &set, &home))
		adopt_endless(ttl, expires, set, home);
	else if (from->ops->adopt == se_group_ttl_adopt)
	{
		SeGroupTtl *other = (SeGroupTtl *) from;

		if (other->old != NULL)
			adopt_mortal(ttl, expires, other, other->old);
		adopt_mortal(ttl, expires, other, other->current);
	}
	else
		elog(ERROR, "operator \"%s\" cannot become groups that expire", from->ops->name);
	se_group_ttl_reach(ttl, now);
	se_group_ttl_publish(ttl);
}

/* What was touched and not emitted since is found after a restart (group_agg.c). */
static void
adopt_endless(SeGroupTtl *ttl, SeTime expires, SeAggSet *from_set, SeAggHome *from)
{
	SeTable    *table = from->table;
	SeAggAdoption *adoption = se_agg_adopt_begin(ttl->set, ttl->current->home, se_group_ttl_input(ttl), from_set, from);

	for (uint32 i = 0; i < table->nentries; i++)
	{
		SeEntry    *entry = se_table_entry(table, i);
		uint8		emitted = entry->flags & SE_ENTRY_EMITTED;

		if (entry->flags & SE_ENTRY_USED)
			begin_life(ttl, se_agg_adopt(adoption, entry), expires, emitted,
					   !emitted || (entry->flags & (SE_ENTRY_STALE | SE_ENTRY_DIRTY)));
	}
	se_agg_adopt_end(adoption);
}

static void
adopt_mortal(SeGroupTtl *ttl, SeTime expires, SeGroupTtl *from, SeTtlGeneration *generation)
{
	SeTable    *table = generation->home->table;
	SeAggAdoption *adoption = se_agg_adopt_begin(ttl->set, ttl->current->home, se_group_ttl_input(ttl), from->set,
												 generation->home);

	for (uint32 i = 0; i < table->nentries; i++)
	{
		SeEntry    *entry = se_table_entry(table, i);

		if (!(entry->flags & SE_ENTRY_USED))
			continue;
		Assert(se_group_ttl_life(from, entry)->expires > from->clock);
		begin_life(ttl, se_agg_adopt(adoption, entry), expires, entry->flags & SE_ENTRY_EMITTED,
				   entry->flags & SE_ENTRY_CHANGED);
	}
	se_agg_adopt_end(adoption);
}

static void
begin_life(SeGroupTtl *ttl, SeEntry *entry, SeTime expires, uint8 emitted, bool is_changed)
{
	SeTtlLife  *life = se_group_ttl_life(ttl, entry);

	life->expires = expires;
	life->home = ttl->current->home;
	se_timers_add(&ttl->current->timers, expires, entry);
	entry->flags |= emitted;
	if (is_changed && !SE_FAULT_WRONG("wrong-adopt-held-back-lost"))
		se_group_ttl_must_emit(ttl, entry);
}

void
se_group_adopt_living(SeAggSet *set, SeAggHome *home, TupleDesc input, SeOperator *from)
{
	SeGroupTtl *ttl = (SeGroupTtl *) from;

	if (from->ops->adopt != se_group_ttl_adopt)
		elog(ERROR, "operator \"%s\" cannot become groups that live for ever", from->ops->name);
	if (ttl->old != NULL)
		adopt_living(set, home, input, ttl, ttl->old);
	adopt_living(set, home, input, ttl, ttl->current);
}

static void
adopt_living(SeAggSet *set, SeAggHome *home, TupleDesc input, SeGroupTtl *from, SeTtlGeneration *generation)
{
	SeTable    *table = generation->home->table;
	SeAggAdoption *adoption = se_agg_adopt_begin(set, home, input, from->set, generation->home);

	for (uint32 i = 0; i < table->nentries; i++)
	{
		SeEntry    *entry = se_table_entry(table, i);

		if (!(entry->flags & SE_ENTRY_USED))
			continue;
		Assert(se_group_ttl_life(from, entry)->expires > from->clock);
		se_agg_adopt(adoption, entry)->flags |=
			(entry->flags & SE_ENTRY_EMITTED) | (entry->flags & SE_ENTRY_CHANGED ? SE_ENTRY_STALE : 0);
	}
	se_agg_adopt_end(adoption);
}
