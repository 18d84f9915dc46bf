/*
 * runtime/restart.h
 *		What an error does to a job: again after a while, or a person decides.
 */
#ifndef SE_RESTART_H
#define SE_RESTART_H

#include "base/job_slot.h"
#include "runtime/task.h"
#include "utils/elog.h"

/* Milliseconds before the next try after so many failures in a row. */
extern int	se_restart_delay(int failures);

/*
 * The slot of a job whose worker failed: state, number of failures, time of the next
 * try, and the error, which the coordinator writes into job_errors if it is not there.
 * Takes the lock; wakes waiters and the coordinator.
 */
extern void se_restart_mark(SeJobSlot *slot, bool person, bool written, int sqlstate, const char *message);

/*
 * The worker's last deed after an ERROR: the transaction is rolled back, the error and
 * the row it met are recorded, and the slot is marked. Call in the PG_CATCH block, in
 * the error's own state. Cannot raise.
 */
extern void se_restart_failed(SeTask *task);

#endif							/* SE_RESTART_H */
