/*
 * log/missing_wal.h
 *		The segments of the WAL that a reader needs and that are not there, by file name.
 */
#ifndef SE_MISSING_WAL_H
#define SE_MISSING_WAL_H

#include "base/se.h"
#include "access/xlogdefs.h"

/*
 * The segments from `from` to the end of the WAL that are not in pg_wal, as text for a
 * person: "000000010000000000000003 to 000000010000000000000007, …"; NULL if none is
 * missing. palloc'd. Reads the timeline's history file; raises if that cannot be read.
 */
extern char *se_missing_wal_names(XLogRecPtr from);

#endif							/* SE_MISSING_WAL_H */
