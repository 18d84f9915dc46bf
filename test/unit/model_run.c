/*
 * test/unit/model_run.c
 *		Runs an operator through random batches, commits, crashes and divisions, and has the model look at its rows.
 */
#include "model.h"

#include "base/settings.h"
#include "state/key.h"
#include "state/key_group.h"

#define BATCH_ROWS 16384

Seen		se_model_seen;

/* ------------------------------------------------------------- batches */

static void
fill_row(SeBatch *batch, const Step *row, SeTime start, SeTime end)
{
	int			i = batch->nrows++;
	Datum	   *values = se_batch_values(batch, i);
	bool	   *nulls = se_batch_nulls(batch, i);
	Interval   *gap = MemoryContextAllocZero(batch->arena, sizeof(Interval));

	Assert(i < batch->capacity);
	memset(nulls, 0, batch->ncolumns);
	gap->time = row->gap;
	values[0] = Int32GetDatum(row->key);
	nulls[0] = row->key < 0;
	values[1] = Int32GetDatum(row->value);
	nulls[1] = row->value < 0;
	values[COLUMN_TS] = Int64GetDatum(row->ts);
	values[COLUMN_GAP] = PointerGetDatum(gap);
	nulls[COLUMN_GAP] = row->gap < 0;
	values[COLUMN_START] = Int64GetDatum(start);
	values[COLUMN_END] = Int64GetDatum(end);
	batch->event_time[i] = row->ts;
	batch->wm[i] = row->wm;
	batch->places[i] = (SePlace)
	{
		0, 0
	};
}

/* A row as the operator gets it, unless another unit owns its key: several times if it carries its windows. */
static void
fill(Run *run, const SeOperatorEnv *env, const Step *row)
{
	const SeWindow *carried = run->model->carried;
	SeBatch    *batch = run->batch;
	int			first = batch->nrows;
	SeTime		start = 0;
	SeTime		end = 0;
	Datum		value;
	bool		null;
	uint32		hash;

	for (bool more = carried == NULL || se_window_first(carried, row->ts, &start, &end); more;
		 more = carried != NULL && se_window_next(carried, row->ts, &start, &end))
		fill_row(batch, row, start, end);
	if (env->units < 2 || batch->nrows == first)
		return;
	se_keys_prepare(run->keys, batch, &first, 1, &value, &null, &hash);
	if (!se_key_group_is_own(env, hash))
		batch->nrows = first;
}

/* ------------------------------------------------------------- a unit and its log */

static void
log_append(SeSnapshotWriter *writer, int operator_id, const void *bytes, Size len)
{
	Log		   *log = (Log *) writer;

	SE_CHECK_INT(operator_id, 1);
	if (log->n == log->room)
	{
		log->room = Max(64, log->room * 2);
		log->records = log->records == NULL ? palloc(log->room * sizeof(StringInfoData)) :
			repalloc(log->records, log->room * sizeof(StringInfoData));
	}
	initStringInfo(&log->records[log->n]);
	appendBinaryStringInfo(&log->records[log->n], bytes, (int) len);
	log->n++;
}

static SeOperatorEnv *
new_env(void)
{
	SeOperatorEnv *env = palloc0(sizeof(SeOperatorEnv));

	env->memory = CurrentMemoryContext;
	env->state_limit = UINT64CONST(1) << 30;
	return env;
}

/* A new operator with the state in a log. */
static void
start_unit(Unit *unit, const Log *log)
{
	Model	   *model = unit->run->model;

	unit->env->state_bytes = 0;
	unit->env->output_full = false;
	unit->sink.watermark_in = SE_TIME_MIN;
	unit->op = model->definition->create(model, unit->env);
	unit->op->next = &unit->sink;
	for (int i = 0; i < log->n; i++)
		unit->op->ops->restore(unit->op, log->records[i].data, log->records[i].len);
	unit->op->ops->restored(unit->op);
}

static void
init_unit(Run *run, int number)
{
	Unit	   *unit = &run->units[number];

	memset(unit, 0, sizeof(Unit));
	unit->run = run;
	unit->env = new_env();
	unit->env->unit = number;
	unit->log.writer.append = log_append;
	unit->last_end = unit->saved_last_end = SE_TIME_MIN;
	se_op_init(&unit->sink, &se_model_sink, 2, 1, unit->env, NULL);
}

static void
snapshot_unit(Unit *unit)
{
	unit->op->snapshotting = true;
	unit->op->ops->snapshot(unit->op, &unit->log.writer);
	unit->op->snapshotting = false;
	unit->op->ops->checkpoint_done(unit->op);
}

/* One commit; it may reclaim the oldest records, in a random number. */
static void
commit_unit(Unit *unit, bool reclaim)
{
	Log		   *log = &unit->log;
	int			gone = reclaim ? (se_harness_random(3) == 0 ? se_harness_random(log->n + 1) : log->n / 2) : 0;

	unit->env->commit_wanted = unit->env->unreflected = false;
	unit->op->ops->prepare(unit->op);
	for (int i = 0; i < gone; i++)
		unit->op->ops->rewrite(unit->op, log->records[i].data, log->records[i].len);
	for (int i = 0; i < gone; i++)
		pfree(log->records[i].data);
	memmove(log->records, log->records + gone, (log->n - gone) * sizeof(StringInfoData));
	log->n -= gone;
	snapshot_unit(unit);
	unit->env->output_full = false;
	unit->saved = *unit->env;
	unit->saved_last_end = unit->last_end;
}

void
se_model_commit(Run *run, bool reclaim)
{
	run->emitted = 0;
	run->commits++;
	for (int i = 0; i < run->nunits; i++)
		commit_unit(&run->units[i], reclaim);
	if (run->model->append)
		run->saved.n = run->table.n;	/* rows before it never change */
	else
		se_model_copy(&run->saved, &run->table);
	run->saved_at = run->at;
	run->saved_given = run->given;
}

void
se_model_forget_log(Run *run)
{
	Log		   *log = &run->units[0].log;

	while (log->n > 0)
		pfree(log->records[--log->n].data);
}

/* Once more from the last commit: what came after it is forgotten. */
void
se_model_restart(Run *run)
{
	run->commits++;
	if (run->model->append)
		run->table.n = run->saved.n;
	else
		se_model_copy(&run->table, &run->saved);
	run->at = run->saved_at;
	run->given = run->saved_given;
	run->moving = false;
	for (int i = 0; i < run->nunits; i++)
	{
		Unit	   *unit = &run->units[i];

		*unit->env = unit->saved;
		unit->last_end = unit->saved_last_end;
		start_unit(unit, &unit->log);
		unit->resuming = true;
	}
}

/* Another operator, by the model's settings of now, takes the state over; the next commit saves it whole. */
void
se_model_adopt(Run *run)
{
	for (int i = 0; i < run->nunits; i++)
	{
		Unit	   *unit = &run->units[i];
		SeOperator *from = unit->op;

		unit->op = run->model->definition->create(run->model, unit->env);
		unit->op->next = &unit->sink;
		unit->env->converting = true;
		unit->op->ops->adopt(unit->op, from);
		unit->env->converting = false;
		unit->log.n = 0;
	}
}

/*
 * What one unit saved is restored by two others, each its own keys, also inside a firing; each writes what it
 * has as records of its own, and goes on from these.
 */
static void
divide(Run *run)
{
	Unit		whole = run->units[0];

	for (int i = 0; i < 2; i++)
	{
		Unit	   *unit = &run->units[i];

		init_unit(run, i);
		unit->env->units = 2;
		unit->last_end = whole.last_end;
		start_unit(unit, &whole.log);
		unit->op->ops->prepare(unit->op);
		for (int r = 0; r < whole.log.n; r++)
			unit->op->ops->rewrite(unit->op, whole.log.records[r].data, whole.log.records[r].len);
		snapshot_unit(unit);
		se_model_seen.divided_open += unit->op->state_entries > 0;
		start_unit(unit, &unit->log);
		unit->resuming = true;
	}
	SE_CHECK_INT(run->units[0].op->state_entries + run->units[1].op->state_entries, whole.op->state_entries);
	run->units[0].env->late_rows = whole.env->late_rows;
	run->units[0].env->late_pairs = whole.env->late_pairs;
	run->nunits = 2;
	se_model_commit(run, false);
}

/* ------------------------------------------------------------- the run */

Run *
se_model_start(Model *model)
{
	Run		   *run = palloc0(sizeof(Run));
	TupleDesc	input = ((SeNode *) linitial(model->node->inputs))->desc;

	run->model = model;
	run->batch = se_batch_new(CurrentMemoryContext, input, BATCH_ROWS);
	run->keys = se_keys_new(input, list_make1_int(0), list_make1_oid(96));
	run->most = 1 + se_harness_random(se_harness_random(4) == 0 ? 200 : 20);
	run->given = SE_TIME_MIN;
	run->nunits = 1;
	model->at = PG_INT32_MAX;
	if (model->present)
		se_model_put(&run->table, 0, &se_model_nothing);
	init_unit(run, 0);
	start_unit(&run->units[0], &run->units[0].log);
	se_model_commit(run, false);
	return run;
}

void
se_model_push(Run *run, const Step *rows, int n, SeTime wm_end)
{
	run->given = wm_end;
	for (int u = 0; u < run->nunits; u++)
	{
		se_batch_reset(run->batch);
		for (int i = 0; i < n; i++)
			fill(run, run->units[u].env, &rows[i]);
		run->batch->wm_end = wm_end;
		if (run->batch->nrows > 0)
			se_op_push(run->units[u].op, 0, run->batch);
		else
			se_op_watermark(run->units[u].op, 0, wm_end);
		if (run->model->rows_tick && run->nunits > 1)
			se_op_timer(run->units[u].op, rows[n - 1].ts);
	}
}

void
se_model_watermark(Run *run, SeTime wm)
{
	run->given = wm;
	for (int u = 0; u < run->nunits; u++)
		se_op_watermark(run->units[u].op, 0, wm);
}

/* A batch of rows, a tick or a watermark. */
static void
take_steps(Run *run)
{
	Model	   *model = run->model;
	int			from = run->at++;

	switch (model->steps[from].kind)
	{
		case STEP_TICK:
			for (int u = 0; u < run->nunits; u++)
				se_op_timer(run->units[u].op, model->steps[from].now);
			return;
		case STEP_WATERMARK:
			se_model_watermark(run, se_model_watermark_after(model, run->at));
			return;
		case STEP_ROW:
			for (int k = se_harness_random(run->most); k > 0 && model->steps[run->at].kind == STEP_ROW; k--)
				run->at++;
			se_model_push(run, &model->steps[from], run->at - from, se_model_watermark_after(model, run->at));
			return;
	}
}

static void
check(Run *run)
{
	Model	   *model = run->model;
	int64		late_rows = 0;
	int64		late_pairs = 0;
	int64		entries = 0;

	se_model_follow(model, run->at);
	if (model->definition->check != NULL && !model->append)
		model->definition->check(model, &run->table);
	else
		se_model_check_rows(model, &run->table);
	for (int u = 0; u < run->nunits; u++)
	{
		late_rows += run->units[u].env->late_rows;
		late_pairs += run->units[u].env->late_pairs;
		entries += run->units[u].op->state_entries;
	}
	SE_CHECK_INT(late_rows, model->late_rows);
	SE_CHECK_INT(late_pairs, model->late_pairs);
	if (model->entries >= 0)
		SE_CHECK_INT(entries, model->entries);
}

/* A commit; the table is known if the operator had done all that its steps ask for. */
static void
commit(Run *run)
{
	Model	   *model = run->model;
	bool		whole = true;

	for (int u = 0; u < run->nunits; u++)
	{
		whole &= !run->units[u].resuming && !run->units[u].env->output_full;
		run->units[u].resuming |= run->units[u].env->output_full;
	}
	se_model_commit(run, (run->plan & PLAN_RECLAIM) && se_harness_random(2) == 0);
	for (int u = 0; u < run->nunits; u++)
		whole &= !run->units[u].env->unreflected;
	if (whole && (!model->append || se_harness_random(4) == 0))
	{
		check(run);
		se_model_seen.checks++;
		if (se_harness_random(3) == 0)
		{
			/* A commit without changes emits nothing. */
			se_model_commit(run, false);
			SE_CHECK_INT(run->emitted, 0);
		}
		if (!model->append)
			se_model_copy(&run->saved, &run->table);	/* the check may have marked rows as final */
	}
	if (whole && (run->plan & PLAN_ALTER) && se_harness_random(4) == 0 && model->definition->alter(model, run->at))
	{
		se_model_copy(&run->saved, &run->table);
		se_model_seen.alters++;
		if (model->definition->adopts)
			se_model_adopt(run);
		else
			se_model_restart(run);
		se_model_commit(run, run->plan & PLAN_RECLAIM);
	}
	if ((run->plan & PLAN_DIVIDE) && run->nunits == 1 && !model->present && run->at > model->nsteps / 8 &&
		se_harness_random(4) == 0)
		divide(run);
}

static bool
is_full(const Run *run)
{
	for (int u = 0; u < run->nunits; u++)
	{
		if (run->units[u].env->output_full)
			return true;
	}
	return false;
}

/* Is nothing left of what full outputs and restores have interrupted? */
static bool
resume(Run *run)
{
	bool		done = true;

	for (int u = 0; u < run->nunits; u++)
	{
		Unit	   *unit = &run->units[u];

		if (unit->resuming && !unit->env->output_full)
			unit->resuming = !unit->op->ops->resume(unit->op) || unit->env->output_full;
		done &= !unit->resuming;
	}
	return done;
}

static void
run_model(Model *model, int plan)
{
	Run		   *run = se_model_start(model);

	run->plan = plan;
	for (;;)
	{
		if (se_harness_has_failed())
			return;				/* the first failure says most */
		if ((plan & PLAN_FULL) && run->full_after == 0 && se_harness_random(3) == 0)
			run->full_after = 1 + se_harness_random(3);
		if (is_full(run) || se_harness_random(4) == 0)
			commit(run);
		if ((plan & PLAN_CRASH) && se_harness_random(8) == 0)
			se_model_restart(run);
		if (!resume(run) || is_full(run))
			continue;
		for (int u = 0; (plan & PLAN_DISTURB) && u < run->nunits; u++)
		{
			if (se_harness_random(5) == 0)
				model->definition->disturb(run->units[u].op);
		}
		if (run->at > model->nsteps)
			break;
		take_steps(run);
	}
	for (int u = 0; u < run->nunits; u++)
	{
		run->units[u].op->ops->end(run->units[u].op, 0);
		SE_CHECK(run->units[u].ended);
	}
	se_model_commit(run, false);
	check(run);
	se_model_seen.late_rows += model->late_rows;
	for (int u = 0; model->definition->leaves_nothing && u < run->nunits; u++)
		SE_CHECK_INT(run->units[u].env->state_bytes, 0);
}

void
se_model_runs(int times, Model *(*random_model) (void), int plan)
{
	MemoryContext old = CurrentMemoryContext;

	memset(&se_model_seen, 0, sizeof(Seen));
	for (int i = 0; i < times && !se_harness_has_failed(); i++)
	{
		MemoryContext context = se_stub_context_new(old, "run");

		se_batch_rows = 1 + se_harness_random(8);
		MemoryContextSwitchTo(context);
		run_model(random_model(), plan);
		MemoryContextSwitchTo(old);
		MemoryContextDelete(context);
	}
	SE_CHECK(se_model_seen.inserts + se_model_seen.updates > times);
	if (plan & PLAN_DIVIDE)
		SE_CHECK(se_model_seen.of_unit[0] > times && se_model_seen.of_unit[1] > times &&
				 se_model_seen.divided_open > times / 2);
}

/* ------------------------------------------------------------- damage */

/* Restore all records but with one damaged, or that one alone. What was taken for good is gone on with. */
static void
restore_damaged(Model *model, const Log *log)
{
	int			damaged = se_harness_random(log->n);
	bool		alone = se_harness_random(2) == 0;
	bool		cut = se_harness_random(3) == 0;
	Run		   *run = palloc0(sizeof(Run));
	SeOperator *op;

	run->model = model;
	run->deaf = true;
	run->nunits = 1;
	run->batch = se_batch_new(CurrentMemoryContext, ((SeNode *) linitial(model->node->inputs))->desc, 1024);
	init_unit(run, 0);
	run->units[0].env->state_limit = 1 << 20;
	op = run->units[0].op = model->definition->create(model, run->units[0].env);
	op->next = &run->units[0].sink;
	for (int r = alone ? damaged : 0; r < (alone ? damaged + 1 : log->n); r++)
	{
		StringInfoData *record = &log->records[r];
		int			len = record->len;
		char	   *copy = palloc(len + 1);

		memcpy(copy, record->data, len);
		if (r == damaged && cut)
			len = se_harness_random(len);
		else if (r == damaged)
			copy[se_harness_random(len)] ^= 1 << se_harness_random(8);
		op->ops->restore(op, copy, len);
		SE_CHECK(len == record->len || record->len - len == model->definition->newer_tail);
	}
	op->ops->restored(op);
	if (!alone)
	{
		se_model_push(run, model->steps, 40, model->steps[40].wm);
		se_model_watermark(run, SE_TIME_MAX);
	}
}

void
se_model_damage(Model *model, int times)
{
	MemoryContext old = CurrentMemoryContext;
	Run		   *run = se_model_start(model);
	Log		   *log = &run->units[0].log;

	se_batch_rows = 2;
	run->most = 20;
	run->plan = model->definition->disturb != NULL ? PLAN_DISTURB : PLAN_PLAIN;
	while (run->at < model->nsteps)
	{
		if (run->full_after == 0 && se_harness_random(3) == 0)
			run->full_after = 1 + se_harness_random(3);
		take_steps(run);
		if ((run->plan & PLAN_DISTURB) && se_harness_random(3) == 0)
			model->definition->disturb(run->units[0].op);
		if (se_harness_random(3) == 0 || is_full(run))
			se_model_commit(run, false);
		while (!run->units[0].op->ops->resume(run->units[0].op))
			se_model_commit(run, false);
	}
	se_model_commit(run, false);
	SE_CHECK(log->n > 5);
	for (volatile int i = 0; i < times && !se_harness_has_failed(); i++)
	{
		MemoryContext context = se_stub_context_new(old, "damage");

		MemoryContextSwitchTo(context);
		PG_TRY();
		{
			restore_damaged(model, log);
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
