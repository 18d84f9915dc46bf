/*
 * runtime/ticks.h
 *		The clock enters the log: tick and idle marks, for the jobs that depend on it.
 */
#ifndef SE_TICKS_H
#define SE_TICKS_H

/*
 * Write a tick mark if a job of the database needs one by now, and wake those jobs.
 * Returns the ms until the next one is due, -1 if nobody needs any or it is not for a timer
 * to say (the driven clock stands still; moving it wakes the coordinator).
 * Runs in: coordinator, outside of a transaction.
 */
extern long se_ticks_write(void);

#endif							/* SE_TICKS_H */
