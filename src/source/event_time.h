/*
 * source/event_time.h
 *		The door for event times: which rows a stream takes, by its options null_time, infinite_time and max_future.
 *
 * Context: sessions that write to a stream; one door per node of a statement.
 */
#ifndef SE_EVENT_TIME_H
#define SE_EVENT_TIME_H

#include "base/se.h"
#include "executor/tuptable.h"
#include "log/stream.h"
#include "utils/relcache.h"
#include "utils/timestamp.h"

typedef enum SeTimeVerdict
{
	SE_TIME_GOOD,				/* write it */
	SE_TIME_PASSED,				/* write it, but it says nothing about the watermark */
	SE_TIME_REFUSED,			/* se_event_time_refuse */
	SE_TIME_LEFT_OUT			/* it is not written; the door has seen to it that it is not forgotten */
} SeTimeVerdict;

typedef enum SeBadTime
{
	SE_BAD_NULL,
	SE_BAD_INFINITE,
	SE_BAD_FUTURE,
	SE_BAD_TIMES
} SeBadTime;

typedef struct SeTimeDoor
{
	/* settings */
	Relation	stream;
	SeStreamInfo *info;

	/* an event time above it needs a second look; never less than what is allowed was when it was set */
	SeTime		limit;

	/* rows left out by this node */
	int64		dropped[SE_BAD_TIMES];
	int64		dead_letters[SE_BAD_TIMES];
	MemoryContext memory;		/* of a dead letter, reset for each; NULL = there was none */
} SeTimeDoor;

/* The door of a stream that has an event time, in the current context. */
extern SeTimeDoor *se_event_time_open(Relation stream, SeStreamInfo *info);

/* What becomes of a row whose event time is NULL or beyond the limits. */
extern SeTimeVerdict se_event_time_judge(SeTimeDoor *door, TupleTableSlot *slot);

/* What becomes of a row. */
static inline SeTimeVerdict
se_event_time_check(SeTimeDoor *door, TupleTableSlot *slot)
{
	bool		isnull;
	Datum		value = slot_getattr(slot, door->info->event_time, &isnull);

	/* timestamp and timestamptz have the same bytes. */
	if (likely(!isnull && DatumGetTimestampTz(value) <= door->limit && !TIMESTAMP_IS_NOBEGIN(DatumGetTimestampTz(value))))
		return SE_TIME_GOOD;
	return se_event_time_judge(door, slot);
}

/* Raise what is wrong with a row that is refused. */
extern void se_event_time_refuse(SeTimeDoor *door, TupleTableSlot *slot) SE_NORETURN;

/* The node has ended well: count what was left out, and tell the client. */
extern void se_event_time_close(SeTimeDoor *door);

/* The last event time that is not too far in the future now; in the event time's own units. */
extern SeTime se_event_time_limit(const SeStreamInfo *info);

#endif							/* SE_EVENT_TIME_H */
