/*
 * monitor/streams.c
 *		What the log holds of each stream: the functions under the view `streams`.
 *
 * Nobody counts rows while they are written: WAL goes away by the segment, and what was in it is forgotten with it.
 * So they are counted by reading, in one pass over the retained WAL for all streams together (about a second per
 * gigabyte), and only when somebody asks for them: the view joins the count in a way that lets the planner leave it out.
 *
 * Runs in: sessions, also on a standby. A role gets the streams it owns (or has the owner's privileges of), and all
 * with those of pg_read_all_stats, as everywhere in monitoring.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "base/se.h"
#include "base/shmem.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_class.h"
#include "funcapi.h"
#include "log/layout.h"
#include "log/retention.h"
#include "log/stream.h"
#include "miscadmin.h"
#include "source/bounded_read.h"
#include "utils/acl.h"
#include "utils/memutils.h"
#include "utils/pg_lsn.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

SE_FUNCTION_INFO_V1(stream_engine_retained_from);
SE_FUNCTION_INFO_V1(stream_engine_count_retained);

/* WAL between two looks at interrupts. */
#define SCAN_BUDGET (16 * 1024 * 1024)

/* What was counted of one stream. */
typedef struct Count
{
	Oid			stream;
	XLogRecPtr	since;			/* rows before it are another stream's, which had the OID */
	uint64		rows;
	uint64		bytes;
	TimestampTz oldest;			/* when the first of them was committed; 0 = no rows */
} Count;

static int	count_streams(Count **counts, List **streams, XLogRecPtr *since);
static void read_log(Count *counts, int ncounts, List *streams, XLogRecPtr since);
static void count_message(Count *counts, int ncounts, const SeLogMessage *message);
static bool may_see(Oid stream);

/* retained_from() → pg_lsn: the oldest WAL that can be read. */
Datum
stream_engine_retained_from(PG_FUNCTION_ARGS)
{
	PG_RETURN_LSN(se_retention_oldest_lsn());
}

/* count_retained() → (stream, rows, bytes, oldest): by the statement's snapshot, one row per stream. */
Datum
stream_engine_count_retained(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	Count	   *counts;
	List	   *streams;
	XLogRecPtr	since;
	int			ncounts;

	InitMaterializedSRF(fcinfo, 0);
	ncounts = count_streams(&counts, &streams, &since);
	if (ncounts > 0)
		read_log(counts, ncounts, streams, since);
	for (int i = 0; i < ncounts; i++)
	{
		Datum		values[4];
		bool		nulls[4] = {false};

		values[0] = ObjectIdGetDatum(counts[i].stream);
		values[1] = Int64GetDatum((int64) counts[i].rows);
		values[2] = Int64GetDatum((int64) counts[i].bytes);
		values[3] = TimestampTzGetDatum(counts[i].oldest);
		nulls[3] = counts[i].rows == 0;
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
	return (Datum) 0;
}

/* The streams to count, all at nothing, and where the oldest of them begins. */
static int
count_streams(Count **counts, List **streams, XLogRecPtr *since)
{
	List	   *all = se_stream_list();
	ListCell   *lc;
	int			n = 0;

	*streams = NIL;
	*since = InvalidXLogRecPtr;
	*counts = palloc0(sizeof(Count) * Max(list_length(all), 1));
	foreach(lc, all)
	{
		Oid			stream = lfirst_oid(lc);
		List	   *layouts;

		if (!may_see(stream) || (layouts = se_layout_list(stream)) == NIL)
			continue;
		(*counts)[n].stream = stream;
		(*counts)[n].since = ((SeLayout *) linitial(layouts))->since;
		*since = n == 0 ? (*counts)[n].since : Min(*since, (*counts)[n].since);
		*streams = lappend_oid(*streams, stream);
		n++;
	}
	return n;
}

static void
read_log(Count *counts, int ncounts, List *streams, XLogRecPtr since)
{
	SeHold		hold;
	XLogRecPtr	limit;
	SeLogReader *reader = se_bounded_read_open(CurrentMemoryContext, streams, since, &hold, &limit);
	SeLogMessage message;
	Snapshot	snapshot = GetActiveSnapshot();

	for (;;)
	{
		SeReadResult read = se_reader_next(reader, limit, NULL, SCAN_BUDGET, &message);

		CHECK_FOR_INTERRUPTS();
		if (read == SE_READ_NOTHING)
			break;
		if (read == SE_READ_MESSAGE && message.header.kind == SE_MESSAGE_ROWS &&
			!XidInMVCCSnapshot(XidFromFullTransactionId(FullTransactionIdFromU64(message.header.top_xid)), snapshot))
			count_message(counts, ncounts, &message);
	}
	se_reader_close(reader);
	se_hold_release(hold);
}

static void
count_message(Count *counts, int ncounts, const SeLogMessage *message)
{
	for (int i = 0; i < ncounts; i++)
	{
		if (counts[i].stream != message->header.relation || message->commit_lsn < counts[i].since)
			continue;
		if (counts[i].rows == 0)
			counts[i].oldest = message->commit_time;
		counts[i].rows += message->header.nrows;
		counts[i].bytes += message->header.body_len;
		return;
	}
}

static bool
may_see(Oid stream)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(stream));
	Oid			owner;

	if (!HeapTupleIsValid(tuple))
		return false;			/* just dropped */
	owner = ((Form_pg_class) GETSTRUCT(tuple))->relowner;
	ReleaseSysCache(tuple);
	return has_privs_of_role(GetUserId(), owner) ||
		has_privs_of_role(GetUserId(), ROLE_PG_READ_ALL_STATS);
}
