/*
 * test/unit/test_calendar.c
 *		Windows in time zones against their definition, at every time around changes of the clock.
 *
 * The definition knows nothing of spans and inverses: for each instant of a grid it
 * works out what the clock shows, the latest time it has shown so far, and the count of
 * that; a window is the instants whose count lies in it.
 */
#include "harness.h"

#include "time/calendar.h"
#include "time/window.h"

#define UNIX_EPOCH (-((int64) (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE)) * USECS_PER_DAY)
#define MOST 12000

/* ------------------------------------------------------------- the definition */

typedef struct Grid
{
	SeTime		begin;
	int64		unit;			/* microseconds between two instants; bounds of windows fall on instants */
	int			n;
	SeTime	   *counts;
	int			nwindows;		/* those that are there, in order of their end */
	struct Bounds
	{
		SeTime		start;
		SeTime		end;
	}			windows[4 * MOST];
}			Grid;

static Grid grid;
static SeTime counts[MOST];

/* What a zone's clock is ahead at a time. */
static int64
offset_at(int n, const int64 *at, const int64 *offsets, SeTime t)
{
	int			i = 0;

	while (i < n && UNIX_EPOCH + at[i] * USECS_PER_SEC <= t)
		i++;
	return offsets[i] * USECS_PER_SEC;
}

/* Local time as months of 31 days, found by walking from 1960. */
static SeTime
walk_months(SeTime local)
{
	static int	year;
	static int	month;
	static int64 begin = PG_INT64_MAX;	/* of the month, as a day since 2000 */
	int64		day = local / USECS_PER_DAY - (local % USECS_PER_DAY < 0);
	int64		left;

	if (day < begin)
	{
		year = 1960;
		month = 0;
		begin = -40 * 365 - 10;
	}
	left = day - begin;
	SE_CHECK(left >= 0);
	for (;;)
	{
		static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
		bool		leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
		int			length = days[month] + (month == 1 && leap);

		if (left < length)
			break;
		left -= length;
		begin += length;
		if (++month == 12)
		{
			month = 0;
			year++;
		}
	}
	return UNIX_EPOCH + ((year - 1970) * 12 + month) * SE_CALENDAR_MONTH +
		left * USECS_PER_DAY + (local - day * USECS_PER_DAY);
}

/* The counts of a zone at all instants of the grid. */
static void
make_counts(const SeCalendar *calendar, int nat, const int64 *at, const int64 *offsets)
{
	SeTime		latest = PG_INT64_MIN;

	for (int i = 0; i < grid.n; i++)
	{
		SeTime		t = grid.begin + i * grid.unit;
		SeTime		local = t + offset_at(nat, at, offsets, t);

		grid.counts[i] = Max(latest, local) - calendar->shift;
		if (calendar->months)
			grid.counts[i] = walk_months(grid.counts[i]);
		latest = Max(latest, local + grid.unit - 1);
	}
}

/* The first instant whose count is c or more; counts never fall. */
static int
first_instant(SeTime c)
{
	int			low = 0;
	int			high = grid.n;

	while (low < high)
	{
		int			middle = (low + high) / 2;

		if (grid.counts[middle] < c)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Windows come in order of their end, and of their start. */
static void
add_window(SeTime from, SeTime to)
{
	int			first = first_instant(from);
	int			last = first_instant(to);
	SeTime		end = grid.begin + last * grid.unit;

	if (first == last || first == 0 || last == grid.n)
		return;					/* nothing in it, or cut by the edge of the grid */
	if (grid.nwindows > 0 && grid.windows[grid.nwindows - 1].end == end)
		return;					/* the one that began first is meant */
	grid.windows[grid.nwindows].start = grid.begin + first * grid.unit;
	grid.windows[grid.nwindows++].end = end;
}

/* All windows within the grid. */
static void
make_windows(const SeWindow *w)
{
	int64		period = w->kind == SE_WINDOW_HOP ? w->slide : w->size;
	int64		first = (grid.counts[0] - UNIX_EPOCH - w->shift) / period - w->size / period - 2;

	grid.nwindows = 0;
	for (int64 i = first;; i++)
	{
		SeTime		from = UNIX_EPOCH + w->shift + i * period;

		if (from > grid.counts[grid.n - 1])
			break;
		if (w->kind != SE_WINDOW_CUMULATE)
			add_window(from, from + w->size);
		else
			for (SeTime to = from + w->slide; to <= from + w->size; to += w->slide)
				add_window(from, to);
	}
}

/* ------------------------------------------------------------- the comparison */

/* The instants from a to b are looked at, far enough from the edges. */
static void
compare(const SeWindow *w, int a, int b)
{
	int			ended_before = 0;

	for (int i = a; i < b; i++)
	{
		SeTime		ts = grid.begin + i * grid.unit + (int64) se_harness_random((uint32) Min(grid.unit, 1000000));
		SeTime		wm = grid.begin + (a + se_harness_random(b - a)) * grid.unit;
		SeTime		start;
		SeTime		end;
		SeTime		slice_start;
		SeTime		slice_end;
		SeTime		last = SE_TIME_MIN;
		int64		ended = 0;
		bool		more = se_window_first(w, ts, &start, &end);
		bool		sliced = se_window_slice(w, ts, &slice_start, &slice_end);
		bool		all;

		SE_CHECK_INT(se_calendar_count(&w->calendar, grid.begin + i * grid.unit), grid.counts[i]);
		SE_CHECK_INT(sliced, more);
		SE_CHECK(slice_start <= ts && ts < slice_end);
		while (ended_before < grid.nwindows && grid.windows[ended_before].end <= ts)
			ended_before++;
		for (int k = ended_before; k < grid.nwindows && grid.windows[k].start <= ts; k++)
		{
			SE_CHECK(more);
			SE_CHECK_INT(start, grid.windows[k].start);
			SE_CHECK_INT(end, grid.windows[k].end);
			SE_CHECK_INT(se_window_start_of_end(w, end), start);
			SE_CHECK(start <= slice_start && slice_end <= end);
			if (last == SE_TIME_MIN)
				SE_CHECK_INT(se_window_next_end(w, ts), end);
			else
				SE_CHECK_INT(se_window_next_end(w, last), end);
			ended += end <= wm;
			last = end;
			more = se_window_next(w, ts, &start, &end);
		}
		SE_CHECK(!more);
		if (last == SE_TIME_MIN)
			continue;
		SE_CHECK_INT(se_window_last_end(w, ts), last);
		SE_CHECK_INT(se_window_last_end(w, slice_start), last);
		SE_CHECK_INT(se_window_ended(w, ts, wm, &all), ended);
		SE_CHECK_INT(all, last <= wm);
	}
}

/* A zone of n random changes between two instants of the grid, in whole units. */
static void
random_zone(int n, int from, int to, int most, int64 *at, int64 *offsets)
{
	int64		unit = grid.unit / USECS_PER_SEC;
	int64		begin = (grid.begin - UNIX_EPOCH) / USECS_PER_SEC;

	for (int i = 0; i <= n; i++)
		offsets[i] = ((int64) se_harness_random(2 * most + 1) - most) * unit;
	for (int i = 0; i < n; i++)
		at[i] = begin + (from + (int64) (to - from) * i / n + 2 + se_harness_random((to - from) / n - 2)) * unit;
}

static void
check_window(SeWindow *w, int nat, const int64 *at, const int64 *offsets, int a, int b)
{
	w->calendar.zone = se_stub_zone("random", nat, at, offsets);
	make_counts(&w->calendar, nat, at, offsets);
	make_windows(w);
	compare(w, a, b);
}

SE_TEST(windows_over_a_local_clock_are_those_of_the_definition)
{
	grid.counts = counts;
	for (int i = 0; i < 1500; i++)
	{
		SeWindow	w = {SE_WINDOW_TUMBLE + se_harness_random(3)};
		int64		at[8];
		int64		offsets[9];
		int			nat = se_harness_random(8);

		grid.begin = se_harness_random(2) == 0 ? UNIX_EPOCH - 550 * USECS_PER_SEC : INT64CONST(765432) * USECS_PER_SEC;
		grid.unit = USECS_PER_SEC;
		grid.n = 1100;
		random_zone(nat, 450, 650, se_harness_random(2) == 0 ? 3 : 50, at, offsets);
		w.size = (1 + se_harness_random(40)) * USECS_PER_SEC;
		w.slide = w.kind == SE_WINDOW_HOP ? (1 + se_harness_random(30)) * USECS_PER_SEC : w.size;
		if (w.kind == SE_WINDOW_CUMULATE)
			w.size *= 1 + se_harness_random(5);
		w.shift = ((int) se_harness_random(80) - 40) * USECS_PER_SEC;
		check_window(&w, nat, at, offsets, 450, 700);
	}
}

SE_TEST(windows_of_months_are_those_of_the_definition)
{
	grid.counts = counts;
	for (int i = 0; i < 60; i++)
	{
		SeWindow	w = {SE_WINDOW_TUMBLE + se_harness_random(3)};
		int64		at[8];
		int64		offsets[9];
		int			nat = se_harness_random(8);

		/* Six hours, eight years; around 1970, and around 2000, which was a leap year. */
		grid.begin = se_harness_random(2) == 0 ? UNIX_EPOCH - 4 * 365 * USECS_PER_DAY : -3 * 365 * USECS_PER_DAY;
		grid.unit = 6 * USECS_PER_HOUR;
		grid.n = 4 * 365 * 8;
		random_zone(nat, 4600, 7200, 3, at, offsets);
		w.calendar.months = true;
		w.calendar.shift = ((int) se_harness_random(200) - 100) * grid.unit * se_harness_random(2);
		w.size = (1 + se_harness_random(7)) * SE_CALENDAR_MONTH;
		w.slide = w.kind == SE_WINDOW_HOP ? (1 + se_harness_random(5)) * SE_CALENDAR_MONTH : w.size;
		if (w.kind == SE_WINDOW_CUMULATE)
		{
			if (se_harness_random(2) == 0)
				w.size *= 1 + se_harness_random(3);
			else
				w.slide = (1 + se_harness_random(2) * 3) * grid.unit;
		}
		w.shift = ((int) se_harness_random(20) - 10) * SE_CALENDAR_MONTH;
		check_window(&w, nat, at, offsets, 4500, 7500);
	}
}

SE_TEST(an_instant_is_the_first_with_its_count)
{
	int64		at[] = {-20000000, 0, 20000000, 30000000};
	int64		offsets[] = {3000, 3600, -43200, 46800, 3600};
	SeCalendar	calendar = {se_stub_zone("wide", 4, at, offsets)};

	for (int i = 0; i < 200000; i++)
	{
		SeTime		c = UNIX_EPOCH + ((int64) se_harness_random(2000000) - 1000000) * 50 * USECS_PER_SEC +
		(int) se_harness_random(3) - 1;
		SeTime		t;

		calendar.months = i % 2 == 0;
		calendar.shift = i % 3 == 0 ? 1000000 : 0;
		t = se_calendar_instant(&calendar, c);
		SE_CHECK(se_calendar_count(&calendar, t) >= c);
		SE_CHECK(se_calendar_count(&calendar, t - 1) < c);
	}
}

/* Whatever was asked before: a stretch of time that is remembered answers for all its times. */
SE_TEST(the_order_of_questions_makes_no_difference)
{
	for (int i = 0; i < 300; i++)
	{
		int64		at[4];
		int64		offsets[5];
		int			n = se_harness_random(5);
		SeCalendar	calendar = {NULL};

		for (int k = 0; k <= n; k++)
			offsets[k] = (int) se_harness_random(90000) - 45000;
		for (int k = 0; k < n; k++)
			at[k] = (k == 0 ? 0 : at[k - 1]) + (4 + se_harness_random(700)) * SECS_PER_DAY;
		calendar.zone = se_stub_zone("random", n, at, offsets);
		for (int k = 0; k < 200; k++)
		{
			/* Often some days, or a year and some weeks, behind a change. */
			int64		near = n > 0 && k % 4 != 0 ? at[se_harness_random(n)] + (k % 4 == 1 ? 400 * SECS_PER_DAY : 0) : 0;
			int64		days = k % 4 == 0 ? (int) se_harness_random(3000) : (int) se_harness_random(40) - 20;
			SeTime		t = UNIX_EPOCH + (near + days * SECS_PER_DAY + se_harness_random(SECS_PER_DAY)) * USECS_PER_SEC;
			SeTime		expected = t + offset_at(n, at, offsets, t);

			for (int j = 0; j < n && UNIX_EPOCH + at[j] * USECS_PER_SEC <= t; j++)
				expected = Max(expected, UNIX_EPOCH + (at[j] + offsets[j]) * USECS_PER_SEC - 1);
			SE_CHECK_INT(se_calendar_count(&calendar, t), expected);
			SE_CHECK(se_calendar_instant(&calendar, expected) <= t);
			SE_CHECK(se_calendar_instant(&calendar, expected + 1) > t);
		}
	}
}

/* Each day from 4714 BC to 10000 AD comes one after the other, and months have their lengths. */
SE_TEST(months_have_their_lengths_for_all_years)
{
	static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	int64		zero = 0;
	SeCalendar	calendar = {se_stub_zone("none", 0, &zero, &zero), true};
	SeTime		t;
	int64		n = (-4713 - 1970) * 12;	/* January 4714 BC is not all there: from the next year */

	t = se_calendar_instant(&calendar, UNIX_EPOCH + n * SE_CALENDAR_MONTH);
	for (int year = -4713 + 1; year <= 10000; year++)
	{
		bool		leap;

		n = (int64) (year - 1970) * 12;
		t = se_calendar_instant(&calendar, UNIX_EPOCH + n * SE_CALENDAR_MONTH);
		leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
		for (int month = 0; month < 12; month++, n++)
		{
			int			length = days[month] + (month == 1 && leap);

			SE_CHECK_INT(se_calendar_count(&calendar, t), UNIX_EPOCH + n * SE_CALENDAR_MONTH);
			SE_CHECK_INT(se_calendar_count(&calendar, t - 1), UNIX_EPOCH + (n - 1) * SE_CALENDAR_MONTH +
						 days[(month + 11) % 12] * USECS_PER_DAY - 1 + (month == 2 && leap ? USECS_PER_DAY : 0));
			t += length * USECS_PER_DAY;
			SE_CHECK_INT(se_calendar_instant(&calendar, UNIX_EPOCH + (n + 1) * SE_CALENDAR_MONTH), t);
		}
	}
}

SE_TEST(times_at_the_ends_of_the_type_saturate)
{
	int64		at[] = {0, 10};
	int64		offsets[] = {36000, -36000, 36000};
	SeWindow	w = {SE_WINDOW_HOP, 3 * SE_CALENDAR_MONTH, SE_CALENDAR_MONTH, 0, {se_stub_zone("ends", 2, at, offsets)}};
	SeTime		start;
	SeTime		end;

	for (int months = 0; months < 2; months++)
	{
		w.calendar.months = months;
		SE_CHECK_INT(se_window_next_end(&w, END_TIMESTAMP - 1), SE_TIME_MAX);
		SE_CHECK_INT(se_window_next_end(&w, SE_TIME_MAX), SE_TIME_MAX);
		SE_CHECK_INT(se_window_last_end(&w, END_TIMESTAMP - USECS_PER_DAY), SE_TIME_MAX);
		SE_CHECK(se_window_first(&w, MIN_TIMESTAMP, &start, &end));
		SE_CHECK_INT(start, SE_TIME_MIN);
		SE_CHECK(end > MIN_TIMESTAMP && end < 0);
		SE_CHECK_INT(se_calendar_count(&w.calendar, SE_TIME_MIN), SE_TIME_MIN);
		SE_CHECK_INT(se_calendar_instant(&w.calendar, SE_TIME_MIN + 1), SE_TIME_MIN);
		if (!months)
			SE_CHECK_INT(se_calendar_instant(&w.calendar, SE_TIME_MAX - 1), SE_TIME_MAX);
	}
}

static SeWindow
make(SeWindowKind kind, Interval size, Interval slide, Interval shift)
{
	return se_window_make(kind, &size, kind == SE_WINDOW_TUMBLE ? NULL : &slide, &shift, "none");
}

static Interval
interval(int64 usecs, int days, int months)
{
	Interval	result = {usecs, days, months};

	return result;
}

static const Interval none = {0, 0, 0};
static const Interval day = {0, 1, 0};
static const Interval week = {0, 7, 0};
static const Interval month = {0, 0, 1};
static const Interval quarter = {0, 0, 3};

SE_TEST(lengths_become_counts)
{
	int64		zero = 0;
	SeWindow	w;

	(void) se_stub_zone("none", 0, &zero, &zero);
	w = make(SE_WINDOW_TUMBLE, day, none, none);
	SE_CHECK(w.size == USECS_PER_DAY && !w.calendar.months && w.calendar.shift == 0);
	w = make(SE_WINDOW_TUMBLE, week, none, day);
	SE_CHECK(w.size == 7 * USECS_PER_DAY && w.calendar.shift == 4 * USECS_PER_DAY && w.shift == USECS_PER_DAY);
	w = make(SE_WINDOW_HOP, week, day, none);
	SE_CHECK(w.calendar.shift == 0);
	w = make(SE_WINDOW_HOP, week, interval(0, 14, 0), none);
	SE_CHECK(w.calendar.shift == 4 * USECS_PER_DAY);
	w = make(SE_WINDOW_CUMULATE, week, day, none);
	SE_CHECK(w.calendar.shift == 4 * USECS_PER_DAY);
	w = make(SE_WINDOW_HOP, quarter, month, interval(5, 2, 1));
	SE_CHECK(w.calendar.months && w.size == 3 * w.slide && w.shift == w.slide && w.calendar.shift == 2 * USECS_PER_DAY + 5);
	w = make(SE_WINDOW_CUMULATE, quarter, day, none);
	SE_CHECK(w.calendar.months && w.slide == USECS_PER_DAY);

	SE_CHECK_ERROR("22023", make(SE_WINDOW_TUMBLE, interval(0, 1, 1), none, none));
	SE_CHECK_ERROR("22023", make(SE_WINDOW_TUMBLE, interval(0, 0, -1), none, none));
	SE_CHECK_ERROR("22023", make(SE_WINDOW_TUMBLE, interval(0, 0, PG_INT32_MAX), none, none));
	SE_CHECK_ERROR("22023", make(SE_WINDOW_TUMBLE, day, none, month));
	SE_CHECK_ERROR("22023", make(SE_WINDOW_TUMBLE, month, none, interval(0, 0, PG_INT32_MIN)));
	SE_CHECK_ERROR("22023", make(SE_WINDOW_HOP, month, day, none));
	SE_CHECK_ERROR("22023", make(SE_WINDOW_HOP, day, month, none));
	SE_CHECK_ERROR("22023", make(SE_WINDOW_HOP, month, none, none));
	SE_CHECK_ERROR("22023", make(SE_WINDOW_CUMULATE, month, interval(0, 2, 0), none));
	SE_CHECK_ERROR("22023", make(SE_WINDOW_CUMULATE, month, none, none));
	SE_CHECK_ERROR("22023", make(SE_WINDOW_CUMULATE, day, month, none));
	SE_CHECK_ERROR("22023", make(SE_WINDOW_CUMULATE, interval(0, 0, 4), quarter, none));
	SE_CHECK_ERROR("22023", se_window_make(SE_WINDOW_TUMBLE, &day, NULL, &none, "nowhere"));
}
