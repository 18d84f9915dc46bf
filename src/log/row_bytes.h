/*
 * log/row_bytes.h
 *		The head of a packed row, for those who write and read it (log/row_pack.h has the byte table).
 */
#ifndef SE_ROW_BYTES_H
#define SE_ROW_BYTES_H

#include "base/se.h"

typedef struct SeRowHead
{
	uint32		length;
	uint8		kind;
	uint8		flags;
	uint16		data_offset;
} SeRowHead;

StaticAssertDecl(sizeof(SeRowHead) == 8, "the row's head is stored");

#define SE_ROW_HAS_NULLS 0x01
#define SE_ROW_PASSED 0x02		/* it never moves the watermark */

static inline Size
se_row_bitmap_bytes(int ncolumns)
{
	return (ncolumns + 7) / 8;
}

/* Where the data begins: behind head and bitmap. */
static inline Size
se_row_data_offset(int ncolumns, bool has_nulls)
{
	return TYPEALIGN(8, sizeof(SeRowHead) + (has_nulls ? se_row_bitmap_bytes(ncolumns) : 0));
}

/* Flags of a whole row, 8-aligned. */
static inline bool
se_row_is_passed(const char *row)
{
	return (((const SeRowHead *) row)->flags & SE_ROW_PASSED) != 0;
}

static inline void
se_row_set_passed(char *row)
{
	((SeRowHead *) row)->flags |= SE_ROW_PASSED;
}

#endif							/* SE_ROW_BYTES_H */
