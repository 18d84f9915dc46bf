/*
 * ddl/stream_children.c
 *		A stream that continuous views read gets no children.
 *
 * The same SELECT would return the children's rows, and a view cannot read them. Who
 * says FROM ONLY does not mean them.
 *
 * Runs in: sessions, in the object access hook, while a relation becomes a child; the
 * command has locked both.
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/pg_class.h"
#include "ddl/ddl_internal.h"
#include "log/stream.h"
#include "meta/jobs.h"
#include "plan/plan.h"
#include "rewrite/rewriteHandler.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

static bool reads_with_children(Oid definition, Oid stream);
static bool names_with_children(Oid view, Oid stream);

void
se_stream_children_check(Oid parent)
{
	ListCell   *cell;

	if (get_rel_relkind(parent) != RELKIND_FOREIGN_TABLE || !se_stream_is(parent))
		return;
	PushActiveSnapshot(GetTransactionSnapshot());
	foreach(cell, se_jobs_list())
	{
		const SeJobMeta *job = lfirst(cell);

		if (reads_with_children(job->definition, parent))
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("stream \"%s\" cannot have child tables because continuous view \"%s\" reads it",
							get_rel_name(parent), get_rel_name(job->job)),
					 errdetail("Its query would have the rows of children, too, which a continuous view cannot read."),
					 errhint("Make the view over ONLY %s first.", get_rel_name(parent))));
	}
	PopActiveSnapshot();
}

/* Does the query of a view, or a plain view that it reads, name the stream without ONLY? */
static bool
reads_with_children(Oid definition, Oid stream)
{
	ListCell   *cell;

	foreach(cell, se_plan_relations_of(definition))
		if (get_rel_relkind(lfirst_oid(cell)) == RELKIND_VIEW && names_with_children(lfirst_oid(cell), stream))
		return true;
	return false;
}

static bool
names_with_children(Oid view, Oid stream)
{
	Relation	relation = try_relation_open(view, AccessShareLock);
	bool		names = false;
	ListCell   *cell;

	if (relation == NULL)
		return false;
	if (relation->rd_rules != NULL)
	{
		foreach(cell, get_view_query(relation)->rtable)
		{
			const RangeTblEntry *rte = lfirst_node(RangeTblEntry, cell);

			names |= rte->rtekind == RTE_RELATION && rte->relid == stream && rte->inh;
		}
	}
	relation_close(relation, NoLock);
	return names;
}
