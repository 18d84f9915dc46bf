/*
 * ddl/alter_guard.c
 *		What may be altered about the result of a continuous view, and what follows from it.
 *
 * The job writes the query's columns by position and type, and its state agrees with
 * the rows: whatever would break that is refused where it is asked for, with the
 * reason. Everything else is PostgreSQL's own business: further columns, indexes,
 * constraints, triggers, privileges.
 *
 * SET (stream_engine.…) changes the view's options (alter_options.c). A new owner also
 * owns the definition view.
 */
#include "postgres.h"

#include "base/compat.h"
#include "catalog/pg_class.h"
#include "commands/tablecmds.h"
#include "ddl/ddl_internal.h"
#include "ddl/view_options.h"
#include "meta/jobs.h"
#include "miscadmin.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

/* Forms of ALTER TABLE that a result cannot take, whatever their arguments. */
static const struct
{
	AlterTableType type;
	const char *form;
	const char *reason;
	const char *instead;
}			refused[] =

{
	{AT_SetUnLogged, "SET UNLOGGED", "Its rows become durable together with the view's position in the stream.",
	"Copy them into an unlogged table of your own."},
	{AT_AddInherit, "INHERIT", "Writes to a parent would reach its rows.",
	"Make a plain view that is the UNION ALL of both."},
	{AT_AddOf, "OF", "Its columns are those of the view's query.",
	"Name and cast the columns in the query."},
};

static bool alter_table(SeUtility *utility);
static void check_command(Oid view, const SeJobMeta *job, const AlterTableCmd *command);
static void check_query_column(Oid view, const SeJobMeta *job, const char *column, const char *what);
static void check_constraint(Oid view, const Constraint *constraint);
static void check_attached(const AlterTableStmt *stmt);
static void refuse_deferred(Oid view);
static void refuse_transition_tables(Oid view);
static void take_our_options(SeUtility *utility, Oid view, AlterTableStmt *stmt);
static int	columns_of(Oid relation);

bool
se_alter_guard(SeUtility *utility)
{
	Node	   *statement = utility->pstmt->utilityStmt;

	if (IsA(statement, AlterTableStmt))
		return alter_table(utility);
	if (IsA(statement, CreateTrigStmt))
	{
		CreateTrigStmt *trigger = (CreateTrigStmt *) statement;
		bool		deferred = trigger->isconstraint && trigger->initdeferred;

		if (deferred || trigger->transitionRels != NIL)
		{
			Oid			view = se_view_lookup(trigger->relation);

			if (OidIsValid(view) && deferred)
				refuse_deferred(view);
			if (OidIsValid(view))
				refuse_transition_tables(view);
		}
	}
	return false;
}

static bool
alter_table(SeUtility *utility)
{
	AlterTableStmt *stmt = castNode(AlterTableStmt, utility->pstmt->utilityStmt);
	Oid			view;
	SeJobMeta  *job;
	ListCell   *cell;

	if (stmt->objtype != OBJECT_TABLE)
		return false;
	check_attached(stmt);
	view = se_view_lookup(stmt->relation);
	if (!OidIsValid(view))
		return false;

	job = se_jobs_get(view);
	foreach(cell, stmt->cmds)
		check_command(view, job, lfirst_node(AlterTableCmd, cell));
	stmt = (AlterTableStmt *) se_utility_own(utility);
	take_our_options(utility, view, stmt);
	if (stmt->cmds != NIL)
		se_utility_pass_on(utility);
	if (get_rel_relkind(view) != '\0')
		se_view_follow_owner(view, job->definition);
	return true;
}

static void
check_command(Oid view, const SeJobMeta *job, const AlterTableCmd *command)
{
	ListCell   *cell;

	for (int i = 0; i < lengthof(refused); i++)
		if (command->subtype == refused[i].type)
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("%s is not possible for continuous view \"%s\"", refused[i].form, get_rel_name(view)),
					 errdetail("%s", refused[i].reason),
					 errhint("%s", refused[i].instead)));
	switch (command->subtype)
	{
		case AT_DropColumn:
			check_query_column(view, job, command->name, "dropped");
			break;
		case AT_AlterColumnType:
			check_query_column(view, job, command->name, "given another type");
			break;
		case AT_AddConstraint:
			check_constraint(view, castNode(Constraint, command->def));
			break;
		case AT_AddColumn:
			foreach(cell, castNode(ColumnDef, command->def)->constraints)
				check_constraint(view, lfirst_node(Constraint, cell));
			break;
		case AT_AlterConstraint:
			if (se_compat_alters_to_deferred(command->def))
				refuse_deferred(view);
			break;
		default:
			break;
	}
}

/* The columns of the query come first in the table, and are never dropped. */
static void
check_query_column(Oid view, const SeJobMeta *job, const char *column, const char *what)
{
	AttrNumber	attno = get_attnum(view, column);

	if (attno > 0 && attno <= columns_of(job->definition))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("column \"%s\" of continuous view \"%s\" cannot be %s", column, get_rel_name(view), what),
				 errdetail("It is a column of the view's query."),
				 errhint("Create another continuous view with the columns you want.")));
}

/*
 * A deferred constraint would be checked where the job cannot let it fail; an
 * action of a foreign key would change rows behind the job's back.
 */
static void
check_constraint(Oid view, const Constraint *constraint)
{
	if (constraint->initdeferred || constraint->contype == CONSTR_ATTR_DEFERRED)
		refuse_deferred(view);
	if (constraint->contype == CONSTR_FOREIGN &&
		((constraint->fk_upd_action != FKCONSTR_ACTION_NOACTION && constraint->fk_upd_action != FKCONSTR_ACTION_RESTRICT) ||
		 (constraint->fk_del_action != FKCONSTR_ACTION_NOACTION && constraint->fk_del_action != FKCONSTR_ACTION_RESTRICT)))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("a foreign key of continuous view \"%s\" cannot change its rows", get_rel_name(view)),
				 errhint("Use ON DELETE NO ACTION or RESTRICT, and the same ON UPDATE.")));
}

/* ALTER TABLE parent ATTACH PARTITION v: writes to the parent would reach the result. */
static void
check_attached(const AlterTableStmt *stmt)
{
	ListCell   *cell;

	foreach(cell, stmt->cmds)
	{
		AlterTableCmd *command = lfirst_node(AlterTableCmd, cell);

		if (command->subtype == AT_AttachPartition &&
			OidIsValid(se_view_lookup(castNode(PartitionCmd, command->def)->name)))
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("continuous view \"%s\" cannot be a partition", castNode(PartitionCmd, command->def)->name->relname),
					 errdetail("Writes to the partitioned table would reach its rows."),
					 errhint("Make a plain view that is the UNION ALL of both.")));
	}
}

static void
refuse_deferred(Oid view)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("continuous view \"%s\" cannot have an initially deferred constraint", get_rel_name(view)),
			 errhint("Leave INITIALLY DEFERRED out.")));
}

static void
refuse_transition_tables(Oid view)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("a trigger of continuous view \"%s\" cannot use transition tables", get_rel_name(view)),
			 errdetail("Which rows share a commit is a matter of timing."),
			 errhint("Use a trigger FOR EACH ROW, without REFERENCING.")));
}

/* SET and RESET of stream_engine.*: done here and taken out of the statement. */
static void
take_our_options(SeUtility *utility, Oid view, AlterTableStmt *stmt)
{
	List	   *changes = NIL;
	List	   *left = NIL;
	ListCell   *cell;

	foreach(cell, stmt->cmds)
	{
		AlterTableCmd *command = lfirst_node(AlterTableCmd, cell);
		List	   *with = (List *) command->def;

		if ((command->subtype == AT_SetRelOptions || command->subtype == AT_ResetRelOptions) &&
			se_view_options_any(with))
		{
			List	   *rest;

			if (command->subtype == AT_SetRelOptions)
				changes = list_concat(changes, se_view_options_parse(with, SE_OPTION_ALTER, &rest));
			else
				changes = list_concat(changes, se_view_options_names(with, SE_OPTION_ALTER, &rest));
			if (rest == NIL)
				continue;
			command->def = (Node *) rest;
		}
		left = lappend(left, command);
	}
	stmt->cmds = left;
	if (changes != NIL)
	{
		se_view_check_owner(view);
		se_alter_options(utility, view, changes);
	}
}

/* Columns a relation was created with or has been given. */
static int
columns_of(Oid relation)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relation));
	int			columns = 0;

	if (HeapTupleIsValid(tuple))
	{
		columns = ((Form_pg_class) GETSTRUCT(tuple))->relnatts;
		ReleaseSysCache(tuple);
	}
	return columns;
}

void
se_view_follow_owner(Oid view, Oid definition)
{
	Oid			owner = se_view_owner(view);
	Oid			other = se_view_owner(definition);

	if (OidIsValid(other) && other != owner)
		ATExecChangeOwner(definition, owner, true, AccessExclusiveLock);
}
