/*
 * test/unit/test_two_inputs.c
 *		An operator with two inputs under the law of flow/operator.h: minimum watermark, idle, end of
 *		input, saved state, and row kinds that walk one way.
 *
 * The operator of the test puts two ordered-up-to-their-watermark inputs into one order: it keeps
 * rows until its watermark has passed their time. What comes out must be sorted, complete, and never
 * late for the watermark given on.
 */
#include "harness.h"

#include "catalog/pg_type_d.h"
#include "flow/inputs.h"
#include "flow/kind_check.h"
#include "flow/operator.h"
#include "state/value.h"

#define ROWS 400				/* per input */
#define KEYS 25

/* ------------------------------------------------------------- the operator */

typedef struct Kept
{
	SeTime		ts;
	int32		key;
	int32		kind;
} Kept;

typedef struct Merge
{
	SeOperator	op;
	SeInputs   *inputs;
	bool		was_idle;
	Kept	   *rows;			/* by time; equal times in order of arrival */
	int			n;
} Merge;

static void
release(Merge *merge, SeTime h)
{
	SeOperator *op = &merge->op;
	SeBatch    *batch = se_batch_new(op->env->memory, op->out_desc, ROWS * 2);
	int			i;

	for (i = 0; i < merge->n && merge->rows[i].ts < h; i++)
	{
		int			row = batch->nrows++;

		se_batch_values(batch, row)[0] = Int32GetDatum(merge->rows[i].key);
		se_batch_nulls(batch, row)[0] = false;
		batch->kinds[row] = merge->rows[i].kind;
		batch->event_time[row] = merge->rows[i].ts;
		batch->wm[row] = op->watermark_out;
	}
	batch->append_only = false;
	batch->wm_end = op->watermark_out;
	merge->n -= i;
	memmove(merge->rows, merge->rows + i, merge->n * sizeof(Kept));
	se_op_emit(op, batch);
	op->watermark_in = Max(op->watermark_in, h);
	se_op_emit_watermark(op, op->watermark_in);
}

static void
merge_push(SeOperator *op, int input, SeBatch *batch)
{
	Merge	   *merge = (Merge *) op;

	for (int i = 0; i < batch->nrows; i++)
	{
		Kept		row = {batch->event_time[i], DatumGetInt32(se_batch_values(batch, i)[0]), batch->kinds[i]};
		int			at;

		release(merge, se_inputs_watermark(merge->inputs, input, batch->wm[i]));
		for (at = merge->n++; at > 0 && merge->rows[at - 1].ts > row.ts; at--)
			merge->rows[at] = merge->rows[at - 1];
		merge->rows[at] = row;
	}
	release(merge, se_inputs_watermark(merge->inputs, input, batch->wm_end));
}

static void
merge_watermark(SeOperator *op, int input, SeTime h)
{
	Merge	   *merge = (Merge *) op;

	release(merge, se_inputs_watermark(merge->inputs, input, h));
}

static void
tell_idle(Merge *merge)
{
	bool		all = se_inputs_all_idle(merge->inputs);

	if (all != merge->was_idle)
		se_op_forward_idle(&merge->op, 0, all);
	merge->was_idle = all;
}

static void
merge_idle(SeOperator *op, int input, bool idle)
{
	Merge	   *merge = (Merge *) op;

	release(merge, se_inputs_idle(merge->inputs, input, idle));
	tell_idle(merge);
}

static void
merge_end(SeOperator *op, int input)
{
	Merge	   *merge = (Merge *) op;

	release(merge, se_inputs_end(merge->inputs, input));
	tell_idle(merge);
	if (se_inputs_all_ended(merge->inputs))
		se_op_forward_end(op, 0);
}

static void
merge_snapshot(SeOperator *op, SeSnapshotWriter *writer)
{
	Merge	   *merge = (Merge *) op;

	writer->append(writer, op->id, merge->rows, merge->n * sizeof(Kept));
}

/* Each snapshot has all of it. */
static Size
merge_rewrite(SeOperator *op, const void *record, Size len)
{
	return 0;
}

static void
merge_restore(SeOperator *op, const void *record, Size len)
{
	Merge	   *merge = (Merge *) op;

	SE_CHECK_INT(len % sizeof(Kept), 0);
	memcpy(merge->rows, record, len);
	merge->n = (int) (len / sizeof(Kept));
}

static const SeOperatorOps merge_ops = {
	.name = "merge",.push = merge_push,.watermark = merge_watermark,.idle = merge_idle,
	.snapshot = merge_snapshot,.rewrite = merge_rewrite,.restore = merge_restore,.end = merge_end
};

/* ------------------------------------------------------------- what comes out */

typedef struct Sink
{
	SeOperator	op;
	SeKindCheck *check;
	SeTime		last;			/* time of the last row */
	SeTime		h;
	SeTime		now;			/* of the last timer */
	int			n;
	bool		is_idle;
} Sink;

static void
sink_push(SeOperator *op, int input, SeBatch *batch)
{
	Sink	   *sink = (Sink *) op;

	for (int i = 0; i < batch->nrows; i++)
	{
		int32		key = DatumGetInt32(se_batch_values(batch, i)[0]);

		SE_CHECK(batch->event_time[i] >= sink->last);
		SE_CHECK(batch->event_time[i] >= sink->h);	/* not late */
		SE_CHECK(se_kind_check_step(sink->check, &key, sizeof(key), batch->kinds[i]) == NULL);
		sink->last = batch->event_time[i];
		sink->n++;
	}
}

static void
sink_watermark(SeOperator *op, int input, SeTime h)
{
	Sink	   *sink = (Sink *) op;

	SE_CHECK(h > sink->h);
	sink->h = h;
}

static void
sink_idle(SeOperator *op, int input, bool idle)
{
	Sink	   *sink = (Sink *) op;

	SE_CHECK(idle != sink->is_idle);
	sink->is_idle = idle;
}

static void
sink_timer(SeOperator *op, SeTime now)
{
	((Sink *) op)->now = now;
}

static void
sink_end(SeOperator *op, int input)
{
	SE_CHECK_INT(((Sink *) op)->h, SE_TIME_MAX);
	op->ended = true;
}

static const SeOperatorOps sink_ops = {
	.name = "sink",.push = sink_push,.watermark = sink_watermark,.idle = sink_idle,.timer = sink_timer,
	.end = sink_end
};

/* ------------------------------------------------------------- two random inputs */

typedef struct Chain
{
	SeOperatorEnv *env;
	TupleDesc	desc;
	Merge	   *merge;
	Sink	   *sink;
	StringInfoData saved;
} Chain;

typedef struct Writer
{
	SeSnapshotWriter writer;	/* first */
	StringInfo	out;
} Writer;

static void
save(SeSnapshotWriter *writer, int operator_id, const void *bytes, Size len)
{
	SE_CHECK_INT(operator_id, 1);
	appendBinaryStringInfo(((Writer *) writer)->out, bytes, (int) len);
}

static Merge *
merge_new(Chain *chain)
{
	Merge	   *merge = palloc0(sizeof(Merge));

	se_op_init(&merge->op, &merge_ops, 1, 2, chain->env, chain->desc);
	merge->op.next = &chain->sink->op;
	merge->inputs = se_inputs_new(CurrentMemoryContext, 2);
	merge->rows = palloc(sizeof(Kept) * ROWS * 2);
	return merge;
}

static Chain *
chain_new(void)
{
	Chain	   *chain = palloc0(sizeof(Chain));

	chain->env = palloc0(sizeof(SeOperatorEnv));
	chain->env->memory = CurrentMemoryContext;
	chain->desc = CreateTemplateTupleDesc(1);
	TupleDescInitEntry(chain->desc, 1, "k", INT4OID, -1, 0);
	chain->sink = palloc0(sizeof(Sink));
	se_op_init(&chain->sink->op, &sink_ops, 2, 1, chain->env, NULL);
	chain->sink->check = se_kind_check_new(CurrentMemoryContext, false);
	chain->sink->last = chain->sink->h = SE_TIME_MIN;
	chain->merge = merge_new(chain);
	return chain;
}

/*
 * One row of an input at its next second: its keys are the input's own, and each key
 * comes, changes by -U and +U, goes, and comes again.
 */
static void
push_row(Chain *chain, int input, int i, SeTime h)
{
	static const SeRowKind walk[] = {SE_ROW_INSERT, SE_ROW_UPDATE_BEFORE, SE_ROW_UPDATE_AFTER, SE_ROW_DELETE};
	SeBatch    *batch = se_batch_new(CurrentMemoryContext, chain->desc, 1);

	batch->nrows = 1;
	se_batch_values(batch, 0)[0] = Int32GetDatum(i % KEYS * 2 + input);
	se_batch_nulls(batch, 0)[0] = false;
	batch->append_only = false;
	batch->kinds[0] = walk[i / KEYS % lengthof(walk)];
	batch->event_time[0] = i * 10;
	batch->wm[0] = h;
	batch->wm_end = h;
	se_op_push(&chain->merge->op, input, batch);
}

SE_TEST(two_inputs_come_out_in_one_order_and_the_watermark_is_their_minimum)
{
	for (int round = 0; round < 40; round++)
	{
		Chain	   *chain = chain_new();
		bool		plain = round % 2 == 0; /* nobody is idle, nothing restarts */
		int			next[2] = {0, 0};
		SeTime		h[2] = {SE_TIME_MIN, SE_TIME_MIN};
		bool		idle[2] = {false, false};
		bool		ended[2] = {false, false};

		while (!ended[0] || !ended[1])
		{
			int			input = se_harness_random(2);
			SeOperator *op = &chain->merge->op;

			if (ended[input])
				input = 1 - input;
			switch (se_harness_random(8))
			{
				case 0:			/* a watermark alone */
					{
						SeTime		to = next[input] * 10 - (SeTime) se_harness_random(30);

						h[input] = Max(h[input], to);
						if (!idle[input])
							se_op_watermark(op, input, h[input]);
						break;
					}
				case 1:			/* only the one that is ahead: the other one's rows are not late then */
					if (plain || idle[input] || next[input] < next[1 - input])
						break;
					idle[input] = true;
					op->ops->idle(op, input, true);
					break;
				case 2:			/* saved, and loaded by a new operator; it has no watermark before it hears one */
					{
						Writer		writer = {{save}, &chain->saved};

						if (plain || idle[0] || idle[1] || ended[0] || ended[1])
							break;
						initStringInfo(&chain->saved);
						op->ops->snapshot(op, &writer.writer);
						chain->merge = merge_new(chain);
						chain->merge->op.watermark_out = chain->sink->h;
						chain->merge->op.watermark_in = chain->sink->h;
						chain->merge->op.ops->restore(&chain->merge->op, chain->saved.data, chain->saved.len);
						break;
					}
				case 3:
					if (next[input] < ROWS || idle[input])
						break;
					ended[input] = true;
					se_op_watermark(op, input, SE_TIME_MAX);
					op->ops->end(op, input);
					SE_CHECK_INT(chain->sink->op.ended, ended[1 - input]);
					break;
				default:
					if (idle[input])
					{
						idle[input] = false;
						op->ops->idle(op, input, false);
					}
					if (next[input] < ROWS && (!idle[1 - input] || next[input] < next[1 - input]))
						push_row(chain, input, next[input]++, h[input]);
			}
			if (plain && !ended[0] && !ended[1])
				SE_CHECK_INT(chain->sink->h, Min(h[0], h[1]));
			SE_CHECK_INT(chain->sink->is_idle, (idle[0] && (idle[1] || ended[1])) || (idle[1] && (idle[0] || ended[0])));
		}
		se_op_forward_timer(&chain->merge->op, 7 + round);
		SE_CHECK_INT(chain->sink->now, 7 + round);
		SE_CHECK_INT(chain->sink->n, 2 * ROWS);
		SE_CHECK_INT(chain->sink->h, SE_TIME_MAX);
		SE_CHECK(chain->sink->op.ended);
		SE_CHECK(se_kind_check_rest(chain->sink->check) == NULL);
	}
}
