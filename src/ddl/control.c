/*
 * ddl/control.c
 *		stream_engine.stop, start, wait_for, wait_state, delete_dead_letters: a person's hand on a continuous view.
 *
 * stop and start change what is wanted, in the caller's transaction; the coordinator
 * is told at commit and does it. They never wait for a worker: wait_state does,
 * in a transaction of its own.
 */
#include "postgres.h"

#include "access/xlog.h"
#include "catalog/objectaddress.h"
#include "base/compat.h"
#include "base/job_slot.h"
#include "base/se.h"
#include "base/shmem.h"
#include "ddl/ddl_internal.h"
#include "flow/row.h"
#include "log/retention.h"
#include "log/stream.h"
#include "meta/dead_letters.h"
#include "meta/jobs.h"
#include "meta/positions.h"
#include "miscadmin.h"
#include "runtime/runtime.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/pg_lsn.h"
#include "utils/timestamp.h"

static Oid	view_argument(FunctionCallInfo fcinfo);
static int64 timeout_argument(FunctionCallInfo fcinfo, int arg);
static void add_skip(Oid view, const char *text);
static void check_has_no_worker(Oid view);
static void check_is_ours(Oid view);
static SeJobState state_argument(const char *name);

SE_FUNCTION_INFO_V1(stream_engine_stop);

/* stop(view): the job commits what it has and ends; its position and state stay. */
Datum
stream_engine_stop(PG_FUNCTION_ARGS)
{
	Oid			view = view_argument(fcinfo);

	PreventCommandIfReadOnly("stream_engine.stop");
	se_view_check_owner(view);
	se_jobs_set_goal(view, SE_GOAL_STOP);
	se_meta_notify_at_commit();
	PG_RETURN_VOID();
}

SE_FUNCTION_INFO_V1(stream_engine_start);

/* start(view, skip): the job goes on where it stopped, leaving out one row if asked. */
Datum
stream_engine_start(PG_FUNCTION_ARGS)
{
	Oid			view;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	view = view_argument(fcinfo);
	PreventCommandIfReadOnly("stream_engine.start");
	se_view_check_owner(view);
	check_is_ours(view);
	se_jobs_set_goal(view, SE_GOAL_RUN);
	if (!PG_ARGISNULL(1))
		add_skip(view, text_to_cstring(PG_GETARG_TEXT_PP(1)));
	se_meta_notify_at_commit();
	PG_RETURN_VOID();
}

SE_FUNCTION_INFO_V1(stream_engine_delete_dead_letters);

/* delete_dead_letters(view or stream, up_to): all its letters, or those with an id up to the given one; how many. */
Datum
stream_engine_delete_dead_letters(PG_FUNCTION_ARGS)
{
	Oid			relation;
	char	   *name;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	relation = PG_GETARG_OID(0);
	name = get_rel_name(relation);
	PreventCommandIfReadOnly("stream_engine.delete_dead_letters()");
	if (name == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation with OID %u does not exist", relation)));
	if (!se_jobs_exists(relation) && !se_stream_is(relation))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is neither a stream nor a continuous view", name),
				 errhint("stream_engine.dead_letters says of each row whose it is: of its view, or, without one, of its stream.")));
	if (!se_compat_owns_relation(relation, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, get_relkind_objtype(get_rel_relkind(relation)), name);
	PG_RETURN_INT64(se_dead_letters_delete_up_to(relation, PG_ARGISNULL(1) ? PG_INT64_MAX : PG_GETARG_INT64(1)));
}

SE_FUNCTION_INFO_V1(stream_engine_wait_for);

/* wait_for(view, lsn, timeout): returns when all that committed before lsn is reflected. */
Datum
stream_engine_wait_for(PG_FUNCTION_ARGS)
{
	Oid			view;
	XLogRecPtr	lsn;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		PG_RETURN_NULL();
	view = view_argument(fcinfo);
	lsn = PG_GETARG_LSN(1);
	PreventCommandDuringRecovery("stream_engine.wait_for");
	if (pg_class_aclcheck(view, GetUserId(), ACL_SELECT) != ACLCHECK_OK)
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_MATVIEW, get_rel_name(view));

	se_view_check_not_new(view);

	/* Readable is what is flushed, in whole records: the place may lie in one that is so in part. */
	if (lsn <= GetXLogInsertRecPtr())
		se_retention_flush_all();
	se_wait_reflected(view, NULL, lsn, timeout_argument(fcinfo, 2), true);
	PG_RETURN_VOID();
}

SE_FUNCTION_INFO_V1(stream_engine_wait_state);

/* wait_state(view, state, timeout): returns when the job is in that state. */
Datum
stream_engine_wait_state(PG_FUNCTION_ARGS)
{
	Oid			view;
	SeJobState	state;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		PG_RETURN_NULL();
	view = view_argument(fcinfo);
	state = state_argument(text_to_cstring(PG_GETARG_TEXT_PP(1)));
	PreventCommandDuringRecovery("stream_engine.wait_state");
	se_view_check_watch(view);
	se_view_check_not_changed(view);
	se_wait_state(view, state, timeout_argument(fcinfo, 2));
	PG_RETURN_VOID();
}

/* The continuous view of the first argument. */
static Oid
view_argument(FunctionCallInfo fcinfo)
{
	se_shmem_require();
	return se_view_require(PG_GETARG_OID(0));
}

/* A timeout in milliseconds, -1 for NULL. */
static int64
timeout_argument(FunctionCallInfo fcinfo, int arg)
{
	Interval   *timeout;
	int64		days;
	int64		ms;

	if (PG_ARGISNULL(arg))
		return -1;
	timeout = PG_GETARG_INTERVAL_P(arg);
	days = (int64) timeout->month * DAYS_PER_MONTH + timeout->day;
	ms = days * SECS_PER_DAY * 1000 + timeout->time / 1000;
	if (ms < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("timeout must not be negative")));
	return ms;
}

/*
 * Put a row's place on the list of rows that the job leaves out. The position row
 * belongs to the worker while there is one.
 */
static void
add_skip(Oid view, const char *text)
{
	SePlace		place;
	ListCell   *cell;

	if (!se_place_parse(text, &place))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
				 errmsg("invalid position of a row: \"%s\"", text),
				 errhint("Use the position that stream_engine.errors shows, for example '0/1A2B3C4 +12'.")));
	check_has_no_worker(view);
	foreach(cell, se_positions_list(view))
	{
		SePositionMeta *position = lfirst(cell);

		position->skip = lappend(position->skip, se_place_describe(place));
		se_positions_put(position);
	}
}

/* One that has failed and is about to exit writes nothing any more. */
static void
check_has_no_worker(Oid view)
{
	SeJobSlot  *slot;
	bool		has_worker;

	LWLockAcquire(se_job_slot_lock(), LW_SHARED);
	slot = se_job_slot_find(MyDatabaseId, view);
	has_worker = slot != NULL && slot->worker_pid != 0 && slot->state != SE_JOB_FAILED;
	LWLockRelease(se_job_slot_lock());
	if (has_worker)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("continuous view \"%s\" is running", get_rel_name(view)),
				 errhint("Stop it with stream_engine.stop, and wait with stream_engine.wait_state(view, 'stopped').")));
}

/* A job made in another database has no place in this one's log to go on from. */
static void
check_is_ours(Oid view)
{
	const SeJobMeta *job = se_jobs_get(view);

	if (job != NULL && !se_jobs_identity_is_ours(job))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("continuous view \"%s\" is dormant", get_rel_name(view)),
				 errdetail("It was created in another database, cluster or major version, whose log this one does not have."),
				 errhint("Use stream_engine.resume_restored(view, 'continue'), or 'restart', or drop it.")));
}

/* The state of a name; the error lists the names there are. */
static SeJobState
state_argument(const char *name)
{
	StringInfoData names;

	initStringInfo(&names);
	for (int state = SE_JOB_STARTING; state <= SE_JOB_DORMANT; state++)
	{
		if (strcmp(se_job_state_name(state), name) == 0)
			return state;
		appendStringInfo(&names, "%s%s", names.len > 0 ? ", " : "", se_job_state_name(state));
	}
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("unrecognized state of a continuous view: \"%s\"", name),
			 errhint("The states are: %s.", names.data)));
}
