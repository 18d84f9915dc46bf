/*
 * runtime/deadlock.c
 *		Deadlocks that go through a wait for a job.
 *
 *		session --waits for--> job --is run by--> worker --waits for a lock of--> session
 *
 * PostgreSQL sees the last arrow alone. Both kinds are followed here, from the job this
 * session waits for: locks through pg_blocking_pids, waits for jobs through base/waits.h.
 * A job without a worker is the coordinator's to bring on. Prepared transactions (pid 0)
 * end a path: they wait for nobody.
 *
 * Of several sessions in a circle each looks every deadlock_timeout; the first that does
 * gives up, which ends its wait and frees the others.
 */
#include "postgres.h"

#include "base/database_slot.h"
#include "base/waits.h"
#include "miscadmin.h"
#include "runtime/deadlock.h"
#include "utils/array.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"

static int
runner_of(const SeJobSlot *slot)
{
	Oid			database;
	int			pid;

	LWLockAcquire(se_job_slot_lock(), LW_SHARED);
	pid = slot->worker_pid;
	database = slot->in_use ? slot->database : InvalidOid;
	LWLockRelease(se_job_slot_lock());
	return pid != 0 || !OidIsValid(database) ? pid : se_database_slot_coordinator_pid(database);
}

/* Add whom a process waits for. */
static List *
add_blockers(List *pids, int pid)
{
	ArrayType  *array = DatumGetArrayTypeP(DirectFunctionCall1(pg_blocking_pids, Int32GetDatum(pid)));
	int32	   *blockers = (int32 *) ARR_DATA_PTR(array);
	int			n = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
	int			slot = se_waits_for(pid);

	for (int i = 0; i < n; i++)
		pids = list_append_unique_int(pids, blockers[i]);
	if (slot >= 0)
		pids = list_append_unique_int(pids, runner_of(se_job_slot_at(slot)));
	return pids;
}

void
se_deadlock_check(Oid job, SeJobSlot *slot)
{
	int			runner = runner_of(slot);
	List	   *pids = list_make1_int(runner);

	for (int i = 0; i < list_length(pids); i++)
	{
		int			pid = list_nth_int(pids, i);

		if (pid == MyProcPid)
			ereport(ERROR,
					(errcode(ERRCODE_T_R_DEADLOCK_DETECTED),
					 errmsg("deadlock detected"),
					 errdetail("This session waits for continuous view \"%s\", whose worker (process %d) waits for a lock this session holds%s.",
							   get_rel_name(job), runner, i > 1 ? ", through others" : ""),
					 errhint("Commit or roll back before waiting for the view.")));
		if (pid != 0)
			pids = add_blockers(pids, pid);
	}
	list_free(pids);
}
