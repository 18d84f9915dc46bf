/*
 * test/unit/windowed.h
 *		For tests of operators that emit rows of windows: a sink that keeps them, and the log of records.
 *
 * Output: key int4, window_start, window_end, window_time timestamp, count, sum int8, max int4.
 */
#ifndef SE_TEST_WINDOWED_H
#define SE_TEST_WINDOWED_H

#include "harness.h"
#include "flow/graph.h"
#include "flow/operator.h"

/* ------------------------------------------------------------- a chain of one operator */

typedef struct Result
{
	SeTime		start;
	SeTime		end;
	int			key;			/* -1 = NULL */
	int64		count;
	int64		sum;
	int			max;
} Result;

typedef struct Sink
{
	SeOperator	op;
	Result	   *results;
	int			n;
	int			room;
	int			committed;		/* results before it survive a crash */
	int			full_after;		/* batches until the output is full, 0 = never */
	SeTime		now;			/* watermark given to the operator so far */
	SeTime		behind;			/* how much later than its end a window fires */
	bool		ended;
} Sink;

static void
sink_push(SeOperator *op, int input, SeBatch *batch)
{
	Sink	   *sink = (Sink *) op;

	for (int i = 0; i < batch->nrows; i++)
	{
		Datum	   *values = se_batch_values(batch, i);
		bool	   *nulls = se_batch_nulls(batch, i);
		Result	   *result;

		if (sink->n == sink->room)
		{
			sink->room = Max(64, sink->room * 2);
			sink->results = sink->results == NULL ? palloc(sink->room * sizeof(Result)) :
				repalloc(sink->results, sink->room * sizeof(Result));
		}
		result = &sink->results[sink->n++];
		result->key = nulls[0] ? -1 : DatumGetInt32(values[0]);
		result->start = DatumGetInt64(values[1]);
		result->end = DatumGetInt64(values[2]);
		SE_CHECK_INT(DatumGetInt64(values[3]), result->end - 1);
		result->count = DatumGetInt64(values[4]);
		result->sum = nulls[5] ? -1 : DatumGetInt64(values[5]);
		result->max = nulls[6] ? -1 : DatumGetInt32(values[6]);
		SE_CHECK_INT(batch->event_time[i], result->end - 1);
		SE_CHECK(batch->wm[i] < result->end);	/* not late for itself */
		SE_CHECK(result->end <= sink->now - sink->behind);	/* never early */
	}
	if (sink->full_after > 0 && --sink->full_after == 0)
		op->env->output_full = true;
}

static void
sink_watermark(SeOperator *op, int input, SeTime h)
{
	SE_CHECK(h >= op->watermark_in);
	op->watermark_in = h;
}

static void
sink_idle(SeOperator *op, int input, bool idle)
{
}

static void
sink_timer(SeOperator *op, SeTime now)
{
}

static void
sink_end(SeOperator *op, int input)
{
	((Sink *) op)->ended = true;
}

static const SeOperatorOps sink_ops = {
	.name = "sink",.push = sink_push,.watermark = sink_watermark,.idle = sink_idle,.timer = sink_timer,
	.end = sink_end
};

static SeAggCall *
call(Oid function, List *args)
{
	SeAggCall  *result = palloc0(sizeof(SeAggCall));

	result->aggref = palloc0(sizeof(Aggref));
	((Node *) result->aggref)->type = T_Aggref;
	result->aggref->aggfnoid = function;
	result->args = args;
	result->filter = -1;
	result->method = SE_AGG_NATIVE;
	result->mergeable = true;
	return result;
}

static SeOperatorEnv *
new_env(void)
{
	SeOperatorEnv *env = palloc0(sizeof(SeOperatorEnv));

	env->memory = CurrentMemoryContext;
	env->state_limit = UINT64CONST(1) << 30;
	return env;
}

/* ------------------------------------------------------------- the log of records */

typedef struct Log
{
	SeSnapshotWriter writer;	/* first */
	StringInfoData *records;
	int			n;
	int			room;
} Log;

static void
log_append(SeSnapshotWriter *writer, int operator_id, const void *bytes, Size len)
{
	Log		   *log = (Log *) writer;

	SE_CHECK_INT(operator_id, 1);
	if (log->n == log->room)
	{
		log->room = Max(64, log->room * 2);
		log->records = log->records == NULL ? palloc(log->room * sizeof(StringInfoData)) :
			repalloc(log->records, log->room * sizeof(StringInfoData));
	}
	initStringInfo(&log->records[log->n]);
	appendBinaryStringInfo(&log->records[log->n], bytes, (int) len);
	log->n++;
}

/* One commit; sometimes it reclaims the oldest records. */
static void
commit(SeOperator *op, Log *log, Sink *sink, bool reclaim)
{
	int			gone = reclaim ? log->n / 2 : 0;

	op->ops->prepare(op);
	for (int i = 0; i < gone; i++)
		op->ops->rewrite(op, log->records[i].data, log->records[i].len);
	for (int i = 0; i < gone; i++)
		pfree(log->records[i].data);
	memmove(log->records, log->records + gone, (log->n - gone) * sizeof(StringInfoData));
	log->n -= gone;
	op->snapshotting = true;
	op->ops->snapshot(op, &log->writer);
	op->snapshotting = false;
	op->ops->checkpoint_done(op);
	sink->committed = sink->n;
	op->env->output_full = false;
}

static inline int
compare_results(const void *a, const void *b)
{
	const Result *x = a;
	const Result *y = b;

	if (x->end != y->end)
		return x->end < y->end ? -1 : 1;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->key - y->key;
}

#endif							/* SE_TEST_WINDOWED_H */
