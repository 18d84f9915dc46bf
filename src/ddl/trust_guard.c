/*
 * ddl/trust_guard.c
 *		Refuses what would make a job run code, or a query, that the view's owner did not choose.
 *
 * A job writes its result as the owner, all the time. Of an ordinary table the TRIGGER
 * privilege is enough to put a trigger on it, and GRANT ALL gives it away: here that
 * would be to act as the owner. So a trigger takes the owner; on a table of late rows, too.
 *
 * A rule would never be seen by the job, which writes below the rewriter; a rule
 * ON SELECT would turn the table into a view. The definition view is the job's: its query
 * is what result and state agree with, so it is changed by nobody, its owner included.
 *
 * Runs in: sessions, before the statement takes its usual way. What is checked by name is
 * checked by PostgreSQL again: a name that meanwhile means something else gains nothing,
 * because only an owner can rename a view.
 */
#include "postgres.h"

#include "base/compat.h"
#include "base/fault.h"
#include "catalog/namespace.h"
#include "catalog/partition.h"
#include "ddl/ddl_internal.h"
#include "meta/jobs.h"
#include "meta/late_output.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"

static void check_trigger(Oid view);
static void check_late_trigger(const RangeVar *name);
static void refuse_rule(Oid view);
static void check_not_definition(const RangeVar *name);

/* Never does the statement itself: raises, or lets it pass. */
bool
se_trust_guard(SeUtility *utility)
{
	Node	   *statement = utility->pstmt->utilityStmt;
	const RangeVar *name = NULL;

	if (!OidIsValid(se_meta_relation("job_catalog")))
		return false;
	switch (nodeTag(statement))
	{
		case T_CreateTrigStmt:
			name = ((CreateTrigStmt *) statement)->relation;
			check_trigger(se_view_lookup(name));
			check_late_trigger(name);
			break;
		case T_RuleStmt:
			name = ((RuleStmt *) statement)->relation;
			refuse_rule(se_view_lookup(name));
			break;
		case T_ViewStmt:
			if (((ViewStmt *) statement)->replace)
				name = ((ViewStmt *) statement)->view;
			break;
		case T_AlterTableStmt:
			name = ((AlterTableStmt *) statement)->relation;
			break;
		case T_AlterObjectSchemaStmt:
			name = ((AlterObjectSchemaStmt *) statement)->relation;
			break;
		case T_RenameStmt:
			name = ((RenameStmt *) statement)->relation;
			break;
		default:
			break;
	}
	if (name != NULL)
		check_not_definition(name);
	return false;
}

static void
check_trigger(Oid view)
{
	if (OidIsValid(view) && !se_compat_owns_relation(view, GetUserId()) && !SE_FAULT_WRONG("wrong-trigger-of-anybody"))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("must be owner of continuous view \"%s\" to create a trigger on it", get_rel_name(view)),
				 errdetail("The view's job writes its rows, and so runs its triggers, as the owner."),
				 errhint("Let the owner create the trigger; the privilege TRIGGER is not enough here.")));
}

/* Late rows are written as the view's owner, who may have given the privilege away as lightly. */
static void
check_late_trigger(const RangeVar *name)
{
	Oid			table = RangeVarGetRelid(name, NoLock, true);
	List	   *tables;
	ListCell   *cell;

	if (!OidIsValid(table) || se_compat_owns_relation(table, GetUserId()))
		return;
	/* Rows of a partitioned table are written into its partitions. */
	tables = get_rel_relispartition(table) ? get_partition_ancestors(table) : NIL;
	tables = lappend_oid(tables, table);
	foreach(cell, se_jobs_list())
	{
		SeJobMeta  *job = lfirst(cell);

		if (list_member_oid(tables, se_late_output_dependency(job->definition)))
			ereport(ERROR,
					(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
					 errmsg("must be owner of table \"%s\" to create a trigger on it", get_rel_name(table)),
					 errdetail("Late rows of continuous view \"%s\" are written into it, which runs its triggers as the owner of the view.",
							   get_rel_name(job->job)),
					 errhint("Let the owner create the trigger; the privilege TRIGGER is not enough here.")));
	}
}

static void
refuse_rule(Oid view)
{
	if (OidIsValid(view))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("continuous view \"%s\" cannot have rules", get_rel_name(view)),
				 errdetail("Its rows are written by its job, to which rules do not apply."),
				 errhint("Use a trigger, or an ordinary view over the continuous view.")));
}

/* Raise if the name is that of a definition view which a job of this database has; of a dormant one it is compared later. */
static void
check_not_definition(const RangeVar *name)
{
	Oid			relation = RangeVarGetRelid(name, NoLock, true);
	ListCell   *cell;

	if (!OidIsValid(relation) ||
		get_rel_namespace(relation) != get_namespace_oid(SE_DEFINITIONS_SCHEMA, true))
		return;
	foreach(cell, se_jobs_list())
	{
		SeJobMeta  *job = lfirst(cell);

		if (job->definition == relation && se_jobs_identity_is_ours(job))
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("\"%s\" is the definition of continuous view \"%s\" and cannot be changed",
							get_rel_name(relation), get_rel_name(job->job)),
					 errdetail("The view's result and state belong to this query."),
					 errhint("Alter the continuous view, or drop it and create it again.")));
	}
}
