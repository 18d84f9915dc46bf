/*
 * base/clock.h
 *		The one clock: every timer, tick mark and proctime takes its time from here.
 *
 * In test builds a driven clock, shared by all processes, can stand still and be
 * moved from SQL; moving it sets the latch of every process of ours.
 */
#ifndef SE_CLOCK_H
#define SE_CLOCK_H

#include "base/se.h"

/* Now, in the driven clock's time if one is set. Any process, no locks. */
extern SeTime se_clock_now(void);

/* Is the clock driven? Always false in release builds. */
extern bool se_clock_is_driven(void);

extern void se_clock_init(void);	/* registers shared memory; _PG_init */

#endif							/* SE_CLOCK_H */
