/*
 * state/key.c
 *		Grouping keys: hash and equality exactly as PostgreSQL's GROUP BY has them.
 */
#include "postgres.h"

#include "base/compat.h"
#include "base/fault.h"
#include "catalog/pg_collation_d.h"
#include "catalog/pg_operator_d.h"
#include "state/key.h"
#include "state/value.h"
#include "utils/lsyscache.h"
#include "utils/regproc.h"

/* Odd, with well mixed bits: 2^64 / golden ratio. */
#define MULTIPLIER UINT64CONST(0x9E3779B97F4A7C15)
#define NULL_HASH UINT64CONST(0x5851F42D4C957F2D)

static void describe_column(SeKeyColumn *key, TupleDesc desc, int column, Oid eq_operator);
static SeKeyKind kind_of_operator(Oid eq_operator, Oid collation);
static uint64 hash_value(SeKeyColumn *key, Datum value);
static uint64 hash_bytes_of(const char *bytes, Size len);

/* The sum spreads into the high half, and the high half comes back down. */
static inline uint64
mix(uint64 hash, uint64 value)
{
	hash = (hash ^ value) * MULTIPLIER;
	return hash ^ (hash >> 32);
}

/*
 * The table takes a partition from the high bits and a place in it from the low ones:
 * one more round makes both depend on every key.
 */
static inline uint32
finish(uint64 hash)
{
	hash *= MULTIPLIER;
	return (uint32) (hash >> 32);
}

SeKeys *
se_keys_new(TupleDesc desc, List *columns, List *eq_operators)
{
	int			n = list_length(columns);
	SeKeys	   *keys = palloc0(offsetof(SeKeys, columns) + n * sizeof(SeKeyColumn));

	Assert(n == list_length(eq_operators));
	keys->n = n;
	for (int i = 0; i < n; i++)
	{
		describe_column(&keys->columns[i], desc, list_nth_int(columns, i),
						list_nth_oid(eq_operators, i));
		keys->looks_vary |= keys->columns[i].kind == SE_KEY_GENERIC;
	}
	return keys;
}

SeKeys *
se_keys_numbered(const SeKeys *keys)
{
	SeKeys	   *result = palloc0(offsetof(SeKeys, columns) + (keys->n + 1) * sizeof(SeKeyColumn));

	result->n = keys->n + 1;
	result->looks_vary = keys->looks_vary;
	memcpy(result->columns, keys->columns, keys->n * sizeof(SeKeyColumn));
	result->columns[keys->n].kind = SE_KEY_INT8;
	result->columns[keys->n].byval = true;
	result->columns[keys->n].typlen = sizeof(int64);
	return result;
}

static void
describe_column(SeKeyColumn *key, TupleDesc desc, int column, Oid eq_operator)
{
	Form_pg_attribute attr = TupleDescAttr(desc, column);

	key->column = column;
	key->byval = attr->attbyval;
	key->typlen = attr->attlen;
	key->enum_type = se_value_enum_type(attr->atttypid);
	key->collation = attr->attcollation;
	key->kind = kind_of_operator(eq_operator, attr->attcollation);
	if (key->kind == SE_KEY_GENERIC)
	{
		RegProcedure left;
		RegProcedure right;

		if (!get_op_hash_functions(eq_operator, &left, &right))
			ereport(ERROR,
					(errcode(ERRCODE_UNDEFINED_FUNCTION),
					 errmsg("operator %s of a grouping key has no hash function", format_operator(eq_operator)),
					 errhint("Create a hash operator class for its type.")));
		fmgr_info(get_opcode(eq_operator), &key->eq);
		fmgr_info(left, &key->hash);
	}
}

static SeKeyKind
kind_of_operator(Oid eq_operator, Oid collation)
{
	switch (eq_operator)
	{
		case BooleanEqualOperator:
		case 92:				/* "char" = "char" */
			return SE_KEY_BYTE;
		case 94:				/* int2 = int2 */
			return SE_KEY_INT2;
		case Int4EqualOperator:
		case 607:				/* oid = oid */
		case 1093:				/* date = date */
			return SE_KEY_INT4;
		case 410:				/* int8 = int8 */
		case 1320:				/* timestamptz = timestamptz */
		case 2060:				/* timestamp = timestamp */
			return SE_KEY_INT8;
		case TextEqualOperator:
			if (!OidIsValid(collation) || collation == C_COLLATION_OID ||
				collation == DEFAULT_COLLATION_OID ||
				get_collation_isdeterministic(collation))
				return SE_KEY_TEXT;
			return SE_KEY_GENERIC;
		default:
			return SE_KEY_GENERIC;
	}
}

void
se_keys_prepare(SeKeys *keys, const SeBatch *batch, const int *rows, int n,
				Datum *values, bool *nulls, uint32 *hashes)
{
	int			nkeys = keys->n;

	for (int i = 0; i < n; i++)
	{
		const Datum *row = se_batch_values(batch, rows[i]);
		const bool *row_nulls = se_batch_nulls(batch, rows[i]);
		uint64		hash = 0;

		for (int k = 0; k < nkeys; k++)
		{
			SeKeyColumn *key = &keys->columns[k];

			nulls[k] = row_nulls[key->column];
			if (nulls[k])
			{
				values[k] = (Datum) 0;
				hash = mix(hash, NULL_HASH);
			}
			else
			{
				values[k] = se_key_prepare(key, row[key->column]);
				hash = mix(hash, hash_value(key, values[k]));
			}
		}
		hashes[i] = finish(hash);
		values += nkeys;
		nulls += nkeys;
	}
}

uint32
se_keys_hash(SeKeys *keys, const Datum *values, const bool *nulls)
{
	uint64		hash = 0;

	for (int k = 0; k < keys->n; k++)
		hash = mix(hash, nulls[k] ? NULL_HASH : hash_value(&keys->columns[k], values[k]));
	return finish(hash);
}

bool
se_keys_equal(SeKeys *keys, const Datum *a, const bool *a_nulls,
			  const Datum *b, const bool *b_nulls)
{
	for (int k = 0; k < keys->n; k++)
	{
		SeKeyColumn *key = &keys->columns[k];

		if (a_nulls[k] != b_nulls[k])
			return false;
		if (a_nulls[k])
		{
			if (SE_FAULT_WRONG("wrong-null-keys-differ"))
				return false;
			continue;
		}
		if (a[k] == b[k] && key->kind != SE_KEY_GENERIC)
			continue;
		switch (key->kind)
		{
			case SE_KEY_TEXT:
				{
					const char *x = DatumGetPointer(a[k]);
					const char *y = DatumGetPointer(b[k]);
					Size		len = VARSIZE_ANY_EXHDR(x);

					if (len != VARSIZE_ANY_EXHDR(y) ||
						memcmp(VARDATA_ANY(x), VARDATA_ANY(y), len) != 0)
						return false;
					break;
				}
			case SE_KEY_GENERIC:
				if (!DatumGetBool(FunctionCall2Coll(&key->eq, key->collation, a[k], b[k])))
					return false;
				break;
			default:
				return false;
		}
	}
	return true;
}

/* One bit pattern per by-value key, and no TOAST. */
Datum
se_key_prepare(const SeKeyColumn *key, Datum value)
{
	switch (key->kind)
	{
		case SE_KEY_BYTE:
			return (Datum) (uint8) value;
		case SE_KEY_INT2:
			return Int16GetDatum(DatumGetInt16(value));
		case SE_KEY_INT4:
			return Int32GetDatum(DatumGetInt32(value));
		case SE_KEY_INT8:
			return value;
		default:
			if (key->typlen == -1)
				return PointerGetDatum(PG_DETOAST_DATUM_PACKED(value));
			return value;
	}
}

static uint64
hash_value(SeKeyColumn *key, Datum value)
{
	switch (key->kind)
	{
		case SE_KEY_TEXT:
			return hash_bytes_of(VARDATA_ANY(DatumGetPointer(value)),
								 VARSIZE_ANY_EXHDR(DatumGetPointer(value)));
		case SE_KEY_GENERIC:
			return DatumGetUInt32(FunctionCall1Coll(&key->hash, key->collation, value));
		default:
			return (uint64) value;
	}
}

/* Eight bytes at a time; the length goes in, so that a zero byte more differs. */
static uint64
hash_bytes_of(const char *bytes, Size len)
{
	uint64		hash = len;
	uint64		word;

	for (; len >= sizeof(word); len -= sizeof(word), bytes += sizeof(word))
	{
		memcpy(&word, bytes, sizeof(word));
		hash = mix(hash, word);
	}
	if (len > 0)
	{
		word = 0;
		memcpy(&word, bytes, len);
		hash = mix(hash, word);
	}
	return hash;
}
