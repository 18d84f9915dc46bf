/*
 * test/unit/test_window_adopt.c
 *		Windows in slices that become whole windows at any moment: the results at the end are those of an operator that was
 *		never changed, and so are the counts of late rows; over random windows, modes, batches, full outputs and restores.
 */
#include "harness.h"
#include "windowed.h"

#include "base/settings.h"
#include "catalog/pg_type_d.h"
#include "operators/agg_set.h"
#include "operators/operators.h"
#include "utils/fmgroids.h"

/* Input: key int4, value int4, ts timestamp, window start and end timestamp. */
static TupleDesc
input_desc(void)
{
	TupleDesc	desc = CreateTemplateTupleDesc(5);

	TupleDescInitEntry(desc, 1, "k", INT4OID, -1, 0);
	TupleDescInitEntry(desc, 2, "v", INT4OID, -1, 0);
	TupleDescInitEntry(desc, 3, "ts", TIMESTAMPOID, -1, 0);
	TupleDescInitEntry(desc, 4, "s", TIMESTAMPOID, -1, 0);
	TupleDescInitEntry(desc, 5, "e", TIMESTAMPOID, -1, 0);
	return desc;
}

/* In slices, or whole with results that come as `emit` says. */
static SeWindowAggNode *
new_node(SeWindow window, const SeEmit *emit)
{
	SeWindowAggNode *node = palloc0(sizeof(SeWindowAggNode));
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
	node->node.kind = SE_NODE_WINDOW_AGG;
	node->node.id = 1;
	node->node.inputs = list_make1(input);
	node->node.desc = out;
	node->window = window;
	node->sliced = emit == NULL;
	if (emit != NULL)
		node->emit = *emit;
	node->time_column = node->sliced ? 2 : -1;
	node->start_column = node->sliced ? -1 : 3;
	node->end_column = node->sliced ? -1 : 4;
	node->keys = list_make1_int(0);
	node->key_eq = list_make1_oid(96);
	node->calls = list_make3(call(F_COUNT_, NIL), call(F_SUM_INT4, list_make1_int(1)), call(F_MAX_INT4, list_make1_int(1)));
	return node;
}

/* ------------------------------------------------------------- the result table */

typedef struct Table
{
	Sink		sink;			/* first */
	MemoryContext memory;		/* of the results */
} Table;

/* A row replaces that of the same group. */
static void
table_push(SeOperator *op, int input, SeBatch *batch)
{
	Table	   *table = (Table *) op;
	Sink	   *sink = &table->sink;

	for (int i = 0; i < batch->nrows; i++)
	{
		Datum	   *values = se_batch_values(batch, i);
		bool	   *nulls = se_batch_nulls(batch, i);
		Result		row = {DatumGetInt64(values[1]), DatumGetInt64(values[2]), nulls[0] ? -1 : DatumGetInt32(values[0])};
		int			at;

		row.count = DatumGetInt64(values[4]);
		row.sum = nulls[5] ? -1 : DatumGetInt64(values[5]);
		row.max = nulls[6] ? -1 : DatumGetInt32(values[6]);
		for (at = 0; at < sink->n; at++)
			if (compare_results(&sink->results[at], &row) == 0)
				break;
		if (at == sink->room)
		{
			sink->room = Max(64, sink->room * 2);
			sink->results = sink->results == NULL ? MemoryContextAlloc(table->memory, sink->room * sizeof(Result)) :
				repalloc(sink->results, sink->room * sizeof(Result));
		}
		sink->results[at] = row;
		sink->n = Max(sink->n, at + 1);
	}
	if (sink->full_after > 0 && --sink->full_after == 0)
		op->env->output_full = true;
}

/* ------------------------------------------------------------- rows */

#define ROWS 250

typedef struct Row
{
	int			key;
	int			value;			/* -1 = NULL */
	SeTime		ts;
	SeTime		wm;
} Row;

/* What times are multiples of: seconds in a time zone, because its clock is. */
static int64 unit = 1;

static void
make_rows(Row *rows, int n)
{
	SeTime		wm = SE_TIME_MIN;
	SeTime		now = -200;
	int			delay = se_harness_random(60);

	for (int i = 0; i < n; i++)
	{
		now += se_harness_random(4) == 0 ? se_harness_random(12) : 1;
		rows[i].key = (int) se_harness_random(6) - 1;
		rows[i].value = (int) se_harness_random(50) - 1;
		rows[i].ts = (now - (int) se_harness_random(se_harness_random(5) == 0 ? 60 : 8)) * unit;
		rows[i].wm = wm;
		wm = Max(wm, rows[i].ts - delay * unit);
	}
}

/* Half of them in a time zone whose clock is changed several times meanwhile. */
static SeWindow
random_window(void)
{
	SeWindow	w = {SE_WINDOW_HOP + se_harness_random(2), 1 + se_harness_random(30), 0, (int) se_harness_random(40) - 20};

	w.slide = w.kind == SE_WINDOW_HOP ? 1 + se_harness_random(20) : w.size;
	if (w.kind == SE_WINDOW_CUMULATE)
		w.size *= 1 + se_harness_random(6);
	unit = 1;
	if (se_harness_random(2) == 0)
	{
		int64		at[6];
		int64		offsets[7];

		for (int i = 0; i <= 6; i++)
			offsets[i] = (int) se_harness_random(81) - 40;
		for (int i = 0; i < 6; i++)
			at[i] = (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * SECS_PER_DAY - 190 + i * 70 + se_harness_random(60);
		w.calendar.zone = se_stub_zone("random", 6, at, offsets);
		unit = USECS_PER_SEC;
		w.size *= unit;
		w.slide *= unit;
		w.shift *= unit;
	}
	return w;
}

/* Results that change, of windows that take no late rows: at the end they are what they would be otherwise. */
static SeEmit
random_emit(void)
{
	SeEmit		emit = {.given = true};

	switch (se_harness_random(4))
	{
		case 0:
			emit.on_update = true;
			break;
		case 1:
			emit.early = (1 + se_harness_random(20)) * unit;
			break;
		case 2:
			emit.every = 1 + se_harness_random(4);
			break;
		default:
			emit.kept = true;
			break;
	}
	return emit;
}

static void
fill(SeBatch *batch, const SeWindowAggNode *node, const Row *row)
{
	SeTime		s = 0;
	SeTime		e = 0;

	for (bool more = node->sliced || se_window_first(&node->window, row->ts, &s, &e); more;
		 more = !node->sliced && se_window_next(&node->window, row->ts, &s, &e))
	{
		Datum	   *values = se_batch_values(batch, batch->nrows);
		bool	   *nulls = se_batch_nulls(batch, batch->nrows);

		memset(nulls, 0, 5);
		values[0] = Int32GetDatum(row->key);
		nulls[0] = row->key < 0;
		values[1] = Int32GetDatum(row->value);
		nulls[1] = row->value < 0;
		values[2] = Int64GetDatum(row->ts);
		values[3] = Int64GetDatum(s);
		values[4] = Int64GetDatum(e);
		batch->event_time[batch->nrows] = row->ts;
		batch->wm[batch->nrows] = row->wm;
		batch->nrows++;
	}
}

/* ------------------------------------------------------------- the run */

typedef struct Run
{
	SeOperatorEnv *env;
	Table		table;
	Log			log;
	SeBatch    *batch;
	const SeWindowAggNode *node;
	SeOperator *op;
} Run;

static void
make_operator(Run *run, const SeWindowAggNode *node)
{
	run->node = node;
	run->op = se_window_agg_new(node, run->env);
	run->op->next = &run->table.sink.op;
}

static void
begin(Run *run, const SeWindowAggNode *node, const SeOperatorOps *ops)
{
	memset(run, 0, sizeof(Run));
	run->env = new_env();
	run->log.writer.append = log_append;
	run->batch = se_batch_new(CurrentMemoryContext, input_desc(), 30 * 1024);
	run->table.memory = CurrentMemoryContext;
	se_op_init(&run->table.sink.op, ops, 2, 1, run->env, NULL);
	make_operator(run, node);
	run->op->ops->restored(run->op);
}

/* All that is left is out, and a commit has seen it. */
static void
settle(Run *run)
{
	do
		commit(run->op, &run->log, &run->table.sink, se_harness_random(2) == 0);
	while (!run->op->ops->resume(run->op));
	commit(run->op, &run->log, &run->table.sink, false);
}

/* Rows from .. to, in batches of any size, with commits between; the output fills up now and then. */
static void
feed(Run *run, const Row *rows, int from, int to)
{
	while (from < to)
	{
		int			n = 1 + se_harness_random(20);

		if (se_harness_random(3) == 0)
			run->table.sink.full_after = 1 + se_harness_random(3);
		se_batch_reset(run->batch);
		for (; n > 0 && from < to; n--)
			fill(run->batch, run->node, &rows[from++]);
		run->batch->wm_end = from < ROWS ? rows[from].wm : rows[ROWS - 1].wm;
		se_op_push(run->op, 0, run->batch);
		if (run->env->output_full || se_harness_random(3) == 0)
			settle(run);
	}
	settle(run);
}

static void
finish(Run *run)
{
	run->table.sink.full_after = 0;
	se_op_watermark(run->op, 0, SE_TIME_MAX);
	settle(run);
	qsort(run->table.sink.results, run->table.sink.n, sizeof(Result), compare_results);
}

/* The last commit is all there is. */
static void
restart(Run *run)
{
	run->env->state_bytes = 0;
	make_operator(run, run->node);
	for (int i = 0; i < run->log.n; i++)
		run->op->ops->restore(run->op, run->log.records[i].data, run->log.records[i].len);
	run->op->ops->restored(run->op);
}

/* The state under other options, and a snapshot that holds it whole. */
static void
convert(Run *run, const SeWindowAggNode *node)
{
	SeOperator *from = run->op;

	make_operator(run, node);
	run->env->converting = true;
	run->op->ops->adopt(run->op, from);
	run->env->converting = false;
	run->log.n = 0;
	commit(run->op, &run->log, &run->table.sink, false);
}

static void
check_same(const Run *run, const Run *other)
{
	SE_CHECK_INT(run->table.sink.n, other->table.sink.n);
	for (int i = 0; i < Min(run->table.sink.n, other->table.sink.n); i++)
	{
		const Result *is = &run->table.sink.results[i];
		const Result *must = &other->table.sink.results[i];

		if (compare_results(is, must) == 0 && is->count == must->count && is->sum == must->sum && is->max == must->max)
			continue;
		fprintf(stderr, "window kind %d size %lld slide %lld shift %lld, %s: expected [%lld,%lld) %d: %lld rows, is [%lld,%lld) %d: %lld\n",
				run->node->window.kind, (long long) run->node->window.size, (long long) run->node->window.slide,
				(long long) run->node->window.shift, se_emit_print(&run->node->emit),
				(long long) must->start, (long long) must->end, must->key, (long long) must->count,
				(long long) is->start, (long long) is->end, is->key, (long long) is->count);
		SE_CHECK_INT(i, -1);
		break;
	}
	SE_CHECK_INT(run->env->late_rows, other->env->late_rows);
	SE_CHECK_INT(run->env->late_pairs, other->env->late_pairs);
}

static void
compare_runs(bool restarts)
{
	SeWindow	window = random_window();
	SeEmit		emit = random_emit();
	const SeWindowAggNode *sliced = new_node(window, NULL);
	SeOperatorOps ops = sink_ops;
	Row		   *rows = palloc0(ROWS * sizeof(Row));
	int			at = se_harness_random(ROWS);
	Run			plain;
	Run			changed;

	ops.push = table_push;
	make_rows(rows, ROWS);
	begin(&plain, sliced, &ops);
	feed(&plain, rows, 0, ROWS);
	finish(&plain);

	begin(&changed, sliced, &ops);
	feed(&changed, rows, 0, at);
	if (restarts)
		restart(&changed);
	convert(&changed, new_node(window, &emit));
	if (restarts)
		restart(&changed);
	feed(&changed, rows, at, ROWS);
	finish(&changed);
	check_same(&changed, &plain);
}

static void
runs(int times, bool restarts)
{
	MemoryContext old = CurrentMemoryContext;

	for (int i = 0; i < times; i++)
	{
		MemoryContext context = se_stub_context_new(old, "run");

		se_batch_rows = 1 + se_harness_random(8);
		MemoryContextSwitchTo(context);
		compare_runs(restarts);
		MemoryContextSwitchTo(old);
		MemoryContextDelete(context);
	}
}

SE_TEST(windows_in_slices_become_whole_at_any_moment)
{
	runs(300, false);
}

SE_TEST(what_was_taken_over_is_saved_whole)
{
	runs(300, true);
}

/* Memory is counted, and an error says which it is. */
SE_TEST(whole_windows_that_do_not_fit_are_an_error)
{
	SeWindow	window = {SE_WINDOW_HOP, 60, 1, 0};
	SeEmit		emit = {.on_update = true};
	SeOperatorOps ops = sink_ops;
	Row		   *rows = palloc0(ROWS * sizeof(Row));
	Run			run;

	ops.push = table_push;
	unit = 1;
	make_rows(rows, ROWS);
	begin(&run, new_node(window, NULL), &ops);
	feed(&run, rows, 0, ROWS);
	run.env->state_limit = run.env->state_bytes + 4096;
	SE_CHECK_ERROR("53200", convert(&run, new_node(window, &emit)));
	SE_CHECK(run.env->over_limit);
}
