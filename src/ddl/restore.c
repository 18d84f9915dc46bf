/*
 * ddl/restore.c
 *		stream_engine.resume_restored: a view that came from elsewhere runs here.
 *
 * A job whose identity is another database's is dormant: it came out of a dump, with a
 * copied database, or through pg_upgrade. Its rows, its state and its positions are those
 * of one commit, but the log that the positions are about is not here.
 *
 *	continue	the state is kept, and a start mark in this log is the next place; what was
 *				written elsewhere after the restored position is not in the view
 *	restart		result, state and positions are thrown away; the view begins at a mark
 *
 * 'continue' is refused if anything says that result and state do not belong together
 * or that the state's bytes mean something else here.
 *
 * Runs in: sessions of the view's owner. What of the user's runs here (constants that are
 * folded, the first row, triggers of TRUNCATE) runs as the owner, in a restricted
 * operation, under the settings of the view.
 */
#include "postgres.h"

#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "base/compat.h"
#include "base/shmem.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "checkpoint/checkpoint.h"
#include "commands/tablecmds.h"
#include "ddl/ddl_internal.h"
#include "ddl/side_options.h"
#include "ddl/view_settings.h"
#include "funcapi.h"
#include "log/options_mark.h"
#include "log/position.h"
#include "meta/jobs.h"
#include "meta/options.h"
#include "meta/remark.h"
#include "meta/positions.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "plan/plan.h"
#include "rewrite/rewriteHandler.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/tuplestore.h"

SE_FUNCTION_INFO_V1(stream_engine_resume_restored);

/* A view on its way back. */
typedef struct Restored
{
	Oid			view;
	SeJobMeta  *job;
	Query	   *query;
	SeGraph    *graph;			/* as its options are asked for */
	SeGraph    *state_graph;	/* and as its state was written: another one if a mark has stayed behind under which
								 * it is to be converted */
	List	   *state_options;	/* of those that are moved */
} Restored;

static bool wants_state(const char *mode);
static void recognise(Oid relation);
static SeJobMeta *dormant_job(Oid view);
static void check_definition(const Restored *restored);
static void plan(Restored *restored);
static void plan_state(Restored *restored);
static void continue_from_state(const Restored *restored, ReturnSetInfo *result);
static void check_positions(const Restored *restored);
static void check_state(const Restored *restored);
static void check_rows(const Restored *restored);
static int64 count_rows(Oid view);
static void refuse(const Restored *restored, char *reason) SE_NORETURN;
static void restart(const Restored *restored, ReturnSetInfo *result);
static void empty_result(Oid view);
static void report(const Restored *restored, bool with_position, ReturnSetInfo *result);

/* resume_restored(view, mode): one row per source, with the place up to which the view reflects it. */
Datum
stream_engine_resume_restored(PG_FUNCTION_ARGS)
{
	Restored	restored = {0};
	bool		with_state;
	Oid			user;
	int			security;
	int			nest_level;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("view and mode of stream_engine.resume_restored must not be null")));
	se_shmem_require();
	PreventCommandIfReadOnly("stream_engine.resume_restored");
	PreventCommandDuringRecovery("stream_engine.resume_restored");
	InitMaterializedSRF(fcinfo, 0);
	with_state = wants_state(text_to_cstring(PG_GETARG_TEXT_PP(1)));
	recognise(PG_GETARG_OID(0));
	restored.view = se_view_require(PG_GETARG_OID(0));
	se_view_check_owner(restored.view);
	restored.job = dormant_job(restored.view);
	check_definition(&restored);

	GetUserIdAndSecContext(&user, &security);
	nest_level = NewGUCNestLevel();
	SetUserIdAndSecContext(se_view_owner(restored.view), security | SECURITY_RESTRICTED_OPERATION);
	se_view_settings_apply(restored.job->settings);
	plan(&restored);
	if (with_state)
		continue_from_state(&restored, (ReturnSetInfo *) fcinfo->resultinfo);
	else
		restart(&restored, (ReturnSetInfo *) fcinfo->resultinfo);
	AtEOXact_GUC(false, nest_level);
	SetUserIdAndSecContext(user, security);

	se_result_table_adopt(restored.view, restored.job->definition, restored.graph);
	se_side_options_apply(NULL, restored.view, restored.job->definition, restored.job->options, restored.graph, false);
	se_jobs_adopt(restored.view);
	se_write_guard_changed(restored.view);
	se_meta_notify_at_commit();
	return (Datum) 0;
}

static bool
wants_state(const char *mode)
{
	if (strcmp(mode, "continue") == 0)
		return true;
	if (strcmp(mode, "restart") == 0)
		return false;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("invalid mode of stream_engine.resume_restored: \"%s\"", mode),
			 errhint("'continue' goes on from the restored results and state; 'restart' empties the view and begins anew.")));
}

bool
se_restore_recognise(Oid table, SeJobMeta *meta)
{
	ListCell   *cell;

	memset(meta, 0, sizeof(SeJobMeta));
	meta->job = table;
	meta->goal = SE_GOAL_RUN;
	meta->definition = se_result_table_definition(table);
	if (get_rel_relkind(meta->definition) != RELKIND_VIEW || !se_remark_read(meta))
		return false;
	foreach(cell, se_jobs_list())
		if (((SeJobMeta *) lfirst(cell))->definition == meta->definition)
		return false;
	return true;
}

/* Let a table that a dump without data has left be a dormant view; nothing happens if it is none. */
static void
recognise(Oid relation)
{
	SeJobMeta	meta;

	if (get_rel_relkind(relation) != RELKIND_RELATION || se_jobs_exists(relation) ||
		!se_restore_recognise(relation, &meta))
		return;
	se_view_check_owner(relation);
	se_jobs_insert(&meta);
}

/* The job, locked so that nobody else resumes or drops it meanwhile. */
static SeJobMeta *
dormant_job(Oid view)
{
	SeJobMeta  *job;

	(void) se_jobs_lock(view, true);
	job = se_jobs_get(view);
	if (job == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("relation with OID %u does not exist any more", view)));
	if (se_jobs_identity_is_ours(job))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("continuous view \"%s\" is not dormant", get_rel_name(view)),
				 errdetail("It was made, or has been resumed, in this database."),
				 errhint("Use stream_engine.start to let a stopped view go on.")));
	return job;
}

/* Dumps of single tables or schemas leave it out; owners may have been restored differently. */
static void
check_definition(const Restored *restored)
{
	if (get_rel_relkind(restored->job->definition) != RELKIND_VIEW)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the query of continuous view \"%s\" was not restored", get_rel_name(restored->view)),
				 errdetail("It is a view in schema stream_engine_definitions, which must be part of the dump."),
				 errhint("Restore that schema too, or drop the view and create it again.")));
	/* Else the query of one role would be run with the rights of another. */
	if (se_view_owner(restored->job->definition) != se_view_owner(restored->view))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the query of continuous view \"%s\" belongs to another role", get_rel_name(restored->view)),
				 errdetail("Its definition belongs to role \"%s\", its result to role \"%s\".",
						   GetUserNameFromId(se_view_owner(restored->job->definition), false),
						   GetUserNameFromId(se_view_owner(restored->view), false)),
				 errhint("If you trust the query, let a superuser use ALTER VIEW ... OWNER TO on the definition, in schema stream_engine_definitions.")));
}

/* As the owner, who must be able to read what the query reads. */
static void
plan(Restored *restored)
{
	Relation	definition = table_open(restored->job->definition, AccessShareLock);

	restored->query = copyObject(get_view_query(definition));
	table_close(definition, NoLock);
	AcquireRewriteLocks(restored->query, true, false);
	se_compat_check_permissions(restored->query);
	restored->graph = se_plan_definition(restored->job->definition, restored->view,
										 restored->job->options);
	plan_state(restored);
}

/*
 * All that was asked for counts from here on; but if it needs the state in another form, that is for the worker to do,
 * at a mark of this log.
 */
static void
plan_state(Restored *restored)
{
	const SeJobMeta *job = restored->job;
	List	   *positions = se_positions_list(restored->view);
	const SePositionMeta *position = positions == NIL ? NULL : linitial(positions);

	restored->state_graph = restored->graph;
	restored->state_options = se_options_moved(job->options);
	if (position == NULL || position->shape == restored->graph->shape)
		return;
	restored->state_options = position->options;
	restored->state_graph = se_plan_definition(job->definition, restored->view,
											   se_options_in_effect(job->options, position->options));
}

static void
continue_from_state(const Restored *restored, ReturnSetInfo *result)
{
	check_positions(restored);
	check_state(restored);
	/* From here on nobody changes the rows: they are counted, and then guarded. */
	LockRelationOid(restored->view, ShareRowExclusiveLock);
	check_rows(restored);
	report(restored, true, result);
	se_start_position_continue(restored->view, restored->state_graph, restored->state_options);
	if (restored->state_graph != restored->graph)
	{
		SeOptionsMark mark = {GetXLogInsertRecPtr(), se_options_moved(restored->job->options)};

		se_options_mark_write(restored->view, &mark);
	}
}

/* Every source of the query has its position, written by the same dataflow. */
static void
check_positions(const Restored *restored)
{
	ListCell   *cell;

	foreach(cell, restored->state_graph->nodes)
	{
		const SeNode *node = lfirst(cell);
		const SePositionMeta *position;

		if (node->kind != SE_NODE_LOG_SOURCE)
			continue;
		position = se_positions_get(restored->view, 0, node->id);
		if (position == NULL)
			refuse(restored, pstrdup("Its positions in the streams were not restored."));
		if (position->shape != restored->state_graph->shape)
			refuse(restored, pstrdup("Its state was written on another kind of machine, or for a query that is computed differently here."));
	}
}

/* The state is whole, and its bytes mean here what they meant there. */
static void
check_state(const Restored *restored)
{
	const SeJobMeta *job = restored->job;
	const SePositionMeta *position = linitial(se_positions_list(restored->view));
	Oid			type = se_graph_type_with_oids(restored->state_graph);

	if (!se_store_is_complete(restored->view, position->unit, position->chunk_seq))
		refuse(restored, pstrdup("Its state was not restored, or not as a whole."));
	if (position->chunk_seq == 0)
		return;
	if (job->pg_major != SE_COMPAT_PG_MAJOR && se_graph_has_serial_state(restored->state_graph))
		refuse(restored, psprintf("Its state holds what aggregate functions of PostgreSQL %d have serialised, which those of PostgreSQL %d may read differently.",
								  job->pg_major, SE_COMPAT_PG_MAJOR));
	if (!job->kept_oids && OidIsValid(type))
		refuse(restored, psprintf("Its state holds values of type %s, which are stored by OIDs of the database that was dumped.",
								  format_type_be(type)));
}

static void
check_rows(const Restored *restored)
{
	const SePositionMeta *position = linitial(se_positions_list(restored->view));
	int64		nrows = count_rows(restored->view);

	if (nrows != position->result_rows)
		refuse(restored, psprintf("It has %lld rows, and had %lld at the position that was restored.",
								  (long long) nrows, (long long) position->result_rows));
}

static int64
count_rows(Oid view)
{
	Relation	table = table_open(view, NoLock);
	Snapshot	snapshot = RegisterSnapshot(GetLatestSnapshot());
	TableScanDesc scan = se_compat_table_beginscan(table, snapshot);
	TupleTableSlot *slot = table_slot_create(table, NULL);
	int64		nrows = 0;

	while (table_scan_getnextslot(scan, ForwardScanDirection, slot))
	{
		CHECK_FOR_INTERRUPTS();
		nrows++;
	}
	ExecDropSingleTupleTableSlot(slot);
	table_endscan(scan);
	UnregisterSnapshot(snapshot);
	table_close(table, NoLock);
	return nrows;
}

static void
refuse(const Restored *restored, char *reason)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("continuous view \"%s\" cannot continue", get_rel_name(restored->view)),
			 errdetail("%s", reason),
			 errhint("Restore the whole dump, results included; or use 'restart', which empties the view and begins with the next row of its stream.")));
}

/* As if it were created now. */
static void
restart(const Restored *restored, ReturnSetInfo *result)
{
	LockRelationOid(restored->view, AccessExclusiveLock);
	empty_result(restored->view);
	se_store_delete_job(restored->view);
	se_positions_delete(restored->view);
	se_errors_delete(restored->view);
	se_start_position(restored->view, restored->graph, false);
	if (se_first_row_is_due(restored->graph))
		se_first_row_insert(restored->view, restored->query, "");
	report(restored, false, result);
}

/* With PostgreSQL's checks: foreign keys that refer to the result, triggers. */
static void
empty_result(Oid view)
{
	TruncateStmt *stmt = makeNode(TruncateStmt);

	stmt->relations = list_make1(makeRangeVar(get_namespace_name(get_rel_namespace(view)), get_rel_name(view), -1));
	((RangeVar *) linitial(stmt->relations))->inh = false;
	stmt->behavior = DROP_RESTRICT;
	ExecuteTruncate(stmt);
	CommandCounterIncrement();
}

/* One row per source: how far the restored rows reach in the log they came from. */
static void
report(const Restored *restored, bool with_position, ReturnSetInfo *result)
{
	ListCell   *cell;

	foreach(cell, restored->graph->nodes)
	{
		const SeNode *node = lfirst(cell);
		const SePositionMeta *stored;
		SeLogPosition position;
		Datum		values[4] = {0};
		bool		nulls[4] = {false, true, true, true};

		if (node->kind != SE_NODE_LOG_SOURCE)
			continue;
		values[0] = ObjectIdGetDatum(((const SeLogSourceNode *) node)->stream);
		stored = with_position ? se_positions_get(restored->view, 0, node->id) : NULL;
		if (stored != NULL)
		{
			se_position_decode(VARDATA_ANY(stored->position), VARSIZE_ANY_EXHDR(stored->position), &position);
			values[1] = CStringGetTextDatum(se_position_describe(&position));
			values[2] = TimestampTzGetDatum(position.proctime);
			values[3] = TimestampTzGetDatum(position.watermark);
			nulls[1] = false;
			nulls[2] = position.proctime == SE_TIME_MIN;
			nulls[3] = position.watermark == SE_TIME_MIN;
		}
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
}
