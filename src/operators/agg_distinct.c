/*
 * operators/agg_distinct.c
 *		DISTINCT: the rows whose arguments a group has not met before.
 *
 * One set per call and home: a keyed table without payload whose key is (index of the
 * group's entry, arguments). Every call has its own, because calls with equal
 * arguments may see different rows (FILTER). It is freed with its home.
 */
#include "postgres.h"

#include "operators/agg_distinct.h"
#include "optimizer/optimizer.h"

SeKeys *
se_agg_distinct_keys(const SeAggCall *call, TupleDesc input)
{
	List	   *columns = NIL;
	List	   *operators = NIL;
	ListCell   *lc;
	SeKeys	   *args;
	SeKeys	   *keys;

	foreach(lc, call->aggref->aggdistinct)
	{
		SortGroupClause *clause = lfirst_node(SortGroupClause, lc);
		TargetEntry *tle = get_sortgroupclause_tle(clause, call->aggref->args);

		columns = lappend_int(columns, se_agg_arg_column(call, tle->resno - 1));
		operators = lappend_oid(operators, clause->eqop);
	}
	args = se_keys_new(input, columns, operators);

	keys = palloc0(offsetof(SeKeys, columns) + (args->n + 1) * sizeof(SeKeyColumn));
	keys->n = args->n + 1;
	keys->columns[0].kind = SE_KEY_INT4;
	keys->columns[0].byval = true;
	keys->columns[0].typlen = sizeof(int32);
	memcpy(&keys->columns[1], args->columns, args->n * sizeof(SeKeyColumn));
	pfree(args);
	return keys;
}

static SeTable *
set_of(const SeAggSlot *slot, SeAggHome *home)
{
	if (home->seen[slot->number] == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(home->memory);

		home->seen[slot->number] = se_table_new(home->arena, slot->seen_keys, 0);
		MemoryContextSwitchTo(old);
	}
	return home->seen[slot->number];
}

int
se_agg_distinct_keep(const SeAggSlot *slot, SeAggHome *home, const SeBatch *batch,
					 const int *rows, char **accs, int n,
					 int *kept_rows, char **kept_accs)
{
	SeTable    *seen = set_of(slot, home);
	SeKeys	   *keys = seen->keys;
	Datum	   *values = palloc(keys->n * sizeof(Datum));
	bool	   *nulls = palloc(keys->n * sizeof(bool));
	int			kept = 0;

	for (int i = 0; i < n; i++)
	{
		const Datum *row = se_batch_values(batch, rows[i]);
		const bool *row_nulls = se_batch_nulls(batch, rows[i]);
		uint32		before = seen->nentries;
		SeEntry    *entry;

		values[0] = Int32GetDatum((int32) se_payload_entry(home->table, accs[i])->index);
		nulls[0] = false;
		for (int k = 1; k < keys->n; k++)
		{
			nulls[k] = row_nulls[keys->columns[k].column];
			values[k] = nulls[k] ? (Datum) 0 :
				se_key_prepare(&keys->columns[k], row[keys->columns[k].column]);
		}
		entry = se_table_get(seen, se_keys_hash(keys, values, nulls), values, nulls);
		if (seen->nentries == before)
			continue;
		se_table_touch_rows(seen, &entry, 1);
		kept_rows[kept] = rows[i];
		kept_accs[kept] = accs[i];
		kept++;
	}
	pfree(values);
	pfree(nulls);
	return kept;
}

static SeEntry *
entry_of_record(SeTable *seen, SeRecordReader *reader)
{
	Datum	   *values = palloc(seen->keys->n * sizeof(Datum));
	bool	   *nulls = palloc(seen->keys->n * sizeof(bool));

	se_table_read_key(seen->keys, reader, values, nulls);
	return se_table_get(seen, se_keys_hash(seen->keys, values, nulls), values, nulls);
}

void
se_agg_distinct_restore(const SeAggSlot *slot, SeAggHome *home, SeRecordReader *reader)
{
	(void) entry_of_record(set_of(slot, home), reader);
}

bool
se_agg_distinct_rewrite(const SeAggSlot *slot, SeAggHome *home, SeRecordReader *reader)
{
	SeTable    *seen = set_of(slot, home);
	SeEntry    *entry = entry_of_record(seen, reader);
	uint32		group = (uint32) DatumGetInt32(se_entry_keys(seen, entry)[0]);

	/* The group's key is another unit's. */
	if (home->env->units > 1 && (group >= home->table->nentries ||
								 !(se_table_entry(home->table, group)->flags & SE_ENTRY_USED)))
		return false;
	se_table_touch_rows(seen, &entry, 1);
	return true;
}
