/*
 * ddl/object_access.c
 *		The object access hook: what happens to streams and results, by whatever command.
 *
 * PostgreSQL calls it for every object that a command creates, alters or drops: also by
 * CASCADE, DROP OWNED, through a partitioned parent, from IMPORT FOREIGN SCHEMA. Here
 * nothing looks at the text of a command.
 *
 * A stream is not complete when its relation is created, so created and altered ones
 * are remembered and settled when the utility statement is over.
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/objectaccess.h"
#include "catalog/pg_class.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_foreign_table.h"
#include "catalog/partition.h"
#include "catalog/pg_inherits.h"
#include "ddl/ddl_internal.h"
#include "ddl/stream_check.h"
#include "ddl/stream_ddl.h"
#include "log/stream.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

typedef struct Touched
{
	Oid			relation;
	SeStreamShape *before;		/* NULL = created by the statement */
} Touched;

static object_access_hook_type next_access_hook = NULL;
static List *touched = NIL;		/* Touched *; TopTransactionContext */

static void access_object(ObjectAccessType type, Oid classId, Oid objectId, int subId, void *arg);
static Touched *touch(Oid relation, bool created);
static void touch_constraint(Oid constraint, bool created);
static void touch_partitions(Oid child, Oid parent);
static void forget_touched(XactEvent event, void *arg);

void
se_object_access_init(void)
{
	next_access_hook = object_access_hook;
	object_access_hook = access_object;
	RegisterXactCallback(forget_touched, NULL);
}

static void
access_object(ObjectAccessType type, Oid classId, Oid objectId, int subId, void *arg)
{
	if (next_access_hook)
		next_access_hook(type, classId, objectId, subId, arg);

	if (type == OAT_POST_ALTER || (type == OAT_POST_CREATE && subId != 0))
	{
		ListCell   *cell;

		foreach(cell, se_stream_ddl_altering(classId, objectId, type == OAT_POST_ALTER ? subId : 0))
			touch(lfirst_oid(cell), false);
	}
	if (classId == ConstraintRelationId && (type == OAT_POST_CREATE || type == OAT_POST_ALTER))
		touch_constraint(objectId, type == OAT_POST_CREATE);
	if (classId == InheritsRelationId && type == OAT_POST_ALTER)
	{
		touch_partitions(objectId, ((ObjectAccessPostAlter *) arg)->auxiliary_id);
		se_stream_children_check(((ObjectAccessPostAlter *) arg)->auxiliary_id);
	}
	if (classId != RelationRelationId && classId != ForeignTableRelationId)
		return;
	switch (type)
	{
		case OAT_POST_CREATE:
			touch(objectId, subId == 0);
			break;
		case OAT_POST_ALTER:
			touch(objectId, false);
			break;
		case OAT_DROP:
			if (subId != 0)
			{
				se_stream_ddl_dropping_column(objectId, subId);
				touch(objectId, false);
			}
			else
				se_drop_relation(objectId);
			break;
		case OAT_TRUNCATE:
			se_write_guard_check(objectId);
			break;
		default:
			break;
	}
}

/* Remember a foreign table (its tuple may not be visible yet) to be settled; NULL if it is none. */
static Touched *
touch(Oid relation, bool created)
{
	ListCell   *cell;
	Touched    *item;
	MemoryContext old;

	if (!created && get_rel_relkind(relation) != RELKIND_FOREIGN_TABLE)
		return NULL;
	foreach(cell, touched)
		if (((Touched *) lfirst(cell))->relation == relation)
		return lfirst(cell);
	old = MemoryContextSwitchTo(TopTransactionContext);
	item = palloc(sizeof(Touched));
	item->relation = relation;
	item->before = created ? NULL : se_stream_check_shape(relation);
	touched = lappend(touched, item);
	MemoryContextSwitchTo(old);
	return item;
}

/* A CHECK constraint that is added or validated speaks of the rows that are there. */
static void
touch_constraint(Oid constraint, bool created)
{
	Oid			relation = se_stream_check_constraint(constraint, created);
	Touched    *item = OidIsValid(relation) ? touch(relation, false) : NULL;
	MemoryContext old;

	if (item == NULL || item->before == NULL)
		return;
	old = MemoryContextSwitchTo(TopTransactionContext);
	item->before->constraints = lappend_oid(item->before->constraints, constraint);
	MemoryContextSwitchTo(old);
}

/*
 * A relation becomes the child of another: as its partition, perhaps. Then the bounds of all streams below it are new,
 * and those of the parent's default partition, which now leaves rows to the new one.
 */
static void
touch_partitions(Oid child, Oid parent)
{
	List	   *streams = NIL;
	ListCell   *cell;

	if (get_rel_relkind(child) == RELKIND_PARTITIONED_TABLE)
		streams = find_all_inheritors(child, NoLock, NULL);
	else
		streams = list_make1_oid(child);
	if (get_rel_relkind(parent) == RELKIND_PARTITIONED_TABLE)
	{
		Oid			other = get_default_partition_oid(parent);

		if (OidIsValid(other) && other != child)
			streams = list_concat(streams, get_rel_relkind(other) == RELKIND_PARTITIONED_TABLE ?
								  find_all_inheritors(other, NoLock, NULL) : list_make1_oid(other));
	}
	foreach(cell, streams)
	{
		Touched    *item = touch(lfirst_oid(cell), false);

		if (item != NULL && item->before != NULL)
			item->before->new_bounds = true;
	}
}

static void
forget_touched(XactEvent event, void *arg)
{
	touched = NIL;
}

void
se_object_access_settle(void)
{
	List	   *todo = touched;
	ListCell   *cell;

	if (todo == NIL || !IsTransactionState())
		return;
	touched = NIL;
	foreach(cell, todo)
	{
		Touched    *item = lfirst(cell);

		if (get_rel_relkind(item->relation) != RELKIND_FOREIGN_TABLE)
			continue;			/* not a foreign table, or dropped meanwhile */
		if (!SearchSysCacheExists1(FOREIGNTABLEREL, ObjectIdGetDatum(item->relation)))
			touch(item->relation, item->before == NULL);	/* its CREATE is still running */
		else if (item->before == NULL)
			se_stream_ddl_created(item->relation);
		else
			se_stream_ddl_altered(item->relation, item->before);
	}
}
