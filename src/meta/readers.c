/*
 * meta/readers.c
 *		Which jobs read a stream, through whatever plain views.
 *
 * PostgreSQL knows: the rule of a job's definition view depends on what the query reads. The view
 * stream_engine.job_streams says the same in SQL.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_class.h"
#include "catalog/pg_depend.h"
#include "catalog/pg_rewrite.h"
#include "meta/jobs.h"
#include "meta/readers.h"
#include "miscadmin.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

static void add_reads_of_view(Oid view, List **relations);
static void add_reads_of_rule(Oid rule, List **relations);

List *
se_readers_of(Oid stream)
{
	List	   *readers = NIL;
	ListCell   *lc;

	foreach(lc, se_jobs_list())
	{
		SeJobMeta  *job = lfirst(lc);
		List	   *relations = NIL;

		if (!se_jobs_identity_is_ours(job))
			continue;
		add_reads_of_view(job->definition, &relations);
		if (list_member_oid(relations, stream))
			readers = lappend(readers, job);
	}
	return readers;
}

/* What a view's rules read. */
static void
add_reads_of_view(Oid view, List **relations)
{
	Relation	rules = table_open(RewriteRelationId, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;

	check_stack_depth();
	ScanKeyInit(&key, Anum_pg_rewrite_ev_class, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(view));
	scan = systable_beginscan(rules, RewriteRelRulenameIndexId, true, NULL, 1, &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
		add_reads_of_rule(((Form_pg_rewrite) GETSTRUCT(tuple))->oid, relations);
	systable_endscan(scan);
	table_close(rules, AccessShareLock);
}

static void
add_reads_of_rule(Oid rule, List **relations)
{
	Relation	depends = table_open(DependRelationId, AccessShareLock);
	ScanKeyData keys[2];
	SysScanDesc scan;
	HeapTuple	tuple;

	ScanKeyInit(&keys[0], Anum_pg_depend_classid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(RewriteRelationId));
	ScanKeyInit(&keys[1], Anum_pg_depend_objid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(rule));
	scan = systable_beginscan(depends, DependDependerIndexId, true, NULL, 2, keys);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_depend depend = (Form_pg_depend) GETSTRUCT(tuple);

		if (depend->refclassid != RelationRelationId || list_member_oid(*relations, depend->refobjid))
			continue;
		*relations = lappend_oid(*relations, depend->refobjid);
		if (get_rel_relkind(depend->refobjid) == RELKIND_VIEW)
			add_reads_of_view(depend->refobjid, relations);
	}
	systable_endscan(scan);
	table_close(depends, AccessShareLock);
}
