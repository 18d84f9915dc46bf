/*
 * test/unit/sessions.h
 *		For tests of the session aggregate: its node, and the model of its sessions.
 */
#ifndef SE_TEST_SESSIONS_H
#define SE_TEST_SESSIONS_H

#include "model.h"

#include "operators/operators.h"
#include "operators/session_internal.h"

/* A session of rows: `row` has its result, row.final that nothing joins it any more. */
typedef struct Session
{
	Result		row;
	bool		fired;			/* it, or part of it, has been over */
} Session;

typedef struct Sessions
{
	Model		model;			/* first */
	SeSessionAggNode *node;
	Session    *sessions;
	int			n;
	SeTime		horizon;		/* what ended before it is final */

	/* of tests whose results change */
	SeEmit		next_emit;		/* from `altered` on */
	int			altered;		/* steps for which results did not change */
	bool		exact;			/* it is known what a commit shows … */
	bool		all;			/* … and it is everything, not only what was over once */
} Sessions;

/* A result when its session is over, and never again. */
static const SeEmit when_over;

/* gap < 0: that of the row. */
static inline Sessions *
new_sessions(const Definition *definition, int64 gap, int nsteps)
{
	Sessions   *sessions = palloc0(sizeof(Sessions));
	SeSessionAggNode *node = palloc0(sizeof(SeSessionAggNode));

	se_model_init(&sessions->model, definition, &node->node, SE_NODE_SESSION_AGG, 3, nsteps);
	sessions->node = node;
	sessions->sessions = palloc((nsteps + 1) * sizeof(Session));
	sessions->altered = -1;
	node->time_column = COLUMN_TS;
	node->gap_column = gap < 0 ? COLUMN_GAP : -1;
	node->gap = Max(gap, 0);
	node->keys = list_make1_int(0);
	node->key_eq = list_make1_oid(96);
	node->calls = se_model_calls();
	return sessions;
}

static inline SeOperator *
sessions_create(const Model *model, SeOperatorEnv *env)
{
	return se_session_agg_new(((const Sessions *) model)->node, env);
}

static inline void
sessions_forget(Model *model)
{
	Sessions   *sessions = (Sessions *) model;

	sessions->n = 0;
	sessions->horizon = SE_TIME_MIN;
}

/* Sessions are over behind their ends, and final when the lateness is, too: it counts from `altered` on. */
static inline void
sessions_reach(Model *model, SeTime wm)
{
	Sessions   *sessions = (Sessions *) model;
	int64		lateness = model->at <= sessions->altered || wm == SE_TIME_MAX ? 0 : sessions->node->emit.lateness;

	sessions->horizon = Max(sessions->horizon, wm - lateness);
	for (int i = 0; i < sessions->n; i++)
	{
		Session    *session = &sessions->sessions[i];

		session->fired |= session->row.end < wm;
		session->row.final |= session->row.end < sessions->horizon;
	}
	if (wm == SE_TIME_MAX)
		model->entries = 0;
}

/* A row joins all that it touches; by its own bounds, for sessions never touch each other. */
static inline void
sessions_row(Model *model, const Step *row)
{
	Sessions   *sessions = (Sessions *) model;
	int64		gap = sessions->node->gap_column < 0 ? sessions->node->gap : row->gap;
	Session		mine = {se_model_result(row, row->ts, row->ts + gap)};

	if (gap < 0)
		return;
	for (int i = 0; i < sessions->n;)
	{
		Session    *other = &sessions->sessions[i];

		if (other->row.final || other->row.key != row->key || other->row.end < row->ts ||
			other->row.start > row->ts + gap)
		{
			i++;
			continue;
		}
		mine.fired |= other->fired;
		mine.row.start = Min(mine.row.start, other->row.start);
		mine.row.end = Max(mine.row.end, other->row.end);
		se_model_add(&mine.row, &other->row);
		*other = sessions->sessions[--sessions->n];
	}
	mine.fired |= mine.row.end < row->wm;
	if (mine.row.count == 1 && mine.row.end < sessions->horizon)
	{
		model->late_rows++;
		model->late_pairs++;
	}
	else
		sessions->sessions[sessions->n++] = mine;
}

/* Where results do not change: what is final. */
static inline void
sessions_show(Model *model, Table *want)
{
	Sessions   *sessions = (Sessions *) model;

	for (int i = 0; i < sessions->n; i++)
	{
		if (sessions->sessions[i].row.final)
			se_model_put(want, want->n, &sessions->sessions[i].row);
	}
}

static inline const char *
sessions_describe(const Model *model)
{
	const SeSessionAggNode *node = ((const Sessions *) model)->node;

	return psprintf("gap %lld, %s lateness %lld", (long long) (node->gap_column < 0 ? node->gap : -1),
					se_emit_print(&node->emit), (long long) node->emit.lateness);
}

static int	generations_begun;

/* A generation begins out of turn: the size at which it pays is far above the rows of a test. */
static inline void
begin_generation(SeOperator *op)
{
	SeSessionAgg *agg = (SeSessionAgg *) op;

	if (agg->old != NULL)
		return;
	agg->old = agg->current;
	agg->current = se_session_generation_new(agg, agg->old->number + 1);
	agg->meta.dirty = true;
	generations_begun++;
}

#endif							/* SE_TEST_SESSIONS_H */
