/*
 * operators/session_update.c
 *		Sessions whose results change: which are emitted anew, and until when they take rows.
 *
 * A session that has fired stays open until the watermark is above its end by more than
 * allowed_lateness. What comes until then, be it on time for the session as it has become,
 * changes a row that is in the result, and so is *late*: emitted at once, or when the
 * watermark is above the session's end by a multiple of the interval `late`.
 *
 * A session that has not fired is emitted with each commit (on_update), when the watermark or the
 * clock reaches a multiple of `early`, or with every n-th row. Multiples of all time, since
 * a session has no start that stays. One that has grown since it was shown is emitted when the
 * watermark is above the end that it was shown with, too: a row of the result that ends below the watermark
 * is that of a session that is over.
 *
 * Firing only says that a session is *due*. The commit asks for what is due (prepare), so a
 * row changes once per commit, and shows what the session is then. Only what takes no more
 * rows is emitted when it fires, for it is gone then.
 *
 * A row of the result is known by key and end, because sessions of a key never end at the
 * same time: not those that are open, and one that is opened later ends later than all
 * that are gone. When a session's end moves, its row is updated and gets another key (-U, +U).
 * Where two that were shown become one, both rows are deleted at once and one is inserted by the same commit.
 */
#include "postgres.h"

#include "base/fault.h"
#include "operators/session_internal.h"
#include "time/window.h"

/* So many sessions are due at most before a commit is asked for. */
#define MOST_DUE 100000

static void make_due(SeSessionAgg *agg, SeSession *session);
static void enqueue(SeSessionAgg *agg, SeSessionQueue *queue, SeSession *session);
static void late_change(SeSessionAgg *agg, SeSession *session, SeTime wm);
static void wake_at(SeSessionAgg *agg, SeSession *session, SeTime at);
static void all_due(SeSessionAgg *agg);
static SeTime next_multiple(SeTime time, int64 interval);

/* Does the result show the session with an end before its own? */
static inline bool
is_shown_shorter(const SeSession *session)
{
	return (session->entry->flags & SE_ENTRY_EMITTED) && session->shown_end < session->end;
}

/* A row with stamp wm touches the session, which has then fired if it ended before. */
void
se_session_update_reach(SeSessionAgg *agg, SeSession *session, SeTime wm)
{
	if (session->end >= wm || (session->status & SE_SESSION_FIRED))
		return;
	session->status |= SE_SESSION_FIRED;
	make_due(agg, session);
}

/* A row with stamp wm has joined the session. */
void
se_session_update_row(SeSessionAgg *agg, SeSession *session, SeTime wm)
{
	const SeEmit *emit = &agg->node->emit;

	session->status |= SE_SESSION_STALE | SE_SESSION_UPDATING;
	if (emit->every > 0 && ++session->rows >= emit->every)
	{
		session->rows %= emit->every;
		make_due(agg, session);
	}
	if (session->status & SE_SESSION_FIRED)
		late_change(agg, session, wm);
	else if (emit->on_update)
		make_due(agg, session);
	else if (emit->early > 0 && session->queue == NULL)
		enqueue(agg, &agg->stale, session);
}

/* The session has fired, and is not what it was then. */
static void
late_change(SeSessionAgg *agg, SeSession *session, SeTime wm)
{
	int64		late = agg->node->emit.late;
	SeTime		at = session->end;

	if (session->queue == &agg->due)
		return;
	if (late == 0)
	{
		make_due(agg, session);
		return;
	}
	se_session_update_forget(session);	/* early is over */
	if (at < wm)
		at += ((wm - at - 1) / late + 1) * late;
	wake_at(agg, session, Min(at, se_session_last(agg, session->end)));
}

/* Have the session looked at at `at`, if it is not sooner anyway. */
static void
wake_at(SeSessionAgg *agg, SeSession *session, SeTime at)
{
	if (at >= session->wake)
		return;
	session->wake = at;
	se_timers_add(&agg->timers, at, session);
}

/* `other` is about to become part of the session. */
void
se_session_update_join(SeSessionAgg *agg, SeSession *session, SeSession *other)
{
	session->status |= other->status;
	session->rows += other->rows;
	if ((session->entry->flags & SE_ENTRY_EMITTED) && (other->entry->flags & SE_ENTRY_EMITTED))
	{
		/* Both rows go; the one that comes instead must not wait, or they would be missed. */
		if (!SE_FAULT_WRONG("wrong-session-join-keeps-row"))
			se_session_agg_emit(agg, other, SE_ROW_DELETE);
		se_session_agg_emit(agg, session, SE_ROW_DELETE);
		session->entry->flags &= ~SE_ENTRY_EMITTED;
		make_due(agg, session);
	}
	else if (other->entry->flags & SE_ENTRY_EMITTED)
	{
		session->entry->flags |= SE_ENTRY_EMITTED;
		session->shown_start = other->shown_start;
		session->shown_end = other->shown_end;
	}
	if (other->queue == &agg->due)
		make_due(agg, session);
}

/* What is new of a session that moves to the next generation. */
void
se_session_update_move(SeSession *to, SeSession *from)
{
	to->entry->flags |= from->entry->flags & SE_ENTRY_EMITTED;
	to->shown_start = from->shown_start;
	to->shown_end = from->shown_end;
	to->rows = from->rows;
	to->status = from->status;
	to->queue = from->queue;
	to->place = from->place;
	if (from->queue != NULL)
		from->queue->sessions[from->place] = to;
	from->queue = NULL;
}

static void
make_due(SeSessionAgg *agg, SeSession *session)
{
	if (session->queue == &agg->due)
		return;
	se_session_update_forget(session);
	enqueue(agg, &agg->due, session);
	if (agg->due.n >= MOST_DUE)
		agg->op.env->output_full = true;
}

static void
enqueue(SeSessionAgg *agg, SeSessionQueue *queue, SeSession *session)
{
	if (queue->n == queue->room)
	{
		uint32		room = Max(64, queue->room * 2);
		SeSession **sessions = se_arena_block(agg->timers.arena, room * sizeof(SeSession *));

		if (queue->n > 0)
		{
			memcpy(sessions, queue->sessions, queue->n * sizeof(SeSession *));
			se_arena_block_free(agg->timers.arena, queue->sessions);
		}
		queue->sessions = sessions;
		queue->room = room;
	}
	session->queue = queue;
	session->place = queue->n;
	queue->sessions[queue->n++] = session;
}

/* The session is in no queue any more. */
void
se_session_update_forget(SeSession *session)
{
	SeSessionQueue *queue = session->queue;
	SeSession  *last;

	if (queue == NULL)
		return;
	last = queue->sessions[--queue->n];
	queue->sessions[session->place] = last;
	last->place = session->place;
	session->queue = NULL;
}

/*
 * The watermark is above `at`, when the session was to wake. Returns when it wakes next, or
 * `at` if it takes no more rows.
 */
SeTime
se_session_update_fire(SeSessionAgg *agg, SeSession *session, SeTime at)
{
	SeTime		last = se_session_last(agg, session->end);

	if (!(session->status & SE_SESSION_FIRED))
	{
		if (session->end > at)
		{
			/* it grew */
			if (is_shown_shorter(session) && session->shown_end > at)
				return session->shown_end;
			if (is_shown_shorter(session) && !SE_FAULT_WRONG("wrong-session-shown-end-passed"))
				make_due(agg, session);
			return session->end;
		}
		session->status |= SE_SESSION_FIRED;
		if (session->status & SE_SESSION_STALE)
			make_due(agg, session);
		se_table_touch_rows(session->generation->home->table, &session->entry, 1);
	}
	else if (session->status & SE_SESSION_STALE)
		make_due(agg, session);
	return session->end < agg->final_to ? at : Max(last, at);
}

/* The watermark reaches h: have multiples of `early` passed? */
void
se_session_update_early(SeSessionAgg *agg, SeTime h)
{
	const SeEmit *emit = &agg->node->emit;

	if (emit->early == 0 || emit->early_clock || h < agg->early_next || h == SE_TIME_MIN)
		return;
	all_due(agg);
	agg->early_next = next_multiple(h, emit->early);
}

/* The clock reaches now. */
void
se_session_update_timer(SeOperator *op, SeTime now)
{
	SeSessionAgg *agg = (SeSessionAgg *) op;
	const SeEmit *emit = &agg->node->emit;

	if (agg->updating && emit->early_clock && now >= agg->early_next)
	{
		all_due(agg);
		agg->early_next = next_multiple(now, emit->early);
	}
	se_op_forward_timer(op, now);
}

static void
all_due(SeSessionAgg *agg)
{
	se_env_state_touched(agg->op.env);
	agg->meta.dirty = true;
	while (agg->stale.n > 0)
		make_due(agg, agg->stale.sessions[agg->stale.n - 1]);
}

/* The first multiple of the interval, since 1970, above a time. */
static SeTime
next_multiple(SeTime time, int64 interval)
{
	SeTime		reached = se_window_align(time, interval, 0);

	return reached < SE_TIME_MAX - interval ? reached + interval : SE_TIME_MAX;
}

/* Bring the result in line with the session. */
void
se_session_update_emit(SeSessionAgg *agg, SeSession *session)
{
	bool		shown = (session->entry->flags & SE_ENTRY_EMITTED) != 0;
	bool		same = shown && session->shown_end == session->end;

	if (shown && !same && !SE_FAULT_WRONG("wrong-session-growth-keeps-row"))
		se_session_agg_emit(agg, session, SE_ROW_UPDATE_BEFORE);
	se_session_agg_emit(agg, session, shown ? SE_ROW_UPDATE_AFTER : SE_ROW_INSERT);
	session->entry->flags |= SE_ENTRY_EMITTED;
	session->shown_start = session->start;
	session->shown_end = session->end;
	session->status &= ~(uint64) SE_SESSION_STALE;
	se_table_touch_rows(session->generation->home->table, &session->entry, 1);
}

/* A commit follows: emit what is due. */
void
se_session_update_prepare(SeSessionAgg *agg)
{
	if (agg->due.n > 0)
		se_env_state_touched(agg->op.env);
	for (uint32 i = 0; i < agg->due.n; i++)
	{
		agg->due.sessions[i]->queue = NULL;
		se_session_update_emit(agg, agg->due.sessions[i]);
	}
	agg->due.n = 0;
	se_session_agg_flush(agg);
}

/* A session is back from its records: what the options of today make of it. */
void
se_session_update_restored(SeSessionAgg *agg, SeSession *session)
{
	const SeEmit *emit = &agg->node->emit;
	bool		fired = (session->status & SE_SESSION_FIRED) != 0;

	if (!(session->status & SE_SESSION_UPDATING))
	{
		session->status = SE_SESSION_UPDATING | SE_SESSION_STALE;
		session->wake = session->end;
	}
	session->wake = Min(session->wake, fired && session->end >= agg->final_to ?
						se_session_last(agg, session->end) : session->end);
	session->queue = NULL;
	if (!(session->status & SE_SESSION_STALE))
		return;
	if (fired ? emit->late == 0 : emit->on_update)
	{
		make_due(agg, session);
		agg->op.env->commit_wanted = true;
	}
	else if (!fired && emit->early > 0)
		enqueue(agg, &agg->stale, session);
}
