/*
 * state/timers.c
 *		What is due first: times of an operator's own things, as a heap.
 *
 * Four children each: a step down looks at one cache line, and a heap of 100,000 has
 * nine levels.
 */
#include "postgres.h"

#include "state/timers.h"

#define CHILDREN 4

static void sift_up(SeTimers *timers, uint32 at, SeTimer timer);
static void sift_down(SeTimers *timers, uint32 at, SeTimer timer);

void
se_timers_init(SeTimers *timers, SeArena *arena)
{
	timers->arena = arena;
	timers->timers = NULL;
	timers->n = 0;
	timers->room = 0;
}

void
se_timers_add(SeTimers *timers, SeTime at, void *what)
{
	SeTimer		timer = {at, what};

	if (timers->n == timers->room)
	{
		uint32		room = Max(64, timers->room * 2);
		SeTimer    *larger = se_arena_block(timers->arena, room * sizeof(SeTimer));

		if (timers->timers != NULL)
		{
			memcpy(larger, timers->timers, timers->n * sizeof(SeTimer));
			se_arena_block_free(timers->arena, timers->timers);
		}
		timers->timers = larger;
		timers->room = room;
	}
	sift_up(timers, timers->n++, timer);
}

void
se_timers_remove_first(SeTimers *timers)
{
	Assert(timers->n > 0);
	timers->n--;
	if (timers->n > 0)
		sift_down(timers, 0, timers->timers[timers->n]);
}

void
se_timers_delay_first(SeTimers *timers, SeTime at)
{
	SeTimer		timer = {at, timers->timers[0].what};

	Assert(timers->n > 0 && at >= timers->timers[0].at);
	sift_down(timers, 0, timer);
}

void
se_timers_sweep(SeTimers *timers, bool (*keep) (void *what))
{
	uint32		kept = 0;

	for (uint32 i = 0; i < timers->n; i++)
	{
		if (keep(timers->timers[i].what))
			timers->timers[kept++] = timers->timers[i];
	}
	timers->n = kept;
	for (uint32 i = kept / CHILDREN + 1; i > 0; i--)
	{
		if (i - 1 < kept)
			sift_down(timers, i - 1, timers->timers[i - 1]);
	}
}

/* Put a timer where its time belongs, from a place that is free. */
static void
sift_up(SeTimers *timers, uint32 at, SeTimer timer)
{
	while (at > 0)
	{
		uint32		parent = (at - 1) / CHILDREN;

		if (timers->timers[parent].at <= timer.at)
			break;
		timers->timers[at] = timers->timers[parent];
		at = parent;
	}
	timers->timers[at] = timer;
}

static void
sift_down(SeTimers *timers, uint32 at, SeTimer timer)
{
	for (;;)
	{
		uint32		first = at * CHILDREN + 1;
		uint32		end = Min(first + CHILDREN, timers->n);
		uint32		least = first;

		if (first >= timers->n)
			break;
		for (uint32 i = first + 1; i < end; i++)
		{
			if (timers->timers[i].at < timers->timers[least].at)
				least = i;
		}
		if (timers->timers[least].at >= timer.at)
			break;
		timers->timers[at] = timers->timers[least];
		at = least;
	}
	timers->timers[at] = timer;
}
