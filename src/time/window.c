/*
 * time/window.c
 *		Window arithmetic: tumble, hop and cumulate as pure functions of time.
 *
 * Everything rests on one function, the greatest aligned start at or before a time.
 * It works with remainders, each below the period, so that no sum overflows however
 * far a time lies from the epoch; ends saturate instead of wrapping, and whoever
 * shows a window checks that it still is a timestamp.
 */
#include "postgres.h"

#include "common/int.h"
#include "time/window.h"

/* 1970-01-01 on PostgreSQL's clock, which begins in 2000. */
#define UNIX_EPOCH \
	(-((int64) (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE)) * USECS_PER_DAY)

/* Three remainders of a period add up without overflow below this (73,000 years). */
#define LONGEST_PERIOD (PG_INT64_MAX / 4)

/* A row in more windows than this is a mistake in the sizes, not a query. */
#define MOST_WINDOWS_PER_ROW 1000000

static int64 interval_usecs(const Interval *interval, const char *what);
static int64 positive_usecs(const Interval *interval, const char *what);
static SeTime add_saturated(SeTime a, int64 b);
static int64 floor_mod(int64 a, int64 period);

SeWindow
se_window_make(SeWindowKind kind, const Interval *size, const Interval *slide,
			   const Interval *shift)
{
	SeWindow	w;
	const char *step_name = kind == SE_WINDOW_CUMULATE ? "step" : "slide";

	w.kind = kind;
	w.size = positive_usecs(size, "size");
	w.slide = slide != NULL ? positive_usecs(slide, step_name) : w.size;
	w.shift = interval_usecs(shift, "shift");

	if (kind == SE_WINDOW_CUMULATE && w.size % w.slide != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("size of a cumulating window must be a multiple of its step"),
				 errdetail("Size is %lld microseconds, step is %lld microseconds.",
						   (long long) w.size, (long long) w.slide),
				 errhint("Choose a step that divides the size.")));
	if (w.size / w.slide > MOST_WINDOWS_PER_ROW)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("window puts every row into too many windows"),
				 errdetail("Size is %lld times the %s; at most %d times is allowed.",
						   (long long) (w.size / w.slide), step_name, MOST_WINDOWS_PER_ROW),
				 errhint("Choose a larger %s.", step_name)));
	return w;
}

SeTime
se_window_align(SeTime ts, int64 period, int64 shift)
{
	int64		past = floor_mod(ts, period) - floor_mod(UNIX_EPOCH, period) - floor_mod(shift, period);

	return add_saturated(ts, -floor_mod(past, period));
}

int
se_window_count(const SeWindow *w, SeTime ts)
{
	int64		past;

	switch (w->kind)
	{
		case SE_WINDOW_TUMBLE:
			return 1;
		case SE_WINDOW_HOP:
			past = ts - se_window_align(ts, w->slide, w->shift);
			return past >= w->size ? 0 : (int) ((w->size - 1 - past) / w->slide) + 1;
		case SE_WINDOW_CUMULATE:
			past = ts - se_window_align(ts, w->size, w->shift);
			return (int) (w->size / w->slide - past / w->slide);
	}
	pg_unreachable();
}

void
se_window_nth(const SeWindow *w, SeTime ts, int k, SeTime *start, SeTime *end)
{
	SeTime		base;

	switch (w->kind)
	{
		case SE_WINDOW_TUMBLE:
			*start = se_window_align(ts, w->size, w->shift);
			*end = add_saturated(*start, w->size);
			return;
		case SE_WINDOW_HOP:
			base = se_window_align(ts, w->slide, w->shift);
			*start = add_saturated(base, -(se_window_count(w, ts) - 1 - k) * w->slide);
			*end = add_saturated(*start, w->size);
			return;
		case SE_WINDOW_CUMULATE:
			base = se_window_align(ts, w->size, w->shift);
			*start = base;
			*end = add_saturated(base, ((ts - base) / w->slide + 1 + k) * w->slide);
			return;
	}
	pg_unreachable();
}

/*
 * For hop a period of `slide` is cut where windows end in it, size mod slide after
 * its start: both pieces are whole in every window that touches them, and they are
 * longer than the greatest common divisor would make them.
 */
bool
se_window_slice(const SeWindow *w, SeTime ts, SeTime *start, SeTime *end)
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

SeTime
se_window_last_end(const SeWindow *w, SeTime slice_start)
{
	int64		period = w->kind == SE_WINDOW_HOP ? w->slide : w->size;

	return add_saturated(se_window_align(slice_start, period, w->shift), w->size);
}

SeTime
se_window_next_end(const SeWindow *w, SeTime t)
{
	int64		period = w->kind == SE_WINDOW_TUMBLE ? w->size : w->slide;
	int64		shift = floor_mod(w->shift, period) + w->size % period;

	return add_saturated(se_window_align(t, period, shift), period);
}

SeTime
se_window_start_of_end(const SeWindow *w, SeTime end)
{
	if (w->kind == SE_WINDOW_CUMULATE)
		return se_window_align(add_saturated(end, -1), w->size, w->shift);
	return add_saturated(end, -w->size);
}

/* An interval as microseconds, a day counting 24 hours; months have no fixed length. */
static int64
interval_usecs(const Interval *interval, const char *what)
{
	int64		days;
	int64		usecs;

	if (interval->month != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s of a window must not contain months or years", what),
				 errdetail("Months differ in length."),
				 errhint("Use days, hours, minutes or seconds.")));
	if (pg_mul_s64_overflow(interval->day, USECS_PER_DAY, &days) ||
		pg_add_s64_overflow(days, interval->time, &usecs) ||
		usecs > LONGEST_PERIOD || usecs < -LONGEST_PERIOD)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s of a window is out of range", what),
				 errhint("Use an interval below 70000 years.")));
	return usecs;
}

static int64
positive_usecs(const Interval *interval, const char *what)
{
	int64		usecs = interval_usecs(interval, what);

	if (usecs <= 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s of a window must be positive", what),
				 errdetail("It is %lld microseconds.", (long long) usecs),
				 errhint("Use an interval such as '10 seconds'.")));
	return usecs;
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
