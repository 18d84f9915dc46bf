/*
 * operators/stash.h
 *		Input that came while a firing was cut short: kept in order, and part of the state.
 *
 * An operator that fires windows stops when the output is full, and goes on after the
 * commit that follows. What is pushed meanwhile waits here, and is taken first. The stash
 * answers the operator's callbacks in the right order and calls back for each step; the operator saves
 * it with whatever else says where its firing stands, and is told that by its meta record being dirty.
 */
#ifndef SE_STASH_H
#define SE_STASH_H

#include "base/se.h"
#include "flow/operator.h"
#include "operators/meta_record.h"
#include "state/key.h"
#include "state/value.h"

typedef struct SeStashOps
{
	/* Was a firing cut short; and: finish it. False if the output is full before. */
	bool		(*is_firing) (SeOperator *op);
	bool		(*finish_firing) (SeOperator *op);

	/*
	 * Take the rows of a batch from `from` on, and then the watermark behind it. Returns the first row that was not
	 * taken because the output is full, all of them if only the watermark was not reached.
	 */
	int			(*take_rows) (SeOperator *op, SeBatch *batch, int from);

	/* Reach a watermark, and send it on. False if the output is full before. */
	bool		(*advance) (SeOperator *op, SeTime h);
} SeStashOps;

typedef struct SeStash
{
	/* settings */
	SeOperator *op;
	const SeStashOps *ops;
	TupleDesc	input;
	SeKeys	   *keys;			/* that share rows out among units (state/key_group.h) */
	SeMetaRecord *meta;			/* of the operator: it saves the stash */

	/* what is kept */
	MemoryContext memory;		/* emptied with the stash */
	List	   *batches;		/* SeBatch * */
	int			next_row;		/* of the first batch */
	SeTime		watermark;		/* to reach after them, SE_TIME_MIN = none */
	bool		end;			/* the input ended */
} SeStash;

/* How the struct of an operator with a stash begins. */
typedef struct SeStashedOperator
{
	SeOperator	op;
	SeStash		stash;
} SeStashedOperator;

/* An empty stash in the current context, which lives as long as the operator. */
extern void se_stash_init(SeStash *stash, SeOperator *op, const SeStashOps *ops, TupleDesc input, SeKeys *keys,
						  SeMetaRecord *meta);

/* Callbacks of the operator. Its input is only added to: anything else is an ERROR. */
#define SE_STASH_CALLBACKS \
	.push = se_stash_push, .watermark = se_stash_watermark, .resume = se_stash_resume, .end = se_stash_end

extern void se_stash_push(SeOperator *op, int input, SeBatch *batch);
extern void se_stash_watermark(SeOperator *op, int input, SeTime h);
extern void se_stash_end(SeOperator *op, int input);
extern bool se_stash_resume(SeOperator *op);

extern void se_stash_write(const SeStash *stash, StringInfo out);
extern void se_stash_read(SeStash *stash, SeRecordReader *reader);

#endif							/* SE_STASH_H */
