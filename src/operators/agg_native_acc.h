/*
 * operators/agg_native_acc.h
 *		What native accumulators look like, for those who compute and who store them.
 */
#ifndef SE_AGG_NATIVE_ACC_H
#define SE_AGG_NATIVE_ACC_H

#include "operators/agg_internal.h"

typedef struct SeCountAcc
{
	int64		n;
} SeCountAcc;

typedef struct SeIntSumAcc		/* int2, int4 */
{
	int64		sum;
	int64		n;
} SeIntSumAcc;

typedef struct SeWideSumAcc		/* int8: a 128-bit two's complement number */
{
	uint64		low;
	int64		high;
	int64		n;
} SeWideSumAcc;

typedef struct SeFloatSumAcc
{
	float8		sum;
	int64		n;
} SeFloatSumAcc;

typedef struct SeNumericSumAcc
{
	uint64		low;			/* of what fits: units of 10^-8, 128 bits */
	int64		high;
	int64		scale;			/* greatest display scale of that */
	SeAggBlob	rest;			/* sum of what does not fit, if used */
	int64		n;				/* values in both */
} SeNumericSumAcc;

typedef struct SeValueAcc		/* min, max by value */
{
	Datum		value;
	int64		n;
} SeValueAcc;

typedef enum SeNativeFamily
{
	SE_FAMILY_COUNT,
	SE_FAMILY_INT_SUM,
	SE_FAMILY_WIDE_SUM,
	SE_FAMILY_FLOAT_SUM,
	SE_FAMILY_NUMERIC_SUM,
	SE_FAMILY_VALUE,
	SE_FAMILY_REFERENCE			/* min, max of text and numeric: SeAggBlob */
} SeNativeFamily;

extern SeNativeFamily se_native_family(SeAggNative native);

#endif							/* SE_AGG_NATIVE_ACC_H */
