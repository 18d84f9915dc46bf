/*
 * source/retained_time.c
 *		What the log says about a stream's time: current_watermark() outside of views, and lateness().
 *
 * Both read the log as a view would, by a source of their own, up to what the statement's snapshot sees. The watermark
 * is the one that the furthest view has when it has read the rest of the log: reading begins where that view stands.
 * Without such a view, and for lateness, it begins with the oldest WAL there is.
 *
 * Runs in: sessions, also on a standby. A hold keeps the WAL while it is read.
 */
#include "postgres.h"

#include "access/tableam.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "base/compat.h"
#include "base/fault.h"
#include "base/holds.h"
#include "base/shmem.h"
#include "catalog/pg_type.h"
#include "flow/graph.h"
#include "funcapi.h"
#include "log/layout.h"
#include "log/position.h"
#include "log/retention.h"
#include "log/stream.h"
#include "meta/jobs.h"
#include "meta/positions.h"
#include "meta/readers.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "source/source.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

SE_FUNCTION_INFO_V1(stream_engine_current_watermark);
SE_FUNCTION_INFO_V1(stream_engine_lateness);

/* Rows that are looked at together. */
#define BATCH_ROWS 1024

/*
 * Lateness is counted in steps: exactly below 2^7 µs, and in 2^7 steps between two powers of two above, so that a step
 * is less than 1 % of what it stands for. Each remembers the greatest lateness in it.
 */
#define STEP_BITS 7
#define STEPS ((64 - STEP_BITS) << STEP_BITS)

/* The bars of the histogram that people see: upper bounds, the last has none. */
static const int64 bars[] = {
	0, 1000, 10 * 1000, 100 * 1000, USECS_PER_SEC, 5 * USECS_PER_SEC, 10 * USECS_PER_SEC, 30 * USECS_PER_SEC,
	USECS_PER_MINUTE, 5 * USECS_PER_MINUTE, 15 * USECS_PER_MINUTE, USECS_PER_HOUR, 6 * USECS_PER_HOUR, USECS_PER_DAY,
	7 * USECS_PER_DAY, 30 * USECS_PER_DAY, 365 * USECS_PER_DAY, PG_INT64_MAX
};

typedef struct Step
{
	uint64		rows;
	int64		greatest;
} Step;

typedef struct Lateness
{
	SeTime		newest;			/* greatest event time so far */
	uint64		rows;
	uint64		by_bar[lengthof(bars)];
	Step		steps[STEPS];
} Lateness;

typedef void (*TakeBatch) (const SeBatch *batch, void *arg);

/* The newest answer of this backend; it holds for the statement and the snapshot it was given to. */
typedef struct Answer
{
	Oid			stream;
	TimestampTz statement;
	TransactionId xmin;
	TransactionId xmax;
	uint32		xcnt;
	int32		subxcnt;
	SeTime		watermark;
} Answer;

static Answer last_answer;

static void require_select(Oid stream);
static bool answered(Answer *question);
static bool find_furthest(Oid stream, SeLogPosition *position, SeTime *watermark);
static SeHold hold_position(SeLogPosition *position);
static void oldest_position(Oid stream, SeLogPosition *position);
static SeTime read_from(const SeStreamInfo *info, const SeLogPosition *position, TakeBatch take, void *arg);
static SeLogSourceNode *source_node(const SeStreamInfo *info);
static void count_batch(const SeBatch *batch, void *arg);
static void count_row(Lateness *lateness, int64 late);
static int	step_of(int64 late);
static int64 delay_that_keeps(const Lateness *lateness, int of, int all);
static Datum duration(int64 usecs);

/* current_watermark(stream regclass) → timestamptz: at the end of the log. In views the planner puts a column there. */
Datum
stream_engine_current_watermark(PG_FUNCTION_ARGS)
{
	Oid			stream = PG_GETARG_OID(0);
	SeStreamInfo *info = se_stream_info(stream);
	Snapshot	snapshot = GetActiveSnapshot();
	Answer		answer = {.stream = stream,.statement = GetCurrentStatementStartTimestamp(),
		.xmin = snapshot->xmin,.xmax = snapshot->xmax,.xcnt = snapshot->xcnt,.subxcnt = snapshot->subxcnt
	};

	require_select(stream);
	if (!answered(&answer))
	{
		SeLogPosition position;
		SeTime		watermark = SE_TIME_MIN;
		SeHold		hold = 0;

		if (!RecoveryInProgress())
			se_retention_flush_all();
		if (find_furthest(stream, &position, &watermark))
			hold = hold_position(&position);
		if (hold == 0)
		{
			oldest_position(stream, &position);
			hold = hold_position(&position);
		}
		answer.watermark = Max(watermark, SE_FAULT_WRONG("wrong-rest-of-log-unread") ? SE_TIME_MIN :
							   read_from(info, &position, NULL, NULL));
		se_hold_release(hold);
		last_answer = answer;
	}
	if (answer.watermark == SE_TIME_MIN)
		PG_RETURN_NULL();
	PG_RETURN_TIMESTAMPTZ(se_stream_moment(info, answer.watermark));
}

static void
require_select(Oid stream)
{
	AclResult	allowed = pg_class_aclcheck(stream, GetUserId(), ACL_SELECT);

	if (allowed != ACLCHECK_OK)
		aclcheck_error(allowed, OBJECT_FOREIGN_TABLE, get_rel_name(stream));
	se_shmem_require();
}

/*
 * A condition may ask for each row of a table. A snapshot with the same bounds and as many open transactions between
 * them sees the same.
 */
static bool
answered(Answer *question)
{
	if (last_answer.stream != question->stream || last_answer.statement != question->statement ||
		last_answer.xmin != question->xmin || last_answer.xmax != question->xmax ||
		last_answer.xcnt != question->xcnt || last_answer.subxcnt != question->subxcnt)
		return false;
	question->watermark = last_answer.watermark;
	return true;
}

/*
 * Where the view that has read most of the stream stands, among those that know a watermark; false if there is none.
 * The watermark is the greatest of all: what one view has been told counts, although the log may have lost it.
 */
static bool
find_furthest(Oid stream, SeLogPosition *position, SeTime *watermark)
{
	bool		found = false;
	ListCell   *job;
	ListCell   *lc;

	foreach(job, se_readers_of(stream))
	{
		foreach(lc, se_positions_list(((SeJobMeta *) lfirst(job))->job))
		{
			SePositionMeta *meta = lfirst(lc);
			SeLogPosition stored;

			if (!se_position_is_log(VARDATA_ANY(meta->position), VARSIZE_ANY_EXHDR(meta->position)))
				continue;		/* of a source of another kind */
			se_position_decode(VARDATA_ANY(meta->position), VARSIZE_ANY_EXHDR(meta->position), &stored);
			if (stored.watermark == SE_TIME_MIN || (stored.flags & SE_POSITION_PROCTIME) != 0)
				continue;
			*watermark = Max(*watermark, stored.watermark);
			if (found && stored.commit_lsn <= position->commit_lsn)
				continue;
			*position = stored;
			found = true;
		}
	}
	return found;
}

/* Keep the WAL from a position on; 0 if it is not there any more. */
static SeHold
hold_position(SeLogPosition *position)
{
	SeHold		hold = se_hold_register(position->restart_lsn);

	if (se_retention_oldest_lsn() <= position->restart_lsn)
		return hold;
	se_hold_release(hold);
	if ((position->flags & SE_POSITION_EARLIEST) == 0 || position->watermark != SE_TIME_MIN)
		return 0;

	/* A checkpoint took it away under us: begin later. */
	CHECK_FOR_INTERRUPTS();
	position->restart_lsn = position->commit_lsn = se_retention_oldest_lsn();
	return hold_position(position);
}

/* The oldest place there is, but not from before the stream: its OID may have been another one's. */
static void
oldest_position(Oid stream, SeLogPosition *position)
{
	List	   *layouts = se_layout_list(stream);
	XLogRecPtr	since = layouts == NIL ? InvalidXLogRecPtr : ((SeLayout *) linitial(layouts))->since;

	se_position_at_mark(position, Max(since, se_retention_oldest_lsn()), 0, 0);
}

/* Read the rest of the log, batch by batch; returns the watermark at its end. */
static SeTime
read_from(const SeStreamInfo *info, const SeLogPosition *position, TakeBatch take, void *arg)
{
	MemoryContext memory = AllocSetContextCreate(CurrentMemoryContext, "stream_engine retained time",
												 ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(memory);
	SeLogSourceNode *node = source_node(info);
	SeBatch    *batch = se_batch_new(memory, node->node.desc, BATCH_ROWS);
	SeSource   *source = se_log_source_new(node, memory);
	SePollResult result;
	SeTime		watermark;

	source->ops->open(source, position, sizeof(*position));
	do
	{
		CHECK_FOR_INTERRUPTS();
		se_batch_reset(batch);
		result = source->ops->poll(source, batch, GetActiveSnapshot());
		if (take != NULL)
			take(batch, arg);
	} while (result != SE_POLL_NOTHING && result != SE_POLL_END);
	watermark = batch->wm_end;
	source->ops->close(source);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(memory);
	return watermark;
}

/* One column, which says whether a row was passed; event time and watermark come along with any. */
static SeLogSourceNode *
source_node(const SeStreamInfo *info)
{
	SeLogSourceNode *node = palloc0(sizeof(SeLogSourceNode));

	node->node.kind = SE_NODE_LOG_SOURCE;
	node->node.desc = CreateTemplateTupleDesc(1);
	TupleDescInitEntry(node->node.desc, 1, "passed", BOOLOID, -1, 0);
	se_compat_finish_desc(node->node.desc);
	node->attnos = palloc(sizeof(AttrNumber));
	node->attnos[0] = SE_COLUMN_PASSED;
	node->stream = info->relation;
	node->event_time = info->event_time;
	node->event_time_type = info->event_time_type;
	return node;
}

/* lateness(stream regclass) → how late the retained rows came, and the delays that would have kept nearly all. */
Datum
stream_engine_lateness(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *out = (ReturnSetInfo *) fcinfo->resultinfo;
	Oid			stream = PG_GETARG_OID(0);
	SeStreamInfo *info = se_stream_info(stream);
	Lateness   *lateness = palloc0(sizeof(Lateness));
	SeLogPosition position;
	SeHold		hold;
	uint64		kept = 0;

	require_select(stream);
	InitMaterializedSRF(fcinfo, 0);
	if (info->event_time == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
				 errmsg("stream \"%s\" has no event time", get_rel_name(stream)),
				 errhint("Mark its event time column with OPTIONS (event_time 'true').")));

	lateness->newest = SE_TIME_MIN;
	if (!RecoveryInProgress())
		se_retention_flush_all();
	oldest_position(stream, &position);
	hold = hold_position(&position);
	(void) read_from(info, &position, count_batch, lateness);
	se_hold_release(hold);

	for (int bar = 0; bar < lengthof(bars) && kept < lateness->rows; bar++)
	{
		Datum		values[5];
		bool		nulls[5] = {false};

		kept += lateness->by_bar[bar];
		values[0] = duration(bars[bar]);
		nulls[0] = bars[bar] == PG_INT64_MAX;
		values[1] = Int64GetDatum((int64) lateness->by_bar[bar]);
		values[2] = DirectFunctionCall3(numeric_in,
										CStringGetDatum(psprintf("%.3f", 100.0 * kept / lateness->rows)),
										ObjectIdGetDatum(InvalidOid), Int32GetDatum(-1));
		values[3] = duration(delay_that_keeps(lateness, 99, 100));
		values[4] = duration(delay_that_keeps(lateness, 999, 1000));
		tuplestore_putvalues(out->setResult, out->setDesc, values, nulls);
	}
	return (Datum) 0;
}

/* A row is as late as its event time is behind the greatest one before it. Passed rows say nothing about time. */
static void
count_batch(const SeBatch *batch, void *arg)
{
	Lateness   *lateness = arg;

	for (int row = 0; row < batch->nrows; row++)
	{
		SeTime		ts = batch->event_time[row];

		if ((DatumGetBool(se_batch_values(batch, row)[0]) && !SE_FAULT_WRONG("wrong-passed-row-is-late")) ||
			TIMESTAMP_NOT_FINITE(ts))
			continue;
		count_row(lateness, ts >= lateness->newest ? 0 : lateness->newest - ts);
		lateness->newest = Max(lateness->newest, ts);
	}
}

static void
count_row(Lateness *lateness, int64 late)
{
	Step	   *step = &lateness->steps[step_of(late)];
	int			bar = 0;

	while (late > bars[bar])
		bar++;
	lateness->by_bar[bar]++;
	lateness->rows++;
	step->rows++;
	step->greatest = Max(step->greatest, late);
}

static int
step_of(int64 late)
{
	int			shift;

	if (late < (1 << STEP_BITS))
		return late;
	shift = pg_leftmost_one_pos64(late) - STEP_BITS;
	return ((shift + 1) << STEP_BITS) + (int) ((late >> shift) & ((1 << STEP_BITS) - 1));
}

/* The smallest step, or rather the latest row in it, up to which at least `of` in `all` rows came. */
static int64
delay_that_keeps(const Lateness *lateness, int of, int all)
{
	uint64		may_miss = lateness->rows - (lateness->rows / all * of + (lateness->rows % all * of + all - 1) / all);
	uint64		left = lateness->rows;
	int64		greatest = 0;

	for (int step = 0; step < STEPS && left > may_miss; step++)
	{
		if (lateness->steps[step].rows > 0)
			greatest = lateness->steps[step].greatest;
		left -= lateness->steps[step].rows;
	}
	return greatest;
}

/* An interval as people write it: days apart from hours. */
static Datum
duration(int64 usecs)
{
	Interval   *interval = palloc0(sizeof(Interval));

	interval->day = usecs / USECS_PER_DAY;
	interval->time = usecs % USECS_PER_DAY;
	return IntervalPGetDatum(interval);
}
