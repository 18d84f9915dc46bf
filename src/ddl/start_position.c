/*
 * ddl/start_position.c
 *		Where a continuous view begins to read: at a mark of its own, or as early as the log goes.
 *
 * "now": a start mark is written at a moment when no transaction has the stream open
 * for writing. Every transaction's rows are then wholly before or wholly after the
 * mark, but for the creating transaction, whose xid and ordinal the position keeps
 * (I1, I2). The moment is found without making anybody wait for a long writer: the
 * open writers are waited for holding no lock; then SHARE is taken if it is free. If
 * short writers overlap for ever, it is asked for with a timeout, so that others queue
 * behind us for at most that long. It is released as soon as the mark is written.
 *
 * "earliest": from the oldest place that the slot keeps, but not before the stream was
 * created; transactions that were already writing there are left out whole.
 *
 * A hold keeps the WAL from there on until the end of this transaction, when the
 * position is visible or nobody needs it (I3).
 */
#include "postgres.h"

#include "access/transam.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "base/compat.h"
#include "base/fault.h"
#include "base/holds.h"
#include "ddl/ddl_internal.h"
#include "log/append.h"
#include "log/layout.h"
#include "log/position.h"
#include "log/retention.h"
#include "meta/jobs.h"
#include "meta/options.h"
#include "meta/positions.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "storage/proc.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/resowner.h"

/* Tries to find the stream without writers before others are made to queue. */
#define FREE_TRIES 20
/* How long others may queue behind us, ms: doubled from first to last. */
#define QUEUE_MS_MIN 20
#define QUEUE_MS_MAX 1000

/* This transaction has started a view. */
static bool has_started = false;

static void refuse_prepare(XactEvent event, void *arg);
static void at_mark(Oid stream, SeLogPosition *position);
static void at_oldest(Oid stream, SeLogPosition *position);
static void lock_without_writers(Oid stream);
static bool lock_within(Oid stream, int ms);
static XLogRecPtr created_at(Oid stream);
static bytea *position_bytes(const SeLogPosition *position);
static void give_options(SePositionMeta *meta, List *options);
static void put(Oid job, int source, const SeGraph *graph, const SeLogPosition *position);
static void go_on(Oid job, SeLogSourceNode *node, const SeGraph *graph, List *options);

void
se_start_position_init(void)
{
	RegisterXactCallback(refuse_prepare, NULL);
}

/*
 * A prepared transaction has no session, so nothing would hold its view's WAL until
 * somebody commits it.
 */
static void
refuse_prepare(XactEvent event, void *arg)
{
	if (event == XACT_EVENT_PRE_PREPARE && has_started)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot PREPARE a transaction that has created a continuous view"),
				 errdetail("Only a running transaction keeps the log that the view begins with.")));
	if (event == XACT_EVENT_COMMIT || event == XACT_EVENT_ABORT || event == XACT_EVENT_PREPARE)
		has_started = false;
}

void
se_start_position(Oid job, const SeGraph *graph, bool earliest)
{
	ListCell   *cell;

	has_started = true;
	foreach(cell, graph->nodes)
	{
		SeNode	   *node = lfirst(cell);
		SeLogPosition position;

		if (node->kind != SE_NODE_LOG_SOURCE)
			continue;
		if (earliest)
			at_oldest(((SeLogSourceNode *) node)->stream, &position);
		else
			at_mark(((SeLogSourceNode *) node)->stream, &position);
		if (((SeLogSourceNode *) node)->by_proctime)
			position.flags |= SE_POSITION_PROCTIME;
		put(job, node->id, graph, &position);
	}
}

void
se_start_position_continue(Oid job, const SeGraph *graph, List *options)
{
	ListCell   *cell;

	has_started = true;
	foreach(cell, graph->nodes)
	{
		SeNode	   *node = lfirst(cell);

		if (node->kind == SE_NODE_LOG_SOURCE)
			go_on(job, (SeLogSourceNode *) node, graph, options);
	}
}

/* The place is new, and nothing of the old log is left to be skipped. */
static void
go_on(Oid job, SeLogSourceNode *node, const SeGraph *graph, List *options)
{
	SePositionMeta *meta = se_positions_get(job, 0, node->node.id);
	SeLogPosition old;
	SeLogPosition new;

	Assert(meta != NULL);
	se_position_decode(VARDATA_ANY(meta->position), VARSIZE_ANY_EXHDR(meta->position), &old);
	at_mark(node->stream, &new);
	new.flags |= old.flags & SE_POSITION_PROCTIME;
	new.watermark = old.watermark;
	new.proctime = old.proctime;
	meta->position = position_bytes(&new);
	meta->fingerprint = graph->fingerprint;
	meta->skip = NIL;
	give_options(meta, options);
	se_positions_put(meta);
}

/*
 * The hold is registered before the mark is written, at a place that is not after it,
 * and before the slot is looked after: from then on the slot is not moved past it.
 */
static void
at_mark(Oid stream, SeLogPosition *position)
{
	uint64		xid = U64FromFullTransactionId(GetTopFullTransactionId());
	uint64		ordinal;
	XLogRecPtr	start;
	ResourceOwner owner = CurrentResourceOwner;

	se_hold_register(GetXLogInsertRecPtr());
	se_retention_ensure();
	SE_FAULT_POINT("create-before-mark");

	/* A lock that comes by way of a subtransaction belongs to the transaction's owner. */
	CurrentResourceOwner = CurTransactionResourceOwner;
	lock_without_writers(stream);
	ordinal = se_append_next_ordinal();
	se_mark_write(SE_MARK_START, stream, xid, ordinal, NULL, 0, true, &start);
	UnlockRelationOid(stream, ShareLock);
	CurrentResourceOwner = owner;

	SE_FAULT_POINT("create-after-mark");
	if (SE_FAULT_WRONG("wrong-creator-forgotten"))
		xid = ordinal = 0;
	se_position_at_mark(position, start, xid, ordinal);
}

/* The slot may keep less than is there: it is made to keep all since the stream exists. */
static void
at_oldest(Oid stream, SeLogPosition *position)
{
	XLogRecPtr	created = created_at(stream);
	XLogRecPtr	kept;

	se_hold_register(Max(created, 1));
	kept = se_retention_reach_back(created);
	se_position_at_mark(position, Max(kept, created), 0, 0);
}

/* Take SHARE on the stream, which conflicts with writers, making nobody wait for long. */
static void
lock_without_writers(Oid stream)
{
	LOCKTAG		tag;
	int			ms = QUEUE_MS_MIN;

	SET_LOCKTAG_RELATION(tag, MyDatabaseId, stream);
	for (int tries = 1;; tries++)
	{
		CHECK_FOR_INTERRUPTS();
		WaitForLockers(tag, ShareLock, false);
		if (ConditionalLockRelationOid(stream, ShareLock))
			return;
		if (tries <= FREE_TRIES)
			continue;
		if (lock_within(stream, ms))
			return;
		ms = Min(ms * 2, QUEUE_MS_MAX);
	}
}

/*
 * Wait for the lock in the queue, at most so long; false if it was not to be had. A
 * subtransaction, because running out of time is an error to PostgreSQL. The user's
 * own lock_timeout, if it is shorter, stays an error.
 */
static bool
lock_within(Oid stream, int ms)
{
	MemoryContext memory = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	bool		users_own = LockTimeout > 0 && LockTimeout <= ms;
	volatile bool locked = false;

	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(memory);
	PG_TRY();
	{
		int			nest_level = NewGUCNestLevel();

		if (!users_own)
			(void) set_config_option("lock_timeout", psprintf("%d", ms), PGC_USERSET, PGC_S_SESSION,
									 GUC_ACTION_SAVE, true, 0, false);
		LockRelationOid(stream, ShareLock);
		AtEOXact_GUC(false, nest_level);
		ReleaseCurrentSubTransaction();
		locked = true;
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(memory);
		error = CopyErrorData();
		if (users_own || error->sqlerrcode != ERRCODE_LOCK_NOT_AVAILABLE)
			PG_RE_THROW();
		FlushErrorState();
		FreeErrorData(error);
		RollbackAndReleaseCurrentSubTransaction();
	}
	PG_END_TRY();
	MemoryContextSwitchTo(memory);
	CurrentResourceOwner = owner;
	return locked;
}

/* Where the WAL stood when the stream's first layout was written. */
static XLogRecPtr
created_at(Oid stream)
{
	List	   *layouts = se_layout_list(stream);

	return layouts == NIL ? InvalidXLogRecPtr : ((SeLayout *) linitial(layouts))->since;
}

static bytea *
position_bytes(const SeLogPosition *position)
{
	bytea	   *bytes = palloc(VARHDRSZ + sizeof(SeLogPosition));

	SET_VARSIZE(bytes, VARHDRSZ + sizeof(SeLogPosition));
	memcpy(VARDATA(bytes), position, sizeof(SeLogPosition));
	return bytes;
}

/* From this place on these count; marks of before mean nothing. */
static void
give_options(SePositionMeta *meta, List *options)
{
	meta->options = options;
	meta->options_lsn = GetXLogInsertRecPtr();
}

/* Write the position row of one source of the job's first unit. */
static void
put(Oid job, int source, const SeGraph *graph, const SeLogPosition *position)
{
	SePositionMeta meta = {0};
	int64		lateness;

	meta.windowed = se_graph_is_windowed(graph, &lateness);
	meta.final_to = SE_TIME_MIN;
	meta.job = job;
	meta.source = source;
	meta.position = position_bytes(position);
	meta.fingerprint = graph->fingerprint;
	meta.shape = graph->shape;
	give_options(&meta, se_options_moved(se_jobs_get(job)->options));
	se_positions_put(&meta);
}
