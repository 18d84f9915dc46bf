/*
 * state/key.h
 *		Grouping keys: hash and equality exactly as PostgreSQL's GROUP BY has them.
 *
 * NULLs are equal to each other. Integers, dates, times and text of deterministic
 * collations are hashed and compared here; every other type by its own functions
 * (so -0.0 = 0.0, and numeric 1.0 = 1.00). Values are *prepared* first: keys in order,
 * by-value ones cleaned above their length, varlenas detoasted. The first image of a
 * key that comes is the one that is kept and shown.
 *
 * Hashes are never stored: they may change with a version or an operating system.
 */
#ifndef SE_KEY_H
#define SE_KEY_H

#include "base/se.h"
#include "access/tupdesc.h"
#include "flow/row.h"
#include "nodes/pg_list.h"

typedef enum SeKeyKind
{
	SE_KEY_BYTE = 1,			/* bool, "char" */
	SE_KEY_INT2,
	SE_KEY_INT4,
	SE_KEY_INT8,				/* any 8 bytes whose equality is that of the bits */
	SE_KEY_TEXT,				/* bytes decide */
	SE_KEY_GENERIC				/* the type's functions decide */
} SeKeyKind;

typedef struct SeKeyColumn
{
	SeKeyKind	kind;
	int			column;			/* of the input row */
	bool		byval;
	int16		typlen;
	Oid			enum_type;		/* se_value_enum_type */
	Oid			collation;
	FmgrInfo	eq;				/* generic only */
	FmgrInfo	hash;
} SeKeyColumn;

typedef struct SeKeys
{
	int			n;
	bool		looks_vary;		/* equal keys may look different */
	SeKeyColumn columns[FLEXIBLE_ARRAY_MEMBER];
} SeKeys;

/*
 * Keys from columns (ints) of rows of `desc`, with their equality operators (Oids).
 * Looks in the catalogs only for generic keys. Lives in the current context.
 */
extern SeKeys *se_keys_new(TupleDesc desc, List *columns, List *eq_operators);

/* The same keys, then a number of the operator's (int8). */
extern SeKeys *se_keys_numbered(const SeKeys *keys);

/*
 * Prepare the keys of n rows of a batch: values and nulls become n * keys->n, hashes n.
 * Detoasted values live in the current context. May run the type's functions.
 */
extern void se_keys_prepare(SeKeys *keys, const SeBatch *batch, const int *rows, int n,
							Datum *values, bool *nulls, uint32 *hashes);

/* One value, not NULL, prepared. */
extern Datum se_key_prepare(const SeKeyColumn *key, Datum value);

/* Hash of one prepared key. */
extern uint32 se_keys_hash(SeKeys *keys, const Datum *values, const bool *nulls);

/* Are two prepared keys one group? */
extern bool se_keys_equal(SeKeys *keys, const Datum *a, const bool *a_nulls,
						  const Datum *b, const bool *b_nulls);

#endif							/* SE_KEY_H */
