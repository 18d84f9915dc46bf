/*
 * meta/jobs.c
 *		Catalog table stream_engine.job_catalog: one row per continuous view.
 *
 * Options and settings are stored as "name=value" strings. The streams of a job are
 * not stored: the dependencies of its definition view name them, and follow renames
 * and drops by themselves.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "base/compat.h"
#include "base/database_slot.h"
#include "base/job_slot.h"
#include "catalog/indexing.h"
#include "common/hashfn.h"
#include "meta/jobs.h"
#include "meta/remark.h"
#include "meta/table.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/value.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/pg_lsn.h"
#include "utils/rel.h"

enum
{
	COLUMN_JOB = 1,
	COLUMN_DEFINITION,
	COLUMN_GOAL,
	COLUMN_OPTIONS,
	COLUMN_OPTIONS_LSN,
	COLUMN_SETTINGS,
	COLUMN_SYSTEM_IDENTIFIER,
	COLUMN_DATABASE,
	COLUMN_CATALOG_OID,
	COLUMN_PG_MAJOR,
	COLUMN_OID_SPACE,
	COLUMN_KEPT_OIDS,			/* GENERATED as false: what is not written here says so */
	COLUMNS = COLUMN_KEPT_OIDS
};

static bool notify_at_commit = false;

static SeJobMeta *job_from_tuple(HeapTuple tuple, TupleDesc desc);
static HeapTuple find(Relation table, SeTableScan *scan, Oid job);
static void update_column(Oid job, AttrNumber column, Datum value);

List *
se_jobs_list(void)
{
	List	   *jobs = NIL;
	Relation	table;
	SeTableScan scan;
	HeapTuple	tuple;

	table = se_table_try_open("job_catalog", AccessShareLock);
	if (table == NULL)
		return NIL;
	se_table_scan_begin(&scan, table, 0, NULL);
	while ((tuple = se_table_scan_next(&scan)) != NULL)
		jobs = lappend(jobs, job_from_tuple(tuple, RelationGetDescr(table)));
	se_table_scan_end(&scan);
	table_close(table, AccessShareLock);
	return jobs;
}

SeJobMeta *
se_jobs_get(Oid job)
{
	SeJobMeta  *meta = NULL;
	Relation	table;
	SeTableScan scan;
	HeapTuple	tuple;

	table = se_table_try_open_keys("job_catalog", AccessShareLock);
	if (table == NULL)
		return NULL;
	tuple = find(table, &scan, job);
	if (tuple != NULL)
		se_table_check(table);
	if (tuple != NULL)
		meta = job_from_tuple(tuple, RelationGetDescr(table));
	se_table_scan_end(&scan);
	table_close(table, AccessShareLock);
	return meta;
}

/* The second column, in every build; the others are not looked at. */
Oid
se_jobs_definition(Oid job)
{
	Oid			definition = InvalidOid;
	Relation	table;
	SeTableScan scan;
	HeapTuple	tuple;
	bool		isnull;

	table = se_table_try_open_keys("job_catalog", AccessShareLock);
	if (table == NULL)
		return InvalidOid;
	tuple = find(table, &scan, job);
	if (tuple != NULL)
		definition = DatumGetObjectId(heap_getattr(tuple, COLUMN_DEFINITION, RelationGetDescr(table), &isnull));
	se_table_scan_end(&scan);
	table_close(table, AccessShareLock);
	return definition;
}

bool
se_jobs_exists(Oid job)
{
	Relation	table;
	SeTableScan scan;
	bool		found;

	table = se_table_try_open_keys("job_catalog", AccessShareLock);
	if (table == NULL)
		return false;
	found = find(table, &scan, job) != NULL;
	se_table_scan_end(&scan);
	table_close(table, AccessShareLock);
	return found;
}

bool
se_jobs_is_uncommitted(Oid job)
{
	Relation	table;
	SeTableScan scan;
	HeapTuple	tuple;
	bool		ours;

	table = se_table_try_open_keys("job_catalog", AccessShareLock);
	if (table == NULL)
		return false;
	tuple = find(table, &scan, job);
	ours = tuple != NULL && TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetXmin(tuple->t_data));
	se_table_scan_end(&scan);
	table_close(table, AccessShareLock);
	return ours;
}

void
se_jobs_insert(const SeJobMeta *meta)
{
	Relation	table = se_table_open("job_catalog", RowExclusiveLock);
	Datum		values[COLUMNS];
	bool		nulls[COLUMNS] = {false};
	HeapTuple	tuple;

	values[COLUMN_JOB - 1] = ObjectIdGetDatum(meta->job);
	values[COLUMN_DEFINITION - 1] = ObjectIdGetDatum(meta->definition);
	values[COLUMN_GOAL - 1] = CharGetDatum(meta->goal);
	values[COLUMN_OPTIONS - 1] = se_jobs_pairs_to_datum(meta->options);
	values[COLUMN_OPTIONS_LSN - 1] = LSNGetDatum(meta->options_lsn);
	values[COLUMN_SETTINGS - 1] = se_jobs_pairs_to_datum(meta->settings);
	values[COLUMN_SYSTEM_IDENTIFIER - 1] = Int64GetDatum((int64) meta->system_identifier);
	values[COLUMN_DATABASE - 1] = ObjectIdGetDatum(meta->database);
	values[COLUMN_CATALOG_OID - 1] = ObjectIdGetDatum(meta->catalog_oid);
	values[COLUMN_PG_MAJOR - 1] = Int32GetDatum(meta->pg_major);
	values[COLUMN_OID_SPACE - 1] = Int64GetDatum((int64) meta->oid_space);
	values[COLUMN_KEPT_OIDS - 1] = BoolGetDatum(meta->kept_oids);
	tuple = heap_form_tuple(RelationGetDescr(table), values, nulls);
	CatalogTupleInsert(table, tuple);
	heap_freetuple(tuple);
	table_close(table, RowExclusiveLock);
	se_remark_write(meta);
	CommandCounterIncrement();
}

void
se_jobs_set_goal(Oid job, SeJobGoal goal)
{
	update_column(job, COLUMN_GOAL, CharGetDatum((char) goal));
}

void
se_jobs_set_options(Oid job, List *options, XLogRecPtr lsn)
{
	SeJobMeta  *meta;

	update_column(job, COLUMN_OPTIONS, se_jobs_pairs_to_datum(options));
	update_column(job, COLUMN_OPTIONS_LSN, LSNGetDatum(lsn));
	meta = se_jobs_get(job);
	se_remark_write(meta);
	CacheInvalidateRelcacheByRelid(job);	/* the job's worker looks again */
}

void
se_jobs_delete(Oid job)
{
	if (OidIsValid(se_meta_relation("job_catalog")))
		se_table_delete_all("job_catalog", job);
}

bool
se_jobs_lock(Oid job, bool wait)
{
	Oid			catalog = se_meta_relation("job_catalog");
	LOCKTAG		tag;

	if (!OidIsValid(catalog))
		return false;

	/*
	 * The table first, and to the end: DROP EXTENSION locks it before it asks for the jobs in it, and must not meet
	 * us in between.
	 */
	LockRelationOid(catalog, AccessShareLock);
	if (se_meta_relation("job_catalog") != catalog)
		return false;
	if (wait)
	{
		LockDatabaseObject(catalog, job, 0, ExclusiveLock);
		return true;
	}
	SET_LOCKTAG_OBJECT(tag, MyDatabaseId, catalog, job, 0);
	return LockAcquire(&tag, ExclusiveLock, false, true) != LOCKACQUIRE_NOT_AVAIL;
}

/* Was the row written by this cluster, in this database, for this very table? */
bool
se_jobs_identity_is_ours(const SeJobMeta *meta)
{
	return meta->system_identifier == GetSystemIdentifier() &&
		meta->database == MyDatabaseId &&
		meta->catalog_oid == meta->job &&
		meta->pg_major == SE_COMPAT_PG_MAJOR;
}

void
se_jobs_identify(SeJobMeta *meta)
{
	meta->system_identifier = GetSystemIdentifier();
	meta->database = MyDatabaseId;
	meta->catalog_oid = meta->job;
	meta->pg_major = SE_COMPAT_PG_MAJOR;
	if (!meta->kept_oids)
	{
		uint64		identity[] = {meta->system_identifier, meta->database, meta->job, meta->oid_space};

		meta->oid_space = hash_bytes_extended((unsigned char *) identity, sizeof(identity), 0);
	}
	meta->kept_oids = true;
}

void
se_jobs_adopt(Oid job)
{
	SeJobMeta  *meta = se_jobs_get(job);

	if (meta == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("relation with OID %u is not a continuous view", job)));
	meta->goal = SE_GOAL_RUN;
	se_jobs_identify(meta);
	se_jobs_delete(job);
	se_jobs_insert(meta);
}

const char *
se_jobs_option(const SeJobMeta *meta, const char *name)
{
	ListCell   *cell;

	foreach(cell, meta->options)
	{
		DefElem    *pair = lfirst_node(DefElem, cell);

		if (strcmp(pair->defname, name) == 0)
			return strVal(pair->arg);
	}
	foreach(cell, meta->settings)
	{
		DefElem    *pair = lfirst_node(DefElem, cell);

		if (strcmp(pair->defname, name) == 0)
			return strVal(pair->arg);
	}
	return NULL;
}

void
se_meta_notify_at_commit(void)
{
	notify_at_commit = true;
}

/*
 * After the commit is visible: one of coordinator and launcher is told.  A prepared
 * transaction is told of by whoever commits it (se_meta_notify_at_commit in the session
 * that runs COMMIT PREPARED).
 */
static void
at_transaction_end(XactEvent event, void *arg)
{
	switch (event)
	{
		case XACT_EVENT_COMMIT:
			if (notify_at_commit)
			{
				se_database_slot_wake_coordinator(MyDatabaseId);
				/* A job that has no slot yet may be gone: the coordinator would never take one. */
				se_job_slot_none_free();
			}
			notify_at_commit = false;
			break;
		case XACT_EVENT_ABORT:
		case XACT_EVENT_PREPARE:
			notify_at_commit = false;
			break;
		default:
			break;
	}
}

void
se_meta_init(void)
{
	RegisterXactCallback(at_transaction_end, NULL);
}

static SeJobMeta *
job_from_tuple(HeapTuple tuple, TupleDesc desc)
{
	SeJobMeta  *meta = palloc0(sizeof(SeJobMeta));
	Datum		values[COLUMNS];
	bool		nulls[COLUMNS];

	heap_deform_tuple(tuple, desc, values, nulls);
	meta->job = DatumGetObjectId(values[COLUMN_JOB - 1]);
	meta->definition = DatumGetObjectId(values[COLUMN_DEFINITION - 1]);
	meta->goal = DatumGetChar(values[COLUMN_GOAL - 1]);
	meta->options = se_jobs_pairs_from_strings(se_table_datum_to_strings(values[COLUMN_OPTIONS - 1]));
	meta->options_lsn = DatumGetLSN(values[COLUMN_OPTIONS_LSN - 1]);
	meta->settings = se_jobs_pairs_from_strings(se_table_datum_to_strings(values[COLUMN_SETTINGS - 1]));
	meta->system_identifier = (uint64) DatumGetInt64(values[COLUMN_SYSTEM_IDENTIFIER - 1]);
	meta->database = DatumGetObjectId(values[COLUMN_DATABASE - 1]);
	meta->catalog_oid = DatumGetObjectId(values[COLUMN_CATALOG_OID - 1]);
	meta->pg_major = DatumGetInt32(values[COLUMN_PG_MAJOR - 1]);
	meta->oid_space = (uint64) DatumGetInt64(values[COLUMN_OID_SPACE - 1]);
	meta->kept_oids = DatumGetBool(values[COLUMN_KEPT_OIDS - 1]);
	return meta;
}

/* Begin a scan and return the job's row or NULL; the caller ends the scan. */
static HeapTuple
find(Relation table, SeTableScan *scan, Oid job)
{
	ScanKeyData key;

	se_table_key_oid(&key, COLUMN_JOB, job);
	se_table_scan_begin(scan, table, 1, &key);
	return se_table_scan_next(scan);
}

Datum
se_jobs_pairs_to_datum(List *pairs)
{
	List	   *strings = NIL;
	ListCell   *cell;

	foreach(cell, pairs)
	{
		DefElem    *pair = lfirst_node(DefElem, cell);

		strings = lappend(strings, psprintf("%s=%s", pair->defname, strVal(pair->arg)));
	}
	return se_table_strings_to_datum(strings);
}

/* The name ends at the first '='. */
List *
se_jobs_pairs_from_strings(List *strings)
{
	List	   *pairs = NIL;
	ListCell   *cell;

	foreach(cell, strings)
	{
		char	   *name = lfirst(cell);
		char	   *equals = strchr(name, '=');

		if (equals == NULL)
			continue;
		*equals = '\0';
		pairs = lappend(pairs, makeDefElem(name, (Node *) makeString(equals + 1), -1));
	}
	return pairs;
}

/*
 * Replace one column of a job's row; ERROR if there is no such job. Those who change
 * one row (stop and start, ALTER … SET, a failing worker) come one after the other:
 * each reads it after the one before has ended.
 */
static void
update_column(Oid job, AttrNumber column, Datum value)
{
	Relation	table = se_table_open("job_catalog", RowExclusiveLock);
	Datum		values[COLUMNS] = {0};
	bool		nulls[COLUMNS] = {false};
	bool		replaces[COLUMNS] = {false};
	SeTableScan scan;
	HeapTuple	tuple;

	(void) se_jobs_lock(job, true);
	tuple = find(table, &scan, job);
	if (tuple == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("relation with OID %u is not a continuous view", job)));
	values[column - 1] = value;
	replaces[column - 1] = true;
	tuple = heap_modify_tuple(tuple, RelationGetDescr(table), values, nulls, replaces);
	CatalogTupleUpdate(table, &tuple->t_self, tuple);
	se_table_scan_end(&scan);
	table_close(table, RowExclusiveLock);
	CommandCounterIncrement();
}
