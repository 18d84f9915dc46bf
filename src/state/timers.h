/*
 * state/timers.h
 *		What is due first: times of an operator's own things, as a heap.
 *
 * Made for times that mostly grow while they wait: the owner leaves a timer as it is
 * when its thing is due later than thought, and asks the thing when the timer comes up. Nor are
 * timers taken out one by one; se_timers_sweep drops those whose things are gone.
 *
 * A heap of everything would be too large for the caches: what is due far off waits in
 * no order, and comes into the heap a part at a time.
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

	/* those due before `bound`, as a heap */
	SeTimer    *timers;
	uint32		n;
	uint32		room;
	SeTime		bound;

	/* the others, in no order; none if the heap is empty */
	SeTimer    *far;
	uint32		nfar;
	uint32		far_room;
} SeTimers;

/* An empty heap whose memory is the arena's. */
extern void se_timers_init(SeTimers *timers, SeArena *arena);

/* May raise (53200, state_memory). */
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
