/*
 * ddl/alter_options.c
 *		ALTER … SET and RESET (stream_engine.…): what is asked for, and from where on it counts.
 *
 * What is asked for stands in the job's row when the transaction commits. Options that
 * decide results (meta/options.h) count from a place in the log on:
 *
 *		the view runs					a mark in this transaction's log: from where it commits,
 *										among its own rows from the mark on
 *		stopped, failed, dormant, or
 *		made in this transaction		where the view stands: its position is given them
 *		the same, and its state is
 *		kept in another way then		a mark; the worker converts the state there (runtime/convert.c)
 *
 * All others count as soon as the worker, which is told, has started anew.
 *
 * Who changes a job comes one after the other, so what a mark says, or a position, is
 * the latest there is. A mark may be overtaken all the same: the view is stopped before
 * it has met it, and altered. So both carry the place of the ALTER in the log, and a
 * mark that is not newer than the position's is passed over.
 *
 * Whether the query can do what is asked for is planning's answer, here as at CREATE. The fingerprint in a position is
 * that of the dataflow which its state was written by; so a position is never given options that need another one, unless
 * there is no state yet.
 *
 * Runs in: sessions of the view's owner, or of a superuser. What of the user's runs while
 * planning runs as the owner, in a restricted operation, under the settings of the view.
 */
#include "postgres.h"

#include "access/xlog.h"
#include "base/fault.h"
#include "base/job_slot.h"
#include "ddl/ddl_internal.h"
#include "ddl/side_options.h"
#include "ddl/view_options.h"
#include "ddl/view_settings.h"
#include "fmgr.h"
#include "log/options_mark.h"
#include "meta/jobs.h"
#include "meta/options.h"
#include "meta/positions.h"
#include "meta/table.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/parsenodes.h"
#include "nodes/value.h"
#include "plan/plan.h"
#include "storage/lmgr.h"
#include "utils/guc.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"

SE_FUNCTION_INFO_V1(stream_engine_options_in_effect);

/* The job, what its options were and are to be, and the dataflows that these make. */
typedef struct Change
{
	const SeJobMeta *job;
	const SePositionMeta *position; /* of its first source; NULL if a dump left it out */
	bool		ours;			/* not dormant */
	bool		has_worker;		/* or may have one before we are done */
	List	   *before;			/* those that its results follow up to this ALTER */
	List	   *after;
	SeGraph    *graph_before;
	SeGraph    *graph_after;
} Change;

static List *apply(List *options, List *changes);
static bool is_named(List *changes, const char *name);
static void plan(Change *change);
static bool fits_state(const Change *change);
static void refuse_dormant(const Change *change);
static bool has_no_worker(const SeJobMeta *job);
static void give_to_position(Oid view, const SeOptionsMark *mark, const SeGraph *graph);

void
se_alter_options(SeUtility *utility, Oid view, List *changes)
{
	char	   *name = get_rel_name(view);
	Change		change = {0};
	SeOptionsMark mark;
	List	   *positions;
	bool		late_output = is_named(changes, "late_output");
	bool		changed;

	PreventCommandIfReadOnly("ALTER MATERIALIZED VIEW");

	/* The table first, as a DROP does; which may have been there before us. */
	LockRelationOid(view, AccessShareLock);
	(void) se_jobs_lock(view, true);
	change.job = se_jobs_get(view);
	if (change.job == NULL || name == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("continuous view \"%s\" does not exist", name ? name : "")));
	positions = se_positions_list(view);
	change.position = positions == NIL ? NULL : linitial(positions);
	change.ours = se_jobs_identity_is_ours(change.job);
	change.has_worker = !has_no_worker(change.job);
	change.before = change.has_worker || change.position == NULL ? change.job->options :
		se_options_in_effect(change.job->options, change.position->options);
	change.after = apply(change.job->options, changes);
	/* The name of a table may mean another one than it did. */
	changed = late_output ||
		!se_options_equal(se_options_moved(change.after), se_options_moved(change.job->options));
	if (changed || !se_options_equal(se_options_moved(change.after), se_options_moved(change.before)))
		plan(&change);
	if (changed && change.ours)
	{
		se_side_options_apply(utility, view, change.job->definition, change.after, change.graph_after, !late_output);
		se_result_table_give_key(utility, view, change.graph_after);
		se_result_retention_apply(utility, view, change.graph_after);
	}

	mark.options = se_options_moved(change.after);
	mark.lsn = GetXLogInsertRecPtr();
	if (!change.has_worker && fits_state(&change))
		give_to_position(view, &mark, change.graph_after);
	else if (changed)
	{
		if (!change.ours)
			refuse_dormant(&change);
		se_options_mark_write(view, &mark);
	}
	se_jobs_set_options(view, change.after, mark.lsn);
	CacheInvalidateRelcacheByRelid(view);
	se_meta_notify_at_commit();
}

/* One change after the other. */
static List *
apply(List *options, List *changes)
{
	ListCell   *cell;

	foreach(cell, changes)
	{
		List	   *change = list_make1(lfirst(cell));

		if (lfirst_node(DefElem, cell)->arg == NULL)
			options = se_view_options_without(options, change);
		else
			options = se_view_options_merge(options, change);
	}
	return options;
}

static bool
is_named(List *changes, const char *name)
{
	ListCell   *cell;

	foreach(cell, changes)
	{
		if (strcmp(lfirst_node(DefElem, cell)->defname, name) == 0)
			return true;
	}
	return false;
}

/*
 * The query must be able to do what is asked for. A result that was updating stays so: rows of it may be early ones
 * still.
 */
static void
plan(Change *change)
{
	const SeJobMeta *job = change->job;
	Oid			user;
	int			security;
	int			nest_level = NewGUCNestLevel();

	GetUserIdAndSecContext(&user, &security);
	SetUserIdAndSecContext(se_view_owner(job->job), security | SECURITY_RESTRICTED_OPERATION);
	se_view_settings_apply(job->settings);
	change->graph_before = se_plan_definition(job->definition, job->job, change->before);
	change->graph_after = se_plan_definition(job->definition, job->job, change->after);
	if (change->graph_before->sink->mode == SE_MODE_UPSERT && change->graph_after->sink->mode == SE_MODE_APPEND)
	{
		change->after = lappend(change->after, makeDefElem(SE_OPTION_UPDATING, (Node *) makeString("true"), -1));
		change->graph_after = se_plan_definition(job->definition, job->job, change->after);
	}
	AtEOXact_GUC(false, nest_level);
	SetUserIdAndSecContext(user, security);
}

/* Can a worker that begins at the position, under the new options, read the state that is there? */
static bool
fits_state(const Change *change)
{
	if (change->graph_after == NULL || change->position == NULL || change->position->chunk_seq == 0)
		return true;
	if (change->ours && change->graph_after->fingerprint == change->position->fingerprint)
		return true;
	return change->graph_after->fingerprint == change->graph_before->fingerprint ||
		SE_FAULT_WRONG("wrong-options-without-state");
}

/* It has no place in our log yet where a mark could stand. */
static void
refuse_dormant(const Change *change)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("the options of continuous view \"%s\" cannot be changed like this while it is dormant",
					get_rel_name(change->job->job)),
			 errdetail("With them the view would keep its state in another way, which needs a worker."),
			 errhint("Use stream_engine.resume_restored first.")));
}

/*
 * Is its position ours to write, because no worker has it, or can have it before this
 * transaction ends? We hold the job's lock; but what this transaction itself has said of
 * a job nobody else knows yet.
 */
static bool
has_no_worker(const SeJobMeta *job)
{
	SeJobSlot  *slot;
	bool		has_worker;

	if (!se_jobs_identity_is_ours(job) || se_positions_are_uncommitted(job->job))
		return true;
	if (job->goal == SE_GOAL_RUN || se_jobs_is_uncommitted(job->job))
		return false;
	LWLockAcquire(se_job_slot_lock(), LW_SHARED);
	slot = se_job_slot_find(MyDatabaseId, job->job);
	has_worker = slot != NULL && slot->worker_pid != 0 && slot->state != SE_JOB_FAILED;
	LWLockRelease(se_job_slot_lock());
	return !has_worker;
}

/* From where the view stands the options count. The graph, if not NULL, is the one they make. */
static void
give_to_position(Oid view, const SeOptionsMark *mark, const SeGraph *graph)
{
	ListCell   *cell;

	foreach(cell, se_positions_list(view))
	{
		SePositionMeta *position = lfirst(cell);

		position->options = mark->options;
		position->options_lsn = mark->lsn;
		if (position->chunk_seq == 0 && graph != NULL)
		{
			position->fingerprint = graph->fingerprint;
			position->shape = graph->shape;
		}
		se_positions_put(position);
	}
}

/* options_in_effect(asked text[], moved text[]): se_options_in_effect for people. */
Datum
stream_engine_options_in_effect(PG_FUNCTION_ARGS)
{
	List	   *asked = se_jobs_pairs_from_strings(se_table_datum_to_strings(PG_GETARG_DATUM(0)));
	List	   *moved = se_jobs_pairs_from_strings(se_table_datum_to_strings(PG_GETARG_DATUM(1)));

	PG_RETURN_DATUM(se_jobs_pairs_to_datum(se_options_in_effect(asked, moved)));
}
