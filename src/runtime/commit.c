/*
 * runtime/commit.c
 *		The commit of a unit: results, state and positions in one transaction (I5).
 *
 * First a read-only round in which operators emit what they held back; then, in chain
 * order, every operator appends its changed state and the sink writes its rows; last
 * the position row. The transaction is asynchronous: everything it holds is one WAL,
 * and after a crash either all of it is there or the unit begins at the commit before.
 * An error here leaves the operators ahead of the last commit, so the worker ends and
 * its successor restores.
 *
 * Published after the commit: what is reflected, and from where WAL is needed. The
 * coordinator moves the replication slot by the position rows, not by what we publish.
 */
#include "postgres.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "access/xlog_internal.h"
#include "base/clock.h"
#include "base/compat.h"
#include "common/int.h"
#include "base/database_slot.h"
#include "base/fault.h"
#include "meta/positions.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "runtime/restart.h"
#include "runtime/side.h"
#include "runtime/task.h"
#include "runtime/worker_env.h"
#include "utils/memutils.h"

/* A position that lags this many segments is committed for its own sake. */
#define LAG_SEGMENTS 4

/* The coordinator hears of so many bytes of state: about as many of older state are dead. */
#define TELL_BYTES (1024 * 1024)

/* What the sources say at the moment of a commit. */
typedef struct Stand
{
	XLogRecPtr	read_lsn;		/* least of all */
	XLogRecPtr	restart_lsn;	/* least of all */
	SeTime		watermark;		/* least of all */
	TimestampTz commit_time;	/* newest */
	uint64		skipped;
	uint64		bytes_read;
	SeSourceStatus idle;		/* of the source that can be idle, if there is one */
} Stand;

static bool prepare(SeTask *task);
static bool write_all(SeTask *task);
static void write_side_alone(SeTask *task);
static void write_operators(SeTask *task);
static void write_positions(SeTask *task);
static Stand stand_of_sources(const SeTask *task);
static void reflect(SeTask *task, const Stand *stand);
static void publish_stand(SeJobSlot *slot, const Stand *stand);
static void finish(SeTask *task, const Stand *stand, bool full, int64 took);
static long clear_failures(SeTask *task, TimestampTz now);

void
se_commit_begin(SeTask *task)
{
	task->restart_lsn = stand_of_sources(task).restart_lsn;
	pg_atomic_write_u64(&task->slot->restart_lsn, task->restart_lsn);
	se_commit_publish(task);
}

bool
se_commit_run(SeTask *task)
{
	TimestampTz begun = GetCurrentTimestamp();
	bool		full = task->env.output_full;
	int64		took;
	Stand		stand;

	if (!prepare(task))
		return false;
	full |= task->env.output_full;
	stand = stand_of_sources(task);
	if (SE_FAULT_WRONG("wrong-side-before-position"))
		write_side_alone(task);
	if (!write_all(task))
		return false;
	task->commits++;
	took = GetCurrentTimestamp() - begun;
	task->commit_us += took;
	pg_atomic_write_u64(&task->slot->counters[SE_COUNT_LAST_COMMIT_US], took);
	finish(task, &stand, full, took);
	SE_FAULT_POINT("commit-done");
	return true;
}

/* The last round before the commit: nothing is held back any more. */
static bool
prepare(SeTask *task)
{
	if (!se_worker_begin(task->job, true))
		return false;
	task->env.commit_wanted = false;
	task->env.unreflected = false;
	for (int i = 0; i < task->chain->noperators; i++)
	{
		SeOperator *op = task->chain->operators[i];

		if (op != NULL)
			op->ops->prepare(op);
	}
	se_side_prepare(task);
	task->env.current_batch = NULL;
	se_worker_commit();
	return true;
}

/*
 * The writing transaction. The lock on the result orders it against a DROP: either we
 * see that the table is gone, or the DROP sees and removes what we wrote.
 */
static bool
write_all(SeTask *task)
{
	MemoryContext old;

	if (!se_commit_lock(task))
		return false;
	old = MemoryContextSwitchTo(task->commit_memory);
	task->env.final_to = se_task_final_to(task);
	write_operators(task);
	if (!SE_FAULT_WRONG("wrong-side-before-position"))
		se_side_write(task);
	SE_FAULT_POINT("commit-before-position");
	write_positions(task);
	if (task->converted)
		SE_FAULT_POINT("convert-commit");
	MemoryContextSwitchTo(old);
	se_worker_commit();
	MemoryContextReset(task->commit_memory);
	return true;
}

/* The wrong: late and failing rows are there before the position is behind them. */
static void
write_side_alone(SeTask *task)
{
	if (!se_worker_begin(task->job, false))
		return;
	se_side_write(task);
	se_worker_commit();
}

/* State of all operators in chain order; the sink, which is last, writes its rows. */
static void
write_operators(SeTask *task)
{
	SeChain    *chain = task->chain;
	SeSnapshotWriter *writer;

	writer = task->converted ? se_store_begin_anew(task->store) :
		se_store_begin(task->store, chain->operators, chain->noperators, task->env.state_bytes);
	for (int i = 0; i < chain->noperators; i++)
	{
		SeOperator *op = chain->operators[i];

		if (op == NULL)
			continue;
		if (op == chain->sink)
		{
			SE_FAULT_POINT("commit-after-state");
			if (SE_FAULT_WRONG("wrong-position-before-results"))
				continue;
		}
		op->snapshotting = true;
		op->ops->snapshot(op, writer);
		op->snapshotting = false;
	}
	SE_FAULT_POINT("commit-after-results");
	task->chunk_seq = se_store_finish(task->store);
}

static void
write_positions(SeTask *task)
{
	SeChain    *chain = task->chain;
	List	   *skip = NIL;
	ListCell   *cell;

	foreach(cell, task->skip)
		skip = lappend(skip, se_place_describe(*(SePlace *) lfirst(cell)));

	for (int i = 0; i < chain->nsources; i++)
	{
		SeSource   *source = chain->sources[i].source;
		SePositionMeta meta = {0};
		StringInfoData bytes;

		initStringInfo(&bytes);
		appendStringInfoSpaces(&bytes, VARHDRSZ);
		source->ops->position(source, &bytes);
		SET_VARSIZE(bytes.data, bytes.len);

		meta.job = task->job;
		meta.unit = task->unit;
		meta.source = source->node_id;
		meta.attempt = task->attempt;
		meta.position = (bytea *) bytes.data;
		meta.fingerprint = chain->graph->fingerprint;
		meta.shape = chain->graph->shape;
		meta.chunk_seq = task->chunk_seq;
		meta.result_rows = task->env.result_rows;
		meta.rows_in = task->rows_in_base + task->rows_in;
		meta.rows_out = task->rows_out_base + (int64) chain->sink->rows_in;
		meta.late_rows = task->env.late_rows;
		meta.late_pairs = task->env.late_pairs;
		meta.windowed = task->windowed;
		meta.final_to = task->final_to = se_task_final_to(task);
		meta.options = task->options;
		meta.options_lsn = task->options_lsn;
		meta.error_rows = task->env.error_rows;
		meta.skip = skip;
		se_positions_put(&meta);
	}
}

SeTime
se_task_final_to(const SeTask *task)
{
	SeTime		passed = task->chain->sink->watermark_in;

	/* The end of the input leaves nothing open, and -infinity nothing closed. */
	if (!task->windowed)
		return SE_TIME_MIN;
	if (passed != SE_TIME_MAX && passed != SE_TIME_MIN && pg_sub_s64_overflow(passed, task->lateness, &passed))
		passed = SE_TIME_MIN;

	/* What is stored is a timestamp, so what is beyond all of them is infinite. */
	if (passed < MIN_TIMESTAMP)
		passed = SE_TIME_MIN;
	else if (passed >= END_TIMESTAMP)
		passed = SE_TIME_MAX;
	return Max(passed, task->final_to);
}

static Stand
stand_of_sources(const SeTask *task)
{
	Stand		stand = {PG_UINT64_MAX, PG_UINT64_MAX, SE_TIME_MAX};

	for (int i = 0; i < task->chain->nsources; i++)
	{
		SeSource   *source = task->chain->sources[i].source;
		SeSourceStatus status = {0};

		source->ops->status(source, &status);
		stand.read_lsn = Min(stand.read_lsn, status.read_lsn);
		if (status.restart_lsn != InvalidXLogRecPtr)
			stand.restart_lsn = Min(stand.restart_lsn, status.restart_lsn);
		stand.watermark = Min(stand.watermark, status.watermark);
		stand.commit_time = Max(stand.commit_time, status.commit_time);
		stand.skipped += status.skipped;
		stand.bytes_read += status.bytes_read;
		if (status.idle_timeout != 0)
			stand.idle = status;
	}
	if (stand.restart_lsn == PG_UINT64_MAX)
		stand.restart_lsn = InvalidXLogRecPtr;	/* no source needs WAL */
	return stand;
}

/* The commit is visible: tell the operators, the sources and everybody who waits. */
static void
finish(SeTask *task, const Stand *stand, bool full, int64 took)
{
	SeChain    *chain = task->chain;
	SeJobSlot  *slot = task->slot;
	XLogSegNo	old_segment;
	XLogSegNo	new_segment;

	for (int i = 0; i < chain->noperators; i++)
		if (chain->operators[i] != NULL)
			chain->operators[i]->ops->checkpoint_done(chain->operators[i]);
	for (int i = 0; i < chain->nsources; i++)
		chain->sources[i].source->ops->position_committed(chain->sources[i].source);

	se_side_committed(task);
	task->env.output_full = false;
	task->env.state_touched = false;
	task->converted = false;
	task->sink_rows = chain->sink->rows_in;
	task->last_commit = GetCurrentTimestamp();

	/*
	 * At most a third of the time goes into commits. A unit that is far behind then also saves less state that is
	 * gone again before anybody could need it.
	 */
	task->next_commit = task->last_commit +
		Max(1000 * (int64) task->checkpoint_interval, 2 * took);
	task->commit_bytes += se_store_last_bytes(task->store);
	if (full)
		task->resuming = !SE_FAULT_WRONG("wrong-no-commit-after-output");
	task->dirty = task->resuming || task->env.commit_wanted;
	if (!task->by_clock)
		task->final_wait = 0;
	task->by_clock = true;
	task->final_since = se_clock_now();

	XLByteToSeg(task->restart_lsn, old_segment, wal_segment_size);
	XLByteToSeg(stand->restart_lsn, new_segment, wal_segment_size);
	task->restart_lsn = stand->restart_lsn;
	pg_atomic_write_u64(&slot->restart_lsn, stand->restart_lsn);
	pg_atomic_write_u64(&slot->counters[SE_COUNT_LAST_COMMIT], task->last_commit);
	pg_atomic_write_u64(&slot->counters[SE_COUNT_LAST_COMMIT_BYTES], se_store_last_bytes(task->store));
	if (stand->commit_time != 0)
	{
		pg_atomic_write_u64(&slot->counters[SE_COUNT_LATENCY_US],
							Max(task->last_commit - stand->commit_time, 0));
		pg_atomic_write_u64(&slot->counters[SE_COUNT_SOURCE_TIME], stand->commit_time);
	}
	(void) clear_failures(task, task->last_commit);
	se_commit_publish(task);
	if (!task->resuming && !task->env.unreflected)
		reflect(task, stand);
	if (new_segment != old_segment)
		se_database_slot_wake_coordinator(MyDatabaseId);
	if (pgstat_report_stat(false) == 0)
		se_commit_tell_bytes(task);
}

void
se_commit_tell_bytes(SeTask *task)
{
	if (task->commit_bytes - task->told_bytes < TELL_BYTES)
		return;
	task->told_bytes = task->commit_bytes;
	se_database_slot_wake_coordinator(MyDatabaseId);
}

void
se_commit_reflect(SeTask *task)
{
	Stand		stand = stand_of_sources(task);

	Assert(!task->dirty && !task->resuming);
	reflect(task, &stand);
}

/* Make known that everything before the place read is in the visible result. */
static void
reflect(SeTask *task, const Stand *stand)
{
	SeJobSlot  *slot = task->slot;

	publish_stand(slot, stand);
	if (pg_atomic_read_u64(&slot->reflected_lsn) < stand->read_lsn)
	{
		pg_atomic_write_u64(&slot->reflected_lsn, stand->read_lsn);
		se_job_slot_changed(slot);
	}
}

XLogRecPtr
se_commit_read_lsn(SeTask *task)
{
	return stand_of_sources(task).read_lsn;
}

bool
se_commit_lags(SeTask *task)
{
	Stand		stand = stand_of_sources(task);

	return stand.restart_lsn > task->restart_lsn &&
		stand.restart_lsn - task->restart_lsn > (uint64) LAG_SEGMENTS * wal_segment_size;
}

void
se_commit_publish(SeTask *task)
{
	SeJobSlot  *slot = task->slot;
	SeChain    *chain = task->chain;
	uint64		entries = 0;
	Stand		stand = stand_of_sources(task);

	for (int i = 0; i < chain->noperators && i < SE_JOB_MAX_OPERATORS; i++)
	{
		SeOperator *op = chain->operators[i];
		SeOperatorCounters *counters = &slot->operators[i];

		pg_atomic_write_u64(&counters->kind, ((SeNode *) list_nth(chain->graph->nodes, i))->kind);
		if (op == NULL)
			continue;
		entries += op->state_entries;
		pg_atomic_write_u64(&counters->rows_in, op->rows_in);
		pg_atomic_write_u64(&counters->rows_out, op->rows_out);
		pg_atomic_write_u64(&counters->watermark,
							(uint64) Max(op->watermark_in, op->watermark_out));
		pg_atomic_write_u64(&counters->state_bytes, op->state_bytes);
		pg_atomic_write_u64(&counters->state_entries, op->state_entries);
	}
	for (int i = 0; i < chain->nsources; i++)
	{
		SeChainSource *source = &chain->sources[i];

		if (source->source->node_id < SE_JOB_MAX_OPERATORS)
		{
			SeOperatorCounters *counters = &slot->operators[source->source->node_id];

			pg_atomic_write_u64(&counters->rows_out, task->rows_in);
			pg_atomic_write_u64(&counters->watermark, (uint64) source->watermark);
		}
	}

#define PUBLISH(counter, value) pg_atomic_write_u64(&slot->counters[counter], value)
	PUBLISH(SE_COUNT_ROWS_IN, task->rows_in_base + task->rows_in);
	PUBLISH(SE_COUNT_ROWS_OUT, task->rows_out_base + task->sink_rows);
	PUBLISH(SE_COUNT_LATE_ROWS, task->env.late_rows);
	PUBLISH(SE_COUNT_LATE_PAIRS, task->env.late_pairs);
	PUBLISH(SE_COUNT_ERROR_ROWS, task->env.error_rows);
	PUBLISH(SE_COUNT_COMMITS, task->commits);
	PUBLISH(SE_COUNT_COMMIT_US, task->commit_us);
	PUBLISH(SE_COUNT_COMMIT_BYTES, task->commit_bytes);
	PUBLISH(SE_COUNT_STORED_BYTES, se_store_total_bytes(task->store));
	PUBLISH(SE_COUNT_STATE_BYTES, task->env.state_bytes);
	PUBLISH(SE_COUNT_STATE_ENTRIES, entries);
	PUBLISH(SE_COUNT_PENDING_ROWS, chain->sink->rows_in - task->sink_rows);
	PUBLISH(SE_COUNT_SKIPPED_TXNS, stand.skipped);
	PUBLISH(SE_COUNT_WAL_READ, stand.bytes_read);
	/* also in the middle of it: a worker with a backlog may not wait for hours */
	PUBLISH(SE_COUNT_BUSY_US, task->busy_us +
			(task->busy_since == 0 ? 0 : GetCurrentTimestamp() - task->busy_since));
	PUBLISH(SE_COUNT_IDLE_US, task->idle_us);
#undef PUBLISH
	publish_stand(slot, &stand);
}

/* How far we are, and what the coordinator must know to notice that a stream is idle. */
static void
publish_stand(SeJobSlot *slot, const Stand *stand)
{
	pg_atomic_write_u64(&slot->read_lsn, stand->read_lsn);
	/* What a former worker has shown of the same log, without a commit, comes again. */
	pg_atomic_write_u64(&slot->watermark, (uint64) Max(stand->watermark, (SeTime) pg_atomic_read_u64(&slot->watermark)));
	pg_atomic_write_u64(&slot->stream, stand->idle.stream);
	pg_atomic_write_u64(&slot->active, (uint64) stand->idle.active);
	pg_atomic_write_u64(&slot->idle, stand->idle.idle);
	pg_atomic_write_u64(&slot->idle_timeout, stand->idle.idle_timeout);
}

/*
 * Failures are forgotten once a worker has committed, or has nothing to commit, and lived
 * for longer than the wait before it: a job that commits and fails again at once still
 * waits longer each time. Returns the ms until then, -1 if there is nothing to forget.
 */
static long
clear_failures(SeTask *task, TimestampTz now)
{
	SeJobSlot  *slot = task->slot;
	TimestampTz end = TimestampTzPlusMilliseconds(task->began, se_restart_delay(slot->failures));

	if (slot->failures == 0)
		return -1;
	if (now < end)
		return TimestampDifferenceMilliseconds(now, end);
	LWLockAcquire(se_job_slot_lock(), LW_EXCLUSIVE);
	slot->failures = 0;
	if (!slot->unwritten)		/* else whoever writes it down clears it */
	{
		slot->error_sqlstate = 0;
		slot->error[0] = '\0';
	}
	LWLockRelease(se_job_slot_lock());
	return -1;
}

long
se_commit_idle(SeTask *task)
{
	return clear_failures(task, GetCurrentTimestamp());
}
