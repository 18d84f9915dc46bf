/*
 * base/waits.h
 *		Who waits for which job: what the search for deadlocks needs and no lock table knows.
 */
#ifndef SE_WAITS_H
#define SE_WAITS_H

#include "base/se.h"

/*
 * This process sleeps until something happens to the job of a slot (an index), until
 * se_waits_end, or exit. If all places are taken it is not noted, and a circle
 * through this process is not found.
 */
extern void se_waits_begin(int slot);
extern void se_waits_end(void);

/* The slot a process waits for, -1 if it waits for none. */
extern int	se_waits_for(int pid);

extern void se_waits_init(void);	/* registers shared memory; _PG_init */

#endif							/* SE_WAITS_H */
