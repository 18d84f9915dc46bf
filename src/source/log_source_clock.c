/*
 * source/log_source_clock.c
 *		What the clock does to a stream's watermark: ticks and silence, as marks of the log have them.
 *
 * Nobody looks at a clock here. A tick mark says that processing time has come so far, an idle mark that
 * somebody has seen no row for so long; both are obeyed where they stand in the log.
 *
 * Runs in: task worker, in a round.
 */
#include "postgres.h"

#include "base/fault.h"
#include "common/int.h"
#include "source/log_source_internal.h"
#include "utils/timestamp.h"

static void settle_life(SeLogSource *log);
static void advance_idle(SeLogSource *log);
static void limit_delay(SeLogSource *log);

/*
 * Processing time goes on, never back, also when the clock of the server does. Where windows are over it, it is
 * the watermark too: no row that comes later has less.
 */
void
se_log_source_go_on(SeLogSource *log, SeTime proctime)
{
	log->proctime = SE_FAULT_WRONG("wrong-proctime-goes-back") ? proctime : Max(log->proctime, proctime);
	if (log->node->by_proctime)
		log->h = Max(log->h, log->proctime);
}

/* A tick is given out by a poll of its own, after the rows before it were pushed. */
void
se_log_source_tick(SeLogSource *log)
{
	se_log_source_go_on(log, se_message_mark_time(&log->message.header, log->message.body));
	settle_life(log);
	if (log->active == SE_TIME_MIN)
		se_log_source_show_life(log, log->proctime);	/* a stream that never had a row is watched from here on */
	if (log->idle)
		advance_idle(log);
	limit_delay(log);
	log->tick = log->proctime;
	log->tick_lsn = log->message.commit_lsn;
}

/* Do the stream's options make its watermark depend on the clock? Not that of windows over proctime(). */
bool
se_log_source_clock_matters(const SeLogSource *log)
{
	return !log->node->by_proctime && (log->info->max_delay >= 0 || log->info->idle_timeout > 0);
}

/*
 * Somebody noticed that the stream had no row for so long, and wrote it into the log. Rows may stand between, which
 * he had not seen: whether it is so is decided here, by what stands in the log before the mark, as of the mark's time.
 * Like a tick it is given out alone.
 */
void
se_log_source_idle(SeLogSource *log)
{
	int64		quiet;

	se_log_source_go_on(log, se_message_mark_time(&log->message.header, log->message.body));
	if (!se_log_source_clock_matters(log) || log->info->idle_timeout == 0 || log->idle || log->active == SE_TIME_MIN ||
		pg_sub_s64_overflow(log->proctime, log->active, &quiet) ||
		(quiet < log->info->idle_timeout && !SE_FAULT_WRONG("wrong-idle-mark-believed")))
		return;
	settle_life(log);
	log->idle = true;
	advance_idle(log);
	log->tick = log->proctime;
	log->tick_lsn = log->message.commit_lsn;
}

/* A row or a watermark mark: the stream is not idle. */
void
se_log_source_show_life(SeLogSource *log, SeTime now)
{
	log->active = Max(log->active, now);
	log->idle = false;
	log->fresh = true;
}

/* The clock may move H from here on: keep what rows and marks have made it. */
static void
settle_life(SeLogSource *log)
{
	if (log->fresh)
		log->active_h = log->h;
	log->fresh = false;
}

/*
 * The watermark of an idle stream goes on with the clock: by as much as that has since the stream was last active. So a
 * stream whose rows come some time after their event time keeps that distance, whatever it is.
 */
static void
advance_idle(SeLogSource *log)
{
	SeTime		h;

	if (!log->info->idle_advances || log->active_h == SE_TIME_MIN || log->proctime <= log->active)
		return;
	if (!pg_add_s64_overflow(log->active_h, log->proctime - log->active, &h) && IS_VALID_TIMESTAMP(h))
		log->h = Max(log->h, h);
}

/* The watermark is never further behind the clock than the stream's option max_delay. */
static void
limit_delay(SeLogSource *log)
{
	SeTime		h;

	if (log->node->by_proctime || log->info->max_delay < 0 || SE_FAULT_WRONG("wrong-max-delay-off") ||
		pg_sub_s64_overflow(log->proctime, log->info->max_delay, &h) || !IS_VALID_TIMESTAMP(h))
		return;
	log->h = Max(log->h, se_stream_event_time(log->info, h));
}
