/*
 * ddl/drop_hook.c
 *		What a dropped continuous view or stream leaves behind is deleted with it.
 *
 * In the dropping transaction, so that a rollback brings all of it back. Nobody waits
 * for a worker here: it meets the missing relation in its next transaction, and the
 * coordinator, told at commit, ends it.
 *
 * The definition view goes with its table by the dependency between the two. A restored or
 * upgraded view that was not resumed yet lacks it, so what is left is dropped when the
 * statement is over.
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/dependency.h"
#include "catalog/pg_class.h"
#include "checkpoint/checkpoint.h"
#include "ddl/ddl_internal.h"
#include "ddl/stream_ddl.h"
#include "meta/dead_letters.h"
#include "meta/jobs.h"
#include "meta/positions.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

typedef struct Left
{
	Oid			result;
	Oid			definition;
} Left;

static List *left = NIL;		/* Left *; TopTransactionContext */

static void remember(Oid result, Oid definition);
static void forget(XactEvent event, void *arg);

void
se_drop_init(void)
{
	RegisterXactCallback(forget, NULL);
}

/* Are our catalog tables there? Not while DROP EXTENSION … CASCADE takes them away. */
static bool
catalog_is_there(void)
{
	static const char *const names[] = {"job_catalog", "job_positions", "state_chunks", "job_errors", "stream_layouts",
	"dead_letter_rows"};

	for (int i = 0; i < lengthof(names); i++)
	{
		Oid			table = se_meta_relation(names[i]);

		if (!OidIsValid(table) || get_rel_relkind(table) != RELKIND_RELATION)
			return false;
	}
	return true;
}

void
se_drop_relation(Oid relation)
{
	char		relkind = get_rel_relkind(relation);
	SeJobMeta	schema_only;

	if (relkind != RELKIND_RELATION && relkind != RELKIND_FOREIGN_TABLE)
		return;
	if (!catalog_is_there())
		return;
	if (relkind == RELKIND_FOREIGN_TABLE)
	{
		se_stream_ddl_dropped(relation);
		se_dead_letters_delete(relation);
	}
	if (relkind == RELKIND_RELATION && se_jobs_exists(relation))
	{
		/* Before we look: an error of the job may be on its way into the table. */
		(void) se_jobs_lock(relation, true);
		remember(relation, se_jobs_definition(relation));
		se_store_delete_job(relation);
		se_positions_delete(relation);
		se_errors_delete(relation);
		se_dead_letters_delete(relation);
		se_jobs_delete(relation);
		se_meta_notify_at_commit();
	}
	else if (relkind == RELKIND_RELATION && se_restore_recognise(relation, &schema_only))
		remember(relation, schema_only.definition);
}

static void
remember(Oid result, Oid definition)
{
	MemoryContext old = MemoryContextSwitchTo(TopTransactionContext);
	Left	   *item = palloc(sizeof(Left));

	item->result = result;
	item->definition = definition;
	left = lappend(left, item);
	MemoryContextSwitchTo(old);
}

static void
forget(XactEvent event, void *arg)
{
	left = NIL;
}

/* A drop that a savepoint undid has its result again. */
void
se_drop_settle(void)
{
	List	   *todo = left;
	ListCell   *cell;

	if (todo == NIL || !IsTransactionState())
		return;
	left = NIL;
	CommandCounterIncrement();
	foreach(cell, todo)
	{
		const Left *item = lfirst(cell);
		ObjectAddress view;

		if (get_rel_relkind(item->definition) != RELKIND_VIEW || get_rel_relkind(item->result) != '\0')
			continue;
		ObjectAddressSet(view, RelationRelationId, item->definition);
		performDeletion(&view, DROP_RESTRICT, PERFORM_DELETION_INTERNAL);
	}
}
