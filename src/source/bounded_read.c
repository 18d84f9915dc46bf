/*
 * source/bounded_read.c
 *		SELECT on a stream: the scan callbacks of the foreign-data wrapper.
 *
 * A scan returns the rows of all transactions that are committed in the statement's
 * snapshot, in delivery order, as far back as the WAL is there and the stream existed.
 * "Committed up to an LSN" would not do: commit records stand in another order than
 * that in which transactions become visible, so a join with a table would not fit.
 * For the same reason a transaction the snapshot does not see is left out here, where
 * a job would stop and wait. Rows of the own transaction have no commit record yet.
 *
 * Nothing retains WAL for a stream without views; a scan registers a hold, so that at
 * least the slot, where there is one, does not move under it.
 *
 * Runs in: sessions, also on a standby. Memory: a context of the scan, and the reader's.
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "access/transam.h"
#include "access/xlog.h"
#include "access/xlogrecovery.h"
#include "base/compat.h"
#include "base/fault.h"
#include "base/holds.h"
#include "base/shmem.h"
#include "catalog/heap.h"
#include "executor/executor.h"
#include "lib/ilist.h"
#include "log/layout.h"
#include "log/reader.h"
#include "log/retention.h"
#include "log/row_pack.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/planmain.h"
#include "optimizer/restrictinfo.h"
#include "source/bounded_read.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include SE_COMPAT_EXPLAIN_HEADER
#include SE_COMPAT_EXPLAIN_STATE_HEADER

/* What a stream of unknown size is taken for: large enough not to be built into a hash. */
#define ASSUMED_ROWS 100000

/* Bytes between two looks at the end of the log; interrupts are served within. */
#define SCAN_BUDGET (16 * 1024 * 1024)

/* Rows of one layout, taken apart. */
typedef struct Unpack
{
	uint32		layout;
	SeUnpacker *unpacker;
} Unpack;

typedef struct BoundedScan
{
	/* settings */
	Relation	stream;
	Snapshot	snapshot;
	AttrNumber *wanted;			/* by column; 0 = nobody asks for it */
	int			ncolumns;

	/* reading; NULL until the first row is asked for */
	SeLogReader *reader;
	SeHold		hold;
	XLogRecPtr	limit;

	/* the message whose rows are being returned */
	SeLogMessage message;
	const char *cursor;			/* next row; NULL = no message */
	const char *end;
	const Unpack *unpack;

	/* the transaction it belongs to */
	XLogRecPtr	commit_lsn;
	bool		visible;
	List	   *sent_layouts;	/* Unpack: from its layout messages */
	MemoryContext sent_memory;

	/* the stream's */
	List	   *layouts;		/* SeLayout of the catalog */
	List	   *unpacks;		/* Unpack */
	SeTime		proctime;		/* of the last row; never goes back */

	/*
	 * A row's ctid carries its proctime through joins and sorts: block = index into times, offset = number of the
	 * scan. A rescan finds the same times again.
	 */
	OffsetNumber number;
	SeTime	   *times;
	BlockNumber ntimes;			/* of this pass */
	BlockNumber known;			/* of any pass */
	BlockNumber room;
	dlist_node	node;			/* in MyScans */
	MemoryContext memory;
	MemoryContextCallback at_delete;
} BoundedScan;

bool		se_bounded_read_empty = false;

/* The scan whose row was returned last in this backend: proctime() speaks of it. */
static BoundedScan *MyScan = NULL;

/* All scans of this backend that have not ended. */
static dlist_head MyScans = DLIST_STATIC_INIT(MyScans);
static OffsetNumber last_number = 0;

static void estimate_size(PlannerInfo *root, RelOptInfo *rel, Oid stream);
static void make_path(PlannerInfo *root, RelOptInfo *rel, Oid stream);
static ForeignScan *make_plan(PlannerInfo *root, RelOptInfo *rel, Oid stream, ForeignPath *path,
							  List *targets, List *clauses, Plan *outer_plan);
static void begin_scan(ForeignScanState *node, int eflags);
static TupleTableSlot *next_row(ForeignScanState *node);
static void rescan(ForeignScanState *node);
static void end_scan(ForeignScanState *node);
static void explain_scan(ForeignScanState *node, ExplainState *es);
static void start_reading(BoundedScan *scan);
static void stop_reading(BoundedScan *scan);
static bool next_message(BoundedScan *scan);
static void begin_transaction(BoundedScan *scan);
static void note_proctime(BoundedScan *scan);
static void take_layout(BoundedScan *scan);
static const Unpack *find_unpack(BoundedScan *scan, uint32 layout);
static Unpack *make_unpack(BoundedScan *scan, MemoryContext memory, const SeLayout *layout,
						   List *layouts);
static void forget_scan(void *arg);

void
se_bounded_read_fill(FdwRoutine *routine)
{
	routine->GetForeignRelSize = estimate_size;
	routine->GetForeignPaths = make_path;
	routine->GetForeignPlan = make_plan;
	routine->BeginForeignScan = begin_scan;
	routine->IterateForeignScan = next_row;
	routine->ReScanForeignScan = rescan;
	routine->EndForeignScan = end_scan;
	routine->ExplainForeignScan = explain_scan;
	/* No AnalyzeForeignTable: ANALYZE passes a stream over with a warning. */
}

bool
se_bounded_read_proctime(ItemPointer row, SeTime *proctime)
{
	dlist_iter	iter;

	if (row == NULL)
	{
		if (MyScan != NULL)
			*proctime = MyScan->proctime;
		return MyScan != NULL;
	}
	dlist_foreach(iter, &MyScans)
	{
		BoundedScan *scan = dlist_container(BoundedScan, node, iter.cur);

		if (scan->number != ItemPointerGetOffsetNumberNoCheck(row) ||
			ItemPointerGetBlockNumberNoCheck(row) >= scan->known)
			continue;
		*proctime = scan->times[ItemPointerGetBlockNumberNoCheck(row)];
		return true;
	}
	return false;
}

static void
estimate_size(PlannerInfo *root, RelOptInfo *rel, Oid stream)
{
	if (rel->tuples <= 0)
		rel->tuples = ASSUMED_ROWS;
	rel->rows = clamp_row_est(rel->tuples *
							  clauselist_selectivity(root, rel->baserestrictinfo, 0, JOIN_INNER, NULL));
}

/* One path: read everything, filter here. */
static void
make_path(PlannerInfo *root, RelOptInfo *rel, Oid stream)
{
	Cost		startup = rel->baserestrictcost.startup;
	Cost		per_row = cpu_tuple_cost + rel->baserestrictcost.per_tuple;

	add_path(rel, (Path *) se_compat_foreign_scan_path(root, rel, rel->rows, startup,
													   startup + per_row * rel->tuples));
}

/* The plan carries, as a list of integers, the columns somebody asks for; 0 = all. */
static ForeignScan *
make_plan(PlannerInfo *root, RelOptInfo *rel, Oid stream, ForeignPath *path,
		  List *targets, List *clauses, Plan *outer_plan)
{
	Bitmapset  *used = NULL;
	List	   *wanted = NIL;
	int			member = -1;

	clauses = extract_actual_clauses(clauses, false);
	pull_varattnos((Node *) rel->reltarget->exprs, rel->relid, &used);
	pull_varattnos((Node *) clauses, rel->relid, &used);
	while ((member = bms_next_member(used, member)) >= 0)
	{
		AttrNumber	attno = member + FirstLowInvalidHeapAttributeNumber;

		if (attno < 0 && attno != TableOidAttributeNumber &&
			!(attno == SelfItemPointerAttributeNumber && se_proctime_is_used(root->parse)))
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("stream \"%s\" has no system column \"%s\"",
							get_rel_name(stream),
							NameStr(SystemAttributeDefinition(attno)->attname)),
					 errdetail("Rows of a stream are not stored in a table; only tableoid is known of them.")));
		if (attno >= 0)
			wanted = lappend_int(wanted, attno);
	}
	return make_foreignscan(targets, clauses, rel->relid, NIL, wanted, NIL, NIL, outer_plan);
}

static void
begin_scan(ForeignScanState *node, int eflags)
{
	List	   *wanted = ((ForeignScan *) node->ss.ps.plan)->fdw_private;
	TupleDesc	desc = RelationGetDescr(node->ss.ss_currentRelation);
	BoundedScan *scan;
	MemoryContext memory;

	if (eflags & EXEC_FLAG_EXPLAIN_ONLY)
		return;
	memory = AllocSetContextCreate(CurrentMemoryContext, "stream_engine bounded read",
								   ALLOCSET_DEFAULT_SIZES);
	scan = MemoryContextAllocZero(memory, sizeof(BoundedScan));
	scan->memory = memory;
	scan->sent_memory = AllocSetContextCreate(memory, "stream_engine layouts of a transaction",
											  ALLOCSET_SMALL_SIZES);
	scan->stream = node->ss.ss_currentRelation;
	scan->snapshot = node->ss.ps.state->es_snapshot;
	scan->proctime = SE_TIME_MIN;
	scan->ncolumns = desc->natts;
	scan->wanted = MemoryContextAllocZero(memory, sizeof(AttrNumber) * Max(desc->natts, 1));
	for (int i = 0; i < desc->natts; i++)
		if (se_compat_attr_is_stored(TupleDescAttr(desc, i)) &&
			(list_member_int(wanted, i + 1) || list_member_int(wanted, 0)))
			scan->wanted[i] = i + 1;
	last_number = last_number == MaxOffsetNumber ? FirstOffsetNumber : last_number + 1;
	scan->number = last_number;
	dlist_push_head(&MyScans, &scan->node);
	scan->at_delete.func = forget_scan;
	scan->at_delete.arg = scan;
	MemoryContextRegisterResetCallback(memory, &scan->at_delete);
	node->fdw_state = scan;
}

/* Return the next row, its by-reference columns pointing into the message. */
static TupleTableSlot *
next_row(ForeignScanState *node)
{
	BoundedScan *scan = node->fdw_state;
	TupleTableSlot *slot = node->ss.ss_ScanTupleSlot;
	uint8		kind;

	ExecClearTuple(slot);
	if (se_bounded_read_empty)
		return slot;
	if (scan->reader == NULL)
		start_reading(scan);
	while (scan->cursor == NULL || scan->cursor >= scan->end)
	{
		scan->cursor = NULL;
		if (!next_message(scan))
			return slot;
	}

	memset(slot->tts_isnull, true, scan->ncolumns);
	se_row_unpack(scan->unpack->unpacker, &scan->cursor, scan->end,
				  slot->tts_values, slot->tts_isnull, &kind);
	ItemPointerSet(&slot->tts_tid, scan->ntimes - 1, scan->number);
	MyScan = scan;
	return ExecStoreVirtualTuple(slot);
}

static void
rescan(ForeignScanState *node)
{
	stop_reading(node->fdw_state);
}

static void
end_scan(ForeignScanState *node)
{
	if (node->fdw_state == NULL)
		return;
	stop_reading(node->fdw_state);
	MemoryContextDelete(((BoundedScan *) node->fdw_state)->memory);
	node->fdw_state = NULL;
}

static void
explain_scan(ForeignScanState *node, ExplainState *es)
{
	BoundedScan *scan = node->fdw_state;

	ExplainPropertyText("Stream Log", "all that is retained", es);
	if (es->analyze && scan != NULL && scan->reader != NULL)
	{
		SeLogReaderStatus status;

		se_reader_status(scan->reader, &status);
		ExplainPropertyUInteger("WAL Read", "kB", status.bytes_scanned / 1024, es);
		if (status.skipped > 0)
			ExplainPropertyUInteger("Incomplete Transactions Left Out", NULL, status.skipped, es);
	}
}

/* Open the log where the stream's rows may begin, up to what the snapshot may see. */
static void
start_reading(BoundedScan *scan)
{
	Oid			relation = RelationGetRelid(scan->stream);
	MemoryContext old = MemoryContextSwitchTo(scan->memory);
	XLogRecPtr	since = InvalidXLogRecPtr;

	if (scan->layouts == NIL)
		scan->layouts = se_layout_list(relation);
	if (scan->layouts != NIL)
		since = ((SeLayout *) linitial(scan->layouts))->since;
	scan->reader = se_bounded_read_open(scan->memory, list_make1_oid(relation), since, &scan->hold, &scan->limit);
	MemoryContextSwitchTo(old);
}

SeLogReader *
se_bounded_read_open(MemoryContext memory, List *relations, XLogRecPtr since, SeHold *hold, XLogRecPtr *limit)
{
	SeLogPosition position = {0};

	se_shmem_require();

	/* What a snapshot sees may have been committed without a flush. */
	*limit = RecoveryInProgress() ? GetXLogReplayRecPtr(NULL) : se_retention_flush_all();

	/* A checkpoint may remove WAL between a look at it and the hold: look again. */
	for (;;)
	{
		position.restart_lsn = Max(since, se_retention_oldest_lsn());
		*hold = se_hold_register(position.restart_lsn);
		if (se_retention_oldest_lsn() <= position.restart_lsn)
			break;
		se_hold_release(*hold);
		*hold = 0;
		CHECK_FOR_INTERRUPTS();
	}
	return se_reader_open(memory, &position, relations, false);
}

static void
stop_reading(BoundedScan *scan)
{
	if (scan->reader != NULL)
		se_reader_close(scan->reader);
	scan->reader = NULL;
	if (scan->hold != 0)
		se_hold_release(scan->hold);
	scan->hold = 0;
	scan->cursor = NULL;
	scan->commit_lsn = InvalidXLogRecPtr;
	scan->proctime = SE_TIME_MIN;
	scan->ntimes = 0;
	if (MyScan == scan)
		MyScan = NULL;
}

/* Go to the next message with rows the snapshot sees; false at the end. */
static bool
next_message(BoundedScan *scan)
{
	SeLogMessage *message = &scan->message;

	for (;;)
	{
		SeReadResult result = se_reader_next(scan->reader, scan->limit, NULL, SCAN_BUDGET, message);

		if (result == SE_READ_NOTHING)
			return false;
		if (result == SE_READ_AGAIN)
			continue;
		SE_FAULT_POINT("bounded-read-next");
		if (message->header.kind == SE_MESSAGE_MARK)
		{
			/* As for a job: no row behind has less. */
			if (message->header.mark == SE_MARK_TICK || message->header.mark == SE_MARK_IDLE)
				scan->proctime = Max(scan->proctime, se_message_mark_time(&message->header, message->body));
			continue;
		}
		if (message->commit_lsn != scan->commit_lsn)
			begin_transaction(scan);
		if (!scan->visible)
			continue;
		if (message->header.kind == SE_MESSAGE_LAYOUT)
			take_layout(scan);
		else if (message->header.nrows > 0)
			break;
	}

	scan->proctime = Max(scan->proctime, message->header.clock != 0 ?
						 message->header.clock : message->commit_time);
	note_proctime(scan);
	scan->unpack = find_unpack(scan, message->header.layout);
	scan->cursor = message->body;
	scan->end = message->body + message->header.body_len;
	return true;
}

/* The message is the first of another transaction. */
static void
begin_transaction(BoundedScan *scan)
{
	FullTransactionId xid = FullTransactionIdFromU64(scan->message.header.top_xid);

	scan->commit_lsn = scan->message.commit_lsn;
	scan->visible = !IsMVCCSnapshot(scan->snapshot) ||
		!XidInMVCCSnapshot(XidFromFullTransactionId(xid), scan->snapshot);
	scan->sent_layouts = NIL;
	MemoryContextReset(scan->sent_memory);
}

/* Let the rows that follow name scan->proctime by an index. */
static void
note_proctime(BoundedScan *scan)
{
	if (scan->ntimes > 0 && scan->times[scan->ntimes - 1] == scan->proctime)
		return;
	if (scan->ntimes == scan->room)
	{
		BlockNumber room = Max(64, scan->room * 2);

		scan->times = scan->times == NULL ?
			MemoryContextAlloc(scan->memory, room * sizeof(SeTime)) :
			repalloc_huge(scan->times, (Size) room * sizeof(SeTime));
		scan->room = room;
	}
	Assert(scan->ntimes >= scan->known || scan->times[scan->ntimes] == scan->proctime);
	scan->times[scan->ntimes++] = scan->proctime;
	scan->known = Max(scan->known, scan->ntimes);
}

/* A layout that holds for the rest of this transaction. */
static void
take_layout(BoundedScan *scan)
{
	MemoryContext old = MemoryContextSwitchTo(scan->sent_memory);
	SeLayout   *layout = se_layout_decode(scan->message.body, scan->message.header.body_len);
	Unpack	   *unpack;

	layout->id = scan->message.header.layout;
	unpack = make_unpack(scan, scan->sent_memory, layout, scan->layouts);
	scan->sent_layouts = lappend(scan->sent_layouts, unpack);
	MemoryContextSwitchTo(old);
}

static const Unpack *
find_unpack(BoundedScan *scan, uint32 id)
{
	bool		sent = (id & SE_LAYOUT_IN_TRANSACTION) != 0;
	MemoryContext old;
	ListCell   *lc;

	foreach(lc, sent ? scan->sent_layouts : scan->unpacks)
	{
		Unpack	   *unpack = lfirst(lc);

		if (unpack->layout == id)
			return unpack;
	}
	foreach(lc, sent ? NIL : scan->layouts)
	{
		SeLayout   *layout = lfirst(lc);

		if (layout->id != id)
			continue;
		old = MemoryContextSwitchTo(scan->memory);
		scan->unpacks = lappend(scan->unpacks,
								make_unpack(scan, scan->memory, layout, scan->layouts));
		MemoryContextSwitchTo(old);
		return llast(scan->unpacks);
	}
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("rows of stream \"%s\" have an unknown layout", RelationGetRelationName(scan->stream)),
			 errdetail("The transaction that committed at %X/%X names layout %u.",
					   LSN_FORMAT_ARGS(scan->commit_lsn), id & ~SE_LAYOUT_IN_TRANSACTION)));
}

static Unpack *
make_unpack(BoundedScan *scan, MemoryContext memory, const SeLayout *layout, List *layouts)
{
	Unpack	   *unpack = MemoryContextAlloc(memory, sizeof(Unpack));

	unpack->layout = layout->id;
	unpack->unpacker = se_row_unpacker_new(memory, layout, layouts, RelationGetDescr(scan->stream),
										   scan->wanted, scan->ncolumns);
	return unpack;
}

/* Callback of the scan's context, also after an error. */
static void
forget_scan(void *arg)
{
	BoundedScan *scan = arg;

	dlist_delete(&scan->node);
	if (MyScan == scan)
		MyScan = NULL;
}
