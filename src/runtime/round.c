/*
 * runtime/round.c
 *		One round: rows are polled from the sources and pushed through the chain.
 *
 * A round is a read-only transaction of a few milliseconds with one snapshot and no
 * xid: no lock, no xmin and no stale catalog outlive it. Results wait in the
 * sink for the commit. The snapshot is taken before a source looks how far the log is
 * flushed; a transaction that this snapshot does not see is left for the next round
 * (I1), and whoever made it visible wakes us after that.
 *
 * A mark that changes the options of the view ends the rounds of the worker: what comes
 * before it is committed, then the position behind it with the new options, and the
 * successor goes on with these. So rows on both sides of it see the right ones, whenever
 * the worker dies.
 */
#include "postgres.h"

#include "access/xact.h"
#include "base/clock.h"
#include "base/fault.h"
#include "miscadmin.h"
#include "nodes/nodes.h"
#include "runtime/side.h"
#include "runtime/task.h"
#include "runtime/worker_env.h"
#include "utils/snapmgr.h"

/* Long enough to hide the cost of a transaction, short enough to notice a request. */
#define ROUND_US 10000

/*
 * How long a window without rows, which the clock has closed, is not yet known to be final: at first, and at most. It
 * doubles with each commit for nothing else, so that an idle server writes less and less.
 */
#define FINAL_FIRST_MS 10000
#define FINAL_MOST_MS (10 * 60 * 1000)

static bool final_is_wanted(SeTask *task);
static bool has_rows_to_retire(const SeTask *task);
static bool resume(SeTask *task);
static SeRoundOutcome poll_sources(SeTask *task);
static bool poll_one(SeTask *task, SeChainSource *source, bool *more);
static bool pass_time(SeTask *task, SeChainSource *source);
static void leave_out_skipped(SeTask *task, SeBatch *batch);

SeRoundOutcome
se_round_run(SeTask *task)
{
	SeRoundOutcome outcome;

	if (!se_worker_begin(task->job, true))
		return SE_ROUND_GONE;
	SE_FAULT_POINT("round-begin");

	if (se_task_is_outdated(task))
		outcome = SE_ROUND_OUTDATED;
	else if (task->resuming && !resume(task))
		outcome = task->env.output_full ? SE_ROUND_FULL : SE_ROUND_MORE;
	else
		outcome = poll_sources(task);
	task->env.current_batch = NULL;

	if (task->windowed && has_rows_to_retire(task))
		task->env.commit_wanted = true;
	if (task->env.state_touched || task->env.commit_wanted || task->chain->sink->rows_in != task->sink_rows)
		task->dirty = true;
	if (task->windowed && se_task_final_to(task) > task->final_to && final_is_wanted(task))
		task->dirty = true;
	SE_FAULT_POINT("round-before-commit");
	se_worker_commit();
	return outcome;
}

/*
 * Is it worth a commit that windows are final which hold nothing? Where the clock alone moves the watermark that would be
 * one at every tick, for each view of an idle server; so now and then is enough, or when somebody waits.
 */
static bool
final_is_wanted(SeTask *task)
{
	if (!task->by_clock ||
		pg_atomic_read_u64(&task->slot->wanted_lsn) > pg_atomic_read_u64(&task->slot->reflected_lsn))
		return true;
	if (!TimestampDifferenceExceeds(task->final_since, se_clock_now(), Max(task->final_wait, FINAL_FIRST_MS)))
		return false;
	task->final_wait = Min(2 * Max(task->final_wait, FINAL_FIRST_MS), FINAL_MOST_MS);
	return true;
}

/* Rows of the result have become too old. */
static bool
has_rows_to_retire(const SeTask *task)
{
	SeTime		final_to = se_task_final_to(task);

	return final_to != SE_TIME_MIN && final_to != SE_TIME_MAX && final_to >= task->env.retire_at;
}

/*
 * Let operators finish what a full output cut short, those next to the sink first:
 * what stands behind them is kept until they have caught up.
 */
static bool
resume(SeTask *task)
{
	for (int i = task->chain->noperators - 1; i >= 0; i--)
	{
		SeOperator *op = task->chain->operators[i];

		if (op != NULL && !op->ops->resume(op))
			return false;
		if (task->env.output_full)
			return false;
	}
	task->resuming = false;
	return true;
}

/* Take turns until nobody has anything, the output is full, or the time is up. */
static SeRoundOutcome
poll_sources(SeTask *task)
{
	TimestampTz end = GetCurrentTimestamp() + ROUND_US;

	for (;;)
	{
		bool		more = false;
		int			before_mark = 0;
		int			ended = 0;

		for (int i = 0; i < task->chain->nsources; i++)
		{
			SeChainSource *source = &task->chain->sources[i];

			if (!source->ended && !poll_one(task, source, &more))
			{
				task->resuming = true;
				return SE_ROUND_FULL;
			}
			before_mark += source->source->options != NULL;
			ended += source->ended;
			if (se_side_wants_commit(task))
				return SE_ROUND_FULL;
		}
		if (before_mark > 0 && before_mark + ended == task->chain->nsources)
			return SE_ROUND_OPTIONS;
		if (!more)
			return SE_ROUND_IDLE;
		if (GetCurrentTimestamp() >= end)
			return SE_ROUND_MORE;
		CHECK_FOR_INTERRUPTS();
	}
}

void
se_round_take_options(SeTask *task)
{
	Assert(!task->dirty && !task->resuming);
	for (int i = 0; i < task->chain->nsources; i++)
	{
		SeSource   *source = task->chain->sources[i].source;
		MemoryContext old;

		if (source->options == NULL)
			continue;
		old = MemoryContextSwitchTo(task->memory);
		task->options = copyObject(source->options->options);
		task->options_lsn = source->options->lsn;
		MemoryContextSwitchTo(old);
		source->ops->pass_options(source);
	}
	task->dirty = true;
	SE_FAULT_POINT("options-taken");
}

/* One batch of one source. False if the output is full; *more if it is worth asking again. */
static bool
poll_one(SeTask *task, SeChainSource *source, bool *more)
{
	SeBatch    *batch = source->batch;
	SeOperator *next = source->next;
	SePollResult result;

	/* The watermark behind a batch that a full output cut off. */
	if (batch->wm_end > source->watermark)
	{
		source->watermark = batch->wm_end;
		se_op_watermark(next, source->next_input, batch->wm_end);
		if (task->env.output_full)
			return false;
	}

	se_batch_reset(batch);
	result = source->source->ops->poll(source->source, batch, GetActiveSnapshot());
	if (batch->idle != source->idle)
	{
		source->idle = batch->idle;
		next->ops->idle(next, source->next_input, batch->idle);
	}
	switch (result)
	{
		case SE_POLL_ROWS:
			*more = true;
			break;
		case SE_POLL_AGAIN:
			*more = true;
			return true;
		case SE_POLL_NOTHING:
			/* After a start: what is due under the options of today, at the watermark of yesterday. */
			return pass_time(task, source);
		case SE_POLL_OPTIONS:
			if (source->source->options->lsn <= task->options_lsn || SE_FAULT_WRONG("wrong-options-mark-passed"))
			{
				/* an older ALTER's, of before the position was given newer ones */
				source->source->ops->pass_options(source->source);
				*more = true;
				return true;
			}
			/* What the time at the mark makes due is due under the options before it. */
			return SE_FAULT_WRONG("wrong-mark-without-time") || pass_time(task, source);
		case SE_POLL_END:
			source->ended = true;
			next->ops->end(next, source->next_input);
			return !task->env.output_full;
	}

	if (batch->nrows > 0)
	{
		task->rows_in += batch->nrows;
		task->dirty = true;
		if (task->skip != NIL || task->left_out != NIL)
			leave_out_skipped(task, batch);
	}
	if (batch->nrows > 0)
		se_op_push(next, source->next_input, batch);
	if (task->env.output_full)
		return false;
	return pass_time(task, source);
}

/* The watermark behind the rows of a source, and what time it is. False if the output is full. */
static bool
pass_time(SeTask *task, SeChainSource *source)
{
	SeBatch    *batch = source->batch;

	if (batch->wm_end > source->watermark)
	{
		task->by_clock &= batch->by_clock && source->watermark != SE_TIME_MIN;
		source->watermark = batch->wm_end;
		se_op_watermark(source->next, source->next_input, batch->wm_end);
	}
	if (batch->tick != SE_TIME_MIN)
		se_op_timer(source->next, batch->tick);
	return !task->env.output_full;
}

/*
 * Drop the rows a person told us to skip, and those that failed after they were stored; and forget the places that are passed. A
 * place stays on the list until a row behind it was seen, so that a restart before the
 * next commit finds it again.
 */
static void
leave_out_skipped(SeTask *task, SeBatch *batch)
{
	SePlace		last = batch->places[batch->nrows - 1];
	int			kept = 0;
	ListCell   *cell;

	for (int i = 0; i < batch->nrows; i++)
	{
		bool		skip = false;

		foreach(cell, task->skip)
			if (se_place_compare(*(SePlace *) lfirst(cell), batch->places[i]) == 0)
			skip = true;
		if (!skip && task->left_out != NIL && task->side != NULL)
			skip = task->env.side->is_left_out(task->env.side, batch, i);
		if (skip)
			continue;
		if (kept < i)
		{
			memmove(se_batch_values(batch, kept), se_batch_values(batch, i),
					sizeof(Datum) * batch->ncolumns);
			memmove(se_batch_nulls(batch, kept), se_batch_nulls(batch, i),
					sizeof(bool) * batch->ncolumns);
			se_batch_stamp_from(batch, kept, batch, i);
		}
		kept++;
	}
	batch->nrows = kept;

	foreach(cell, task->skip)
		if (se_place_compare(*(SePlace *) lfirst(cell), last) <= 0)
		task->skip = foreach_delete_current(task->skip, cell);
}
