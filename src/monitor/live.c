/*
 * monitor/live.c
 *		What the job slots say right now, as rows: the functions under the monitoring views.
 *
 * Runs in: sessions. Identity and life of a slot are copied under its lock; counters
 * are read without one, each of them right by itself. As in pg_stat_activity, a role
 * sees everything of the jobs whose result it owns (or has the privileges of the owner),
 * and of all of them with the privileges of pg_read_all_stats; of the others it sees that
 * they are there, and their process.
 *
 * The views themselves (stream_engine--1.0.sql) join this with our catalog tables.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "base/database_slot.h"
#include "base/job_slot.h"
#include "base/se.h"
#include "base/settings.h"
#include "base/shmem.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_class.h"
#include "flow/graph.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "runtime/runtime.h"
#include "source/source.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/pg_lsn.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

SE_FUNCTION_INFO_V1(stream_engine_live_jobs);
SE_FUNCTION_INFO_V1(stream_engine_live_operators);
SE_FUNCTION_INFO_V1(stream_engine_describe_position);
SE_FUNCTION_INFO_V1(stream_engine_wal_needed_from);
SE_FUNCTION_INFO_V1(stream_engine_why_waiting);

#define MAX_COLUMNS 64

/* A row in the making. */
typedef struct Row
{
	int			n;
	Datum		values[MAX_COLUMNS];
	bool		nulls[MAX_COLUMNS];
} Row;

/* Identity and life of a job, copied under the lock. */
typedef struct Life
{
	Oid			job;
	SeJobState	state;
	int			pid;
	uint64		attempt;
	int			failures;
	int64		restart_at;
	int			sqlstate;
	char		error[SE_JOB_ERROR_LEN];
} Life;

static bool copy_life(int i, SeJobSlot **slot, Life *life);
static bool may_see(Oid job);
static void put(Row *row, Datum value);
static void put_null(Row *row);
static void put_stranger(Row *row, const Life *life, int columns);
static void put_pid(Row *row, int pid);
static void put_text(Row *row, const char *value);
static void put_count(Row *row, uint64 value);
static void put_time(Row *row, int64 value);
static void put_duration(Row *row, int64 us);
static void put_lsn(Row *row, uint64 value);
static void put_watermark(Row *row, uint64 value);
static const char *kind_name(uint64 kind);

/* One row per job of this database that has a slot. */
Datum
stream_engine_live_jobs(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;

	se_shmem_require();
	InitMaterializedSRF(fcinfo, 0);
	for (int i = 0; i < se_max_jobs; i++)
	{
		SeJobSlot  *slot;
		Life		life;
		Row			row = {0};

		if (!copy_life(i, &slot, &life))
			continue;
		if (!may_see(life.job))
		{
			put_stranger(&row, &life, result->setDesc->natts);
			tuplestore_putvalues(result->setResult, result->setDesc, row.values, row.nulls);
			continue;
		}
#define COUNTER(c) pg_atomic_read_u64(&slot->counters[c])
		put(&row, ObjectIdGetDatum(life.job));
		put_text(&row, se_job_state_name(life.state));
		put_pid(&row, life.pid);
		put_count(&row, life.attempt);
		put(&row, Int32GetDatum(life.failures));
		put_time(&row, life.state == SE_JOB_RESTARTING ? life.restart_at : 0);
		put_text(&row, life.sqlstate ? unpack_sql_state(life.sqlstate) : NULL);
		put_text(&row, life.error[0] ? life.error : NULL);
		put_lsn(&row, pg_atomic_read_u64(&slot->read_lsn));
		put_lsn(&row, pg_atomic_read_u64(&slot->reflected_lsn));
		put_lsn(&row, pg_atomic_read_u64(&slot->restart_lsn));
		put_lsn(&row, se_database_slot_announced_lsn(MyDatabaseId));
		put_watermark(&row, pg_atomic_read_u64(&slot->watermark));
		put_count(&row, COUNTER(SE_COUNT_ROWS_IN));
		put_count(&row, COUNTER(SE_COUNT_ROWS_OUT));
		put_count(&row, COUNTER(SE_COUNT_ROWS_NOT_TAKEN));
		put_count(&row, COUNTER(SE_COUNT_ROWS_RETIRED));
		put_count(&row, COUNTER(SE_COUNT_LATE_ROWS));
		put_count(&row, COUNTER(SE_COUNT_LATE_PAIRS));
		put_count(&row, COUNTER(SE_COUNT_ERROR_ROWS));
		put_count(&row, COUNTER(SE_COUNT_PENDING_ROWS));
		put_count(&row, COUNTER(SE_COUNT_SKIPPED_TXNS));
		put_count(&row, COUNTER(SE_COUNT_STATE_BYTES));
		put_count(&row, COUNTER(SE_COUNT_STATE_ENTRIES));
		put_count(&row, COUNTER(SE_COUNT_STORED_BYTES));
		put_count(&row, COUNTER(SE_COUNT_COMMITS));
		put_duration(&row, COUNTER(SE_COUNT_COMMIT_US));
		put_count(&row, COUNTER(SE_COUNT_COMMIT_BYTES));
		put_time(&row, COUNTER(SE_COUNT_LAST_COMMIT));
		put_duration(&row, COUNTER(SE_COUNT_LAST_COMMIT_US));
		put_count(&row, COUNTER(SE_COUNT_LAST_COMMIT_BYTES));
		put_duration(&row, COUNTER(SE_COUNT_LATENCY_US));
		put_time(&row, COUNTER(SE_COUNT_SOURCE_TIME));
		put_duration(&row, COUNTER(SE_COUNT_BUSY_US));
		if (pg_atomic_read_u64(&slot->idle_timeout) == 0)
			put_null(&row);
		else
			put(&row, BoolGetDatum(pg_atomic_read_u64(&slot->idle) != 0));
#undef COUNTER
		tuplestore_putvalues(result->setResult, result->setDesc, row.values, row.nulls);
	}
	return (Datum) 0;
}

/* One row per operator (graph node) of those jobs. */
Datum
stream_engine_live_operators(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;

	se_shmem_require();
	InitMaterializedSRF(fcinfo, 0);
	for (int i = 0; i < se_max_jobs; i++)
	{
		SeJobSlot  *slot;
		Life		life;

		if (!copy_life(i, &slot, &life) || !may_see(life.job))
			continue;
		for (int o = 0; o < SE_JOB_MAX_OPERATORS; o++)
		{
			SeOperatorCounters *op = &slot->operators[o];
			uint64		kind = pg_atomic_read_u64(&op->kind);
			Row			row = {0};

			if (kind == 0)
				continue;
			put(&row, ObjectIdGetDatum(life.job));
			put(&row, Int32GetDatum(o));
			put_text(&row, kind_name(kind));
			put_count(&row, pg_atomic_read_u64(&op->rows_in));
			put_count(&row, pg_atomic_read_u64(&op->rows_out));
			put_watermark(&row, pg_atomic_read_u64(&op->watermark));
			put_count(&row, pg_atomic_read_u64(&op->state_bytes));
			put_count(&row, pg_atomic_read_u64(&op->state_entries));
			tuplestore_putvalues(result->setResult, result->setDesc, row.values, row.nulls);
		}
	}
	return (Datum) 0;
}

/* Where reading from a stored position begins; NULL if its source needs no WAL. */
Datum
stream_engine_wal_needed_from(PG_FUNCTION_ARGS)
{
	bytea	   *bytes = PG_GETARG_BYTEA_PP(0);
	XLogRecPtr	from = se_source_needs_wal(VARDATA_ANY(bytes), VARSIZE_ANY_EXHDR(bytes));

	if (from == InvalidXLogRecPtr || from == PG_UINT64_MAX)
		PG_RETURN_NULL();
	PG_RETURN_LSN(from);
}

/* What the server lacks for jobs that have no slot; NULL = nothing. */
Datum
stream_engine_why_waiting(PG_FUNCTION_ARGS)
{
	const char *why;

	se_shmem_require();
	why = se_waiting_why();
	if (why == NULL)
		PG_RETURN_NULL();
	PG_RETURN_TEXT_P(cstring_to_text(why));
}

/* A stored position in the words of its source. */
Datum
stream_engine_describe_position(PG_FUNCTION_ARGS)
{
	bytea	   *bytes = PG_GETARG_BYTEA_PP(0);

	PG_RETURN_TEXT_P(cstring_to_text(se_source_describe(VARDATA_ANY(bytes), VARSIZE_ANY_EXHDR(bytes))));
}

/* Copy identity and life of the i-th slot; false if no job of this database has it. */
static bool
copy_life(int i, SeJobSlot **slot, Life *life)
{
	bool		ours;

	*slot = se_job_slot_at(i);
	LWLockAcquire(se_job_slot_lock(), LW_SHARED);
	ours = (*slot)->in_use && (*slot)->database == MyDatabaseId;
	life->job = (*slot)->job;
	life->state = (*slot)->state;
	life->pid = (*slot)->worker_pid;
	life->attempt = (*slot)->attempt;
	life->failures = (*slot)->failures;
	life->restart_at = (*slot)->restart_at;
	life->sqlstate = (*slot)->error_sqlstate;
	strlcpy(life->error, (*slot)->error, sizeof(life->error));
	LWLockRelease(se_job_slot_lock());

	/* It runs, but nobody keeps its WAL: a restart might not find it. */
	if (ours && life->error[0] == '\0')
		(void) se_database_slot_get_retention(MyDatabaseId, &life->sqlstate, life->error);
	return ours;
}

/* Is the job the current user's, or are all? */
static bool
may_see(Oid job)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(job));
	Oid			owner;

	if (!HeapTupleIsValid(tuple))
		return false;			/* just dropped */
	owner = ((Form_pg_class) GETSTRUCT(tuple))->relowner;
	ReleaseSysCache(tuple);
	return has_privs_of_role(GetUserId(), owner) ||
		has_privs_of_role(GetUserId(), ROLE_PG_READ_ALL_STATS);
}

/* What everybody may know of a job: it is there, in this process. */
static void
put_stranger(Row *row, const Life *life, int columns)
{
	put(row, ObjectIdGetDatum(life->job));
	put_null(row);				/* state */
	put_pid(row, life->pid);
	while (row->n < columns)
		put_null(row);
}

static void
put(Row *row, Datum value)
{
	Assert(row->n < MAX_COLUMNS);
	row->values[row->n++] = value;
}

static void
put_null(Row *row)
{
	Assert(row->n < MAX_COLUMNS);
	row->nulls[row->n++] = true;
}

static void
put_pid(Row *row, int pid)
{
	if (pid != 0)
		put(row, Int32GetDatum(pid));
	else
		put_null(row);
}

static void
put_text(Row *row, const char *value)
{
	if (value == NULL)
		put_null(row);
	else
		put(row, CStringGetTextDatum(value));
}

static void
put_count(Row *row, uint64 value)
{
	put(row, Int64GetDatum((int64) value));
}

/* A moment; 0 = it has not come yet. */
static void
put_time(Row *row, int64 value)
{
	if (value == 0)
		put_null(row);
	else
		put(row, TimestampTzGetDatum(value));
}

static void
put_duration(Row *row, int64 us)
{
	Interval   *interval = palloc0(sizeof(Interval));

	interval->time = us;
	put(row, IntervalPGetDatum(interval));
}

static void
put_lsn(Row *row, uint64 value)
{
	if (value == InvalidXLogRecPtr)
		put_null(row);
	else
		put(row, LSNGetDatum(value));
}

/* SE_TIME_MAX is 'infinity' as it is; SE_TIME_MIN says that there is none. */
static void
put_watermark(Row *row, uint64 value)
{
	if ((SeTime) value == SE_TIME_MIN)
		put_null(row);
	else
		put(row, TimestampTzGetDatum((SeTime) value));
}

static const char *
kind_name(uint64 kind)
{
	switch ((SeNodeKind) kind)
	{
		case SE_NODE_LOG_SOURCE:
			return "stream source";
		case SE_NODE_CALC:
			return "calc";
		case SE_NODE_WINDOW_EXPAND:
			return "window expand";
		case SE_NODE_WINDOW_AGG:
			return "window aggregate";
		case SE_NODE_SESSION_AGG:
			return "session aggregate";
		case SE_NODE_COUNT_AGG:
			return "count aggregate";
		case SE_NODE_GROUP_AGG:
			return "group aggregate";
		case SE_NODE_TABLE_SINK:
			return "table sink";
	}
	return "unknown";
}
