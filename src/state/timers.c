/*
 * state/timers.c
 *		What is due first: times of an operator's own things, as a heap.
 *
 * The heap holds the next part of the times; when it is empty the far ones are read
 * once, and the first PARTS-th of their span comes in. So a timer is read some PARTS times
 * in passing and sifted in a heap that stays in the caches. Four children each: a
 * step down looks at one cache line.
 */
#include "postgres.h"

#include "state/timers.h"

#define CHILDREN 4

/* So many are kept in the heap whatever their times. */
#define FEW 1024
#define PARTS 16

static void heap_add(SeTimers *timers, SeTimer timer);
static void far_add(SeTimers *timers, SeTimer timer);
static void make_room(SeTimers *timers, SeTimer **array, uint32 n, uint32 *room, uint32 wanted);
static void send_far(SeTimers *timers);
static void fetch(SeTimers *timers);
static SeTime part_of_span(const SeTimer *array, uint32 n);
static void make_heap(SeTimers *timers);
static void sift_up(SeTimers *timers, uint32 at, SeTimer timer);
static void sift_down(SeTimers *timers, uint32 at, SeTimer timer);

void
se_timers_init(SeTimers *timers, SeArena *arena)
{
	memset(timers, 0, sizeof(SeTimers));
	timers->arena = arena;
	timers->bound = SE_TIME_MAX;
}

void
se_timers_add(SeTimers *timers, SeTime at, void *what)
{
	SeTimer		timer = {at, what};

	if (at >= timers->bound)
		far_add(timers, timer);
	else
	{
		heap_add(timers, timer);
		if (timers->bound == SE_TIME_MAX && timers->n > FEW)
			send_far(timers);
	}
}

void
se_timers_remove_first(SeTimers *timers)
{
	Assert(timers->n > 0);
	timers->n--;
	if (timers->n > 0)
		sift_down(timers, 0, timers->timers[timers->n]);
	else
		fetch(timers);
}

void
se_timers_delay_first(SeTimers *timers, SeTime at)
{
	SeTimer		timer = {at, timers->timers[0].what};

	Assert(timers->n > 0 && at >= timers->timers[0].at);
	if (at < timers->bound)
		sift_down(timers, 0, timer);
	else
	{
		far_add(timers, timer);
		se_timers_remove_first(timers);
	}
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
	kept = 0;
	for (uint32 i = 0; i < timers->nfar; i++)
	{
		if (keep(timers->far[i].what))
			timers->far[kept++] = timers->far[i];
	}
	timers->nfar = kept;
	make_heap(timers);
	if (timers->n == 0)
		fetch(timers);
}

static void
heap_add(SeTimers *timers, SeTimer timer)
{
	make_room(timers, &timers->timers, timers->n, &timers->room, timers->n + 1);
	sift_up(timers, timers->n++, timer);
}

static void
far_add(SeTimers *timers, SeTimer timer)
{
	make_room(timers, &timers->far, timers->nfar, &timers->far_room, timers->nfar + 1);
	timers->far[timers->nfar++] = timer;
}

static void
make_room(SeTimers *timers, SeTimer **array, uint32 n, uint32 *room, uint32 wanted)
{
	uint32		more = Max(64, *room);
	SeTimer    *larger;

	if (wanted <= *room)
		return;
	while (more < wanted)
		more *= 2;
	if (more == *room)
		more *= 2;
	larger = se_arena_block(timers->arena, more * sizeof(SeTimer));
	if (*array != NULL)
	{
		memcpy(larger, *array, n * sizeof(SeTimer));
		se_arena_block_free(timers->arena, *array);
	}
	*array = larger;
	*room = more;
}

/* The heap has become large: keep the first part of its span. */
static void
send_far(SeTimers *timers)
{
	SeTime		bound = part_of_span(timers->timers, timers->n);
	uint32		kept = 0;

	make_room(timers, &timers->far, timers->nfar, &timers->far_room, timers->nfar + timers->n);
	for (uint32 i = 0; i < timers->n; i++)
	{
		if (timers->timers[i].at < bound)
			timers->timers[kept++] = timers->timers[i];
		else
			timers->far[timers->nfar++] = timers->timers[i];
	}
	timers->n = kept;
	timers->bound = bound;
	make_heap(timers);
}

/* The heap is empty: the first part of the far ones' span comes in; all, if they are few. */
static void
fetch(SeTimers *timers)
{
	uint32		kept = 0;
	uint32		n = 0;

	timers->bound = SE_TIME_MAX;
	if (timers->nfar > FEW)
		timers->bound = part_of_span(timers->far, timers->nfar);
	for (uint32 i = 0; i < timers->nfar; i++)
		n += timers->far[i].at < timers->bound;
	make_room(timers, &timers->timers, 0, &timers->room, n);
	for (uint32 i = 0; i < timers->nfar; i++)
	{
		if (timers->far[i].at < timers->bound)
			timers->timers[timers->n++] = timers->far[i];
		else
			timers->far[kept++] = timers->far[i];
	}
	timers->nfar = kept;
	make_heap(timers);
}

/* A bound with the first part of a span below it, and at least one timer. */
static SeTime
part_of_span(const SeTimer *array, uint32 n)
{
	SeTime		least = SE_TIME_MAX;
	SeTime		most = SE_TIME_MIN;

	for (uint32 i = 0; i < n; i++)
	{
		least = Min(least, array[i].at);
		most = Max(most, array[i].at);
	}
	return least + ((most / PARTS) - (least / PARTS)) + 1;
}

static void
make_heap(SeTimers *timers)
{
	for (uint32 i = timers->n / CHILDREN + 1; i > 0; i--)
	{
		if (i - 1 < timers->n)
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
