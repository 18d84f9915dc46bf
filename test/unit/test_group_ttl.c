/*
 * test/unit/test_group_ttl.c
 *		Groups that expire, against their definition, over crashes, reclaim and many generations.
 */
#include "harness.h"

#include "base/settings.h"
#include "catalog/pg_type_d.h"
#include "operators/operators.h"
#include "state/key.h"
#include "state/key_group.h"
#include "utils/fmgroids.h"
#include "utils/timestamp.h"

#define KEYS 60
#define TTL 100

/* A group, and the row of the result, as the definition has them. */
typedef struct Group
{
	bool		alive;
	SeTime		expires;
	int64		count;
	int64		sum;
} Group;

typedef struct Row
{
	bool		present;
	int64		count;
	int64		sum;
} Row;

/* The result table. */
typedef struct Sink
{
	SeOperator	op;
	Row			rows[KEYS];
	int			emitted;		/* since the last commit */
} Sink;

typedef struct Log
{
	SeSnapshotWriter writer;	/* first */
	StringInfoData records[50000];
	int			n;
} Log;

typedef struct Run
{
	SeGroupAggNode *node;
	SeOperatorEnv *env;
	Sink	   *sink;
	Log		   *log;
	SeBatch    *batch;
	SeOperator *op;

	/* the definition */
	Group		groups[KEYS];
	Row			rows[KEYS];
	int64		late;
	SeTime		clock;
} Run;

static void
sink_push(SeOperator *op, int input, SeBatch *batch)
{
	Sink	   *sink = (Sink *) op;

	SE_CHECK(!batch->append_only);
	for (int i = 0; i < batch->nrows; i++)
	{
		Datum	   *values = se_batch_values(batch, i);
		bool	   *nulls = se_batch_nulls(batch, i);
		Row		   *row;

		sink->emitted++;
		if (DatumGetInt32(values[0]) >= KEYS)
			continue;			/* only counted */
		SE_CHECK(!nulls[0]);
		SE_CHECK(batch->kinds[i] != SE_ROW_UPDATE_BEFORE);
		row = &sink->rows[DatumGetInt32(values[0])];
		row->present = batch->kinds[i] != SE_ROW_DELETE;
		row->count = DatumGetInt64(values[1]);
		row->sum = DatumGetInt64(values[2]);
	}
}

static void
sink_watermark(SeOperator *op, int input, SeTime h)
{
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
}

static const SeOperatorOps sink_ops = {
	.name = "sink",.push = sink_push,.watermark = sink_watermark,.idle = sink_idle,.timer = sink_timer,
	.end = sink_end
};

static void
log_append(SeSnapshotWriter *writer, int operator_id, const void *bytes, Size len)
{
	Log		   *log = (Log *) writer;

	SE_CHECK(log->n < lengthof(log->records));
	initStringInfo(&log->records[log->n]);
	appendBinaryStringInfo(&log->records[log->n], bytes, (int) len);
	log->n++;
}

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
	return result;
}

static SeGroupAggNode *
new_node(SeTtl ttl, bool delete)
{
	SeGroupAggNode *node = palloc0(sizeof(SeGroupAggNode));
	SeNode	   *input = palloc0(sizeof(SeNode));
	TupleDesc	out = CreateTemplateTupleDesc(3);

	input->desc = CreateTemplateTupleDesc(3);
	TupleDescInitEntry(input->desc, 1, "k", INT4OID, -1, 0);
	TupleDescInitEntry(input->desc, 2, "v", INT4OID, -1, 0);
	TupleDescInitEntry(input->desc, 3, "ts", TIMESTAMPTZOID, -1, 0);
	TupleDescInitEntry(out, 1, "k", INT4OID, -1, 0);
	TupleDescInitEntry(out, 2, "count", INT8OID, -1, 0);
	TupleDescInitEntry(out, 3, "sum", INT8OID, -1, 0);
	node->node.kind = SE_NODE_GROUP_AGG;
	node->node.id = 1;
	node->node.inputs = list_make1(input);
	node->node.desc = out;
	node->keys = list_make1_int(0);
	node->key_eq = list_make1_oid(96);
	node->calls = list_make2(call(F_COUNT_, NIL), call(F_SUM_INT4, list_make1_int(1)));
	node->ttl = ttl;
	node->ttl_usecs = TTL;
	node->ttl_delete = delete;
	node->time_column = 2;
	return node;
}

static void
start(Run *run)
{
	run->env->state_bytes = 0;
	run->op = se_group_ttl_new(run->node, run->env);
	run->op->next = &run->sink->op;
	for (int i = 0; i < run->log->n; i++)
		run->op->ops->restore(run->op, run->log->records[i].data, run->log->records[i].len);
	run->op->ops->restored(run->op);
}

static Run *
new_run(SeTtl ttl, bool delete)
{
	Run		   *run = palloc0(sizeof(Run));

	run->node = new_node(ttl, delete);
	run->env = palloc0(sizeof(SeOperatorEnv));
	run->sink = palloc0(sizeof(Sink));
	run->log = palloc0(sizeof(Log));
	run->batch = se_batch_new(CurrentMemoryContext, ((SeNode *) linitial(run->node->node.inputs))->desc, 64);
	run->env->memory = CurrentMemoryContext;
	run->env->state_limit = UINT64CONST(1) << 30;
	run->log->writer.append = log_append;
	run->clock = 1000;
	se_op_init(&run->sink->op, &sink_ops, 2, 1, run->env, NULL);
	start(run);
	return run;
}

static void
commit(Run *run)
{
	Log		   *log = run->log;
	int			gone = se_harness_random(3) == 0 ? se_harness_random(log->n + 1) : 0;

	run->sink->emitted = 0;
	run->env->commit_wanted = false;
	run->env->unreflected = false;
	run->op->ops->prepare(run->op);
	for (int i = 0; i < gone; i++)
		run->op->ops->rewrite(run->op, log->records[i].data, log->records[i].len);
	memmove(log->records, log->records + gone, (log->n - gone) * sizeof(StringInfoData));
	log->n -= gone;
	run->op->ops->snapshot(run->op, &log->writer);
	run->op->ops->checkpoint_done(run->op);
}

static void
add_row(Run *run, int key, int value, SeTime time, SeTime stamp)
{
	SeBatch    *batch = run->batch;
	Datum	   *values = se_batch_values(batch, batch->nrows);
	bool	   *nulls = se_batch_nulls(batch, batch->nrows);

	values[0] = Int32GetDatum(key);
	values[1] = Int32GetDatum(value);
	values[2] = TimestampTzGetDatum(time);
	nulls[0] = nulls[1] = nulls[2] = false;
	batch->wm[batch->nrows] = stamp;
	batch->wm_end = Max(batch->wm_end, stamp);
	batch->event_time[batch->nrows] = time;
	batch->nrows++;
}

/* What state_ttl says, one row at a time. */
static void
define_row(Run *run, int key, int value, SeTime time, SeTime clock)
{
	Group	   *group = &run->groups[key];

	if (group->alive && group->expires <= clock)
		group->alive = false;
	if (!group->alive)
	{
		if (time + TTL <= clock)
		{
			run->late++;
			return;
		}
		memset(group, 0, sizeof(Group));
		group->alive = true;
	}
	group->expires = Max(group->expires, time + TTL);
	group->count++;
	group->sum += value;
	run->rows[key].present = true;
	run->rows[key].count = group->count;
	run->rows[key].sum = group->sum;
}

/* The result after a commit that has no more to do; with ttl_delete without the expired. */
static void
check_result(Run *run)
{
	int			alive = 0;

	for (int key = 0; key < KEYS; key++)
	{
		Group	   *group = &run->groups[key];

		if (group->alive && group->expires <= run->clock)
			group->alive = false;
		if (!group->alive && run->node->ttl_delete)
			run->rows[key].present = false;
		alive += group->alive;
		SE_CHECK_INT(run->sink->rows[key].present, run->rows[key].present);
		if (!run->rows[key].present)
			continue;
		SE_CHECK_INT(run->sink->rows[key].count, run->rows[key].count);
		SE_CHECK_INT(run->sink->rows[key].sum, run->rows[key].sum);
	}
	SE_CHECK_INT(run->op->state_entries, alive);
	SE_CHECK_INT(run->env->late_rows, run->late);
}

static void
random_run(SeTtl ttl, bool delete)
{
	Run		   *run = new_run(ttl, delete);
	bool		committed = true;

	for (int round = 0; round < 1500; round++)
	{
		bool		event = ttl == SE_TTL_EVENT;

		/* What is lost with a crash is read again: nothing, if all was committed. */
		if (committed && se_harness_random(6) == 0)
			start(run);
		se_batch_reset(run->batch);
		run->batch->wm_end = event ? run->clock : SE_TIME_MIN;
		for (int n = se_harness_random(64); n > 0; n--)
		{
			int			key = se_harness_random(round % 100 < 50 ? KEYS : 5);
			int			value = se_harness_random(100);
			SeTime		time;

			if (se_harness_random(4) == 0)
				run->clock += se_harness_random(30);
			if (event)
				time = run->clock + 20 - se_harness_random(se_harness_random(10) == 0 ? 300 : 40);
			else
				time = run->clock;
			define_row(run, key, value, time, run->clock);
			add_row(run, key, value, time, event ? run->clock : SE_TIME_MIN);
		}
		if (run->batch->nrows > 0)
			se_op_push(run->op, 0, run->batch);
		if (se_harness_random(3) == 0)
		{
			run->clock += se_harness_random(se_harness_random(5) == 0 ? 3 * TTL : 20);
			if (event)
				se_op_watermark(run->op, 0, run->clock);
			else
				run->op->ops->timer(run->op, run->clock);
		}
		committed = se_harness_random(2) == 0;
		if (!committed)
			continue;

		/* The last rows may have moved the clock; a source tells of it. */
		if (event)
			se_op_watermark(run->op, 0, run->clock);
		commit(run);
		check_result(run);
		commit(run);
		SE_CHECK_INT(run->sink->emitted, 0);
	}
	SE_CHECK(run->late > (ttl == SE_TTL_EVENT ? 100 : -1));
}

SE_TEST(groups_by_event_time_begin_anew_after_their_time)
{
	random_run(SE_TTL_EVENT, false);
}

SE_TEST(rows_of_groups_that_expire_by_event_time_are_deleted)
{
	random_run(SE_TTL_EVENT, true);
}

SE_TEST(groups_by_processing_time_begin_anew_after_their_time)
{
	random_run(SE_TTL_PROCESSING, false);
}

SE_TEST(rows_of_groups_that_expire_by_processing_time_are_deleted)
{
	random_run(SE_TTL_PROCESSING, true);
}

/* How a row at `now` finds key 0: the count of its group. */
static int64
count_at(Run *run, SeTime now)
{
	se_batch_reset(run->batch);
	run->batch->wm_end = SE_TIME_MIN;
	add_row(run, 0, 1, now, SE_TIME_MIN);
	se_op_push(run->op, 0, run->batch);
	commit(run);
	return run->sink->rows[0].count;
}

SE_TEST(a_group_written_at_a_time_is_gone_at_exactly_that_time_and_the_ttl)
{
	Run		   *run = new_run(SE_TTL_PROCESSING, false);

	SE_CHECK_INT(count_at(run, 4000), 1);
	SE_CHECK_INT(count_at(run, 4000 + TTL - 1), 2);
	SE_CHECK_INT(count_at(run, 4000 + TTL), 3);
	SE_CHECK_INT(count_at(run, 4000 + 2 * TTL), 1);
	/* Not brought to life again out of a checkpoint that had it. */
	start(run);
	SE_CHECK_INT(count_at(run, 4000 + 3 * TTL), 1);
	start(run);
	SE_CHECK_INT(count_at(run, 4000 + 4 * TTL - 1), 2);
}

SE_TEST(a_ttl_beyond_the_end_of_time_ends_with_the_input)
{
	Run		   *run = new_run(SE_TTL_PROCESSING, false);

	run->node->ttl_usecs = PG_INT64_MAX;
	SE_CHECK_INT(count_at(run, 4000), 1);
	SE_CHECK_INT(count_at(run, PG_INT64_MAX - 3), 2);
	run->op->ops->timer(run->op, PG_INT64_MAX - 2);
	SE_CHECK(!run->env->commit_wanted);
	SE_CHECK_INT(count_at(run, PG_INT64_MAX - 2), 3);
	run->op->ops->timer(run->op, SE_TIME_MAX);
	SE_CHECK(run->env->commit_wanted);
	SE_CHECK_INT(count_at(run, SE_TIME_MAX), 1);
}

/* Every key once and never again: what is held stays as it is. */
SE_TEST(memory_of_expired_groups_comes_back)
{
	Run		   *run = new_run(SE_TTL_EVENT, true);
	uint64		early = 0;
	uint64		late = 0;

	for (int i = 0; i < 5000; i++)
	{
		se_batch_reset(run->batch);
		run->batch->wm_end = run->clock;
		for (int n = 0; n < 64; n++)
			add_row(run, KEYS + i * 64 + n, 1, run->clock, run->clock);
		se_op_push(run->op, 0, run->batch);
		run->clock += 2;
		commit(run);
		if (i < 1000)
			early = Max(early, run->env->state_bytes);
		else
			late = Max(late, run->env->state_bytes);
	}
	SE_CHECK(late <= early * 5 / 4);
	SE_CHECK(run->op->state_entries <= (TTL / 2 + 2) * 64);

	/* An idle stream: only the watermark goes on. */
	se_op_watermark(run->op, 0, run->clock + 2 * TTL);
	SE_CHECK(run->env->commit_wanted);
	while (run->env->commit_wanted)
		commit(run);
	SE_CHECK_INT(run->op->state_entries, 0);
	SE_CHECK(run->env->state_bytes < early / 10);
}

/* More expire at once than a commit deletes. */
SE_TEST(deletes_are_spread_over_commits_and_survive_a_crash_between_them)
{
	Run		   *run = new_run(SE_TTL_EVENT, true);
	int			keys = 64 * 500;
	int			commits = 0;
	int			deleted = 0;

	for (int i = 0; i < keys / 64; i++)
	{
		se_batch_reset(run->batch);
		run->batch->wm_end = run->clock;
		for (int n = 0; n < 64; n++)
			add_row(run, KEYS + i * 64 + n, 1, run->clock, run->clock);
		se_op_push(run->op, 0, run->batch);
	}
	commit(run);
	SE_CHECK_INT(run->sink->emitted, keys);
	commit(run);
	se_op_watermark(run->op, 0, run->clock + TTL);
	do
	{
		commit(run);
		commits++;
		deleted += run->sink->emitted;
		SE_CHECK(run->sink->emitted <= 10000);
		SE_CHECK_INT(run->env->unreflected, deleted < keys);
		start(run);
	} while (run->env->commit_wanted && commits < 100);
	SE_CHECK_INT(deleted, keys);
	SE_CHECK(commits >= 4);
}

SE_TEST(state_of_one_unit_restored_as_two_by_key_group_expires_alike)
{
	Run		   *run = new_run(SE_TTL_EVENT, true);
	SeKeys	   *keys = se_keys_new(((SeNode *) linitial(run->node->node.inputs))->desc, run->node->keys, run->node->key_eq);
	int64		entries = 0;

	run->batch->wm_end = run->clock;
	for (int key = 0; key < KEYS; key++)
		add_row(run, key, 1, run->clock + key, run->clock);
	se_op_push(run->op, 0, run->batch);
	commit(run);
	for (int unit = 0; unit < 2; unit++)
	{
		Run		   *half = palloc(sizeof(Run));

		*half = *run;
		half->env = palloc0(sizeof(SeOperatorEnv));
		half->env->memory = CurrentMemoryContext;
		half->env->state_limit = UINT64CONST(1) << 30;
		half->env->unit = unit;
		half->env->units = 2;
		half->log = palloc(sizeof(Log));
		*half->log = *run->log;
		start(half);
		SE_CHECK(half->op->state_entries > 0 && half->op->state_entries < KEYS);
		entries += half->op->state_entries;

		/* Half of them expire, the others get a row. */
		se_op_watermark(half->op, 0, run->clock + TTL + KEYS / 2);
		se_batch_reset(half->batch);
		half->batch->wm_end = run->clock + TTL + KEYS / 2;
		for (int key = KEYS / 2 + 1; key < KEYS; key++)
		{
			int			row = half->batch->nrows;
			Datum		value;
			bool		null;
			uint32		hash;

			add_row(half, key, 1, half->batch->wm_end, half->batch->wm_end);
			se_keys_prepare(keys, half->batch, &row, 1, &value, &null, &hash);
			if (!se_key_group_is_own(half->env, hash))
				half->batch->nrows--;
		}
		se_op_push(half->op, 0, half->batch);
		commit(half);
	}
	SE_CHECK_INT(entries, KEYS);
	for (int key = 0; key < KEYS; key++)
	{
		SE_CHECK_INT(run->sink->rows[key].present, key > KEYS / 2);
		SE_CHECK(key <= KEYS / 2 || run->sink->rows[key].count == 2);
	}
}

SE_TEST(damaged_records_are_errors)
{
	Run		   *run = new_run(SE_TTL_EVENT, true);
	MemoryContext old = CurrentMemoryContext;

	for (int i = 0; i < 40; i++)
	{
		se_batch_reset(run->batch);
		run->batch->wm_end = run->clock;
		for (int n = 0; n < 64; n++)
			add_row(run, KEYS + i * 64 + n, 1, run->clock, run->clock);
		se_op_push(run->op, 0, run->batch);
		run->clock += 10;
		commit(run);
	}
	SE_CHECK(run->log->n > 5);
	for (volatile int i = 0; i < 3000; i++)
	{
		MemoryContext context = se_stub_context_new(old, "damage");
		StringInfoData *record = &run->log->records[se_harness_random(run->log->n)];
		volatile int len = se_harness_random(3) == 0 ? se_harness_random(record->len) : record->len;
		SeOperatorEnv *env;
		SeOperator *other;
		char	   *copy;

		MemoryContextSwitchTo(context);
		copy = palloc(record->len + 1);
		memcpy(copy, record->data, record->len);
		if (len == record->len)
			copy[se_harness_random(len)] ^= 1 << se_harness_random(8);
		env = palloc0(sizeof(SeOperatorEnv));
		env->memory = context;
		env->state_limit = 1 << 20;
		other = se_group_ttl_new(run->node, env);
		PG_TRY();
		{
			other->ops->restore(other, copy, len);
			other->ops->restored(other);
		}
		PG_CATCH();
		{
			SE_CHECK(se_stub_error_code == ERRCODE_DATA_CORRUPTED || se_stub_error_code == ERRCODE_OUT_OF_MEMORY);
		}
		PG_END_TRY();
		MemoryContextSwitchTo(old);
		MemoryContextDelete(context);
	}
}
