/*
 * operators/agg_replay.c
 *		Aggregates whose state cannot be stored: argument tuples are kept, the call runs at emission.
 *
 * For ordered-set aggregates, ORDER BY and some DISTINCT in the call, and `internal`
 * states without a serial function (array_agg, string_agg, json_agg, percentile_…,
 * mode in PostgreSQL 15). Tuples of a group are numbered in order of arrival, which
 * is also the order where the call asks for none and between equal sort keys.
 *
 * A record holds the tuples that came since the last snapshot; the numbers put them
 * back in order whatever the order in which records are played.
 */
#include "postgres.h"

#include "executor/executor.h"
#include "miscadmin.h"
#include "operators/agg_call.h"
#include "utils/datum.h"
#include "utils/memutils.h"

static SeAggTuple *make_tuple(SeAggHome *home, const SeAggColumn *columns, int n,
							  const Datum *values, const bool *nulls);
static void give_tuple(SeAggHome *home, const SeAggColumn *columns, int n, SeAggTuple *tuple);
static void insert_tuple(SeReplayAcc *acc, SeAggTuple *tuple);
static SeAggTuple **sorted_tuples(SeAggFn *fn, SeReplayAcc *acc);
static int	compare_tuples(const void *a, const void *b, void *arg);
static int	compare_keys(const SeAggFn *fn, const SeAggTuple *a, const SeAggTuple *b);

static SeAggTuple *
make_tuple(SeAggHome *home, const SeAggColumn *columns, int n,
		   const Datum *values, const bool *nulls)
{
	SeAggTuple *tuple = se_arena_alloc(home->arena, offsetof(SeAggTuple, values) +
									   n * (sizeof(Datum) + sizeof(bool)));

	tuple->next = NULL;
	tuple->number = 0;
	for (int i = 0; i < n; i++)
	{
		se_agg_tuple_nulls(tuple, n)[i] = nulls[i];
		tuple->values[i] = nulls[i] ? (Datum) 0 :
			se_value_store(home->arena, values[i], columns[i].byval, columns[i].typlen);
	}
	return tuple;
}

/* Its memory, if the arena takes it back. */
static void
give_tuple(SeAggHome *home, const SeAggColumn *columns, int n, SeAggTuple *tuple)
{
	for (int i = 0; i < n; i++)
	{
		if (!se_agg_tuple_nulls(tuple, n)[i] && !columns[i].byval)
			(void) se_arena_give(home->arena, DatumGetPointer(tuple->values[i]),
								 se_value_size(tuple->values[i], columns[i].typlen));
	}
	(void) se_arena_give(home->arena, tuple, offsetof(SeAggTuple, values) + n * (sizeof(Datum) + sizeof(bool)));
}

void
se_agg_replay_reset(SeAggFn *fn, SeAggHome *home, SeReplayAcc *acc)
{
	SeAggTuple *tuple = acc->first;

	while (tuple != NULL)
	{
		SeAggTuple *next = tuple->next;

		give_tuple(home, fn->args, fn->nargs, tuple);
		tuple = next;
	}
	if (acc->direct != NULL)
		give_tuple(home, fn->direct, fn->ndirect, acc->direct);
	memset(acc, 0, sizeof(SeReplayAcc));
}

void
se_agg_replay_lend(const SeAggSlot *slot, char *to, char *from)
{
	SeReplayAcc *acc = (SeReplayAcc *) (to + slot->offset);
	SeReplayAcc *other = (SeReplayAcc *) (from + slot->offset);

	if (acc->direct == NULL)
		acc->direct = other->direct;
	if (other->first == NULL)
		return;
	if (acc->last != NULL)
		acc->last->next = other->first;
	else
		acc->first = other->first;
	acc->last = other->last;
	acc->count += other->count;
}

void
se_agg_replay_take_back(const SeAggSlot *slot, char *acc)
{
	SeReplayAcc *own = (SeReplayAcc *) (acc + slot->offset);

	if (own->last != NULL)
		own->last->next = NULL;
}

void
se_agg_replay_add(SeAggFn *fn, SeAggHome *home, SeReplayAcc *acc,
				  const Datum *values, const bool *nulls)
{
	SeAggTuple *tuple = make_tuple(home, fn->args, fn->nargs, values, nulls);

	tuple->number = home->arrivals != NULL ? (*home->arrivals)++ : acc->count;
	insert_tuple(acc, tuple);
	if (acc->unsaved == NULL)
		acc->unsaved = tuple;
}

void
se_agg_replay_direct(SeAggFn *fn, SeAggHome *home, SeReplayAcc *acc,
					 const Datum *values, const bool *nulls)
{
	acc->direct = make_tuple(home, fn->direct, fn->ndirect, values, nulls);
}

/* Into its place by number; nearly always the end. */
static void
insert_tuple(SeReplayAcc *acc, SeAggTuple *tuple)
{
	acc->count = Max(acc->count, tuple->number + 1);
	if (acc->last == NULL || acc->last->number < tuple->number)
	{
		if (acc->last != NULL)
			acc->last->next = tuple;
		else
			acc->first = tuple;
		acc->last = tuple;
	}
	else
	{
		SeAggTuple **link = &acc->first;

		while ((*link)->number < tuple->number)
			link = &(*link)->next;
		if ((*link)->number == tuple->number)
			se_record_corrupted();
		tuple->next = *link;
		*link = tuple;
	}
}

/* Transition over all tuples in order, then final; the result is copied out. */
Datum
se_agg_replay_final(SeAggFn *fn, SeReplayAcc *acc, bool *isnull)
{
	MemoryContext result_context = CurrentMemoryContext;
	ExprContext *own = fn->agg->curaggcontext;
	SeAggState	state = {(Datum) 0, SE_AGG_FRESH};
	SeAggTuple **tuples;
	SeAggTuple *before = NULL;
	Datum		direct[FUNC_MAX_ARGS];
	bool		direct_nulls[FUNC_MAX_ARGS];
	Datum		result;

	fn->agg->curaggcontext = fn->group_context;
	fn->agg->curperagg = NULL;
	MemoryContextSwitchTo(fn->group_context->ecxt_per_tuple_memory);
	tuples = sorted_tuples(fn, acc);
	for (int64 i = 0; tuples[i] != NULL; i++)
	{
		SeAggTuple *tuple = tuples[i];

		CHECK_FOR_INTERRUPTS();
		if (fn->distinct && before != NULL && compare_keys(fn, before, tuple) == 0)
			continue;
		before = tuple;
		se_agg_fn_transition(fn, &state, tuple->values, se_agg_tuple_nulls(tuple, fn->nargs));
	}

	for (int i = 0; i < fn->ndirect; i++)
	{
		if (acc->direct != NULL)
		{
			direct[i] = acc->direct->values[i];
			direct_nulls[i] = se_agg_tuple_nulls(acc->direct, fn->ndirect)[i];
		}
		else
		{
			direct[i] = fn->direct[i].constant;
			direct_nulls[i] = fn->direct[i].column >= 0 || fn->direct[i].constant_null;
		}
	}
	result = se_agg_fn_finish(fn, &state, direct, direct_nulls, isnull);
	MemoryContextSwitchTo(result_context);
	if (!*isnull)
		result = datumCopy(result, fn->result_byval, fn->result_typlen);
	fn->agg->curaggcontext = own;
	ReScanExprContext(fn->group_context);
	ResetExprContext(fn->agg->tmpcontext);
	return result;
}

/* All tuples and a NULL at the end, in the current context. */
static SeAggTuple **
sorted_tuples(SeAggFn *fn, SeReplayAcc *acc)
{
	SeAggTuple **tuples;
	int64		n = 0;

	for (SeAggTuple *tuple = acc->first; tuple != NULL; tuple = tuple->next)
		n++;
	tuples = MemoryContextAllocHuge(CurrentMemoryContext, (n + 1) * sizeof(SeAggTuple *));
	n = 0;
	for (SeAggTuple *tuple = acc->first; tuple != NULL; tuple = tuple->next)
		tuples[n++] = tuple;
	tuples[n] = NULL;
	if (fn->nsort > 0)
		qsort_arg(tuples, n, sizeof(SeAggTuple *), compare_tuples, fn);
	return tuples;
}

static int
compare_tuples(const void *a, const void *b, void *arg)
{
	const SeAggTuple *x = *(SeAggTuple *const *) a;
	const SeAggTuple *y = *(SeAggTuple *const *) b;
	int			order = compare_keys(arg, x, y);

	if (order == 0)
		order = x->number < y->number ? -1 : 1;
	return order;
}

static int
compare_keys(const SeAggFn *fn, const SeAggTuple *a, const SeAggTuple *b)
{
	for (int i = 0; i < fn->nsort; i++)
	{
		int			arg = fn->sort_args[i];
		int			order = ApplySortComparator(a->values[arg], se_agg_tuple_nulls(a, fn->nargs)[arg],
												b->values[arg], se_agg_tuple_nulls(b, fn->nargs)[arg],
												&fn->sort[i]);

		if (order != 0)
			return order;
	}
	return 0;
}

static void
write_tuple(const SeAggColumn *columns, int n, const SeAggTuple *tuple, StringInfo out)
{
	for (int i = 0; i < n; i++)
	{
		bool		null = se_agg_tuple_nulls(tuple, n)[i];

		se_record_put_u8(out, null);
		if (!null)
			se_value_write_any(out, tuple->values[i], columns[i].byval, columns[i].typlen, columns[i].enum_type);
	}
}

static SeAggTuple *
read_tuple(SeAggHome *home, const SeAggColumn *columns, int n, SeRecordReader *reader)
{
	Datum		values[FUNC_MAX_ARGS];
	bool		nulls[FUNC_MAX_ARGS];

	for (int i = 0; i < n; i++)
	{
		uint8		null = se_record_u8(reader);

		if (null > 1)
			se_record_corrupted();
		nulls[i] = null != 0;
		values[i] = nulls[i] ? (Datum) 0 :
			se_value_read_any(reader, columns[i].byval, columns[i].typlen, columns[i].enum_type);
	}
	return make_tuple(home, columns, n, values, nulls);
}

void
se_agg_replay_save_direct(SeAggFn *fn, const SeReplayAcc *acc, StringInfo out)
{
	se_record_put_u8(out, acc->direct != NULL);
	if (acc->direct != NULL)
		write_tuple(fn->direct, fn->ndirect, acc->direct, out);
}

void
se_agg_replay_load_direct(SeAggFn *fn, SeAggHome *home, SeReplayAcc *acc, SeRecordReader *reader)
{
	uint8		present = se_record_u8(reader);

	if (present > 1)
		se_record_corrupted();
	if (present)
		acc->direct = read_tuple(home, fn->direct, fn->ndirect, reader);
}

bool
se_agg_fn_save_tuples(const SeAggSlot *slot, char *acc, StringInfo out)
{
	SeReplayAcc *replay = (SeReplayAcc *) (acc + slot->offset);
	SeAggFn    *fn = slot->fn;
	uint32		n = 0;

	if (replay->unsaved == NULL)
		return false;
	for (SeAggTuple *tuple = replay->unsaved; tuple != NULL; tuple = tuple->next)
		n++;
	se_record_put_i64(out, replay->unsaved->number);
	se_record_put_u32(out, n);
	for (SeAggTuple *tuple = replay->unsaved; tuple != NULL; tuple = tuple->next)
		write_tuple(fn->args, fn->nargs, tuple, out);
	replay->unsaved = NULL;
	return true;
}

void
se_agg_fn_load_tuples(const SeAggSlot *slot, SeAggHome *home, char *acc, SeRecordReader *reader)
{
	SeReplayAcc *replay = (SeReplayAcc *) (acc + slot->offset);
	int64		number = se_record_i64(reader);
	uint32		n = se_record_u32(reader);

	if (number < 0 || number > PG_INT64_MAX - n)
		se_record_corrupted();
	for (uint32 i = 0; i < n; i++)
	{
		SeAggTuple *tuple = read_tuple(home, slot->fn->args, slot->fn->nargs, reader);

		tuple->number = number + i;
		insert_tuple(replay, tuple);
	}
}

/* 4 count; per tuple its number as a difference to the one before, then its values. */
void
se_agg_replay_save_all(const SeAggSlot *slot, const char *acc, StringInfo out)
{
	const SeReplayAcc *replay = (const SeReplayAcc *) (acc + slot->offset);
	SeAggFn    *fn = slot->fn;
	int64		before = 0;
	uint32		n = 0;

	for (SeAggTuple *tuple = replay->first; tuple != NULL; tuple = tuple->next)
		n++;
	se_record_put_u32(out, n);
	for (SeAggTuple *tuple = replay->first; tuple != NULL; tuple = tuple->next)
	{
		se_record_put_varint(out, (uint64) (tuple->number - before));
		before = tuple->number;
		write_tuple(fn->args, fn->nargs, tuple, out);
	}
}

void
se_agg_replay_load_all(const SeAggSlot *slot, SeAggHome *home, char *acc, SeRecordReader *reader)
{
	SeReplayAcc *replay = (SeReplayAcc *) (acc + slot->offset);
	int64		number = 0;

	for (uint32 n = se_record_u32(reader); n > 0; n--)
	{
		uint64		step = se_record_varint(reader);
		SeAggTuple *tuple;

		if (step > (uint64) (PG_INT64_MAX - number))
			se_record_corrupted();
		number += step;
		tuple = read_tuple(home, slot->fn->args, slot->fn->nargs, reader);
		tuple->number = number;
		insert_tuple(replay, tuple);
	}
}

/*
 * Add the tuples of one accumulator to another, of the home given. The other may be in
 * a home that is about to go, so tuples are copied.
 */
void
se_agg_replay_merge(const SeAggSlot *slot, SeAggHome *home, char *to, const char *from)
{
	SeReplayAcc *acc = (SeReplayAcc *) (to + slot->offset);
	const SeReplayAcc *other = (const SeReplayAcc *) (from + slot->offset);
	SeAggFn    *fn = slot->fn;
	SeAggTuple **link = &acc->first;

	for (SeAggTuple *tuple = other->first; tuple != NULL; tuple = tuple->next)
	{
		SeAggTuple *copy = make_tuple(home, fn->args, fn->nargs, tuple->values, se_agg_tuple_nulls(tuple, fn->nargs));

		copy->number = tuple->number;
		while (*link != NULL && (*link)->number < copy->number)
			link = &(*link)->next;
		copy->next = *link;
		*link = copy;
		link = &copy->next;
		if (copy->next == NULL)
			acc->last = copy;
	}
	acc->count = Max(acc->count, other->count);
	if (other->direct != NULL && acc->direct == NULL)
		acc->direct = make_tuple(home, fn->direct, fn->ndirect, other->direct->values,
								 se_agg_tuple_nulls(other->direct, fn->ndirect));
}
