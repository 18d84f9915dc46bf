/*
 * operators/stash.h
 *		Input that came while a firing was cut short: kept in order, and part of the state.
 *
 * The operator saves the stash with whatever else says where its firing stands.
 */
#ifndef SE_STASH_H
#define SE_STASH_H

#include "base/se.h"
#include "flow/operator.h"
#include "state/key.h"
#include "state/value.h"

typedef struct SeStash
{
	/* settings */
	SeOperatorEnv *env;
	TupleDesc	input;
	SeKeys	   *keys;			/* that share rows out among units (state/key_group.h) */

	/* what is kept */
	MemoryContext memory;		/* emptied with the stash */
	List	   *batches;		/* SeBatch * */
	int			next_row;		/* of the first batch */
	SeTime		watermark;		/* to reach after them, SE_TIME_MIN = none */
	bool		end;			/* the input ended */
} SeStash;

/* An empty stash in the current context, which lives as long as the operator. */
extern void se_stash_init(SeStash *stash, SeOperatorEnv *env, TupleDesc input, SeKeys *keys);
extern bool se_stash_is_empty(const SeStash *stash);

/* Keep the rows of a batch from `from` on, and the watermark behind it. */
extern void se_stash_rows(SeStash *stash, const SeBatch *batch, int from);

/* The first batch, NULL if there is none; and: it is done. */
extern SeBatch *se_stash_first(SeStash *stash);
extern void se_stash_pop(SeStash *stash);

extern void se_stash_write(const SeStash *stash, StringInfo out);
extern void se_stash_read(SeStash *stash, SeRecordReader *reader);

#endif							/* SE_STASH_H */
