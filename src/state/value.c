/*
 * state/value.c
 *		Single values: kept in an arena, written to records, read back with every length checked.
 */
#include "postgres.h"

#include "base/compat.h"
#include "state/value.h"

void
se_record_corrupted(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("saved state of the continuous view is not readable"),
			 errdetail("A record ends before its contents, or contradicts itself.")));
}

void
se_record_put_varint(StringInfo out, uint64 value)
{
	char		bytes[10];
	int			n = 0;

	while (value >= 0x80)
	{
		bytes[n++] = (char) (value | 0x80);
		value >>= 7;
	}
	bytes[n++] = (char) value;
	appendBinaryStringInfo(out, bytes, n);
}

uint64
se_record_varint(SeRecordReader *reader)
{
	uint64		value = 0;

	for (int shift = 0;; shift += 7)
	{
		uint8		byte = se_record_u8(reader);

		/* The tenth byte has one bit left. */
		if (shift == 63 && byte > 1)
			se_record_corrupted();
		value |= (uint64) (byte & 0x7F) << shift;
		if (byte < 0x80)
			return value;
	}
}

Size
se_value_size(Datum value, int16 typlen)
{
	if (typlen > 0)
		return typlen;
	if (typlen == -1)
		return VARSIZE_ANY(DatumGetPointer(value));
	return strlen(DatumGetCString(value)) + 1;
}

Datum
se_value_flat(Datum value, bool byval, int16 typlen)
{
	if (byval || typlen != -1 || !VARATT_IS_EXTERNAL(DatumGetPointer(value)))
		return value;
	return PointerGetDatum(pg_detoast_datum_packed((struct varlena *) DatumGetPointer(value)));
}

Datum
se_value_store(SeArena *arena, Datum value, bool byval, int16 typlen)
{
	Size		size;
	void	   *copy;

	if (byval)
		return value;
	value = se_value_flat(value, byval, typlen);
	size = se_value_size(value, typlen);
	copy = se_arena_alloc(arena, size);
	memcpy(copy, DatumGetPointer(value), size);
	return PointerGetDatum(copy);
}

void
se_value_write(StringInfo out, Datum value, bool byval, int16 typlen)
{
	Size		size;

	if (byval)
	{
		se_record_put_signed(out, (int64) value);
		return;
	}
	value = se_value_flat(value, byval, typlen);
	size = se_value_size(value, typlen);
	se_record_put_u32(out, (uint32) size);
	appendBinaryStringInfo(out, DatumGetPointer(value), (int) size);
}

Datum
se_value_read(SeRecordReader *reader, bool byval, int16 typlen)
{
	uint32		size;
	const char *bytes;
	char	   *copy;

	if (byval)
		return (Datum) se_record_signed(reader);

	size = se_record_u32(reader);
	bytes = se_record_bytes(reader, size);
	copy = palloc(size + 1);
	memcpy(copy, bytes, size);

	/* The value must fill its bytes exactly, whatever its own header says. */
	if (typlen > 0 && size != (uint32) typlen)
		se_record_corrupted();
	if (typlen == -2 && (size == 0 || strnlen(copy, size) != size - 1))
		se_record_corrupted();
	if (typlen == -1 &&
		(size == 0 || VARATT_IS_EXTERNAL(copy) ||
		 (!VARATT_IS_1B(copy) && size < VARHDRSZ) || VARSIZE_ANY(copy) != size))
		se_record_corrupted();
	return PointerGetDatum(copy);
}
