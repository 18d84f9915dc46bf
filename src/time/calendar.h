/*
 * time/calendar.h
 *		The calendar of a time zone as a count that only grows: windows over it are plain arithmetic.
 *
 * A *count* is a number of microseconds on a scale of its own. For windows of days and
 * less it is the local clock of the zone; where the clock is put back it stands still
 * until it shows new times again. For windows of months each month counts as 31 days,
 * some of which do not exist. Either way a later instant has the same or a larger count,
 *
 *		count(t) >= c   is   t >= instant(c)
 *
 * and a window [a, b) of counts is the window [instant(a), instant(b)) of time. Counts
 * that are skipped (an hour in spring, 30 February) share the instant behind the gap.
 *
 * Nothing here allocates; only se_calendar_zone raises. Process-local: the last
 * stretch of time without a change of the clock is remembered.
 */
#ifndef SE_CALENDAR_H
#define SE_CALENDAR_H

#include "base/se.h"
#include "datatype/timestamp.h"
#include "pgtime.h"

/* What a month counts. */
#define SE_CALENDAR_MONTH (31 * USECS_PER_DAY)

typedef struct SeCalendar
{
	pg_tz	   *zone;			/* NULL: no calendar, time counts itself */
	bool		months;			/* a month counts 31 days */
	int64		shift;			/* the count begins this much later, in microseconds of the local clock */
} SeCalendar;

/* The zone of a name, kept for ever; 22023 for an unknown one, with a hint. */
extern pg_tz *se_calendar_zone(const char *name);

/* The count at an instant; SE_TIME_MIN and SE_TIME_MAX outside the range of timestamps. */
extern SeTime se_calendar_count(const SeCalendar *calendar, SeTime t);

/* The first instant at which the count is c or more; SE_TIME_MIN, SE_TIME_MAX as above. */
extern SeTime se_calendar_instant(const SeCalendar *calendar, SeTime c);

/*
 * Is it known that each count from that of a to that of b has an instant of its own?
 * Cheap: true only within the remembered stretch of time, and never for months.
 */
extern bool se_calendar_is_regular(const SeCalendar *calendar, SeTime a, SeTime b);

#endif							/* SE_CALENDAR_H */
