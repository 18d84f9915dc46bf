/*
 * runtime/deaths.c
 *		Errors that a worker could not write down itself.
 *
 * A worker that ends by FATAL or SIGTERM has no transaction left, one that waits for a
 * lock on its result is in the middle of something. They leave the error in their slot,
 * and the coordinator puts it into job_errors; with restart = none the end of a worker is
 * a failure of the job. A job that is to stop, or was dropped, has nothing to tell, nor
 * has a worker that ended because the server does. DROP
 * and we exclude each other by the job's own lock, because no lock of anybody's relation
 * is ours to take.
 */
#include "postgres.h"

#include "base/job_slot.h"
#include "base/settings.h"
#include "meta/jobs.h"
#include "meta/positions.h"
#include "miscadmin.h"
#include "runtime/deaths.h"
#include "runtime/worker_env.h"
#include "storage/fd.h"
#include "utils/pidfile.h"

/* Before the lock of a job is tried again. */
#define RETRY_MS 1000

typedef struct Death
{
	Oid			job;
	uint64		generation;
	uint64		attempt;
	bool		ended;			/* the worker has, by this */
	int			sqlstate;
	char		message[SE_JOB_ERROR_LEN];
} Death;

static bool find(const SeJobSlot *slot, Death *death);
static bool write_down(const Death *death);
static bool server_is_stopping(void);
static void settle(SeJobSlot *slot, const Death *death);

long
se_deaths_write(void)
{
	long		again = -1;

	for (int i = 0; i < se_max_jobs; i++)
	{
		SeJobSlot  *slot = se_job_slot_at(i);
		Death		death;

		if (!find(slot, &death))
			continue;
		if (write_down(&death))
			settle(slot, &death);
		else
			again = RETRY_MS;
	}
	return again;
}

/* Is there anything to write about a slot? */
static bool
find(const SeJobSlot *slot, Death *death)
{
	bool		found;

	LWLockAcquire(se_job_slot_lock(), LW_SHARED);
	death->ended = slot->state == SE_JOB_RESTARTING;
	found = slot->in_use && slot->database == MyDatabaseId && slot->unwritten &&
		(!death->ended || slot->worker_pid == 0);	/* its exit wakes us */
	if (found)
	{
		death->job = slot->job;
		death->generation = slot->generation;
		death->attempt = slot->error_attempt;
		death->sqlstate = slot->error_sqlstate;
		memcpy(death->message, slot->error, SE_JOB_ERROR_LEN);
	}
	LWLockRelease(se_job_slot_lock());
	return found;
}

/* False if somebody else is at the job: later. */
static bool
write_down(const Death *death)
{
	SeJobMeta  *meta;
	bool		done = true;

	if (death->sqlstate == ERRCODE_ADMIN_SHUTDOWN && server_is_stopping())
		return true;
	se_worker_begin_own();
	if (OidIsValid(se_meta_relation("job_catalog")))
	{
		done = se_jobs_lock(death->job, false);
		meta = done ? se_jobs_get(death->job) : NULL;
		if (meta != NULL && meta->goal == SE_GOAL_RUN && se_jobs_identity_is_ours(meta))
		{
			const char *restart = se_jobs_option(meta, "restart");

			se_errors_add(death->job, death->sqlstate, death->message, NULL, NULL, NULL,
						  (int64) death->attempt);
			if (death->ended && restart != NULL && strcmp(restart, "none") == 0)
				se_jobs_set_goal(death->job, SE_GOAL_FAILED);
		}
	}
	se_worker_commit_own();
	return done;
}

/*
 * A shutdown ends workers as pg_terminate_backend does, and our own turn may come a
 * moment later. What tells the two apart is the status that the postmaster writes into
 * its lock file before it signals anybody.
 */
static bool
server_is_stopping(void)
{
	FILE	   *file = AllocateFile("postmaster.pid", "r");
	char		line[MAXPGPATH] = "";

	if (file == NULL)
		return false;
	for (int i = 0; i < LOCK_FILE_LINE_PM_STATUS; i++)
		if (fgets(line, sizeof(line), file) == NULL)
		{
			line[0] = '\0';
			break;
		}
	FreeFile(file);
	return strncmp(line, PM_STATUS_STOPPING, strlen(PM_STATUS_STOPPING)) == 0;
}

/* It is written, unless the slot tells of another error by now; and over, if the job runs. */
static void
settle(SeJobSlot *slot, const Death *death)
{
	LWLockAcquire(se_job_slot_lock(), LW_EXCLUSIVE);
	if (slot->generation == death->generation && slot->error_attempt == death->attempt &&
		slot->error_sqlstate == death->sqlstate)
	{
		slot->unwritten = false;
		if (slot->failures == 0 && slot->state == SE_JOB_RUNNING)
		{
			slot->error_sqlstate = 0;
			slot->error[0] = '\0';
		}
	}
	LWLockRelease(se_job_slot_lock());
}
