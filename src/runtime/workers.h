/*
 * runtime/workers.h
 *		What a coordinator does with the workers of its database's jobs.
 *
 * Runs in: coordinator.
 */
#ifndef SE_WORKERS_H
#define SE_WORKERS_H

#include "meta/jobs.h"

/*
 * Take the next step of each of the jobs (SeJobMeta *, all of the database), and free the
 * slots of those that are gone. In a transaction; takes the lock of the job slots.
 * Returns ms until there is another step to take without news, -1 if there is none.
 */
extern long se_workers_step(List *jobs);

/* Has a worker of ours ended that nobody has looked at since? Without news: it may never have come up. */
extern bool se_workers_has_ended(void);

#endif							/* SE_WORKERS_H */
