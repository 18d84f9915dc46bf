/*
 * test/unit/test_session_agg.c
 *		The session aggregate against the definition of its result: random rows, gaps, batches,
 *		full outputs, snapshots, reclaimed records, generations and restores at any moment.
 */
#include "sessions.h"

#include "base/settings.h"
#include "operators/agg_set.h"
#include "state/key_group.h"
#include "time/gap.h"

/* Row by row: close what the stamp has passed, then join all that the row touches. */
static int
define(const SeSessionAggNode *node, const Row *rows, int n, Result *results, int64 *late_rows)
{
	Result	   *open = palloc(n * sizeof(Result));
	int			nopen = 0;
	int			count = 0;

	*late_rows = 0;
	for (int i = 0; i <= n; i++)
	{
		Result		it = {0};
		SeTime		wm = i < n ? rows[i].wm : SE_TIME_MAX;
		bool		joined = false;

		for (int j = 0; j < nopen;)
		{
			if (open[j].end < wm)
			{
				results[count++] = open[j];
				open[j] = open[--nopen];
			}
			else
				j++;
		}
		if (i == n || gap_of(node, &rows[i]) < 0)
			continue;
		it.key = rows[i].key;
		it.start = rows[i].ts;
		it.end = rows[i].ts + gap_of(node, &rows[i]);
		it.count = 1;
		it.sum = it.max = rows[i].value;
		for (int j = 0; j < nopen;)
		{
			/* bounds of the row alone: sessions never touch each other */
			if (open[j].key != it.key || open[j].end < rows[i].ts ||
				open[j].start > rows[i].ts + gap_of(node, &rows[i]))
			{
				j++;
				continue;
			}
			joined = true;
			it.start = Min(it.start, open[j].start);
			it.end = Max(it.end, open[j].end);
			it.count += open[j].count;
			if (it.sum < 0)
				it.sum = open[j].sum;
			else if (open[j].sum >= 0)
				it.sum += open[j].sum;
			it.max = Max(it.max, open[j].max);
			open[j] = open[--nopen];
		}
		if (!joined && it.end < wm)
			(*late_rows)++;
		else
			open[nopen++] = it;
	}
	qsort(results, count, sizeof(Result), compare_results);
	return count;
}

static void
check_results(const SeSessionAggNode *node, Sink *sink, const Row *rows, int64 counted_late)
{
	Result	   *expected = palloc(ROWS * sizeof(Result));
	int64		late;
	int			n = define(node, rows, ROWS, expected, &late);

	qsort(sink->results, sink->n, sizeof(Result), compare_results);
	SE_CHECK_INT(sink->n, n);
	for (int i = 0; i < Min(n, sink->n); i++)
	{
		Result	   *a = &expected[i];
		Result	   *b = &sink->results[i];

		if (compare_results(a, b) == 0 && a->count == b->count && a->sum == b->sum && a->max == b->max)
			continue;
		fprintf(stderr, "gap %lld: expected [%lld,%lld) %d: %lld %lld %d, is [%lld,%lld) %d: %lld %lld %d\n",
				(long long) (node->gap_column < 0 ? node->gap : -1),
				(long long) a->start, (long long) a->end, a->key, (long long) a->count, (long long) a->sum, a->max,
				(long long) b->start, (long long) b->end, b->key, (long long) b->count, (long long) b->sum, b->max);
		SE_CHECK_INT(i, -1);
		break;
	}
	SE_CHECK_INT(counted_late, late);
}

typedef struct Plan
{
	bool		full;			/* the output fills up now and then */
	bool		crash;			/* restores from the last commit now and then */
	bool		reclaim;
	bool		generations;	/* a new one begins now and then */
} Plan;

static int	generations_begun;

static void
run(int64 gap, Plan plan)
{
	SeSessionAggNode *node = new_node(gap);
	SeOperatorEnv *env = new_env();
	SeOperatorEnv saved;
	SeTime		saved_now = SE_TIME_MIN;
	Sink	   *sink = palloc0(sizeof(Sink));
	Log			log = {{log_append}};
	Row		   *rows = palloc0(ROWS * sizeof(Row));
	SeTime		wm_end = make_rows(rows, ROWS, 2 + se_harness_random(60));
	SeBatch    *batch = se_batch_new(CurrentMemoryContext, input_desc(), ROWS);
	SeOperator *op;
	int			at = 0;
	int			committed_at = 0;
	bool		resuming = false;

	se_op_init(&sink->op, &sink_ops, 2, 1, env, NULL);
	sink->now = SE_TIME_MIN;
	sink->behind = 1;
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
			*env = saved;
			env->state_bytes = 0;
			env->output_full = false;
			sink->n = sink->committed;
			sink->now = saved_now;
			sink->op.watermark_in = SE_TIME_MIN;
			op = start(node, env, sink, &log);
			at = committed_at;
			resuming = true;
		}
		if (resuming && !op->ops->resume(op))
			continue;
		resuming = env->output_full;
		if (resuming)
			continue;
		if (plan.generations && se_harness_random(5) == 0)
			generations_begun += begin_generation(op);
		if (at == ROWS)
			break;
		se_batch_reset(batch);
		for (int k = 1 + se_harness_random(20); k > 0 && at < ROWS; k--, at++)
			fill(batch, &rows[at], at + 1 < ROWS ? rows[at + 1].wm : wm_end);
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
	check_results(node, sink, rows, env->late_rows);
	SE_CHECK_INT(env->late_pairs, env->late_rows);
	op->ops->prepare(op);
	SE_CHECK_INT(op->state_entries, 0);
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
		run((int64) se_harness_random(12) - 1, plan);
		MemoryContextSwitchTo(old);
		MemoryContextDelete(context);
	}
}

SE_TEST(results_are_those_of_the_definition_whatever_the_batches)
{
	Plan		plan = {false, false, false, false};

	runs(400, plan);
}

SE_TEST(a_full_output_only_delays)
{
	Plan		plan = {true, false, false, false};

	runs(200, plan);
}

SE_TEST(nothing_is_lost_or_double_after_restores)
{
	Plan		plan = {true, true, true, false};

	runs(600, plan);
}

SE_TEST(sessions_move_to_the_next_generation_also_over_restores)
{
	Plan		plan = {true, true, true, true};

	generations_begun = 0;
	runs(600, plan);
	SE_CHECK(generations_begun > 600);
}

/* Sessions of many keys come and go: what they took is used again. */
SE_TEST(memory_of_closed_sessions_comes_back)
{
	SeSessionAggNode *node = new_node(10);
	SeOperatorEnv *env = new_env();
	Sink	   *sink = palloc0(sizeof(Sink));
	SeBatch    *batch = se_batch_new(CurrentMemoryContext, input_desc(), 100);
	SeOperator *op;
	uint64		most = 0;

	se_batch_rows = 64;
	se_op_init(&sink->op, &sink_ops, 2, 1, env, NULL);
	sink->behind = 1;
	op = start(node, env, sink, NULL);
	for (int i = 0; i < 3000; i++)
	{
		se_batch_reset(batch);
		for (int k = 0; k < 100; k++)
		{
			Row			row = {i * 100 + k, 1, i, 10, i - 1};

			fill(batch, &row, i);
		}
		sink->now = i;
		sink->n = 0;
		se_op_push(op, 0, batch);
		if (i == 300)
			most = env->state_bytes;
		if (i > 300)
			SE_CHECK(env->state_bytes < 2 * most);
	}
	SE_CHECK(op->state_entries > 0 && op->state_entries < 2000);
}

/* One key with many open sessions: found by bisection, joined by one row. */
SE_TEST(a_row_joins_all_sessions_it_touches)
{
	SeSessionAggNode *node = new_node(-1);
	SeOperatorEnv *env = new_env();
	Sink	   *sink = palloc0(sizeof(Sink));
	SeBatch    *batch = se_batch_new(CurrentMemoryContext, input_desc(), 200);
	SeOperator *op;
	Row			row = {7, 1, 0, 0, SE_TIME_MIN};

	se_op_init(&sink->op, &sink_ops, 2, 1, env, NULL);
	sink->behind = 1;
	op = start(node, env, sink, NULL);
	for (int i = 0; i < 100; i++)
	{
		row.ts = (i * 37 % 100) * 10;
		row.gap = 5;
		fill(batch, &row, SE_TIME_MIN);
	}
	se_op_push(op, 0, batch);
	SE_CHECK_INT(op->state_entries, 100);
	/* [95, 100] touches [90, 95] and [100, 105], and nothing else */
	se_batch_reset(batch);
	row.ts = 95;
	fill(batch, &row, SE_TIME_MIN);
	se_op_push(op, 0, batch);
	SE_CHECK_INT(op->state_entries, 99);
	se_batch_reset(batch);
	row.ts = 200;
	row.gap = 300;
	fill(batch, &row, SE_TIME_MIN);
	se_op_push(op, 0, batch);
	SE_CHECK_INT(op->state_entries, 69);
	sink->now = SE_TIME_MAX;
	se_op_watermark(op, 0, SE_TIME_MAX);
	SE_CHECK_INT(sink->n, 69);
	for (int i = 0; i < sink->n; i++)
	{
		Result	   *result = &sink->results[i];

		SE_CHECK_INT(result->count, result->start == 90 ? 3 : result->start == 200 ? 32 : 1);
		SE_CHECK_INT(result->end, result->start == 90 ? 105 : result->start == 200 ? 505 : result->start + 5);
	}
}

/* One key with very many open sessions, whatever the order of their rows: this ends soon, and in order. */
SE_TEST(a_key_may_have_very_many_open_sessions)
{
	const int	n = 100003;		/* a prime */

	for (int order = 0; order < 3; order++)
	{
		SeSessionAggNode *node = new_node(5);
		SeOperatorEnv *env = new_env();
		Sink	   *sink = palloc0(sizeof(Sink));
		SeBatch    *batch = se_batch_new(CurrentMemoryContext, input_desc(), 1000);
		SeOperator *op;
		uint64		most;

		se_batch_rows = 1000;
		se_op_init(&sink->op, &sink_ops, 2, 1, env, NULL);
		sink->behind = 1;
		op = start(node, env, sink, NULL);
		for (int i = 0; i < n; i++)
		{
			int			place = order == 0 ? i : order == 1 ? n - i : (int) ((int64) i * 40009 % n);
			Row			row = {7, 1, (SeTime) place * 10, 0, SE_TIME_MIN};

			fill(batch, &row, SE_TIME_MIN);
			if (batch->nrows < 1000 && i + 1 < n)
				continue;
			se_op_push(op, 0, batch);
			se_batch_reset(batch);
		}
		SE_CHECK_INT(op->state_entries, n);
		most = op->state_bytes;
		/* every second gap is filled: three are one, from the middle on */
		for (int i = 0; i < n / 4; i++)
		{
			Row			row = {7, 1, (SeTime) (i + n / 8) * 20 + 5, 0, SE_TIME_MIN};

			fill(batch, &row, SE_TIME_MIN);
			if (batch->nrows < 1000 && i + 1 < n / 4)
				continue;
			se_op_push(op, 0, batch);
			se_batch_reset(batch);
		}
		SE_CHECK_INT(op->state_entries, n - n / 4);
		SE_CHECK(op->state_bytes < 2 * most);
		sink->now = SE_TIME_MAX;
		se_op_watermark(op, 0, SE_TIME_MAX);
		SE_CHECK_INT(sink->n, n - n / 4);
		for (int i = 1; i < sink->n; i++)
			SE_CHECK(sink->results[i - 1].end < sink->results[i].start);
	}
}

SE_TEST(state_of_one_unit_restored_as_two_by_key_group_gives_the_same_results)
{
	SeSessionAggNode *node = new_node(6);
	SeOperatorEnv *env = new_env();
	Sink	   *sink = palloc0(sizeof(Sink));
	Log			log = {{log_append}};
	Row		   *rows = palloc0(ROWS * sizeof(Row));
	SeTime		wm_end = make_rows(rows, ROWS, 40);
	SeBatch    *batch = se_batch_new(CurrentMemoryContext, input_desc(), ROWS);
	int64		late;
	SeOperator *op;

	se_batch_rows = 3;
	se_op_init(&sink->op, &sink_ops, 2, 1, env, NULL);
	sink->now = SE_TIME_MIN;
	sink->behind = 1;
	op = start(node, env, sink, NULL);
	for (int i = 0; i < ROWS / 2; i++)
		fill(batch, &rows[i], rows[i + 1].wm);
	sink->now = batch->wm_end;
	se_op_push(op, 0, batch);
	commit(op, &log, sink, false);
	late = env->late_rows;
	for (int unit = 0; unit < 2; unit++)
	{
		SeOperatorEnv *own = new_env();
		SeKeys	   *keys = se_keys_new(input_desc(), node->keys, node->key_eq);
		Log			mine = {{log_append}};
		int			before = sink->n;

		own->unit = unit;
		own->units = 2;
		sink->op.watermark_in = SE_TIME_MIN;
		op = start(node, own, sink, &log);
		op->ops->prepare(op);
		for (int i = 0; i < log.n; i++)
			op->ops->rewrite(op, log.records[i].data, log.records[i].len);
		op->ops->snapshot(op, &mine.writer);
		own->state_bytes = 0;
		op = start(node, own, sink, &mine);
		for (int i = ROWS / 2; i < ROWS; i++)
		{
			int			first = 0;
			Datum		value;
			bool		null;
			uint32		hash;

			se_batch_reset(batch);
			fill(batch, &rows[i], i + 1 < ROWS ? rows[i + 1].wm : wm_end);
			sink->now = batch->wm_end;
			se_keys_prepare(keys, batch, &first, 1, &value, &null, &hash);
			if (se_key_group_is_own(own, hash))
				se_op_push(op, 0, batch);
			else
				se_op_watermark(op, 0, batch->wm_end);
		}
		sink->now = SE_TIME_MAX;
		se_op_watermark(op, 0, SE_TIME_MAX);
		late += own->late_rows;
		SE_CHECK(sink->n > before);
	}
	check_results(node, sink, rows, late);
}

SE_TEST(damaged_records_are_errors)
{
	SeSessionAggNode *node = new_node(-1);
	Sink	   *sink = palloc0(sizeof(Sink));
	SeOperatorEnv *env = new_env();
	Log			log = {{log_append}};
	Row		   *rows = palloc(ROWS * sizeof(Row));
	SeBatch    *batch = se_batch_new(CurrentMemoryContext, input_desc(), ROWS);
	SeOperator *op;
	MemoryContext old = CurrentMemoryContext;

	se_batch_rows = 2;
	se_op_init(&sink->op, &sink_ops, 2, 1, env, NULL);
	sink->behind = 1;
	op = start(node, env, sink, NULL);
	make_rows(rows, ROWS, 20);
	for (int i = 0; i < ROWS; i++)
	{
		fill(batch, &rows[i], rows[i].wm);
		if (i % 50 == 49)
		{
			sink->now = rows[i].wm;
			se_op_push(op, 0, batch);
			commit(op, &log, sink, false);
			se_batch_reset(batch);
		}
	}
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
		other = se_session_agg_new(node, env);
		PG_TRY();
		{
			other->ops->restore(other, copy, len);
			SE_CHECK(len == record->len);
			other->ops->restored(other);
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

SE_TEST(gaps_have_a_fixed_length)
{
	Interval	days = {.time = 5,.day = 2,.month = 0};
	Interval	zero = {0};
	Interval	negative = {.time = -1};
	Interval	months = {.month = 1};

	SE_CHECK_INT(se_gap_usecs(&days), 2 * USECS_PER_DAY + 5);
	SE_CHECK_INT(se_gap_usecs(&zero), 0);
	for (int i = 0; i < 2; i++)
	{
		se_stub_error_code = 0;
		PG_TRY();
		{
			se_gap_usecs(i == 0 ? &negative : &months);
		}
		PG_CATCH();
		{
		}
		PG_END_TRY();
		SE_CHECK_INT(se_stub_error_code, ERRCODE_INVALID_PARAMETER_VALUE);
	}
}
