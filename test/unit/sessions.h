/*
 * test/unit/sessions.h
 *		For tests of the session aggregate: its node, its input, random rows.
 */
#ifndef SE_TEST_SESSIONS_H
#define SE_TEST_SESSIONS_H

#include "harness.h"
#include "windowed.h"

#include "catalog/pg_type_d.h"
#include "operators/operators.h"
#include "operators/session_internal.h"
#include "utils/fmgroids.h"

#define ROWS 400

typedef struct Row
{
	int			key;			/* -1 = NULL */
	int			value;			/* -1 = NULL */
	SeTime		ts;
	int64		gap;			/* -1 = NULL */
	SeTime		wm;
} Row;

/* Input: key, value int4, ts timestamp, gap interval. */
static inline TupleDesc
input_desc(void)
{
	TupleDesc	desc = CreateTemplateTupleDesc(4);

	TupleDescInitEntry(desc, 1, "k", INT4OID, -1, 0);
	TupleDescInitEntry(desc, 2, "v", INT4OID, -1, 0);
	TupleDescInitEntry(desc, 3, "ts", TIMESTAMPOID, -1, 0);
	TupleDescInitEntry(desc, 4, "gap", INTERVALOID, -1, 0);
	return desc;
}

/* gap < 0: that of the row. */
static inline SeSessionAggNode *
new_node(int64 gap)
{
	SeSessionAggNode *node = palloc0(sizeof(SeSessionAggNode));
	SeNode	   *input = palloc0(sizeof(SeNode));
	TupleDesc	out = CreateTemplateTupleDesc(7);

	TupleDescInitEntry(out, 1, "k", INT4OID, -1, 0);
	TupleDescInitEntry(out, 2, "s", TIMESTAMPOID, -1, 0);
	TupleDescInitEntry(out, 3, "e", TIMESTAMPOID, -1, 0);
	TupleDescInitEntry(out, 4, "t", TIMESTAMPOID, -1, 0);
	TupleDescInitEntry(out, 5, "count", INT8OID, -1, 0);
	TupleDescInitEntry(out, 6, "sum", INT8OID, -1, 0);
	TupleDescInitEntry(out, 7, "max", INT4OID, -1, 0);
	input->desc = input_desc();
	node->node.kind = SE_NODE_SESSION_AGG;
	node->node.id = 1;
	node->node.inputs = list_make1(input);
	node->node.desc = out;
	node->time_column = 2;
	node->gap_column = gap < 0 ? 3 : -1;
	node->gap = Max(gap, 0);
	node->keys = list_make1_int(0);
	node->key_eq = list_make1_oid(96);
	node->calls = list_make3(call(F_COUNT_, NIL), call(F_SUM_INT4, list_make1_int(1)), call(F_MAX_INT4, list_make1_int(1)));
	return node;
}

static inline SeOperator *
start(const SeSessionAggNode *node, SeOperatorEnv *env, Sink *sink, const Log *log)
{
	SeOperator *op = se_session_agg_new(node, env);

	op->next = &sink->op;
	for (int i = 0; log != NULL && i < log->n; i++)
		op->ops->restore(op, log->records[i].data, log->records[i].len);
	op->ops->restored(op);
	return op;
}

static inline int64
gap_of(const SeSessionAggNode *node, const Row *row)
{
	return node->gap_column < 0 ? node->gap : row->gap;
}

static inline SeTime
make_rows(Row *rows, int n, int keys)
{
	SeTime		wm = SE_TIME_MIN;
	SeTime		now = -200;
	int			delay = se_harness_random(60);

	for (int i = 0; i < n; i++)
	{
		now += se_harness_random(6) == 0 ? se_harness_random(20) : se_harness_random(3);
		rows[i].key = (int) se_harness_random(keys) - 1;
		rows[i].value = (int) se_harness_random(50) - 1;
		rows[i].ts = now - (int) se_harness_random(se_harness_random(4) == 0 ? 90 : 10);
		rows[i].gap = se_harness_random(15) == 0 ? -1 : (int) se_harness_random(12);
		rows[i].wm = wm;
		wm = Max(wm, rows[i].ts - delay);
	}
	return wm;
}

static inline void
fill(SeBatch *batch, const Row *row, SeTime wm_end)
{
	Datum	   *values = se_batch_values(batch, batch->nrows);
	bool	   *nulls = se_batch_nulls(batch, batch->nrows);
	Interval   *gap = palloc0(sizeof(Interval));

	gap->time = row->gap;
	values[0] = Int32GetDatum(row->key);
	nulls[0] = row->key < 0;
	values[1] = Int32GetDatum(row->value);
	nulls[1] = row->value < 0;
	values[2] = Int64GetDatum(row->ts);
	nulls[2] = false;
	values[3] = PointerGetDatum(gap);
	nulls[3] = row->gap < 0;
	batch->event_time[batch->nrows] = row->ts;
	batch->wm[batch->nrows] = row->wm;
	batch->places[batch->nrows] = (SePlace)
	{
		0, 0
	};
	batch->nrows++;
	batch->wm_end = wm_end;
}

/* Out of turn: the size at which it pays is far above the rows of a test. */
static inline bool
begin_generation(SeOperator *op)
{
	SeSessionAgg *agg = (SeSessionAgg *) op;

	if (agg->old != NULL)
		return false;
	agg->old = agg->current;
	agg->current = se_session_generation_new(agg, agg->old->number + 1);
	agg->meta.dirty = true;
	return true;
}

#endif							/* SE_TEST_SESSIONS_H */
