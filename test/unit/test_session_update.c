/*
 * test/unit/test_session_update.c
 *		Sessions whose results change, against their definition: random rows, options, batches, full outputs,
 *		snapshots, reclaimed records, generations and restores at any moment.
 */
#include "sessions.h"

#include "base/settings.h"

/* ------------------------------------------------------------- the definition */

typedef struct Defined
{
	Result		it;
	bool		fired;			/* it, or part of it, has been over */
	bool		final;
} Defined;

/*
 * The sessions of the first n rows, when the watermark is h; how many. Late rows are counted. Before row
 * `altered` no lateness was allowed, and what was final then stays so.
 */
static int
define(const SeSessionAggNode *node, const Row *rows, int n, SeTime h, int altered, Defined *sessions, int64 *late_rows)
{
	SeTime		horizon = SE_TIME_MIN;
	int			count = 0;

	*late_rows = 0;
	for (int i = 0; i <= n; i++)
	{
		SeTime		wm = i < n ? rows[i].wm : h;
		Defined		mine = {{0}};
		bool		joined = false;

		if (wm > SE_TIME_MIN)
			horizon = Max(horizon, wm - (i <= altered || wm == SE_TIME_MAX ? 0 : node->emit.lateness));
		for (int j = 0; j < count; j++)
		{
			sessions[j].fired |= sessions[j].it.end < wm;
			sessions[j].final |= sessions[j].it.end < horizon;
		}
		if (i == n || gap_of(node, &rows[i]) < 0)
			continue;
		mine.it.key = rows[i].key;
		mine.it.start = rows[i].ts;
		mine.it.end = rows[i].ts + gap_of(node, &rows[i]);
		mine.it.count = 1;
		mine.it.sum = mine.it.max = rows[i].value;
		for (int j = 0; j < count;)
		{
			Result	   *other = &sessions[j].it;

			if (sessions[j].final || other->key != mine.it.key || other->end < rows[i].ts ||
				other->start > rows[i].ts + gap_of(node, &rows[i]))
			{
				j++;
				continue;
			}
			joined = true;
			mine.fired |= sessions[j].fired;
			mine.it.start = Min(mine.it.start, other->start);
			mine.it.end = Max(mine.it.end, other->end);
			mine.it.count += other->count;
			if (mine.it.sum < 0)
				mine.it.sum = other->sum;
			else if (other->sum >= 0)
				mine.it.sum += other->sum;
			mine.it.max = Max(mine.it.max, other->max);
			sessions[j] = sessions[--count];
		}
		if (!joined && mine.it.end < horizon)
			(*late_rows)++;
		else
			sessions[count++] = mine;
	}
	return count;
}

/* ------------------------------------------------------------- a result that changes */

typedef struct Table
{
	Result	   *rows;
	bool	   *final;
	int			n;
} Table;

typedef struct Upsert
{
	Sink		sink;			/* first */
	Table		table;
	Table		saved;			/* as of the last commit */
	bool		append;			/* results do not change yet */
	uint64		deletes;
	uint64		updates;
	uint64		moves;
} Upsert;

static void
copy_table(Table *to, const Table *from)
{
	to->n = from->n;
	memcpy(to->rows, from->rows, from->n * sizeof(Result));
	memcpy(to->final, from->final, from->n * sizeof(bool));
}

/* Rows are known by key and end. */
static void
upsert_push(SeOperator *op, int input, SeBatch *batch)
{
	Upsert	   *upsert = (Upsert *) op;
	Table	   *table = &upsert->table;
	bool		moving = false; /* a -U came, whose +U is next */

	SE_CHECK(batch->append_only == upsert->append);
	for (int i = 0; i < batch->nrows; i++)
	{
		Datum	   *values = se_batch_values(batch, i);
		bool	   *nulls = se_batch_nulls(batch, i);
		Result		row;
		int			at = 0;

		row.key = nulls[0] ? -1 : DatumGetInt32(values[0]);
		row.start = DatumGetInt64(values[1]);
		row.end = DatumGetInt64(values[2]);
		while (at < table->n && (table->rows[at].key != row.key || table->rows[at].end != row.end))
			at++;
		if (at < table->n)
			SE_CHECK(!table->final[at]);
		if (batch->kinds[i] == SE_ROW_DELETE || batch->kinds[i] == SE_ROW_UPDATE_BEFORE)
		{
			upsert->deletes += batch->kinds[i] == SE_ROW_DELETE;
			upsert->moves += batch->kinds[i] == SE_ROW_UPDATE_BEFORE;
			SE_CHECK(at < table->n && table->rows[at].start == row.start);
			SE_CHECK(nulls[4] && nulls[5] && nulls[6]);
			SE_CHECK(!moving);
			moving = batch->kinds[i] == SE_ROW_UPDATE_BEFORE;
			table->rows[at] = table->rows[--table->n];
			table->final[at] = table->final[table->n];
			continue;
		}
		SE_CHECK(!moving || at == table->n);
		SE_CHECK_INT(batch->kinds[i], moving || at < table->n ? SE_ROW_UPDATE_AFTER : SE_ROW_INSERT);
		moving = false;
		upsert->updates += at < table->n;
		row.count = DatumGetInt64(values[4]);
		row.sum = nulls[5] ? -1 : DatumGetInt64(values[5]);
		row.max = nulls[6] ? -1 : DatumGetInt32(values[6]);
		table->rows[at] = row;
		table->final[at] = false;
		if (at == table->n)
			table->n++;
	}
	SE_CHECK(!moving);
	if (upsert->sink.full_after > 0 && --upsert->sink.full_after == 0)
		op->env->output_full = true;
}

static Upsert *
new_upsert(SeOperatorEnv *env)
{
	static SeOperatorOps ops;
	Upsert	   *upsert = palloc0(sizeof(Upsert));

	ops = sink_ops;
	ops.push = upsert_push;
	se_op_init(&upsert->sink.op, &ops, 2, 1, env, NULL);
	upsert->table.rows = palloc(ROWS * sizeof(Result));
	upsert->table.final = palloc(ROWS);
	upsert->saved.rows = palloc(ROWS * sizeof(Result));
	upsert->saved.final = palloc(ROWS);
	return upsert;
}

static bool
equal_results(const Result *a, const Result *b)
{
	return a->key == b->key && a->start == b->start && a->end == b->end && a->count == b->count && a->sum == b->sum && a->max == b->max;
}

/*
 * Is the result as it may be after n rows? Final sessions are there as they are, and never change again.
 * If `exact`, so is what was over once, and with `all` all others; else a row may be older, but
 * there are never two of one session.
 */
static void
check_table(const SeSessionAggNode *node, Upsert *upsert, const Row *rows, int n, SeTime h, int altered, bool exact, bool all,
			int64 counted_late)
{
	Table	   *table = &upsert->table;
	Defined    *sessions = palloc((n + 1) * sizeof(Defined));
	int64		late;
	int			count = define(node, rows, n, h, altered, sessions, &late);
	int			rows_found = 0;

	for (int i = 0; i < count; i++)
	{
		Result	   *it = &sessions[i].it;
		int			found = 0;
		bool		same = false;

		/* Rows of what is gone may overlap with what came later: those are known to be final. */
		for (int j = 0; j < table->n; j++)
		{
			Result	   *row = &table->rows[j];

			if (row->key != it->key || (sessions[i].final ? row->end != it->end || row->start != it->start :
										table->final[j] || row->start < it->start || row->end > it->end))
				continue;
			found++;
			same = equal_results(row, it);
			table->final[j] |= sessions[i].final;
		}
		SE_CHECK(found <= 1);
		if (sessions[i].final || (exact && (all || sessions[i].fired)))
			SE_CHECK(same);
		else if (exact)
			SE_CHECK_INT(found, 0);
		rows_found += found;
	}
	SE_CHECK_INT(table->n, rows_found);
	SE_CHECK_INT(counted_late, late);
	pfree(sessions);
}

/* ------------------------------------------------------------- runs */

typedef struct Plan
{
	bool		full;			/* the output fills up now and then */
	bool		crash;			/* restores from the last commit now and then */
	bool		reclaim;
	bool		generations;	/* a new one begins now and then */
	bool		alter;			/* results change only from some commit on */
} Plan;

typedef struct Seen
{
	uint64		deletes;
	uint64		updates;
	uint64		moves;
	uint64		exact;			/* comparisons while rows came */
} Seen;

static Seen seen;

/* Random options; what the result is between two commits is known exactly for some. */
static SeEmit
random_emit(bool *exact, bool *all)
{
	SeEmit		emit = {.given = true};

	*exact = true;
	*all = false;
	if (se_harness_random(4) > 0)
		emit.lateness = 1 + se_harness_random(60);
	switch (se_harness_random(5))
	{
		case 0:
			emit.on_update = *all = true;
			break;
		case 1:
			emit.every = 1 + se_harness_random(4);
			*all = emit.every == 1;
			*exact = *all;
			break;
		case 2:
			emit.early = 1 + se_harness_random(30);
			emit.early_clock = se_harness_random(2) == 0;
			*exact = false;
			break;
		default:
			emit.lateness = Max(emit.lateness, 1);
			break;
	}
	if (emit.lateness > 0 && se_harness_random(3) == 0)
	{
		emit.late = 1 + se_harness_random(20);
		*exact = false;
	}
	return emit;
}

static void
run(int64 gap, Plan plan)
{
	SeSessionAggNode *node = new_node(gap);
	SeOperatorEnv *env = new_env();
	SeOperatorEnv saved;
	Upsert	   *upsert = new_upsert(env);
	Sink	   *sink = &upsert->sink;
	Log			log = {{log_append}};
	Row		   *rows = palloc0(ROWS * sizeof(Row));
	SeTime		wm_end = make_rows(rows, ROWS, 2 + se_harness_random(40));
	SeBatch    *batch = se_batch_new(CurrentMemoryContext, input_desc(), ROWS);
	SeOperator *op;
	SeTime		clock = 0;
	int			at = 0;
	int			committed_at = 0;
	bool		resuming = false;
	SeEmit		emit;
	int			altered = plan.alter ? ROWS : -1;
	bool		exact;
	bool		all;

	emit = random_emit(&exact, &all);
	if (plan.alter)
		upsert->append = true;
	else
		node->emit = emit;
	op = start(node, env, sink, NULL);
	commit(op, &log, sink, false);
	saved = *env;
	for (;;)
	{
		if (plan.full && sink->full_after == 0 && se_harness_random(3) == 0)
			sink->full_after = 1 + se_harness_random(3);
		if (env->output_full || se_harness_random(4) == 0)
		{
			bool		behind = resuming || env->output_full;
			SeTime		h = at < ROWS ? rows[at].wm : wm_end;

			resuming |= env->output_full;
			commit(op, &log, sink, plan.reclaim && se_harness_random(2) == 0);
			saved = *env;
			copy_table(&upsert->saved, &upsert->table);
			committed_at = at;
			if (!behind && op->watermark_in == h)
			{
				check_table(node, upsert, rows, at, h, altered, exact || upsert->append, all && !upsert->append, env->late_rows);
				seen.exact += exact;
				copy_table(&upsert->saved, &upsert->table);
				if (upsert->append && se_harness_random(4) == 0)
				{
					node->emit = emit;
					altered = at;
					exact &= emit.every == 0;	/* what is there is not counted again */
					upsert->append = false;
					env->state_bytes = 0;
					sink->op.watermark_in = SE_TIME_MIN;
					op = start(node, env, sink, &log);
					commit(op, &log, sink, plan.reclaim && se_harness_random(2) == 0);
					saved = *env;
					copy_table(&upsert->saved, &upsert->table);
				}
			}
		}
		if (plan.crash && se_harness_random(6) == 0)
		{
			*env = saved;
			env->state_bytes = 0;
			env->output_full = false;
			copy_table(&upsert->table, &upsert->saved);
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
			begin_generation(op);
		if (at == ROWS)
			break;
		if (se_harness_random(3) == 0)
			op->ops->timer(op, clock += se_harness_random(40));
		se_batch_reset(batch);
		for (int k = 1 + se_harness_random(20); k > 0 && at < ROWS; k--, at++)
			fill(batch, &rows[at], at + 1 < ROWS ? rows[at + 1].wm : wm_end);
		se_op_push(op, 0, batch);
	}
	sink->full_after = 0;
	se_op_watermark(op, 0, SE_TIME_MAX);
	op->ops->end(op, 0);
	SE_CHECK(sink->ended);
	commit(op, &log, sink, false);
	check_table(node, upsert, rows, ROWS, SE_TIME_MAX, altered, true, true, env->late_rows);
	SE_CHECK_INT(env->late_pairs, env->late_rows);
	SE_CHECK_INT(op->state_entries, 0);
	seen.deletes += upsert->deletes;
	seen.updates += upsert->updates;
	seen.moves += upsert->moves;
}

static void
runs(int times, Plan plan)
{
	MemoryContext old = CurrentMemoryContext;

	memset(&seen, 0, sizeof(seen));
	for (int i = 0; i < times; i++)
	{
		MemoryContext context = se_stub_context_new(old, "run");

		se_batch_rows = 1 + se_harness_random(8);
		MemoryContextSwitchTo(context);
		run((int64) se_harness_random(12) - 1, plan);
		MemoryContextSwitchTo(old);
		MemoryContextDelete(context);
	}
	SE_CHECK(seen.deletes > 50 && seen.updates > 300 && seen.moves > 200 && seen.exact > 500);
}

SE_TEST(the_result_is_that_of_the_rows_so_far_whatever_the_batches)
{
	Plan		plan = {false, false, false, false, false};

	runs(400, plan);
}

SE_TEST(a_full_output_only_delays)
{
	Plan		plan = {true, false, false, false, false};

	runs(200, plan);
}

SE_TEST(nothing_is_lost_or_double_after_restores)
{
	Plan		plan = {true, true, true, false, false};

	runs(600, plan);
}

SE_TEST(sessions_move_to_the_next_generation_also_over_restores)
{
	Plan		plan = {true, true, true, true, false};

	runs(600, plan);
}

SE_TEST(results_begin_to_change_when_options_are_altered)
{
	Plan		plan = {true, true, true, true, true};

	runs(600, plan);
}

SE_TEST(damaged_records_are_errors)
{
	SeSessionAggNode *node = new_node(-1);
	SeOperatorEnv *env = new_env();
	Upsert	   *upsert = new_upsert(env);
	Log			log = {{log_append}};
	Row		   *rows = palloc(ROWS * sizeof(Row));
	SeBatch    *batch = se_batch_new(CurrentMemoryContext, input_desc(), ROWS);
	SeOperator *op;
	MemoryContext old = CurrentMemoryContext;

	se_batch_rows = 2;
	node->emit = (SeEmit)
	{
		.given = true,.early = 20,.late = 5,.lateness = 40
	};
	op = start(node, env, &upsert->sink, NULL);
	make_rows(rows, ROWS, 20);
	for (int i = 0; i < ROWS; i++)
	{
		fill(batch, &rows[i], rows[i].wm);
		if (i % 50 == 49)
		{
			se_op_push(op, 0, batch);
			commit(op, &log, &upsert->sink, false);
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
