/*
 * ddl/misplaced.c
 *		Commands that reach a continuous view by a way that would break it, or do nothing for it.
 *
 * Our options belong to CREATE MATERIALIZED VIEW; with another object PostgreSQL would
 * only say that it does not know the word. A definition view holds the query of a job
 * and is changed with the result alone. Rules would not see what the job writes, and a
 * child table would add rows to the result that are not the query's.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "ddl/ddl_internal.h"
#include "ddl/view_options.h"
#include "meta/jobs.h"
#include "utils/lsyscache.h"

static void check_options(const char *object, List *options);
static void check_alter(const AlterTableStmt *stmt);
static void check_definition(const RangeVar *name);
static void check_parents(List *parents);
static void refuse_parent(const RangeVar *parent);

/* Always false: the statement takes its usual way if it is not refused. */
bool
se_misplaced(SeUtility *utility)
{
	Node	   *statement = utility->pstmt->utilityStmt;

	switch (nodeTag(statement))
	{
		case T_CreateStmt:
			check_options("a table", ((CreateStmt *) statement)->options);
			check_parents(((CreateStmt *) statement)->inhRelations);
			break;
		case T_CreateForeignTableStmt:
			check_parents(((CreateForeignTableStmt *) statement)->base.inhRelations);
			break;
		case T_CreateTableAsStmt:
			if (((CreateTableAsStmt *) statement)->objtype == OBJECT_TABLE)
				check_options("a table", ((CreateTableAsStmt *) statement)->into->options);
			break;
		case T_ViewStmt:
			check_options("a plain view", ((ViewStmt *) statement)->options);
			if (((ViewStmt *) statement)->replace)
				check_definition(((ViewStmt *) statement)->view);
			break;
		case T_RuleStmt:
			{
				RuleStmt   *rule = (RuleStmt *) statement;
				Oid			view = se_view_lookup(rule->relation);

				if (OidIsValid(view))
					ereport(ERROR,
							(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
							 errmsg("continuous view \"%s\" cannot have rules", get_rel_name(view)),
							 errdetail("They rewrite commands, but its rows are not written by commands."),
							 errhint("Use a trigger, which the rows of the view fire.")));
				check_definition(rule->relation);
				break;
			}
		case T_RenameStmt:
			check_definition(((RenameStmt *) statement)->relation);
			break;
		case T_AlterObjectSchemaStmt:
			check_definition(((AlterObjectSchemaStmt *) statement)->relation);
			break;
		case T_AlterTableStmt:
			check_alter((AlterTableStmt *) statement);
			break;
		default:
			break;
	}
	return false;
}

/* Options of stream_engine where they mean nothing. */
static void
check_options(const char *object, List *options)
{
	if (se_view_options_any(options))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s cannot have options of stream_engine", object),
				 errhint("Use CREATE MATERIALIZED VIEW ... WITH (stream_engine.continuous) for a continuous view.")));
}

static void
check_alter(const AlterTableStmt *stmt)
{
	ListCell   *cell;

	foreach(cell, stmt->cmds)
	{
		AlterTableCmd *command = lfirst_node(AlterTableCmd, cell);

		if ((command->subtype == AT_SetRelOptions || command->subtype == AT_ResetRelOptions) &&
			se_view_options_any((List *) command->def) && !OidIsValid(se_view_lookup(stmt->relation)) &&
			OidIsValid(RangeVarGetRelid(stmt->relation, NoLock, true)))
			ereport(ERROR,
					(errcode(ERRCODE_WRONG_OBJECT_TYPE),
					 errmsg("\"%s\" is not a continuous view", stmt->relation->relname),
					 errdetail("Only continuous views have options of stream_engine."),
					 errhint("stream_engine.jobs lists the continuous views of this database.")));
		if (command->subtype == AT_AddInherit)
			refuse_parent(castNode(RangeVar, command->def));
	}
	check_definition(stmt->relation);
}

/* The query of a job that is ours is not touched; one that is dormant may be a dump's. */
static void
check_definition(const RangeVar *name)
{
	Oid			relation;
	ListCell   *cell;

	if (name == NULL || !OidIsValid(se_meta_relation("job_catalog")))
		return;
	relation = RangeVarGetRelid(name, NoLock, true);
	if (!OidIsValid(relation) || get_rel_relkind(relation) != RELKIND_VIEW ||
		get_rel_namespace(relation) != get_namespace_oid("stream_engine_definitions", true))
		return;
	foreach(cell, se_jobs_list())
	{
		const SeJobMeta *job = lfirst(cell);

		if (job->definition == relation && se_jobs_identity_is_ours(job))
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("\"%s\" is the definition of continuous view \"%s\" and cannot be changed",
							get_rel_name(relation), get_rel_name(job->job)),
					 errdetail("The rows of the view, and its state, belong to this query."),
					 errhint("Name the continuous view to rename or move it; for another query create another continuous view.")));
	}
}

static void
check_parents(List *parents)
{
	ListCell   *cell;

	foreach(cell, parents)
		refuse_parent(lfirst_node(RangeVar, cell));
}

static void
refuse_parent(const RangeVar *parent)
{
	Oid			view = se_view_lookup(parent);

	if (OidIsValid(view))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("continuous view \"%s\" cannot have child tables", get_rel_name(view)),
				 errdetail("Their rows would be rows of the view that are not its query's."),
				 errhint("Use CREATE TABLE ... (LIKE %s), and a plain view that is the UNION ALL of both.", get_rel_name(view))));
}
