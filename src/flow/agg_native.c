/*
 * flow/agg_native.c
 *		Which of PostgreSQL's own aggregates have an accumulator of ours.
 *
 * An aggregate is recognised by its OID, which is the same in every cluster because
 * these belong to the bootstrap catalog; a user's function of the same name is not one.
 */
#include "postgres.h"

#include "flow/agg_native.h"
#include "utils/fmgroids.h"

/* The accumulator for an aggregate function, SE_NATIVE_NONE if it has none. */
SeAggNative
se_agg_native(Oid aggfnoid)
{
	switch (aggfnoid)
	{
		case F_COUNT_:
			return SE_NATIVE_COUNT_STAR;
		case F_COUNT_ANY:
			return SE_NATIVE_COUNT;
		case F_SUM_INT2:
			return SE_NATIVE_SUM_INT2;
		case F_SUM_INT4:
			return SE_NATIVE_SUM_INT4;
		case F_SUM_INT8:
			return SE_NATIVE_SUM_INT8;
		case F_SUM_FLOAT4:
			return SE_NATIVE_SUM_FLOAT4;
		case F_SUM_FLOAT8:
			return SE_NATIVE_SUM_FLOAT8;
		case F_SUM_NUMERIC:
			return SE_NATIVE_SUM_NUMERIC;
		case F_AVG_INT2:
			return SE_NATIVE_AVG_INT2;
		case F_AVG_INT4:
			return SE_NATIVE_AVG_INT4;
		case F_AVG_INT8:
			return SE_NATIVE_AVG_INT8;
		case F_AVG_FLOAT4:
			return SE_NATIVE_AVG_FLOAT4;
		case F_AVG_FLOAT8:
			return SE_NATIVE_AVG_FLOAT8;
		case F_AVG_NUMERIC:
			return SE_NATIVE_AVG_NUMERIC;
		case F_MIN_INT2:
			return SE_NATIVE_MIN_INT2;
		case F_MIN_INT4:
			return SE_NATIVE_MIN_INT4;
		case F_MIN_INT8:
			return SE_NATIVE_MIN_INT8;
		case F_MIN_FLOAT4:
			return SE_NATIVE_MIN_FLOAT4;
		case F_MIN_FLOAT8:
			return SE_NATIVE_MIN_FLOAT8;
		case F_MIN_DATE:
			return SE_NATIVE_MIN_DATE;
		case F_MIN_TIMESTAMP:
			return SE_NATIVE_MIN_TIMESTAMP;
		case F_MIN_TIMESTAMPTZ:
			return SE_NATIVE_MIN_TIMESTAMPTZ;
		case F_MIN_TEXT:
			return SE_NATIVE_MIN_TEXT;
		case F_MIN_NUMERIC:
			return SE_NATIVE_MIN_NUMERIC;
		case F_MAX_INT2:
			return SE_NATIVE_MAX_INT2;
		case F_MAX_INT4:
			return SE_NATIVE_MAX_INT4;
		case F_MAX_INT8:
			return SE_NATIVE_MAX_INT8;
		case F_MAX_FLOAT4:
			return SE_NATIVE_MAX_FLOAT4;
		case F_MAX_FLOAT8:
			return SE_NATIVE_MAX_FLOAT8;
		case F_MAX_DATE:
			return SE_NATIVE_MAX_DATE;
		case F_MAX_TIMESTAMP:
			return SE_NATIVE_MAX_TIMESTAMP;
		case F_MAX_TIMESTAMPTZ:
			return SE_NATIVE_MAX_TIMESTAMPTZ;
		case F_MAX_TEXT:
			return SE_NATIVE_MAX_TEXT;
		case F_MAX_NUMERIC:
			return SE_NATIVE_MAX_NUMERIC;
		default:
			return SE_NATIVE_NONE;
	}
}

/* Does the result depend on the order of the rows (sums of floats: by rounding)? */
bool
se_agg_native_is_order_sensitive(SeAggNative native)
{
	switch (native)
	{
		case SE_NATIVE_SUM_FLOAT4:
		case SE_NATIVE_SUM_FLOAT8:
		case SE_NATIVE_AVG_FLOAT4:
		case SE_NATIVE_AVG_FLOAT8:
			return true;
		default:
			return false;
	}
}
