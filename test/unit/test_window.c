/*
 * test/unit/test_window.c
 *		Window arithmetic against its definition, for random sizes, slides, shifts and times.
 */
#include "harness.h"

#include "time/window.h"

#define UNIX_EPOCH (-((int64) (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE)) * USECS_PER_DAY)

/* Is [start, end) a window of w? By the definition, in time since 1970. */
static bool
is_window(const SeWindow *w, SeTime start, SeTime end)
{
	int64		period = w->kind == SE_WINDOW_HOP ? w->slide : w->size;

	if (((int128) start - UNIX_EPOCH - w->shift) % period != 0)
		return false;
	if (w->kind == SE_WINDOW_CUMULATE)
		return end > start && end <= start + w->size && (end - start) % w->slide == 0;
	return end == start + w->size;
}

static SeWindow
random_window(void)
{
	SeWindow	w = {SE_WINDOW_TUMBLE + se_harness_random(3), 1 + se_harness_random(40), 0, (int) se_harness_random(200) - 100};

	switch (w.kind)
	{
		case SE_WINDOW_TUMBLE:
			w.slide = w.size;
			break;
		case SE_WINDOW_HOP:
			w.slide = 1 + se_harness_random(40);
			break;
		case SE_WINDOW_CUMULATE:
			w.slide = w.size;
			w.size *= 1 + se_harness_random(6);
			break;
	}
	return w;
}

static SeTime
random_time(void)
{
	static const SeTime around[] = {0, UNIX_EPOCH, INT64CONST(-211813488000000000), INT64CONST(9223371331199000000)};

	return around[se_harness_random(4)] + (int) se_harness_random(1000) - 500;
}

SE_TEST(windows_of_a_time_are_all_that_contain_it_in_order_of_their_end)
{
	for (int i = 0; i < 20000; i++)
	{
		SeWindow	w = random_window();
		SeTime		ts = random_time();
		SeTime		start;
		SeTime		end;
		bool		more = se_window_first(&w, ts, &start, &end);

		for (SeTime e = ts + 1; e <= ts + w.size; e++)
		{
			SeTime		first = w.kind == SE_WINDOW_CUMULATE ? ts - w.size + 1 : e - w.size;
			SeTime		last = w.kind == SE_WINDOW_CUMULATE ? ts : e - w.size;

			for (SeTime s = first; s <= last; s++)
			{
				if (!is_window(&w, s, e))
					continue;
				SE_CHECK(more);
				SE_CHECK_INT(start, s);
				SE_CHECK_INT(end, e);
				SE_CHECK_INT(se_window_start_of_end(&w, e), s);
				more = se_window_next(&w, ts, &start, &end);
			}
		}
		SE_CHECK(!more);
	}
}

/* All windows of a time; how many. */
static int
windows_of(const SeWindow *w, SeTime ts, SeTime *starts, SeTime *ends)
{
	SeTime		start;
	SeTime		end;
	int			n = 0;

	for (bool more = se_window_first(w, ts, &start, &end); more; more = se_window_next(w, ts, &start, &end))
	{
		starts[n] = start;
		ends[n++] = end;
	}
	return n;
}

SE_TEST(a_slice_is_the_longest_piece_that_windows_hold_whole)
{
	for (int i = 0; i < 20000; i++)
	{
		SeWindow	w = random_window();
		SeTime		ts = random_time();
		SeTime		start;
		SeTime		end;
		SeTime		starts[64];
		SeTime		ends[64];
		int			n = windows_of(&w, ts, starts, ends);

		if (!se_window_slice(&w, ts, &start, &end))
		{
			SE_CHECK_INT(n, 0);
			continue;
		}
		SE_CHECK(n > 0 && start <= ts && ts < end);
		for (int k = 0; k < n; k++)
			SE_CHECK(starts[k] <= start && end <= ends[k]);
		SE_CHECK_INT(se_window_last_end(&w, start), ends[n - 1]);

		/* The times just outside are in other windows. */
		for (int side = 0; side < 2; side++)
		{
			SeTime		starts2[64];
			SeTime		ends2[64];
			int			m = windows_of(&w, side == 0 ? start - 1 : end, starts2, ends2);

			SE_CHECK(m != n || memcmp(starts, starts2, n * sizeof(SeTime)) != 0 ||
					 memcmp(ends, ends2, n * sizeof(SeTime)) != 0);
		}
	}
}

SE_TEST(what_has_ended_is_counted)
{
	for (int i = 0; i < 20000; i++)
	{
		SeWindow	w = random_window();
		SeTime		ts = random_time();
		SeTime		wm = se_harness_random(20) == 0 ? SE_TIME_MAX : ts + (int) se_harness_random(300) - 20;
		SeTime		starts[64];
		SeTime		ends[64];
		int			n = windows_of(&w, ts, starts, ends);
		int			ended = 0;
		bool		all;

		if (n == 0)
			continue;
		for (int k = 0; k < n; k++)
			ended += ends[k] <= wm;
		SE_CHECK_INT(se_window_ended(&w, ts, wm, &all), ended);
		SE_CHECK_INT(all, ended == n);
	}
}

SE_TEST(the_next_end_is_the_smallest_above)
{
	for (int i = 0; i < 20000; i++)
	{
		SeWindow	w = random_window();
		SeTime		t = random_time();
		SeTime		end = se_window_next_end(&w, t);
		SeTime		e;

		SE_CHECK(is_window(&w, se_window_start_of_end(&w, end), end));
		for (e = t + 1; e < end; e++)
			SE_CHECK(!is_window(&w, se_window_start_of_end(&w, e), e));
	}
}

SE_TEST(far_times_saturate_instead_of_wrapping)
{
	SeWindow	w = {SE_WINDOW_HOP, PG_INT64_MAX / 4, 1000, 17};
	SeTime		start;
	SeTime		end;

	w.slide = w.size;
	SE_CHECK(se_window_first(&w, PG_INT64_MAX - 1, &start, &end));
	SE_CHECK(start < end);
	SE_CHECK(!se_window_next(&w, PG_INT64_MAX - 1, &start, &end));
	SE_CHECK(se_window_align(PG_INT64_MIN + 1, 7, 3) <= PG_INT64_MIN + 1);
	SE_CHECK_INT(se_window_next_end(&w, PG_INT64_MAX - 1), SE_TIME_MAX);
}

static Interval
interval(int64 usecs, int days, int months)
{
	Interval	result = {usecs, days, months};

	return result;
}

SE_TEST(bad_parameters_are_errors)
{
	Interval	zero = interval(0, 0, 0);
	Interval	minus = interval(-1, 0, 0);
	Interval	two = interval(2, 0, 0);
	Interval	five = interval(5, 0, 0);
	Interval	day = interval(0, 1, 0);
	Interval	month = interval(0, 0, 1);
	Interval	huge = interval(0, PG_INT32_MAX, 0);
	SeWindow	w;

	SE_CHECK_ERROR("22023", se_window_make(SE_WINDOW_TUMBLE, &zero, NULL, &zero, NULL));
	SE_CHECK_ERROR("22023", se_window_make(SE_WINDOW_TUMBLE, &minus, NULL, &zero, NULL));
	SE_CHECK_ERROR("22023", se_window_make(SE_WINDOW_TUMBLE, &month, NULL, &zero, NULL));
	SE_CHECK_ERROR("22023", se_window_make(SE_WINDOW_TUMBLE, &five, NULL, &month, NULL));
	SE_CHECK_ERROR("22023", se_window_make(SE_WINDOW_TUMBLE, &huge, NULL, &zero, NULL));
	SE_CHECK_ERROR("22023", se_window_make(SE_WINDOW_HOP, &five, &zero, &zero, NULL));
	SE_CHECK_ERROR("22023", se_window_make(SE_WINDOW_HOP, &day, &two, &zero, NULL));
	SE_CHECK_ERROR("22023", se_window_make(SE_WINDOW_CUMULATE, &five, &two, &zero, NULL));
	w = se_window_make(SE_WINDOW_HOP, &two, &five, &minus, NULL);
	SE_CHECK_INT(w.size, 2);
	SE_CHECK_INT(w.slide, 5);
	SE_CHECK_INT(w.shift, -1);
	w = se_window_make(SE_WINDOW_TUMBLE, &day, NULL, &zero, NULL);
	SE_CHECK_INT(w.slide, USECS_PER_DAY);
}
