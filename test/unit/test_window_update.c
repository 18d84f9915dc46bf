/*
 * test/unit/test_window_update.c
 *		Windows whose results change, against the definition of what is to be seen at each commit:
 *		random windows, modes, lateness, batches, ticks, full outputs, restores and reclaimed records.
 */
#include "harness.h"
#include "windowed.h"

#include "base/settings.h"
#include "catalog/pg_type_d.h"
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

static SeWindowAggNode *
new_node(SeWindow window, SeEmit emit, bool sliced, bool by_start)
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
	node->emit = emit;
	node->sliced = sliced;
	node->time_column = sliced ? 2 : -1;
	node->start_column = sliced ? -1 : 3;
	node->end_column = sliced ? -1 : 4;
	node->by_start = by_start;
	node->keys = list_make1_int(0);
	node->key_eq = list_make1_oid(96);
	node->calls = list_make3(call(F_COUNT_, NIL), call(F_SUM_INT4, list_make1_int(1)), call(F_MAX_INT4, list_make1_int(1)));
	return node;
}

/* ------------------------------------------------------------- the result table */

typedef struct Table
{
	Sink		sink;			/* first; counts rows, fills up */
	Result	   *rows;
	int			n;
	int			room;
	Result	   *saved;			/* as of the last commit */
	int			nsaved;
	MemoryContext memory;
	bool		crashes;
	int64		unchanged;		/* rows that came as they were */
} Table;

static void
table_push(SeOperator *op, int input, SeBatch *batch)
{
	Table	   *table = (Table *) op;

	for (int i = 0; i < batch->nrows; i++)
	{
		Datum	   *values = se_batch_values(batch, i);
		bool	   *nulls = se_batch_nulls(batch, i);
		Result		row = {DatumGetInt64(values[1]), DatumGetInt64(values[2]), nulls[0] ? -1 : DatumGetInt32(values[0])};
		int			at;

		row.count = DatumGetInt64(values[4]);
		row.sum = nulls[5] ? -1 : DatumGetInt64(values[5]);
		row.max = nulls[6] ? -1 : DatumGetInt32(values[6]);
		SE_CHECK_INT(DatumGetInt64(values[3]), row.end - 1);
		for (at = 0; at < table->n; at++)
			if (compare_results(&table->rows[at], &row) == 0)
				break;
		if (!table->crashes)
			SE_CHECK_INT(batch->kinds[i], at < table->n ? SE_ROW_UPDATE_AFTER : SE_ROW_INSERT);
		if (at < table->n && table->rows[at].count == row.count)
			table->unchanged++;
		if (at == table->room)
		{
			table->room = Max(64, table->room * 2);
			table->rows = table->rows == NULL ? MemoryContextAlloc(table->memory, table->room * sizeof(Result)) :
				repalloc(table->rows, table->room * sizeof(Result));
		}
		table->rows[at] = row;
		table->n = Max(table->n, at + 1);
	}
	if (table->sink.full_after > 0 && --table->sink.full_after == 0)
		op->env->output_full = true;
}

static void
save_table(Table *table)
{
	table->saved = palloc(Max(table->n, 1) * sizeof(Result));
	memcpy(table->saved, table->rows, table->n * sizeof(Result));
	table->nsaved = table->n;
}

/* ------------------------------------------------------------- the definition */

typedef struct Row
{
	int			key;
	int			value;			/* -1 = NULL */
	SeTime		ts;
	SeTime		wm;
	SeTime		tick;			/* after the row; 0 = none */
} Row;

typedef struct Group
{
	Result		now;
	Result		shown;			/* count 0 = nothing */
	int64		rows;			/* counted while open */
} Group;

typedef struct Model
{
	SeWindow	window;
	SeEmit		emit;
	bool		by_start;
	Group	   *groups;
	int			n;
	SeTime		wm;				/* what it has gone through */
	int64		tick;
	int64		late_rows;
	int64		late_pairs;
} Model;

/* Is there one of from + k * step, k > 0, in (after, upto]? */
static bool
any_multiple(SeTime from, int64 step, SeTime after, SeTime upto)
{
	if (step == 0)
		return false;
	for (SeTime t = from + step; t <= upto; t += step)
		if (t > after)
			return true;
	return false;
}

static void
model_reach(Model *model, SeTime wm)
{
	const SeEmit *emit = &model->emit;

	if (wm <= model->wm)
		return;
	for (int i = 0; i < model->n; i++)
	{
		Group	   *group = &model->groups[i];
		SeTime		end = group->now.end;
		SeTime		gone = end + emit->lateness;
		bool		fires = (end > model->wm && end <= wm) || (gone > model->wm && gone <= wm);

		fires |= !emit->early_clock && any_multiple(group->now.start, emit->early, model->wm, Min(wm, end));
		fires |= any_multiple(end, emit->late, model->wm, Min(wm, gone));
		if (fires)
			group->shown = group->now;
	}
	model->wm = wm;
}

static void
model_row(Model *model, const Row *row)
{
	SeTime		start;
	SeTime		end;
	int			windows = 0;
	int			late = 0;

	model_reach(model, row->wm);
	for (bool more = se_window_first(&model->window, row->ts, &start, &end); more;
		 more = se_window_next(&model->window, row->ts, &start, &end))
	{
		Result		it = {start, end, row->key};
		Group	   *group;
		int			j;

		windows++;
		if (row->wm > SE_TIME_MIN && end + model->emit.lateness <= row->wm)
		{
			late++;
			continue;
		}
		if (model->by_start)
			it.end = se_window_last_end(&model->window, start);
		for (j = 0; j < model->n; j++)
			if (compare_results(&model->groups[j].now, &it) == 0)
				break;
		group = &model->groups[j];
		if (j == model->n)
		{
			model->n++;
			memset(group, 0, sizeof(Group));
			group->now = it;
			group->now.sum = group->now.max = -1;
		}
		group->now.count++;
		if (row->value >= 0)
		{
			group->now.sum = group->now.sum < 0 ? row->value : group->now.sum + row->value;
			group->now.max = Max(group->now.max, row->value);
		}
		if (model->emit.every > 0 && it.end > row->wm && ++group->rows % model->emit.every == 0)
			group->shown = group->now;
	}
	model->late_pairs += late;
	model->late_rows += windows > 0 && late == windows;
}

static void
model_tick(Model *model, SeTime now)
{
	if (!model->emit.early_clock || se_window_align(now, model->emit.early, 0) <= model->tick)
		return;
	model->tick = se_window_align(now, model->emit.early, 0);
	for (int i = 0; i < model->n; i++)
		if (model->groups[i].now.end > model->wm)
			model->groups[i].shown = model->groups[i].now;
}

static void
model_commit(Model *model)
{
	for (int i = 0; i < model->n; i++)
	{
		Group	   *group = &model->groups[i];

		if (group->now.end <= model->wm ? model->emit.late == 0 : model->emit.on_update)
			group->shown = group->now;
	}
}

static void
check_table(Model *model, Table *table, const char *when)
{
	int			shown = 0;

	for (int i = 0; i < model->n; i++)
	{
		Result	   *want = &model->groups[i].shown;
		int			at;

		if (want->count == 0)
			continue;
		shown++;
		for (at = 0; at < table->n; at++)
			if (compare_results(&table->rows[at], want) == 0)
				break;
		if (at < table->n && table->rows[at].count == want->count && table->rows[at].sum == want->sum &&
			table->rows[at].max == want->max)
			continue;
		fprintf(stderr, "%s: %s lateness %lld: window kind %d size %lld slide %lld by start %d, watermark %lld: [%lld,%lld) %d is %lld rows, must be %lld\n",
				when, se_emit_print(&model->emit), (long long) model->emit.lateness, model->window.kind,
				(long long) model->window.size, (long long) model->window.slide, model->by_start,
				(long long) model->wm, (long long) want->start, (long long) want->end, want->key,
				(long long) (at < table->n ? table->rows[at].count : 0), (long long) want->count);
		SE_CHECK(false);
		return;
	}
	SE_CHECK_INT(table->n, shown);
}

/* ------------------------------------------------------------- the run */

#define ROWS 200

static SeTime
make_rows(Row *rows, int n)
{
	SeTime		wm = SE_TIME_MIN;
	SeTime		now = -150;
	SeTime		tick = 1000;
	int			delay = se_harness_random(20);

	for (int i = 0; i < n; i++)
	{
		now += se_harness_random(4) == 0 ? se_harness_random(12) : 1;
		rows[i].key = (int) se_harness_random(5) - 1;
		rows[i].value = (int) se_harness_random(50) - 1;
		rows[i].ts = now - (int) se_harness_random(se_harness_random(4) == 0 ? 80 : 8);
		rows[i].wm = wm;
		rows[i].tick = se_harness_random(6) == 0 ? (tick += se_harness_random(30)) : 0;
		wm = Max(wm, rows[i].ts - delay);
	}
	return wm;
}

static void
fill(SeBatch *batch, const SeWindowAggNode *node, const Row *row, SeTime wm_end)
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
		batch->places[batch->nrows] = (SePlace)
		{
			0, 0
		};
		batch->nrows++;
	}
	batch->wm_end = wm_end;
}

static SeWindow
random_window(void)
{
	SeWindow	w = {SE_WINDOW_TUMBLE + se_harness_random(3), 1 + se_harness_random(30), 0, (int) se_harness_random(40) - 20};

	w.slide = w.kind == SE_WINDOW_HOP ? 1 + se_harness_random(20) : w.size;
	if (w.kind == SE_WINDOW_CUMULATE)
		w.size *= 1 + se_harness_random(4);
	return w;
}

static SeEmit
random_emit(void)
{
	SeEmit		emit = {0};

	for (;;)
	{
		memset(&emit, 0, sizeof(emit));
		emit.given = true;
		if (se_harness_random(3) == 0)
			emit.on_update = true;
		else
		{
			if (se_harness_random(2) == 0)
				emit.early = 1 + se_harness_random(20);
			emit.early_clock = emit.early > 0 && se_harness_random(3) == 0;
			if (se_harness_random(2) == 0)
				emit.every = 1 + se_harness_random(4);
		}
		if (se_harness_random(3) != 0)
		{
			emit.lateness = 1 + se_harness_random(60);
			if (se_harness_random(2) == 0)
				emit.late = 1 + se_harness_random(20);
		}
		if (se_emit_is_updating(&emit))
			return emit;
	}
}

typedef struct Plan
{
	bool		full;
	bool		crash;
	bool		reclaim;
} Plan;

static SeOperator *
start(const SeWindowAggNode *node, SeOperatorEnv *env, Table *table, const Log *log)
{
	SeOperator *op = se_window_agg_new(node, env);

	op->next = &table->sink.op;
	for (int i = 0; log != NULL && i < log->n; i++)
		op->ops->restore(op, log->records[i].data, log->records[i].len);
	op->ops->restored(op);
	return op;
}

static void
run(SeWindow window, SeEmit emit, Plan plan)
{
	bool		by_start = se_window_starts_repeat(&window) && se_harness_random(2) == 0;
	bool		sliced = window.kind == SE_WINDOW_TUMBLE && se_harness_random(2) == 0;
	SeWindowAggNode *node = new_node(window, emit, sliced, by_start);
	SeOperatorOps ops = sink_ops;
	SeOperatorEnv *env = new_env();
	SeOperatorEnv saved;
	Table	   *table = palloc0(sizeof(Table));
	Log			log = {{log_append}};
	Row		   *rows = palloc0(ROWS * sizeof(Row));
	SeTime		wm_end = make_rows(rows, ROWS);
	SeBatch    *batch = se_batch_new(CurrentMemoryContext, input_desc(), 30 * 1024);
	Model		model = {window, emit, by_start, palloc(ROWS * 200 * sizeof(Group)), 0, SE_TIME_MIN};
	Model		model_saved = model;
	SeOperator *op;
	int			at = 0;
	int			committed_at = 0;
	bool		resuming = false;

	ops.push = table_push;
	table->memory = CurrentMemoryContext;
	table->crashes = plan.crash;
	se_op_init(&table->sink.op, &ops, 2, 1, env, NULL);
	op = start(node, env, table, NULL);
	commit(op, &log, &table->sink, false);
	saved = *env;
	save_table(table);
	model_saved.groups = palloc(ROWS * 200 * sizeof(Group));
	for (;;)
	{
		if (plan.full && table->sink.full_after == 0 && se_harness_random(3) == 0)
			table->sink.full_after = 1 + se_harness_random(3);
		if (env->output_full || se_harness_random(4) == 0)
		{
			bool		whole = !env->output_full && !resuming;

			resuming |= env->output_full;
			commit(op, &log, &table->sink, plan.reclaim && se_harness_random(2) == 0);
			saved = *env;
			save_table(table);
			committed_at = at;
			if (whole)
			{
				model_commit(&model);
				check_table(&model, table, "commit");
			}
			memcpy(model_saved.groups, model.groups, model.n * sizeof(Group));
			{
				Group	   *groups = model_saved.groups;

				model_saved = model;
				model_saved.groups = groups;
			}
		}
		if (plan.crash && se_harness_random(6) == 0)
		{
			Group	   *groups = model.groups;

			*env = saved;
			env->state_bytes = 0;
			env->output_full = false;
			memcpy(table->rows, table->saved, table->nsaved * sizeof(Result));
			table->n = table->nsaved;
			table->sink.op.watermark_in = SE_TIME_MIN;
			op = start(node, env, table, &log);
			memcpy(groups, model_saved.groups, model_saved.n * sizeof(Group));
			model = model_saved;
			model.groups = groups;
			at = committed_at;
			resuming = true;
		}
		if (resuming && !op->ops->resume(op))
			continue;
		resuming = env->output_full;
		if (resuming)
			continue;
		if (at == ROWS)
			break;
		se_batch_reset(batch);
		for (int k = 1 + se_harness_random(20); k > 0 && at < ROWS; k--, at++)
		{
			SeTime		behind = at + 1 < ROWS ? rows[at + 1].wm : wm_end;

			fill(batch, node, &rows[at], behind);
			model_row(&model, &rows[at]);
			model_reach(&model, behind);
			if (rows[at].tick > 0)
				k = 1;
		}
		se_op_push(op, 0, batch);
		if (rows[at - 1].tick > 0)
		{
			/* The task lets the operator finish first. */
			bool		more = env->output_full;

			while (more)
			{
				commit(op, &log, &table->sink, false);
				more = !op->ops->resume(op) || env->output_full;
			}
			se_op_timer(op, rows[at - 1].tick);
			model_tick(&model, rows[at - 1].tick);
		}
	}
	commit(op, &log, &table->sink, false);
	model_commit(&model);
	check_table(&model, table, "all rows");
	if (!plan.crash && !plan.full)
		SE_CHECK_INT(table->unchanged, 0);

	table->sink.full_after = 0;
	se_op_watermark(op, 0, SE_TIME_MAX);
	commit(op, &log, &table->sink, false);
	for (int i = 0; i < model.n; i++)
		model.groups[i].shown = model.groups[i].now;
	check_table(&model, table, "end");
	SE_CHECK_INT(env->late_rows, model.late_rows);
	SE_CHECK_INT(env->late_pairs, model.late_pairs);
	SE_CHECK_INT(op->state_entries, 0);
	SE_CHECK_INT(env->state_bytes, 0);
}

static void
runs(int times, Plan plan)
{
	MemoryContext old = CurrentMemoryContext;

	for (int i = 0; i < times; i++)
	{
		MemoryContext context = se_stub_context_new(old, "run");

		se_batch_rows = 1 + se_harness_random(8);
		MemoryContextSwitchTo(context);
		run(random_window(), random_emit(), plan);
		MemoryContextSwitchTo(old);
		MemoryContextDelete(context);
	}
}

SE_TEST(each_commit_shows_what_the_definition_says_whatever_the_batches)
{
	Plan		plan = {false, false, false};

	runs(500, plan);
}

SE_TEST(a_full_output_only_delays)
{
	Plan		plan = {true, false, false};

	runs(200, plan);
}

SE_TEST(restores_at_any_commit_show_the_same)
{
	Plan		plan = {false, true, false};

	runs(400, plan);
}

SE_TEST(restores_inside_emissions_with_reclaimed_records_show_the_same)
{
	Plan		plan = {true, true, true};

	runs(600, plan);
}
