/*
 * flow/operator.h
 *		The operator: what every step of a dataflow is, and the law of its callbacks.
 *
 * Operators form a chain in one process; rows are *pushed* from a source through
 * operators to a sink by plain function calls. Only sources are polled.
 *
 * Runs in: task worker. Everything here is called inside a *round*: a read-only
 * transaction with an active snapshot, the user switched to the owner of the result
 * in a restricted operation. Round memory is TopTransactionContext's child and gone
 * after the round: state lives in op->memory (or the job's DSA area).
 *
 * I10 An operator is row-atomic: it evaluates all that can fail for a row before it
 * stores anything for it. Before the first store of a round it calls
 * se_env_state_touched(); an ERROR after that makes the job's state void and the unit
 * is restored from its last commit.
 */
#ifndef SE_OPERATOR_H
#define SE_OPERATOR_H

#include "base/se.h"
#include "flow/row.h"
#include "flow/side.h"
#include "flow/snapshot.h"

typedef struct SeOperator SeOperator;

/* What the task offers to its operators. One per job, read-only but for the marked. */
typedef struct SeOperatorEnv
{
	/* identity */
	Oid			job;			/* OID of the result table */
	int			unit;
	int			units;			/* that share the keys (state/key_group.h); 0 = the job is one unit */

	/* memory */
	MemoryContext memory;		/* lives as long as the chain */
	struct dsa_area *area;		/* keyed state of the job lives here */
	uint64		state_limit;	/* bytes: stream_engine.state_memory of the job */
	uint64		state_bytes;	/* written by operators: what they hold in all */

	/* flags the task reads after every push */
	bool		state_touched;	/* I10: something was stored in this round */
	bool		output_full;	/* sink: pending results reached their bound, commit soon */
	bool		over_limit;		/* state_limit was exceeded: no restart will help */

	/* told by the task: state is laid out anew for other options, and is there twice meanwhile */
	bool		converting;

	/*
	 * Work that is done a part at each commit. commit_wanted: there is some, so a commit is to follow although no
	 * row came. unreflected: until it is done the result does not show all that was read. The task clears both
	 * before it calls prepare; whoever has something left then, or in snapshot, sets them again.
	 */
	bool		commit_wanted;
	bool		unreflected;

	/*
	 * The row whose expressions are being evaluated, for the error context: its batch and number. NULL while no user
	 * code of a row can run.
	 */
	const SeBatch *current_batch;
	int			current_row;

	/*
	 * Windows that end by final_to are final: told by the task before a commit. The sink has rows to delete when it
	 * is retire_at or later, SE_TIME_MAX = never.
	 */
	SeTime		final_to;
	SeTime		retire_at;

	/* rows of the result, as of the commit that is being made; the sink keeps count */
	int64		result_rows;

	/* late counters, part of the unit's position row (design 7): count through se_env_late_row */
	int64		late_rows;
	int64		late_pairs;

	/* rows that raised an error and were left out (option on_error); in the position row too */
	int64		error_rows;

	/* where late and failing rows go; NULL: nowhere */
	SeSide	   *side;

	struct SeJobSlot *slot;		/* counters; NULL in unit tests */
} SeOperatorEnv;

static inline void
se_env_state_touched(SeOperatorEnv *env)
{
	env->state_touched = true;
}

/* A row is late for all its windows: count it, and keep it if the view has a late_output. */
static inline void
se_env_late_row(SeOperatorEnv *env, const SeBatch *batch, int row)
{
	env->late_rows++;
	if (env->side != NULL)
		env->side->late(env->side, batch, row);
}

/* Change what the job holds by delta bytes; 53200 with a hint when above the limit. */
extern void se_env_account(SeOperatorEnv *env, int64 delta);

/*
 * What an operator does. Only name and push must be set; a callback that is NULL means nothing to the operator, and
 * what its law says of NULL is done for it (se_op_init).
 */
typedef struct SeOperatorOps
{
	const char *name;			/* as shown in explain: "window aggregate" */

	/*
	 * Take a batch on one input. The batch and its memory belong to the caller and are gone afterwards. Must process
	 * every row, or keep (copy) what it cannot process yet: see resume. wm[i] of a row is obeyed *before* the row,
	 * wm_end after the last one; a later watermark() call with the same value is then a no-op. Must fully process a
	 * watermark (emit all it triggers) before passing on rows or watermarks behind it.
	 */
	void		(*push) (SeOperator *op, int input, SeBatch *batch);

	/*
	 * The watermark of one input is now H (>= any before; a row that comes later with an event time < H is late).
	 * With several inputs the operator's own watermark is the minimum over its active ones (flow/inputs.h). Must be
	 * forwarded, after everything it triggers. NULL: forwarded; only with one input.
	 */
	void		(*watermark) (SeOperator *op, int input, SeTime h);

	/* An input has become idle (true) or active again (false): semantics 0.1. NULL: forwarded; only with one input. */
	void		(*idle) (SeOperator *op, int input, bool idle);

	/*
	 * Processing time has reached `now`: a tick mark was met in the log, between two transactions; the rows and the
	 * watermark before it have been passed on. Never decreases, but may be the same again. Whoever wants to be
	 * called declares it (SeGraph.tick_interval); it may be called more often. Must be forwarded, after everything
	 * it triggers; it is called once for a mark, so what a full output cuts off is the operator's to finish in
	 * resume. NULL: forwarded.
	 */
	void		(*timer) (SeOperator *op, SeTime now);

	/*
	 * Go on with work that was left when env->output_full stopped it (a firing of a million groups). Returns true
	 * when nothing is left. The task commits before it calls this, and polls no source until it returned true. Rows
	 * pushed meanwhile are kept by the operator, in order, and are part of its state. NULL: nothing is ever left.
	 */
	bool		(*resume) (SeOperator *op);

	/*
	 * A commit follows: emit what is held back until then (un-windowed groups emit the net change since the last
	 * commit here, so that a row changes once per commit). Still in the read-only round; user code may run. NULL:
	 * nothing is held back.
	 */
	void		(*prepare) (SeOperator *op);

	/*
	 * Pre-commit: append what changed since the last snapshot. Runs in the writing transaction; must not run user
	 * code except sinks' inserts. Sinks write their pending rows here. NULL: there is no state.
	 */
	void		(*snapshot) (SeOperator *op, SeSnapshotWriter *writer);

	/*
	 * A record of this operator that the checkpoint is about to delete: mark what of it is still state, so that the
	 * snapshot that follows in the same commit appends it again. Returns how many bytes of the record that is,
	 * about: a record may be needed in part. Runs no user code. NULL, as restore is then: no record was ever
	 * written.
	 */
	Size		(*rewrite) (SeOperator *op, const void *record, Size len);

	/*
	 * Play one record back, in written order, before anything else is called. Every record is checked against its
	 * length: a bad one is ERROR (data_corrupted), never a crash. NULL: any is a bad one.
	 */
	void		(*restore) (SeOperator *op, const void *record, Size len);

	/* All records are back: build what is derived (called also without any). NULL: nothing is. */
	void		(*restored) (SeOperator *op);

	/* The commit that contained the last snapshot is visible. Cannot fail. NULL: nothing. */
	void		(*checkpoint_done) (SeOperator *op);

	/* Input ended (bounded source). A MAX watermark came before it. NULL: forwarded; only with one input. */
	void		(*end) (SeOperator *op, int input);

	/*
	 * Take over what `from` knows: the operator of the same query under other options, whose records this one could
	 * not read. It is given up afterwards, and may be spoilt. Called once, before anything else. Nothing of `from`
	 * waits: no stash, no firing; it was told the time at the mark, and all that was due has been emitted. In a
	 * round: may call user functions; garbage goes into the current context; state_memory counts. Afterwards all is
	 * dirty, and a commit follows: its snapshot holds it whole. NULL: nothing can be taken over, it is NULL here
	 * too.
	 */
	void		(*adopt) (SeOperator *op, SeOperator *from);

	/* Release what is not memory; may be called twice; cannot fail. NULL: nothing. */
	void		(*close) (SeOperator *op);
} SeOperatorOps;

/* The base of every operator: first member of its struct. */
struct SeOperator
{
	/* identity */
	const SeOperatorOps *ops;	/* complete */
	int			id;				/* graph node id: stable, names its records */
	int			ninputs;
	SeOperatorEnv *env;

	/* output: NULL for a sink */
	SeOperator *next;
	int			next_input;
	TupleDesc	out_desc;		/* rows this operator emits; NULL for a sink */

	/* what the checked wrappers remember */
	SeTime		watermark_in;	/* greatest seen on any input */
	SeTime		watermark_out;
	SeTime		time_in;		/* the latest that timer was told */
	bool		ended;
	bool		snapshotting;

	/* counters, published by the task once per round */
	uint64		rows_in;
	uint64		rows_out;
	uint64		state_bytes;
	uint64		state_entries;
};

/* Fill the base. */
extern void se_op_init(SeOperator *op, const SeOperatorOps *ops, int id, int ninputs,
					   SeOperatorEnv *env, TupleDesc out_desc);

/* Checked calls: all callers use these (Asserts in flow/operator.c). */
extern void se_op_check_batch(SeOperator *op, int input, const SeBatch *batch);

static inline void
se_op_push(SeOperator *op, int input, SeBatch *batch)
{
#ifdef USE_ASSERT_CHECKING
	se_op_check_batch(op, input, batch);
#endif
	op->rows_in += batch->nrows;
	op->ops->push(op, input, batch);
}

static inline void
se_op_watermark(SeOperator *op, int input, SeTime h)
{
	Assert(!op->ended && !op->snapshotting);
	op->ops->watermark(op, input, h);
}

static inline void
se_op_timer(SeOperator *op, SeTime now)
{
	Assert(!op->snapshotting);
	op->time_in = Max(op->time_in, now);
	op->ops->timer(op, now);
}

/* Send a batch, a watermark … to whoever is next. */
static inline void
se_op_emit(SeOperator *op, SeBatch *batch)
{
	op->rows_out += batch->nrows;
	if (batch->nrows > 0)
		se_op_push(op->next, op->next_input, batch);
}

static inline void
se_op_emit_watermark(SeOperator *op, SeTime h)
{
	Assert(h >= op->watermark_out);
	if (h > op->watermark_out)
	{
		op->watermark_out = h;
		se_op_watermark(op->next, op->next_input, h);
	}
}

/* What is done where the callback is NULL, for an operator that has done its own part. Behind a sink is nobody. */
extern void se_op_forward_watermark(SeOperator *op, int input, SeTime h);
extern void se_op_forward_idle(SeOperator *op, int input, bool idle);
extern void se_op_forward_timer(SeOperator *op, SeTime now);
extern void se_op_forward_end(SeOperator *op, int input);

#endif							/* SE_OPERATOR_H */
