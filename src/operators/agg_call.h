/*
 * operators/agg_call.h
 *		Aggregates computed by PostgreSQL's own functions: transition, combine, final.
 *
 * The functions are called as nodeAgg.c would: with a stand-in AggState, so that
 * AggCheckCallContext, AggGetAggref, AggGetTempMemoryContext, AggStateIsShared and
 * AggRegisterCallback answer; strictness and initial values follow the same rules.
 *
 *	STATE	the state is a flat value: in the accumulator, or a blob in the arena
 *	SERIAL	the state is `internal`: it lives in the home's memory context, and its
 *			serialised form is made before a snapshot
 *	REPLAY	nothing but the argument tuples is kept; transition and final run at
 *			emission, in the order the call asks for
 *
 * No lock is held while a function runs.
 */
#ifndef SE_AGG_CALL_H
#define SE_AGG_CALL_H

#include "nodes/execnodes.h"
#include "operators/agg_internal.h"
#include "utils/sortsupport.h"

typedef enum SeAggStatus
{
	SE_AGG_FRESH = 0,			/* no state yet: the initial value, or none */
	SE_AGG_NULL,				/* the state is NULL */
	SE_AGG_VALUE
} SeAggStatus;

/* A transition state while functions work on it. */
typedef struct SeAggState
{
	Datum		value;
	SeAggStatus status;
} SeAggState;

/* Accumulator of STATE. */
typedef struct SeStateAcc
{
	uint32		status;
	Datum		value;			/* by value */
	SeAggBlob	blob;			/* by reference */
} SeStateAcc;

/* Accumulator of SERIAL. */
typedef struct SeSerialAcc
{
	uint32		status;
	Datum		live;			/* pointer into home->live */
	SeAggBlob	serialized;
} SeSerialAcc;

/* One argument tuple of REPLAY: values by reference live in the arena. */
typedef struct SeAggTuple
{
	struct SeAggTuple *next;
	int64		number;			/* order of arrival within the group */
	Datum		values[FLEXIBLE_ARRAY_MEMBER];	/* then a bool per value */
} SeAggTuple;

/* Which of its n values are NULL. */
static inline bool *
se_agg_tuple_nulls(const SeAggTuple *tuple, int n)
{
	return (bool *) &tuple->values[n];
}

/* Accumulator of REPLAY. */
typedef struct SeReplayAcc
{
	SeAggTuple *first;
	SeAggTuple *last;
	SeAggTuple *unsaved;		/* the first one no record has */
	SeAggTuple *direct;			/* direct arguments, once a row was seen */
	int64		count;
} SeReplayAcc;

typedef struct SeAggColumn
{
	int			column;			/* of the input; -1 = constant */
	bool		byval;
	int16		typlen;
	Oid			enum_type;		/* se_value_enum_type */
	Datum		constant;
	bool		constant_null;
} SeAggColumn;

typedef struct SeAggFn
{
	/* the call: fixed when made */
	const SeAggCall *call;
	SeAggMethod method;
	Aggref	   *aggref;
	int			ndirect;
	SeAggColumn *direct;
	int			nargs;			/* aggregated arguments, sort-only ones included */
	SeAggColumn *args;
	int			ntrans;			/* of these, how many the transition function takes */

	/* the state's type */
	bool		byval;
	int16		typlen;
	Oid			enum_type;
	bool		has_initial;
	Datum		initial;

	/* functions; fn_oid = 0: none */
	FmgrInfo	transition;
	FmgrInfo	combine;
	FmgrInfo	serial;
	FmgrInfo	deserial;
	FmgrInfo	final;
	int			nfinal;
	bool		final_modifies;
	bool		result_byval;
	int16		result_typlen;

	/* order of the tuples of REPLAY */
	int			nsort;
	int		   *sort_args;
	SortSupport sort;
	bool		distinct;

	/* the stand-in */
	AggState   *agg;
	ExprContext *group_context; /* aggregate context of a group that is replayed */
} SeAggFn;

extern SeAggFn *se_agg_fn_new(const SeAggCall *call, SeAggMethod method, TupleDesc input,
							  SeOperatorEnv *env);
extern uint32 se_agg_fn_size(const SeAggFn *fn);

/* As se_native_… (agg_internal.h). */
extern void se_agg_fn_apply(const SeAggSlot *slot, SeAggHome *home, const SeBatch *batch,
							const int *rows, char **accs, int n);
extern void se_agg_fn_merge(const SeAggSlot *slot, SeAggHome *home, char *to, const char *from);
extern Datum se_agg_fn_final(const SeAggSlot *slot, SeAggHome *home, char *acc, bool *isnull);
extern void se_agg_fn_reset(const SeAggSlot *slot, SeAggHome *home, char *acc);
extern void se_agg_fn_save(const SeAggSlot *slot, char *acc, StringInfo out);
extern void se_agg_fn_load(const SeAggSlot *slot, SeAggHome *home, char *acc, SeRecordReader *reader);

/* Keep the direct arguments of groups that have none yet; before any filter. */
extern void se_agg_fn_see_group(const SeAggSlot *slot, SeAggHome *home, const SeBatch *batch,
								const int *rows, char **accs, int n);

/* SERIAL: make the serialised form. */
extern void se_agg_fn_serialize(const SeAggSlot *slot, SeAggHome *home, char *acc);

/* REPLAY: tuples that no record has yet; false if there are none. And back. */
extern bool se_agg_fn_save_tuples(const SeAggSlot *slot, char *acc, StringInfo out);
extern void se_agg_fn_load_tuples(const SeAggSlot *slot, SeAggHome *home, char *acc, SeRecordReader *reader);

/* REPLAY in homes whose entries come and go singly: all tuples at once, and two groups made one. */
extern void se_agg_replay_save_all(const SeAggSlot *slot, const char *acc, StringInfo out);
extern void se_agg_replay_load_all(const SeAggSlot *slot, SeAggHome *home, char *acc, SeRecordReader *reader);
extern void se_agg_replay_merge(const SeAggSlot *slot, SeAggHome *home, char *to, const char *from);

/*
 * REPLAY: put the tuples of `from` behind those of `to` for a while, without copying them; and take
 * them away again, from each that was lent and then from `to`.
 */
extern void se_agg_replay_lend(const SeAggSlot *slot, char *to, char *from);
extern void se_agg_replay_take_back(const SeAggSlot *slot, char *acc);
extern void se_agg_replay_reset(SeAggFn *fn, SeAggHome *home, SeReplayAcc *acc);

/* Count what internal states hold; `freed`: they are gone. */
extern void se_agg_live_account(SeOperatorEnv *env, SeAggHome *home, bool freed);

/* Within agg_call.c and agg_replay.c: one step, and the end. */
extern void se_agg_fn_transition(SeAggFn *fn, SeAggState *state, const Datum *values, const bool *nulls);
extern Datum se_agg_fn_finish(SeAggFn *fn, const SeAggState *state, const Datum *direct,
							  const bool *direct_nulls, bool *isnull);
extern Datum se_agg_replay_final(SeAggFn *fn, SeReplayAcc *acc, bool *isnull);
extern void se_agg_replay_add(SeAggFn *fn, SeAggHome *home, SeReplayAcc *acc,
							  const Datum *values, const bool *nulls);
extern void se_agg_replay_direct(SeAggFn *fn, SeAggHome *home, SeReplayAcc *acc,
								 const Datum *values, const bool *nulls);
extern void se_agg_replay_save_direct(SeAggFn *fn, const SeReplayAcc *acc, StringInfo out);
extern void se_agg_replay_load_direct(SeAggFn *fn, SeAggHome *home, SeReplayAcc *acc, SeRecordReader *reader);

#endif							/* SE_AGG_CALL_H */
