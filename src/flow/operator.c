/*
 * flow/operator.c
 *		The operator base: checked calls, byte accounting, and what is done where a callback is NULL.
 */
#include "postgres.h"

#include "flow/operator.h"

static inline bool has_next(const SeOperator *op);
static bool nothing_to_resume(SeOperator *op);
static void no_snapshot(SeOperator *op, SeSnapshotWriter *writer);
static Size no_rewrite(SeOperator *op, const void *record, Size len);
static void no_restore(SeOperator *op, const void *record, Size len);
static void do_nothing(SeOperator *op);

void
se_op_init(SeOperator *op, const SeOperatorOps *ops, int id, int ninputs,
		   SeOperatorEnv *env, TupleDesc out_desc)
{
	SeOperatorOps *complete = MemoryContextAlloc(env->memory, sizeof(SeOperatorOps));

	Assert(ops->name && ops->push);
	Assert(ninputs == 1 || (ops->watermark && ops->idle && ops->end));
	Assert((ops->restore == NULL) == (ops->rewrite == NULL) && (ops->restore == NULL || ops->snapshot != NULL));
	complete->name = ops->name;
	complete->push = ops->push;
	complete->watermark = ops->watermark ? ops->watermark : se_op_forward_watermark;
	complete->idle = ops->idle ? ops->idle : se_op_forward_idle;
	complete->timer = ops->timer ? ops->timer : se_op_forward_timer;
	complete->resume = ops->resume ? ops->resume : nothing_to_resume;
	complete->prepare = ops->prepare ? ops->prepare : do_nothing;
	complete->snapshot = ops->snapshot ? ops->snapshot : no_snapshot;
	complete->rewrite = ops->rewrite ? ops->rewrite : no_rewrite;
	complete->restore = ops->restore ? ops->restore : no_restore;
	complete->restored = ops->restored ? ops->restored : do_nothing;
	complete->checkpoint_done = ops->checkpoint_done ? ops->checkpoint_done : do_nothing;
	complete->end = ops->end ? ops->end : se_op_forward_end;
	complete->adopt = ops->adopt;
	complete->close = ops->close ? ops->close : do_nothing;
	op->ops = complete;
	op->id = id;
	op->ninputs = ninputs;
	op->env = env;
	op->out_desc = out_desc;
	op->watermark_in = SE_TIME_MIN;
	op->watermark_out = SE_TIME_MIN;
	op->time_in = SE_TIME_MIN;
}

/* What must hold of every batch that reaches an operator; the mistakes tests look for. */
void
se_op_check_batch(SeOperator *op, int input, const SeBatch *batch)
{
	Assert(!op->ended);
	Assert(!op->snapshotting);
	Assert(input >= 0 && input < op->ninputs);
	Assert(batch->nrows <= batch->capacity);
	for (int i = 0; i < batch->nrows; i++)
	{
		Assert(i == 0 || batch->wm[i] >= batch->wm[i - 1]);
		Assert(batch->wm[i] <= batch->wm_end);
		Assert(batch->append_only || batch->kinds[i] <= SE_ROW_DELETE);
	}
}

void
se_env_account(SeOperatorEnv *env, int64 delta)
{
	Assert(delta >= 0 || env->state_bytes >= (uint64) -delta);
	if (delta > 0 && env->state_bytes + delta > env->state_limit)
	{
		env->over_limit = true;
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("state of the continuous view exceeds stream_engine.state_memory"),
				 env->converting ?
				 errdetail("The options that were changed need the state in another form: it would hold %llu kB of at most %llu kB.",
						   (unsigned long long) (env->state_bytes + delta) / 1024,
						   (unsigned long long) env->state_limit / 1024) :
				 errdetail("It holds %llu kB of at most %llu kB.",
						   (unsigned long long) (env->state_bytes + delta) / 1024,
						   (unsigned long long) env->state_limit / 1024),
				 env->converting ?
				 errhint("Raise the option stream_engine.state_memory of the view, or take the ALTER MATERIALIZED VIEW back; then start it.") :
				 errhint("Raise the option stream_engine.state_memory of the view, or use fewer groups, shorter windows or a watermark that closes them sooner.")));
	}
	env->state_bytes += delta;
}

void
se_op_forward_watermark(SeOperator *op, int input, SeTime h)
{
	op->watermark_in = Max(op->watermark_in, h);
	if (has_next(op))
		se_op_emit_watermark(op, op->watermark_in);
}

void
se_op_forward_idle(SeOperator *op, int input, bool idle)
{
	if (has_next(op))
		op->next->ops->idle(op->next, op->next_input, idle);
}

void
se_op_forward_timer(SeOperator *op, SeTime now)
{
	if (has_next(op))
		se_op_timer(op->next, now);
}

void
se_op_forward_end(SeOperator *op, int input)
{
	op->ended = true;
	if (has_next(op))
		op->next->ops->end(op->next, op->next_input);
}

/* All but a sink have somebody behind them. */
static inline bool
has_next(const SeOperator *op)
{
	Assert((op->next == NULL) == (op->out_desc == NULL));
	return op->next != NULL;
}

static bool
nothing_to_resume(SeOperator *op)
{
	return true;
}

static void
no_snapshot(SeOperator *op, SeSnapshotWriter *writer)
{
}

static Size
no_rewrite(SeOperator *op, const void *record, Size len)
{
	return 0;
}

/* A stateless operator never wrote a record: this one is not its own. */
static void
no_restore(SeOperator *op, const void *record, Size len)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("saved state names operator %d (%s), which has none", op->id, op->ops->name)));
}

/* For prepare, restored, checkpoint_done and close. */
static void
do_nothing(SeOperator *op)
{
}
