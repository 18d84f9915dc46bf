/*
 * flow/operator.c
 *		The operator base: checked calls, byte accounting, and the indifferent callbacks.
 */
#include "postgres.h"

#include "flow/operator.h"

void
se_op_init(SeOperator *op, const SeOperatorOps *ops, int id, int ninputs,
		   SeOperatorEnv *env, TupleDesc out_desc)
{
	Assert(ops->push && ops->watermark && ops->idle && ops->timer && ops->resume &&
		   ops->prepare && ops->snapshot && ops->rewrite && ops->restore &&
		   ops->restored && ops->checkpoint_done && ops->end && ops->close);
	op->ops = ops;
	op->id = id;
	op->ninputs = ninputs;
	op->env = env;
	op->out_desc = out_desc;
	op->watermark_in = SE_TIME_MIN;
	op->watermark_out = SE_TIME_MIN;
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
				 errdetail("It holds %llu kB of at most %llu kB.",
						   (unsigned long long) (env->state_bytes + delta) / 1024,
						   (unsigned long long) env->state_limit / 1024),
				 errhint("Raise the option stream_engine.state_memory of the view, or use fewer groups, shorter windows or a watermark that closes them sooner.")));
	}
	env->state_bytes += delta;
}

void
se_op_forward_watermark(SeOperator *op, int input, SeTime h)
{
	op->watermark_in = Max(op->watermark_in, h);
	se_op_emit_watermark(op, op->watermark_in);
}

void
se_op_forward_idle(SeOperator *op, int input, bool idle)
{
	op->next->ops->idle(op->next, op->next_input, idle);
}

void
se_op_forward_timer(SeOperator *op, SeTime now)
{
	se_op_timer(op->next, now);
}

void
se_op_forward_end(SeOperator *op, int input)
{
	op->ended = true;
	op->next->ops->end(op->next, op->next_input);
}

bool
se_op_nothing_to_resume(SeOperator *op)
{
	return true;
}

void
se_op_no_prepare(SeOperator *op)
{
}

void
se_op_no_snapshot(SeOperator *op, SeSnapshotWriter *writer)
{
}

Size
se_op_no_rewrite(SeOperator *op, const void *record, Size len)
{
	return 0;
}

/* A stateless operator never wrote a record: this one is not its own. */
void
se_op_no_restore(SeOperator *op, const void *record, Size len)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("saved state names operator %d (%s), which has none", op->id, op->ops->name)));
}

void
se_op_no_restored(SeOperator *op)
{
}

void
se_op_no_checkpoint_done(SeOperator *op)
{
}

void
se_op_no_close(SeOperator *op)
{
}
