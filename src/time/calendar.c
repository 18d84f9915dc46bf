/*
 * time/calendar.c
 *		The calendar of a time zone as a count that only grows.
 *
 * PostgreSQL knows where the clock of a zone changes; between two changes, in a *span*,
 * local time is time plus an offset. The count of an instant is the latest local time
 * the clock has shown by then: after the clock was put back, the last one before,
 * until it is passed. `peak` of a span is what the clock had reached before it.
 *
 * Runs in: any process; the remembered span is the process's own.
 */
#include "postgres.h"

#include "base/fault.h"
#include "common/int.h"
#include "time/calendar.h"

/* A change of the clock is forgotten after this long: clocks differ by two weeks at most (POSIX rules by 167 hours from UTC). */
#define SETTLED_SECS (15 * (int64) SECS_PER_DAY)

/* A span is looked for from so far before the time wanted, so that it is long. */
#define LOOK_BACK_SECS (400 * (int64) SECS_PER_DAY)

/* Days from 1970 to 2000, the beginning of PostgreSQL's clock. */
#define EPOCH_DAYS (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE)

/* 400 years: the calendar repeats. */
#define DAYS_PER_CYCLE 146097
#define MONTHS_PER_CYCLE 4800

/* Stretch [from, to) without a change of the clock. */
typedef struct Span
{
	pg_tz	   *zone;
	SeTime		from;
	SeTime		to;				/* SE_TIME_MAX: for ever */
	int64		offset;			/* local time is time + offset */
	SeTime		peak;			/* all local times shown before `from` are below */
} Span;

static Span known;

static const Span *span_at(pg_tz *zone, SeTime t);
static SeTime local_count(pg_tz *zone, SeTime t);
static SeTime local_instant(pg_tz *zone, SeTime local);
static SeTime month_count(SeTime local);
static SeTime month_local(SeTime count);
static int64 days_before_month(int64 month);
static int64 floor_div(int64 a, int64 b);
static SeTime from_secs(pg_time_t secs);
static SeTime add(SeTime a, int64 b);

pg_tz *
se_calendar_zone(const char *name)
{
	pg_tz	   *zone = pg_tzset(name);

	if (zone == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("time zone \"%s\" not recognized", name),
				 errhint("Use a full name, such as 'Europe/Berlin'; view pg_timezone_names has them.")));
	if (!pg_tz_acceptable(zone))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("time zone \"%s\" appears to use leap seconds", name),
				 errdetail("PostgreSQL does not support leap seconds."),
				 errhint("Use a zone of view pg_timezone_names.")));
	return zone;
}

SeTime
se_calendar_count(const SeCalendar *calendar, SeTime t)
{
	SeTime		local;

	if (t < MIN_TIMESTAMP)
		return SE_TIME_MIN;
	if (t >= END_TIMESTAMP)
		return SE_TIME_MAX;
	local = add(local_count(calendar->zone, t), -calendar->shift);
	return calendar->months ? month_count(local) : local;
}

SeTime
se_calendar_instant(const SeCalendar *calendar, SeTime c)
{
	if (c == SE_TIME_MIN || c == SE_TIME_MAX)
		return c;
	return local_instant(calendar->zone,
						 add(calendar->months ? month_local(c) : c, calendar->shift));
}

bool
se_calendar_is_regular(const SeCalendar *calendar, SeTime a, SeTime b)
{
	return !calendar->months && known.zone == calendar->zone &&
		a >= known.from && a + known.offset >= known.peak && b < known.to;
}

/* The latest local time that the clock has shown by t. */
static SeTime
local_count(pg_tz *zone, SeTime t)
{
	const Span *span = span_at(zone, t);

	if (SE_FAULT_WRONG("wrong-clock-put-back"))
		return t + span->offset;
	return Max(t + span->offset, span->peak - 1);
}

/* The first instant by which the clock has shown this local time or a later one. */
static SeTime
local_instant(pg_tz *zone, SeTime local)
{
	const Span *span;
	SeTime		guess = local;

	if (known.zone == zone)
		guess = add(local, -known.offset);
	span = span_at(zone, Min(Max(guess, MIN_TIMESTAMP), END_TIMESTAMP - 1));
	for (;;)
	{
		if (local < span->peak)
		{
			if (span->from <= MIN_TIMESTAMP)
				return SE_TIME_MIN;
			span = span_at(zone, span->from - 1);
		}
		else if (span->to != SE_TIME_MAX && local >= add(span->to, span->offset))
		{
			if (span->to >= END_TIMESTAMP)
				return SE_TIME_MAX;
			span = span_at(zone, span->to);
		}
		else
			break;
	}
	guess = Max(span->from, add(local, -span->offset));
	if (guess < MIN_TIMESTAMP)
		return SE_TIME_MIN;
	return guess >= END_TIMESTAMP ? SE_TIME_MAX : guess;
}

/* The span that holds t, a valid timestamp. */
static const Span *
span_at(pg_tz *zone, SeTime t)
{
	pg_time_t	secs;
	pg_time_t	at;
	SeTime		settled;
	Span		span = {zone, SE_TIME_MIN, SE_TIME_MAX, 0, SE_TIME_MIN};

	if (known.zone == zone && t >= known.from && t < known.to)
		return &known;

	secs = floor_div(t, USECS_PER_SEC) + EPOCH_DAYS * (pg_time_t) SECS_PER_DAY;
	at = secs - LOOK_BACK_SECS;
	settled = from_secs(at + SETTLED_SECS);
	for (;;)
	{
		pg_time_t	boundary;
		long int	before;
		long int	after;
		int			is_dst;
		int			found = pg_next_dst_boundary(&at, &before, &is_dst, &boundary, &after, &is_dst, zone);

		span.offset = before * USECS_PER_SEC;
		if (found != 1)
			break;
		if (boundary > secs)
		{
			span.to = from_secs(boundary);
			break;
		}
		span.from = from_secs(boundary);
		span.peak = Max(span.peak, add(span.from, span.offset));
		at = boundary + 1;		/* on the boundary itself the last of the table is not told from the end */
	}

	/* What was before the first time looked at is not known, and matters only for a while. */
	if (span.from < settled)
	{
		span.from = settled;
		span.peak = Max(span.peak, add(settled, span.offset));
	}
	known = span;
	return &known;
}

/* Local time as a count in which each month has 31 days. */
static SeTime
month_count(SeTime local)
{
	int64		day = floor_div(local, USECS_PER_DAY);
	int64		time = local - day * USECS_PER_DAY;
	int64		month;
	SeTime		count;

	day += EPOCH_DAYS;
	month = floor_div(day * MONTHS_PER_CYCLE, DAYS_PER_CYCLE);
	while (days_before_month(month) > day)
		month--;
	while (days_before_month(month + 1) <= day)
		month++;
	day = month * 31 + (day - days_before_month(month)) - EPOCH_DAYS;
	if (pg_mul_s64_overflow(day, USECS_PER_DAY, &count))
		return SE_TIME_MAX;
	return add(count, time);
}

/* The first local time with such a count; days that a month does not have are the next one's first. */
static SeTime
month_local(SeTime count)
{
	int64		day = floor_div(count, USECS_PER_DAY);
	int64		time = count - day * USECS_PER_DAY;
	int64		month = floor_div(day + EPOCH_DAYS, 31);
	int64		next = days_before_month(month + 1);

	day = days_before_month(month) + (day + EPOCH_DAYS - month * 31);
	if (day >= next)
	{
		day = next;
		time = 0;
	}
	return (day - EPOCH_DAYS) * USECS_PER_DAY + time;
}

/* Days from 1970-01-01 to the first of a month; months count from January 1970. */
static int64
days_before_month(int64 month)
{
	static const int before[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};
	int64		years = floor_div(month, MONTHS_PER_YEAR);
	int64		last = 1970 + years - 1;
	int64		days = years * 365 + before[month - years * MONTHS_PER_YEAR];
	int64		leap_years = floor_div(last, 4) - floor_div(last, 100) + floor_div(last, 400);

	days += leap_years - (1969 / 4 - 1969 / 100 + 1969 / 400);
	if (month - years * MONTHS_PER_YEAR >= 2)
	{
		int64		year = last + 1;

		days += year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
	}
	return days;
}

static int64
floor_div(int64 a, int64 b)
{
	return a / b - (a % b < 0);
}

/* Seconds since 1970 as a time. */
static SeTime
from_secs(pg_time_t secs)
{
	int64		usecs;

	secs -= EPOCH_DAYS * (pg_time_t) SECS_PER_DAY;
	if (pg_mul_s64_overflow(secs, USECS_PER_SEC, &usecs))
		return secs > 0 ? SE_TIME_MAX : SE_TIME_MIN;
	return usecs;
}

/* a + b, staying at the end of the type when it would leave it. */
static SeTime
add(SeTime a, int64 b)
{
	SeTime		sum;

	if (pg_add_s64_overflow(a, b, &sum))
		return b > 0 ? SE_TIME_MAX : SE_TIME_MIN;
	return sum;
}
