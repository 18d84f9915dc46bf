/*
 * operators/agg_numeric.h
 *		Numerics as 128-bit whole numbers of 10^-8, as long as they fit.
 *
 * What most numerics in a stream are: at most 20 digits before the point and 8 after.
 * Adding those is one addition; the others, NaN and the infinities, are added by
 * PostgreSQL's own function.
 */
#ifndef SE_AGG_NUMERIC_H
#define SE_AGG_NUMERIC_H

#include "base/se.h"
#include "utils/numeric.h"

/* Display scales above this take the slow way. */
#define SE_NUMERIC_MAX_SCALE 100

/* The value in units of 10^-8, and its display scale; false if it does not fit. */
extern bool se_numeric_to_units(Datum value, int128 *units, int *scale);

/* The numeric with this display scale, in the current context. */
extern Numeric se_numeric_from_units(int128 units, int scale);

#endif							/* SE_AGG_NUMERIC_H */
