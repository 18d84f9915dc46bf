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
		int			n = se_window_count(&w, ts);
		int			found = 0;
		SeTime		start;
		SeTime		end;

		for (SeTime e = ts + 1; e <= ts + w.size; e++)
		{
			SeTime		first = w.kind == SE_WINDOW_CUMULATE ? ts - w.size + 1 : e - w.size;
			SeTime		last = w.kind == SE_WINDOW_CUMULATE ? ts : e - w.size;

			for (SeTime s = first; s <= last; s++)
			{
				if (!is_window(&w, s, e))
					continue;
				SE_CHECK(found < n);
				se_window_nth(&w, ts, found, &start, &end);
				SE_CHECK_INT(start, s);
				SE_CHECK_INT(end, e);
				SE_CHECK_INT(se_window_start_of_end(&w, e), s);
				found++;
			}
		}
		SE_CHECK_INT(found, n);
	}
}

SE_TEST(a_slice_is_the_longest_piece_that_windows_hold_whole)
{
	for (int i = 0; i < 20000; i++)
	{
		SeWindow	w = random_window();
		SeTime		ts = random_time();
		SeTime		start;
		SeTime		end;
		SeTime		s;
		SeTime		e;
		int			n = se_window_count(&w, ts);

		if (!se_window_slice(&w, ts, &start, &end))
		{
			SE_CHECK_INT(n, 0);
			continue;
		}
		SE_CHECK(n > 0 && start <= ts && ts < end);
		for (int k = 0; k < n; k++)
		{
			se_window_nth(&w, ts, k, &s, &e);
			SE_CHECK(s <= start && end <= e);
		}
		SE_CHECK_INT(se_window_last_end(&w, start), e);

		/* The times just outside are in other windows. */
		for (int side = 0; side < 2; side++)
		{
			SeTime		out = side == 0 ? start - 1 : end;
			int			m = se_window_count(&w, out);
			bool		same = m == n;

			for (int k = 0; same && k < n; k++)
			{
				SeTime		s2;
				SeTime		e2;

				se_window_nth(&w, ts, k, &s, &e);
				se_window_nth(&w, out, k, &s2, &e2);
				same = s == s2 && e == e2;
			}
			SE_CHECK(!same);
		}
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
	se_window_nth(&w, PG_INT64_MAX - 1, 0, &start, &end);
	SE_CHECK(start < end);
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

	SE_CHECK_ERROR("22023", se_window_make(SE_WINDOW_TUMBLE, &zero, NULL, &zero));
	SE_CHECK_ERROR("22023", se_window_make(SE_WINDOW_TUMBLE, &minus, NULL, &zero));
	SE_CHECK_ERROR("22023", se_window_make(SE_WINDOW_TUMBLE, &month, NULL, &zero));
	SE_CHECK_ERROR("22023", se_window_make(SE_WINDOW_TUMBLE, &five, NULL, &month));
	SE_CHECK_ERROR("22023", se_window_make(SE_WINDOW_TUMBLE, &huge, NULL, &zero));
	SE_CHECK_ERROR("22023", se_window_make(SE_WINDOW_HOP, &five, &zero, &zero));
	SE_CHECK_ERROR("22023", se_window_make(SE_WINDOW_HOP, &day, &two, &zero));
	SE_CHECK_ERROR("22023", se_window_make(SE_WINDOW_CUMULATE, &five, &two, &zero));
	w = se_window_make(SE_WINDOW_HOP, &two, &five, &minus);
	SE_CHECK_INT(w.size, 2);
	SE_CHECK_INT(w.slide, 5);
	SE_CHECK_INT(w.shift, -1);
	w = se_window_make(SE_WINDOW_TUMBLE, &day, NULL, &zero);
	SE_CHECK_INT(w.slide, USECS_PER_DAY);
}
