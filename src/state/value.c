/*
 * state/value.c
 *		Single values: kept in an arena, written to records, read back with every length checked.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "base/compat.h"
#include "catalog/pg_enum.h"
#include "catalog/pg_type.h"
#include "state/value.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

uint64		se_value_oid_space = 0;

static void write_label(StringInfo out, Oid label);
static Oid	read_label(SeRecordReader *reader, Oid type);

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

Oid
se_value_enum_type(Oid type)
{
	if (type < FirstNormalObjectId)
		return InvalidOid;		/* none of PostgreSQL's own is one */
	type = getBaseType(type);
	return get_typtype(type) == TYPTYPE_ENUM ? type : InvalidOid;
}

void
se_value_write_any(StringInfo out, Datum value, bool byval, int16 typlen, Oid enum_type)
{
	if (OidIsValid(enum_type))
		write_label(out, DatumGetObjectId(value));
	else
		se_value_write(out, value, byval, typlen);
}

Datum
se_value_read_any(SeRecordReader *reader, bool byval, int16 typlen, Oid enum_type)
{
	if (OidIsValid(enum_type))
		return ObjectIdGetDatum(read_label(reader, enum_type));
	return se_value_read(reader, byval, typlen);
}

static void
write_label(StringInfo out, Oid label)
{
	HeapTuple	tuple = SearchSysCache1(ENUMOID, ObjectIdGetDatum(label));
	const char *name;

	if (!HeapTupleIsValid(tuple))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
				 errmsg("invalid internal value for enum: %u", label)));
	name = NameStr(((Form_pg_enum) GETSTRUCT(tuple))->enumlabel);
	se_record_put_i64(out, (int64) se_value_oid_space);
	se_record_put_u32(out, label);
	se_record_put_u8(out, (uint8) strlen(name));
	appendStringInfoString(out, name);
	ReleaseSysCache(tuple);
}

static Oid
read_label(SeRecordReader *reader, Oid type)
{
	uint64		space = (uint64) se_record_i64(reader);
	Oid			label = se_record_u32(reader);
	uint8		len = se_record_u8(reader);
	char		name[NAMEDATALEN];
	const char *bytes = se_record_bytes(reader, len);

	if (len >= NAMEDATALEN)
		se_record_corrupted();
	if (space == se_value_oid_space)
		return label;
	memcpy(name, bytes, len);
	name[len] = '\0';
	label = GetSysCacheOid2(ENUMTYPOIDNAME, Anum_pg_enum_oid, ObjectIdGetDatum(type), CStringGetDatum(name));
	if (!OidIsValid(label))
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("saved state of the continuous view holds label \"%s\", which enum %s does not have",
						name, format_type_be(type)),
				 errdetail("It was renamed after the state was written, and then dumped and restored.")));
	return label;
}
