/*
 * ddl/drop_hook.c
 *		What a dropped continuous view or stream leaves behind is deleted with it.
 *
 * In the dropping transaction, so that a rollback brings all of it back. Nobody waits
 * for a worker here: it meets the missing relation in its next transaction, and the
 * coordinator, told at commit, ends it.
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "checkpoint/checkpoint.h"
#include "ddl/ddl_internal.h"
#include "ddl/stream_ddl.h"
#include "meta/jobs.h"
#include "meta/positions.h"
#include "utils/lsyscache.h"

/* Are our catalog tables there? Not while DROP EXTENSION … CASCADE takes them away. */
static bool
catalog_is_there(void)
{
	static const char *const names[] = {"job_catalog", "job_positions", "state_chunks", "job_errors", "stream_layouts"};

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

	if (relkind != RELKIND_RELATION && relkind != RELKIND_FOREIGN_TABLE)
		return;
	if (!catalog_is_there())
		return;
	if (relkind == RELKIND_FOREIGN_TABLE)
		se_stream_ddl_dropped(relation);
	if (relkind == RELKIND_RELATION && se_jobs_exists(relation))
	{
		/* Before we look: an error of the job may be on its way into the table. */
		(void) se_jobs_lock(relation, true);
		se_store_delete_job(relation);
		se_positions_delete(relation);
		se_errors_delete(relation);
		se_jobs_delete(relation);
		se_meta_notify_at_commit();
	}
}
