/*
 * flow/agg_native.h
 *		The aggregates that have an accumulator of our own instead of PostgreSQL's functions.
 *
 * The list is shared by the planner, which chooses the method of a call, and the
 * aggregate operators, which must implement exactly these. Results, overflow and NULL
 * rules are those of PostgreSQL's aggregate of the same name.
 */
#ifndef SE_AGG_NATIVE_H
#define SE_AGG_NATIVE_H

#include "base/se.h"

/* Positions are never stored: a checkpoint names calls by their place in the graph. */
typedef enum SeAggNative
{
	SE_NATIVE_NONE = 0,			/* no accumulator of ours */
	SE_NATIVE_COUNT_STAR,
	SE_NATIVE_COUNT,
	SE_NATIVE_SUM_INT2,
	SE_NATIVE_SUM_INT4,
	SE_NATIVE_SUM_INT8,
	SE_NATIVE_SUM_FLOAT4,
	SE_NATIVE_SUM_FLOAT8,
	SE_NATIVE_SUM_NUMERIC,
	SE_NATIVE_AVG_INT2,
	SE_NATIVE_AVG_INT4,
	SE_NATIVE_AVG_INT8,
	SE_NATIVE_AVG_FLOAT4,
	SE_NATIVE_AVG_FLOAT8,
	SE_NATIVE_AVG_NUMERIC,
	SE_NATIVE_MIN_INT2,
	SE_NATIVE_MIN_INT4,
	SE_NATIVE_MIN_INT8,
	SE_NATIVE_MIN_FLOAT4,
	SE_NATIVE_MIN_FLOAT8,
	SE_NATIVE_MIN_DATE,
	SE_NATIVE_MIN_TIMESTAMP,
	SE_NATIVE_MIN_TIMESTAMPTZ,
	SE_NATIVE_MIN_TEXT,
	SE_NATIVE_MIN_NUMERIC,
	SE_NATIVE_MAX_INT2,
	SE_NATIVE_MAX_INT4,
	SE_NATIVE_MAX_INT8,
	SE_NATIVE_MAX_FLOAT4,
	SE_NATIVE_MAX_FLOAT8,
	SE_NATIVE_MAX_DATE,
	SE_NATIVE_MAX_TIMESTAMP,
	SE_NATIVE_MAX_TIMESTAMPTZ,
	SE_NATIVE_MAX_TEXT,
	SE_NATIVE_MAX_NUMERIC
} SeAggNative;

/* The accumulator for an aggregate function, SE_NATIVE_NONE if it has none. */
extern SeAggNative se_agg_native(Oid aggfnoid);

/* Does the result depend on the order of the rows (sums of floats: by rounding)? */
extern bool se_agg_native_is_order_sensitive(SeAggNative native);

#endif							/* SE_AGG_NATIVE_H */
