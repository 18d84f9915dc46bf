/*
 * runtime/restart.c
 *		What an error does to a job: again after a while, or a person decides.
 *
 * An error that the data, the query or a missing right causes would come again at
 * every try, so the job stops: its goal becomes 'f', and start() tries again. All
 * others (a lock, a full disk, a deadlock, a terminated worker) are retried with a
 * delay that doubles. Either way the state in memory is thrown away with the worker
 * (I10), and the successor begins at the last commit.
 */
#include "postgres.h"

#include "access/xact.h"
#include "base/compat.h"
#include "base/database_slot.h"
#include "base/settings.h"
#include "mb/pg_wchar.h"
#include "meta/jobs.h"
#include "meta/positions.h"
#include "meta/table.h"
#include "miscadmin.h"
#include "runtime/restart.h"
#include "runtime/worker_env.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

/* Longest piece of one column's text in the errors table. */
#define MAX_VALUE_TEXT 500

/* Failures in a row that a lock can bring a job to. */
#define MAX_LOCK_FAILURES 3

/* The row an error met, copied before its memory goes. */
typedef struct BadRow
{
	SePlace		place;
	TupleDesc	desc;
	Datum	   *values;
	bool	   *nulls;
} BadRow;

static bool needs_person(const SeTask *task, int sqlstate);
static void look_in_sources(SeTask *task);
static BadRow *copy_row(const SeOperatorEnv *env);
static void record(SeTask *task, const ErrorData *error, const BadRow *row, bool person);
static char *row_text(SeTask *task, const BadRow *row);

int
se_restart_delay(int failures)
{
	int64		delay = se_restart_delay_min;

	for (int i = 1; i < failures && delay < se_restart_delay_max; i++)
		delay *= 2;
	return (int) Min(delay, (int64) se_restart_delay_max);
}

void
se_restart_mark(SeJobSlot *slot, bool person, bool written, int sqlstate, const char *message)
{
	bool		lock = sqlstate == ERRCODE_LOCK_NOT_AVAILABLE && !person;

	LWLockAcquire(se_job_slot_lock(), LW_EXCLUSIVE);
	/* A lock somebody holds for long is no reason to come back later and later. */
	if (!lock || slot->failures < MAX_LOCK_FAILURES)
		slot->failures++;
	slot->state = person ? SE_JOB_FAILED : lock ? SE_JOB_WAITING : SE_JOB_RESTARTING;
	slot->unwritten = !written;
	slot->error_attempt = slot->attempt;
	slot->restart_at = GetCurrentTimestamp() + 1000 * (int64) se_restart_delay(slot->failures);
	slot->error_sqlstate = sqlstate;
	se_job_slot_clip_error(slot->error, message);
	LWLockRelease(se_job_slot_lock());
	se_job_slot_changed(slot);
	se_database_slot_wake_coordinator(slot->database);
}

void
se_restart_failed(SeTask *task)
{
	ErrorData  *error;
	BadRow	   *row;
	bool		person;
	volatile bool written = true;

	MemoryContextSwitchTo(TopMemoryContext);
	HOLD_INTERRUPTS();
	error = CopyErrorData();
	look_in_sources(task);
	row = copy_row(&task->env);
	EmitErrorReport();
	FlushErrorState();
	AbortOutOfAnyTransaction();
	RESUME_INTERRUPTS();

	person = needs_person(task, error->sqlerrcode);
	PG_TRY();
	{
		record(task, error, row, person);
	}
	PG_CATCH();
	{
		/* Then the coordinator shall write it down. */
		HOLD_INTERRUPTS();
		MemoryContextSwitchTo(TopMemoryContext);
		EmitErrorReport();
		FlushErrorState();
		AbortOutOfAnyTransaction();
		RESUME_INTERRUPTS();
		person = false;
		written = false;
	}
	PG_END_TRY();
	se_restart_mark(task->slot, person, written, error->sqlerrcode, error->message ? error->message : "");
}

/*
 * Would the same error come again however often we try? So it is but for what the state
 * of the machine or of other sessions brings: a user's function may raise any SQLSTATE.
 */
static bool
needs_person(const SeTask *task, int sqlstate)
{
	if (task->restart_option != NULL && strcmp(task->restart_option, "none") == 0)
		return true;
	if (task->env.over_limit)
		return true;
	if (se_table_is_misfit())
		return false;			/* over with the update of the extension, which starts all workers anew */
	switch (ERRCODE_TO_CATEGORY(sqlstate))
	{
		case ERRCODE_CONNECTION_EXCEPTION:
		case ERRCODE_TRANSACTION_ROLLBACK:
		case ERRCODE_INSUFFICIENT_RESOURCES:
		case ERRCODE_OPERATOR_INTERVENTION:
		case ERRCODE_CONFIG_FILE_ERROR:
			return false;
		case ERRCODE_SYSTEM_ERROR:
			return sqlstate == ERRCODE_UNDEFINED_FILE;	/* the WAL it needs is gone (I3) */
		case ERRCODE_INTERNAL_ERROR:
			return sqlstate == ERRCODE_DATA_CORRUPTED;
	}
	switch (sqlstate)
	{
		case ERRCODE_LOCK_NOT_AVAILABLE:
		case ERRCODE_OBJECT_IN_USE:
		case ERRCODE_IDLE_IN_TRANSACTION_SESSION_TIMEOUT:
		case SE_COMPAT_SNAPSHOT_TOO_OLD:
			return false;
	}
	return true;
}

/* A source may have met the error while it filled its batch: then its row is at work. */
static void
look_in_sources(SeTask *task)
{
	if (task->chain == NULL)
		return;
	for (int i = 0; i < task->chain->nsources; i++)
	{
		SeChainSource *place = &task->chain->sources[i];
		int			row = place->source->row_at_work;

		if (row == 0)
			continue;
		place->batch->nrows = row;
		task->env.current_batch = place->batch;
		task->env.current_row = row - 1;
	}
}

/* Copy what env says is being worked on; NULL if no row was. */
static pg_noinline BadRow *
copy_row(const SeOperatorEnv *env)
{
	const SeBatch *batch = env->current_batch;
	BadRow	   *row;
	int			n;

	if (batch == NULL || env->current_row < 0 || env->current_row >= batch->nrows)
		return NULL;
	n = batch->ncolumns;
	row = palloc0(sizeof(BadRow));
	row->place = batch->places[env->current_row];
	row->desc = CreateTupleDescCopy(batch->desc);
	row->values = palloc0(sizeof(Datum) * Max(n, 1));
	row->nulls = palloc0(sizeof(bool) * Max(n, 1));
	for (int i = 0; i < n; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(row->desc, i);

		row->nulls[i] = se_batch_nulls(batch, env->current_row)[i];
		if (!row->nulls[i])
			row->values[i] = datumCopy(se_batch_values(batch, env->current_row)[i],
									   attribute->attbyval, attribute->attlen);
	}
	return row;
}

/* The lock that made the former worker fail: once in the table is enough. */
static bool
is_known(const SeJobSlot *slot, const ErrorData *error)
{
	return error->sqlerrcode == ERRCODE_LOCK_NOT_AVAILABLE &&
		slot->error_sqlstate == ERRCODE_LOCK_NOT_AVAILABLE && slot->failures > 0;
}

/*
 * Write the error and, if a person must act, the goal. Nothing is written for a job
 * that was dropped meanwhile; the job's lock makes sure of that.
 */
static void
record(SeTask *task, const ErrorData *error, const BadRow *row, bool person)
{
	char	   *text = row ? row_text(task, row) : NULL;
	SeJobMeta  *meta;
	int			level;

	se_worker_begin_own();
	level = NewGUCNestLevel();
	(void) set_config_option("lock_timeout", "10s", PGC_USERSET, PGC_S_OVERRIDE,
							 GUC_ACTION_SAVE, true, ERROR, false);
	(void) se_jobs_lock(task->job, true);
	meta = se_jobs_get(task->job);
	if (meta != NULL)
	{
		if (!is_known(task->slot, error))
			se_errors_add(task->job, error->sqlerrcode, error->message, error->detail,
						  row && row->place.major != 0 ? se_place_describe(row->place) : NULL, text, task->attempt);
		if (person && meta->goal == SE_GOAL_RUN)
			se_jobs_set_goal(task->job, SE_GOAL_FAILED);
	}
	AtEOXact_GUC(false, level);
	se_worker_commit_own();
}

/*
 * May the owner, who is the current user, see whole rows? Not those of a stream that
 * only the owner of a plain view may read.
 */
static bool
may_see_rows(const SeTask *task)
{
	const SeGraph *graph = task->chain->graph;
	ListCell   *cell;

	if (graph->views != NIL)
		foreach(cell, graph->streams)
			if (pg_class_aclcheck(lfirst_oid(cell), GetUserId(), ACL_SELECT) != ACLCHECK_OK)
			return false;
	return true;
}

/*
 * The row as "column=value, …", in TopMemoryContext. Output functions can be the
 * owner's and can fail: then the row is not shown.
 */
static char *
row_text(SeTask *task, const BadRow *row)
{
	StringInfoData text;

	MemoryContextSwitchTo(TopMemoryContext);
	initStringInfo(&text);
	PG_TRY();
	{
		bool		here = se_worker_begin(task->job, true);
		bool		shown = here && may_see_rows(task);

		if (!shown)
			text.		data = NULL;

		for (int i = 0; shown && i < row->desc->natts; i++)
		{
			Form_pg_attribute attribute = TupleDescAttr(row->desc, i);
			Oid			function;
			bool		is_varlena;
			char	   *value = "NULL";

			if (!row->nulls[i])
			{
				getTypeOutputInfo(attribute->atttypid, &function, &is_varlena);
				value = OidOutputFunctionCall(function, row->values[i]);
			}
			appendStringInfo(&text, "%s%s=", i > 0 ? ", " : "", NameStr(attribute->attname));
			appendStringInfoString(&text, value);
			if (strlen(value) > MAX_VALUE_TEXT)
			{
				text.		len -= strlen(value) - pg_mbcliplen(value, strlen(value), MAX_VALUE_TEXT);
				text.		data[text.len] = '\0';

				appendStringInfoString(&text, "...");
			}
		}
		if (here)
			se_worker_commit();
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(TopMemoryContext);
		FlushErrorState();
		AbortOutOfAnyTransaction();
		text.		data = NULL;
	}
	PG_END_TRY();
	MemoryContextSwitchTo(TopMemoryContext);
	return text.data;
}
