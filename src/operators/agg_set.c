/*
 * operators/agg_set.c
 *		All aggregate calls of one operator, and the keyed tables that hold their accumulators.
 *
 * Runs in: task worker, in a round; snapshot and restore as flow/operator.h says.
 */
#include "postgres.h"

#include "base/compat.h"
#include "operators/agg_call.h"
#include "operators/agg_distinct.h"
#include "operators/agg_set.h"
#include "utils/datum.h"
#include "utils/memutils.h"

static void describe_slot(SeAggSet *set, SeAggSlot *slot, const SeAggCall *call, TupleDesc input);
static int	keep_filtered(SeAggSet *set, const SeAggSlot *slot, const SeBatch *batch,
						  const int *rows, char **accs, int n);

SeAggSet *
se_agg_set_new(List *calls, TupleDesc input, SeOperatorEnv *env)
{
	SeAggSet   *set = palloc0(sizeof(SeAggSet));

	set->env = env;
	set->ncalls = list_length(calls);
	set->slots = palloc0(Max(set->ncalls, 1) * sizeof(SeAggSlot));
	for (int i = 0; i < set->ncalls; i++)
	{
		SeAggSlot  *slot = &set->slots[i];

		slot->number = i;
		describe_slot(set, slot, list_nth(calls, i), input);
		slot->offset = set->payload_size;
		set->payload_size += TYPEALIGN(8, slot->size);
	}
	return set;
}

static void
describe_slot(SeAggSet *set, SeAggSlot *slot, const SeAggCall *call, TupleDesc input)
{
	slot->call = call;
	slot->method = call->method;
	slot->arg = -1;
	slot->collation = call->aggref->inputcollid;

	if (call->method == SE_AGG_NATIVE)
	{
		slot->native = se_agg_native(call->aggref->aggfnoid);
		if (slot->native == SE_NATIVE_NONE)
			elog(ERROR, "aggregate %u has no native accumulator", call->aggref->aggfnoid);
	}

	/*
	 * PostgreSQL hands DISTINCT arguments over in their order. Where that can be seen in the result they are kept
	 * and replayed; the others need only know what was there before.
	 */
	if (call->aggref->aggdistinct != NIL && slot->method != SE_AGG_REPLAY)
	{
		if (slot->method == SE_AGG_NATIVE && !se_agg_native_is_order_sensitive(slot->native))
			slot->distinct = true;
		else
			slot->method = SE_AGG_REPLAY;
	}

	if (slot->method == SE_AGG_NATIVE)
	{
		if (call->args != NIL)
			slot->arg = linitial_int(call->args);
		slot->size = se_native_size(slot->native);
	}
	else
	{
		slot->fn = se_agg_fn_new(call, slot->method, input, set->env);
		slot->size = se_agg_fn_size(slot->fn);
	}
	if (slot->distinct)
		slot->seen_keys = se_agg_distinct_keys(call, input);
}

SeAggHome *
se_agg_home_new(SeAggSet *set, SeKeys *keys, uint32 payload_size)
{
	MemoryContext old = MemoryContextSwitchTo(set->env->memory);
	SeAggHome  *home = palloc0(sizeof(SeAggHome));

	home->env = set->env;
	home->memory = set->env->memory;
	home->arena = se_arena_new(set->env);
	home->table = se_table_new(home->arena, keys, payload_size);
	home->seen = palloc0(Max(set->ncalls, 1) * sizeof(SeTable *));
	home->group_keys = -1;
	MemoryContextSwitchTo(old);
	return home;
}

SeAggHome *
se_agg_home_new_updating(SeAggSet *set, SeKeys *keys)
{
	SeAggHome  *home = se_agg_home_new(set, keys, set->payload_size + sizeof(SeEmitHeader));

	home->updating = true;
	return home;
}

SeAggHome *
se_agg_home_new_singly(SeAggSet *set, SeKeys *keys, int group_keys, uint32 header_size,
					   uint32 header_saved, int64 *arrivals)
{
	SeAggHome  *home = se_agg_home_new(set, keys, set->payload_size + header_size);

	home->singly = true;
	home->group_keys = group_keys;
	home->header_saved = header_saved;
	home->arrivals = arrivals;
	return home;
}

void
se_agg_home_remove(SeAggHome *home, SeEntry *entry)
{
	se_table_touch_rows(home->table, &entry, 1);
	se_table_remove(home->table, entry);
}

void
se_agg_home_free(SeAggSet *set, SeAggHome *home)
{
	for (int i = 0; i < set->ncalls; i++)
	{
		if (home->seen[i] != NULL)
			se_table_free(home->seen[i]);
	}
	if (home->live != NULL)
		MemoryContextDelete(home->live);
	se_agg_live_account(set->env, home, true);
	se_table_free(home->table);
	se_arena_free(home->arena);
	pfree(home->seen);
	pfree(home);
}

void
se_agg_set_apply(SeAggSet *set, SeAggHome *home, const SeBatch *batch,
				 const int *rows, char **accs, int n)
{
	if (n > set->max_rows)
	{
		MemoryContext old = MemoryContextSwitchTo(set->env->memory);

		set->max_rows = Max(n, 256);
		set->rows = palloc(set->max_rows * sizeof(int));
		set->accs = palloc(set->max_rows * sizeof(char *));
		MemoryContextSwitchTo(old);
	}
	for (int i = 0; i < set->ncalls; i++)
	{
		SeAggSlot  *slot = &set->slots[i];
		const int  *call_rows = rows;
		char	  **call_accs = accs;
		int			call_n = n;

		/* Direct arguments are those of the group's rows, whether a filter takes them or not. */
		if (slot->fn != NULL)
			se_agg_fn_see_group(slot, home, batch, rows, accs, n);
		if (slot->call->filter >= 0)
		{
			call_n = keep_filtered(set, slot, batch, rows, accs, n);
			call_rows = set->rows;
			call_accs = set->accs;
		}
		if (slot->distinct)
		{
			call_n = se_agg_distinct_keep(slot, home, batch, call_rows, call_accs, call_n,
										  set->rows, set->accs);
			call_rows = set->rows;
			call_accs = set->accs;
		}
		if (slot->fn == NULL)
			se_native_apply(slot, home, batch, call_rows, call_accs, call_n);
		else
			se_agg_fn_apply(slot, home, batch, call_rows, call_accs, call_n);
		set->env->current_row = -1; /* what fails next is not this row */
	}
	se_agg_live_account(set->env, home, false);
}

/* The rows whose FILTER is true go to set->rows and set->accs; returns how many. */
static int
keep_filtered(SeAggSet *set, const SeAggSlot *slot, const SeBatch *batch,
			  const int *rows, char **accs, int n)
{
	int			kept = 0;

	for (int i = 0; i < n; i++)
	{
		Size		cell = (Size) rows[i] * batch->ncolumns + slot->call->filter;

		if (!batch->nulls[cell] && DatumGetBool(batch->values[cell]))
		{
			set->rows[kept] = rows[i];
			set->accs[kept] = accs[i];
			kept++;
		}
	}
	return kept;
}

void
se_agg_set_merge(SeAggSet *set, SeAggHome *home, char *to, const char *from)
{
	for (int i = 0; i < set->ncalls; i++)
	{
		if (set->slots[i].fn == NULL)
			se_native_merge(&set->slots[i], home, to, from);
		else if (home->singly && set->slots[i].method == SE_AGG_REPLAY)
			se_agg_replay_merge(&set->slots[i], home, to, from);
		else
			se_agg_fn_merge(&set->slots[i], home, to, from);
	}
}

void
se_agg_set_final(SeAggSet *set, SeAggHome *home, char *acc, Datum *values, bool *nulls)
{
	const SeBatch *batch = set->env->current_batch;

	/* An error is no row's, though one may be at work: it would come again without it. */
	set->env->current_batch = NULL;
	for (int i = 0; i < set->ncalls; i++)
	{
		if (set->slots[i].fn == NULL)
			values[i] = se_native_final(&set->slots[i], acc, &nulls[i]);
		else
			values[i] = se_agg_fn_final(&set->slots[i], home, acc, &nulls[i]);
	}
	set->env->current_batch = batch;
}

void
se_agg_set_final_copied(SeAggSet *set, SeAggHome *home, char *acc, Datum *values, bool *nulls)
{
	se_agg_set_final(set, home, acc, values, nulls);
	for (int i = 0; i < set->ncalls; i++)
	{
		const SeAggFn *fn = set->slots[i].fn;

		/* All others make a value of their own. */
		if (fn != NULL && fn->method == SE_AGG_STATE && !fn->result_byval && !nulls[i])
			values[i] = datumCopy(values[i], false, fn->result_typlen);
	}
}

void
se_agg_set_merge_states(SeAggSet *set, SeAggHome *home, char *to, const char *from)
{
	for (int i = 0; i < set->ncalls; i++)
	{
		if (set->slots[i].fn == NULL)
			se_native_merge(&set->slots[i], home, to, from);
		else if (set->slots[i].method != SE_AGG_REPLAY)
			se_agg_fn_merge(&set->slots[i], home, to, from);
	}
}

void
se_agg_set_lend_rows(SeAggSet *set, char *to, char *from)
{
	for (int i = 0; i < set->ncalls; i++)
	{
		if (set->slots[i].method == SE_AGG_REPLAY)
			se_agg_replay_lend(&set->slots[i], to, from);
	}
}

void
se_agg_set_take_back_rows(SeAggSet *set, char *to, char **from, int n)
{
	for (int i = 0; i < set->ncalls; i++)
	{
		if (set->slots[i].method != SE_AGG_REPLAY)
			continue;
		for (int k = 0; k < n; k++)
			se_agg_replay_take_back(&set->slots[i], from[k]);
		memset(to + set->slots[i].offset, 0, set->slots[i].size);
	}
}

int64
se_agg_set_arrivals(const SeAggSet *set, const char *acc)
{
	int64		arrivals = 0;

	for (int i = 0; i < set->ncalls; i++)
	{
		if (set->slots[i].method == SE_AGG_REPLAY)
			arrivals = Max(arrivals, ((const SeReplayAcc *) (acc + set->slots[i].offset))->count);
	}
	return arrivals;
}

void
se_agg_set_reset(SeAggSet *set, SeAggHome *home, char *acc)
{
	for (int i = 0; i < set->ncalls; i++)
	{
		if (set->slots[i].fn == NULL)
			se_native_reset(&set->slots[i], home, acc);
		else
			se_agg_fn_reset(&set->slots[i], home, acc);
	}
}
