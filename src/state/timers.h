/*
 * state/timers.h
 *		What is due first: times of an operator's own things, as a heap.
 *
 * Made for times that mostly grow while they wait: the owner leaves a timer as it is
 * when its thing is due later than thought, and asks the thing when the timer comes up. Nor are
 * timers taken out one by one; se_timers_sweep drops those whose things are gone.
 *
 * Memory: the arena's. One writer, no other reader.
 */
#ifndef SE_TIMERS_H
#define SE_TIMERS_H

#include "base/se.h"
#include "state/arena.h"

typedef struct SeTimer
{
	SeTime		at;
	void	   *what;
} SeTimer;

typedef struct SeTimers
{
	SeArena    *arena;
	SeTimer    *timers;
	uint32		n;
	uint32		room;
} SeTimers;

/* An empty heap whose memory is the arena's. */
extern void se_timers_init(SeTimers *timers, SeArena *arena);

/* May raise (53200, state_memory), and then has changed nothing. */
extern void se_timers_add(SeTimers *timers, SeTime at, void *what);

/* The first of a heap that is not empty: take it off, or let it be due later. */
extern void se_timers_remove_first(SeTimers *timers);
extern void se_timers_delay_first(SeTimers *timers, SeTime at);

/* Keep the timers whose things are kept. */
extern void se_timers_sweep(SeTimers *timers, bool (*keep) (void *what));

/* SE_TIME_MAX if there is none. */
static inline SeTime
se_timers_first(const SeTimers *timers)
{
	return timers->n == 0 ? SE_TIME_MAX : timers->timers[0].at;
}

#endif							/* SE_TIMERS_H */
