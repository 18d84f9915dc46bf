/*
 * source/bounded_read.h
 *		Plain SELECT on a stream: what the log still holds, by the statement's snapshot.
 */
#ifndef SE_BOUNDED_READ_H
#define SE_BOUNDED_READ_H

#include "base/holds.h"
#include "base/se.h"
#include "foreign/fdwapi.h"
#include "log/reader.h"
#include "nodes/parsenodes.h"
#include "storage/itemptr.h"

/* Set the scan callbacks of a handler's routine. */
extern void se_bounded_read_fill(FdwRoutine *routine);

/*
 * A reader, in `memory`, over what the WAL still holds of streams (Oid list) from `since` on. Registers a hold, which
 * the caller releases behind se_reader_close, and says up to where to read, so that any snapshot taken before this
 * call finds its rows. Also on a standby.
 */
extern SeLogReader *se_bounded_read_open(MemoryContext memory, List *relations, XLogRecPtr since,
										 SeHold *hold, XLogRecPtr *limit);

/*
 * While set, scans of streams in this backend return no rows. CREATE of a view with
 * an aggregate over everything computes its first row so. Whoever sets it clears it
 * on every way out.
 */
extern bool se_bounded_read_empty;

/*
 * The proctime of a row, named by its ctid, of a bounded read that this backend has not
 * ended; or, row NULL, of the row that was returned last. False if there is none.
 */
extern bool se_bounded_read_proctime(ItemPointer row, SeTime *proctime);

/* Does a query ask for the proctime of a row, so that it may use ctid? (proctime.c) */
extern bool se_proctime_is_used(Query *query);

#endif							/* SE_BOUNDED_READ_H */
