/*
 * ddl/stored_types.c
 *		Composite types that rows in the log or the state of views hold values of keep their attributes' types.
 *
 * The bytes of a composite value can be read only while its attributes have the types they
 * were written with; read with others they would be taken for pointers. PostgreSQL
 * looks after tables that have such columns, and takes foreign tables for empty. It
 * looks after what a view's query names, too, but a type that is only the result of a
 * function the query calls is not named there, and state may hold such values.
 *
 * Runs in: sessions, in the object access hook, before the change is visible.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "catalog/dependency.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_class.h"
#include "catalog/pg_depend.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_rewrite.h"
#include "catalog/pg_type.h"
#include "ddl/stream_ddl.h"
#include "log/stream.h"
#include "meta/jobs.h"
#include "miscadmin.h"
#include "rewrite/rewriteHandler.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

static Oid	changed_type(Oid relation, AttrNumber attno);
static bool find_holder(Oid class_id, Oid object, ObjectAddresses *seen, ObjectAddress *holder);
static bool is_holder(const FormData_pg_depend *row, ObjectAddresses *seen, ObjectAddress *holder);
static Oid	view_of_rule(Oid rule);
static bool is_view_with_state(Oid definition, ObjectAddress *holder);

void
se_stored_types_check_change(Oid relation, AttrNumber attno)
{
	Oid			old_type = get_atttype(relation, attno);
	Oid			new_type;
	ObjectAddress holder;
	ObjectAddresses *seen = new_object_addresses();

	if (!OidIsValid(old_type) || !OidIsValid(get_rel_type_id(relation)))
		return;
	new_type = changed_type(relation, attno);
	if (!OidIsValid(new_type) || new_type == old_type ||
		!find_holder(TypeRelationId, get_rel_type_id(relation), seen, &holder))
		return;
	if (holder.objectSubId == 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot change the type of \"%s\" of type \"%s\" because continuous view \"%s\" may remember values of it",
						get_attname(relation, attno, false), get_rel_name(relation), get_rel_name(holder.objectId)),
				 errdetail("Its state could not be read any more."),
				 errhint("Add an attribute of the new type, or drop the view first.")));
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("cannot change the type of \"%s\" of type \"%s\" because column \"%s\" of stream \"%s\" holds values of it",
					get_attname(relation, attno, false), get_rel_name(relation),
					get_attname(holder.objectId, holder.objectSubId, false), get_rel_name(holder.objectId)),
			 errdetail("Rows in the log could not be read any more."),
			 errhint("Add an attribute of the new type, or drop the stream's column first.")));
}

/* The type an attribute is being given: the new row is there, but not yet for this command's snapshot. */
static Oid
changed_type(Oid relation, AttrNumber attno)
{
	Relation	attributes = table_open(AttributeRelationId, AccessShareLock);
	Oid			type = InvalidOid;
	ScanKeyData keys[2];
	SysScanDesc scan;
	HeapTuple	tuple;

	ScanKeyInit(&keys[0], Anum_pg_attribute_attrelid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(relation));
	ScanKeyInit(&keys[1], Anum_pg_attribute_attnum, BTEqualStrategyNumber, F_INT2EQ, Int16GetDatum(attno));
	scan = systable_beginscan(attributes, AttributeRelidNumIndexId, true, SnapshotSelf, 2, keys);
	if (HeapTupleIsValid(tuple = systable_getnext(scan)))
		type = ((Form_pg_attribute) GETSTRUCT(tuple))->atttypid;
	systable_endscan(scan);
	table_close(attributes, AccessShareLock);
	return type;
}

/*
 * What holds values of a type, at any depth: a stream's column, or a continuous view
 * (sub-object 0). `object` is the type, or something made of it.
 */
static bool
find_holder(Oid class_id, Oid object, ObjectAddresses *seen, ObjectAddress *holder)
{
	ObjectAddress here;
	Relation	depend;
	ScanKeyData keys[2];
	SysScanDesc scan;
	HeapTuple	tuple;
	bool		found = false;

	check_stack_depth();
	ObjectAddressSet(here, class_id, object);
	if (!OidIsValid(object) || object_address_present(&here, seen))
		return false;
	add_exact_object_address(&here, seen);

	depend = table_open(DependRelationId, AccessShareLock);
	ScanKeyInit(&keys[0], Anum_pg_depend_refclassid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(class_id));
	ScanKeyInit(&keys[1], Anum_pg_depend_refobjid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(object));
	scan = systable_beginscan(depend, DependReferenceIndexId, true, NULL, 2, keys);
	while (!found && HeapTupleIsValid(tuple = systable_getnext(scan)))
		found = is_holder((Form_pg_depend) GETSTRUCT(tuple), seen, holder);
	systable_endscan(scan);
	table_close(depend, AccessShareLock);
	return found;
}

/* The same of one thing that depends on it. */
static bool
is_holder(const FormData_pg_depend *row, ObjectAddresses *seen, ObjectAddress *holder)
{
	Oid			view;

	switch (row->classid)
	{
		case TypeRelationId:	/* array, domain, range */
		case ProcedureRelationId:	/* function that returns it; aggregate of such a function */
		case OperatorRelationId:
			return find_holder(row->classid, row->objid, seen, holder);
		case RewriteRelationId: /* of a definition view, or of a plain view that it may read */
			view = view_of_rule(row->objid);
			return is_view_with_state(view, holder) || find_holder(RelationRelationId, view, seen, holder);
		case RelationRelationId:
			if (row->objsubid == 0)
				return false;
			if (!se_stream_is(row->objid))
				return find_holder(TypeRelationId, get_rel_type_id(row->objid), seen, holder);
			ObjectAddressSubSet(*holder, RelationRelationId, row->objid, row->objsubid);
			return true;
		default:
			return false;
	}
}

/* The relation whose rule it is. */
static Oid
view_of_rule(Oid rule)
{
	Relation	rules = table_open(RewriteRelationId, AccessShareLock);
	Oid			view = InvalidOid;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;

	ScanKeyInit(&key, Anum_pg_rewrite_oid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(rule));
	scan = systable_beginscan(rules, RewriteOidIndexId, true, NULL, 1, &key);
	if (HeapTupleIsValid(tuple = systable_getnext(scan)))
		view = ((Form_pg_rewrite) GETSTRUCT(tuple))->ev_class;
	systable_endscan(scan);
	table_close(rules, AccessShareLock);
	return view;
}

/* Is it the definition of a job that has aggregates or groups?  Then *holder is the view. */
static bool
is_view_with_state(Oid definition, ObjectAddress *holder)
{
	ListCell   *cell;

	foreach(cell, se_jobs_list())
	{
		SeJobMeta  *job = lfirst(cell);
		Relation	view;
		bool		has_state;

		if (job->definition != definition || (view = try_relation_open(definition, AccessShareLock)) == NULL)
			continue;
		has_state = get_view_query(view)->hasAggs || get_view_query(view)->groupClause != NIL;
		relation_close(view, AccessShareLock);
		ObjectAddressSet(*holder, RelationRelationId, job->job);
		return has_state;
	}
	return false;
}
