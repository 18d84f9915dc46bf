/*
 * time/window.h
 *		Window arithmetic: tumble, hop, cumulate as pure functions of time.
 *
 * Windows are [start, end), aligned to 1970-01-01 00:00 of the type's own clock plus
 * shift (semantics 0.1). All values are microseconds. For hop, size need not be a
 * multiple of slide, and slide may exceed size (gaps). For cumulate size is a
 * multiple of step. Nothing here allocates or raises, but for se_window_make.
 * Sums saturate at SE_TIME_MIN and SE_TIME_MAX.
 *
 * With a time zone the same holds for the zone's calendar (time/calendar.h): size, slide
 * and shift are counts, and each bound is the first instant that has its count. Windows
 * that lie in a gap of the calendar alone are not there; of windows that end at the
 * same instant only the one that began first is. So a window is known by its end.
 * Periods of whole weeks begin on Mondays.
 */
#ifndef SE_WINDOW_H
#define SE_WINDOW_H

#include "base/se.h"
#include "datatype/timestamp.h"
#include "time/calendar.h"

typedef enum SeWindowKind
{
	SE_WINDOW_TUMBLE = 1,
	SE_WINDOW_HOP,
	SE_WINDOW_CUMULATE
} SeWindowKind;

typedef struct SeWindow
{
	SeWindowKind kind;
	int64		size;
	int64		slide;			/* hop: slide; cumulate: step; tumble: = size */
	int64		shift;
	SeCalendar	calendar;		/* zone NULL: time itself */
} SeWindow;

/*
 * Build from the SQL arguments and check them: positive, size a multiple of step,
 * months only with a time zone and not mixed with days (22023 with a hint). A day
 * counts 24 hours, of the local clock if there is a zone. slide NULL for tumble; zone
 * NULL for none.
 */
extern SeWindow se_window_make(SeWindowKind kind, const Interval *size, const Interval *slide,
							   const Interval *shift, const char *zone);

/* A time zone was given for a timestamp, which is on a local clock already: raises 22023. */
extern void se_window_refuse_zone(void) SE_NORETURN;

/* Greatest aligned start <= ts for a period. Right for times before 1970 and for any shift. */
extern SeTime se_window_align(SeTime ts, int64 period, int64 shift);

/*
 * The windows that contain ts, in order of their end. first: false if there is none (a
 * gap of hop); next: from one to the following, false after the last.
 */
extern bool se_window_first(const SeWindow *w, SeTime ts, SeTime *start, SeTime *end);
extern bool se_window_next(const SeWindow *w, SeTime ts, SeTime *start, SeTime *end);

/* How many of the windows that contain ts end by wm, and whether all of them do. ts is in one. */
extern int64 se_window_ended(const SeWindow *w, SeTime ts, SeTime wm, bool *all);

/*
 * Slices: the longest pieces that every window is made of exactly. A row belongs to
 * the one slice that contains its time (or to none, in a gap of hop: false).
 */
extern bool se_window_slice(const SeWindow *w, SeTime ts, SeTime *start, SeTime *end);

/*
 * End of the last window that contains ts, for example the start of a slice; for the
 * start of a window, of the last that starts there.
 */
extern SeTime se_window_last_end(const SeWindow *w, SeTime ts);

/* Smallest window end > t; and the start of the window that ends there. */
extern SeTime se_window_next_end(const SeWindow *w, SeTime t);
extern SeTime se_window_start_of_end(const SeWindow *w, SeTime end);

/* Can windows with different ends have the same start? */
extern bool se_window_starts_repeat(const SeWindow *w);

#endif							/* SE_WINDOW_H */
