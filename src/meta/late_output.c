/*
 * meta/late_output.c
 *		Which table the option late_output means: by its name, and by the dependency on it.
 *
 * The option's text is what a person gave, and what a dump says. A table that was renamed
 * since is the one the definition depends on.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "base/compat.h"
#include "base/fault.h"
#include "catalog/dependency.h"
#include "catalog/indexing.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_depend.h"
#include "catalog/pg_inherits.h"
#include "meta/late_output.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "utils/acl.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/regproc.h"
#include "utils/syscache.h"

static void check_owner(Oid table, Oid owner);

Oid
se_late_output_dependency(Oid definition)
{
	Relation	catalog = table_open(DependRelationId, AccessShareLock);
	ScanKeyData keys[2];
	SysScanDesc scan;
	HeapTuple	tuple;
	Oid			found = InvalidOid;

	ScanKeyInit(&keys[0], Anum_pg_depend_classid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(RelationRelationId));
	ScanKeyInit(&keys[1], Anum_pg_depend_objid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(definition));
	scan = systable_beginscan(catalog, DependDependerIndexId, true, NULL, 2, keys);
	while (!OidIsValid(found) && HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_depend row = (Form_pg_depend) GETSTRUCT(tuple);

		if (row->deptype == DEPENDENCY_NORMAL && row->refclassid == RelationRelationId && row->refobjsubid == 0)
			found = row->refobjid;
	}
	systable_endscan(scan);
	table_close(catalog, AccessShareLock);
	return found;
}

void
se_late_output_depend(Oid definition, Oid table)
{
	Oid			before = se_late_output_dependency(definition);
	ObjectAddress part;
	ObjectAddress whole;

	if (before == table)
		return;
	if (OidIsValid(before))
		(void) deleteDependencyRecordsForSpecific(RelationRelationId, definition, DEPENDENCY_NORMAL,
												  RelationRelationId, before);
	if (OidIsValid(table))
	{
		ObjectAddressSet(part, RelationRelationId, definition);
		ObjectAddressSet(whole, RelationRelationId, table);
		recordDependencyOn(&part, &whole, DEPENDENCY_NORMAL);
	}
	CommandCounterIncrement();
}

Oid
se_late_output_find(Oid definition, const char *value, bool pending)
{
	Oid			table;
	Oid			known;

	if (value == NULL)
		return InvalidOid;
	table = RangeVarGetRelid(makeRangeVarFromNameList(se_compat_qualified_names(value)), NoLock, true);
	known = se_late_output_dependency(definition);
	if (OidIsValid(table) && (table == known || pending || !OidIsValid(known)))
		return table;
	if (OidIsValid(known))
		return known;
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_TABLE),
			 errmsg("table %s of option stream_engine.late_output does not exist", value),
			 errhint("Create it again, or set the option to another table, and use stream_engine.start(view).")));
}

/* Rows of a partitioned table are written into its partitions, which have owners of their own. */
void
se_late_output_check_owner(Relation table, Oid owner)
{
	List	   *parts;
	ListCell   *cell;

	if (SE_FAULT_WRONG("wrong-late-table-of-anybody"))
		return;
	check_owner(RelationGetRelid(table), owner);
	if (table->rd_rel->relkind != RELKIND_PARTITIONED_TABLE)
		return;
	parts = find_all_inheritors(RelationGetRelid(table), NoLock, NULL);
	foreach(cell, parts)
		check_owner(lfirst_oid(cell), owner);
	list_free(parts);
}

static void
check_owner(Oid table, Oid owner)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(table));
	Oid			role;

	if (!HeapTupleIsValid(tuple))
		return;					/* a partition that is gone */
	role = ((Form_pg_class) GETSTRUCT(tuple))->relowner;
	ReleaseSysCache(tuple);
	if (has_privs_of_role(role, owner))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
			 errmsg("late rows cannot go into \"%s\", which belongs to another role", get_rel_name(table)),
			 errdetail("Its triggers, defaults and constraints would run with the rights of role \"%s\", the owner of the view.",
					   GetUserNameFromId(owner, false)),
			 errhint("Use a table of that role, of a member of it, or of a superuser.")));
}
