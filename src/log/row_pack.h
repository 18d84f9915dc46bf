/*
 * log/row_pack.h
 *		One row as bytes, and back.
 *
 * A packed row (starts 8-aligned, length a multiple of 8):
 *
 *	offset size
 *	0	4	length of the whole row in bytes
 *	4	1	row kind (flow/row.h)
 *	5	1	flags: bit 0 = has a null bitmap, bit 1 = passed: it never moves the watermark
 *	6	2	offset of the data from the row's start (multiple of 8)
 *	8	..	null bitmap, bit set = NOT NULL, if flag bit 0
 *	..	..	attribute data, aligned as in a heap tuple; no TOAST pointers
 */
#ifndef SE_ROW_PACK_H
#define SE_ROW_PACK_H

#include "base/se.h"
#include "lib/stringinfo.h"
#include "log/layout.h"

/*
 * Append the row to buf, whose length stays a multiple of 8; false, and buf is as it
 * was, if it takes more than `max` bytes.  values and nulls are those of the stream's
 * attributes, by attribute number - 1.  External and expanded values are flattened on
 * the way, in the current context (inline compressed values stay compressed).
 */
extern bool se_row_pack_append(StringInfo buf, const SeLayout *layout, const Datum *values,
							   const bool *nulls, uint8 kind, Size max);

/* Bytes the row takes, for a person to see: about, if there are values to be flattened. */
extern Size se_row_pack_size(const SeLayout *layout, const Datum *values, const bool *nulls);

/*
 * A prepared way from rows of one layout to wanted columns: attribute numbers in, one
 * Datum per wanted column out. Columns the layout lacks read as the missing value of
 * the first later layout that has them, else NULL. A wanted column whose type was changed
 * is converted (log/convert.h), or an ERROR (datatype_mismatch) when the unpacker is made.
 */
typedef struct SeUnpacker SeUnpacker;
extern SeUnpacker *se_row_unpacker_new(MemoryContext memory, const SeLayout *layout,
									   List *layouts, TupleDesc relation_desc,
									   const AttrNumber *wanted, int nwanted);

/*
 * Unpack the row at *cursor (advanced past it; checked against end, ERROR
 * data_corrupted if it does not fit). By-reference values point into the bytes.
 * Entries of wanted attributes <= 0 are left untouched. Converted values are in the current context.
 */
extern void se_row_unpack(const SeUnpacker *unpacker, const char **cursor, const char *end,
						  Datum *values, bool *nulls, uint8 *kind);

/* Does it convert, so that the current context of se_row_unpack must live as long as the values? */
extern bool se_row_unpacker_converts(const SeUnpacker *unpacker);

#endif							/* SE_ROW_PACK_H */
