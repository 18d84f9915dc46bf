/*
 * runtime/task_setup.c
 *		From the catalog to a chain that stands at its position.
 *
 * A worker starts from nothing but the job's row: settings, definition, position,
 * state. It checks that all of it belongs together, and that the owner may still read
 * the streams, before it opens anything.
 */
#include "postgres.h"

#include "base/compat.h"
#include "base/database_slot.h"
#include "base/fault.h"
#include "base/settings.h"
#include "catalog/pg_class.h"
#include "meta/jobs.h"
#include "meta/late_output.h"
#include "meta/options.h"
#include "meta/positions.h"
#include "miscadmin.h"
#include "plan/plan.h"
#include "runtime/side.h"
#include "runtime/task.h"
#include "runtime/worker_env.h"
#include "state/value.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/dsa.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

static SeJobMeta *read_meta(SeTask *task);
static void take_over_options(SeTask *task, SeJobMeta *meta);
static void read_options(SeTask *task, const SeJobMeta *meta);
static void refuse_restart(const SeTask *task);
static void make_area(SeTask *task);
static void make_side(SeTask *task, const SeJobMeta *meta, const SeGraph *graph);
static void open_sources(SeTask *task);
static void restore_state(SeTask *task);
static void ask_for_ticks(SeTask *task);

bool
se_task_setup(SeTask *task)
{
	SeJobMeta  *meta = read_meta(task);
	MemoryContext old;
	const SeGraph *graph;

	if (meta == NULL)
		return false;
	se_worker_apply_settings(meta);
	se_value_oid_space = meta->oid_space;
	read_options(task, meta);
	refuse_restart(task);

	if (!se_worker_begin(task->job, true))
		return false;
	if (!se_task_lock_sources(task, meta))
	{
		se_worker_commit();
		return false;
	}
	se_task_watch_begin(task, meta);
	old = MemoryContextSwitchTo(task->memory);
	graph = se_plan_definition(meta->definition, task->job, meta->options);
	se_plan_check_definition(meta->definition);
	se_plan_check_functions(graph);
	make_area(task);
	make_side(task, meta, graph);
	task->chain = se_chain_new(graph, &task->env);
	open_sources(task);
	restore_state(task);
	ask_for_ticks(task);
	MemoryContextSwitchTo(old);
	se_worker_commit();

	task->resuming = true;		/* a firing may have been cut by the last commit */
	task->last_commit = GetCurrentTimestamp();
	task->next_commit = task->last_commit + 1000 * (int64) task->checkpoint_interval;
	SE_FAULT_POINT("worker-restored");
	return true;
}

/* The job's row, if it still asks to be run here. */
static SeJobMeta *
read_meta(SeTask *task)
{
	MemoryContext old;
	SeJobMeta  *meta;

	se_worker_begin_own();
	old = MemoryContextSwitchTo(task->memory);
	meta = se_jobs_get(task->job);
	if (meta != NULL && (meta->goal != SE_GOAL_RUN || !se_jobs_identity_is_ours(meta)))
		meta = NULL;
	if (meta != NULL && get_rel_name(task->job) != NULL)
		task->name = quote_qualified_identifier(get_namespace_name(get_rel_namespace(task->job)),
												get_rel_name(task->job));
	if (meta != NULL)
	{
		task->late_output_asked = se_jobs_option(meta, "late_output");
		take_over_options(task, meta);
	}
	MemoryContextSwitchTo(old);
	se_worker_commit_own();
	return task->name != NULL ? meta : NULL;
}

/*
 * Options that decide results count as they did at the position: one that was asked for
 * since comes into effect at its mark in the log. The rest of meta is as it is now.
 */
static void
take_over_options(SeTask *task, SeJobMeta *meta)
{
	List	   *positions = se_positions_list(task->job);

	if (positions == NIL || SE_FAULT_WRONG("wrong-options-early"))
		return;
	task->options = ((SePositionMeta *) linitial(positions))->options;
	task->options_lsn = ((SePositionMeta *) linitial(positions))->options_lsn;
	meta->options = se_options_in_effect(meta->options, task->options);
}

/* A number with a unit out of the view's options, or the server's default. */
static int
option_int(const SeJobMeta *meta, const char *name, int unit, int otherwise)
{
	const char *text = se_jobs_option(meta, name);
	const char *hint = NULL;
	int			value;

	if (text == NULL)
		return otherwise;
	if (!parse_int(text, &value, unit, &hint))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid value for option stream_engine.%s: \"%s\"", name, text),
				 hint ? errhint("%s", _(hint)) : 0));
	return value;
}

static void
read_options(SeTask *task, const SeJobMeta *meta)
{
	const char *restart = se_jobs_option(meta, "restart");

	task->checkpoint_interval = option_int(meta, "checkpoint_interval", GUC_UNIT_MS,
										   se_checkpoint_interval);
	task->env.state_limit = (uint64) option_int(meta, "state_memory", GUC_UNIT_KB,
												se_state_memory) * 1024;
	task->restart_option = MemoryContextStrdup(task->memory, restart ? restart : "");
}

/*
 * Lock the result and what planning will open. DROP SCHEMA and DROP … CASCADE lock the same relations,
 * in orders that depend on what is dropped: so we never wait for one while we hold
 * another. False if the view went meanwhile.
 */
bool
se_task_lock_sources(SeTask *task, const SeJobMeta *meta)
{
	List	   *needed = lcons_oid(task->job, se_plan_relations_of(meta->definition));
	int			held;

	for (held = 0; held < list_length(needed); held++)
	{
		Oid			relation = list_nth_oid(needed, held);

		if (ConditionalLockRelationOid(relation, AccessShareLock))
			continue;
		while (held > 0)
			UnlockRelationOid(list_nth_oid(needed, --held), AccessShareLock);
		LockRelationOid(relation, AccessShareLock);
		UnlockRelationOid(relation, AccessShareLock);
		held = -1;				/* from the beginning */
	}
	return SearchSysCacheExists1(RELOID, ObjectIdGetDatum(task->job));
}

/*
 * With restart = none a worker that was terminated is not replaced either. Its own end
 * could not write that down, so its successor does, by this error.
 */
static void
refuse_restart(const SeTask *task)
{
	if (strcmp(task->restart_option, "none") == 0 && task->slot->failures > 0)
		ereport(ERROR,
				(errcode(task->slot->error_sqlstate),
				 errmsg("continuous view %s is not restarted after an error", task->name),
				 errdetail("The error was: %s", task->slot->error),
				 errhint("It has stream_engine.restart = none; use SELECT stream_engine.start(view).")));
}

/*
 * The memory that keyed state lives in. Operators count what they hold themselves and
 * refuse first, with a message that says more; the area's own limit leaves room for
 * its fragments and only stops what was not counted.
 */
static void
make_area(SeTask *task)
{
	int			tranche = se_job_slot_area_tranche();

	se_compat_name_tranche(tranche, "stream_engine state");
	task->env.area = dsa_create(tranche);
	dsa_pin_mapping(task->env.area);
	dsa_set_size_limit(task->env.area,
					   (Size) (task->env.state_limit + task->env.state_limit / 2 + 16 * 1024 * 1024));
}

/* Rows are kept whole: the owner of the view, who is the current user, must still be allowed to read them. */
static void
check_may_read(const SeGraph *graph)
{
	ListCell   *cell;

	foreach(cell, graph->streams)
	{
		if (pg_class_aclcheck(lfirst_oid(cell), GetUserId(), ACL_SELECT) != ACLCHECK_OK)
			aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_FOREIGN_TABLE, get_rel_name(lfirst_oid(cell)));
	}
}

/* Where late and failing rows go. */
static void
make_side(SeTask *task, const SeJobMeta *meta, const SeGraph *graph)
{
	const char *on_error = se_jobs_option(meta, "on_error");
	const char *late_output = se_jobs_option(meta, "late_output");
	const char *asked = task->late_output_asked;
	bool		pending = late_output != NULL && (asked == NULL || strcmp(late_output, asked) != 0);

	se_side_begin(task, on_error == NULL || strcmp(on_error, "stop") == 0 ? SE_ON_ERROR_STOP :
				  strcmp(on_error, "skip") == 0 ? SE_ON_ERROR_SKIP : SE_ON_ERROR_DEAD_LETTER,
				  se_late_output_find(meta->definition, late_output, pending));
	if (se_side_keeps_rows(task))
		check_may_read(graph);
}

/*
 * Chain and state in memory are void: give them up, with everything that was learned from
 * the catalog.
 */
void
se_task_unset(SeTask *task)
{
	if (task->chain != NULL)
		se_chain_close(task->chain);
	if (task->env.area != NULL)
		dsa_detach(task->env.area);
	se_task_watch_end();
	task->chain = NULL;
	task->store = NULL;
	task->side = NULL;
	task->skip = NIL;
	task->name = NULL;
	task->restart_option = NULL;
	task->rows_in = 0;
	task->sink_rows = 0;
	task->dirty = task->resuming = task->converted = false;
	memset(&task->env, 0, sizeof(task->env));
	MemoryContextReset(task->memory);	/* deletes the contexts in it */
	task->commit_memory = AllocSetContextCreate(task->memory, "stream_engine commit", ALLOCSET_DEFAULT_SIZES);
	task->env.job = task->job;
	task->env.memory = AllocSetContextCreate(task->memory, "stream_engine chain", ALLOCSET_DEFAULT_SIZES);
	task->env.slot = task->slot;
	se_side_restored(task);
}

/* The row of the skip list as places. */
static List *
parse_skip(List *texts)
{
	List	   *places = NIL;
	ListCell   *cell;

	foreach(cell, texts)
	{
		SePlace    *place = palloc(sizeof(SePlace));

		if (!se_place_parse(lfirst(cell), place))
			ereport(ERROR,
					(errcode(ERRCODE_DATA_CORRUPTED),
					 errmsg("invalid position \"%s\" in the skip list", (char *) lfirst(cell))));
		places = lappend(places, place);
	}
	return places;
}

/* Open every source where the last commit left it, and take over that commit's numbers. */
static void
open_sources(SeTask *task)
{
	for (int i = 0; i < task->chain->nsources; i++)
	{
		SeSource   *source = task->chain->sources[i].source;
		SePositionMeta *position = se_positions_get(task->job, task->unit, source->node_id);

		if (position == NULL)
			ereport(ERROR,
					(errcode(ERRCODE_DATA_CORRUPTED),
					 errmsg("continuous view %s has no position", task->name)));
		if (position->fingerprint != task->chain->graph->fingerprint)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("the saved state of continuous view %s belongs to another query", task->name),
					 task->chain->graph->views == NIL ?
					 errdetail("Something its query uses was changed so that the state has another meaning.") :
					 errdetail("A plain view it reads, or something else its query uses, was changed so that it is another query."),
					 errhint("Undo the change, or drop and create the view.")));
		source->job = task->job;
		source->skip = &task->skip;
		source->keep_rows = se_side_keeps_rows(task);
		source->env = &task->env;
		source->ops->open(source, VARDATA_ANY(position->position),
						  VARSIZE_ANY_EXHDR(position->position));
		if (i > 0)
			continue;
		task->chunk_seq = position->chunk_seq;
		task->rows_in_base = position->rows_in;
		task->rows_out_base = position->rows_out;
		task->env.result_rows = position->result_rows;
		task->env.late_rows = position->late_rows;
		task->env.late_pairs = position->late_pairs;
		task->windowed = se_graph_is_windowed(task->chain->graph, &task->lateness);
		task->final_to = position->final_to;
		task->env.error_rows = position->error_rows;
		task->skip = parse_skip(position->skip);
	}
}

static void
restore_state(SeTask *task)
{
	SeChain    *chain = task->chain;

	task->store = se_store_open(task->memory, task->job, task->unit, task->chunk_seq);
	if (!SE_FAULT_WRONG("wrong-skip-restore"))
		se_store_restore(task->store, chain->operators, chain->noperators);
	for (int i = 0; i < chain->noperators; i++)
		if (chain->operators[i] != NULL)
			chain->operators[i]->ops->restored(chain->operators[i]);

	/* The watermark that an operator has sent on: who is behind it does not remember. */
	for (int i = 0; i < chain->noperators; i++)
	{
		SeOperator *op = chain->operators[i];

		if (op != NULL && op->next != NULL && op->watermark_out != SE_TIME_MIN)
			se_op_watermark(op->next, op->next_input, op->watermark_out);
	}
	task->env.state_touched = false;
}

/* How often the job needs a tick mark: for its operators, or for a source of its own. */
static void
ask_for_ticks(SeTask *task)
{
	int64		least = task->chain->graph->tick_interval;

	for (int i = 0; i < task->chain->nsources; i++)
	{
		int64		interval = task->chain->sources[i].source->tick_interval;

		if (interval != 0 && (least == 0 || interval < least))
			least = interval;
	}
	if (pg_atomic_exchange_u64(&task->slot->tick_interval, least) != (uint64) least)
		se_database_slot_wake_coordinator(MyDatabaseId);
}
