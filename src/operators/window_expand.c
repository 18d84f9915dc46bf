/*
 * operators/window_expand.c
 *		Window expand: one output row per window a row belongs to, as tumble() in FROM gives.
 *
 * Runs in: task worker, inside a round. Used where windows are not computed by the
 * aggregate itself; lateness is not judged here but by whoever closes windows, so that
 * a row keeps its stamp and its event time in all its copies.
 *
 * A row without a time, or with an infinite one, has no windows; what the SQL functions refuse is refused with
 * the same error. The row's values are not copied: the copies point to them.
 */
#include "postgres.h"

#include "flow/guard.h"
#include "operators/operators.h"

#include "base/settings.h"
#include "datatype/timestamp.h"
#include "miscadmin.h"
#include "utils/timestamp.h"

typedef struct WindowExpand
{
	SeOperator	op;

	/* settings: never change */
	SeWindow	window;
	int			time_column;

	/* the windows of the slice [from, to): all its times have the same */
	SeTime		from;
	SeTime		to;
	struct
	{
		SeTime		start;
		SeTime		end;
	}		   *windows;
	int			nwindows;
	int			max_windows;
	SeTime		wanted;			/* whose windows look_up finds */
	bool		tried;			/* it has begun to */
	bool		whole_rows;		/* all copies of a row stay in one batch, so that they can be left out together */

	/* output */
	SeBatch    *out;
} WindowExpand;

static void expand_push(SeOperator *op, int input, SeBatch *batch);
static void look_up(void *arg);
static void find_windows(WindowExpand *expand, SeTime ts);
static void expand_row(WindowExpand *expand, const SeBatch *batch, int row);
static void emit(WindowExpand *expand, SeTime wm_end);

static const SeOperatorOps window_expand_ops = {
	.name = "window expand",
	.push = expand_push,
};

/* Make the operator of a window expand node. */
SeOperator *
se_window_expand_new(const SeWindowExpandNode *node, SeOperatorEnv *env)
{
	MemoryContext old = MemoryContextSwitchTo(env->memory);
	WindowExpand *expand = palloc0(sizeof(WindowExpand));

	se_op_init(&expand->op, &window_expand_ops, node->node.id, 1, env, node->node.desc);
	expand->window = node->window;
	expand->time_column = node->time_column;
	expand->from = expand->to = SE_TIME_MIN;
	expand->max_windows = 16;
	expand->whole_rows = env->side != NULL && env->side->on_error != SE_ON_ERROR_STOP;
	expand->windows = palloc(expand->max_windows * sizeof(expand->windows[0]));
	expand->out = se_batch_new(env->memory, node->node.desc, se_batch_rows);
	MemoryContextSwitchTo(old);
	return &expand->op;
}

/* One batch in; as many out as its rows' windows fill. */
static void
expand_push(SeOperator *op, int input, SeBatch *batch)
{
	WindowExpand *expand = (WindowExpand *) op;

	Assert(expand->out->ncolumns == batch->ncolumns + 3);
	for (int row = 0; row < batch->nrows; row++)
	{
		op->env->current_batch = batch;
		op->env->current_row = row;
		expand_row(expand, batch, row);
	}
	op->env->current_batch = NULL;

	op->watermark_in = Max(op->watermark_in, batch->wm_end);
	emit(expand, batch->wm_end);
	se_op_emit_watermark(op, op->watermark_in);
}

/* SeGuardBody: the windows of the wanted time, unless they could not be found. */
static void
look_up(void *arg)
{
	WindowExpand *expand = arg;

	if (expand->tried)
		return;
	expand->tried = true;
	find_windows(expand, expand->wanted);
}

/* Remember the windows of a time, and for which times else they are the same. */
static void
find_windows(WindowExpand *expand, SeTime ts)
{
	SeTime		start;
	SeTime		end;
	int			n = 0;

	expand->from = expand->to = SE_TIME_MIN;	/* nothing is known if an error comes */
	for (bool more = se_window_first(&expand->window, ts, &start, &end); more;
		 more = se_window_next(&expand->window, ts, &start, &end))
	{
		if (!IS_VALID_TIMESTAMP(start) || !IS_VALID_TIMESTAMP(end))
			ereport(ERROR,
					(errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
					 errmsg("timestamp out of range")));
		if (n == expand->max_windows)
		{
			expand->max_windows *= 2;
			expand->windows = repalloc(expand->windows, expand->max_windows * sizeof(expand->windows[0]));
		}
		expand->windows[n].start = start;
		expand->windows[n++].end = end;
	}
	expand->nwindows = n;
	(void) se_window_slice(&expand->window, ts, &expand->from, &expand->to);
}

/* Add a row's copies to the output, in order of their window's end. */
static void
expand_row(WindowExpand *expand, const SeBatch *batch, int row)
{
	int			ncolumns = batch->ncolumns;
	const Datum *values = se_batch_values(batch, row);
	const bool *nulls = se_batch_nulls(batch, row);
	SeTime		ts;

	if (nulls[expand->time_column])
		return;
	ts = DatumGetTimestamp(values[expand->time_column]);
	if (TIMESTAMP_NOT_FINITE(ts))
		return;

	if (ts < expand->from || ts >= expand->to)
	{
		expand->nwindows = -1;
		expand->wanted = ts;
		expand->tried = false;
		se_guard_run(expand->op.env, se_guard_wants(expand->op.env, batch, row), look_up, NULL, expand);
		if (expand->nwindows < 0)
			return;				/* the row was left out */
	}
	if (expand->whole_rows && expand->out->nrows + expand->nwindows > expand->out->capacity)
	{
		emit(expand, batch->wm[row]);
		if (expand->nwindows > expand->out->capacity)
			expand->out = se_batch_new(expand->op.env->memory, expand->op.out_desc, expand->nwindows);
	}
	for (int i = 0; i < expand->nwindows; i++)
	{
		SeBatch    *out = expand->out;
		Datum	   *out_values;
		bool	   *out_nulls;
		SeTime		start = expand->windows[i].start;
		SeTime		end = expand->windows[i].end;

		/* What follows in this row and after it has at least this row's stamp. */
		if (out->nrows == out->capacity)
			emit(expand, batch->wm[row]);
		out->append_only &= batch->append_only;
		se_batch_stamp_from(out, out->nrows, batch, row);
		out_values = se_batch_values(out, out->nrows);
		out_nulls = se_batch_nulls(out, out->nrows);
		memcpy(out_values, values, sizeof(Datum) * ncolumns);
		memcpy(out_nulls, nulls, sizeof(bool) * ncolumns);
		out_values[ncolumns] = TimestampGetDatum(start);
		out_values[ncolumns + 1] = TimestampGetDatum(end);
		out_values[ncolumns + 2] = TimestampGetDatum(end - 1);
		out_nulls[ncolumns] = out_nulls[ncolumns + 1] = out_nulls[ncolumns + 2] = false;
		out->nrows++;
	}
}

/* Push on what there is. */
static void
emit(WindowExpand *expand, SeTime wm_end)
{
	const SeBatch *current = expand->op.env->current_batch;
	int			current_row = expand->op.env->current_row;

	CHECK_FOR_INTERRUPTS();
	expand->out->wm_end = wm_end;
	se_op_emit(&expand->op, expand->out);
	se_batch_reset(expand->out);
	expand->op.env->current_batch = current;
	expand->op.env->current_row = current_row;
}
