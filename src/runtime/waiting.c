/*
 * runtime/waiting.c
 *		Why a job that shall run has no slot: what the server lacks, in words for a person.
 *
 * A job gets its slot in the first look of its database's coordinator. If that does not
 * come, something is missing that only a person can give; the job is `waiting` then, and
 * begins by itself when it is there.
 */
#include "postgres.h"

#include "access/xlog.h"
#include "base/database_slot.h"
#include "base/job_slot.h"
#include "base/settings.h"
#include "miscadmin.h"
#include "runtime/runtime.h"

static bool all_taken(void);

const char *
se_waiting_why(void)
{
	if (RecoveryInProgress())
		return "the server is a standby: the view goes on when it is promoted";
	if (!se_database_slot_has_launcher())
		return "the launcher of stream_engine does not run: max_worker_processes may be too small";
	if (!se_database_slot_has_coordinator(MyDatabaseId))
		return se_database_slot_is_starved() ?
			"no background worker is free for the coordinator: raise max_worker_processes" : NULL;
	if (all_taken())
		return "all places for continuous views are taken: raise stream_engine.max_jobs, or drop views";
	return NULL;
}

static bool
all_taken(void)
{
	bool		all = true;

	LWLockAcquire(se_job_slot_lock(), LW_SHARED);
	for (int i = 0; i < se_max_jobs && all; i++)
		all = se_job_slot_at(i)->in_use;
	LWLockRelease(se_job_slot_lock());
	return all;
}
