/*
 * flow/emit.h
 *		When results come: the options `emit` and `allowed_lateness` of a view.
 *
 * `emit` is a list, in any order and at most one of each:
 *
 *		on_close					when the watermark closes the window
 *		on_update					with each commit that follows a change
 *		early <interval>			while the window is open, at its start + 1, 2, 3 … intervals
 *									of event time (groups without a window: at multiples of it)
 *		early <interval> processing	at multiples of the interval of the clock
 *		every <n> rows				at the n-th, 2n-th, … row of a group
 *		late <interval>				what late rows change, that long after the window's end, and
 *									again; 0 = at once, with the commit that follows
 *
 * A window's result comes when it closes in any case. Nothing here knows which of it an
 * operator can do: plan/emit_options.c refuses what makes no sense for a query.
 */
#ifndef SE_EMIT_H
#define SE_EMIT_H

#include "base/se.h"

typedef struct SeEmit
{
	bool		given;			/* the option was given at all */
	bool		on_close;		/* named in the list */
	bool		on_update;
	bool		late_given;
	bool		early_clock;	/* early: by the clock, at tick marks; otherwise by event time */
	int64		early;			/* µs, 0 = none */
	int64		every;			/* rows, 0 = none */
	int64		late;			/* µs between results of late rows; 0 = at once */
	int64		lateness;		/* µs: allowed_lateness */
	bool		kept;			/* results changed under earlier options: rows stay such that are updated */
} SeEmit;

/*
 * Read a value of `emit` or of `allowed_lateness` into *emit; ERROR (22023, 22007, 22008)
 * that names the part that is wrong. NULL text: not given. In any context; needs no transaction.
 */
extern void se_emit_parse(const char *text, SeEmit *emit);
extern void se_emit_parse_lateness(const char *text, SeEmit *emit);

/* The same in their normal form, palloc'd. */
extern char *se_emit_print(const SeEmit *emit);
extern char *se_emit_print_lateness(const SeEmit *emit);

/*
 * An option's interval in µs: positive, or also 0; without months, and a day counts 24
 * hours. `option` names it in errors.
 */
extern int64 se_emit_interval(const char *option, const char *text, bool zero);

/* "10 s": a length of time in the largest unit that it is a multiple of, whatever IntervalStyle says. */
extern char *se_emit_length(int64 usecs);

/* Are rows of a windowed result ever changed, or are they final when they come? */
static inline bool
se_emit_is_updating(const SeEmit *emit)
{
	return emit->on_update || emit->early > 0 || emit->every > 0 || emit->lateness > 0 || emit->kept;
}

/* Do rows of groups without a window come now and then only, not with each commit? */
static inline bool
se_emit_is_held(const SeEmit *emit)
{
	return emit->early > 0 || emit->every > 0;
}

#endif							/* SE_EMIT_H */
