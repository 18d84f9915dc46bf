/*
 * log/convert.h
 *		A column's older values as its type of today.
 *
 * ALTER FOREIGN TABLE … ALTER COLUMN … TYPE rewrites no log. What an ordinary table would do once, at the ALTER,
 * happens here at each read: the assignment cast from the type that the bytes have, through every type the column
 * had since. ALTER reads all rows so (ddl/stream_check.c) before it lets the change stand.
 */
#ifndef SE_CONVERT_H
#define SE_CONVERT_H

#include "base/se.h"
#include "access/tupdesc.h"
#include "log/layout.h"

typedef struct SeConversion SeConversion;

/*
 * From a value of column `attno` as `layout` has it to the column's type in `desc`. NULL if it can stay as it is.
 * ERROR datatype_mismatch if there is no cast for an assignment, or none that gives the same answer to everybody at
 * any time. What it needs lives in the current context. Runs in: any process, in a transaction.
 */
extern SeConversion *se_convert_new(const SeLayout *layout, List *layouts, TupleDesc desc, AttrNumber attno);

/* One value, in the current context; may raise what the cast raises. */
extern Datum se_convert_value(SeConversion *conversion, Datum value, bool *isnull);

#endif							/* SE_CONVERT_H */
