/*
 * time/window.h
 *		Window arithmetic: tumble, hop, cumulate as pure functions of time.
 *
 * Windows are [start, end), aligned to 1970-01-01 00:00 of the type's own clock plus
 * shift (semantics 0.1). All values are microseconds. For hop, size need not be a
 * multiple of slide, and slide may exceed size (gaps). For cumulate size is a
 * multiple of step. Nothing here allocates or raises, but for se_window_make.
 * Sums saturate at SE_TIME_MIN and SE_TIME_MAX.
 */
#ifndef SE_WINDOW_H
#define SE_WINDOW_H

#include "base/se.h"
#include "datatype/timestamp.h"

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
} SeWindow;

/*
 * Build from the SQL arguments and check them: positive, no months (22023 with a
 * hint), size a multiple of step. A day counts 24 hours. slide NULL for tumble.
 */
extern SeWindow se_window_make(SeWindowKind kind, const Interval *size, const Interval *slide,
							   const Interval *shift);

/* Greatest aligned start <= ts for a period. Right for times before 1970 and for any shift. */
extern SeTime se_window_align(SeTime ts, int64 period, int64 shift);

/* The windows that contain ts, in order of their end: how many, and the k-th (0-based). */
extern int	se_window_count(const SeWindow *w, SeTime ts);
extern void se_window_nth(const SeWindow *w, SeTime ts, int k, SeTime *start, SeTime *end);

/*
 * Slices: the longest pieces that every window is made of exactly. A row belongs to
 * the one slice that contains its time (or to none, in a gap of hop: false).
 */
extern bool se_window_slice(const SeWindow *w, SeTime ts, SeTime *start, SeTime *end);

/* End of the last window that contains the slice [start, end). */
extern SeTime se_window_last_end(const SeWindow *w, SeTime slice_start);

/* Smallest window end > t; and the start of the window that ends there. */
extern SeTime se_window_next_end(const SeWindow *w, SeTime t);
extern SeTime se_window_start_of_end(const SeWindow *w, SeTime end);

#endif							/* SE_WINDOW_H */
