/*
 * operators/agg_native_bytes.c
 *		Native accumulators as bytes of a state record, and back.
 *
 * Counts and sums are varints, the rest is its bytes; pg_upgrade keeps these formats
 * (docs/design/state.md).
 */
#include "postgres.h"

#include "base/compat.h"
#include "operators/agg_native_acc.h"
#include "operators/agg_numeric.h"

/* 128 bits: 1 if they fit into 64 and one varint, else 0 and 16 bytes. */
static void
save_wide(uint64 low, int64 high, StringInfo out)
{
	bool		small = high == (int64) low >> 63;

	se_record_put_u8(out, small);
	if (small)
		se_record_put_signed(out, (int64) low);
	else
	{
		se_record_put_i64(out, (int64) low);
		se_record_put_i64(out, high);
	}
}

static void
load_wide(SeRecordReader *reader, uint64 *low, int64 *high)
{
	if (se_record_u8(reader))
	{
		*low = (uint64) se_record_signed(reader);
		*high = (int64) *low >> 63;
	}
	else
	{
		*low = (uint64) se_record_i64(reader);
		*high = se_record_i64(reader);
	}
}


void
se_native_save(const SeAggSlot *slot, const char *acc, StringInfo out)
{
	acc += slot->offset;
	switch (se_native_family(slot->native))
	{
		case SE_FAMILY_COUNT:
			se_record_put_signed(out, ((const SeCountAcc *) acc)->n);
			return;
		case SE_FAMILY_INT_SUM:
			se_record_put_signed(out, ((const SeIntSumAcc *) acc)->n);
			se_record_put_signed(out, ((const SeIntSumAcc *) acc)->sum);
			return;
		case SE_FAMILY_WIDE_SUM:
			se_record_put_signed(out, ((const SeWideSumAcc *) acc)->n);
			save_wide(((const SeWideSumAcc *) acc)->low, ((const SeWideSumAcc *) acc)->high, out);
			return;
		case SE_FAMILY_FLOAT_SUM:
			se_record_put_signed(out, ((const SeFloatSumAcc *) acc)->n);
			appendBinaryStringInfo(out, (const char *) &((const SeFloatSumAcc *) acc)->sum, sizeof(float8));
			return;
		case SE_FAMILY_NUMERIC_SUM:
			{
				const SeNumericSumAcc *a = (const SeNumericSumAcc *) acc;

				se_record_put_signed(out, a->n);
				save_wide(a->low, a->high, out);
				se_record_put_signed(out, a->scale);
				se_record_put_u32(out, a->rest.used);
				appendBinaryStringInfo(out, a->rest.bytes, (int) a->rest.used);
				return;
			}
		case SE_FAMILY_VALUE:
			se_record_put_signed(out, ((const SeValueAcc *) acc)->n);
			se_record_put_signed(out, (int64) ((const SeValueAcc *) acc)->value);
			return;
		case SE_FAMILY_REFERENCE:
			se_record_put_u32(out, ((const SeAggBlob *) acc)->used);
			appendBinaryStringInfo(out, ((const SeAggBlob *) acc)->bytes,
								   (int) ((const SeAggBlob *) acc)->used);
			return;
	}
}

static void
load_blob(SeAggHome *home, SeAggBlob *blob, SeRecordReader *reader)
{
	uint32		size = se_record_u32(reader);
	const char *bytes = se_record_bytes(reader, size);
	char		aligned[8] = {0};

	blob->used = 0;
	if (size == 0)
		return;
	memcpy(aligned, bytes, Min(size, sizeof(aligned)));
	if (VARATT_IS_EXTERNAL(aligned) || (!VARATT_IS_1B(aligned) && size < VARHDRSZ) ||
		VARSIZE_ANY(aligned) != size)
		se_record_corrupted();
	se_agg_blob_set(home->arena, blob, bytes, size);
}

void
se_native_load(const SeAggSlot *slot, SeAggHome *home, char *acc, SeRecordReader *reader)
{
	acc += slot->offset;
	switch (se_native_family(slot->native))
	{
		case SE_FAMILY_COUNT:
			((SeCountAcc *) acc)->n = se_record_signed(reader);
			return;
		case SE_FAMILY_INT_SUM:
			((SeIntSumAcc *) acc)->n = se_record_signed(reader);
			((SeIntSumAcc *) acc)->sum = se_record_signed(reader);
			return;
		case SE_FAMILY_WIDE_SUM:
			((SeWideSumAcc *) acc)->n = se_record_signed(reader);
			load_wide(reader, &((SeWideSumAcc *) acc)->low, &((SeWideSumAcc *) acc)->high);
			return;
		case SE_FAMILY_FLOAT_SUM:
			((SeFloatSumAcc *) acc)->n = se_record_signed(reader);
			memcpy(&((SeFloatSumAcc *) acc)->sum, se_record_bytes(reader, sizeof(float8)), sizeof(float8));
			return;
		case SE_FAMILY_NUMERIC_SUM:
			{
				SeNumericSumAcc *a = (SeNumericSumAcc *) acc;

				a->n = se_record_signed(reader);
				load_wide(reader, &a->low, &a->high);
				a->scale = se_record_signed(reader);
				if (a->scale < 0 || a->scale > SE_NUMERIC_MAX_SCALE)
					se_record_corrupted();
				load_blob(home, &a->rest, reader);
				return;
			}
		case SE_FAMILY_VALUE:
			((SeValueAcc *) acc)->n = se_record_signed(reader);
			((SeValueAcc *) acc)->value = (Datum) se_record_signed(reader);
			return;
		case SE_FAMILY_REFERENCE:
			load_blob(home, (SeAggBlob *) acc, reader);
			return;
	}
}
