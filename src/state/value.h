/*
 * state/value.h
 *		Single values: kept in an arena, written to records, read back with every length checked.
 *
 * A written value is
 *		by value		the Datum as a signed varint
 *		by reference	4 bytes length, then the bytes: a varlena with its header, never a
 *						TOAST pointer; a cstring with its NUL; else the type's own length
 *		enum			8 bytes number of the OIDs' space, 4 bytes OID of the label, 1 byte length,
 *						then the label's name
 *
 * The OID of a label is another one where a dump is restored, and its name is another one
 * after ALTER TYPE … RENAME VALUE. In the space of OIDs that wrote it the OID decides,
 * elsewhere the name.
 */
#ifndef SE_VALUE_H
#define SE_VALUE_H

#include "base/se.h"
#include "lib/stringinfo.h"
#include "state/arena.h"

/* A place in a record being read; reading past the end is ERROR (data_corrupted). */
typedef struct SeRecordReader
{
	const char *next;
	const char *end;
} SeRecordReader;

static inline SeRecordReader
se_record_reader(const void *record, Size len)
{
	SeRecordReader reader = {record, (const char *) record + len};

	return reader;
}

extern void se_record_corrupted(void) SE_NORETURN;

/* The next n bytes, unaligned, valid as long as the record. */
static inline const char *
se_record_bytes(SeRecordReader *reader, Size n)
{
	const char *bytes = reader->next;

	if (unlikely((Size) (reader->end - reader->next) < n))
		se_record_corrupted();
	reader->next += n;
	return bytes;
}

static inline uint8
se_record_u8(SeRecordReader *reader)
{
	return *(const uint8 *) se_record_bytes(reader, 1);
}

static inline uint32
se_record_u32(SeRecordReader *reader)
{
	uint32		value;

	memcpy(&value, se_record_bytes(reader, sizeof(value)), sizeof(value));
	return value;
}

static inline int64
se_record_i64(SeRecordReader *reader)
{
	int64		value;

	memcpy(&value, se_record_bytes(reader, sizeof(value)), sizeof(value));
	return value;
}

static inline void
se_record_put_u8(StringInfo out, uint8 value)
{
	appendStringInfoChar(out, (char) value);
}

static inline void
se_record_put_u32(StringInfo out, uint32 value)
{
	appendBinaryStringInfo(out, (const char *) &value, sizeof(value));
}

static inline void
se_record_put_i64(StringInfo out, int64 value)
{
	appendBinaryStringInfo(out, (const char *) &value, sizeof(value));
}

/* A whole number in as few bytes as it needs: 7 bits each, the lowest first. */
extern void se_record_put_varint(StringInfo out, uint64 value);
extern uint64 se_record_varint(SeRecordReader *reader);

/* Signed ones: small ones are short on both sides of zero. */
static inline void
se_record_put_signed(StringInfo out, int64 value)
{
	se_record_put_varint(out, ((uint64) value << 1) ^ (uint64) (value >> 63));
}

static inline int64
se_record_signed(SeRecordReader *reader)
{
	uint64		value = se_record_varint(reader);

	return (int64) (value >> 1) ^ -(int64) (value & 1);
}

/* Bytes of a by-reference value as it stands in memory. */
extern Size se_value_size(Datum value, int16 typlen);

/* The value without TOAST pointers or expanded objects; palloc'd if it had to change. */
extern Datum se_value_flat(Datum value, bool byval, int16 typlen);

/* A copy that lives in the arena. */
extern Datum se_value_store(SeArena *arena, Datum value, bool byval, int16 typlen);

/* The enum type that values of a type are labels of, through domains; InvalidOid if it is none. */
extern Oid	se_value_enum_type(Oid type);

/* The number of this job's space of OIDs (job_catalog). Set once, before anything is read. */
extern uint64 se_value_oid_space;

extern void se_value_write(StringInfo out, Datum value, bool byval, int16 typlen);

/* The value, in memory of its own in the current context. */
extern Datum se_value_read(SeRecordReader *reader, bool byval, int16 typlen);

/* The same for values whose type may be an enum; enum_type as of se_value_enum_type. */
extern void se_value_write_any(StringInfo out, Datum value, bool byval, int16 typlen, Oid enum_type);
extern Datum se_value_read_any(SeRecordReader *reader, bool byval, int16 typlen, Oid enum_type);

#endif							/* SE_VALUE_H */
