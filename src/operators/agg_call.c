/*
 * operators/agg_call.c
 *		Aggregates computed by PostgreSQL's own functions: transition, combine, final.
 *
 * Runs in: task worker, in a round. The aggregate context of STATE is the caller's
 * short-lived one, because the state is copied out after every call; of SERIAL it is
 * the home's; of REPLAY one that is reset per group.
 */
#include "postgres.h"

#include "base/compat.h"
#include "executor/executor.h"
#include "operators/agg_call.h"
#include "utils/datum.h"
#include "utils/expandeddatum.h"
#include "utils/memutils.h"

static MemoryContext live_context(SeAggHome *home);
static void use_context(SeAggFn *fn, MemoryContext context);
static void get_state(SeAggFn *fn, const char *acc, SeAggState *state);
static void put_state(SeAggFn *fn, SeAggHome *home, char *acc, const SeAggState *state);
static Datum call_internal(SeAggFn *fn, FmgrInfo *function, int nargs, Datum a, Datum b);
static Datum deserialize(SeAggFn *fn, Datum bytes, MemoryContext context);
static void revive(SeAggFn *fn, SeAggHome *home, SeSerialAcc *acc);

static void
use_context(SeAggFn *fn, MemoryContext context)
{
	fn->agg->curaggcontext->ecxt_per_tuple_memory = context;
}

static MemoryContext
live_context(SeAggHome *home)
{
	if (home->live == NULL)
		home->live = AllocSetContextCreate(home->memory,
										   "stream_engine aggregate states",
										   ALLOCSET_DEFAULT_SIZES);
	return home->live;
}

void
se_agg_live_account(SeOperatorEnv *env, SeAggHome *home, bool freed)
{
	uint64		now = 0;

	if (home->live != NULL && !freed)
		now = MemoryContextMemAllocated(home->live, true);
	if (now != home->live_bytes)
	{
		se_env_account(env, (int64) now - (int64) home->live_bytes);
		home->live_bytes = now;
	}
}

/* One step of the transition, with nodeAgg.c's rules for NULLs and the first value. */
void
se_agg_fn_transition(SeAggFn *fn, SeAggState *state, const Datum *values, const bool *nulls)
{
	LOCAL_FCINFO(fcinfo, FUNC_MAX_ARGS);

	if (fn->transition.fn_strict)
	{
		for (int i = 0; i < fn->ntrans; i++)
		{
			if (nulls[i])
				return;
		}
		if (state->status == SE_AGG_FRESH && !fn->has_initial)
		{
			/* The first value is the state; the types are the same. */
			state->value = values[0];
			state->status = SE_AGG_VALUE;
			return;
		}
	}
	if (state->status == SE_AGG_FRESH && fn->has_initial)
	{
		state->value = datumCopy(fn->initial, fn->byval, fn->typlen);
		state->status = SE_AGG_VALUE;
	}
	if (fn->transition.fn_strict && state->status != SE_AGG_VALUE)
		return;

	InitFunctionCallInfoData(*fcinfo, &fn->transition, fn->ntrans + 1,
							 fn->aggref->inputcollid, (void *) fn->agg, NULL);
	fcinfo->args[0].value = state->status == SE_AGG_VALUE ? state->value : (Datum) 0;
	fcinfo->args[0].isnull = state->status != SE_AGG_VALUE;
	for (int i = 0; i < fn->ntrans; i++)
	{
		fcinfo->args[i + 1].value = values[i];
		fcinfo->args[i + 1].isnull = nulls[i];
	}
	state->value = FunctionCallInvoke(fcinfo);
	state->status = fcinfo->isnull ? SE_AGG_NULL : SE_AGG_VALUE;
}

/* The final value of a state that may be used up, in the current context. */
Datum
se_agg_fn_finish(SeAggFn *fn, const SeAggState *state, const Datum *direct,
				 const bool *direct_nulls, bool *isnull)
{
	LOCAL_FCINFO(fcinfo, FUNC_MAX_ARGS);
	SeAggState	now = *state;
	Datum		result;
	bool		anynull;

	if (now.status == SE_AGG_FRESH)
	{
		now.status = fn->has_initial ? SE_AGG_VALUE : SE_AGG_NULL;
		now.value = fn->has_initial ? datumCopy(fn->initial, fn->byval, fn->typlen) : (Datum) 0;
	}
	if (!OidIsValid(fn->final.fn_oid))
	{
		*isnull = now.status != SE_AGG_VALUE;
		return *isnull ? (Datum) 0 : now.value;
	}

	InitFunctionCallInfoData(*fcinfo, &fn->final, fn->nfinal,
							 fn->aggref->inputcollid, (void *) fn->agg, NULL);
	fcinfo->args[0].isnull = now.status != SE_AGG_VALUE;
	fcinfo->args[0].value = fcinfo->args[0].isnull ? (Datum) 0 :
		MakeExpandedObjectReadOnly(now.value, false, fn->typlen);
	anynull = fcinfo->args[0].isnull;
	for (int i = 1; i < fn->nfinal; i++)
	{
		fcinfo->args[i].isnull = i > fn->ndirect || direct_nulls[i - 1];
		fcinfo->args[i].value = fcinfo->args[i].isnull ? (Datum) 0 : direct[i - 1];
		anynull |= fcinfo->args[i].isnull;
	}
	*isnull = true;
	if (fn->final.fn_strict && anynull)
		return (Datum) 0;

	fn->agg->curperagg = fn->agg->peragg;
	result = FunctionCallInvoke(fcinfo);
	fn->agg->curperagg = NULL;
	*isnull = fcinfo->isnull;
	return *isnull ? (Datum) 0 : se_value_flat(result, fn->result_byval, fn->result_typlen);
}

static void
get_state(SeAggFn *fn, const char *acc, SeAggState *state)
{
	if (fn->method == SE_AGG_SERIAL)
	{
		state->status = ((const SeSerialAcc *) acc)->status;
		state->value = ((const SeSerialAcc *) acc)->live;
		return;
	}
	state->status = ((const SeStateAcc *) acc)->status;
	state->value = fn->byval ? ((const SeStateAcc *) acc)->value :
		PointerGetDatum(((const SeStateAcc *) acc)->blob.bytes);
}

static void
put_state(SeAggFn *fn, SeAggHome *home, char *acc, const SeAggState *state)
{
	SeStateAcc *to = (SeStateAcc *) acc;

	if (fn->method == SE_AGG_SERIAL)
	{
		((SeSerialAcc *) acc)->status = state->status;
		((SeSerialAcc *) acc)->live = state->value;
		return;
	}
	to->status = state->status;
	if (state->status != SE_AGG_VALUE)
		return;
	if (fn->byval)
		to->value = state->value;
	else if (DatumGetPointer(state->value) != to->blob.bytes)
	{
		Datum		flat = se_value_flat(state->value, false, fn->typlen);

		se_agg_blob_set(home->arena, &to->blob, DatumGetPointer(flat), se_value_size(flat, fn->typlen));
	}
}

void
se_agg_fn_apply(const SeAggSlot *slot, SeAggHome *home, const SeBatch *batch,
				const int *rows, char **accs, int n)
{
	SeAggFn    *fn = slot->fn;
	Datum		values[FUNC_MAX_ARGS];
	bool		nulls[FUNC_MAX_ARGS];
	MemoryContext context = CurrentMemoryContext;

	Assert(fn->nargs <= FUNC_MAX_ARGS);
	if (fn->method == SE_AGG_SERIAL)
		context = live_context(home);
	use_context(fn, context);
	fn->agg->curperagg = NULL;
	for (int i = 0; i < n; i++)
	{
		const Datum *row = se_batch_values(batch, rows[i]);
		const bool *row_nulls = se_batch_nulls(batch, rows[i]);
		char	   *acc = accs[i] + slot->offset;
		SeAggState	state;

		home->env->current_row = rows[i];
		for (int k = 0; k < fn->nargs; k++)
		{
			values[k] = row[fn->args[k].column];
			nulls[k] = row_nulls[fn->args[k].column];
		}
		if (fn->method == SE_AGG_REPLAY)
		{
			se_agg_replay_add(fn, home, (SeReplayAcc *) acc, values, nulls);
			continue;
		}
		if (fn->method == SE_AGG_SERIAL)
			revive(fn, home, (SeSerialAcc *) acc);
		get_state(fn, acc, &state);
		se_agg_fn_transition(fn, &state, values, nulls);
		put_state(fn, home, acc, &state);
	}
}

void
se_agg_fn_see_group(const SeAggSlot *slot, SeAggHome *home, const SeBatch *batch,
					const int *rows, char **accs, int n)
{
	SeAggFn    *fn = slot->fn;
	Datum		values[FUNC_MAX_ARGS];
	bool		nulls[FUNC_MAX_ARGS];

	if (fn->method != SE_AGG_REPLAY || fn->ndirect == 0)
		return;
	for (int i = 0; i < n; i++)
	{
		SeReplayAcc *acc = (SeReplayAcc *) (accs[i] + slot->offset);

		if (acc->direct != NULL)
			continue;
		for (int k = 0; k < fn->ndirect; k++)
		{
			const SeAggColumn *column = &fn->direct[k];

			values[k] = column->column < 0 ? column->constant :
				se_batch_values(batch, rows[i])[column->column];
			nulls[k] = column->column < 0 ? column->constant_null :
				se_batch_nulls(batch, rows[i])[column->column];
		}
		se_agg_replay_direct(fn, home, acc, values, nulls);
	}
}

/* Combine as nodeAgg.c does when it finishes a parallel aggregate. */
void
se_agg_fn_merge(const SeAggSlot *slot, SeAggHome *home, char *to, const char *from)
{
	LOCAL_FCINFO(fcinfo, 2);
	SeAggFn    *fn = slot->fn;
	SeAggState	a;
	SeAggState	b;

	if (!OidIsValid(fn->combine.fn_oid) || fn->method == SE_AGG_REPLAY)
		elog(ERROR, "aggregate %u cannot combine states", fn->aggref->aggfnoid);
	get_state(fn, from + slot->offset, &b);
	if (b.status == SE_AGG_FRESH)
		return;
	use_context(fn, CurrentMemoryContext);
	fn->agg->curperagg = NULL;
	if (fn->method == SE_AGG_SERIAL)
	{
		const SeSerialAcc *other = (const SeSerialAcc *) (from + slot->offset);

		revive(fn, home, (SeSerialAcc *) (to + slot->offset));
		if (b.status == SE_AGG_VALUE && other->live == (Datum) 0)
			b.value = call_internal(fn, &fn->deserial, 2, PointerGetDatum(other->serialized.bytes), 0);
		use_context(fn, live_context(home));
	}
	get_state(fn, to + slot->offset, &a);

	if (a.status == SE_AGG_FRESH && fn->has_initial)
	{
		a.value = datumCopy(fn->initial, fn->byval, fn->typlen);
		a.status = SE_AGG_VALUE;
	}
	if (fn->combine.fn_strict)
	{
		if (b.status != SE_AGG_VALUE)
			return;
		if (a.status != SE_AGG_VALUE)
		{
			put_state(fn, home, to + slot->offset, &b);
			return;
		}
	}
	InitFunctionCallInfoData(*fcinfo, &fn->combine, 2, fn->aggref->inputcollid, (void *) fn->agg, NULL);
	fcinfo->args[0].value = a.value;
	fcinfo->args[0].isnull = a.status != SE_AGG_VALUE;
	fcinfo->args[1].value = b.value;
	fcinfo->args[1].isnull = b.status != SE_AGG_VALUE;
	a.value = FunctionCallInvoke(fcinfo);
	a.status = fcinfo->isnull ? SE_AGG_NULL : SE_AGG_VALUE;
	put_state(fn, home, to + slot->offset, &a);
}

Datum
se_agg_fn_final(const SeAggSlot *slot, SeAggHome *home, char *acc, bool *isnull)
{
	SeAggFn    *fn = slot->fn;
	SeAggState	state;
	Datum		result;

	acc += slot->offset;
	if (fn->method == SE_AGG_REPLAY)
		return se_agg_replay_final(fn, (SeReplayAcc *) acc, isnull);

	use_context(fn, CurrentMemoryContext);
	if (fn->method == SE_AGG_SERIAL)
		revive(fn, home, (SeSerialAcc *) acc);
	get_state(fn, acc, &state);
	if (state.status == SE_AGG_VALUE && fn->final_modifies)
	{
		/* The state goes on; the final function gets one of its own. */
		if (fn->method == SE_AGG_STATE)
			state.value = datumCopy(state.value, fn->byval, fn->typlen);
		else
			state.value = deserialize(fn, call_internal(fn, &fn->serial, 1, state.value, 0),
									  CurrentMemoryContext);
	}
	result = se_agg_fn_finish(fn, &state, NULL, NULL, isnull);
	return result;
}

/* No row yet; the memory of what there was is used again. */
void
se_agg_fn_reset(const SeAggSlot *slot, SeAggHome *home, char *acc)
{
	acc += slot->offset;
	switch (slot->fn->method)
	{
		case SE_AGG_STATE:
			((SeStateAcc *) acc)->status = SE_AGG_FRESH;
			se_agg_blob_clear(home->arena, &((SeStateAcc *) acc)->blob);
			break;
		case SE_AGG_REPLAY:
			se_agg_replay_reset(slot->fn, home, (SeReplayAcc *) acc);
			break;
		default:
			/* What is alive stays in the memory of the home until that is freed. */
			((SeSerialAcc *) acc)->status = SE_AGG_FRESH;
			((SeSerialAcc *) acc)->live = (Datum) 0;
			((SeSerialAcc *) acc)->serialized.used = 0;
			break;
	}
}

static Datum
call_internal(SeAggFn *fn, FmgrInfo *function, int nargs, Datum a, Datum b)
{
	LOCAL_FCINFO(fcinfo, 2);
	Datum		result;

	InitFunctionCallInfoData(*fcinfo, function, nargs, InvalidOid, (void *) fn->agg, NULL);
	fcinfo->args[0].value = a;
	fcinfo->args[0].isnull = false;
	if (nargs > 1)
	{
		fcinfo->args[1].value = b;
		fcinfo->args[1].isnull = false;
	}
	result = FunctionCallInvoke(fcinfo);
	if (fcinfo->isnull)
		elog(ERROR, "function %u returned NULL", function->fn_oid);
	return result;
}

/*
 * A state, in a context, to which rows can be added.
 *
 * PostgreSQL hands what deserial functions return to combine functions only, and rows
 * to states that transition or combine functions made. In some minor versions the
 * deserialised state of variance() ignores the squares of rows added to it. So a state
 * of ours is what the combine function makes of nothing and the deserialised one.
 */
static Datum
deserialize(SeAggFn *fn, Datum bytes, MemoryContext context)
{
	LOCAL_FCINFO(fcinfo, 2);
	MemoryContext before = fn->agg->curaggcontext->ecxt_per_tuple_memory;
	bool		combines = OidIsValid(fn->combine.fn_oid);
	MemoryContext old = MemoryContextSwitchTo(combines ? CurrentMemoryContext : context);
	Datum		state;

	use_context(fn, CurrentMemoryContext);
	state = call_internal(fn, &fn->deserial, 2, bytes, 0);
	if (combines)
	{
		use_context(fn, context);
		InitFunctionCallInfoData(*fcinfo, &fn->combine, 2, fn->aggref->inputcollid, (void *) fn->agg, NULL);
		fcinfo->args[0].value = (Datum) 0;
		fcinfo->args[0].isnull = true;
		fcinfo->args[1].value = state;
		fcinfo->args[1].isnull = false;
		state = FunctionCallInvoke(fcinfo);
		if (fcinfo->isnull)
			elog(ERROR, "function %u returned NULL", fn->combine.fn_oid);
	}
	MemoryContextSwitchTo(old);
	use_context(fn, before);
	return state;
}

/* A state that came back from a checkpoint is deserialised when it is first needed. */
static void
revive(SeAggFn *fn, SeAggHome *home, SeSerialAcc *acc)
{
	if (acc->status == SE_AGG_VALUE && acc->live == (Datum) 0)
		acc->live = deserialize(fn, PointerGetDatum(acc->serialized.bytes), live_context(home));
}

void
se_agg_fn_serialize(const SeAggSlot *slot, SeAggHome *home, char *acc)
{
	SeSerialAcc *it = (SeSerialAcc *) (acc + slot->offset);
	Datum		bytes;

	if (it->status != SE_AGG_VALUE || it->live == (Datum) 0)
		return;					/* nothing, or unchanged since it was read back */
	use_context(slot->fn, CurrentMemoryContext);
	bytes = call_internal(slot->fn, &slot->fn->serial, 1, it->live, 0);
	se_agg_blob_set(home->arena, &it->serialized, DatumGetPointer(bytes),
					VARSIZE_ANY(DatumGetPointer(bytes)));
}

/* Status, then the state: its value, its bytes, or for REPLAY the direct arguments. */
void
se_agg_fn_save(const SeAggSlot *slot, char *acc, StringInfo out)
{
	SeAggFn    *fn = slot->fn;
	SeStateAcc *state = (SeStateAcc *) (acc + slot->offset);
	SeSerialAcc *serial = (SeSerialAcc *) (acc + slot->offset);

	switch (fn->method)
	{
		case SE_AGG_STATE:
			se_record_put_u8(out, (uint8) state->status);
			if (state->status == SE_AGG_VALUE)
				se_value_write_any(out, fn->byval ? state->value : PointerGetDatum(state->blob.bytes),
								   fn->byval, fn->typlen, fn->enum_type);
			break;
		case SE_AGG_SERIAL:
			se_record_put_u8(out, (uint8) serial->status);
			if (serial->status == SE_AGG_VALUE)
				se_value_write(out, PointerGetDatum(serial->serialized.bytes), false, -1);
			break;
		default:
			se_agg_replay_save_direct(fn, (SeReplayAcc *) (acc + slot->offset), out);
			break;
	}
}

void
se_agg_fn_load(const SeAggSlot *slot, SeAggHome *home, char *acc, SeRecordReader *reader)
{
	SeAggFn    *fn = slot->fn;
	SeStateAcc *state = (SeStateAcc *) (acc + slot->offset);
	SeSerialAcc *serial = (SeSerialAcc *) (acc + slot->offset);
	uint8		status;
	Datum		value;

	if (fn->method == SE_AGG_REPLAY)
	{
		se_agg_replay_load_direct(fn, home, (SeReplayAcc *) (acc + slot->offset), reader);
		return;
	}

	status = se_record_u8(reader);
	if (status > SE_AGG_VALUE)
		se_record_corrupted();
	if (fn->method == SE_AGG_STATE)
	{
		state->status = status;
		if (status != SE_AGG_VALUE)
			return;
		value = se_value_read_any(reader, fn->byval, fn->typlen, fn->enum_type);
		if (fn->byval)
			state->value = value;
		else
			se_agg_blob_set(home->arena, &state->blob, DatumGetPointer(value),
							se_value_size(value, fn->typlen));
		return;
	}
	serial->status = status;
	serial->live = (Datum) 0;
	if (status != SE_AGG_VALUE)
		return;
	value = se_value_read(reader, false, -1);
	se_agg_blob_set(home->arena, &serial->serialized, DatumGetPointer(value),
					VARSIZE_ANY(DatumGetPointer(value)));
}
