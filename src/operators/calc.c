/*
 * operators/calc.c
 *		Calc: which rows go on (WHERE, HAVING) and what they look like (SELECT list).
 *
 * Runs in: task worker, inside a round.
 *
 * Conditions that are a *filter* (calc_filter.h) are decided first, by the batch. Filters cannot fail, so that
 * running them before the others changes no result. All else goes to PostgreSQL's interpreter, row by
 * row, over a virtual slot that shows the row in place.
 *
 * Memory: expressions are evaluated in a context that is reset when the next batch
 * comes; their results are passed on where they are and hold until push returns.
 *
 * A row of the stream that raises an error can be left out (flow/guard.h): the rows are
 * evaluated one by one, and it goes on behind that row with expressions made anew.
 *
 * Over changing input (rows with kinds): a row that fails the conditions becomes a -D,
 * because the row it replaces may have passed them; its plain columns, among which are
 * the key's, are kept and the expressions are left NULL, since a condition may be
 * there to keep them from failing. A -D is passed on like that, and
 * so is a -U, which says by which key the row of the +U behind it was known; if that one fails it is the -U
 * that becomes the -D.
 */
#include "postgres.h"

#include "flow/guard.h"
#include "operators/calc_filter.h"
#include "operators/operators.h"

#include "base/fault.h"
#include "base/settings.h"
#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
#include "utils/expandeddatum.h"
#include "utils/lsyscache.h"

/* An output column that is not just an input column. */
typedef struct Computed
{
	int			column;			/* of the output */
	bool		varlena;
	ExprState  *state;
} Computed;

/* An output column that is an input column. */
typedef struct Bare
{
	int			from;
	int			to;
} Bare;

typedef struct Calc
{
	SeOperator	op;

	/* settings: never change */
	const SeCalcNode *node;
	int			nfilters;
	SeFilter   *filters;
	ExprState  *qual;			/* conditions that are no filter, NULL if none */
	int			nbare;
	Bare	   *bare;
	int			ncomputed;
	Computed   *computed;

	/* evaluation */
	List	   *slow;			/* conditions that are no filter */
	MemoryContext exprs;		/* what expressions are made of */
	List	   *stale;			/* MemoryContext: of those that raised an error; until the next batch */
	ExprContext *econtext;
	TupleTableSlot *slot;		/* shows the input row */

	/* output */
	SeBatch    *out;
	int		   *selected;		/* rows of the input that go on */

	/* a batch under guard */
	const SeBatch *batch;
	int			nselected;
	int			next;			/* of the selected ones */
} Calc;

static void calc_push(SeOperator *op, int input, SeBatch *batch);
static void calc_close(SeOperator *op);
static void make_expressions(Calc *calc);
static void make_anew(void *arg);
static void free_stale(Calc *calc);
static void need_room(Calc *calc, int nrows);
static int	run_filters(Calc *calc, const SeBatch *batch);
static void evaluate_rows(void *arg);
static int	select_rows(Calc *calc, const SeBatch *batch);
static int	run_qual(Calc *calc, const SeBatch *batch, int *rows, int nrows);
static void emit_selected(Calc *calc, const SeBatch *batch, int nrows);
static void emit_changes(Calc *calc, const SeBatch *batch, int nrows);
static void project_bare(Calc *calc, const SeBatch *batch, int row, int out_row);
static void project_computed(Calc *calc, const SeBatch *batch, int row, int out_row);

static const SeOperatorOps calc_ops = {
	.name = "calc",
	.push = calc_push,
	.close = calc_close
};

/* Make the operator of a calc node. */
SeOperator *
se_calc_new(const SeCalcNode *node, SeOperatorEnv *env)
{
	MemoryContext old = MemoryContextSwitchTo(env->memory);
	TupleDesc	input = ((SeNode *) linitial(node->node.inputs))->desc;
	Calc	   *calc = palloc0(sizeof(Calc));
	ListCell   *lc;

	calc->node = node;
	se_op_init(&calc->op, &calc_ops, node->node.id, 1, env, node->node.desc);
	calc->econtext = CreateStandaloneExprContext();
	calc->slot = MakeSingleTupleTableSlot(input, &TTSOpsVirtual);
	calc->econtext->ecxt_scantuple = calc->slot;

	calc->filters = palloc0(sizeof(SeFilter) * Max(list_length(node->quals), 1));
	foreach(lc, node->quals)
	{
		if (se_filter_make(lfirst(lc), &calc->filters[calc->nfilters]))
			calc->nfilters++;
		else
			calc->slow = lappend(calc->slow, lfirst(lc));
	}

	calc->bare = palloc(sizeof(Bare) * Max(list_length(node->targets), 1));
	calc->computed = palloc(sizeof(Computed) * Max(list_length(node->targets), 1));
	foreach(lc, node->targets)
	{
		Expr	   *target = lfirst(lc);

		if (IsA(target, Var))
		{
			calc->bare[calc->nbare].from = ((Var *) target)->varattno - 1;
			calc->bare[calc->nbare++].to = foreach_current_index(lc);
		}
		else
		{
			Computed   *computed = &calc->computed[calc->ncomputed++];

			computed->column = foreach_current_index(lc);
			computed->varlena = get_typlen(exprType((Node *) target)) == -1;
		}
	}
	make_expressions(calc);
	need_room(calc, se_batch_rows);

	MemoryContextSwitchTo(old);
	return &calc->op;
}

/* Make what is evaluated. */
static void
make_expressions(Calc *calc)
{
	MemoryContext old;

	calc->exprs = AllocSetContextCreate(calc->op.env->memory, "stream_engine expressions", ALLOCSET_SMALL_SIZES);
	old = MemoryContextSwitchTo(calc->exprs);
	calc->qual = ExecInitQual(calc->slow, NULL);
	for (int i = 0; i < calc->ncomputed; i++)
		calc->computed[i].state = ExecInitExpr(list_nth(calc->node->targets, calc->computed[i].column), NULL);
	MemoryContextSwitchTo(old);
}

/*
 * One of them raised an error, and may have been left in the middle: from now on others take its place. What stands
 * for the same row of the stream goes with the row, its copies in other windows.
 */
static void
make_anew(void *arg)
{
	Calc	   *calc = arg;
	SePlace		place = calc->batch->places[calc->selected[calc->next - 1]];
	MemoryContext old = MemoryContextSwitchTo(calc->op.env->memory);

	calc->stale = lappend(calc->stale, calc->exprs);
	MemoryContextSwitchTo(old);
	make_expressions(calc);
	if (SE_FAULT_WRONG("wrong-failed-copies-stay"))
		return;
	while (calc->out->nrows > 0 && se_place_compare(calc->out->places[calc->out->nrows - 1], place) == 0)
		calc->out->nrows--;
	while (calc->next < calc->nselected &&
		   se_place_compare(calc->batch->places[calc->selected[calc->next]], place) == 0)
		calc->next++;
}

static void
free_stale(Calc *calc)
{
	ListCell   *lc;

	foreach(lc, calc->stale)
		MemoryContextDelete(lfirst(lc));
	list_free(calc->stale);
	calc->stale = NIL;
}

/* One batch in, at most one batch out. */
static void
calc_push(SeOperator *op, int input, SeBatch *batch)
{
	Calc	   *calc = (Calc *) op;
	int			nrows;

	need_room(calc, batch->nrows);
	ResetExprContext(calc->econtext);
	if (calc->stale != NIL)
		free_stale(calc);
	se_batch_reset(calc->out);
	calc->out->append_only = batch->append_only;
	calc->out->wm_end = batch->wm_end;

	op->env->current_batch = batch;
	if (batch->append_only && batch->nrows > 0 && (calc->qual || calc->ncomputed > 0) &&
		se_guard_wants(op->env, batch, 0))
	{
		calc->batch = batch;
		calc->nselected = run_filters(calc, batch);
		calc->next = 0;
		se_guard_run(op->env, true, evaluate_rows, make_anew, calc);
	}
	else
	{
		nrows = select_rows(calc, batch);
		if (batch->append_only)
			emit_selected(calc, batch, nrows);
		else
			emit_changes(calc, batch, nrows);
	}
	op->env->current_batch = NULL;

	op->watermark_in = Max(op->watermark_in, batch->wm_end);
	se_op_emit(op, calc->out);
	se_op_emit_watermark(op, op->watermark_in);
}

static void
calc_close(SeOperator *op)
{
	Calc	   *calc = (Calc *) op;

	if (calc->econtext)
		FreeExprContext(calc->econtext, false);
	calc->econtext = NULL;
}

/* Make sure that the output takes as many rows as come in. */
static void
need_room(Calc *calc, int nrows)
{
	MemoryContext memory = calc->op.env->memory;

	if (calc->out && calc->out->capacity >= nrows)
		return;
	calc->out = se_batch_new(memory, calc->op.out_desc, nrows);
	calc->selected = MemoryContextAlloc(memory, sizeof(int) * nrows);
}

/* Which rows pass the filters; their numbers are in calc->selected. */
static int
run_filters(Calc *calc, const SeBatch *batch)
{
	int		   *rows = calc->selected;
	int			nrows = batch->nrows;

	/* Of a -D and a -U nothing but the key is known: they meet no conditions. */
	nrows = 0;
	for (int i = 0; i < batch->nrows; i++)
	{
		rows[nrows] = i;
		nrows += batch->append_only ||
			(batch->kinds[i] != SE_ROW_DELETE && batch->kinds[i] != SE_ROW_UPDATE_BEFORE);
	}
	for (int f = 0; f < calc->nfilters; f++)
		nrows = se_filter_run(&calc->filters[f], batch, rows, nrows);
	return nrows;
}

/* Which rows meet all conditions; their numbers are in calc->selected. */
static int
select_rows(Calc *calc, const SeBatch *batch)
{
	int			nrows = run_filters(calc, batch);

	return calc->qual ? run_qual(calc, batch, calc->selected, nrows) : nrows;
}

/* SeGuardBody: the rows that pass the filters, one by one, from the one after the last that was begun. */
static void
evaluate_rows(void *arg)
{
	Calc	   *calc = arg;
	const SeBatch *batch = calc->batch;
	SeBatch    *out = calc->out;

	while (calc->next < calc->nselected)
	{
		int			row = calc->selected[calc->next++];

		calc->op.env->current_row = row;
		if (calc->qual)
		{
			se_batch_show_row(batch, row, calc->slot);
			if (!ExecQual(calc->qual, calc->econtext))
				continue;
		}
		se_batch_stamp_from(out, out->nrows, batch, row);
		project_bare(calc, batch, row, out->nrows);
		if (calc->ncomputed > 0)
			project_computed(calc, batch, row, out->nrows);
		out->nrows++;
	}
}

/* Keep the rows of which the interpreter says true. */
static int
run_qual(Calc *calc, const SeBatch *batch, int *rows, int nrows)
{
	int			kept = 0;

	for (int i = 0; i < nrows; i++)
	{
		calc->op.env->current_row = rows[i];
		se_batch_show_row(batch, rows[i], calc->slot);
		if (ExecQual(calc->qual, calc->econtext))
			rows[kept++] = rows[i];
	}
	return kept;
}

/* Project the selected rows of a batch that only adds. */
static void
emit_selected(Calc *calc, const SeBatch *batch, int nrows)
{
	SeBatch    *out = calc->out;

	for (int i = 0; i < nrows; i++)
	{
		se_batch_stamp_from(out, i, batch, calc->selected[i]);
		project_bare(calc, batch, calc->selected[i], i);
	}
	if (calc->ncomputed > 0)
		for (int i = 0; i < nrows; i++)
			project_computed(calc, batch, calc->selected[i], i);
	out->nrows = nrows;
}

/* Project all rows of a batch that changes rows by key; see the top. */
static void
emit_changes(Calc *calc, const SeBatch *batch, int nselected)
{
	SeBatch    *out = calc->out;
	int			next = 0;
	bool		moves = false;	/* the row before is the -U of this one */

	for (int row = 0; row < batch->nrows; row++)
	{
		bool		passes = next < nselected && calc->selected[next] == row;
		bool		before = batch->kinds[row] == SE_ROW_UPDATE_BEFORE;

		next += passes;
		if (moves && !passes)
		{
			out->kinds[out->nrows - 1] = SE_ROW_DELETE;
			moves = false;
			continue;
		}
		moves = before;
		se_batch_stamp_from(out, out->nrows, batch, row);
		if (!passes && !before)
			out->kinds[out->nrows] = SE_ROW_DELETE;
		project_bare(calc, batch, row, out->nrows);
		if (passes)
			project_computed(calc, batch, row, out->nrows);
		else
			for (int i = 0; i < calc->ncomputed; i++)
			{
				se_batch_values(out, out->nrows)[calc->computed[i].column] = (Datum) 0;
				se_batch_nulls(out, out->nrows)[calc->computed[i].column] = true;
			}
		out->nrows++;
	}
}

static void
project_bare(Calc *calc, const SeBatch *batch, int row, int out_row)
{
	const Datum *values = se_batch_values(batch, row);
	const bool *nulls = se_batch_nulls(batch, row);
	Datum	   *out_values = se_batch_values(calc->out, out_row);
	bool	   *out_nulls = se_batch_nulls(calc->out, out_row);

	for (int i = 0; i < calc->nbare; i++)
	{
		Bare		bare = calc->bare[i];

		out_values[bare.to] = values[bare.from];
		out_nulls[bare.to] = nulls[bare.from];
	}
}

static void
project_computed(Calc *calc, const SeBatch *batch, int row, int out_row)
{
	Datum	   *out_values = se_batch_values(calc->out, out_row);
	bool	   *out_nulls = se_batch_nulls(calc->out, out_row);

	calc->op.env->current_row = row;
	se_batch_show_row(batch, row, calc->slot);
	for (int i = 0; i < calc->ncomputed; i++)
	{
		Computed   *computed = &calc->computed[i];
		bool		isnull;
		Datum		value = ExecEvalExprSwitchContext(computed->state, calc->econtext, &isnull);

		/* Nobody downstream may change an expanded object that others see too. */
		if (computed->varlena)
			value = MakeExpandedObjectReadOnly(value, isnull, -1);
		out_values[computed->column] = value;
		out_nulls[computed->column] = isnull;
	}
}
