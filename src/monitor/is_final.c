/*
 * monitor/is_final.c
 *		stream_engine.is_final(view, window_end): will rows of a window never change again?
 *
 * The answer is of the same commit as the rows that the query sees: each commit of a view
 * writes, together with its results, up to where its windows are final. So a row that is
 * final in a query is the last word on its group, and no group of its window is missing.
 *
 * What was read is kept for the calls of one query. Runs in: sessions, parallel workers,
 * also on a standby.
 */
#include "postgres.h"

#include "access/table.h"
#include "base/se.h"
#include "catalog/pg_type.h"
#include "meta/jobs.h"
#include "meta/positions.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

/* What a call leaves to those that follow. */
typedef struct Known
{
	Oid			view;
	SeTime		final_to;

	/* the snapshot it was read with */
	TransactionId xmin;
	TransactionId xmax;
	CommandId	curcid;
	uint64		completions;
} Known;

static bool is_known(const Known *known, Oid view, Snapshot snapshot);
static void look_up(Known *known, Oid view, Oid type, Snapshot snapshot);
static void check_type(Oid view, Oid type);

SE_FUNCTION_INFO_V1(stream_engine_is_final);

Datum
stream_engine_is_final(PG_FUNCTION_ARGS)
{
	Oid			view = PG_GETARG_OID(0);
	Snapshot	snapshot = GetActiveSnapshot();
	Known	   *known = fcinfo->flinfo->fn_extra;

	if (known == NULL)
		known = fcinfo->flinfo->fn_extra = MemoryContextAllocZero(fcinfo->flinfo->fn_mcxt, sizeof(Known));
	if (!is_known(known, view, snapshot))
		look_up(known, view, get_fn_expr_argtype(fcinfo->flinfo, 1), snapshot);
	PG_RETURN_BOOL(PG_GETARG_TIMESTAMPTZ(1) <= known->final_to);
}

/* No transaction has ended between two snapshots with the same number of ends; 0 says nothing. */
static bool
is_known(const Known *known, Oid view, Snapshot snapshot)
{
	return known->view == view && snapshot->snapXactCompletionCount != 0 &&
		known->completions == snapshot->snapXactCompletionCount && known->xmin == snapshot->xmin &&
		known->xmax == snapshot->xmax && known->curcid == snapshot->curcid;
}

static void
look_up(Known *known, Oid view, Oid type, Snapshot snapshot)
{
	known->view = InvalidOid;
	if (!se_jobs_exists(view))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a continuous view", get_rel_name(view) ? get_rel_name(view) : "-")));
	if (pg_class_aclcheck(view, GetUserId(), ACL_SELECT) != ACLCHECK_OK)
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_MATVIEW, get_rel_name(view));
	if (!se_positions_final_to(view, snapshot, &known->final_to))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("continuous view \"%s\" has no groups of a window of time", get_rel_name(view)),
				 errdetail("A group without a window changes as long as rows of it come; rows of count_window() and of views without groups never do.")));
	check_type(view, type);
	known->view = view;
	known->xmin = snapshot->xmin;
	known->xmax = snapshot->xmax;
	known->curcid = snapshot->curcid;
	known->completions = snapshot->snapXactCompletionCount;
}

/* A time on a local clock means nothing to a stream of instants, and the other way round. */
static void
check_type(Oid view, Oid type)
{
	Relation	relation = table_open(view, AccessShareLock);
	TupleDesc	desc = RelationGetDescr(relation);
	Oid			other = type == TIMESTAMPOID ? TIMESTAMPTZOID : TIMESTAMPOID;
	bool		has_type = false;
	bool		has_other = false;

	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute attr = TupleDescAttr(desc, i);

		has_type |= !attr->attisdropped && attr->atttypid == type;
		has_other |= !attr->attisdropped && attr->atttypid == other;
	}
	table_close(relation, NoLock);
	if (has_other && !has_type)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("windows of continuous view \"%s\" end at times of type %s, not %s",
						get_rel_name(view), format_type_be(other), format_type_be(type)),
				 errhint("Pass its column window_end as it is.")));
}
