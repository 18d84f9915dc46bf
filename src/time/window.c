/*
 * time/window.c
 *		Window arithmetic: tumble, hop and cumulate as pure functions of time.
 *
 * Everything rests on one function, the greatest aligned start at or before a time.
 * It works with remainders, each below the period, so that no sum overflows however
 * far a time lies from the epoch; ends saturate instead of wrapping, and whoever
 * shows a window checks that it still is a timestamp.
 *
 * The functions named plain_ know nothing of time zones. Those of a window in a zone
 * ask them about the calendar's counts and turn the answers into instants, by
 * count(t) >= c <=> t >= instant(c): what lies above t in counts is what lies above it
 * in time.
 */
#include "postgres.h"

#include "common/int.h"
#include "time/window.h"

/* 1970-01-01 on PostgreSQL's clock, which begins in 2000. */
#define UNIX_EPOCH \
	(-((int64) (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE)) * USECS_PER_DAY)

/* Three remainders of a period add up without overflow below this (73,000 years). */
#define LONGEST_PERIOD (PG_INT64_MAX / 4)

/* Whole weeks of a calendar begin on Mondays: 1970-01-05, not a Thursday. */
#define USECS_PER_WEEK (7 * USECS_PER_DAY)
#define FIRST_MONDAY (4 * USECS_PER_DAY)

/* A row in more windows than this is a mistake in the sizes, not a query. */
#define MOST_WINDOWS_PER_ROW 1000000

static void make_calendar(SeWindow *w, const Interval *size, const Interval *slide,
						  const Interval *shift, const char *zone);
static int64 calendar_length(const Interval *interval, const char *what);
static int64 months_length(int32 months, const char *what);
static int64 length(const Interval *interval, const char *what);
static void refuse_length(const char *what) SE_NORETURN;
static void check_months(const Interval *interval, const char *what);
static void check_positive(const Interval *interval, int64 usecs, const char *what);
static void check_parts(const SeWindow *w, const Interval *slide);
static bool plain_slice(const SeWindow *w, SeTime ts, SeTime *start, SeTime *end);
static SeTime plain_last_end(const SeWindow *w, SeTime ts);
static SeTime plain_next_end(const SeWindow *w, SeTime t);
static SeTime plain_start_of_end(const SeWindow *w, SeTime end);
static SeTime add_saturated(SeTime a, int64 b);
static int64 floor_mod(int64 a, int64 period);

SeWindow
se_window_make(SeWindowKind kind, const Interval *size, const Interval *slide,
			   const Interval *shift, const char *zone)
{
	SeWindow	w = {kind};
	const char *step_name = kind == SE_WINDOW_CUMULATE ? "step" : "slide";

	if (slide == NULL)
		slide = size;
	if (zone == NULL)
	{
		check_months(size, "size");
		check_months(slide, step_name);
		check_months(shift, "shift");
		w.size = length(size, "size");
		w.slide = length(slide, step_name);
		w.shift = length(shift, "shift");
	}
	else
		make_calendar(&w, size, slide, shift, zone);

	check_positive(size, w.size, "size");
	check_positive(slide, w.slide, step_name);
	check_parts(&w, slide);
	return w;
}

void
se_window_refuse_zone(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("windows over a timestamp without time zone cannot be in a time zone"),
			 errdetail("Such a timestamp is the time of a local clock already."),
			 errhint("Leave the argument timezone out, or use timestamptz.")));
}

SeTime
se_window_align(SeTime ts, int64 period, int64 shift)
{
	int64		past = floor_mod(ts, period) - floor_mod(UNIX_EPOCH, period) - floor_mod(shift, period);

	return add_saturated(ts, -floor_mod(past, period));
}

bool
se_window_first(const SeWindow *w, SeTime ts, SeTime *start, SeTime *end)
{
	if (!se_window_slice(w, ts, start, end))
		return false;
	*end = se_window_next_end(w, ts);
	*start = se_window_start_of_end(w, *end);
	return true;
}

bool
se_window_next(const SeWindow *w, SeTime ts, SeTime *start, SeTime *end)
{
	if (*end >= se_window_last_end(w, ts))
		return false;
	*end = se_window_next_end(w, *end);
	*start = se_window_start_of_end(w, *end);
	return true;
}

int64
se_window_ended(const SeWindow *w, SeTime ts, SeTime wm, bool *all)
{
	SeTime		last = se_window_last_end(w, ts);
	SeTime		end = se_window_next_end(w, ts);
	int64		n = 0;

	*all = last <= wm;
	if (end > wm)
		return 0;
	/* ends are one slide (or step) apart, and in a calendar some may be the same */
	wm = Min(last, wm);
	if (w->calendar.zone == NULL)
		return (wm - end) / w->slide + 1;
	if (se_calendar_is_regular(&w->calendar, ts, wm))
		return (se_calendar_count(&w->calendar, wm) - se_calendar_count(&w->calendar, end)) / w->slide + 1;
	for (;;)
	{
		n++;
		if (end >= last)
			return n;
		end = se_window_next_end(w, end);
		if (end > wm)
			return n;
	}
}

bool
se_window_slice(const SeWindow *w, SeTime ts, SeTime *start, SeTime *end)
{
	const SeCalendar *calendar = &w->calendar;
	bool		found;

	if (calendar->zone == NULL)
		return plain_slice(w, ts, start, end);
	found = plain_slice(w, se_calendar_count(calendar, ts), start, end);
	*start = se_calendar_instant(calendar, *start);
	*end = se_calendar_instant(calendar, *end);
	return found;
}

SeTime
se_window_last_end(const SeWindow *w, SeTime ts)
{
	const SeCalendar *calendar = &w->calendar;

	if (calendar->zone == NULL)
		return plain_last_end(w, ts);
	return se_calendar_instant(calendar, plain_last_end(w, se_calendar_count(calendar, ts)));
}

SeTime
se_window_next_end(const SeWindow *w, SeTime t)
{
	const SeCalendar *calendar = &w->calendar;

	if (calendar->zone == NULL)
		return plain_next_end(w, t);
	return se_calendar_instant(calendar, plain_next_end(w, se_calendar_count(calendar, t)));
}

/* With a calendar, of several counts that share the instant the first is meant. */
SeTime
se_window_start_of_end(const SeWindow *w, SeTime end)
{
	const SeCalendar *calendar = &w->calendar;
	SeTime		before;

	if (calendar->zone == NULL)
		return plain_start_of_end(w, end);
	before = se_calendar_count(calendar, add_saturated(end, -1));
	return se_calendar_instant(calendar, plain_start_of_end(w, plain_next_end(w, before)));
}

/* Cumulating windows do; and hops that begin in a gap of the calendar. */
bool
se_window_starts_repeat(const SeWindow *w)
{
	return w->kind == SE_WINDOW_CUMULATE || (w->kind == SE_WINDOW_HOP && w->calendar.zone != NULL);
}

/*
 * For hop a period of `slide` is cut where windows end in it, size mod slide after
 * its start: both pieces are whole in every window that touches them, and they are
 * longer than the greatest common divisor would make them.
 */
static bool
plain_slice(const SeWindow *w, SeTime ts, SeTime *start, SeTime *end)
{
	int64		period = w->kind == SE_WINDOW_TUMBLE ? w->size : w->slide;
	int64		cut = w->kind == SE_WINDOW_HOP ? w->size % w->slide : 0;
	SeTime		base = se_window_align(ts, period, w->shift);

	*start = base;
	*end = add_saturated(base, period);
	if (cut == 0)
		return true;
	if (ts - base < cut)
	{
		*end = add_saturated(base, cut);
		return true;
	}
	*start = add_saturated(base, cut);
	return w->size > w->slide;
}

static SeTime
plain_last_end(const SeWindow *w, SeTime ts)
{
	int64		period = w->kind == SE_WINDOW_HOP ? w->slide : w->size;

	return add_saturated(se_window_align(ts, period, w->shift), w->size);
}

static SeTime
plain_next_end(const SeWindow *w, SeTime t)
{
	int64		period = w->kind == SE_WINDOW_TUMBLE ? w->size : w->slide;
	int64		shift = floor_mod(w->shift, period) + w->size % period;

	return add_saturated(se_window_align(t, period, shift), period);
}

static SeTime
plain_start_of_end(const SeWindow *w, SeTime end)
{
	if (w->kind == SE_WINDOW_CUMULATE)
		return se_window_align(add_saturated(end, -1), w->size, w->shift);
	return add_saturated(end, -w->size);
}

/*
 * Lengths as counts of a calendar. The day and time of a shift move the local clock;
 * its months move windows of months.
 */
static void
make_calendar(SeWindow *w, const Interval *size, const Interval *slide,
			  const Interval *shift, const char *zone)
{
	Interval	clock_shift = *shift;
	int64		period;

	w->calendar.zone = se_calendar_zone(zone);
	w->calendar.months = size->month != 0 || slide->month != 0;
	w->size = calendar_length(size, "size");
	w->slide = calendar_length(slide, w->kind == SE_WINDOW_CUMULATE ? "step" : "slide");
	if (!w->calendar.months)
	{
		check_months(shift, "shift");
		w->shift = length(shift, "shift");
		period = w->kind == SE_WINDOW_HOP ? w->slide : w->size;
		if (period % USECS_PER_WEEK == 0)
			w->calendar.shift = FIRST_MONDAY;
		return;
	}
	clock_shift.month = 0;
	w->calendar.shift = length(&clock_shift, "shift");
	w->shift = months_length(shift->month, "shift");
	if (w->kind == SE_WINDOW_CUMULATE && size->month == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("size of a cumulating window must be a multiple of its step"),
				 errdetail("The step is in months, which differ in length, and the size is not."),
				 errhint("Choose a step that divides the size.")));
	if (w->kind == SE_WINDOW_HOP && (size->month == 0 || slide->month == 0))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("size and slide of a window must both be months, or neither"),
				 errdetail("Months differ in length."),
				 errhint("Give both in months or years, or both in days, hours, minutes or seconds.")));
	if (w->kind == SE_WINDOW_CUMULATE && slide->month == 0 && w->slide > 0 && USECS_PER_DAY % w->slide != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("step of a window of months must be months, a day, or divide a day"),
				 errdetail("Months have different numbers of days."),
				 errhint("Use a step such as '1 day' or '1 hour'.")));
}

/* Months, or days and less, on a calendar. */
static int64
calendar_length(const Interval *interval, const char *what)
{
	if (interval->month == 0)
		return length(interval, what);
	if (interval->day != 0 || interval->time != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s of a window must not mix months with days or hours", what),
				 errdetail("Months differ in length."),
				 errhint("Use either months and years, or days, hours, minutes and seconds.")));
	return months_length(interval->month, what);
}

/* Months as a count. */
static int64
months_length(int32 months, const char *what)
{
	if (months > LONGEST_PERIOD / SE_CALENDAR_MONTH || months < -LONGEST_PERIOD / SE_CALENDAR_MONTH)
		refuse_length(what);
	return months * SE_CALENDAR_MONTH;
}

/* An interval without months as microseconds, a day counting 24 hours. */
static int64
length(const Interval *interval, const char *what)
{
	int64		days;
	int64		usecs;

	if (pg_mul_s64_overflow(interval->day, USECS_PER_DAY, &days) ||
		pg_add_s64_overflow(days, interval->time, &usecs) ||
		usecs > LONGEST_PERIOD || usecs < -LONGEST_PERIOD)
		refuse_length(what);
	return usecs;
}

static void
refuse_length(const char *what)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("%s of a window is out of range", what),
			 errhint("Use an interval below 70000 years.")));
}

/* Without a calendar months have no fixed length. */
static void
check_months(const Interval *interval, const char *what)
{
	if (interval->month != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s of a window must not contain months or years", what),
				 errdetail("Months differ in length."),
				 strcmp(what, "shift") == 0 ?
				 errhint("Use days, hours, minutes or seconds; windows of months in a time zone can be shifted by months.") :
				 errhint("Use days, hours, minutes or seconds; windows over timestamptz can be of months in a time zone, such as timezone => 'UTC'.")));
}

static void
check_positive(const Interval *interval, int64 usecs, const char *what)
{
	if (usecs > 0)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("%s of a window must be positive", what),
			 interval->month != 0 ? errdetail("It is %d months.", interval->month) :
			 errdetail("It is %lld microseconds.", (long long) usecs),
			 errhint("Use an interval such as '10 seconds'.")));
}

/* Size against slide or step. */
static void
check_parts(const SeWindow *w, const Interval *slide)
{
	const char *step_name = w->kind == SE_WINDOW_CUMULATE ? "step" : "slide";

	if (w->kind == SE_WINDOW_CUMULATE && w->size % w->slide != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("size of a cumulating window must be a multiple of its step"),
				 slide->month != 0 ? errdetail("Size is %lld months, step is %d months.",
											   (long long) (w->size / SE_CALENDAR_MONTH), slide->month) :
				 errdetail("Size is %lld microseconds, step is %lld microseconds.",
						   (long long) w->size, (long long) w->slide),
				 errhint("Choose a step that divides the size.")));
	if (w->size / w->slide > MOST_WINDOWS_PER_ROW)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("window puts every row into too many windows"),
				 errdetail("Size is %lld times the %s; at most %d times is allowed.",
						   (long long) (w->size / w->slide), step_name, MOST_WINDOWS_PER_ROW),
				 errhint("Choose a larger %s.", step_name)));
}

/* a + b, staying at the end of the type when it would leave it. */
static SeTime
add_saturated(SeTime a, int64 b)
{
	SeTime		sum;

	if (pg_add_s64_overflow(a, b, &sum))
		return b > 0 ? SE_TIME_MAX : SE_TIME_MIN;
	return sum;
}

/* Remainder in [0, period), also for times before the epoch. */
static int64
floor_mod(int64 a, int64 period)
{
	int64		r = a % period;

	return r < 0 ? r + period : r;
}
