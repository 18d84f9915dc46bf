/*
 * operators/agg_native.c
 *		count, sum, avg, min and max over common types, without calling a function per row.
 *
 * Results, NULL and overflow rules are PostgreSQL's: sums of int2 and int4 are bigint
 * and wrap as int4_sum does; sums of bigint are exact in 128 bits and shown as
 * numeric; averages divide numerics; floats are added in order, a finite overflow is
 * an error; min and max keep the older value only if it is strictly better, which
 * decides which of two equal images (0 and -0, 1.0 and 1.00) is shown.
 *
 * One switch per call and batch, then a loop over rows. Numerics are
 * added as 128-bit numbers while they fit (agg_numeric.h), the others by PostgreSQL's
 * own function, in the caller's short-lived context.
 */
#include "postgres.h"

#include "base/compat.h"
#include "operators/agg_native_acc.h"
#include "operators/agg_numeric.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/float.h"
#include "utils/memutils.h"
#include "utils/numeric.h"
#include "utils/timestamp.h"
#include "utils/varlena.h"

/* Bytes up to which a value's room is kept with its accumulator. */
#define SHORT_VALUE 64

static void take_numeric(SeAggHome *home, SeNumericSumAcc *acc, Datum value);
static void take_units(SeAggHome *home, SeNumericSumAcc *acc, int128 units, int64 scale);
static void take_rest(SeAggHome *home, SeNumericSumAcc *acc, Datum value);
static Numeric numeric_sum_of(const SeNumericSumAcc *acc);
static bool value_better(SeAggNative native, Datum old, Datum new);
static bool reference_better(const SeAggSlot *slot, Datum old, Datum new);
static void take_reference(const SeAggSlot *slot, SeAggHome *home, SeAggBlob *acc, Datum value);
static Numeric wide_to_numeric(const SeWideSumAcc *acc);
static Datum quotient(Numeric sum, int64 n);

static inline void
add_wide(SeWideSumAcc *acc, uint64 low, int64 high)
{
	acc->low += low;
	acc->high += high + (acc->low < low);
}

static inline int128
wide_value(uint64 low, int64 high)
{
	return (int128) (((uint128) (uint64) high << 64) | low);
}

/* PostgreSQL wraps here: an addition that overflows in int4_sum is not an error. */
static inline int64
add_wrapping(int64 a, int64 b)
{
	return (int64) ((uint64) a + (uint64) b);
}

void
se_agg_blob_set(SeArena *arena, SeAggBlob *blob, const void *bytes, Size size)
{
	if (size > blob->room)
	{
		Size		room = TYPEALIGN(8, Max(size, Min((Size) blob->room * 2, MaxAllocSize)));
		void	   *larger = se_arena_alloc(arena, room);

		/* The new value may be part of the old one's bytes, which giving back spoils. */
		memmove(larger, bytes, size);
		if (blob->room > 0)
			(void) se_arena_give(arena, blob->bytes, blob->room);
		blob->bytes = larger;
		blob->room = (uint32) room;
	}
	else
		memmove(blob->bytes, bytes, size);
	blob->used = (uint32) size;
}

/* No value. A short one's room stays; a long one's is for others, where the arena takes it back. */
void
se_agg_blob_clear(SeArena *arena, SeAggBlob *blob)
{
	if (blob->room > SHORT_VALUE && se_arena_give(arena, blob->bytes, blob->room))
	{
		blob->bytes = NULL;
		blob->room = 0;
	}
	blob->used = 0;
}

SeNativeFamily
se_native_family(SeAggNative native)
{
	switch (native)
	{
		case SE_NATIVE_COUNT_STAR:
		case SE_NATIVE_COUNT:
			return SE_FAMILY_COUNT;
		case SE_NATIVE_SUM_INT2:
		case SE_NATIVE_SUM_INT4:
		case SE_NATIVE_AVG_INT2:
		case SE_NATIVE_AVG_INT4:
			return SE_FAMILY_INT_SUM;
		case SE_NATIVE_SUM_INT8:
		case SE_NATIVE_AVG_INT8:
			return SE_FAMILY_WIDE_SUM;
		case SE_NATIVE_SUM_FLOAT4:
		case SE_NATIVE_SUM_FLOAT8:
		case SE_NATIVE_AVG_FLOAT4:
		case SE_NATIVE_AVG_FLOAT8:
			return SE_FAMILY_FLOAT_SUM;
		case SE_NATIVE_SUM_NUMERIC:
		case SE_NATIVE_AVG_NUMERIC:
			return SE_FAMILY_NUMERIC_SUM;
		case SE_NATIVE_MIN_TEXT:
		case SE_NATIVE_MAX_TEXT:
		case SE_NATIVE_MIN_NUMERIC:
		case SE_NATIVE_MAX_NUMERIC:
			return SE_FAMILY_REFERENCE;
		default:
			return SE_FAMILY_VALUE;
	}
}

uint32
se_native_size(SeAggNative native)
{
	switch (se_native_family(native))
	{
		case SE_FAMILY_COUNT:
			return sizeof(SeCountAcc);
		case SE_FAMILY_INT_SUM:
			return sizeof(SeIntSumAcc);
		case SE_FAMILY_WIDE_SUM:
			return sizeof(SeWideSumAcc);
		case SE_FAMILY_FLOAT_SUM:
			return sizeof(SeFloatSumAcc);
		case SE_FAMILY_NUMERIC_SUM:
			return sizeof(SeNumericSumAcc);
		case SE_FAMILY_VALUE:
			return sizeof(SeValueAcc);
		case SE_FAMILY_REFERENCE:
			return sizeof(SeAggBlob);
	}
	pg_unreachable();
}

/* For every row whose argument is not NULL: `acc` of the type, and its `value`. */
#define FOR_EACH_VALUE(AccType, body) \
	for (int i = 0; i < n; i++) \
	{ \
		Size		cell = (Size) rows[i] * columns + slot->arg; \
		AccType    *acc = (AccType *) (accs[i] + slot->offset); \
		Datum		value = batch->values[cell]; \
		if (batch->nulls[cell]) \
			continue; \
		body; \
	}

/* The same where it may fail: an error names the row. */
#define FOR_EACH_RISKY_VALUE(AccType, body) \
	FOR_EACH_VALUE(AccType, home->env->current_row = rows[i]; body)

#define INT_SUM(get) \
	FOR_EACH_VALUE(SeIntSumAcc, acc->sum = add_wrapping(acc->sum, get(value)); acc->n++)

/* Keep the old value only if it is strictly better. */
#define BEST(get, old_is_better) \
	FOR_EACH_VALUE(SeValueAcc, \
		if (acc->n++ == 0 || !(old_is_better(get(acc->value), get(value)))) \
			acc->value = value)

#define LESS(a, b) ((a) < (b))
#define GREATER(a, b) ((a) > (b))

void
se_native_apply(const SeAggSlot *slot, SeAggHome *home, const SeBatch *batch,
				const int *rows, char **accs, int n)
{
	int			columns = batch->ncolumns;

	switch (slot->native)
	{
		case SE_NATIVE_NONE:
			Assert(false);
			break;
		case SE_NATIVE_COUNT_STAR:
			for (int i = 0; i < n; i++)
				((SeCountAcc *) (accs[i] + slot->offset))->n++;
			break;
		case SE_NATIVE_COUNT:
			FOR_EACH_VALUE(SeCountAcc, ((void) value, acc->n++));
			break;
		case SE_NATIVE_SUM_INT2:
		case SE_NATIVE_AVG_INT2:
			INT_SUM(DatumGetInt16);
			break;
		case SE_NATIVE_SUM_INT4:
		case SE_NATIVE_AVG_INT4:
			INT_SUM(DatumGetInt32);
			break;
		case SE_NATIVE_SUM_INT8:
		case SE_NATIVE_AVG_INT8:
			FOR_EACH_VALUE(SeWideSumAcc,
						   (add_wide(acc, (uint64) DatumGetInt64(value), DatumGetInt64(value) < 0 ? -1 : 0),
							acc->n++));
			break;
		case SE_NATIVE_SUM_FLOAT4:
			FOR_EACH_RISKY_VALUE(SeFloatSumAcc,
								 acc->sum = acc->n++ == 0 ? DatumGetFloat4(value)
								 : float4_pl((float4) acc->sum, DatumGetFloat4(value)));
			break;
		case SE_NATIVE_SUM_FLOAT8:
			FOR_EACH_RISKY_VALUE(SeFloatSumAcc,
								 acc->sum = acc->n++ == 0 ? DatumGetFloat8(value)
								 : float8_pl(acc->sum, DatumGetFloat8(value)));
			break;
		case SE_NATIVE_AVG_FLOAT4:
			FOR_EACH_RISKY_VALUE(SeFloatSumAcc,
								 (acc->sum = float8_pl(acc->sum, (float8) DatumGetFloat4(value)), acc->n++));
			break;
		case SE_NATIVE_AVG_FLOAT8:
			FOR_EACH_RISKY_VALUE(SeFloatSumAcc,
								 (acc->sum = float8_pl(acc->sum, DatumGetFloat8(value)), acc->n++));
			break;
		case SE_NATIVE_SUM_NUMERIC:
		case SE_NATIVE_AVG_NUMERIC:
			FOR_EACH_RISKY_VALUE(SeNumericSumAcc, (take_numeric(home, acc, value), acc->n++));
			break;
		case SE_NATIVE_MIN_INT2:
			BEST(DatumGetInt16, LESS);
			break;
		case SE_NATIVE_MIN_INT4:
		case SE_NATIVE_MIN_DATE:
			BEST(DatumGetInt32, LESS);
			break;
		case SE_NATIVE_MIN_INT8:
		case SE_NATIVE_MIN_TIMESTAMP:
		case SE_NATIVE_MIN_TIMESTAMPTZ:
			BEST(DatumGetInt64, LESS);
			break;
		case SE_NATIVE_MIN_FLOAT4:
			BEST(DatumGetFloat4, float4_lt);
			break;
		case SE_NATIVE_MIN_FLOAT8:
			BEST(DatumGetFloat8, float8_lt);
			break;
		case SE_NATIVE_MAX_INT2:
			BEST(DatumGetInt16, GREATER);
			break;
		case SE_NATIVE_MAX_INT4:
		case SE_NATIVE_MAX_DATE:
			BEST(DatumGetInt32, GREATER);
			break;
		case SE_NATIVE_MAX_INT8:
		case SE_NATIVE_MAX_TIMESTAMP:
		case SE_NATIVE_MAX_TIMESTAMPTZ:
			BEST(DatumGetInt64, GREATER);
			break;
		case SE_NATIVE_MAX_FLOAT4:
			BEST(DatumGetFloat4, float4_gt);
			break;
		case SE_NATIVE_MAX_FLOAT8:
			BEST(DatumGetFloat8, float8_gt);
			break;
		case SE_NATIVE_MIN_TEXT:
		case SE_NATIVE_MAX_TEXT:
		case SE_NATIVE_MIN_NUMERIC:
		case SE_NATIVE_MAX_NUMERIC:
			FOR_EACH_RISKY_VALUE(SeAggBlob, take_reference(slot, home, acc, value));
			break;
	}
}

/* Add all rows that `from` has seen; `to` may be empty, which makes this a copy. */
void
se_native_merge(const SeAggSlot *slot, SeAggHome *home, char *to, const char *from)
{
	to += slot->offset;
	from += slot->offset;
	switch (se_native_family(slot->native))
	{
		case SE_FAMILY_COUNT:
			((SeCountAcc *) to)->n += ((const SeCountAcc *) from)->n;
			return;
		case SE_FAMILY_INT_SUM:
			((SeIntSumAcc *) to)->sum = add_wrapping(((SeIntSumAcc *) to)->sum, ((const SeIntSumAcc *) from)->sum);
			((SeIntSumAcc *) to)->n += ((const SeIntSumAcc *) from)->n;
			return;
		case SE_FAMILY_WIDE_SUM:
			add_wide((SeWideSumAcc *) to, ((const SeWideSumAcc *) from)->low, ((const SeWideSumAcc *) from)->high);
			((SeWideSumAcc *) to)->n += ((const SeWideSumAcc *) from)->n;
			return;
		case SE_FAMILY_FLOAT_SUM:
			{
				SeFloatSumAcc *a = (SeFloatSumAcc *) to;
				const SeFloatSumAcc *b = (const SeFloatSumAcc *) from;

				if (b->n == 0)
					return;
				if (a->n == 0)
					a->sum = b->sum;
				else if (slot->native == SE_NATIVE_SUM_FLOAT4)
					a->sum = float4_pl((float4) a->sum, (float4) b->sum);
				else
					a->sum = float8_pl(a->sum, b->sum);
				a->n += b->n;
				return;
			}
		case SE_FAMILY_NUMERIC_SUM:
			if (((const SeNumericSumAcc *) from)->n == 0)
				return;
			{
				SeNumericSumAcc *a = (SeNumericSumAcc *) to;
				const SeNumericSumAcc *b = (const SeNumericSumAcc *) from;

				take_units(home, a, wide_value(b->low, b->high), b->scale);
				if (b->rest.used > 0)
					take_rest(home, a, PointerGetDatum(b->rest.bytes));
				a->n += b->n;
				return;
			}
		case SE_FAMILY_VALUE:
			{
				SeValueAcc *a = (SeValueAcc *) to;
				const SeValueAcc *b = (const SeValueAcc *) from;

				if (b->n == 0)
					return;
				if (a->n == 0 || !value_better(slot->native, a->value, b->value))
					a->value = b->value;
				a->n += b->n;
				return;
			}
		case SE_FAMILY_REFERENCE:
			if (((const SeAggBlob *) from)->used > 0)
				take_reference(slot, home, (SeAggBlob *) to,
							   PointerGetDatum(((const SeAggBlob *) from)->bytes));
			return;
	}
}

/* The value of the aggregate, in the current context. */
Datum
se_native_final(const SeAggSlot *slot, const char *acc, bool *isnull)
{
	acc += slot->offset;
	*isnull = false;
	switch (se_native_family(slot->native))
	{
		case SE_FAMILY_COUNT:
			return Int64GetDatum(((const SeCountAcc *) acc)->n);
		case SE_FAMILY_INT_SUM:
			{
				const SeIntSumAcc *a = (const SeIntSumAcc *) acc;

				*isnull = a->n == 0;
				if (*isnull)
					return (Datum) 0;
				if (slot->native == SE_NATIVE_SUM_INT2 || slot->native == SE_NATIVE_SUM_INT4)
					return Int64GetDatum(a->sum);
				return quotient(int64_to_numeric(a->sum), a->n);
			}
		case SE_FAMILY_WIDE_SUM:
			{
				const SeWideSumAcc *a = (const SeWideSumAcc *) acc;

				*isnull = a->n == 0;
				if (*isnull)
					return (Datum) 0;
				if (slot->native == SE_NATIVE_SUM_INT8)
					return NumericGetDatum(wide_to_numeric(a));
				return quotient(wide_to_numeric(a), a->n);
			}
		case SE_FAMILY_FLOAT_SUM:
			{
				const SeFloatSumAcc *a = (const SeFloatSumAcc *) acc;

				*isnull = a->n == 0;
				if (*isnull)
					return (Datum) 0;
				if (slot->native == SE_NATIVE_SUM_FLOAT4)
					return Float4GetDatum((float4) a->sum);
				if (slot->native == SE_NATIVE_SUM_FLOAT8)
					return Float8GetDatum(a->sum);
				return Float8GetDatum(a->sum / (float8) a->n);
			}
		case SE_FAMILY_NUMERIC_SUM:
			{
				const SeNumericSumAcc *a = (const SeNumericSumAcc *) acc;
				Numeric		sum;

				*isnull = a->n == 0;
				if (*isnull)
					return (Datum) 0;
				sum = numeric_sum_of(a);
				/* As numeric_avg: what is not a number is its own average. */
				if (slot->native == SE_NATIVE_AVG_NUMERIC && !numeric_is_nan(sum) && !numeric_is_inf(sum))
					return quotient(sum, a->n);
				return NumericGetDatum(sum);
			}
		case SE_FAMILY_VALUE:
			*isnull = ((const SeValueAcc *) acc)->n == 0;
			return ((const SeValueAcc *) acc)->value;
		case SE_FAMILY_REFERENCE:
			{
				const SeAggBlob *a = (const SeAggBlob *) acc;
				char	   *copy;

				*isnull = a->used == 0;
				if (*isnull)
					return (Datum) 0;
				copy = palloc(a->used);
				memcpy(copy, a->bytes, a->used);
				return PointerGetDatum(copy);
			}
	}
	pg_unreachable();
}

/* No row yet; the room of its values is used again. */
void
se_native_reset(const SeAggSlot *slot, SeAggHome *home, char *acc)
{
	acc += slot->offset;
	switch (se_native_family(slot->native))
	{
		case SE_FAMILY_NUMERIC_SUM:
			{
				SeAggBlob	rest = ((SeNumericSumAcc *) acc)->rest;

				se_agg_blob_clear(home->arena, &rest);
				memset(acc, 0, slot->size);
				((SeNumericSumAcc *) acc)->rest = rest;
				return;
			}
		case SE_FAMILY_REFERENCE:
			se_agg_blob_clear(home->arena, (SeAggBlob *) acc);
			return;
		default:
			memset(acc, 0, slot->size);
			return;
	}
}

/* One more value; the count is the caller's. */
static void
take_numeric(SeAggHome *home, SeNumericSumAcc *acc, Datum value)
{
	int128		units;
	int			scale;

	if (se_numeric_to_units(value, &units, &scale))
		take_units(home, acc, units, scale);
	else
		take_rest(home, acc, value);
}

static void
take_units(SeAggHome *home, SeNumericSumAcc *acc, int128 units, int64 scale)
{
	int128		sum;

	if (__builtin_add_overflow(wide_value(acc->low, acc->high), units, &sum))
	{
		take_rest(home, acc, NumericGetDatum(se_numeric_from_units(units, (int) scale)));
		return;
	}
	acc->low = (uint64) sum;
	acc->high = (int64) (sum >> 64);
	acc->scale = Max(acc->scale, scale);
}

/* The sum's display scale is the largest of its values', as in PostgreSQL. */
static void
take_rest(SeAggHome *home, SeNumericSumAcc *acc, Datum value)
{
	Datum		sum;

	if (acc->rest.used > 0)
		sum = NumericGetDatum(se_compat_numeric_add((Numeric) acc->rest.bytes,
													DatumGetNumeric(value)));
	else
		sum = PointerGetDatum(PG_DETOAST_DATUM(value));
	se_agg_blob_set(home->arena, &acc->rest, DatumGetPointer(sum), VARSIZE_ANY(DatumGetPointer(sum)));
}

/* Both parts, in the current context. */
static Numeric
numeric_sum_of(const SeNumericSumAcc *acc)
{
	Numeric		sum = se_numeric_from_units(wide_value(acc->low, acc->high), (int) acc->scale);

	if (acc->rest.used > 0)
		sum = se_compat_numeric_add(sum, (Numeric) acc->rest.bytes);
	return sum;
}

static bool
value_better(SeAggNative native, Datum old, Datum new)
{
	switch (native)
	{
		case SE_NATIVE_MIN_INT2:
			return DatumGetInt16(old) < DatumGetInt16(new);
		case SE_NATIVE_MAX_INT2:
			return DatumGetInt16(old) > DatumGetInt16(new);
		case SE_NATIVE_MIN_INT4:
		case SE_NATIVE_MIN_DATE:
			return DatumGetInt32(old) < DatumGetInt32(new);
		case SE_NATIVE_MAX_INT4:
		case SE_NATIVE_MAX_DATE:
			return DatumGetInt32(old) > DatumGetInt32(new);
		case SE_NATIVE_MIN_INT8:
		case SE_NATIVE_MIN_TIMESTAMP:
		case SE_NATIVE_MIN_TIMESTAMPTZ:
			return DatumGetInt64(old) < DatumGetInt64(new);
		case SE_NATIVE_MAX_INT8:
		case SE_NATIVE_MAX_TIMESTAMP:
		case SE_NATIVE_MAX_TIMESTAMPTZ:
			return DatumGetInt64(old) > DatumGetInt64(new);
		case SE_NATIVE_MIN_FLOAT4:
			return float4_lt(DatumGetFloat4(old), DatumGetFloat4(new));
		case SE_NATIVE_MAX_FLOAT4:
			return float4_gt(DatumGetFloat4(old), DatumGetFloat4(new));
		case SE_NATIVE_MIN_FLOAT8:
			return float8_lt(DatumGetFloat8(old), DatumGetFloat8(new));
		case SE_NATIVE_MAX_FLOAT8:
			return float8_gt(DatumGetFloat8(old), DatumGetFloat8(new));
		default:
			elog(ERROR, "aggregate %d keeps no single value", native);
	}
}

static bool
reference_better(const SeAggSlot *slot, Datum old, Datum new)
{
	int			order;

	if (slot->native == SE_NATIVE_MIN_NUMERIC || slot->native == SE_NATIVE_MAX_NUMERIC)
		order = DatumGetInt32(DirectFunctionCall2(numeric_cmp, old, new));
	else
		order = varstr_cmp(VARDATA_ANY(DatumGetPointer(old)), VARSIZE_ANY_EXHDR(DatumGetPointer(old)),
						   VARDATA_ANY(DatumGetPointer(new)), VARSIZE_ANY_EXHDR(DatumGetPointer(new)),
						   slot->collation);
	if (slot->native == SE_NATIVE_MIN_NUMERIC || slot->native == SE_NATIVE_MIN_TEXT)
		return order < 0;
	return order > 0;
}

static void
take_reference(const SeAggSlot *slot, SeAggHome *home, SeAggBlob *acc, Datum value)
{
	value = PointerGetDatum(PG_DETOAST_DATUM_PACKED(value));
	if (acc->used == 0 || !reference_better(slot, PointerGetDatum(acc->bytes), value))
		se_agg_blob_set(home->arena, acc, DatumGetPointer(value),
						VARSIZE_ANY(DatumGetPointer(value)));
}

/* 128 bits as numeric: in two parts of at most 18 digits and a rest, each an int64. */
static Numeric
wide_to_numeric(const SeWideSumAcc *acc)
{
	const int64 part = INT64CONST(1000000000000000000);
	int128		sum = wide_value(acc->low, acc->high);
	Numeric		result;

	if (acc->high == (int64) acc->low >> 63)
		return int64_to_numeric((int64) acc->low);
	result = int64_to_numeric((int64) (sum / part / part));
	result = se_compat_numeric_mul(result, int64_to_numeric(part));
	result = se_compat_numeric_add(result, int64_to_numeric((int64) (sum / part % part)));
	result = se_compat_numeric_mul(result, int64_to_numeric(part));
	return se_compat_numeric_add(result, int64_to_numeric((int64) (sum % part)));
}

static Datum
quotient(Numeric sum, int64 n)
{
	return NumericGetDatum(se_compat_numeric_div(sum, int64_to_numeric(n)));
}
