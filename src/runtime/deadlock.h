/*
 * runtime/deadlock.h
 *		Deadlocks that go through a wait for a job.
 */
#ifndef SE_DEADLOCK_H
#define SE_DEADLOCK_H

#include "base/se.h"
#include "base/job_slot.h"

/*
 * Raises 40P01 if this session, which waits for the job of a slot, holds what the job
 * needs to get on, over any number of steps. Allocates in the current context.
 */
extern void se_deadlock_check(Oid job, SeJobSlot *slot);

#endif							/* SE_DEADLOCK_H */
