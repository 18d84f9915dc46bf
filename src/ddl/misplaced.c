/*
 * ddl/misplaced.c
 *		Refuses what is said of another object than a continuous view, and options where they mean nothing.
 *
 * Our options belong to CREATE MATERIALIZED VIEW; with another object PostgreSQL would
 * only say that it does not know the word. A child table would add rows to the result
 * that are not the query's.
 */
#include "postgres.h"

#include "catalog/index.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "ddl/ddl_internal.h"
#include "ddl/view_options.h"
#include "meta/jobs.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

static void check_options(const char *object, List *options);
static void check_alter(const AlterTableStmt *stmt);
static void check_indexes(List *names);
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
			break;
		case T_DropStmt:
			if (((DropStmt *) statement)->removeType == OBJECT_INDEX)
				check_indexes(((DropStmt *) statement)->objects);
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
}

/* DROP INDEX: not the one by which the job finds the rows of its groups. */
static void
check_indexes(List *names)
{
	ListCell   *cell;

	if (!OidIsValid(se_meta_relation("job_catalog")))
		return;
	foreach(cell, names)
	{
		Oid			index = RangeVarGetRelid(makeRangeVarFromNameList(lfirst_node(List, cell)), NoLock, true);
		Oid			view = OidIsValid(index) && get_rel_relkind(index) == RELKIND_INDEX ? IndexGetRelation(index, true) : InvalidOid;

		if (OidIsValid(view) && se_jobs_exists(view) && se_result_table_is_key(index))
			ereport(ERROR,
					(errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
					 errmsg("cannot drop index %s because continuous view %s requires it", get_rel_name(index), get_rel_name(view)),
					 errdetail("By this index the rows of a group are found."),
					 errhint("You can drop the continuous view instead.")));
		if (OidIsValid(view) && se_jobs_exists(view) && se_result_retention_is_index(index))
			ereport(ERROR,
					(errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
					 errmsg("cannot drop index %s because continuous view %s requires it", get_rel_name(index), get_rel_name(view)),
					 errdetail("By this index the rows are found that stream_engine.retention deletes."),
					 errhint("Use ALTER MATERIALIZED VIEW %s RESET (stream_engine.retention).",
							 quote_identifier(get_rel_name(view)))));
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
