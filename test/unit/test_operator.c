/*
 * test/unit/test_operator.c
 *		What is done for an operator whose table leaves callbacks out (flow/operator.h).
 */
#include "harness.h"

#include "flow/operator.h"

/* What reached the operator behind. */
typedef struct Last
{
	SeOperator	op;
	SeTime		h;
	SeTime		now;
	bool		is_idle;
} Last;

static void
take(SeOperator *op, int input, SeBatch *batch)
{
}

static void
last_watermark(SeOperator *op, int input, SeTime h)
{
	((Last *) op)->h = h;
}

static void
last_idle(SeOperator *op, int input, bool idle)
{
	((Last *) op)->is_idle = idle;
}

static void
last_timer(SeOperator *op, SeTime now)
{
	((Last *) op)->now = now;
}

static const SeOperatorOps bare_ops = {
	.name = "bare",.push = take
};

static const SeOperatorOps last_ops = {
	.name = "last",.push = take,.watermark = last_watermark,.idle = last_idle,.timer = last_timer
};

SE_TEST(what_means_nothing_to_an_operator_goes_on_to_the_next)
{
	SeOperatorEnv *env = palloc0(sizeof(SeOperatorEnv));
	SeOperator	op = {0};
	Last		last = {0};

	env->memory = CurrentMemoryContext;
	se_op_init(&op, &bare_ops, 1, 1, env, CreateTemplateTupleDesc(1));
	se_op_init(&last.op, &last_ops, 2, 1, env, NULL);
	op.next = &last.op;

	se_op_watermark(&op, 0, 17);
	SE_CHECK_INT(last.h, 17);
	SE_CHECK_INT(op.watermark_in, 17);
	op.ops->idle(&op, 0, true);
	SE_CHECK(last.is_idle);
	se_op_timer(&op, 18);
	SE_CHECK_INT(last.now, 18);
	op.ops->end(&op, 0);
	SE_CHECK(op.ended);
	SE_CHECK(last.op.ended);
}

SE_TEST(an_operator_that_left_state_out_has_none)
{
	SeOperatorEnv *env = palloc0(sizeof(SeOperatorEnv));
	SeOperator	op = {0};

	env->memory = CurrentMemoryContext;
	se_op_init(&op, &bare_ops, 1, 1, env, CreateTemplateTupleDesc(1));
	SE_CHECK(op.ops->resume(&op));
	op.ops->prepare(&op);
	op.ops->snapshot(&op, NULL);
	SE_CHECK_INT(op.ops->rewrite(&op, "x", 1), 0);
	SE_CHECK_ERROR("XX001", op.ops->restore(&op, "x", 1));
	op.ops->restored(&op);
	op.ops->checkpoint_done(&op);
	op.ops->close(&op);
	op.ops->close(&op);
}
