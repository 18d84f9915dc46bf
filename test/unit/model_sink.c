/*
 * test/unit/model_sink.c
 *		What an operator's rows do to the result, and what must hold of each of them.
 */
#include "model.h"

/* What holds of a row that is never changed: its window was over, and is not older than those before. */
static void
check_appended(Unit *unit, const SeBatch *batch, int i, const Result *row)
{
	if (batch->ncolumns < 7)
		return;
	SE_CHECK_INT(batch->event_time[i], row->end - 1);
	SE_CHECK(batch->wm[i] < row->end);	/* not late for itself */
	SE_CHECK(row->end <= unit->run->given - unit->run->model->definition->behind);	/* never early */
	SE_CHECK(row->end >= unit->last_end);
	unit->last_end = row->end;
}

/* Results that change: the row's kind is a step that its row can make. */
static void
apply_change(Run *run, SeRowKind kind, Result *row, bool no_values)
{
	const Definition *definition = run->model->definition;
	Table	   *table = &run->table;
	int			at = se_model_find(table, row, definition->same);
	bool		there = at < table->n;

	if (there)
	{
		SE_CHECK(!table->rows[at].final);
		SE_CHECK(!definition->once || table->rows[at].commit != run->commits);
	}
	if (kind == SE_ROW_DELETE || kind == SE_ROW_UPDATE_BEFORE)
	{
		SE_CHECK(there || (definition->any_delete && kind == SE_ROW_DELETE));
		SE_CHECK(no_values && !run->moving);
		run->moving = kind == SE_ROW_UPDATE_BEFORE;
		if (!there)
			return;
		if (run->moving)
			se_model_seen.moves++;
		else
			se_model_seen.deletes++;
		SE_CHECK_INT(table->rows[at].start, row->start);
		table->rows[at] = table->rows[--table->n];
		return;
	}
	if (run->moving)
		SE_CHECK(!there);
	if (!definition->any_insert)
		SE_CHECK_INT(kind, there || run->moving ? SE_ROW_UPDATE_AFTER : SE_ROW_INSERT);
	if (there && definition->changed && !(run->plan & PLAN_CRASH))
		SE_CHECK(!se_model_equal(&table->rows[at], row));
	run->moving = false;
	if (there)
		se_model_seen.updates++;
	else
		se_model_seen.inserts++;
	se_model_put(table, at, row);
}

static void
sink_push(SeOperator *op, int input, SeBatch *batch)
{
	Unit	   *unit = (Unit *) op;
	Run		   *run = unit->run;
	int			agg = batch->ncolumns - 3;
	MemoryContext old;

	run->emitted += batch->nrows;
	if (run->deaf)
		return;
	if (se_harness_has_failed())
		elog(ERROR, "no more rows are taken");	/* an operator that errs may never end */
	old = MemoryContextSwitchTo(op->env->memory);
	SE_CHECK_INT(batch->append_only, run->model->append);
	for (int i = 0; i < batch->nrows; i++)
	{
		Datum	   *values = se_batch_values(batch, i);
		bool	   *nulls = se_batch_nulls(batch, i);
		Result		row = {.key = agg == 0 ? 0 : nulls[0] ? -1 : DatumGetInt32(values[0]),.commit = run->commits};

		if (agg > 1)
			row.start = row.end = DatumGetInt64(values[1]);
		if (agg > 2)
		{
			row.end = DatumGetInt64(values[2]);
			SE_CHECK_INT(DatumGetInt64(values[3]), row.end - 1);
		}
		row.count = DatumGetInt64(values[agg]);
		row.sum = nulls[agg + 1] ? -1 : DatumGetInt64(values[agg + 1]);
		row.max = nulls[agg + 2] ? -1 : DatumGetInt32(values[agg + 2]);
		if (run->nunits > 1)
			se_model_seen.of_unit[unit - run->units]++;
		if (!run->model->append)
		{
			apply_change(run, batch->kinds[i], &row, nulls[agg] && nulls[agg + 1] && nulls[agg + 2]);
			continue;
		}
		check_appended(unit, batch, i, &row);
		se_model_seen.inserts++;
		se_model_put(&run->table, run->table.n, &row);
	}
	SE_CHECK(!run->moving);
	MemoryContextSwitchTo(old);
	if (run->full_after > 0 && --run->full_after == 0)
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
	((Unit *) op)->ended = true;
}

const SeOperatorOps se_model_sink = {
	.name = "sink",.push = sink_push,.watermark = sink_watermark,.idle = sink_idle,.timer = sink_timer,
	.end = sink_end
};
