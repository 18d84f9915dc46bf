/*
 * checkpoint/store.c
 *		The state of a unit as chunks in stream_engine.state_chunks.
 *
 * Runs in: task worker; se_store_delete_job in a session. Our tables are written with
 * heap calls, so that the user who is switched to needs no privilege on them.
 *
 * Chunks are numbered without gaps. The live ones are `oldest` .. `last_seq`; the
 * newest chunk says which the oldest is, so that a restore sees if any is missing at
 * either end or between. What is here in memory runs ahead of a commit that may still
 * fail; a worker whose commit failed starts anew from the table.
 *
 * Reclaim keeps the table small without ever pausing for the whole state. When
 * all chunks hold more than twice what is live (and a bit), a commit takes chunks from
 * the old end: operators mark what of them is still state, the chunks are deleted, and
 * the snapshot of the same commit writes the marked anew. It stops when that is as
 * much as was new in the commit before: write amplification 2. It takes twice what was
 * new, of which at most half is live on average, so the table does not grow; or an
 * eighth of the excess if that is more, since chunks without live records cost next to
 * nothing. The newest chunk always stays.
 *
 * Locks: the result table is locked before any chunk is touched. A DROP holds its
 * lock on that table when it deletes the chunks, so the two never wait for each
 * other's rows.
 */
#include "postgres.h"

#include "checkpoint/checkpoint.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "base/fault.h"
#include "catalog/indexing.h"
#include "checkpoint/chunk.h"
#include "executor/executor.h"
#include "meta/table.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/syscache.h"

enum
{
	COLUMN_JOB = 1,
	COLUMN_UNIT,
	COLUMN_SEQ,
	COLUMN_DATA,
	COLUMNS = COLUMN_DATA
};

/* Chunks written by one multi-insert. */
#define GROUP_CHUNKS	32

/* What a chunk's row takes beside its bytes. */
#define ROW_OVERHEAD	56

/* Garbage that is never worth a reclaim; and the least taken by one. */
#define SLACK_BYTES		(256 * 1024)
#define LEAST_TAKEN		(32 * 1024)

struct SeStore
{
	SeSnapshotWriter writer;	/* first: what operators are given */

	/* identity */
	Oid			job;
	int			unit;

	/* the table, as of the last commit and the one in the making */
	int64		oldest;			/* number of the oldest chunk; last_seq + 1 if none */
	int64		last_seq;
	uint64		total_bytes;	/* of all chunks, rows and all */
	uint64		new_bytes;		/* records of the last commit that were not written anew */
	uint64		last_bytes;		/* all that the last commit wrote here */

	/* a commit in the making */
	bool		committing;
	bool		reclaimed;		/* chunks were deleted: a new one must say so */
	Relation	table;
	CatalogIndexState indexes;
	uint64		appended_bytes; /* records of this commit */
	uint64		marked_bytes;	/* records that reclaim deletes and operators still need */
	uint64		written_bytes;
	SeChunkPacker packer;
	int			nwaiting;
	TupleTableSlot *waiting[GROUP_CHUNKS];	/* chunks for the next multi-insert */

	/* memory */
	MemoryContext memory;		/* life of the store */
	MemoryContext commit;		/* one commit */
	MemoryContext group;		/* the waiting chunks */
};

/* A walk over chunks: the row's bytes, aligned and checked. */
typedef struct ChunkScan
{
	SeTableScan scan;
	Relation	table;
	ItemPointerData tid;
	int64		seq;
	Size		len;
	char	   *bytes;			/* SE_CHUNK_BYTES */
} ChunkScan;

/* To whom unpacked records go. */
typedef struct Delivery
{
	SeOperator **operators;
	int			noperators;
	SeStore    *reclaiming;		/* not NULL: rewrite, else restore */
} Delivery;

static void begin(SeStore *store);
static void append_record(SeSnapshotWriter *writer, int operator_id, const void *bytes, Size len);
static void take_chunk(void *arg, const char *bytes, Size len);
static void write_group(SeStore *store);
static void reclaim(SeStore *store, SeOperator **operators, int noperators, uint64 excess);
static void delete_run(SeStore *store, List *run);
static void deliver(void *arg, int operator_id, const void *record, Size len);
static void ignore(void *arg, int operator_id, const void *record, Size len);
static void chunk_scan_begin(ChunkScan *scan, Relation table, const SeStore *store, int64 from);
static bool chunk_scan_next(ChunkScan *scan);
static void chunk_scan_end(ChunkScan *scan);
static void lock_result(Oid job);
static void incomplete(const SeStore *store, int64 first, int64 last);

/* Open the store of a unit. Reads nothing: se_store_restore does, also for a new unit. */
SeStore *
se_store_open(MemoryContext memory, Oid job, int unit, int64 last_seq)
{
	SeStore    *store = MemoryContextAllocZero(memory, sizeof(SeStore));
	MemoryContext old = MemoryContextSwitchTo(memory);

	store->writer.append = append_record;
	store->job = job;
	store->unit = unit;
	store->last_seq = last_seq;
	store->oldest = last_seq + 1;
	store->memory = memory;
	store->commit = AllocSetContextCreate(memory, "stream_engine commit", ALLOCSET_SMALL_SIZES);
	store->group = AllocSetContextCreate(memory, "stream_engine chunks", ALLOCSET_DEFAULT_SIZES);
	se_chunk_packer_init(&store->packer, take_chunk, store, store->oldest);
	MemoryContextSwitchTo(old);
	return store;
}

/* Give the operators their records back, oldest first, and learn what the table holds. */
void
se_store_restore(SeStore *store, SeOperator **operators, int noperators)
{
	Relation	table = se_table_open("state_chunks", RowExclusiveLock);
	Delivery	delivery = {operators, noperators, NULL};
	SeChunkReader reader;
	ChunkScan	scan;
	int64		next = 0;		/* expected number; 0 = none seen yet */
	int64		said_oldest = 0;
	int			nbeyond = 0;

	store->oldest = store->last_seq + 1;
	store->total_bytes = 0;
	se_chunk_reader_init(&reader, deliver, &delivery);
	chunk_scan_begin(&scan, table, store, 0);
	while (chunk_scan_next(&scan))
	{
		CHECK_FOR_INTERRUPTS();
		if (scan.seq > store->last_seq)
		{
			/* I7: state that no position vouches for. */
			CatalogTupleDelete(table, &scan.tid);
			nbeyond++;
			continue;
		}
		if (next == 0)
			store->oldest = scan.seq;
		else if (scan.seq != next)
			incomplete(store, next, scan.seq - 1);
		next = scan.seq + 1;
		said_oldest = se_chunk_read(&reader, scan.bytes, scan.len);
		store->total_bytes += scan.len + ROW_OVERHEAD;
	}
	chunk_scan_end(&scan);
	table_close(table, NoLock);

	if (store->last_seq > 0 && next == 0)
		incomplete(store, 1, store->last_seq);
	if (next > 0 && next <= store->last_seq)
		incomplete(store, next, store->last_seq);
	if (next > 0 && said_oldest != store->oldest)
		incomplete(store, said_oldest, store->oldest - 1);
	if (reader.partial)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("saved state of unit %d ends within a record", store->unit)));
	if (nbeyond > 0)
		ereport(WARNING,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("deleted %d chunks of saved state that belong to no commit", nbeyond),
				 errdetail("The last chunk of unit %d should be %lld.",
						   store->unit, (long long) store->last_seq)));
}

/* Begin a commit: reclaim, then give the writer for the operators' snapshots. */
SeSnapshotWriter *
se_store_begin(SeStore *store, SeOperator **operators, int noperators, uint64 live_bytes)
{
	begin(store);
	if (store->total_bytes > 2 * live_bytes + SLACK_BYTES)
		reclaim(store, operators, noperators,
				store->total_bytes - 2 * live_bytes - SLACK_BYTES);
	return &store->writer;
}

/* Begin a commit that leaves nothing of what was there. */
SeSnapshotWriter *
se_store_begin_anew(SeStore *store)
{
	ChunkScan	scan;

	begin(store);
	chunk_scan_begin(&scan, store->table, store, store->oldest);
	while (chunk_scan_next(&scan))
	{
		CatalogTupleDelete(store->table, &scan.tid);
		store->reclaimed = true;
		CHECK_FOR_INTERRUPTS();
	}
	chunk_scan_end(&scan);
	store->packer.oldest = store->oldest = store->last_seq + 1;
	store->total_bytes = 0;
	return &store->writer;
}

static void
begin(SeStore *store)
{
	Assert(!store->committing);
	lock_result(store->job);
	store->committing = true;
	store->reclaimed = false;
	store->appended_bytes = 0;
	store->marked_bytes = 0;
	store->written_bytes = 0;
	store->nwaiting = 0;
	store->packer.used = 0;
	store->packer.oldest = store->oldest;

	store->table = se_table_open("state_chunks", RowExclusiveLock);
	store->indexes = NULL;
}

/* Write what is still in memory; returns the number of the newest chunk. */
int64
se_store_finish(SeStore *store)
{
	Assert(store->committing);

	/* Someone must say that the oldest chunks are gone. */
	se_chunk_finish(&store->packer, store->reclaimed);
	write_group(store);
	if (store->indexes)
		CatalogCloseIndexes(store->indexes);
	table_close(store->table, NoLock);
	store->indexes = NULL;
	store->table = NULL;
	MemoryContextReset(store->commit);

	store->new_bytes = store->appended_bytes - Min(store->appended_bytes, store->marked_bytes);
	store->last_bytes = store->written_bytes;
	store->committing = false;
	return store->last_seq;
}

uint64
se_store_last_bytes(const SeStore *store)
{
	return store->last_bytes;
}

uint64
se_store_total_bytes(const SeStore *store)
{
	return store->total_bytes;
}

/* Runs in: the session that resumes a restored job, which has no worker yet. */
bool
se_store_is_complete(Oid job, int unit, int64 last_seq)
{
	SeStore		store = {.job = job,.unit = unit,.last_seq = last_seq};
	Relation	table = se_table_open("state_chunks", AccessShareLock);
	SeChunkReader reader;
	ChunkScan	scan;
	int64		oldest = 0;
	int64		said_oldest = 0;
	int64		next = 0;
	bool		gap = false;

	se_chunk_reader_init(&reader, ignore, NULL);
	chunk_scan_begin(&scan, table, &store, 0);
	while (!gap && chunk_scan_next(&scan) && scan.seq <= last_seq)
	{
		CHECK_FOR_INTERRUPTS();
		gap = next != 0 && scan.seq != next;
		oldest = next == 0 ? scan.seq : oldest;
		next = scan.seq + 1;
		/* a first chunk that continues a record says itself that another is missing */
		gap |= reader.partial == NULL && ((SeChunkHeader *) scan.bytes)->continued != 0;
		if (!gap)
			said_oldest = se_chunk_read(&reader, scan.bytes, scan.len);
	}
	chunk_scan_end(&scan);
	table_close(table, AccessShareLock);
	if (last_seq == 0)
		return next == 0;
	return !gap && next == last_seq + 1 && said_oldest == oldest && reader.partial == NULL;
}

static void
ignore(void *arg, int operator_id, const void *record, Size len)
{
}

/* Runs in: the session that drops the job, with the lock of DROP on its result table. */
void
se_store_delete_job(Oid job)
{
	se_table_delete_all("state_chunks", job);
}

/* The writer's append: a record of an operator's snapshot. */
static void
append_record(SeSnapshotWriter *writer, int operator_id, const void *bytes, Size len)
{
	SeStore    *store = (SeStore *) writer;

	Assert(store->committing);
	store->appended_bytes += len + sizeof(SeRecordHeader);
	se_chunk_add(&store->packer, operator_id, bytes, len);
}

/* A chunk is full: number it and let it wait for its group. */
static void
take_chunk(void *arg, const char *bytes, Size len)
{
	SeStore    *store = arg;
	MemoryContext old;
	Datum		values[COLUMNS];
	bool		nulls[COLUMNS] = {false};
	bytea	   *data;

	if (SE_FAULT_WRONG("wrong-chunk-dropped"))
		return;

	old = MemoryContextSwitchTo(store->group);
	data = palloc(VARHDRSZ + len);
	SET_VARSIZE(data, VARHDRSZ + len);
	memcpy(VARDATA(data), bytes, len);
	values[COLUMN_JOB - 1] = ObjectIdGetDatum(store->job);
	values[COLUMN_UNIT - 1] = Int32GetDatum(store->unit);
	values[COLUMN_SEQ - 1] = Int64GetDatum(++store->last_seq);
	values[COLUMN_DATA - 1] = PointerGetDatum(data);
	store->waiting[store->nwaiting] =
		MakeSingleTupleTableSlot(RelationGetDescr(store->table), &TTSOpsHeapTuple);
	ExecStoreHeapTuple(heap_form_tuple(RelationGetDescr(store->table), values, nulls),
					   store->waiting[store->nwaiting++], false);
	pfree(data);
	MemoryContextSwitchTo(old);

	store->total_bytes += len + ROW_OVERHEAD;
	store->written_bytes += len + ROW_OVERHEAD;
	if (store->nwaiting == GROUP_CHUNKS)
		write_group(store);
}

/* Insert the waiting chunks, one WAL record per page they fill. */
static void
write_group(SeStore *store)
{
	if (store->nwaiting == 0)
		return;
	if (store->indexes == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(store->commit);

		store->indexes = CatalogOpenIndexes(store->table);
		MemoryContextSwitchTo(old);
	}
	CatalogTuplesMultiInsertWithInfo(store->table, store->waiting, store->nwaiting, store->indexes);
	for (int i = 0; i < store->nwaiting; i++)
		ExecDropSingleTupleTableSlot(store->waiting[i]);
	store->nwaiting = 0;
	MemoryContextReset(store->group);
	SE_FAULT_POINT("store-chunk-written");
	CHECK_FOR_INTERRUPTS();
}

/* Take chunks from the old end; see the top of the file for how many. */
static void
reclaim(SeStore *store, SeOperator **operators, int noperators, uint64 excess)
{
	Delivery	delivery = {operators, noperators, store};
	uint64		take = Max(Max(2 * store->new_bytes, excess / 8), LEAST_TAKEN);
	uint64		mark = Max(store->new_bytes, SE_CHUNK_BYTES);
	uint64		taken = 0;
	uint64		run_bytes = 0;	/* of the chunks in `run` */
	int64		newest = store->last_seq;	/* as of the last commit: it stays */
	int64		next = store->oldest;
	List	   *run = NIL;		/* chunks read of which the last record goes on */
	SeChunkReader reader;
	ChunkScan	scan;

	se_chunk_reader_init(&reader, deliver, &delivery);
	chunk_scan_begin(&scan, store->table, store, next);
	while (chunk_scan_next(&scan) && scan.seq < newest)
	{
		if (scan.seq != next)
			incomplete(store, next, scan.seq - 1);
		next++;
		/* A record over several chunks is taken whole or not at all. */
		if (reader.partial == NULL && (taken >= take || store->marked_bytes > mark))
			break;
		se_chunk_read(&reader, scan.bytes, scan.len);
		run = lappend(run, memcpy(palloc(sizeof(ItemPointerData)), &scan.tid, sizeof(ItemPointerData)));
		run_bytes += scan.len + ROW_OVERHEAD;
		if (reader.partial == NULL)
		{
			delete_run(store, run);
			store->packer.oldest = store->oldest = next;
			store->total_bytes -= Min(store->total_bytes, run_bytes);
			taken += run_bytes;
			run_bytes = 0;
			run = NIL;
		}
		SE_FAULT_POINT("store-reclaim");
		CHECK_FOR_INTERRUPTS();
	}
	chunk_scan_end(&scan);
	if (reader.partial)
		pfree(reader.partial);
}

/* Delete chunks whose records have all been shown to their operators. */
static void
delete_run(SeStore *store, List *run)
{
	ListCell   *lc;

	foreach(lc, run)
		CatalogTupleDelete(store->table, lfirst(lc));
	list_free_deep(run);
	store->reclaimed = true;
}

/* A whole record for the operator it names. */
static void
deliver(void *arg, int operator_id, const void *record, Size len)
{
	Delivery   *delivery = arg;
	SeOperator *op = operator_id < delivery->noperators ? delivery->operators[operator_id] : NULL;

	if (op == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("saved state names operator %d, which the query does not have", operator_id)));
	if (delivery->reclaiming == NULL)
		op->ops->restore(op, record, len);
	else
	{
		Size		needed = op->ops->rewrite(op, record, len);

		if (needed > 0)
			delivery->reclaiming->marked_bytes += needed + sizeof(SeRecordHeader);
	}
}

/* Walk the chunks of a unit from a number on, in order. */
static void
chunk_scan_begin(ChunkScan *scan, Relation table, const SeStore *store, int64 from)
{
	ScanKeyData keys[3];

	scan->table = table;
	scan->bytes = palloc(SE_CHUNK_BYTES);
	se_table_key_oid(&keys[0], COLUMN_JOB, store->job);
	se_table_key_int4(&keys[1], COLUMN_UNIT, store->unit);
	ScanKeyInit(&keys[2], COLUMN_SEQ, BTGreaterEqualStrategyNumber, F_INT8GE, Int64GetDatum(from));
	se_table_scan_begin(&scan->scan, table, lengthof(keys), keys);
}

static bool
chunk_scan_next(ChunkScan *scan)
{
	HeapTuple	tuple = se_table_scan_next(&scan->scan);
	Datum		values[COLUMNS];
	bool		nulls[COLUMNS];
	bytea	   *data;

	if (tuple == NULL)
		return false;
	heap_deform_tuple(tuple, RelationGetDescr(scan->table), values, nulls);
	scan->tid = tuple->t_self;
	scan->seq = DatumGetInt64(values[COLUMN_SEQ - 1]);
	data = DatumGetByteaPP(values[COLUMN_DATA - 1]);
	scan->len = VARSIZE_ANY_EXHDR(data);
	if (scan->len > SE_CHUNK_BYTES)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("chunk %lld of saved state is too long", (long long) scan->seq),
				 errdetail("It has %zu bytes of at most %d.", scan->len, SE_CHUNK_BYTES)));
	memcpy(scan->bytes, VARDATA_ANY(data), scan->len);
	if ((Pointer) data != DatumGetPointer(values[COLUMN_DATA - 1]))
		pfree(data);
	return true;
}

static void
chunk_scan_end(ChunkScan *scan)
{
	se_table_scan_end(&scan->scan);
	pfree(scan->bytes);
}

/* Take the lock that orders us with DROP, and see that the table is still there. */
static void
lock_result(Oid job)
{
	LockRelationOid(job, RowExclusiveLock);
	if (!SearchSysCacheExists1(RELOID, ObjectIdGetDatum(job)))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("the result table of the continuous view is gone")));
}

static void
incomplete(const SeStore *store, int64 first, int64 last)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("saved state of unit %d is incomplete", store->unit),
			 errdetail("Chunks %lld to %lld of at most %lld are missing.",
					   (long long) first, (long long) last, (long long) store->last_seq)));
}
