/*
 * test/unit/test_window_agg.c
 *		The window aggregate against the definition of its result: random rows, windows, batches,
 *		full outputs, snapshots, reclaimed records and restores at any moment.
 */
#include "harness.h"
#include "windowed.h"

#include "base/settings.h"
#include "catalog/pg_type_d.h"
#include "operators/agg_set.h"
#include "operators/operators.h"
#include "state/key_group.h"
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

/* How rows meet their windows. */
typedef enum Mode
{
	SLICED,						/* by their time */
	BY_WINDOW,					/* carried by the row */
	BY_START					/* the same, a group has all windows with one start */
}			Mode;

static SeWindowAggNode *
new_node(SeWindow window, Mode mode)
{
	bool		sliced = mode == SLICED;

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
	node->sliced = sliced;
	node->time_column = sliced ? 2 : -1;
	node->start_column = sliced ? -1 : 3;
	node->end_column = sliced ? -1 : 4;
	node->by_start = mode == BY_START;
	node->keys = list_make1_int(0);
	node->key_eq = list_make1_oid(96);
	node->calls = list_make3(call(F_COUNT_, NIL), call(F_SUM_INT4, list_make1_int(1)), call(F_MAX_INT4, list_make1_int(1)));
	return node;
}

static SeOperator *
start(const SeWindowAggNode *node, SeOperatorEnv *env, Sink *sink, const Log *log)
{
	SeOperator *op = se_window_agg_new(node, env);

	op->next = &sink->op;
	for (int i = 0; log != NULL && i < log->n; i++)
		op->ops->restore(op, log->records[i].data, log->records[i].len);
	op->ops->restored(op);
	return op;
}

/* ------------------------------------------------------------- the definition */

typedef struct Row
{
	int			key;
	int			value;			/* -1 = NULL */
	SeTime		ts;
	SeTime		wm;
} Row;

/* (row, window) pairs with the window's end above the row's stamp, grouped. */
static int
define(const SeWindow *window, Mode mode, const Row *rows, int n, Result *results, int64 *late_rows, int64 *late_pairs)
{
	int			count = 0;

	*late_rows = *late_pairs = 0;
	for (int i = 0; i < n; i++)
	{
		int			windows = 0;
		int			late = 0;
		SeTime		start;
		SeTime		end;

		for (bool more = se_window_first(window, rows[i].ts, &start, &end); more;
			 more = se_window_next(window, rows[i].ts, &start, &end))
		{
			Result		it = {start, end, rows[i].key, 1, Max(rows[i].value, -1), rows[i].value};
			int			j;

			windows++;
			if (it.end <= rows[i].wm)
			{
				late++;
				continue;
			}
			if (mode == BY_START)
				it.end = se_window_last_end(window, start);
			for (j = 0; j < count; j++)
			{
				if (compare_results(&results[j], &it) == 0)
					break;
			}
			if (j == count)
				results[count++] = it;
			else
			{
				results[j].count++;
				if (it.max >= 0)
				{
					results[j].sum = results[j].sum < 0 ? it.sum : results[j].sum + it.sum;
					results[j].max = Max(results[j].max, it.max);
				}
			}
		}
		*late_pairs += late;
		*late_rows += windows > 0 && late == windows;
	}
	qsort(results, count, sizeof(Result), compare_results);
	return count;
}

/* What times are multiples of: seconds in a time zone, because its clock is. */
static int64 unit = 1;

static SeTime
make_rows(Row *rows, int n)
{
	SeTime		wm = SE_TIME_MIN;
	SeTime		now = -200;
	int			delay = se_harness_random(30);

	for (int i = 0; i < n; i++)
	{
		now += se_harness_random(4) == 0 ? se_harness_random(12) : 1;
		rows[i].key = (int) se_harness_random(6) - 1;
		rows[i].value = (int) se_harness_random(50) - 1;
		rows[i].ts = (now - (int) se_harness_random(se_harness_random(5) == 0 ? 60 : 8)) * unit;
		rows[i].wm = wm;
		wm = Max(wm, rows[i].ts - delay * unit);
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

/* Half of them in a time zone whose clock is changed several times meanwhile. */
static SeWindow
random_window(void)
{
	SeWindow	w = {SE_WINDOW_TUMBLE + se_harness_random(3), 1 + se_harness_random(30), 0, (int) se_harness_random(40) - 20};

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

static Mode
random_mode(const SeWindow *w)
{
	if (se_harness_random(4) != 0)
		return SLICED;
	return se_window_starts_repeat(w) && se_harness_random(2) == 0 ? BY_START : BY_WINDOW;
}

/* ------------------------------------------------------------- the run */

#define ROWS 250

typedef struct Plan
{
	bool		full;			/* the output fills up now and then */
	bool		crash;			/* restores from the last commit now and then */
	bool		reclaim;
} Plan;

/* Once more from the last commit: what came after it is forgotten. */
static void
crash(const SeWindowAggNode *node, SeOperatorEnv *env, Sink *sink, Log *log, SeOperator **op,
	  SeOperatorEnv *saved, SeTime saved_now)
{
	*env = *saved;
	env->state_bytes = 0;
	env->output_full = false;
	sink->n = sink->committed;
	sink->now = saved_now;
	sink->op.watermark_in = SE_TIME_MIN;
	*op = start(node, env, sink, log);
}

/* All results together are those of the definition, and what was late was counted. */
static void
check_results(SeWindow window, Mode mode, Sink *sink, const Row *rows, int64 counted_rows, int64 counted_pairs)
{
	Result	   *expected = palloc(ROWS * 512 * sizeof(Result));
	int64		late_rows;
	int64		late_pairs;
	int			n = define(&window, mode, rows, ROWS, expected, &late_rows, &late_pairs);

	qsort(sink->results, sink->n, sizeof(Result), compare_results);
	SE_CHECK_INT(sink->n, n);
	for (int i = 0; i < Min(n, sink->n); i++)
	{
		if (compare_results(&expected[i], &sink->results[i]) != 0 || expected[i].count != sink->results[i].count ||
			expected[i].sum != sink->results[i].sum || expected[i].max != sink->results[i].max)
		{
			fprintf(stderr, "window kind %d size %lld slide %lld shift %lld mode %d: expected [%lld,%lld) %d: %lld %lld %d, is [%lld,%lld) %d: %lld %lld %d\n",
					window.kind, (long long) window.size, (long long) window.slide, (long long) window.shift, mode,
					(long long) expected[i].start, (long long) expected[i].end, expected[i].key,
					(long long) expected[i].count, (long long) expected[i].sum, expected[i].max,
					(long long) sink->results[i].start, (long long) sink->results[i].end, sink->results[i].key,
					(long long) sink->results[i].count, (long long) sink->results[i].sum, sink->results[i].max);
			SE_CHECK_INT(i, -1);
			break;
		}
	}
	SE_CHECK_INT(counted_rows, late_rows);
	SE_CHECK_INT(counted_pairs, late_pairs);
}

static void
run(SeWindow window, Mode mode, Plan plan)
{
	SeWindowAggNode *node = new_node(window, mode);
	SeOperatorEnv *env = new_env();
	SeOperatorEnv saved;
	SeTime		saved_now = SE_TIME_MIN;
	Sink	   *sink = palloc0(sizeof(Sink));
	Log			log = {{log_append}};
	Row		   *rows = palloc0(ROWS * sizeof(Row));
	SeTime		wm_end = make_rows(rows, ROWS);
	SeBatch    *batch = se_batch_new(CurrentMemoryContext, input_desc(), 30 * 1024);
	SeOperator *op;
	int			at = 0;
	int			committed_at = 0;
	bool		resuming = false;

	se_op_init(&sink->op, &sink_ops, 2, 1, env, NULL);
	sink->now = SE_TIME_MIN;
	op = start(node, env, sink, NULL);
	commit(op, &log, sink, false);
	saved = *env;
	for (;;)
	{
		if (plan.full && sink->full_after == 0 && se_harness_random(3) == 0)
			sink->full_after = 1 + se_harness_random(3);
		if (env->output_full || se_harness_random(4) == 0)
		{
			resuming |= env->output_full;
			commit(op, &log, sink, plan.reclaim && se_harness_random(2) == 0);
			saved = *env;
			saved_now = sink->now;
			committed_at = at;
		}
		if (plan.crash && se_harness_random(6) == 0)
		{
			crash(node, env, sink, &log, &op, &saved, saved_now);
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
			fill(batch, node, &rows[at], at + 1 < ROWS ? rows[at + 1].wm : wm_end);
		sink->now = batch->wm_end;
		se_op_push(op, 0, batch);
	}
	sink->now = SE_TIME_MAX;
	sink->full_after = 0;
	se_op_watermark(op, 0, SE_TIME_MAX);
	op->ops->end(op, 0);
	SE_CHECK(sink->ended);

	for (int i = 1; i < sink->n; i++)
		SE_CHECK(sink->results[i - 1].end <= sink->results[i].end);
	check_results(window, mode, sink, rows, env->late_rows, env->late_pairs);
	op->ops->prepare(op);
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
		SeWindow	window;

		se_batch_rows = 1 + se_harness_random(8);
		MemoryContextSwitchTo(context);
		window = random_window();
		run(window, random_mode(&window), plan);
		MemoryContextSwitchTo(old);
		MemoryContextDelete(context);
	}
}

SE_TEST(results_are_those_of_the_definition_whatever_the_batches)
{
	Plan		plan = {false, false, false};

	runs(400, plan);
}

SE_TEST(a_full_output_only_delays)
{
	Plan		plan = {true, false, false};

	runs(150, plan);
}

SE_TEST(nothing_is_lost_or_double_after_restores)
{
	Plan		plan = {false, true, false};

	runs(600, plan);
}

SE_TEST(restores_inside_firings_with_reclaimed_records)
{
	Plan		plan = {true, true, true};

	runs(1000, plan);
}

/* ------------------------------------------------------------- one unit becomes two */

static int64 units_with_results[2];

/* The rows from `from` on whose keys are the unit's, to the end of the input. */
static void
rest_of_unit(SeOperator *op, const SeWindowAggNode *node, Sink *sink, const Row *rows, int from, SeTime wm_end)
{
	SeKeys	   *keys = se_keys_new(input_desc(), node->keys, node->key_eq);
	SeBatch    *batch = se_batch_new(CurrentMemoryContext, input_desc(), 1024);

	SE_CHECK(op->ops->resume(op));
	for (int at = from; at < ROWS; at++)
	{
		SeTime		behind = at + 1 < ROWS ? rows[at + 1].wm : wm_end;
		Datum		value;
		bool		null;
		uint32		hash;
		int			first = 0;

		se_batch_reset(batch);
		fill(batch, node, &rows[at], behind);
		sink->now = behind;
		if (batch->nrows > 0)
			se_keys_prepare(keys, batch, &first, 1, &value, &null, &hash);
		if (batch->nrows > 0 && se_key_group_is_own(op->env, hash))
			se_op_push(op, 0, batch);
		else
			se_op_watermark(op, 0, behind);
	}
	sink->now = SE_TIME_MAX;
	se_op_watermark(op, 0, SE_TIME_MAX);
	op->ops->end(op, 0);
}

/*
 * A unit saves its state somewhere, also inside a firing. Two others restore it, each its own
 * keys; each writes what it has as records of its own, and goes on from these.
 */
static void
run_divided(SeWindow window, Mode mode)
{
	SeWindowAggNode *node = new_node(window, mode);
	SeOperatorEnv *env = new_env();
	Sink	   *sink = palloc0(sizeof(Sink));
	Log			log = {{log_append}};
	Row		   *rows = palloc0(ROWS * sizeof(Row));
	SeTime		wm_end = make_rows(rows, ROWS);
	SeBatch    *batch = se_batch_new(CurrentMemoryContext, input_desc(), 1024);
	int			upto = se_harness_random(ROWS);
	int64		late_rows;
	int64		late_pairs;
	SeOperator *op;
	int			at = 0;

	se_op_init(&sink->op, &sink_ops, 2, 1, env, NULL);
	sink->now = SE_TIME_MIN;
	op = start(node, env, sink, NULL);
	while (at < upto && !env->output_full)
	{
		if (at > upto / 2 && sink->full_after == 0)
			sink->full_after = 1 + se_harness_random(6);
		if (se_harness_random(4) == 0)
			commit(op, &log, sink, se_harness_random(2) == 0);
		se_batch_reset(batch);
		for (int k = 1 + se_harness_random(8); k > 0 && at < upto; k--, at++)
			fill(batch, node, &rows[at], at + 1 < ROWS ? rows[at + 1].wm : wm_end);
		sink->now = batch->wm_end;
		se_op_push(op, 0, batch);
	}
	commit(op, &log, sink, false);
	late_rows = env->late_rows;
	late_pairs = env->late_pairs;

	for (int unit = 0; unit < 2; unit++)
	{
		SeOperatorEnv *own = new_env();
		Sink	   *part = palloc0(sizeof(Sink));
		Log			mine = {{log_append}};
		SeTime		now = sink->now;

		own->unit = unit;
		own->units = 2;
		se_op_init(&part->op, &sink_ops, 2, 1, own, NULL);
		part->now = now;
		op = start(node, own, part, &log);
		op->ops->prepare(op);
		for (int i = 0; i < log.n; i++)
			op->ops->rewrite(op, log.records[i].data, log.records[i].len);
		op->ops->snapshot(op, &mine.writer);

		own->state_bytes = 0;
		op = start(node, own, part, &mine);
		rest_of_unit(op, node, part, rows, at, wm_end);
		for (int i = 0; i < part->n; i++)
		{
			if (sink->n == sink->room)
			{
				sink->room = Max(64, sink->room * 2);
				sink->results = sink->results == NULL ? palloc(sink->room * sizeof(Result)) :
					repalloc(sink->results, sink->room * sizeof(Result));
			}
			sink->results[sink->n++] = part->results[i];
		}
		late_rows += own->late_rows;
		late_pairs += own->late_pairs;
		units_with_results[unit] += part->n;
		SE_CHECK_INT(own->state_bytes, 0);
	}
	check_results(window, mode, sink, rows, late_rows, late_pairs);
}

SE_TEST(state_of_one_unit_restored_as_two_by_key_group_gives_the_same_results)
{
	MemoryContext old = CurrentMemoryContext;

	for (int i = 0; i < 300; i++)
	{
		MemoryContext context = se_stub_context_new(old, "run");
		SeWindow	window;

		se_batch_rows = 1 + se_harness_random(8);
		MemoryContextSwitchTo(context);
		window = random_window();
		run_divided(window, random_mode(&window));
		MemoryContextSwitchTo(old);
		MemoryContextDelete(context);
	}
	SE_CHECK(units_with_results[0] > 0 && units_with_results[1] > 0);
}

/* The zone database changed meanwhile: windows that are one slice go on, merged ones cannot. */
SE_TEST(slices_cut_under_other_rules_of_the_zone_are_refused_where_they_would_be_merged)
{
	int64		at[] = {(POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * SECS_PER_DAY};
	int64		before[] = {0, 7};
	int64		after[] = {0, 3};
	SeWindow	window = {SE_WINDOW_TUMBLE, 20 * USECS_PER_SEC, 20 * USECS_PER_SEC, 0};

	for (volatile int merged = 0; merged < 2; merged++)
	{
		SeWindowAggNode *node;
		Sink	   *sink = palloc0(sizeof(Sink));
		SeOperatorEnv *env = new_env();
		Log			log = {{log_append}};
		SeBatch    *batch = se_batch_new(CurrentMemoryContext, input_desc(), 1);
		Row			row = {1, 5, 30 * USECS_PER_SEC, SE_TIME_MIN};
		SeOperator *op;

		se_op_init(&sink->op, &sink_ops, 2, 1, env, NULL);
		window.kind = merged ? SE_WINDOW_HOP : SE_WINDOW_TUMBLE;
		window.slide = merged ? 10 * USECS_PER_SEC : window.size;
		window.calendar.zone = se_stub_zone("zone", 1, at, before);
		node = new_node(window, SLICED);
		op = start(node, env, sink, NULL);
		fill(batch, node, &row, SE_TIME_MIN);
		se_op_push(op, 0, batch);
		commit(op, &log, sink, false);

		env = new_env();
		node->window.calendar.zone = se_stub_zone("zone", 1, at, after);
		if (merged)
		{
			SE_CHECK_ERROR("55000", start(node, env, sink, &log));
			continue;
		}
		op = start(node, env, sink, &log);
		sink->now = SE_TIME_MAX;
		se_op_watermark(op, 0, SE_TIME_MAX);
		SE_CHECK_INT(sink->n, 1);
		SE_CHECK_INT(sink->results[0].start, 13 * USECS_PER_SEC);
		SE_CHECK_INT(sink->results[0].end, 33 * USECS_PER_SEC);
	}
}

SE_TEST(damaged_records_are_errors)
{
	SeWindow	window = {SE_WINDOW_HOP, 20, 5, 0};
	SeWindowAggNode *node = new_node(window, SLICED);
	Sink	   *sink = palloc0(sizeof(Sink));
	SeOperatorEnv *env = new_env();
	Log			log = {{log_append}};
	Row		   *rows = palloc(ROWS * sizeof(Row));
	SeBatch    *batch = se_batch_new(CurrentMemoryContext, input_desc(), ROWS);
	SeOperator *op;
	MemoryContext old = CurrentMemoryContext;

	unit = 1;
	se_batch_rows = 2;
	se_op_init(&sink->op, &sink_ops, 2, 1, env, NULL);
	op = start(node, env, sink, NULL);
	make_rows(rows, ROWS);
	for (int i = 0; i < ROWS; i++)
		fill(batch, node, &rows[i], rows[i].wm);
	sink->now = SE_TIME_MAX;
	sink->full_after = 3;
	se_op_push(op, 0, batch);
	commit(op, &log, sink, false);
	SE_CHECK(log.n > 5);
	for (volatile int i = 0; i < 3000; i++)
	{
		MemoryContext context = se_stub_context_new(old, "damage");
		StringInfoData *record = &log.records[se_harness_random(log.n)];
		volatile int len = se_harness_random(3) == 0 ? se_harness_random(record->len) : record->len;
		char	   *copy;
		SeOperator *other;

		MemoryContextSwitchTo(context);
		copy = palloc(record->len + 1);
		memcpy(copy, record->data, record->len);
		if (len == record->len)
			copy[se_harness_random(len)] ^= 1 << se_harness_random(8);
		env = new_env();
		env->state_limit = 1 << 20;
		other = se_window_agg_new(node, env);
		PG_TRY();
		{
			other->ops->restore(other, copy, len);
			SE_CHECK(len == record->len);
		}
		PG_CATCH();
		{
			SE_CHECK(se_stub_error_code == ERRCODE_DATA_CORRUPTED ||
					 se_stub_error_code == ERRCODE_OUT_OF_MEMORY);
		}
		PG_END_TRY();
		MemoryContextSwitchTo(old);
		MemoryContextDelete(context);
	}
}
