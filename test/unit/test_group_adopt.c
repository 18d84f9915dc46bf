/*
 * test/unit/test_group_adopt.c
 *		Groups that get and lose a time to live, against their definition: at random places of a run the operator's
 *		groups are given to one of another kind.
 *
 * Calls that need PostgreSQL's functions, and DISTINCT, are in sql/ttl_alter_layout.sql.
 */
#include "harness.h"

#include "base/settings.h"
#include "catalog/pg_type_d.h"
#include "operators/operators.h"
#include "state/key.h"
#include "state/key_group.h"
#include "utils/fmgroids.h"
#include "utils/timestamp.h"

#define KEYS 30
#define TTL 100
#define ENDLESS SE_TIME_MAX

/* How groups are kept. */
typedef enum Kind
{
	AGG,						/* for ever; a row with each commit */
	HELD,						/* for ever; a row now and then */
	EVENT,						/* a time to live by the watermark */
	PROCESSING,					/* by the clock */
	KINDS
}			Kind;

/* A group, and its row of the result, as the definition has them. */
typedef struct Group
{
	bool		alive;
	SeTime		expires;		/* ENDLESS if it does not, or nobody knows when */
	int64		count;
	int64		sum;
	int64		least;
} Group;

typedef struct Row
{
	bool		present;
	int64		count;
	int64		sum;
	int64		least;
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
	StringInfoData records[20000];
	int			n;
} Log;

typedef struct Run
{
	Kind		kind;
	bool		delete;
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
	SeTime		h;
	SeTime		now;
} Run;

static void
sink_push(SeOperator *op, int input, SeBatch *batch)
{
	Sink	   *sink = (Sink *) op;

	for (int i = 0; i < batch->nrows; i++)
	{
		Datum	   *values = se_batch_values(batch, i);
		Row		   *row = &sink->rows[DatumGetInt32(values[0])];

		SE_CHECK(batch->kinds[i] != SE_ROW_UPDATE_BEFORE);
		sink->emitted++;
		row->present = batch->kinds[i] != SE_ROW_DELETE;
		row->count = DatumGetInt64(values[1]);
		row->sum = DatumGetInt64(values[2]);
		row->least = DatumGetInt32(values[3]);
	}
}

static void
sink_watermark(SeOperator *op, int input, SeTime h)
{
}

static const SeOperatorOps sink_ops = {
	.name = "sink",.push = sink_push,.watermark = sink_watermark
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

/* Rows are k, v, event time, clock; with a time to live by the clock another one comes first. */
static SeGroupAggNode *
new_node(Kind kind, bool delete)
{
	SeGroupAggNode *node = palloc0(sizeof(SeGroupAggNode));
	SeNode	   *input = palloc0(sizeof(SeNode));
	TupleDesc	out = CreateTemplateTupleDesc(4);
	int			first = kind == PROCESSING ? 1 : 0;

	input->desc = CreateTemplateTupleDesc(5);
	TupleDescInitEntry(input->desc, 1, "a", INT4OID, -1, 0);
	TupleDescInitEntry(input->desc, 2, "b", INT4OID, -1, 0);
	TupleDescInitEntry(input->desc, 3, "c", INT4OID, -1, 0);
	TupleDescInitEntry(input->desc, 4, "ts", TIMESTAMPTZOID, -1, 0);
	TupleDescInitEntry(input->desc, 5, "clock", TIMESTAMPTZOID, -1, 0);
	TupleDescInitEntry(out, 1, "k", INT4OID, -1, 0);
	TupleDescInitEntry(out, 2, "count", INT8OID, -1, 0);
	TupleDescInitEntry(out, 3, "sum", INT8OID, -1, 0);
	TupleDescInitEntry(out, 4, "min", INT4OID, -1, 0);
	node->node.kind = SE_NODE_GROUP_AGG;
	node->node.id = 1;
	node->node.inputs = list_make1(input);
	node->node.desc = out;
	node->keys = list_make1_int(first);
	node->key_eq = list_make1_oid(96);
	node->calls = list_make3(call(F_COUNT_, NIL), call(F_SUM_INT4, list_make1_int(first + 1)),
							 call(F_MIN_INT4, list_make1_int(first + 1)));
	if (kind == HELD && se_harness_random(2) == 0)
		node->emit.early = 50;
	else if (kind == HELD)
		node->emit.every = 3;
	node->ttl = kind == EVENT ? SE_TTL_EVENT : kind == PROCESSING ? SE_TTL_PROCESSING : SE_TTL_NONE;
	node->ttl_usecs = TTL;
	node->ttl_delete = delete;
	node->time_column = kind == EVENT ? 3 : kind == PROCESSING ? 4 : -1;
	return node;
}

static SeOperator *
new_operator(Run *run)
{
	SeOperator *op;

	if (run->node->ttl != SE_TTL_NONE)
		op = se_group_ttl_new(run->node, run->env);
	else if (run->kind == HELD)
		op = se_group_held_new(run->node, run->env);
	else
		op = se_group_agg_new(run->node, run->env);
	op->next = &run->sink->op;
	return op;
}

/* Where a worker begins the source tells it how far time has come. */
static void
tell_time(Run *run)
{
	se_op_watermark(run->op, 0, run->h);
	se_op_timer(run->op, run->now);
}

static void
restart(Run *run)
{
	run->env->state_bytes = 0;
	run->op = new_operator(run);
	for (int i = 0; i < run->log->n; i++)
		run->op->ops->restore(run->op, run->log->records[i].data, run->log->records[i].len);
	run->op->ops->restored(run->op);
}

static Run *
new_run(Kind kind, bool delete)
{
	Run		   *run = palloc0(sizeof(Run));

	run->kind = kind;
	run->delete = delete;
	run->node = new_node(kind, delete);
	run->env = palloc0(sizeof(SeOperatorEnv));
	run->sink = palloc0(sizeof(Sink));
	run->log = palloc0(sizeof(Log));
	run->batch = se_batch_new(CurrentMemoryContext, ((SeNode *) linitial(run->node->node.inputs))->desc, 64);
	run->env->memory = CurrentMemoryContext;
	run->env->state_limit = UINT64CONST(1) << 30;
	run->log->writer.append = log_append;
	run->h = 1000;
	run->now = 5000;
	se_op_init(&run->sink->op, &sink_ops, 2, 1, run->env, NULL);
	restart(run);
	return run;
}

static void
commit(Run *run)
{
	Log		   *log = run->log;
	int			gone = se_harness_random(3) == 0 ? se_harness_random(log->n + 1) : 0;

	run->sink->emitted = 0;
	run->env->commit_wanted = run->env->unreflected = false;
	run->op->ops->prepare(run->op);
	for (int i = 0; i < gone; i++)
		run->op->ops->rewrite(run->op, log->records[i].data, log->records[i].len);
	memmove(log->records, log->records + gone, (log->n - gone) * sizeof(StringInfoData));
	log->n -= gone;
	run->op->ops->snapshot(run->op, &log->writer);
	run->op->ops->checkpoint_done(run->op);
}

static void
add_row(Run *run, int key, int value, SeTime time)
{
	SeBatch    *batch = run->batch;
	Datum	   *values = se_batch_values(batch, batch->nrows);
	bool	   *nulls = se_batch_nulls(batch, batch->nrows);
	int			first = run->kind == PROCESSING ? 1 : 0;

	memset(values, 0, batch->ncolumns * sizeof(Datum));
	memset(nulls, false, batch->ncolumns);
	values[first] = Int32GetDatum(key);
	values[first + 1] = Int32GetDatum(value);
	values[3] = TimestampTzGetDatum(time);
	values[4] = TimestampTzGetDatum(run->now);
	batch->wm[batch->nrows] = run->h;
	batch->wm_end = run->h;
	batch->event_time[batch->nrows] = time;
	batch->nrows++;
}

static SeTime
ttl_clock(const Run *run)
{
	return run->kind == EVENT ? run->h : run->now;
}

static void
forget(Run *run, int key)
{
	run->groups[key].alive = false;
	if (run->delete)
		run->rows[key].present = false;
}

/* One row, as the options of the moment have it. */
static void
define_row(Run *run, int key, int value, SeTime time)
{
	Group	   *group = &run->groups[key];
	SeTime		expires = ENDLESS;

	if (run->node->ttl != SE_TTL_NONE)
	{
		SeTime		clock = ttl_clock(run);

		expires = (run->kind == EVENT ? time : clock) + TTL;
		if (group->alive && group->expires <= clock)
			forget(run, key);
		if (!group->alive && expires <= clock)
		{
			run->late++;
			return;
		}
	}
	if (!group->alive)
	{
		memset(group, 0, sizeof(Group));
		group->alive = true;
		group->expires = expires;
		group->least = value;
	}
	group->expires = Max(group->expires, expires);
	group->count++;
	group->sum += value;
	group->least = Min(group->least, value);
	run->rows[key].present = true;
	run->rows[key].count = group->count;
	run->rows[key].sum = group->sum;
	run->rows[key].least = group->least;
}

/* What is expired now is forgotten. */
static void
define_expiry(Run *run)
{
	for (int key = 0; key < KEYS && run->node->ttl != SE_TTL_NONE; key++)
	{
		if (run->groups[key].alive && run->groups[key].expires <= ttl_clock(run))
			forget(run, key);
	}
}

static void
check_result(Run *run)
{
	int			alive = 0;

	for (int key = 0; key < KEYS; key++)
	{
		alive += run->groups[key].alive;
		SE_CHECK_INT(run->sink->rows[key].present, run->rows[key].present);
		if (!run->rows[key].present)
			continue;
		SE_CHECK_INT(run->sink->rows[key].count, run->rows[key].count);
		SE_CHECK_INT(run->sink->rows[key].sum, run->rows[key].sum);
		SE_CHECK_INT(run->sink->rows[key].least, run->rows[key].least);
	}
	SE_CHECK_INT(run->op->state_entries, alive);
	SE_CHECK_INT(run->env->late_rows, run->late);
}

/* Commits until nothing is left to do, as at a mark. */
static void
settle(Run *run)
{
	tell_time(run);
	do
		commit(run);
	while (run->env->commit_wanted);
	define_expiry(run);
	if (run->kind != HELD)
		check_result(run);
}

static void
adopt(Run *run, SeOperator *from)
{
	run->op = new_operator(run);
	run->op->ops->adopt(run->op, from);
}

/* Groups are given to an operator of another kind; the commit that follows may be lost. */
static void
change_kind(Run *run, Kind kind, bool delete)
{
	SeOperator *from = run->op;
	bool		adopts = run->node->ttl != SE_TTL_NONE || kind == EVENT || kind == PROCESSING;
	bool		was_held = run->kind == HELD;

	settle(run);
	run->kind = kind;
	run->delete = delete && (kind == EVENT || kind == PROCESSING);
	run->node = new_node(kind, run->delete);
	if (!adopts)
	{
		/* Their records are the same. */
		restart(run);
		tell_time(run);
		return;
	}
	adopt(run, from);
	run->log->n = 0;
	if (se_harness_random(2) == 0)
	{
		commit(run);
		SE_CHECK(was_held || run->sink->emitted == 0);
	}
	else
		run->op->ops->snapshot(run->op, &run->log->writer);
	restart(run);
	tell_time(run);
	for (int key = 0; key < KEYS; key++)
		run->groups[key].expires = run->node->ttl == SE_TTL_NONE || ttl_clock(run) == SE_TIME_MIN ? ENDLESS :
			ttl_clock(run) + TTL;
	if (kind == HELD)
		return;
	settle(run);
	commit(run);
	SE_CHECK_INT(run->sink->emitted, 0);
}

static void
random_rows(Run *run)
{
	se_batch_reset(run->batch);
	run->batch->wm_end = run->h;
	for (int n = se_harness_random(64); n > 0; n--)
	{
		int			key = se_harness_random(KEYS);
		int			value = se_harness_random(100);
		SeTime		time;

		if (se_harness_random(5) == 0)
			run->h += se_harness_random(12);
		if (se_harness_random(5) == 0)
			run->now += se_harness_random(12);
		time = run->h + 20 - se_harness_random(se_harness_random(10) == 0 ? 300 : 40);
		define_row(run, key, value, time);
		add_row(run, key, value, time);
	}
	if (run->batch->nrows > 0)
		se_op_push(run->op, 0, run->batch);
}

SE_TEST(groups_that_get_and_lose_a_time_to_live_are_what_the_rows_before_and_after_make_them)
{
	Run		   *run = new_run(AGG, false);
	int			changes[KINDS][KINDS] = {0};

	for (int round = 0; round < 6000; round++)
	{
		random_rows(run);
		if (se_harness_random(4) == 0)
		{
			run->h += se_harness_random(se_harness_random(5) == 0 ? 2 * TTL : 30);
			run->now += se_harness_random(se_harness_random(5) == 0 ? 2 * TTL : 30);
			tell_time(run);
		}
		if (se_harness_random(2) == 0)
			settle(run);
		if (se_harness_random(5) == 0)
		{
			settle(run);
			restart(run);
			tell_time(run);
		}
		if (se_harness_random(8) == 0)
		{
			Kind		kind = se_harness_random(KINDS);

			changes[run->kind][kind]++;
			change_kind(run, kind, se_harness_random(2) == 0);
		}
	}
	for (int from = 0; from < KINDS; from++)
		for (int to = 0; to < KINDS; to++)
			SE_CHECK(changes[from][to] > 5);
	SE_CHECK(run->late > 100);
}

/* The count of key 0 after a row at the time that has come. */
static int64
count_now(Run *run)
{
	se_batch_reset(run->batch);
	run->batch->wm_end = run->h;
	define_row(run, 0, 1, run->h);
	add_row(run, 0, 1, run->h);
	se_op_push(run->op, 0, run->batch);
	commit(run);
	return run->sink->rows[0].count;
}

SE_TEST(a_group_that_is_given_a_time_to_live_is_gone_at_exactly_that_time_and_the_ttl)
{
	for (Kind kind = EVENT; kind <= PROCESSING; kind++)
	{
		Run		   *run = new_run(AGG, false);

		SE_CHECK_INT(count_now(run), 1);
		run->h += 100000;
		run->now += 200000;
		change_kind(run, kind, false);
		run->h += TTL - 1;
		run->now += TTL - 1;
		SE_CHECK_INT(count_now(run), 2);
		change_kind(run, AGG, false);
		change_kind(run, kind, false);
		run->h += TTL;
		run->now += TTL;
		SE_CHECK_INT(count_now(run), 1);
	}
}

SE_TEST(groups_whose_age_nobody_knows_live_until_the_input_ends)
{
	Run		   *run = new_run(AGG, false);

	run->h = SE_TIME_MIN;
	SE_CHECK_INT(count_now(run), 1);
	change_kind(run, EVENT, true);
	run->h = 1000000000;
	settle(run);
	SE_CHECK_INT(run->op->state_entries, 1);
	SE_CHECK_INT(count_now(run), 2);
	run->h += 1000000000;
	SE_CHECK_INT(count_now(run), 3);
	run->h = SE_TIME_MAX;
	tell_time(run);
	commit(run);
	SE_CHECK_INT(run->op->state_entries, 0);
	SE_CHECK(!run->sink->rows[0].present);
}

SE_TEST(what_both_operators_hold_counts_while_groups_go_over)
{
	Run		   *run = new_run(AGG, false);
	SeOperator *from = run->op;

	for (int i = 0; i < KEYS; i++)
		random_rows(run);
	settle(run);
	run->kind = EVENT;
	run->node = new_node(EVENT, false);
	run->env->state_limit = run->env->state_bytes + 1024;
	SE_CHECK_ERROR("53200", adopt(run, from));
	SE_CHECK(run->env->over_limit);
}

SE_TEST(each_unit_takes_over_the_groups_that_are_its_own)
{
	Run		   *run = new_run(AGG, false);
	int			entries = 0;

	run->batch->wm_end = run->h;
	for (int key = 0; key < KEYS; key++)
	{
		add_row(run, key, key, run->h);
		define_row(run, key, key, run->h);
	}
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
		restart(half);
		tell_time(half);
		for (Kind kind = EVENT; kind <= PROCESSING; kind++)
		{
			half->kind = kind;
			half->node = new_node(kind, false);
			adopt(half, half->op);
			SE_CHECK(half->op->state_entries > 0 && half->op->state_entries < KEYS);
			half->log->n = 0;
			commit(half);
			restart(half);
			tell_time(half);
		}
		entries += half->op->state_entries;
	}
	SE_CHECK_INT(entries, KEYS);
}
