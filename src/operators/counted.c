/*
 * operators/counted.c
 *		Rows into groups of an updating result, which are emitted at each n-th row of theirs.
 *
 * Runs in: task worker, in a round.
 */
#include "postgres.h"

#include "operators/counted.h"

static void apply(const SeCounted *counted, const SeBatch *batch, const int *rows,
				  SeEntry **entries, char **accs, int n);
static bool is_nth(const SeCounted *counted, char *acc);

/* Rows are applied up to the one that would change a group that is due. */
void
se_counted_apply(const SeCounted *counted, const SeBatch *batch, const int *rows,
				 SeEntry **entries, char **accs, int n, SeEntry **due)
{
	int			from = 0;
	int			ndue = 0;

	for (int i = 0; i < n && counted->every > 0; i++)
	{
		if (entries[i]->flags & SE_ENTRY_DUE)
		{
			apply(counted, batch, rows + from, entries + from, accs + from, i - from);
			from = i;
			while (ndue > 0)
			{
				due[--ndue]->flags &= ~SE_ENTRY_DUE;
				counted->emit(counted->arg, due[ndue]);
			}
		}
		if (is_nth(counted, accs[i]))
		{
			entries[i]->flags |= SE_ENTRY_DUE;
			due[ndue++] = entries[i];
		}
	}
	apply(counted, batch, rows + from, entries + from, accs + from, n - from);
	while (ndue > 0)
	{
		due[--ndue]->flags &= ~SE_ENTRY_DUE;
		counted->emit(counted->arg, due[ndue]);
	}
}

static void
apply(const SeCounted *counted, const SeBatch *batch, const int *rows,
	  SeEntry **entries, char **accs, int n)
{
	for (int i = 0; i < n; i++)
		se_stale_mark(counted->stale, entries[i], counted->home->memory);
	se_agg_set_apply(counted->set, counted->home, batch, rows, accs, n);
}

/* One more row of a group. */
static bool
is_nth(const SeCounted *counted, char *acc)
{
	return ++se_agg_emit_header(counted->set, acc)->rows % counted->every == 0;
}
