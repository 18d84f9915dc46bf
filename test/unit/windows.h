/*
 * test/unit/windows.h
 *		For tests of the window aggregate: its node, random windows, and the model of their results.
 *
 * A window's result is shown when the watermark passes its end, and with other options earlier, later and with
 * each commit (operators/window_update.c).
 */
#ifndef SE_TEST_WINDOWS_H
#define SE_TEST_WINDOWS_H

#include "model.h"

#include "operators/operators.h"

typedef struct Group
{
	Result		now;
	Result		shown;			/* count 0 = nothing */
	int64		rows;			/* counted while open */
} Group;

typedef struct Windows
{
	Model		model;			/* first */
	SeWindowAggNode *node;
	Group	   *groups;
	int			n;
	int			room;
	int64		tick;

	/* of tests whose results begin to change */
	SeEmit		next_emit;
	int			altered;		/* steps before; -1 = there are none */
} Windows;

/* What times are multiples of: seconds in a time zone, because its clock is. */
static int64 unit = 1;

/* A result when its window is over, and never again. */
static const SeEmit when_over;

static inline void
set_sliced(SeWindowAggNode *node, bool sliced)
{
	node->sliced = sliced;
	node->time_column = sliced ? COLUMN_TS : -1;
	node->start_column = sliced ? -1 : COLUMN_START;
	node->end_column = sliced ? -1 : COLUMN_END;
}

/* How rows meet their windows: by their time, or they carry them. Then a group may have all with one start. */
static inline Windows *
new_windows(const Definition *definition, SeWindow window, SeEmit emit, bool sliced, bool by_start, int nsteps)
{
	Windows    *windows = palloc0(sizeof(Windows));
	SeWindowAggNode *node = palloc0(sizeof(SeWindowAggNode));

	se_model_init(&windows->model, definition, &node->node, SE_NODE_WINDOW_AGG, 3, nsteps);
	windows->node = node;
	windows->altered = -1;
	windows->model.carried = sliced ? NULL : &node->window;
	node->window = window;
	node->emit = emit;
	set_sliced(node, sliced);
	node->by_start = by_start;
	node->keys = list_make1_int(0);
	node->key_eq = list_make1_oid(96);
	node->calls = se_model_calls();
	return windows;
}

/* Some of them in a time zone whose clock is changed several times meanwhile. */
static inline SeWindow
random_window(bool zone)
{
	SeWindow	w = {SE_WINDOW_TUMBLE + se_harness_random(3), 1 + se_harness_random(30)};

	w.shift = (int) se_harness_random(40) - 20;
	w.slide = w.kind == SE_WINDOW_HOP ? 1 + se_harness_random(20) : w.size;
	if (w.kind == SE_WINDOW_CUMULATE)
		w.size *= 1 + se_harness_random(6);
	unit = 1;
	if (zone)
	{
		int64		at[6];
		int64		offsets[7];

		for (int i = 0; i <= 6; i++)
			offsets[i] = (int) se_harness_random(81) - 40;
		for (int i = 0; i < 6; i++)
			at[i] = (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * SECS_PER_DAY - 190 + i * 70 + se_harness_random(60);
		w.calendar.zone = se_stub_zone("random", 6, at, offsets);
		unit = USECS_PER_SEC;
		w.size *= unit;
		w.slide *= unit;
		w.shift *= unit;
	}
	return w;
}

static inline SeOperator *
windows_create(const Model *model, SeOperatorEnv *env)
{
	return se_window_agg_new(((const Windows *) model)->node, env);
}

static inline void
windows_forget(Model *model)
{
	((Windows *) model)->n = 0;
	((Windows *) model)->tick = 0;
}

static inline Group *
group_of(Windows *windows, const Result *row)
{
	for (int i = windows->n - 1; i >= 0; i--)
	{
		if (se_model_same_window(&windows->groups[i].now, row))
			return &windows->groups[i];
	}
	if (windows->n == windows->room)
	{
		windows->room = Max(64, windows->room * 2);
		windows->groups = windows->groups == NULL ? palloc(windows->room * sizeof(Group)) :
			repalloc(windows->groups, windows->room * sizeof(Group));
	}
	windows->groups[windows->n] = (Group)
	{
		.now = *row
	};
	windows->groups[windows->n].now.count = 0;
	windows->groups[windows->n].now.sum = windows->groups[windows->n].now.max = -1;
	return &windows->groups[windows->n++];
}

/* Its windows but those whose end and lateness the row's stamp has passed. */
static inline void
windows_row(Model *model, const Step *row)
{
	Windows    *windows = (Windows *) model;
	const SeWindowAggNode *node = windows->node;
	const SeEmit *emit = model->at < windows->altered ? &when_over : &windows->node->emit;
	int			all = 0;
	int			late = 0;
	SeTime		start;
	SeTime		end;

	for (bool more = se_window_first(&node->window, row->ts, &start, &end); more;
		 more = se_window_next(&node->window, row->ts, &start, &end))
	{
		Result		it = se_model_result(row, start, node->by_start ? se_window_last_end(&node->window, start) : end);
		Group	   *group;

		all++;
		if (row->wm > SE_TIME_MIN && (row->wm == SE_TIME_MAX || end + emit->lateness <= row->wm))
		{
			late++;
			continue;
		}
		group = group_of(windows, &it);
		se_model_add(&group->now, &it);
		if (emit->every > 0 && it.end > row->wm && ++group->rows % emit->every == 0)
			group->shown = group->now;
	}
	model->late_pairs += late;
	model->late_rows += all > 0 && late == all;
}

/* Is there one of from + k * step, k > 0, in (after, upto]? */
static inline bool
any_multiple(SeTime from, int64 step, SeTime after, SeTime upto)
{
	if (step == 0)
		return false;
	for (SeTime t = from + step; t <= upto; t += step)
		if (t > after)
			return true;
	return false;
}

static inline void
windows_reach(Model *model, SeTime wm)
{
	Windows    *windows = (Windows *) model;
	const SeEmit *emit = model->at <= windows->altered ? &when_over : &windows->node->emit;

	for (int i = 0; i < windows->n; i++)
	{
		Group	   *group = &windows->groups[i];
		SeTime		end = group->now.end;
		SeTime		gone = end + emit->lateness;
		bool		fires = (end > model->wm && end <= wm) || (gone > model->wm && gone <= wm);

		fires |= !emit->early_clock && any_multiple(group->now.start, emit->early, model->wm, Min(wm, end));
		fires |= any_multiple(end, emit->late, model->wm, Min(wm, gone));
		if (fires)
			group->shown = group->now;
	}
}

static inline void
windows_tick(Model *model, SeTime now)
{
	Windows    *windows = (Windows *) model;
	const SeEmit *emit = model->at < windows->altered ? &when_over : &windows->node->emit;

	if (!emit->early_clock || se_window_align(now, emit->early, 0) <= windows->tick)
		return;
	windows->tick = se_window_align(now, emit->early, 0);
	for (int i = 0; i < windows->n; i++)
	{
		if (windows->groups[i].now.end > model->wm)
			windows->groups[i].shown = windows->groups[i].now;
	}
}

/* With a commit, besides what was shown before it: open windows with on_update, closed ones unless with `late`. */
static inline void
windows_show(Model *model, Table *want)
{
	Windows    *windows = (Windows *) model;
	const SeEmit *emit = &windows->node->emit;

	for (int i = 0; i < windows->n; i++)
	{
		Group	   *group = &windows->groups[i];
		bool		newest = group->now.end <= model->wm ? emit->late == 0 : emit->on_update;

		if (newest || group->shown.count > 0)
			se_model_put(want, want->n, newest ? &group->now : &group->shown);
	}
	if (model->wm == SE_TIME_MAX)
		model->entries = 0;
}

static inline const char *
windows_describe(const Model *model)
{
	const SeWindowAggNode *node = ((const Windows *) model)->node;

	return psprintf("window kind %d size %lld slide %lld shift %lld %s%s, %s lateness %lld", node->window.kind,
					(long long) node->window.size, (long long) node->window.slide, (long long) node->window.shift,
					node->sliced ? "sliced" : "carried", node->by_start ? " by start" : "",
					se_emit_print(&node->emit), (long long) node->emit.lateness);
}

#endif							/* SE_TEST_WINDOWS_H */
